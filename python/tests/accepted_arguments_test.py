"""Arguments that programs of the reference give: each does what it says."""

import numpy as np
import pytest

import proa
from proa import nn
from proa.nn import functional as F

# Numbers ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8])
def test_numpy_integers_as_sizes(kind):
    x = proa.ones([1, 3, 8, 8])
    three, two, one = kind(3), kind(2), kind(1)
    assert nn.Conv2D(3, 4, three, stride=two, padding=one)(x).shape == [1, 4, 4, 4]
    assert nn.Conv2D(3, 4, (three, 3), padding=(one, 1))(x).shape == [1, 4, 8, 8]
    assert nn.Conv2D(3, 4, np.array([3, 3]), padding=np.array([1, 1]))(x).shape == [1, 4, 8, 8]
    assert nn.Conv2DTranspose(3, 4, two, stride=two)(x).shape == [1, 4, 16, 16]
    assert nn.MaxPool2D(two)(x).shape == nn.AvgPool2D(two, stride=two)(x).shape == [1, 3, 4, 4]
    assert F.max_pool2d(x, three, one, padding=one).shape == [1, 3, 8, 8]
    assert nn.AdaptiveAvgPool2D(two)(x).shape == [1, 3, 2, 2]
    assert F.adaptive_avg_pool2d(x, [two, None]).shape == [1, 3, 2, 8]
    assert F.unfold(x, two, strides=two).shape == [1, 12, 16]
    assert nn.Linear(int(three), kind(4)).weight.shape == [3, 4]
    assert nn.Embedding(kind(5), kind(2)).weight.shape == [5, 2]
    assert nn.LayerNorm(kind(8))(x).shape == [1, 3, 8, 8]
    assert nn.Pad2D(one)(x).shape == [1, 3, 10, 10]
    assert F.pixel_shuffle(proa.ones([1, 4, 2, 2]), two).shape == [1, 1, 4, 4]


@pytest.mark.parametrize("text, value", [("-inf", -np.inf), ("inf", np.inf), ("1.5", 1.5), ("nan", np.nan)])
def test_full_of_text(text, value):
    assert np.array_equal(proa.full([2], text).numpy(), np.full(2, value, "float32"), equal_nan=True)
    assert np.array_equal(proa.full_like(proa.ones([2]), text).numpy(), np.full(2, value, "float32"), equal_nan=True)


def test_linear_with_a_weight_of_one_dim():
    x, w = np.arange(6, dtype="float32").reshape(2, 3), np.array([1, 2, 3], "float32")
    assert np.array_equal(F.linear(proa.to_tensor(x), proa.to_tensor(w)).numpy(), x @ w)
    assert np.array_equal(F.linear(proa.to_tensor(x), proa.to_tensor(w), proa.full([1], 2.0)).numpy(), x @ w + 2)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_ids_of_any_integer_dtype(dtype):
    table = nn.Embedding(4, 2, padding_idx=1)
    out = table(proa.to_tensor([[1, 3]], dtype=dtype))
    assert np.array_equal(out.numpy(), table.weight.numpy()[[[1, 3]]])
    with pytest.raises(TypeError):
        table(proa.to_tensor([1.0]))


def test_bins_of_a_tensor():
    x = proa.to_tensor([1.0, 2.0, 1.0, 4.0])
    assert proa.histogram(x, bins=proa.to_tensor(4), min=0, max=4).tolist() == [0, 2, 1, 1]


def test_label_smooth_without_classes():
    assert F.label_smooth(proa.ones([3, 0])).shape == [3, 0]


# Pools ------------------------------------------------------------------------


def _pool3d(x, starts, ends):
    """Maxima and their places by looking at each window; starts and ends for each of three dims."""
    n, c, *size = x.shape
    out = np.empty((n, c, *map(len, starts)), x.dtype)
    places = np.empty(out.shape, "int32")
    whole = np.arange(np.prod(size)).reshape(size)
    for i in np.ndindex(*out.shape[2:]):
        window = tuple(slice(starts[k][i[k]], ends[k][i[k]]) for k in range(3))
        values = x[(slice(None), slice(None), *window)].reshape(n, c, -1)
        first = values.argmax(-1)
        out[(slice(None), slice(None), *i)] = values.max(-1)
        places[(slice(None), slice(None), *i)] = whole[window].ravel()[first]
    return out, places


@pytest.mark.parametrize(
    "kernel, stride, padding", [(2, 2, 0), (3, 2, 1), ((1, 2, 3), (2, 1, 2), 0), ((2, 3, 2), 1, (0, 1, 1))]
)
def test_places_of_max_pool3d(kernel, stride, padding):
    x = np.random.default_rng(0).integers(0, 5, (2, 3, 6, 7, 8)).astype("float32")  # with ties
    k, s, p = (v if isinstance(v, tuple) else (v,) * 3 for v in (kernel, stride, padding))
    counts = [(d + 2 * p[i] - k[i]) // s[i] + 1 for i, d in enumerate(x.shape[2:])]
    starts = [[max(j * s[i] - p[i], 0) for j in range(counts[i])] for i in range(3)]
    ends = [[min(j * s[i] - p[i] + k[i], x.shape[2 + i]) for j in range(counts[i])] for i in range(3)]
    expected = _pool3d(x, starts, ends)
    found = F.max_pool3d(proa.to_tensor(x), kernel, stride, padding, return_mask=True)
    assert all(np.array_equal(a.numpy(), b) for a, b in zip(found, expected))
    last = proa.to_tensor(np.ascontiguousarray(np.moveaxis(x, 1, -1)))
    found = F.max_pool3d(last, kernel, stride, padding, return_mask=True, data_format="NDHWC")
    assert all(np.array_equal(np.moveaxis(a.numpy(), -1, 1), b) for a, b in zip(found, expected))


@pytest.mark.parametrize("size", [2, (2, 3, 5), (None, 4, 1)])
def test_places_of_adaptive_max_pool3d(size):
    x = np.random.default_rng(1).integers(0, 5, (1, 2, 6, 7, 8)).astype("float64")
    sizes = [x.shape[2 + i] if s is None else s for i, s in enumerate((size,) * 3 if isinstance(size, int) else size)]
    starts = [[j * d // n for j in range(n)] for n, d in zip(sizes, x.shape[2:])]
    ends = [[-(-(j + 1) * d // n) for j in range(n)] for n, d in zip(sizes, x.shape[2:])]
    expected = _pool3d(x, starts, ends)
    t = proa.to_tensor(x, stop_gradient=False)
    found = nn.AdaptiveMaxPool3D(size, return_mask=True)(t)
    assert all(np.array_equal(a.numpy(), b) for a, b in zip(found, expected))
    found[0].sum().backward()
    counts = np.zeros_like(x)
    for c in range(2):
        np.add.at(counts[0, c].reshape(-1), expected[1][0, c].ravel(), 1.0)
    assert np.array_equal(t.grad.numpy(), counts)


# Optimizers -------------------------------------------------------------------


def _optimizers(name):
    kind = getattr(proa.optimizer, name)
    return lambda parameters, **more: kind(learning_rate=0.01, parameters=parameters, **more)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["SGD", "Momentum", "Adam", "AdamW"])
def test_master_weights(name, dtype):
    """Updates go to float32 copies: as those of a float32 network with the same gradients, rounded at the end."""
    start = np.linspace(-1, 1, 6).reshape(2, 3).astype("float32")
    low = proa.create_parameter([2, 3], dtype, name=f"low_{name}_{dtype}")
    low.set_value(proa.to_tensor(start, dtype=dtype))
    high = proa.create_parameter([2, 3], "float32")
    high.set_value(low.astype("float32").numpy())
    a, b = _optimizers(name)([low], multi_precision=True), _optimizers(name)([high])
    for step in range(20):
        grad = proa.to_tensor(start * (step + 1) * 0.01, dtype=dtype)
        low.grad, high.grad = grad, grad.astype("float32")
        a.step()
        b.step()
    state = a.state_dict()
    master = state["master_weights"][low.name]
    assert master.dtype == proa.float32 and master.name == f"{low.name}_fp32_master_0"
    assert np.allclose(master.numpy(), high.numpy(), rtol=1e-6, atol=1e-7)
    assert np.array_equal(low.numpy(), master.astype(dtype).numpy())
    if name.startswith("Adam"):
        assert state[f"{low.name}_fp32_master_0_moment1_0"].dtype == proa.float32
    else:
        assert set(state) == {"master_weights"} | ({f"{master.name}_velocity_0"} if name == "Momentum" else set())


def test_master_weights_in_files(tmp_path):
    def made():
        p = proa.create_parameter([3], "bfloat16", name="in_a_file")
        p.set_value(proa.ones([3], "bfloat16"))
        return p, proa.optimizer.Adam(0.001, parameters=[p], multi_precision=True)

    def step(p, optimizer):
        p.grad = proa.full([3], 0.5, "bfloat16")
        optimizer.step()

    (p, first), (q, second) = made(), made()
    step(p, first)
    proa.save(first.state_dict(), str(tmp_path / "a.pdopt"))
    q.set_value(p)
    second.set_state_dict(proa.load(str(tmp_path / "a.pdopt")))
    for _ in range(3):
        step(p, first)
        step(q, second)
    found, expected = (o.state_dict()["master_weights"]["in_a_file"].numpy() for o in (second, first))
    assert np.array_equal(found, expected) and found[0] != np.float32(1.0)


def test_settings_of_momentum():
    def after(**more):
        p = proa.create_parameter([2], "float32", default_initializer=nn.initializer.Constant(1.0))
        p.grad = proa.to_tensor([2.0, 4.0])
        proa.optimizer.Momentum(0.1, parameters=[p], **more).step()
        return p.tolist()

    assert after() == after(use_multi_tensor=True) == pytest.approx([0.8, 0.6])
    assert after(rescale_grad=0.5) == pytest.approx([0.9, 0.8])


# Mixed precision --------------------------------------------------------------


def test_level_o2_computes_in_16_bits():
    x = proa.ones([2, 2])
    for level, dtype in (("O1", proa.float32), ("O2", proa.bfloat16)):
        with proa.amp.auto_cast(level=level, dtype="bfloat16"):
            assert (x + x).dtype == (x * x).dtype == proa.maximum(x, x).dtype == dtype, level
            assert F.relu(x).dtype == dtype and proa.concat([x, x.astype("bfloat16")]).dtype is not None
            assert proa.matmul(x, x).dtype == proa.bfloat16
            assert F.softmax(x).dtype == x.exp().dtype == x.mean().dtype == proa.float32
    w = proa.ones([2, 2])
    w.stop_gradient = False
    with proa.amp.auto_cast(level="O2", dtype="bfloat16"):
        loss = ((w + 1.0) * w).sum()
    loss.backward()
    assert w.grad.dtype == proa.float32 and w.grad.tolist() == [[3.0, 3.0]] * 2


# Models -----------------------------------------------------------------------


def test_inputs_of_summary(capsys):
    net = nn.Linear(3, 2)
    assert proa.summary(net, input_size=proa.static.InputSpec([None, 3], "float32"))["total_params"] == 8

    class Pair(nn.Layer):
        def forward(self, x):
            return x[0] + x[1]

    class Two(nn.Layer):
        def forward(self, x, y):
            return x + y

    for kind in (Pair, Two):
        assert proa.summary(kind(), input=[proa.ones([2]), proa.ones([2])]) == {
            "total_params": 0,
            "trainable_params": 0,
        }

    class Named(nn.Layer):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(3, 2)

        def forward(self, x):
            return self.inner(x["one"] if isinstance(x, dict) else x)

    for given in ({"one": proa.ones([1, 3])}, {"x": proa.ones([1, 3])}):
        assert proa.summary(Named(), input=given)["total_params"] == 8
    assert "Layer (type)" in capsys.readouterr().out


class _Points(proa.io.Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, i):
        return np.array([i], "float32"), np.array([0.0], "float32")


def test_results_of_model():
    model = proa.Model(nn.Linear(1, 1, bias_attr=False))
    model.network.weight.set_value(np.array([[2.0]], "float32"))
    model.prepare(None, nn.MSELoss())
    # The loss of the last batch, which is the sample 4 alone: (2 * 4)**2.
    assert model.evaluate(_Points(), batch_size=2, verbose=0) == {"loss": [64.0]}
    outputs = model.predict(_Points(), batch_size=2, verbose=0)
    assert isinstance(outputs, list) and isinstance(outputs[0], tuple)
    assert [part.shape for part in outputs[0]] == [(2, 1), (2, 1), (1, 1)]
