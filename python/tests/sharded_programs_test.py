"""Static programs whose optimizer states are divided among workers: weights of one worker, states of a part."""

import json

import numpy as np
import pytest

from python.tests import ranks

_TRAIN = """
import json
import proa.distributed.fleet as fleet
proa.enable_static()
strategy = fleet.DistributedStrategy()
strategy.sharding = dist.get_world_size() > 1
{strategy}
fleet.init(is_collective=True, strategy=strategy)
rank, count = fleet.worker_index(), fleet.worker_num()
proa.seed(7 + rank)
main, startup = proa.static.Program(), proa.static.Program()
with proa.static.program_guard(main, startup):
    x, y = proa.static.data("x", [None, 6]), proa.static.data("y", [None, 1])
    hidden = proa.static.nn.fc(x, 7, activation="tanh", weight_attr=proa.ParamAttr(name="w0"))
    loss = ((proa.static.nn.fc(hidden, 1, weight_attr=proa.ParamAttr(name="w1")) - y) ** 2).mean()
    optimizer = fleet.distributed_optimizer({optimizer})
    optimizer.minimize(loss)
parameters = sorted(p.name for p in main.all_parameters())
executor = proa.static.Executor()
executor.run(startup)
rng = np.random.default_rng(3)
for step in range(4):
    if step == 2:  # the parameters come from elsewhere
        main.set_state_dict({{"w1": np.linspace(-1, 1, 7, dtype="float32").reshape(7, 1)}})
    xs, ys = rng.normal(size=(8, 6)).astype("float32"), rng.normal(size=(8, 1)).astype("float32")
    mine = slice(rank * 8 // count, (rank + 1) * 8 // count)
    executor.run(main, feed={{"x": xs[mine], "y": ys[mine]}}, fetch_list=[loss])
state = main.state_dict()
moments = {{name: list(t.shape) for name, t in state.items() if "moment" in name or "velocity" in name}}
print(json.dumps([[np.asarray(state[name]).ravel().tolist() for name in ("w0", "w1")], parameters, moments]))
"""


def _trained(count, optimizer, strategy="pass"):
    return [json.loads(out) for out in ranks.run(_TRAIN.format(optimizer=optimizer, strategy=strategy), count)]


def _same(optimizer, count=2, strategy="pass", atol=1e-6, of_one="pass"):
    ((wanted, names, whole),) = _trained(1, optimizer, of_one)
    workers = _trained(count, optimizer, strategy)
    for weights, found, _ in workers:
        assert found == names  # parts are none of the parameters
        for a, b, exact in zip(weights, wanted, workers[0][0], strict=True):
            np.testing.assert_allclose(a, b, atol=atol, rtol=0)
            assert a == exact
    return workers, whole


def test_states_are_those_of_a_part():
    workers, whole = _same("proa.optimizer.AdamW(0.01, apply_decay_param_fun=lambda name: name == 'w1')")
    for _, _, states in workers:
        assert set(states) == set(whole)  # under the names that one worker has
        assert {name: -(-int(np.prod(shape)) // 2) for name, shape in whole.items()} == {
            n: s[0] for n, s in states.items()
        }


@pytest.mark.parametrize("clip", ["ClipGradByGlobalNorm(0.1)", "ClipGradByNorm(0.05)", "ClipGradByValue(0.01)"])
def test_clips_see_whole_gradients(clip):
    _same(f"proa.optimizer.Momentum(0.1, grad_clip=proa.nn.{clip})")


def test_beside_copies_and_merging():
    pairs = "strategy.sharding_configs = {'sharding_degree': 2, 'hybrid_dp': True, 'dp_degree': 2, 'segment_broadcast_MB': 0.0}"
    _same("proa.optimizer.Adam(0.01)", 4, pairs)
    merged = "strategy.gradient_merge = True; strategy.gradient_merge_configs = {'k_steps': 2}"
    _same("proa.optimizer.Adam(0.01)", 2, "strategy.sharding_configs = {'gradient_merge_acc_step': 2}", of_one=merged)


def test_in_mixed_precision():
    amp = "strategy.amp = True; strategy.amp_configs = {'init_loss_scaling': %s}"
    _same("proa.optimizer.Adam(0.01)", 2, amp % 128.0, 2e-4, amp % 128.0)
    # A scale at which the gradients of some parts only are infinite: the step is left out on all.
    for weights, _, _ in _trained(2, "proa.optimizer.SGD(0.1)", amp % 3e38):
        assert weights[1] == np.linspace(-1, 1, 7, dtype="float32").tolist()


def test_what_is_refused():
    for optimizer, strategy, says in (
        ("proa.optimizer.Lamb(0.1)", "pass", "sharding: Lamb looks at whole parameters"),
        (
            "proa.optimizer.SGD(0.1)",
            "strategy.sharding_configs = {'sharding_degree': 1}",
            "the product must be that number",
        ),
        ("proa.optimizer.SGD(0.1)", "strategy.sharding_configs = {'stage': 3}", "train eagerly for stage 3"),
        ("proa.optimizer.SGD(0.1)", "strategy.sharding_configs = {'optimize_offload': True}", "optimize_offload"),
        ("proa.optimizer.SGD(0.1)", "strategy.localsgd = True", "localsgd beside sharding"),
    ):
        with pytest.raises(AssertionError, match=says):
            _trained(2, optimizer, strategy)


def test_files_are_those_of_one_worker(tmp_path):
    """Written by two, states of parts among them, they go on in one, in two and in three."""
    files = """
from proa.distributed import io
with proa.static.program_guard(main, startup):
    average = proa.static.ExponentialMovingAverage(0.9)
    average.update()
folder = {folder!r}
if os.path.exists(folder):
    io.load_persistables(executor, folder, main)
for step in range(2):
    xs, ys = rng.normal(size=(12, 6)).astype("float32"), rng.normal(size=(12, 1)).astype("float32")
    mine = slice(rank * 12 // count, (rank + 1) * 12 // count)
    executor.run(main, feed={{"x": xs[mine], "y": ys[mine]}}, fetch_list=[loss])
if not os.path.exists(folder):
    io.save_persistables(executor, folder, main)
print(json.dumps({{n: np.asarray(v).ravel().tolist() for n, v in io.whole_values("test", main).items()}}))
"""
    begin = _TRAIN[: _TRAIN.index("for step in range(4)")]

    def run(count, folder):
        source = begin.format(optimizer="proa.optimizer.Adam(0.01)", strategy="pass") + files.format(folder=str(folder))
        return [json.loads(out) for out in ranks.run(source, count)]

    (one,) = run(1, tmp_path / "one")
    assert any(".ema" in name for name in one)
    for two in run(2, tmp_path / "two"):
        assert set(two) == set(one)
        for name, value in one.items():
            np.testing.assert_allclose(two[name], value, atol=1e-6, err_msg=name)
    (wanted,) = run(1, tmp_path / "one")
    for count in (1, 2, 3):
        for found in run(count, tmp_path / "two"):
            for name, value in wanted.items():
                np.testing.assert_allclose(found[name], value, atol=1e-6, err_msg=f"{count} {name}")
