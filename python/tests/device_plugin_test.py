"""Everything runs on a device with memory of its own and asynchronous streams, by way of the host.

The test plugin's addresses cannot be read from the host, so an op that took the memory of a tensor for host memory
would crash here.
"""

import pathlib

import numpy as np
import pytest

import proa
from ops.conformance import samples, suite
from proa import _C, nn
from proa.nn import functional as F

_PLUGIN = pathlib.Path("tensor/testing/async_device_plugin.so")
_CPU = proa.CPUPlace()


@pytest.fixture(scope="module", autouse=True)
def _device():
    kind = _C.load_device_plugin(str(_PLUGIN.resolve()))
    proa.set_device(f"{kind}:0")
    yield
    proa.set_device("cpu")


def _random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def _there(array, **kwargs):
    x = proa.to_tensor(array, **kwargs)
    assert str(x.place) == "Place(async:0)"
    return x


def test_ops_and_their_gradients():
    a, b = _random(3, 4), _random(4, 5, seed=1)
    x, y = _there(a, stop_gradient=False), _there(b, stop_gradient=False)
    z = F.softmax(proa.matmul(x, y).tanh() + 1, axis=-1)
    assert str(z.place) == "Place(async:0)"
    (z * z).sum().backward()
    p, q = proa.to_tensor(a, place=_CPU, stop_gradient=False), proa.to_tensor(b, place=_CPU, stop_gradient=False)
    w = F.softmax(proa.matmul(p, q).tanh() + 1, axis=-1)
    (w * w).sum().backward()
    assert str(x.grad.place) == "Place(async:0)"
    np.testing.assert_array_equal(z.numpy(), w.numpy())
    np.testing.assert_array_equal(x.grad.numpy(), p.grad.numpy())
    np.testing.assert_array_equal(y.grad.numpy(), q.grad.numpy())


def test_views_share_the_memory_of_the_device():
    a = _random(4, 6)
    x = _there(a)
    view = x.reshape([2, 12])[1].transpose([0])
    x.add_(proa.ones([4, 6]))
    np.testing.assert_array_equal(view.numpy(), (a + 1).reshape(2, 12)[1])
    x.t()[2:4].zero_() if hasattr(x, "zero_") else x.t()[2:4].fill_(0.0)
    a = a + 1
    a[:, 2:4] = 0
    np.testing.assert_array_equal(x.numpy(), a)
    # A view that is none: of transposed elements.
    np.testing.assert_array_equal(x.t().reshape([24]).numpy(), a.T.reshape(24))


def test_writing_in_place():
    a = _random(3, 4)
    x = _there(a)
    x[1] = 7.0
    x[:, [0, 2]] = proa.to_tensor([1.0, 2.0])
    a[1] = 7
    a[:, [0, 2]] = [1, 2]
    np.testing.assert_array_equal(x.numpy(), a)
    version = x.inplace_version
    x.exp_() if hasattr(x, "exp_") else x.tanh_()
    assert x.inplace_version == version + 1
    x.t().add_(proa.ones([4, 3]))
    assert x.inplace_version == version + 2


def test_ops_that_change_an_argument():
    norm, other = nn.BatchNorm2D(3), nn.BatchNorm2D(3)
    for _, p in [*norm.named_parameters(), *norm.named_buffers()]:
        assert str(p.place) == "Place(async:0)"
    x = _random(4, 3, 5, 5)
    norm(_there(x))
    np.testing.assert_allclose(norm._mean.numpy(), 0.1 * x.mean((0, 2, 3)), rtol=1e-4, atol=1e-6)
    assert str(norm._mean.place) == "Place(async:0)"
    np.testing.assert_array_equal(other._mean.numpy(), np.zeros(3))


def _train(place, steps=4):
    proa.set_device(place)
    proa.seed(3)
    net = nn.Sequential(
        nn.Conv2D(1, 4, 3), nn.BatchNorm2D(4), nn.ReLU(), nn.MaxPool2D(2), nn.Flatten(), nn.Linear(36, 10)
    )
    state = np.random.default_rng(5)
    for p in net.parameters():
        p.set_value(state.standard_normal(p.shape).astype("float32") * 0.1)
    optimizer = proa.optimizer.Adam(0.01, parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(1.0))
    images, labels = proa.to_tensor(_random(8, 1, 8, 8)), proa.to_tensor(np.arange(8) % 10)
    losses = []
    for _ in range(steps):
        loss = F.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    assert str(net[0].weight.place) == f"Place({place})"
    return losses, net


def test_a_model_trains_as_on_the_cpu():
    try:
        expected, _ = _train("cpu")
        losses, net = _train("async:0")
        # Not to the bit: on the CPU images are channels-last, on this device row-major, and
        # batch norm adds up in the order of memory.
        np.testing.assert_allclose(losses, expected, rtol=1e-6)
        assert losses[-1] < losses[0]
        np.testing.assert_array_equal(net.state_dict()["1._mean"].shape, [4])
    finally:
        proa.set_device("async:0")


def test_random_numbers_are_those_of_the_cpu():
    proa.seed(11)
    x = proa.rand([100])
    proa.set_device("cpu")
    try:
        proa.seed(11)
        y = proa.rand([100])
    finally:
        proa.set_device("async:0")
    np.testing.assert_array_equal(x.numpy(), y.numpy())


def test_saving_and_printing(tmp_path):
    x = _there([[1.0, 2.0], [3.0, 4.0]])
    assert "[1., 2.]" in repr(x) and "async:0" in repr(x)
    proa.save({"x": x}, str(tmp_path / "x.pdparams"))
    np.testing.assert_array_equal(proa.load(str(tmp_path / "x.pdparams"))["x"].numpy(), x.numpy())


def test_places_do_not_mix_silently():
    with pytest.raises(ValueError, match="place"):
        proa.add(_there([1.0, 2.0]), proa.to_tensor([1.0, 2.0], place=_CPU))


def test_nothing_stays_on_the_device():
    before = _C.memory_figures("async:0")["allocated"]
    for _ in range(3):
        test_ops_and_their_gradients()
    assert _C.memory_figures("async:0")["allocated"] == before


def _mixed_places(op):
    """What an op says when its last tensor lies elsewhere than the others; None if it has no two."""
    sample = samples.parse(op.samples[0], op.dtypes[-1:])[0]
    values = suite.Case(proa, op, sample).values
    tensors = [name for name, v in values.items() if isinstance(v, _C.Tensor) and len(v.shape) > 0]
    if len(tensors) < 2:
        return None
    values[tensors[-1]] = values[tensors[-1]].cpu()
    try:
        getattr(_C.ops, op.name)(**values)
    except ValueError as error:
        return str(error)
    return "no error"


def test_tensors_in_different_places_are_an_error_of_every_op():
    """That begins with the op and says which places."""
    said = {op.name: _mixed_places(op) for op in suite.all_ops().values() if op.samples and op.kernel}
    said = {name: text for name, text in said.items() if text is not None}
    assert len(said) > 60
    wrong = {
        name: text
        for name, text in said.items()
        if not (
            text.startswith(f"(InvalidArgument) {name}: ") and "places" in text and "async:0" in text and "cpu" in text
        )
    }
    assert not wrong, wrong


def test_streams_are_the_devices():
    from proa.device import Event, Stream, current_stream, stream_guard

    default, stream = current_stream(), Stream()
    assert str(stream.device) == "Place(async:0)" and stream != default
    x = _there(_random(100))
    start, end = Event(), Event()
    with stream_guard(stream):
        assert current_stream() == stream
        start.record()
        for _ in range(20):
            x = x.clone()
        end.record()
        assert not end.query()  # a copy takes 0.1 ms at least, and nobody has waited
    assert current_stream() == default
    np.testing.assert_array_equal(x.numpy(), _random(100))  # what follows a scope comes after it
    end.synchronize()
    assert end.query() and start.elapsed_time(end) >= 1
    other = Stream()
    other.wait_stream(stream)
    other.wait_event(Event())
    other.synchronize()
    while not other.query():  # all is done; the question itself is work of the stream
        pass


def test_what_is_no_stream():
    from proa.device import Event, Stream, stream_guard

    with pytest.raises(TypeError, match="stream_guard: stream must be a Stream, not int"):
        stream_guard(3)
    with pytest.raises(TypeError, match="record: stream must be a Stream, not str"):
        Event().record("async:0")
    with pytest.raises(RuntimeError, match="both events must have been recorded"):
        Event().elapsed_time(Event())
    on_second = Event()
    on_second.record(Stream("async:1"))
    with pytest.raises((ValueError, RuntimeError), match="the event is on async:1, and the other is on async:0"):
        on_second.record(Stream("async:0"))


def test_filled_on_the_device():
    for value, dtype in [
        (0, "float32"),
        (1, "uint8"),
        (0x0101, "int16"),
        (2.5, "float64"),
        (-1, "int64"),
        (True, "bool"),
    ]:
        x = proa.full([3, 5], value, dtype)
        assert str(x.place) == "Place(async:0)"
        np.testing.assert_array_equal(x.numpy(), np.full([3, 5], value, dtype))
        np.testing.assert_array_equal(proa.full_like(x.t(), value).numpy(), np.full([5, 3], value, dtype))
    assert proa.zeros([0, 3]).shape == [0, 3]
