"""Hooks on saved tensors, and the report on what is saved."""

import gc
import os
import threading

import numpy as np
import pytest

import proa
from proa import _C, nn
from proa.autograd import save_on_cpu, save_on_disk, saved_tensors_hooks, saved_tensors_summary


def _leaf(*values, dtype="float64"):
    return proa.to_tensor(list(values), dtype=dtype, stop_gradient=False)


def test_pack_and_unpack():
    log = []

    def pack(x):
        assert x.stop_gradient
        assert not proa.autograd.is_grad_enabled()
        log.append("pack")
        return x.numpy()

    def unpack(a):
        log.append("unpack")
        return proa.to_tensor(a)

    w = _leaf(2.0)
    x = w * 3
    with saved_tensors_hooks(pack, unpack):
        y = x * x
    y = y * y  # outside
    assert log == ["pack", "pack"]
    y.backward()
    assert log == ["pack", "pack", "unpack", "unpack"]
    assert w.grad.item() == 4 * 81 * 8


def test_parameters_are_not_packed():
    def pack(x):
        raise AssertionError(x)

    w = _leaf(2.0)
    with saved_tensors_hooks(pack, pack):
        y = w * w
    y.backward()
    assert w.grad.item() == 4.0


def test_decorator_nesting_and_exceptions():
    packed = []
    w = _leaf(2.0)
    x = w * 1

    @saved_tensors_hooks(lambda t: packed.append("outer") or t.numpy(), proa.to_tensor)
    def model():
        with saved_tensors_hooks(lambda t: packed.append("inner") or t.numpy(), proa.to_tensor):
            y = x * x
        return proa.exp(y)

    model().backward()
    assert packed == ["inner", "inner", "outer"]
    np.testing.assert_allclose(w.grad.numpy(), [4 * np.exp(4)])
    with pytest.raises(KeyError), saved_tensors_hooks(print, print):
        raise KeyError
    x * x
    assert len(packed) == 3  # the block has ended


def test_hooks_are_of_one_thread():
    packed = []
    with saved_tensors_hooks(packed.append, lambda _: None):
        thread = threading.Thread(target=lambda: (_leaf(1.0) * 2) ** 2)
        thread.start()
        thread.join()
    assert packed == []


@pytest.mark.parametrize(
    ("unpack", "error", "says"),
    [
        (lambda a: a, TypeError, "unpack must return a Tensor, not numpy.ndarray"),
        (lambda a: proa.to_tensor(a[:1]), ValueError, r"unpack returned \[1\] float64 .* saved for square's backward"),
        (lambda a: proa.to_tensor(a, dtype="float32"), ValueError, r"that is \[2\] float64"),
        (lambda a: a["nothing"], IndexError, None),
    ],
)
def test_errors_of_unpack(unpack, error, says):
    x = _leaf(1.0, 2.0) * 2
    with saved_tensors_hooks(lambda t: t.numpy(), unpack):
        y = proa.square(x)
    with pytest.raises(error, match=says):
        y.sum().backward()
    assert proa.autograd.is_grad_enabled()


def test_errors_of_pack():
    x = _leaf(1.0) * 2
    with saved_tensors_hooks(lambda t: 1 / 0, print), pytest.raises(ZeroDivisionError):
        x * x
    with pytest.raises(TypeError, match="unpack_hook must be callable, not int"):
        saved_tensors_hooks(print, 3)
    with pytest.raises(RuntimeError, match="none on this thread"):
        _C.pop_saved_tensors_hooks()


def test_double_backward():
    w = _leaf(1.5)
    with saved_tensors_hooks(lambda t: t.numpy(), proa.to_tensor):
        y = proa.exp(w * w)
    (g,) = proa.grad(y, w, create_graph=True)
    (gg,) = proa.grad(g, w)
    e = np.exp(2.25)
    np.testing.assert_allclose(g.numpy(), [3 * e])
    np.testing.assert_allclose(gg.numpy(), [(2 + 9) * e])


def test_change_in_place():
    w = _leaf(2.0)
    for pack, unpack, fails in ((lambda t: t.numpy(), proa.to_tensor, False), (lambda t: t, lambda t: t, True)):
        x = w * 1
        with saved_tensors_hooks(pack, unpack):
            y = proa.square(x)
        x.scale_(10.0)
        if fails:
            with pytest.raises(RuntimeError, match="changed in place"):
                y.backward()
        else:
            y.backward()
            assert w.grad.item() == 4.0


def test_save_on_disk(tmp_path):
    folder = tmp_path / "new"
    w = _leaf(2.0, 3.0, dtype="float32")
    shapes = []
    with save_on_disk(folder):
        x = w * 1
        y = proa.square(x.reshape([2, 1]).t())  # [1, 2], strided
        z = proa.exp(x.astype("bfloat16")).astype("float32") + proa.square(x.sum()) + proa.zeros([0, 2]).sum()
        shapes = sorted(np.load(folder / f).shape for f in os.listdir(folder))
    assert (1, 2) in shapes
    assert () in shapes
    total = y.sum() + z.sum()
    total.backward()
    np.testing.assert_allclose(w.grad.numpy(), 2 * np.array([2.0, 3.0]) + np.exp([2.0, 3.0]) + 4 * 5.0, rtol=0.02)
    gc.collect()
    assert os.listdir(folder) == []
    with save_on_disk():
        proa.square(w * 2).sum().backward()
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(FileExistsError):
        save_on_disk(file)


def test_file_that_is_gone(tmp_path):
    with save_on_disk(tmp_path):
        y = proa.square(_leaf(1.0) + 1.0)
    (file,) = os.listdir(tmp_path)
    os.remove(tmp_path / file)
    with pytest.raises(FileNotFoundError):
        y.backward()


def test_save_on_cpu():
    w = _leaf(2.0)
    with save_on_cpu():
        y = proa.square(w * 3)
    y.backward()
    assert w.grad.item() == 36.0


# saved_tensors_summary


def test_rows_and_table():
    w = _leaf(*range(1000), dtype="float32")
    c = proa.full([1000], 2.0)
    x = w * c  # keeps c
    y = proa.exp(x)
    z = (y * x).sum()
    summary = saved_tensors_summary(z)
    found = {(r.group, r.op, r.name): (r.tensors, r.bytes) for r in summary.rows}
    assert found == {
        ("activation", "multiply", "x"): (1, 4000),
        ("activation", "multiply", "y"): (1, 4000),
        ("activation", "exp", "out"): (1, 0),  # y again
        ("constant", "multiply", "y"): (1, 4000),
    }
    assert (summary.activation_bytes, summary.leaf_bytes, summary.constant_bytes) == (8000, 0, 4000)
    assert summary.nodes == 4
    assert "activation in all" in " ".join(str(summary).split())
    z.backward()
    assert saved_tensors_summary([z, x]).rows == ()
    with pytest.raises(TypeError, match="saved_tensors_summary: expected a Tensor"):
        saved_tensors_summary(3)


def test_packed():
    with saved_tensors_hooks(lambda t: t.numpy(), proa.to_tensor):
        y = proa.square(_leaf(1.0, 2.0) + 1.0)
    assert saved_tensors_summary(y).packed_bytes == 16


class _LeNet(nn.Layer):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(1, 6, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
            nn.Conv2D(6, 16, 5),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
        )
        self.head = nn.Sequential(nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10))

    def forward(self, x):
        return self.head(proa.flatten(self.features(x), 1))


class _Transformer(nn.Layer):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 64)
        layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.1)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(64, 100)

    def forward(self, x):
        return self.head(self.encoder(self.embedding(x))).reshape([-1, 100])


class _Bottleneck(nn.Layer):
    def __init__(self, i, width, stride):
        super().__init__()
        o = 4 * width
        self.body = nn.Sequential(
            *(nn.Conv2D(i, width, 1, bias_attr=False), nn.BatchNorm2D(width), nn.ReLU()),
            *(nn.Conv2D(width, width, 3, stride, 1, bias_attr=False), nn.BatchNorm2D(width), nn.ReLU()),
            *(nn.Conv2D(width, o, 1, bias_attr=False), nn.BatchNorm2D(o)),
        )
        self.short = nn.Sequential(nn.Conv2D(i, o, 1, stride, bias_attr=False), nn.BatchNorm2D(o))

    def forward(self, x):
        return nn.functional.relu(self.body(x) + self.short(x))


def _resnet():
    """The layers of ResNet-50, few of them and narrow; benchmarks/saved_memory.py has it whole."""
    return nn.Sequential(
        *(nn.Conv2D(3, 8, 7, 2, 3, bias_attr=False), nn.BatchNorm2D(8), nn.ReLU(), nn.MaxPool2D(3, 2, 1)),
        *(_Bottleneck(8, 4, 1), _Bottleneck(16, 8, 2), nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(32, 10)),
    )


@pytest.mark.parametrize("name", ["lenet", "resnet", "transformer"])
def test_equals_what_the_allocator_says(name):
    rng = np.random.RandomState(0)
    if name == "lenet":
        model, x = _LeNet(), proa.to_tensor(rng.rand(32, 1, 28, 28).astype("float32"))
    elif name == "resnet":
        model, x = _resnet(), proa.to_tensor(rng.rand(4, 3, 64, 64).astype("float32"))
    else:
        model, x = _Transformer(), proa.to_tensor(rng.randint(0, 100, [8, 32]))
    labels = proa.to_tensor(rng.randint(0, 10, [x.shape[0] * (32 if name == "transformer" else 1)]))

    def forward():
        return nn.functional.cross_entropy(model(x), labels)

    for _ in range(2):  # what is made once, and for weights that do not change
        forward().backward()
    model.clear_gradients()
    gc.collect()
    before = _C.memory_figures()["allocated"]
    loss = forward()
    held = _C.memory_figures()["allocated"] - before
    summary = saved_tensors_summary(loss)
    print(summary)
    # Constants are the inputs, which were there before, and masks, if any.
    inputs = x.size * x.element_size() + labels.size * labels.element_size()
    expected = summary.activation_bytes + max(0, summary.constant_bytes - inputs)
    assert abs(held - expected) <= 0.02 * held, (held, expected)
