"""Recurrent layers as calls of the op rnn: beyond lengths, at odd sizes, for any threads, in programs, with own cells."""

import numpy as np
import pytest

import proa
from proa import nn
from proa.utils import environment

LAYERS = [nn.SimpleRNN, nn.LSTM, nn.GRU]
CELLS = [nn.SimpleRNNCell, nn.LSTMCell, nn.GRUCell]
random = np.random.default_rng(5)


def tensors(results):
    """The tensors of nested tuples."""
    return [t for r in results for t in tensors(r)] if isinstance(results, (list, tuple)) else [results]


def run(net, x, *more):
    """Results and gradients, of x and the parameters, as arrays."""
    leaf = proa.to_tensor(x, stop_gradient=False)
    results = tensors(net(leaf, *more))
    sum((t.astype("float64") ** 2).sum() for t in results).backward()
    grads = [leaf.grad, *(p.grad for p in net.parameters())]
    net.clear_gradients()
    return [t.astype("float32").numpy() if t.dtype.name == "bfloat16" else t.numpy() for t in (*results, *grads)]


def same(some, others, **tolerance):
    assert len(some) == len(others)
    for a, b in zip(some, others):
        if tolerance:
            np.testing.assert_allclose(a, b, **tolerance)
        else:
            np.testing.assert_array_equal(a, b)


class OwnStep:
    """A subclass with a forward of its own, which loops in Python."""

    def forward(self, inputs, states=None):
        return super().forward(inputs, states)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_the_op_is_a_loop_over_the_cell(cell, time_major, reverse):
    proa.seed(3)
    plain = cell(4, 5)
    own = type("Own", (OwnStep, cell), {})(4, 5)
    own.set_state_dict(plain.state_dict())
    x = random.standard_normal((6, 3, 4) if time_major else (3, 6, 4)).astype("float32")
    lengths = proa.to_tensor([4, 0, 6])
    for more in ((), (None, lengths)):
        found = [run(nn.RNN(c, reverse, time_major), x, *more) for c in (plain, own)]
        same(*found, rtol=2e-4, atol=2e-5)


def test_hooks_of_a_cell_are_called():
    cell, seen = nn.GRUCell(2, 3), []
    cell.register_forward_post_hook(lambda layer, inputs, outputs: seen.append(outputs[0].shape))
    out, _ = nn.RNN(cell)(proa.ones([2, 4, 2]))
    assert seen == [[2, 3]] * 4 and out.shape == [2, 4, 3]


@pytest.mark.parametrize("layer", LAYERS)
def test_what_is_beyond_a_length_is_not_read(layer):
    net = layer(3, 4, num_layers=2, direction="bidirect")
    x = random.standard_normal((4, 5, 3)).astype("float32")
    lengths = np.array([3, 5, 0, 1])
    clean = run(net, x, None, proa.to_tensor(lengths))
    dirty = x.copy()
    for n, length in enumerate(lengths):
        dirty[n, length:] = np.nan
    same(run(net, dirty, None, proa.to_tensor(lengths)), clean)
    out, of_x = clean[0], clean[-1 - len(net.parameters())]
    for n, length in enumerate(lengths):
        assert (out[n, length:] == 0).all() and (of_x[n, length:] == 0).all()
        alone = tensors(net(proa.to_tensor(x[n : n + 1, :length])))
        np.testing.assert_allclose(out[n, :length], alone[0][0].numpy(), rtol=1e-5, atol=1e-6)
        for whole, state in zip(clean[1:], alone[1:]):
            np.testing.assert_allclose(whole[:, n], state[:, 0].numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layer", LAYERS)
def test_states_of_no_steps_are_the_first_ones(layer):
    net = layer(3, 4)
    start = proa.to_tensor(random.standard_normal((1, 2, 4)).astype("float32"))
    given = (start, start * 2) if layer is nn.LSTM else start
    for x, lengths in ((proa.zeros([2, 0, 3]), None), (proa.ones([2, 3, 3]), proa.to_tensor([0, 0]))):
        out, last = net(x, given, lengths)
        assert (out.numpy() == 0).all() and out.shape == [2, x.shape[1], 4]
        same([t.numpy() for t in tensors(last)], [t.numpy() for t in tensors(given)])
    out, last = net(proa.zeros([0, 3, 3]))
    assert out.shape == [0, 3, 4] and all(t.shape == [1, 0, 4] for t in tensors(last))


@pytest.mark.parametrize("layer", LAYERS)
def test_gradients_of_states(layer):
    net = layer(2, 3)
    names = ("h", "c") if layer is nn.LSTM else ("h",)
    starts = [proa.to_tensor(random.standard_normal((1, 2, 3)), stop_gradient=False) for _ in names]
    x = proa.to_tensor(random.standard_normal((2, 3, 2)))
    net.to(dtype="float64")
    weights = [random.standard_normal((1, 2, 3)) for _ in names]

    def loss(values):
        _, last = net(x, tuple(values) if len(values) > 1 else values[0], proa.to_tensor([3, 0]))
        return sum((t * proa.to_tensor(w)).sum() for t, w in zip(tensors(last), weights))

    loss(starts).backward()
    for k, start in enumerate(starts):
        direction = random.standard_normal((1, 2, 3))
        moved = lambda by, k=k, d=direction: [
            proa.to_tensor(s.numpy() + (by * d if i == k else 0)) for i, s in enumerate(starts)
        ]
        slope = (loss(moved(1e-6)) - loss(moved(-1e-6))).item() / 2e-6
        np.testing.assert_allclose((start.grad.numpy() * direction).sum(), slope, rtol=1e-7)
        np.testing.assert_allclose(start.grad.numpy()[0, 1], weights[k][0, 1])  # of no steps


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("sizes", [(2, 3, 5, 7), (17, 9, 40, 50), (40, 4, 33, 129)])
def test_the_same_bits_for_any_number_of_threads(layer, sizes):
    batch, steps, inputs, hidden = sizes
    net = layer(inputs, hidden, direction="bidirect")
    x = random.standard_normal((batch, steps, inputs)).astype("float32")
    lengths = proa.to_tensor(random.integers(0, steps + 1, batch))
    found, before = [], proa._C.get_num_threads()
    try:
        for n in (1, 2, 3, 5):
            proa._C.set_num_threads(n)
            found.append(run(net, x, None, lengths))
    finally:
        proa._C.set_num_threads(before)
    for other in found[1:]:
        same(found[0], other)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("sizes", [(3, 30, 8, 16), (5, 7, 3, 25), (33, 3, 40, 129)])
def test_bfloat16_is_added_up_in_float32(layer, sizes):
    """Bit for bit the layer in float32, rounded; where the CPU multiplies bfloat16, states are rounded before that."""
    batch, steps, inputs, hidden = sizes
    net, half = (layer(inputs, hidden, direction="bidirect") for _ in range(2))
    half.to(dtype="bfloat16")
    half.set_state_dict({k: v.astype("bfloat16") for k, v in net.state_dict().items()})
    net.set_state_dict({k: v.astype("float32") for k, v in half.state_dict().items()})
    x = proa.to_tensor(random.standard_normal((batch, steps, inputs)).astype("float32")).astype("bfloat16")
    lengths = proa.to_tensor(random.integers(0, steps + 1, batch))
    wide, narrow = net(x.astype("float32"), None, lengths)[0], half(x, None, lengths)[0]
    assert narrow.dtype == proa.bfloat16
    found, want = narrow.astype("float32").numpy(), wide.astype("bfloat16").astype("float32").numpy()
    if environment.has_cpu_flag("avx512_bf16"):
        np.testing.assert_allclose(found, want, rtol=2**-7, atol=2**-7)  # states are below 1
        assert np.abs(found - want).mean() < 2**-10
        # Gradients as those of float32 within some steps of bfloat16, of the largest.
        grads = [run(n, v.astype("float32").numpy(), None, lengths) for n, v in ((net, x),)][0][-8:]
        low = proa.to_tensor(x, stop_gradient=False)
        sum((t.astype("float64") ** 2).sum() for t in tensors(half(low, None, lengths))).backward()
        for p, exact in zip(half.parameters(), grads):
            error = np.abs(p.grad.astype("float32").numpy() - exact).max()
            assert error <= 2**-6 * np.abs(exact).max(), p.name
    else:
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("layer", LAYERS)
def test_bfloat16_gives_the_same_bits_for_any_number_of_threads(layer):
    net = layer(40, 51, direction="bidirect")
    net.to(dtype="bfloat16")
    x = random.standard_normal((33, 9, 40)).astype("float32")
    lengths, found, before = proa.to_tensor(random.integers(0, 10, 33)), [], proa._C.get_num_threads()
    try:
        for n in (1, 2, 3, 5):
            proa._C.set_num_threads(n)
            leaf = proa.to_tensor(x).astype("bfloat16").detach()
            leaf.stop_gradient = False
            results = tensors(net(leaf, None, lengths))
            sum((t.astype("float64") ** 2).sum() for t in results).backward()
            grads = [leaf.grad, *(p.grad for p in net.parameters())]
            found.append([t.astype("float32").numpy() for t in (*results, *grads)])
            net.clear_gradients()
    finally:
        proa._C.set_num_threads(before)
    for other in found[1:]:
        same(found[0], other)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("direction", ["forward", "bidirect"])
def test_one_operation_for_each_layer_and_direction(layer, direction, tmp_path):
    net = layer(3, 4, num_layers=2, direction=direction)
    net.eval()
    spec = proa.static.InputSpec

    class Model(nn.Layer):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, x, lengths):
            return self.net(x, None, lengths)

    proa.jit.save(Model(), str(tmp_path / "model"), input_spec=[spec([None, None, 3]), spec([None], "int64")])
    loaded = proa.jit.load(str(tmp_path / "model"))
    text = str(loaded.program())
    assert text.count(" rnn(") == (4 if direction == "bidirect" else 2) and text.count("matmul") == 0
    for batch, steps in ((1, 1), (4, 7), (2, 3), (3, 0)):
        x = random.standard_normal((batch, steps, 3)).astype("float32")
        lengths = proa.to_tensor(random.integers(0, steps + 1, batch))
        leaves = [proa.to_tensor(x, stop_gradient=False) for _ in range(2)]
        eager, again = tensors(net(leaves[0], None, lengths)), tensors(loaded(leaves[1], lengths))
        same([t.numpy() for t in again], [t.numpy() for t in eager])
        sum((t**2).sum() for t in eager).backward()
        sum((t**2).sum() for t in again).backward()
        same([leaves[1].grad.numpy()], [leaves[0].grad.numpy()], rtol=1e-6, atol=1e-6)


def test_dropout_between_layers_is_drawn_anew():
    net = nn.LSTM(3, 8, num_layers=2, dropout=0.5)
    x = proa.ones([2, 4, 3])
    first, second = (net(x)[0].numpy() for _ in range(2))
    assert (first != second).any()
    net.eval()
    same([net(x)[0].numpy()], [net(x)[0].numpy()])


@pytest.mark.parametrize("cell", CELLS)
def test_a_step_of_a_cell(cell):
    c = cell(3, 4)
    x = proa.to_tensor(random.standard_normal((2, 3)).astype("float32"))
    out, states = c(x)
    again, more = c(x, states)
    outputs, last = nn.RNN(c)(proa.stack([x, x], 1))
    np.testing.assert_allclose(outputs[:, 0].numpy(), out.numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(outputs[:, 1].numpy(), again.numpy(), rtol=1e-5, atol=1e-6)
    for a, b in zip(tensors(last), tensors(more)):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_penalty_on_gradients_trains(layer):
    """The gradient of a gradient reaches the weights, through both layers."""
    proa.seed(1)
    net = layer(2, 3, num_layers=2)
    net.to(dtype="float64")
    x = random.standard_normal((2, 3, 2))
    weight = net.parameters()[0]

    def penalty():
        leaf = proa.to_tensor(x, stop_gradient=False)
        (g,) = proa.grad((net(leaf)[0] ** 2).sum(), leaf, create_graph=True)
        return (g**2).sum()

    penalty().backward()
    direction, before = random.standard_normal(weight.shape), weight.numpy()
    values = []
    for by in (1e-6, -1e-6):
        weight.set_value(before + by * direction)
        values.append(penalty().item())
    np.testing.assert_allclose((weight.grad.numpy() * direction).sum(), (values[0] - values[1]) / 2e-6, rtol=1e-5)


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: nn.LSTM(3, 4)(proa.ones([2, 5])), "x must be"),
        (lambda: nn.LSTM(3, 4)(proa.ones([2, 5, 4])), "weight_ih must be"),
        (lambda: nn.GRU(3, 4)(proa.ones([2, 5, 3]), proa.ones([1, 3, 4])), "h0 must be"),
        (lambda: nn.GRU(3, 4)(proa.ones([2, 5, 3]), None, proa.to_tensor([6, 1])), "length 6 of sample 0"),
        (lambda: nn.GRU(3, 4)(proa.ones([2, 5, 3]), None, proa.to_tensor([5])), "lengths must be"),
        (lambda: nn.GRU(3, 4)(proa.ones([2, 5, 3]), None, proa.to_tensor([5.0, 1.0])), "lengths must be integers"),
        (lambda: nn.LSTMCell(3, 4)(proa.ones([2, 5, 3])), "inputs"),
    ],
)
def test_bad_calls(call, says):
    with pytest.raises((TypeError, ValueError), match=says):
        call()
