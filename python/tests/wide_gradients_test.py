"""Gradients of float32 tensors whose casts are multiplied in 16 bits: sums are float32 and stay so, however the code runs."""

import numpy as np
import pytest

import proa as paddle

F = paddle.nn.functional
LOW = pytest.mark.parametrize("dtype", ["bfloat16", "float16"])


def _values(*shape, seed=0):
    """Numbers that 16 bits hold, so that casts lose nothing; sums of their products are no 16-bit numbers."""
    return np.random.RandomState(seed).randint(-127, 128, shape).astype("float32") / 64


def _conv(function, **options):
    return lambda x, w, b: getattr(F, function)(x, w, b, **options)


# Name: (function of x, weight, bias; their shapes).
_PRODUCTS = {
    "linear": (F.linear, [33, 24], [24, 16], [16]),
    "linear of three dims": (F.linear, [3, 20, 24], [24, 16], [16]),
    "linear of a vector": (F.linear, [24], [24, 16], [16]),
    "matmul": (lambda x, w, b: paddle.matmul(x, w) + b, [40, 24], [24, 16], [16]),
    "matmul, transposed": (lambda x, w, b: paddle.matmul(x, w, True, True) + b, [24, 40], [16, 24], [16]),
    "a batch by a matrix": (lambda x, w, b: paddle.matmul(x, w) + b, [4, 30, 24], [24, 16], [16]),
    "a batch by a batch": (lambda x, w, b: paddle.matmul(x, w) + b, [4, 30, 24], [1, 24, 16], [16]),
    "bmm": (lambda x, w, b: paddle.bmm(x, w) + b, [4, 30, 24], [4, 24, 16], [16]),
    "conv1d": (_conv("conv1d"), [2, 6, 40], [8, 6, 3], [8]),
    "conv2d": (_conv("conv2d", stride=2, padding=1), [2, 6, 12, 11], [8, 6, 3, 3], [8]),
    "pointwise conv2d": (_conv("conv2d"), [2, 32, 12, 11], [16, 32, 1, 1], [16]),
    "conv2d in groups": (_conv("conv2d", groups=4), [2, 8, 12, 11], [8, 2, 3, 3], [8]),
    "depthwise conv2d": (_conv("conv2d", groups=8), [2, 8, 12, 11], [8, 1, 3, 3], [8]),
    "conv3d": (_conv("conv3d"), [1, 4, 6, 7, 8], [6, 4, 2, 2, 2], [6]),
    "conv2d_transpose": (_conv("conv2d_transpose", stride=2), [2, 6, 7, 8], [6, 8, 3, 3], [8]),
}
EVERY = pytest.mark.parametrize("name", _PRODUCTS)


def _loss(name, x, w, b, weight):
    """A sum whose gradient at the product is `weight`, of 16-bit numbers."""
    return (_PRODUCTS[name][0](x, w, b).astype("float32") * weight).sum()


def _inputs(name):
    arrays = [_values(*shape, seed=i) for i, shape in enumerate(_PRODUCTS[name][1:])]
    with paddle.no_grad():
        out = _PRODUCTS[name][0](*map(paddle.to_tensor, arrays))
    return arrays, _values(*out.shape, seed=7)


def _in_float64(name):
    arrays, weight = _inputs(name)
    tensors = [paddle.to_tensor(a.astype("float64"), stop_gradient=False) for a in arrays]
    (_PRODUCTS[name][0](*tensors) * paddle.to_tensor(weight.astype("float64"))).sum().backward()
    return [t.grad.numpy() for t in tensors]


def _at_once(name, dtype, level="O1"):
    arrays, weight = _inputs(name)
    tensors = [paddle.to_tensor(a, stop_gradient=False) for a in arrays]
    with paddle.amp.auto_cast(level=level, dtype=dtype):
        loss = _loss(name, *tensors, paddle.to_tensor(weight))
    loss.backward()
    return [t.grad.numpy() for t in tensors]


def _converted(name, dtype):
    arrays, weight = _inputs(name)
    tensors = [paddle.to_tensor(a, stop_gradient=False) for a in arrays]
    function = paddle.jit.to_static(lambda x, w, b, weight: _loss(name, x, w, b, weight))
    with paddle.amp.auto_cast(dtype=dtype):
        loss = function(*tensors, paddle.to_tensor(weight))
    loss.backward()
    return [t.grad.numpy() for t in tensors]


def _recorded(name, dtype, again):
    """In a program that was recorded inside of autocast, or in float32 and made again by static.amp."""
    arrays, weight = _inputs(name)
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main, paddle.static.Program()):
            params = [paddle.create_parameter(list(a.shape), "float32") for a in arrays]
            fed = paddle.static.data("weight", list(weight.shape))
            if again:
                loss = _loss(name, *params, fed)
                sgd = paddle.static.amp.decorate(
                    paddle.optimizer.SGD(1.0, parameters=params),
                    init_loss_scaling=1.0,
                    use_bf16=dtype == "bfloat16",
                    use_dynamic_loss_scaling=False,
                )
                _, pairs = sgd.minimize(loss)
            else:
                with paddle.amp.auto_cast(dtype=dtype):
                    loss = _loss(name, *params, fed)
                pairs = paddle.static.append_backward(loss, parameter_list=params)
        exe = paddle.static.Executor()
        for p, a in zip(params, arrays):
            p.set_value(a)
        grads = {p.name: g for p, g in pairs}
        return exe.run(main, {"weight": weight}, [grads[p.name] for p in params])
    finally:
        paddle.disable_static()


@EVERY
@LOW
def test_sums_are_not_rounded_to_16_bits(name, dtype):
    """Of numbers that 16 bits hold the gradients are those of float64, which 16 bits do not hold."""
    exact = _in_float64(name)
    assert any((g.astype("float16") != g).any() for g in exact) or name == "linear of a vector"
    ways = {
        "at once": _at_once(name, dtype),
        "O2": _at_once(name, dtype, "O2"),
        "converted": _converted(name, dtype),
        "recorded": _recorded(name, dtype, again=False),
    }
    for way, found in ways.items():
        for i, (one, other) in enumerate(zip(found, exact)):
            if i == 0 and "conv" in name or i == 2 and way == "O2" and not ("conv" in name or "linear" in name):
                continue  # of an image, and of a bias that is cast for an addition, the gradient has 16 bits
            assert one.dtype == np.float32
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6 * np.abs(other).max(), err_msg=f"{way} {i}")


@pytest.mark.parametrize("name", ["linear", "matmul", "conv2d"])
@LOW
def test_a_program_that_is_made_again_does_the_same(name, dtype):
    exact = _in_float64(name)
    for i, (one, other) in enumerate(zip(_recorded(name, dtype, again=True), exact)):
        if i > 0 or "conv" not in name:
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6 * np.abs(other).max(), err_msg=str(i))


@EVERY
def test_backward_casts_no_gradient(name):
    arrays, weight = _inputs(name)
    tensors = [paddle.to_tensor(a, stop_gradient=i == 0 and "conv" in name) for i, a in enumerate(arrays)]
    with paddle.amp.auto_cast(dtype="bfloat16"):
        loss = _loss(name, *tensors, paddle.to_tensor(weight))
    with paddle.amp.debugging.collect_operator_stats(show=False) as stats:
        loss.backward()
    casts = stats.calls["cast"]
    # Where a float32 sum needs none: the bias of matmul is added beside a 16-bit result, and a vector's sum has one term.
    assert casts["bfloat16"] == (1 if name == "linear of a vector" else 0), stats
    assert casts["float32"] <= 2  # of what the loss sends


@LOW
def test_layer_norm_beside_float32_parameters(dtype):
    x, weight = _values(50, 24), _values(50, 24, seed=7)
    found = []
    for kind in (dtype, "float64"):
        data = paddle.to_tensor(x).astype(kind)
        params = [
            paddle.to_tensor(_values(24, seed=i).astype("float64" if kind == "float64" else "float32")) for i in (1, 2)
        ]
        for p in params:
            p.stop_gradient = False
        with (
            paddle.amp.debugging.collect_operator_stats(show=False) as stats,
            paddle.amp.auto_cast(kind != "float64", dtype=dtype),
        ):
            out = F.layer_norm(data, [24], *params)
        assert out.dtype == data.dtype and "cast" not in stats.calls
        (out.astype("float64") * paddle.to_tensor(weight).astype("float64")).sum().backward()
        found.append([p.grad.numpy() for p in params])
    for one, other in zip(*found):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("how", ["hook", "retained", "grad", "grad and create_graph"])
def test_who_looks_at_a_cast_sees_its_dtype(how):
    x = paddle.to_tensor(_values(30, 24))
    w = paddle.to_tensor(_values(24, 16, seed=1), stop_gradient=False)
    low = w.astype("bfloat16")
    seen = []
    if how == "hook":
        low.register_hook(lambda g: seen.append(g))
    elif how == "retained":
        low.retain_grads()
    loss = paddle.matmul(x.astype("bfloat16"), low).astype("float32").sum()
    if how.startswith("grad"):
        seen += paddle.grad(loss, low, create_graph="create" in how)
    else:
        loss.backward()
        assert w.grad.dtype == paddle.float32
    if how == "retained":
        seen.append(low.grad)
    assert [g.dtype for g in seen] == [paddle.bfloat16]
    np.testing.assert_allclose(seen[0].astype("float32").numpy()[:, 0], x.numpy().sum(0), rtol=2**-8)


def test_uses_of_other_kinds_beside_a_product():
    """One gives float32 and the other 16 bits: the sum is float32."""
    x, w = _values(30, 24), _values(24, 16, seed=1)
    a = paddle.to_tensor(w, stop_gradient=False)
    low = a.astype("bfloat16")
    (
        paddle.matmul(paddle.to_tensor(x).astype("bfloat16"), low).astype("float32").sum()
        + (low * 3).astype("float32").sum()
    ).backward()
    np.testing.assert_allclose(a.grad.numpy(), np.repeat(x.sum(0)[:, None], 16, 1) + 3, rtol=1e-6)


@pytest.mark.parametrize("name", ["linear", "matmul, transposed", "conv2d", "conv2d_transpose"])
def test_second_derivatives(name):
    """Through a float32 gradient of 16-bit operands, against float64."""
    arrays, weight = _inputs(name)
    found = []
    for low in (True, False):
        kind = "float32" if low else "float64"
        tensors = [paddle.to_tensor(a.astype(kind), stop_gradient=False) for a in arrays]
        with paddle.amp.auto_cast(low, dtype="bfloat16"):
            out = _PRODUCTS[name][0](*tensors)
            loss = (out.astype(kind) * paddle.to_tensor(weight.astype(kind))).sum()
        grads = paddle.grad(loss, tensors, create_graph=True)
        assert [g.dtype for g in grads] == [t.dtype for t in tensors]
        sum((g * g).sum() for g in grads[:2]).backward()
        found.append([t.grad.numpy() for t in tensors[:2]])
    for one, other in zip(*found):
        assert np.abs(one - other).max() <= 0.02 * np.abs(other).max()


def test_a_product_with_a_float32_result():
    """Strided, transposed and broadcast 16-bit operands, of any size; the op that gradients are made of."""
    product = paddle._C.ops.matmul_float32
    for m, k, n in [(1, 1, 1), (3, 5, 2), (70, 33, 50), (0, 4, 3), (4, 0, 3), (300, 257, 129)]:
        for dtype in ("bfloat16", "float16", "float32"):
            x, y = _values(m, k), _values(k, n, seed=1)
            for tx, ty in [(False, False), (True, False), (False, True), (True, True)]:
                a = paddle.to_tensor(x.T.copy() if tx else x).astype(dtype)
                b = paddle.to_tensor(y.T.copy() if ty else y).astype(dtype)
                found = product(a, b, tx, ty)
                assert found.dtype == paddle.float32
                np.testing.assert_allclose(found.numpy(), x.astype("float64") @ y, rtol=1e-6, atol=1e-5)
    x, y = _values(4, 1, 6, 8), _values(5, 8, 3, seed=1)
    found = product(paddle.to_tensor(x).astype("bfloat16"), paddle.to_tensor(y).astype("bfloat16"), False, False)
    np.testing.assert_allclose(found.numpy(), x.astype("float64") @ y, rtol=1e-6)
    with pytest.raises(TypeError, match="float64"):
        product(paddle.ones([2, 2], "float64"), paddle.ones([2, 2], "float64"), False, False)


@LOW
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "SimpleRNN"])
@pytest.mark.parametrize("frozen", [False, True])
def test_gradients_of_recurrent_weights_are_not_rounded(kind, dtype, frozen):
    """One call gives the gradients of all weights: float32 where a cast of the first waits for that, 16 bits if it is frozen."""
    paddle.seed(3)
    net = getattr(paddle.nn, kind)(6, 5)
    x = paddle.to_tensor(_values(3, 7, 6))
    weights = dict(net.named_parameters())
    weights["weight_ih_l0"].stop_gradient = frozen
    weights = {name: p for name, p in weights.items() if not p.stop_gradient}

    def grads(low):
        with paddle.amp.auto_cast(low, dtype=dtype):
            loss = (net(x)[0].astype("float32") * paddle.to_tensor(_values(3, 7, 5, seed=7))).sum()
        with paddle.amp.debugging.collect_operator_stats(show=False) as stats:
            loss.backward()
        found = {name: p.grad.numpy() for name, p in weights.items()}
        net.clear_gradients()
        return found, stats.calls["cast"][dtype] if "cast" in stats.calls else 0

    found, casts = grads(True)
    exact, _ = grads(False)
    assert casts == (3 if frozen else 0)  # none back to float32
    for name, one in found.items():
        assert one.dtype == np.float32
        low = paddle.to_tensor(one).astype(dtype).astype("float32").numpy()
        assert (low != one).any() != frozen, name
        np.testing.assert_allclose(one, exact[name], atol=0.03 * np.abs(exact[name]).max(), err_msg=name)
