"""Conventions of the reference that public programs rely on, one check each; the siblings of many are looped in other tests.

The conventions were found by running public programs beside PaddlePaddle 3.3.1. What we do otherwise on purpose is no check
here but a row of docs/differences.yaml, named in `ON_PURPOSE`.
"""

import contextlib
import importlib
import pathlib

import numpy as np
import pytest
import yaml

import proa as paddle
from proa import nn, static
from proa.nn import functional as F

t = paddle.to_tensor
CHECKS: dict = {}

# Subjects of docs/differences.yaml by what was asked.
ON_PURPOSE = {
    "gradients of embeddings with sparse=True have the shape of the weight": "The gradient of a sparse embedding",
    "int64 beside float32 gives float32": "An integer tensor beside a floating one",
    "Adam over row-sparse gradients follows the formula": "Adam over row-sparse gradients",
    "norm over two axes is that of a matrix": "The norm over two axes",
    "random streams": "Random numbers",
    "softmax inputs are not cut": "Softmax inputs",
}


def check(name):
    def keep(function):
        assert name not in CHECKS
        CHECKS[name] = function
        return function

    return keep


@contextlib.contextmanager
def program():
    paddle.enable_static()
    try:
        main = static.Program()
        with static.program_guard(main, static.Program()):
            yield main, static.Executor()
    finally:
        paddle.disable_static()


def raises(*kinds):
    """An error that is of all these kinds."""

    class Raises:
        def __enter__(self):
            return self

        def __exit__(self, kind, e, _):
            assert e is not None, "nothing was raised"
            assert all(isinstance(e, k) for k in kinds), repr(e)
            assert str(e).startswith("("), e
            return True

    return Raises()


def same(got, want, tolerance=1e-6):
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=tolerance, atol=tolerance)


# 1. Conventions that stop whole programs ------------------------------------------


@check("places are types")
def _():
    for name in ("CPUPlace", "CUDAPlace", "CUDAPinnedPlace", "XPUPlace", "NPUPlace", "CustomPlace"):
        assert isinstance(getattr(paddle, name), type)
    assert isinstance(paddle.CPUPlace(), paddle.CPUPlace) and isinstance(paddle.CUDAPlace(0), paddle.CUDAPlace)
    assert paddle.CPUPlace()._equals(paddle.CPUPlace()) and not paddle.CPUPlace()._equals(paddle.CUDAPlace(0))


@check("numpy takes blocking")
def _():
    assert paddle.ones([2]).numpy(False).tolist() == [1.0, 1.0]


@check("a feed may have more than the program takes")
def _():
    with program() as (main, exe):
        y = static.data("x", [2]) * 2
        got = exe.run(main, feed={"x": np.ones(2, "float32"), "unused": 1}, fetch_list=[y])
        assert got[0].tolist() == [2.0, 2.0]


@check("fetch lists may be nested and name values")
def _():
    with program() as (main, exe):
        y = static.data("x", [2]) * 2
        g = y + 1
        feed = {"x": np.ones(2, "float32")}
        assert [v.tolist() for v in exe.run(main, feed=feed, fetch_list=[y, [g]])] == [[2.0, 2.0], [3.0, 3.0]]
        assert exe.run(main, feed=feed, fetch_list=[y.name])[0].tolist() == [2.0, 2.0]


@check("the default dtype reaches layers")
def _():
    paddle.set_default_dtype("float64")
    try:
        layers = [
            nn.Linear(3, 2),
            nn.LayerNorm(2),
            nn.BatchNorm2D(2),
            nn.Embedding(2, 2),
            nn.LSTM(2, 2),
            nn.GRUCell(2, 2),
        ]
    finally:
        paddle.set_default_dtype("float32")
    for layer in layers:
        assert {p.dtype for p in layer.state_dict().values()} == {paddle.float64}, layer


@check("batch norms of float16 networks keep float32 parameters and statistics")
def _():
    paddle.set_default_dtype("float16")
    try:
        layers = [nn.BatchNorm1D(2), nn.BatchNorm2D(2), nn.BatchNorm3D(2), nn.SyncBatchNorm(2)]
        other = nn.LayerNorm(2)
    finally:
        paddle.set_default_dtype("float32")
    for layer in layers:
        assert {p.dtype for p in layer.state_dict().values()} == {paddle.float32}, layer
    assert other.weight.dtype == paddle.float16
    x = paddle.ones([2, 2, 3, 3], "float16")
    x.stop_gradient = False
    y = layers[1](x)
    y.sum().backward()
    assert y.dtype == x.grad.dtype == paddle.float16 and layers[1].weight.grad.dtype == paddle.float32


@check("mode scopes in any order")
def _():
    paddle.enable_static()
    with static.program_guard(static.Program()):
        paddle.disable_static()
    assert paddle.in_dynamic_mode()
    try:
        with static.program_guard(static.Program()):
            paddle.enable_static()
        assert not paddle.in_dynamic_mode()
    finally:
        paddle.disable_static()


@check("one input declared twice is one")
def _():
    with program() as (main, exe):
        x, again = static.data("x", [2]), static.data("x", [2])
        got = exe.run(main, feed={"x": np.ones(2, "float32")}, fetch_list=[x + again])
        assert got[0].tolist() == [2.0, 2.0]


@check("writing into a view of a leaf")
def _():
    x = t([1.0, 2.0], stop_gradient=False)
    y = paddle.reshape(x, [-1])
    y[0] = 5.0
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0]


@check("integers keep stop_gradient=False, and backward of what needs none does nothing")
def _():
    assert not t([1], stop_gradient=False).stop_gradient
    paddle.ones([2]).sum().backward()


# Functions of a number k = 3 that is a tensor of a program.
LATE = {
    "gcd": lambda k: paddle.gcd(k, t(6)),
    "lcm": lambda k: paddle.lcm(k, t(6)),
    "median": lambda k: paddle.median(paddle.arange(5.0) * k),
    "histogram": lambda k: paddle.histogram(paddle.arange(5.0), k),
    "bincount": lambda k: paddle.bincount(paddle.ones([2], "int64") * k),
    "bincount minlength": lambda k: paddle.bincount(paddle.ones([2], "int64"), minlength=k + 4),
    "full": lambda k: paddle.full([2], k),
    "full of a shape": lambda k: paddle.full([k, 2], 1.5),
    "linspace": lambda k: paddle.linspace(0, 1, k),
    "arange": lambda k: paddle.arange(k),
    "clip": lambda k: paddle.clip(paddle.arange(6.0), 0, k),
    "expand": lambda k: paddle.expand(paddle.ones([1]), [k]),
    "argmax": lambda k: paddle.argmax(paddle.arange(6.0).reshape([2, 3, 1]), axis=k - 2),
    "gather": lambda k: paddle.gather(paddle.arange(24.0).reshape([2, 3, 4]), t([0]), axis=k - 2),
    "cumsum": lambda k: paddle.cumsum(paddle.ones([2, 3]), axis=k - 2),
    "topk": lambda k: paddle.topk(paddle.arange(6.0), k)[0],
    "eye": lambda k: paddle.eye(k),
    "squeeze": lambda k: paddle.squeeze(paddle.ones([1, 2]), k - 3),
    "squeeze of two axes": lambda k: paddle.squeeze(paddle.ones([1, 2, 1, 3]), [k - 3, k - 5]),
    "crop": lambda k: paddle.crop(paddle.arange(20).reshape([4, 5]), [k - 4, k], [k - 2, 1]),
    "affine_grid": lambda k: F.affine_grid(paddle.ones([1, 2, 3]), [1, 1, k, k - 2]),
    "affine_grid by edges": lambda k: F.affine_grid(paddle.ones([1, 2, 3]), [1, 1, k, 2], align_corners=False),
    "upsample": lambda k: F.upsample(paddle.arange(16.0).reshape([1, 1, 4, 4]), size=[k, 7], mode="bilinear"),
    "addmm": lambda k: paddle.addmm(paddle.ones([2, 2]), paddle.ones([2, 3]), paddle.ones([3, 2]), beta=k, alpha=k + 1),
    "dist": lambda k: paddle.dist(paddle.arange(4.0), paddle.ones([4]), k),
    "renorm": lambda k: paddle.renorm(paddle.arange(6.0).reshape([2, 3]), k, 0, 1.0),
    "fft": lambda k: paddle.fft.irfft(paddle.fft.fft(paddle.arange(5.0), n=k + 3), n=k),
    "unsqueeze": lambda k: paddle.unsqueeze(paddle.ones([2]), k - 3),
    "interpolate size": lambda k: F.interpolate(paddle.arange(16.0).reshape([1, 1, 4, 4]), size=[k, k]),
    "interpolate scale": lambda k: F.interpolate(paddle.arange(16.0).reshape([1, 1, 4, 4]), scale_factor=k),
    "adaptive_avg_pool2d": lambda k: F.adaptive_avg_pool2d(paddle.arange(36.0).reshape([1, 1, 6, 6]), [k, k]),
    "adaptive_max_pool2d of sizes [1]": lambda k: F.adaptive_max_pool2d(
        paddle.arange(36.0).reshape([1, 1, 6, 6]), [paddle.reshape(k, [1]), 2]
    ),
    "conv2d_transpose": lambda k: F.conv2d_transpose(
        paddle.ones([1, 1, 4, 4]), paddle.ones([1, 1, 3, 3]), stride=2, output_size=[k + 6, k + 6]
    ),
}


def _late(function):
    def ask():
        want = function(t(3)).numpy()
        converted = paddle.jit.to_static(function)
        for _ in range(2):
            same(converted(t(3)).numpy(), want)
        with program() as (main, exe):
            out = function(static.data("k", [], "int64"))
            (got,) = exe.run(main, feed={"k": np.int64(3)}, fetch_list=[out])
        same(got, want)

    return ask


for _name, _function in LATE.items():
    check(f"an attribute as a tensor of a program: {_name}")(_late(_function))


@check("a number that does not fit is an error when the program runs")
def _():
    x = paddle.ones([2, 3])
    for function, number in ((lambda k: paddle.squeeze(x, k), 1), (lambda k: paddle.crop(x, [k, 2]), 3)):
        with program() as (main, exe):
            out = function(static.data("k", [], "int64"))
            with raises(ValueError):
                exe.run(main, feed={"k": np.int64(number)}, fetch_list=[out])


@check("methods are the functions, with the names of both")
def _():
    a, b = paddle.ones([2]), paddle.zeros([2])
    T = paddle.Tensor
    same(T.lerp(x=a, y=b, weight=0.5), [0.5, 0.5])
    same(T.lerp_(x=paddle.ones([2]), y=b, weight=0.5), [0.5, 0.5])
    same(T.outer(x=a, y=a), np.ones((2, 2)))
    assert T.isclose(x=a, y=a).all() and T.repeat_interleave(x=a, repeats=2).shape == [4]
    same(T.fill_(x=paddle.ones([2]), value=3), [3, 3])
    same(T.zero_(x=paddle.ones([2])), [0, 0])
    same(T.fill_diagonal_(x=paddle.ones([2, 2]), value=5), [[5, 1], [1, 5]])
    m = paddle.ones([2, 2])
    same(paddle.tril(x=m), paddle.tril(input=m))
    at = t([[0], [0]])
    same(paddle.put_along_axis(m, at, values=2.0, axis=1), paddle.put_along_axis(m, at, value=2.0, axis=1))
    assert len(paddle.broadcast_tensors(input=[a, b])) == len(paddle.broadcast_tensors(inputs=[a, b])) == 2


@check("modules that programs import")
def _():
    for module in (
        "_C_ops",
        "_legacy_C_ops",
        "common_ops_import",
        "fluid",
        "reader",
        "dataset",
        "nn.decode",
        "nn.layer",
    ):
        importlib.import_module(f"proa.{module}")
    assert paddle.nn.loss.CrossEntropyLoss is nn.CrossEntropyLoss and nn.layer.MaxPool2D is nn.MaxPool2D
    assert paddle.vision.models.vgg.VGG is paddle.vision.models.VGG and paddle.tensor.matmul is paddle.matmul
    assert nn.Linear(1, 1).weight.block is not None


@check("names of parameters and statistics")
def _():
    lstm = nn.LSTM(2, 3, direction="bidirect")
    assert {"weight_ih_l0", "weight_ih_l0_reverse"} <= {n for n, _ in lstm.named_parameters()}
    assert {"weight_ih_l0_reverse", "0.cell_fw.weight_ih", "0.cell_bw.bias_hh"} <= set(lstm.state_dict())
    assert [n for n, _ in nn.BatchNorm2D(3).named_parameters()] == ["weight", "bias", "_mean", "_variance"]
    assert list(nn.PReLU().state_dict()) == ["_weight"]
    missing, unexpected = nn.Linear(1, 1).set_state_dict({"nothing": paddle.ones([1])})
    assert missing == ["weight", "bias"] and unexpected == ["nothing"]


@check("a state that matches nothing says so")
def _():
    with pytest.warns(UserWarning, match="nothing|match|weight"):
        nn.Linear(1, 1).set_state_dict({"nothing": paddle.ones([1])})


@check("layers' attributes and names")
def _():
    linear, conv = nn.Linear(1, 1), nn.Conv2D(1, 1, 3, padding=1)
    linear.add_sublayer("a.b", nn.ReLU())
    linear.add_sublayer("", nn.ReLU())
    assert (
        {"a.b", ""} <= set(dict(linear.named_sublayers())) and linear._helper is not None and linear._bias_attr is None
    )
    assert conv._padding == 1
    linear.mask = 3
    with pytest.raises(KeyError, match="mask"):  # as in the reference
        linear.register_buffer("mask", paddle.ones([1]))
    linear.register_buffer("mask2", paddle.ones([1]))
    linear.register_buffer("mask2", paddle.zeros([1]))
    assert dict(linear.named_buffers())["mask2"].item() == 0
    assert (
        paddle.vision.models.resnet18()._make_layer(paddle.vision.models.resnet.BasicBlock, 64, 1, stride=1) is not None
    )


@check("dtypes by name")
def _():
    x = t([1.5])
    for kind, dtype in (("int", "int64"), ("float", "float64"), (int, "int64"), (float, "float64"), ("long", "int64"),
                        ("half", "float16"), ("double", "float64"), (np.int_, "int64"), (np.float32, "float32")):  # fmt: skip
        assert x.astype(kind).dtype == getattr(paddle, dtype), kind
    assert paddle.full([1], "-inf").item() == -np.inf and paddle.full([1], "2.5").item() == 2.5


@check("Model.predict returns a list of tuples")
def _():
    model = paddle.Model(nn.Linear(1, 1))
    model.prepare()
    found = model.predict(paddle.io.TensorDataset([paddle.ones([2, 1])]), verbose=0)
    assert isinstance(found, list) and isinstance(found[0], tuple) and len(found[0]) == 2


@check("results of full reductions may be indexed as in 2.x")
def _():
    paddle.set_flags({"FLAGS_set_to_1d": True})
    try:
        loss = paddle.ones([3]).sum()
        assert loss.numpy()[0] == 3 and loss[0].item() == 3 and float(loss.numpy()[0]) == 3.0
    finally:
        paddle.set_flags({"FLAGS_set_to_1d": False})


# Detection programs say `concat([loss_a, loss_b])` and `concat([shape(x)[0], zeros([1])])`.
@check("results of full reductions may be joined and counted as in 2.x")
def _():
    x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    paddle.set_flags({"FLAGS_set_to_1d": True})
    try:
        joined = paddle.concat([x.sum(), x.mean(), x[:1]])
        joined.sum().backward()
        assert joined.tolist() == [6.0, 2.0, 1.0] and len(x.sum()) == 1 and [v.item() for v in x.max()] == [3.0]
        np.testing.assert_allclose(x.grad.numpy(), [7 / 3, 4 / 3, 4 / 3], rtol=1e-6)
        assert paddle.jit.to_static(lambda x: paddle.concat([x.sum(), x.mean()]))(x).tolist() == [6.0, 2.0]
    finally:
        paddle.set_flags({"FLAGS_set_to_1d": False})
    for call in (lambda: paddle.concat([x.sum(), x.sum()]), lambda: len(x.sum()), lambda: list(x.sum())):
        with pytest.raises((ValueError, TypeError)):
            call()


@check("what is also imported")
def _():
    for name in ("paddle", "_legacy_C_ops", "nn.decode", "hapi.model._all_gather", "nn.layer.Identity",
                 "nn.functional.common", "nn.layer.transformer._convert_attention_mask"):  # fmt: skip
        value = paddle
        for part in name.split("."):
            value = getattr(value, part)
        assert value is not None
    assert nn.L1Loss().name is None and callable(nn.LSTM(1, 1).flatten_parameters)


@check("accepted arguments")
def _():
    assert F.max_pool2d(paddle.ones([1, 1, 4, 4]), np.int64(2)).shape == [1, 1, 2, 2]
    assert nn.Conv2D(1, 1, np.int64(3))(paddle.ones([1, 1, 3, 3])).shape == [1, 1, 1, 1]
    assert F.linear(paddle.ones([2, 3]), paddle.ones([3])).shape == [2]
    assert paddle.histogram(paddle.ones([3]), t(3)).shape == [3]


@check("names are there or not")
def _():
    assert hasattr(paddle, "inference") and not hasattr(paddle, "no_such_name")
    assert callable(paddle.DataParallel) and paddle.DataParallel(nn.Linear(1, 1)) is not None


# 2. Numbers -----------------------------------------------------------------------


@check("the gradient of a norm at zero is zero")
def _():
    zero = paddle.zeros([3])
    for function, want in ((paddle.norm, 0.0), (lambda x: paddle.dist(x, zero), 0.0), (lambda x: paddle.norm(x, p=1), 0.0),
                           (lambda x: paddle.norm(x, p=3), 0.0), (lambda x: paddle.norm(x, p=np.inf), 0.0),
                           (lambda x: F.normalize(x, axis=0, epsilon=0.5).sum(), 2.0)):  # fmt: skip
        x = paddle.zeros([3])
        x.stop_gradient = False
        function(x).backward()
        same(x.grad, [want] * 3)
    assert paddle.norm(t([0.0, 2.0]), p=0).item() == 1


@check("avg_pool with ceil_mode counts what is inside")
def _():
    for n in (1, 2, 3):
        pool = getattr(F, f"avg_pool{n}d")
        same(pool(paddle.ones([1, 1, *[4] * n]), 3, 3, 0, ceil_mode=True, exclusive=False), np.ones([1, 1, *[2] * n]))


@check("means of cross entropy over every combination")
def _():
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=(4, 3)).astype("float32"), np.array([0.5, 1.0, 2.0], "float32")
    labels, soft = np.array([0, 2, -100, 1]), rng.random((4, 3)).astype("float32")
    log = x - np.log(np.exp(x).sum(1, keepdims=True))
    valid = labels != -100
    each = np.where(valid, -log[np.arange(4), np.where(valid, labels, 0)], 0)
    weights = np.where(valid, w[np.where(valid, labels, 0)], 0)
    # As in the reference a negative ignore_index without weights counts the places that it ignores.
    for args, want in (
        ({}, each.mean()),
        ({"weight": t(w)}, (each * weights).sum() / weights.sum()),
        ({"reduction": "sum"}, each.sum()),
        ({"reduction": "none"}, each),
        ({"reduction": "none", "weight": t(w)}, each * weights),
    ):
        same(F.cross_entropy(t(x), t(labels), **args), want, 1e-5)
    same(F.cross_entropy(t(x), t(soft), soft_label=True), (-(log * soft).sum(1)).mean(), 1e-5)


@check("quantile of NaN is NaN")
def _():
    assert np.isnan(paddle.quantile(t([1.0, np.nan, 3.0]), 0.3).item())


@check("labels get no gradient")
def _():
    for function in (F.binary_cross_entropy, F.binary_cross_entropy_with_logits, F.kl_div):
        x, label = t([0.3], stop_gradient=False), t([0.5], stop_gradient=False)
        function(x, label).backward()
        assert label.grad is None and x.grad is not None


@check("spectral_norm keeps still in eval")
def _():
    layer = nn.utils.spectral_norm(nn.Linear(3, 3))
    x = paddle.ones([1, 3])
    layer(x)
    layer.eval()
    same(layer(x), layer(x).numpy(), 0)
    normed = nn.SpectralNorm([3, 4], power_iters=1)
    before = {k: v.numpy() for k, v in normed.state_dict().items()}
    normed(paddle.ones([3, 4]))
    for name, value in normed.state_dict().items():
        same(value, before[name], 0)


@check("Model.evaluate gives the loss of the last batch")
def _():
    class Rows(paddle.io.Dataset):
        def __len__(self):
            return 2

        def __getitem__(self, i):
            return np.full([1], i, "float32"), np.zeros([1], "float32")

    net = nn.Linear(1, 1)
    net.weight.set_value(paddle.ones([1, 1]))
    net.bias.set_value(paddle.zeros([1]))
    model = paddle.Model(net)
    model.prepare(loss=nn.MSELoss())
    same(model.evaluate(Rows(), batch_size=1, verbose=0)["loss"], [1.0])


def _ctc(logits, labels, input_lengths, label_lengths, **more):
    return F.ctc_loss(logits, t(labels, dtype="int32"), t(input_lengths), t(label_lengths), **more)


@check("ctc_loss: norm_by_times divides the gradient alone")
def _():
    values = np.random.default_rng(1).normal(size=(4, 1, 3)).astype("float32")
    found = []
    for norm in (False, True):
        x = t(values, stop_gradient=False)
        loss = _ctc(x, [[1, 2]], [4], [2], reduction="sum", norm_by_times=norm)
        loss.backward()
        found.append((loss.item(), x.grad.numpy()))
    same(found[0][0], found[1][0])
    same(found[0][1] / 4, found[1][1])


@check("ctc_loss without an alignment is 0")
def _():
    assert _ctc(paddle.ones([1, 1, 3]), [[1, 2]], [1], [2], reduction="sum").item() == 0


@check("BatchNorm(trainable_statistics=True) in eval uses the batch's")
def _():
    layer = nn.BatchNorm(3, trainable_statistics=True)
    layer.eval()
    x = np.random.default_rng(0).normal(2.0, 3.0, (64, 3)).astype("float32")
    same(layer(t(x)), (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5), 1e-4)


@check("BatchNorm1D passes one element through in training")
def _():
    same(nn.BatchNorm1D(3)(t([[1.0, 2.0, 3.0]])), [[1.0, 2.0, 3.0]])


@check("max_unpool2d: of overlapping indices the last is written")
def _():
    out = F.max_unpool2d(t([[[[1.0, 2.0]]]]), t([[[[0, 0]]]], dtype="int32"), kernel_size=(1, 2), output_size=[1, 4])
    assert out.tolist() == [[[[2.0, 0.0, 0.0, 0.0]]]]


@check("initializers")
def _():
    def made(shape, initializer):
        return paddle.create_parameter(shape, "float32", default_initializer=initializer)

    paddle.seed(3)
    xavier = made([200, 200], nn.initializer.XavierNormal(fan_in=0.1, fan_out=0.2)).numpy()
    assert abs(xavier.std() - (2 / 0.3) ** 0.5) < 0.05
    assert made([2, 2], nn.initializer.Assign(np.ones(3, "float32"))).shape == [3]
    up = made([1, 1, 4, 4], nn.initializer.Bilinear()).numpy()
    # What the reference gives, which is not symmetric: its factor along a column counts rows in fractions.
    same(up[0, 0], [[2 / 32, 9 / 32, 12 / 32, 5 / 32], [6 / 32, 21 / 32, 24 / 32, 7 / 32],
                    [6 / 32, 15 / 32, 12 / 32, 3 / 32], [2 / 32, 3 / 32, 0, -1 / 32]])  # fmt: skip
    assert abs(made([100, 100], nn.initializer.Normal(1.0, -2.0)).numpy().std() - 2) < 0.1


@check("circular padding wraps as often as it must")
def _():
    x = np.arange(2.0, dtype="float32").reshape(1, 1, 2)
    same(F.pad(t(x), [3, 4], mode="circular", data_format="NCL"), np.pad(x, [(0, 0), (0, 0), (3, 4)], mode="wrap"))


@check("gradients have the dtypes of their leaves")
def _():
    x = paddle.ones([2, 4], "bfloat16")
    x.stop_gradient = False
    layer = nn.LayerNorm(4)
    layer(x).sum().backward()
    assert x.grad.dtype == paddle.bfloat16 and layer.weight.grad.dtype == paddle.float32


@check("what broadcasts")
def _():
    same(F.conv2d(paddle.ones([1, 1, 3, 3]), paddle.ones([2, 1, 3, 3]), paddle.ones([1])), np.full([1, 2, 1, 1], 10.0))
    assert F.dropout(paddle.ones([2]), t(0.5)).shape == [2]
    same(paddle.tensordot(paddle.ones([2, 1]), paddle.ones([3, 2]), 1), np.full([2, 2], 3.0))
    assert paddle.uniform(t([2, 2])).shape == [2, 2] and paddle.empty([t(2), 2]).shape == [2, 2]
    with program() as (main, exe):
        out = static.data("x", [3, 1]) * 2
        assert exe.run(main, feed={"x": np.ones(3, "float32")}, fetch_list=[out])[0].shape == (3, 1)


@check("split, chunk, unstack and conj give copies")
def _():
    for function in (lambda x: paddle.split(x, 2)[0], lambda x: paddle.chunk(x, 2)[0],
                     lambda x: paddle.unstack(x)[0], paddle.conj):  # fmt: skip
        x = paddle.ones([4, 1])
        function(x)[...] = 5.0
        assert x.tolist() == [[1.0]] * 4


# 3. Arguments that were accepted and did nothing ----------------------------------


@check("auto_cast at O2 casts what O1 leaves")
def _():
    x = paddle.ones([2, 2])
    with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
        first = (x + x).dtype
    with paddle.amp.auto_cast(level="O2", dtype="bfloat16"):
        second = (x + x).dtype
    assert (first, second) == (paddle.float32, paddle.bfloat16)


@check("multi_precision keeps master weights")
def _():
    for kind, more in ((paddle.optimizer.Adam, {}), (paddle.optimizer.AdamW, {}),
                       (paddle.optimizer.Momentum, {"use_multi_tensor": True})):  # fmt: skip
        p = paddle.create_parameter([1], "float16", default_initializer=nn.initializer.Constant(1.0))
        optimizer = kind(1e-4, parameters=[p], multi_precision=True, **more)
        for _ in range(40):  # Each step alone is less than half a unit of float16.
            (p * 1.0).sum().backward()
            optimizer.step()
            optimizer.clear_grad()
        assert p.item() < 0.999, kind


@check("to_static(input_spec) refuses what does not fit")
def _():
    f = paddle.jit.to_static(lambda x: x * 2, input_spec=[static.InputSpec([None, 3], "float32")])
    for x in (paddle.ones([2, 4]), paddle.ones([2, 3], "int64"), paddle.ones([3])):
        with raises(ValueError):
            f(x)


@check("save(protocol=) is asked")
def _(folder):
    paddle.save({"x": paddle.ones([1])}, f"{folder}/x", protocol=4)
    with raises(ValueError):
        paddle.save({"x": paddle.ones([1])}, f"{folder}/x", protocol=9)


@check("jit.save keeps hooks and needs no InputSpec after a call")
def _(folder):
    layer = nn.Linear(2, 2)
    layer.register_forward_post_hook(lambda _self, _inputs, out: out * 3)
    layer = paddle.jit.to_static(layer)
    x = paddle.ones([1, 2])
    want = layer(x).numpy()
    paddle.jit.save(layer, f"{folder}/model")
    same(paddle.jit.load(f"{folder}/model")(x), want)


@check("summary takes an InputSpec, and several inputs")
def _():
    assert paddle.summary(nn.Linear(2, 2), input_size=static.InputSpec([1, 2], "float32"))["total_params"] == 6

    class Two(nn.Layer):
        def forward(self, a, b=None):
            a, b = a if isinstance(a, (list, tuple)) else (a, b)
            return a + b

    assert paddle.summary(Two(), input=[paddle.ones([1]), paddle.ones([1])])["total_params"] == 0


@check("masks of pools in three dims")
def _():
    x = paddle.arange(64.0).reshape([1, 1, 4, 4, 4])
    for function in (F.max_pool3d, F.adaptive_max_pool3d):
        out, mask = function(x, 2, return_mask=True)
        same(mask.flatten(), out.flatten())


@check("label_smooth of no classes, ids of int16")
def _():
    assert F.label_smooth(paddle.ones([3, 0])).shape == [3, 0]
    assert nn.Embedding(4, 2)(t([1], dtype="int16")).shape == [1, 2]


@check("the reference's positional arguments of Tensor")
def _():
    x = paddle.Tensor(np.ones(2, "float32"), paddle.CPUPlace(), False, False, "x")
    assert x.tolist() == [1.0, 1.0] and x.name == "x" and not x.persistable


# 4. Errors ------------------------------------------------------------------------


@check("errors are of both families")
def _():
    with raises(IndexError, ValueError):
        paddle.sum(paddle.ones([2]), axis=5)
    with raises(TypeError, ValueError):
        paddle.exp([1.0])
    with raises(TypeError, ValueError):
        paddle.abs(None)
    with raises(TypeError, RuntimeError):
        F.relu(paddle.ones([2], "bool"))
    with pytest.raises(FileNotFoundError) as e:
        paddle.load("/no/such/file")
    assert isinstance(e.value, ValueError)
    with raises(NotImplementedError):
        nn.Layer()(1)


@check("nonsense is refused")
def _():
    x = paddle.ones([2])
    for function in (
        lambda: paddle.addmm(*[paddle.ones([1, 1, 1, 1])] * 3),
        lambda: paddle.argmax(x, dtype=None),
        lambda: F.selu(x, scale=0.5),
        lambda: F.softshrink(x, threshold=-1),
        lambda: nn.ClipGradByNorm(-1),
        lambda: nn.ClipGradByValue("1"),
        lambda: F.interpolate(paddle.ones([1, 1, 4]), size=[2], mode="linear", data_format="NCL"),
        lambda: F.elu_(x, -0.5),
    ):
        with raises(ValueError):
            function()


@check("cond takes plain values")
def _():
    assert static.nn.cond(True, lambda: 1, lambda: 2) == 1
    with raises(ValueError):
        static.nn.cond("yes", lambda: 1, lambda: 2)


@pytest.mark.parametrize("name", CHECKS)
def test_convention(name, tmp_path):
    function = CHECKS[name]
    function(*[str(tmp_path)] * function.__code__.co_argcount)


@pytest.mark.parametrize("what", ON_PURPOSE)
def test_on_purpose(what):
    rows = yaml.safe_load((pathlib.Path(__file__).parents[2] / "docs" / "differences.yaml").read_text())
    assert any(row["subject"] == ON_PURPOSE[what] and row["why"] for row in rows)
