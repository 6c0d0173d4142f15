"""DataParallel and SyncBatchNorm: the weights of several ranks are those of one process on the whole batch."""

import numpy as np
import pytest

import proa
import proa.distributed as dist
from proa import nn
from proa.distributed.groups import run_threads
from python.tests import ranks

_DATA = np.random.default_rng(5).normal(size=(12, 6)).astype(np.float32)
_WEIGHTS = np.random.default_rng(6)


class _Net(nn.Layer):
    """With a branch that some steps leave out, and a table of rows."""

    def __init__(self, norm=None, sparse=False):
        super().__init__()
        self.first = nn.Linear(6, 8)
        self.norm = norm(8) if norm is not None else None
        self.table = nn.Embedding(10, 8, sparse=sparse)
        self.branch = nn.Linear(8, 8)
        self.last = nn.Linear(8, 3)

    def forward(self, x, branch=True):
        h = self.first(x)
        if self.norm is not None:
            h = self.norm(h)
        h = nn.functional.tanh(h) + self.table((x[:, 0] * 3).abs().cast("int64"))
        return self.last(self.branch(h) if branch else h)


def _make(**kwargs):
    net, rng = _Net(**kwargs), np.random.default_rng(6)
    for p in net.parameters():
        p.set_value(rng.normal(size=p.shape).astype(np.float32) * 0.5)
    return net


def _train(net, data, steps=4, forward=None, accumulate=1):
    inner = getattr(net, "_layers", net)
    sgd = proa.optimizer.Momentum(0.1, 0.9, parameters=inner.parameters())
    for step in range(steps):
        x = proa.to_tensor(data)
        if accumulate == 2:
            half = len(data) // 2
            with net.no_sync():
                (net(x[:half]).square().mean() / 2).backward()
            (net(x[half:]).square().mean() / 2).backward()
        else:
            loss = (net(x) if forward is None else forward(net, x, step)).square().mean()
            loss.backward()
        sgd.step()
        sgd.clear_grad(set_to_zero=False)
    return {name: t.numpy() for name, t in inner.state_dict().items()}


def _on_ranks(n, wrap, make, **train):
    """The state of each rank after training on its part of the batch."""

    def body():
        rank = dist.get_rank()
        net = make()
        if rank:  # what differs at the start becomes what rank 0 has
            net.first.bias.set_value(np.full(8, 7.0, np.float32))
        net = wrap(net)
        part = len(_DATA) // n
        return _train(net, _DATA[rank * part : (rank + 1) * part], **train)

    return run_threads(body, n)


def _expect(states, reference, tolerance=2e-6):
    for state in states:
        assert state.keys() == reference.keys()
        for name in state:
            np.testing.assert_allclose(state[name], reference[name], rtol=tolerance, atol=tolerance, err_msg=name)
            np.testing.assert_array_equal(state[name], states[0][name])  # ranks agree to the last bit


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("sizes", [(25, 1), (0.0002, 0.0001)])
def test_weights_of_one_process(n, sizes):
    wrap = lambda net: proa.DataParallel(net, comm_buffer_size=sizes[0], last_comm_buffer_size=sizes[1])
    _expect(_on_ranks(n, wrap, _make), _train(_make(), _DATA))


@pytest.mark.parametrize("n", [2, 4])
def test_bits_of_one_process_that_adds_up_in_the_order_of_ranks(n):
    """One process that goes through the parts of the batch one after the other, and divides the sum: no bit differs."""
    one, part = _make(), len(_DATA) // n
    sgd = proa.optimizer.Momentum(0.1, 0.9, parameters=one.parameters())
    for _ in range(20):
        for rank in range(n):
            one(proa.to_tensor(_DATA[rank * part : (rank + 1) * part])).square().mean().backward()
        for p in one.parameters():
            p.grad = p.grad / n
        sgd.step()
        sgd.clear_grad()
    wrap = lambda net: proa.DataParallel(net, comm_buffer_size=0.0002, last_comm_buffer_size=0.0001)
    for state in _on_ranks(n, wrap, _make, steps=20):
        for name, value in one.state_dict().items():
            np.testing.assert_array_equal(state[name], value.numpy(), err_msg=name)


def test_buckets_come_in_the_order_of_gradients():
    def body():
        net = proa.DataParallel(_make(), comm_buffer_size=0.0002, last_comm_buffer_size=0.0001)
        before = net._reducer.bucket_sizes
        _train(net, _DATA, steps=1)
        return before, net._reducer.bucket_sizes, [b.places for b in net._reducer._buckets]

    first, second = run_threads(body, 2)
    assert first == second and len(first[0]) > 3 and sum(first[0]) == sum(first[1])


def test_accumulation_exchanges_once():
    def body():
        net = proa.DataParallel(_make())
        rank = dist.get_rank()
        state = _train(net, _DATA[6 * rank : 6 * rank + 6], accumulate=2)
        return state, len([e for e in dist.get_group(0).carrier.entries() if e["op"] == "all_reduce"])

    results = run_threads(body, 2)
    _expect([state for state, _ in results], _train(_make(), _DATA))
    assert results[0][1] <= 4 * 2 + 1  # a bucket or two a step, and one question


def test_row_sparse_gradients_stay_so():
    def body():
        net = proa.DataParallel(_make(sparse=True))
        rank = dist.get_rank()
        net(proa.to_tensor(_DATA[6 * rank : 6 * rank + 6])).square().mean().backward()
        grad = net._layers.table.weight.grad
        return grad.is_selected_rows(), proa._C.ops.to_dense(grad).numpy()

    alone = _make()
    alone(proa.to_tensor(_DATA)).square().mean().backward()
    for sparse, dense in run_threads(body, 2):
        assert sparse
        np.testing.assert_allclose(dense, alone.table.weight.grad.numpy(), rtol=1e-5, atol=1e-7)


def test_unused_parameters():
    forward = lambda net, x, step: net(x, branch=step % 2 == 0)
    wrap = lambda net: proa.DataParallel(net, find_unused_parameters=True)
    _expect(_on_ranks(2, wrap, _make, forward=forward), _train(_make(), _DATA, forward=forward))


def test_unused_on_one_rank_only():
    def body():
        net = proa.DataParallel(_make(), find_unused_parameters=True)
        rank = dist.get_rank()
        net(proa.to_tensor(_DATA), branch=rank == 0).square().mean().backward()
        return net._layers.branch.weight.grad.numpy()

    alone = _make()
    alone(proa.to_tensor(_DATA)).square().mean().backward()
    for grad in run_threads(body, 2):
        np.testing.assert_allclose(grad, alone.branch.weight.grad.numpy() / 2, rtol=1e-5, atol=1e-7)


def test_unused_without_saying_so():
    def body():
        net = proa.DataParallel(_make())
        net(proa.to_tensor(_DATA), branch=False).mean().backward()
        with pytest.raises(RuntimeError, match=r"branch\.weight.*find_unused_parameters=True"):
            net(proa.to_tensor(_DATA))

    run_threads(body, 2)


def test_compression():
    wrap = lambda net: proa.DataParallel(net, compression="bfloat16")
    states = _on_ranks(2, wrap, _make)
    _expect(states, _train(_make(), _DATA), tolerance=2e-2)
    assert np.abs(states[0]["first.weight"] - _train(_make(), _DATA)["first.weight"]).max() > 0


def test_models_that_differ():
    def body():
        layer = nn.Linear(3, 4 + dist.get_rank())
        with pytest.raises(RuntimeError, match=r"different models: process 0 has \('weight', \(3, 4\).*process 1 has"):
            proa.DataParallel(layer)

    run_threads(body, 2)


@pytest.mark.parametrize("n", [2, 4])
def test_sync_batch_norm(n):
    wrap = lambda net: proa.DataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(net))
    make = lambda: _make(norm=nn.BatchNorm1D)
    _expect(_on_ranks(n, wrap, make), _train(make(), _DATA), tolerance=1e-5)


def test_a_converted_batch_norm_is_what_it_was():
    """Its statistics stay buffers, which go to all ranks and into no optimizer's states; its settings stay too."""
    net = nn.Sequential(nn.BatchNorm2D(3, use_global_stats=True), nn.BatchNorm1D(4, weight_attr=False).eval())
    names = lambda net: [
        [n for n, _ in f()] for f in (net.named_parameters, net.named_buffers, lambda: net.state_dict().items())
    ]
    kept, tensors = names(net), list(net.state_dict().values())
    made = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert names(made) == kept and all(a is b for a, b in zip(made.state_dict().values(), tensors))
    assert [type(layer) for layer in made] == [nn.SyncBatchNorm] * 2
    assert [layer._use_global_stats for layer in made] == [True, None] and [layer.training for layer in made] == [
        True,
        False,
    ]


def test_processes():
    source = """
dist.init_parallel_env()
rank = dist.get_rank()
proa.seed(rank)
net = proa.DataParallel(proa.nn.Sequential(proa.nn.Linear(64, 256), proa.nn.ReLU(), proa.nn.Linear(256, 10)))
adam = proa.optimizer.Adam(0.01, parameters=net.parameters())
rng = np.random.default_rng(rank)
for step in range(5):
    loss = net(proa.to_tensor(rng.normal(size=(8, 64)).astype("float32"))).square().mean()
    loss.backward()
    adam.step()
    adam.clear_grad()
print(float(sum(np.abs(p.numpy()).sum() for p in net.parameters())))
"""
    first, second = ranks.run(source, 2)
    assert first == second and np.isfinite(float(first))


def test_exchanges_run_beside_backward():
    """In a trace: gradients of the last layers are on their way while those of the first are computed."""
    source = """
from proa import nn, profiler
dist.init_parallel_env()
net = nn.Sequential(*[nn.Linear(256, 256) for _ in range(8)])
model = proa.DataParallel(net, comm_buffer_size=0.3, last_comm_buffer_size=0.3)
x = proa.rand([256, 256])
with profiler.Profiler(on_trace_ready=lambda _: None) as recorded:
    for _ in range(10):
        model(x).square().mean().backward()
        net.clear_gradients()
events = recorded.profiler_result.events()
spans = lambda category, name: [(e["start_ns"], e["end_ns"], e["thread"]) for e in events if e["category"] == category and e["name"] == name]
exchanges, backward = spans("exchange", "all_reduce"), spans("backward", "linear_grad")
passes = spans("pass", "backward")
assert len(backward) == 80 and len(passes) == 10 and len(exchanges) >= 80, (len(backward), len(exchanges))
assert {thread for *_, thread in exchanges}.isdisjoint(thread for *_, thread in backward)
inside = sum(any(a <= b and d <= c for a, c, _ in passes) for b, d, _ in exchanges)
beside = sum(any(b < c and a < d for a, c, _ in backward) for b, d, _ in exchanges)
print(len(exchanges), inside, beside)
"""
    for out in ranks.run(source, 2):
        count, inside, beside = map(int, out.split())
        assert inside == count  # the pass gives complete gradients
        assert beside >= 5, out
