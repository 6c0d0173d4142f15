"""Static programs that several workers train through fleet: the weights of one worker that has the whole batch."""

import json

import numpy as np
import pytest

import proa
from proa.distributed import fleet
from python.tests import ranks

# Prints the weights after some steps. Rows of the batch are those of this worker.
_TRAIN = """
import json
import proa.distributed.fleet as fleet
proa.enable_static()
strategy = fleet.DistributedStrategy()
{strategy}
fleet.init(is_collective=True, strategy=strategy)
rank, count = fleet.worker_index(), fleet.worker_num()
proa.seed(7 + rank)  # workers begin with parameters of their own
main, startup = proa.static.Program(), proa.static.Program()
with proa.static.program_guard(main, startup):
    x, y = proa.static.data("x", [None, 6]), proa.static.data("y", [None, 1])
    hidden = proa.static.nn.fc(x, 8, activation="tanh", weight_attr=proa.ParamAttr(name="w0"))
    loss = ((proa.static.nn.fc(hidden, 1, weight_attr=proa.ParamAttr(name="w1")) - y) ** 2).mean()
    optimizer = fleet.distributed_optimizer({optimizer})
    optimizer.minimize(loss)
executor = proa.static.Executor()
executor.run(startup)
rng = np.random.default_rng(3)
for step in range({steps}):
    xs, ys = rng.normal(size=(8, 6)).astype("float32"), rng.normal(size=(8, 1)).astype("float32")
    mine = slice(None) if {whole} else slice(rank * 8 // count, (rank + 1) * 8 // count)
    executor.run(main, feed={{"x": xs[mine], "y": ys[mine]}}, fetch_list=[loss])
state = main.state_dict()
print(json.dumps([np.asarray(state[name]).ravel().tolist() for name in ("w0", "w1")]))
"""

_SGD = "proa.optimizer.SGD(0.1)"


def _weights(count, strategy="", optimizer=_SGD, steps=4, whole=False):
    """[w0, w1] of each worker."""
    source = _TRAIN.format(strategy=strategy, optimizer=optimizer, steps=steps, whole=whole)
    return [[np.array(w) for w in json.loads(out)] for out in ranks.run(source, count)]


def _same(found, wanted, atol=1e-6):
    for worker in found:
        for a, b in zip(worker, wanted):
            np.testing.assert_allclose(a, b, atol=atol, rtol=0)


@pytest.mark.parametrize(
    "strategy, optimizer",
    [
        ("", _SGD),
        ("strategy.fuse_all_reduce_ops = False", "proa.optimizer.Adam(0.01)"),
        ("", "proa.optimizer.Momentum(0.1, grad_clip=proa.nn.ClipGradByGlobalNorm(0.1))"),
        ("strategy.lamb = True", "proa.optimizer.Adam(0.01)"),
        ("strategy.lars = True", "proa.optimizer.Momentum(0.1)"),
        ("strategy.gradient_merge = True; strategy.gradient_merge_configs = {'k_steps': 2, 'avg': True}", _SGD),
    ],
)
def test_workers_have_the_weights_of_one(strategy, optimizer):
    one = _weights(1, strategy, optimizer)[0]
    two = _weights(2, strategy, optimizer)
    _same(two, one, 2e-6)
    for a, b in zip(*two):
        np.testing.assert_array_equal(a, b)


def test_gradient_merge_is_the_step_of_all_batches():
    merged = "strategy.gradient_merge = True; strategy.gradient_merge_configs = {'k_steps': %d}"
    begin = _weights(1, steps=0)[0]
    _same(_weights(1, merged % 3, steps=2), begin, 0)  # no step yet
    after = _weights(1, merged % 3, steps=3)
    assert abs(after[0][0] - begin[0]).max() > 1e-4
    _same(_weights(1, merged % 3, steps=5), after[0], 0)
    for bad in (0, -2):
        with pytest.raises(AssertionError, match="it must be at least 1"):
            _weights(1, merged % bad, steps=0)


def test_local_steps_are_averaged():
    local = "strategy.localsgd = True; strategy.localsgd_configs = {'k_steps': %d, 'begin_step': 1}"
    # With plain SGD, the mean of the parameters after one step is the step of the mean.
    _same(_weights(2, local % 1, steps=3), _weights(1, steps=3)[0], 2e-6)
    apart = _weights(2, local % 2, steps=3)
    assert abs(apart[0][0] - apart[1][0]).max() > 1e-5
    together = _weights(2, local % 2, steps=4)
    _same(together, together[0], 0)


def test_local_steps_as_many_as_the_loss_asks_for():
    adaptive = (
        "strategy.adaptive_localsgd = True; strategy.adaptive_localsgd_configs = {'init_k_steps': 3, 'begin_step': %d}"
    )
    _same(_weights(2, adaptive % 9, steps=3), _weights(1, steps=3)[0], 2e-6)  # until run 9 in each
    after = _weights(2, adaptive % 1, steps=1)
    _same(after, after[0], 0)
    apart = _weights(2, adaptive % 1, steps=2)
    assert abs(apart[0][0] - apart[1][0]).max() > 1e-5
    together = _weights(2, adaptive % 1, steps=4)  # 3 runs later, where the ratio of losses is 1
    _same(together, together[0], 0)
    with pytest.raises(AssertionError, match="init_k_steps and begin_step must be at least 1"):
        _weights(2, adaptive % 0, steps=0)


def test_mixed_precision_and_half_exchanges():
    one = _weights(1)[0]
    _same(_weights(2, "strategy.fp16_allreduce = True"), one, 2e-3)
    amp = "strategy.amp = True; strategy.amp_configs = {'init_loss_scaling': 128.0}"
    two = _weights(2, amp)
    _same(two, one, 5e-3)
    _same(two, two[0], 0)
    _same(_weights(2, amp + "; strategy.gradient_merge = True; strategy.gradient_merge_configs = {'k_steps': 2}"),
          _weights(1, "strategy.gradient_merge = True; strategy.gradient_merge_configs = {'k_steps': 2}")[0], 5e-3)  # fmt: skip


def test_what_is_refused(monkeypatch):
    fleet.init(is_collective=True)
    strategy = fleet.DistributedStrategy()
    strategy.lamb = True
    proa.enable_static()
    try:
        with pytest.raises(TypeError, match="strategy.lamb with SGD; lamb takes the place of Adam"):
            fleet.distributed_optimizer(proa.optimizer.SGD(0.1), strategy)
    finally:
        proa.disable_static()
        fleet.fleet._user_defined_strategy = None
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"pp_degree": 2}
    with pytest.raises(NotImplementedError, match=r"hybrid_configs\['pp_degree'\].*set strategy.pipeline"):
        strategy.check_static(2)


_ORDER = """
import json, tempfile
import proa.distributed.fleet as fleet
import proa.profiler as profiler
proa.enable_static()
strategy = fleet.DistributedStrategy()
strategy.fuse_grad_size_in_MB = 1
fleet.init(is_collective=True, strategy=strategy)
main, startup = proa.static.Program(), proa.static.Program()
with proa.static.program_guard(main, startup):
    h = proa.static.data("x", [None, 600])
    for _ in range(4):
        h = proa.static.nn.fc(h, 600, activation="relu")
    loss = h.mean()
    fleet.distributed_optimizer(proa.optimizer.SGD(0.01)).minimize(loss)
executor = proa.static.Executor()
executor.run(startup)
feed = {"x": np.random.rand(8, 600).astype("float32")}
run = lambda: executor.run(main, feed=feed, fetch_list=[loss])
run()
with profiler.Profiler(targets=[profiler.ProfilerTarget.CPU]) as recorded:
    run()
with tempfile.NamedTemporaryFile(suffix=".json") as file:
    recorded.export(file.name)
    events = json.load(open(file.name))["traceEvents"]
calls = sorted((e["ts"], e["name"]) for e in events if e.get("ph") == "X" and e["cat"] == "op")
print(json.dumps([name for _, name in calls]))
"""


def test_gradients_are_exchanged_beside_the_rest_of_backward():
    """A collective begins where its bucket is full, also where the loss is asked for and operations are fused."""
    for names in map(json.loads, ranks.run(_ORDER, 2)):
        begun = [at for at, name in enumerate(names) if name == "all_reduce_in_turn_"]
        products = [at for at, name in enumerate(names) if name == "matmul"]
        assert len(begun) == 4 and len(products) == 11
        # Backward has 7 products, one or two for each layer, and each layer a bucket.
        left = [sum(at > first for at in products) for first in begun]
        assert all(n >= least for n, least in zip(left, (5, 3, 1, 0))), (left, names)
