"""Predictors fold normalization into convolutions and fuse activations: for every activation and kind of convolution the
result is that of the network."""

import itertools
import math

import numpy as np
import pytest

import proa
from proa import inference, nn
from python.tests.saved_predictors import ACTIVATIONS, predictor_of, randomize

_ACTIVATIONS = {**ACTIVATIONS, "none": None}
_CONVOLUTIONS = {
    "plain": {},
    "without bias": {"bias_attr": False},
    "depthwise": {"groups": 4},
    "strided, dilated": {"stride": 2, "dilation": 2},
    "same": {"padding": "SAME"},
    "NHWC": {"data_format": "NHWC"},
}


class _Block(nn.Layer):
    def __init__(self, activation, residual, norm, **settings):
        super().__init__()
        self.conv = nn.Conv2D(4, 4, 3, **settings)
        data_format = settings.get("data_format", "NCHW")
        self.norm = nn.BatchNorm2D(4, data_format=data_format) if norm else nn.Identity()
        self.activation = nn.Identity() if activation is None else activation()
        self.residual = residual

    def forward(self, x, r):
        y = self.norm(self.conv(x))
        return self.activation(r + y if self.residual else y)


@pytest.mark.parametrize("settings", _CONVOLUTIONS.values(), ids=list(_CONVOLUTIONS))
def test_every_activation(settings, tmp_path):
    proa.seed(1)
    for (name, activation), residual, norm in itertools.product(_ACTIVATIONS.items(), (False, True), (False, True)):
        net = _Block(activation, residual, norm, **settings)
        randomize(net)
        shape = [2, 9, 8, 4] if settings.get("data_format") == "NHWC" else [2, 4, 9, 8]
        x = np.random.RandomState(1).randn(*shape).astype("float32")
        net.eval()
        r = np.random.RandomState(2).randn(*net.conv(proa.to_tensor(x)).shape).astype("float32")
        want = net(proa.to_tensor(x), proa.to_tensor(r)).numpy()
        # Of an open batch r might be one image, which an addition repeats.
        batch = 2 if residual else None
        specs = [proa.static.InputSpec([batch, *a.shape[1:]], "float32", n) for a, n in ((x, "x"), (r, "r"))]
        predictor = predictor_of(net, specs, tmp_path)
        plan = predictor._engine.plan
        assert "batch_norm" not in plan, plan
        fused = activation is not None or residual
        assert ("conv2d_activation(" in plan) == fused and f'activation="{name}"' in plan or not fused, plan
        given = [x, r]

        np.testing.assert_allclose(predictor.run(given)[0].numpy(), want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("activation", [None, nn.ReLU])
def test_a_convolution_added_to_itself(norm, activation, tmp_path):
    net = _Block(activation, False, norm)
    net.forward = lambda x: (lambda y: net.activation(y + y))(net.norm(net.conv(x)))
    randomize(net)
    net.eval()
    x = np.random.RandomState(1).randn(2, 4, 9, 8).astype("float32")
    want = net(proa.to_tensor(x)).numpy()
    predictor = predictor_of(net, [proa.static.InputSpec([None, 4, 9, 8], "float32", "x")], tmp_path)
    np.testing.assert_allclose(predictor.run([x])[0].numpy(), want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("batch", [1, 3, 40])
@pytest.mark.parametrize("settings", _CONVOLUTIONS.values(), ids=list(_CONVOLUTIONS))
def test_large_pictures(settings, batch, tmp_path):
    """Results of megabytes are made in parts: rows of pictures, or some pictures."""
    net = _Block(nn.ReLU, True, True, **settings)
    randomize(net)
    net.eval()
    rows, columns = (320, 300) if batch < 40 else (75, 64)
    shape = [batch, rows, columns, 4] if settings.get("data_format") == "NHWC" else [batch, 4, rows, columns]
    x = np.random.RandomState(1).randn(*shape).astype("float32")
    r = np.random.RandomState(2).randn(*net.conv(proa.to_tensor(x)).shape).astype("float32")
    r.reshape(-1)[::1001] = np.nan
    want = net(proa.to_tensor(x), proa.to_tensor(r)).numpy()
    specs = [proa.static.InputSpec([None, *a.shape[1:]], "float32", n) for a, n in ((x, "x"), (r, "r"))]
    got = predictor_of(net, specs, tmp_path).run([x, r])[0].numpy()
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)  # NaN is equal to NaN here
    assert np.isnan(got).sum() == np.isnan(want).sum() > 0


@pytest.mark.parametrize("name", [name for name, made in _ACTIVATIONS.items() if made is not None])
def test_nan_and_infinity_stay(name, tmp_path):
    net = _Block(_ACTIVATIONS[name], True, True)
    randomize(net)
    x = np.zeros([1, 4, 5, 5], "float32")
    r = np.zeros([1, 4, 3, 3], "float32")
    r[0, 0, 0], r[0, 1, 0], r[0, 2, 0] = np.nan, np.inf, -np.inf
    x[0, 0, 4, 4] = np.nan
    net.eval()
    want = net(proa.to_tensor(x), proa.to_tensor(r)).numpy()
    specs = [proa.static.InputSpec([1, *a.shape[1:]], "float32", n) for a, n in ((x, "x"), (r, "r"))]
    got = predictor_of(net, specs, tmp_path).run([x, r])[0].numpy()
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)  # NaN is equal to NaN here
    assert np.isnan(got).sum() == np.isnan(want).sum() > 0


@pytest.mark.parametrize(
    "conv, norm, shape", [(nn.Conv1D, nn.BatchNorm1D, [9]), (nn.Conv3D, nn.BatchNorm3D, [5, 4, 6])]
)
def test_convolutions_of_other_dims(conv, norm, shape, tmp_path):
    net = nn.Sequential(conv(3, 6, 3, groups=3), norm(6), nn.ReLU())
    randomize(net)
    net.eval()
    x = np.random.RandomState(1).randn(2, 3, *shape).astype("float32")
    want = net(proa.to_tensor(x)).numpy()
    predictor = predictor_of(net, [proa.static.InputSpec([None, 3, *shape], "float32", "x")], tmp_path)
    assert "batch_norm" not in predictor._engine.plan
    np.testing.assert_allclose(predictor.run([x])[0].numpy(), want, rtol=2e-5, atol=2e-5)


def test_a_weight_that_two_layers_share(tmp_path):
    net = nn.Sequential(nn.Conv2D(3, 3, 1), nn.BatchNorm2D(3), nn.Conv2D(3, 3, 1), nn.BatchNorm2D(3))
    net[2].weight = net[0].weight
    randomize(net)
    net.eval()
    x = np.random.RandomState(1).randn(2, 3, 4, 4).astype("float32")
    want = net(proa.to_tensor(x)).numpy()
    predictor = predictor_of(net, [proa.static.InputSpec([None, 3, 4, 4], "float32", "x")], tmp_path)
    np.testing.assert_allclose(predictor.run([x])[0].numpy(), want, rtol=2e-5, atol=2e-5)


def test_a_buffer_that_the_model_changes_is_not_folded(tmp_path):
    class Counting(nn.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", proa.zeros([3]))

        @proa.jit.to_static
        def forward(self, x):
            self.seen.add_(proa.ones([3]))
            return x * (self.seen * 2)

    specs = [proa.static.InputSpec([3], "float32", "x")]
    net = Counting()
    proa.jit.save(net, str(tmp_path / "net"), specs)
    outputs = []
    for on in (True, False):
        config = inference.Config(str(tmp_path / "net"))
        config.switch_ir_optim(on)
        predictor = inference.create_predictor(config)
        outputs.append([predictor.run([np.ones([3], "float32")])[0].numpy().tolist() for _ in range(3)])
    assert outputs[0] == outputs[1]


def test_bfloat16_folds_before_it_rounds(tmp_path):
    net = _Block(nn.ReLU, False, True)
    randomize(net)
    x = np.random.RandomState(1).randn(2, 4, 9, 8).astype("float32")
    net.eval()
    want = net(proa.to_tensor(x), None).numpy()
    specs = [proa.static.InputSpec([None, 4, 9, 8], "float32", "x"), proa.static.InputSpec([1], "float32", "r")]
    r = np.zeros([1], "float32")
    predictor = predictor_of(net, specs, tmp_path, lambda c: c.enable_mkldnn_bfloat16())
    plan = predictor._engine.plan
    assert "[4, 4, 3, 3] bfloat16" in plan and "batch_norm" not in plan, plan
    got = predictor.run([x, r])[0].numpy()
    assert 0 < abs(got - want).max() < 0.03 * abs(want).max()


def test_deleted_passes(tmp_path):
    net = _Block(nn.ReLU, False, True)
    specs = [proa.static.InputSpec([None, 4, 9, 8], "float32", "x"), proa.static.InputSpec([1], "float32", "r")]

    def plan(*deleted):
        def change(config):
            for name in deleted:
                config.delete_pass(name)

        return predictor_of(net, specs, tmp_path, change)._engine.plan

    assert "conv2d_batch_norm_relu_inference(" in plan("fold_norm")
    assert "fold_batch_norm(" in plan("fold_parameters") and "fold_batch_norm(" not in plan()
    assert "relu(" in plan("fuse_activation") and 'activation="relu"' not in plan("fuse_activation")


_ROOT = math.sqrt(2.0)
_PIECES = {
    "gelu, half first": (lambda x: x * 0.5 * (1.0 + proa.erf(x / _ROOT)), "gelu"),
    "gelu, half last": (lambda x: x * (proa.erf(x / _ROOT) + 1.0) * 0.5, "gelu"),
    "gelu, product": (lambda x: 0.5 * x * (1.0 + proa.erf(x * (1 / _ROOT))), "gelu"),
    "gelu, short root": (lambda x: x * 0.5 * (1.0 + proa.erf(x / 1.41421)), "gelu"),
    "gelu, tanh": (lambda x: 0.5 * x * (1 + proa.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), "gelu"),
    "silu": (lambda x: x * nn.functional.sigmoid(x), "silu"),
    "hardswish": (lambda x: x * nn.functional.hardsigmoid(x), "hardswish"),
    "hardswish, relu6": (lambda x: x * nn.functional.relu6(x + 3) / 6, "hardswish"),
    "hardswish, clip": (lambda x: x * proa.clip(x + 3, 0, 6) / 6, "hardswish"),
    "hardswish, clip to 1": (lambda x: x * proa.clip(x * (1 / 6) + 0.5, 0.0, 1.0), "hardswish"),
    "relu6, clip": (lambda x: proa.clip(x, 0.0, 6.0), "relu6"),
    "relu6, two": (lambda x: proa.minimum(proa.maximum(x, proa.zeros([])), proa.full([], 6.0)), "relu6"),
    # What looks like it, and is something else.
    "other root": (lambda x: x * 0.5 * (1.0 + proa.erf(x / 1.5)), None),
    "other half": (lambda x: x * 0.51 * (1.0 + proa.erf(x / _ROOT)), None),
    "other slope": (lambda x: x * nn.functional.hardsigmoid(x, slope=0.2), None),
    "two factors": (lambda x: x * nn.functional.sigmoid(x + 1), None),
    "other limit": (lambda x: proa.clip(x, 0.0, 6.5), None),
    "one limit": (lambda x: proa.clip(x, min=0.0), None),
}


class _Function(nn.Layer):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def _check_pieces(net, x, op, folder):
    net.eval()
    want = net(proa.to_tensor(x)).numpy()
    predictor = predictor_of(net, [proa.static.InputSpec([None, *x.shape[1:]], "float32", "x")], folder)
    plan = predictor._engine.plan
    ops = [op] if op is not None else []
    found = [o for o in ("gelu", "silu", "hardswish", "relu6", "layer_norm") if f" {o}(" in plan]
    assert found == ops, plan
    assert op is None or plan.count("(%") == 1, plan
    np.testing.assert_allclose(predictor.run([x])[0].numpy(), want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("function, op", _PIECES.values(), ids=list(_PIECES))
def test_pieces_are_recognized(function, op, tmp_path):
    x = np.random.RandomState(0).uniform(-8, 8, [5, 40]).astype("float32")
    _check_pieces(_Function(function), x, op, tmp_path)


class _Norm(nn.Layer):
    def __init__(self, shape, square, axis=-1):
        super().__init__()
        self.axis = axis
        self.weight = self.create_parameter(shape)
        self.bias = self.create_parameter(shape)
        self.square = square

    def forward(self, x):
        d = x - x.mean(self.axis, keepdim=True)
        variance = self.square(d).mean(self.axis, keepdim=True)
        return d / proa.sqrt(variance + 3e-4) * self.weight + self.bias


@pytest.mark.parametrize("square", [lambda d: d**2, lambda d: d * d], ids=["pow", "product"])
@pytest.mark.parametrize("shape, op", [([8], "layer_norm"), ([8, 1], None), ([1, 8], None)])
def test_layer_normalization_is_recognized(shape, op, square, tmp_path):
    x = np.random.RandomState(0).randn(3, 8, 8).astype("float32")
    net = _Norm(shape, square)
    randomize(net)
    _check_pieces(net, x, op, tmp_path)


@pytest.mark.parametrize(
    "rank, axis, op", [(2, 1, "layer_norm"), (3, 2, "layer_norm"), (4, 3, "layer_norm"), (3, 1, None)]
)
def test_layer_normalization_over_a_positive_axis(rank, axis, op, tmp_path):
    x = np.random.RandomState(0).randn(*[8] * rank).astype("float32")
    net = _Norm([8], lambda d: d * d, axis)
    randomize(net)
    _check_pieces(net, x, op, tmp_path)


def _scores(scale, transposed=True):
    """How exporters write the product of queries and keys, [N, H, L, D] each, and its number."""

    def product(q, k):
        s = proa.matmul(q, k.transpose([0, 1, 3, 2])) if transposed else proa.matmul(q, k, transpose_y=True)
        return scale(s)

    return product


def _attention(score, mask=lambda s, m: s + m):
    def function(q, k, v, m):
        q, k, v = (t.transpose([0, 2, 1, 3]) for t in (q, k, v))
        return proa.matmul(nn.functional.softmax(mask(score(q, k), m)), v).transpose([0, 2, 1, 3])

    return function


def _without_heads(q, k, v, m):
    q, k, v = (t.transpose([0, 2, 1, 3]).flatten(0, 1) for t in (q, k, v))
    return proa.matmul(nn.functional.softmax(proa.matmul(q, k.transpose([0, 2, 1])) * 0.4 + m.flatten(0, 2)), v)


_ROOT_OF_SCALE = 0.4**0.5
_ATTENTIONS = {
    "quotient": (_attention(_scores(lambda s: s / 2.5)), 0.4),
    "product": (_attention(_scores(lambda s: 0.4 * s, False)), 0.4),
    "mask first": (_attention(_scores(lambda s: s * 0.4), lambda s, m: m + s), 0.4),
    "no number": (_attention(_scores(lambda s: s)), 1.0),
    "no mask": (_attention(_scores(lambda s: s * 0.4), lambda s, m: s), 0.4),
    "scale": (_attention(_scores(lambda s: proa.scale(s, 0.4))), 0.4),
    "shifted": (_attention(_scores(lambda s: proa.scale(s, 0.4, 1.0))), None),
    "query scaled": (_attention(lambda q, k: proa.matmul(q * 0.4, k, transpose_y=True)), 0.4),
    "both scaled": (
        _attention(lambda q, k: proa.matmul(q * _ROOT_OF_SCALE, k.transpose([0, 1, 3, 2]) * _ROOT_OF_SCALE)),
        0.4,
    ),
    "no heads": (_without_heads, 0.4),
    # What looks like it, and is something else.
    "a number for each head": (_attention(_scores(lambda s: s * proa.full([2, 1, 1], 0.4))), None),
    "other axis": (
        lambda q, k, v, m: proa.matmul(nn.functional.softmax(proa.matmul(q, k, transpose_y=True), axis=1), v),
        None,
    ),
    "scores are used": (
        lambda q, k, v, m: (lambda s: proa.matmul(nn.functional.softmax(s), v) + s.sum())(
            proa.matmul(q, k, transpose_y=True)
        ),
        None,
    ),
    "mask makes scores": (
        lambda q, k, v, m: proa.matmul(
            nn.functional.softmax(proa.matmul(q[:, :, :1], k[:, :, :1], transpose_y=True) + proa.zeros([5, 3, 2, 1])),
            v[:, :, :1],
        ),
        None,
    ),
    "one key for all heads": (
        lambda q, k, v, m: proa.matmul(nn.functional.softmax(proa.matmul(q, k[:, :1], transpose_y=True)), v),
        None,
    ),
    "five dims": (
        lambda q, k, v, m: proa.matmul(
            nn.functional.softmax(proa.matmul(q.unsqueeze(0), k.unsqueeze(0), transpose_y=True)), v.unsqueeze(0)
        ),
        None,
    ),
    "no last transpose": (
        lambda q, k, v, m: proa.matmul(
            nn.functional.softmax(proa.matmul(q, k, transpose_x=True)), v.transpose([0, 1, 3, 2])
        ),
        None,
    ),
}


class _OfParts(nn.Layer):
    """Queries, keys and values of one input, [3, batch, ...], whose open size they share."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, qkv, m):
        return self.function(qkv[0], qkv[1], qkv[2], m)


@pytest.mark.parametrize("batch", [5, None], ids=["known", "open"])
@pytest.mark.parametrize("function, scale", _ATTENTIONS.values(), ids=list(_ATTENTIONS))
def test_attention_is_recognized(function, scale, batch, tmp_path):
    if function is _without_heads and batch is None:
        scale = None  # a product of an open size is another one each time
    rng = np.random.RandomState(0)
    q, k, v = (rng.randn(5, 3, 2, 3).astype("float32") for _ in range(3))
    m = np.where(rng.rand(5, 1, 1, 3) < 0.3, -1e9, 0).astype("float32")
    if function is _without_heads:
        m = m[:1]
    given = [np.stack([q, k, v]), m]
    net = _OfParts(function)
    want = net(*map(proa.to_tensor, given)).numpy()
    specs = [
        proa.static.InputSpec([3, batch, *q.shape[1:]], "float32", "qkv"),
        proa.static.InputSpec([batch if m.shape[0] == 5 else 1, *m.shape[1:]], "float32", "m"),
    ]
    predictor = predictor_of(net, specs, tmp_path)
    plan = predictor._engine.plan
    assert (" attention(" in plan) == (scale is not None), plan
    assert ("softmax(" in plan) == (scale is None), plan
    if scale is not None:
        assert float(plan.split("scale=")[1].split(")")[0]) == pytest.approx(scale, rel=1e-6)
        assert plan.count("matmul(") == plan.count("multiply(") == plan.count("divide(") == 0, plan
    np.testing.assert_allclose(predictor.run(given)[0].numpy(), want, rtol=2e-5, atol=2e-5)


class _OfInputs(nn.Layer):
    def forward(self, q, k, v):
        return proa.matmul(nn.functional.softmax(proa.matmul(q, k, transpose_y=True)), v)


def test_open_sizes_of_several_inputs_may_differ(tmp_path):
    """Products broadcast: keys of a batch of 1 serve all queries, which attention does not know."""
    specs = [proa.static.InputSpec([None, 2, None, 3], "float32", n) for n in "qkv"]
    predictor = predictor_of(_OfInputs(), specs, tmp_path)
    rng = np.random.RandomState(0)
    for batches in ((5, 5, 5), (5, 1, 1), (1, 5, 5), (1, 1, 5), (5, 5, 1)):
        given = [rng.randn(n, 2, 4, 3).astype("float32") for n in batches]
        want = _OfInputs()(*map(proa.to_tensor, given)).numpy()
        np.testing.assert_allclose(predictor.run(given)[0].numpy(), want, rtol=2e-5, atol=2e-5)


class _WithHeads(nn.Layer):
    """As programs of networks make heads: by the sizes of their input."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        q, k, v = (part(x).reshape([0, 0, 2, 4]).transpose([0, 2, 1, 3]) for part in (self.q, self.k, self.v))
        return proa.matmul(nn.functional.softmax(proa.matmul(q, k, transpose_y=True) * 0.5), v)


@pytest.mark.parametrize("form", ["proa", "paddle"])
def test_attention_of_saved_programs(form, tmp_path):
    net = _WithHeads()
    net.eval()
    path = str(tmp_path / "net")
    proa.jit.save(net, path, [proa.static.InputSpec([None, None, 8], "float32", "x")], format=form)
    predictor = proa.inference.create_predictor(proa.inference.Config(path))
    assert " attention(" in predictor._engine.plan and "softmax" not in predictor._engine.plan
    for shape in ((1, 1), (3, 5), (5, 3)):
        x = np.random.RandomState(0).randn(*shape, 8).astype("float32")
        want = net(proa.to_tensor(x)).numpy()
        np.testing.assert_allclose(predictor.run([x])[0].numpy(), want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    "function, op",
    [
        (lambda x, w, b: proa.matmul(x, w) + b, "linear"),
        (lambda x, w, b: b + proa.matmul(x, w), "linear"),
        (lambda x, w, b: proa.matmul(x, w) + b[:1], "matmul"),
        (lambda x, w, b: proa.matmul(x, w, transpose_y=True) + b, "linear"),
        (lambda x, w, b: proa.matmul(x, w, transpose_x=True) + b, "matmul"),
        (lambda x, w, b: proa.matmul(x, w.unsqueeze(0)) + b, "matmul"),
        (lambda x, w, b: proa.matmul(x, w) + b.unsqueeze(0), "matmul"),
        (lambda x, w, b: proa.matmul(x, w) - b, "matmul"),
    ],
)
def test_a_product_and_its_bias(function, op, tmp_path):
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.weight, self.bias = self.create_parameter([4, 4]), self.create_parameter([4])

        def forward(self, x):
            return function(x, self.weight, self.bias)

    net = Net()
    randomize(net)
    x = np.random.RandomState(0).randn(3, 4, 4).astype("float32")
    want = net(proa.to_tensor(x)).numpy()
    predictor = predictor_of(net, [proa.static.InputSpec([None, 4, 4], "float32", "x")], tmp_path)
    plan = predictor._engine.plan
    assert [o for o in ("linear", "matmul") if f" {o}(" in plan] == [op], plan
    np.testing.assert_allclose(predictor.run([x])[0].numpy(), want, rtol=2e-5, atol=2e-5)
