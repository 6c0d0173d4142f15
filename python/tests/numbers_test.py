"""Numbers that were wrong once, or errors where there is a result, by the function that gave them."""

import numpy as np
import pytest

import proa
import proa.nn.functional as F

NAN = float("nan")


def leaf(values, dtype="float32"):
    t = proa.to_tensor(np.asarray(values, dtype))
    t.stop_gradient = False
    return t


# Quantiles ------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [0.0, 0.3, 0.5, 1.0, [0.1, 0.9]])
@pytest.mark.parametrize("axis", [None, 0, 1, [0, 1]])
@pytest.mark.parametrize("keepdim", [False, True])
def test_quantiles_and_nan(q, axis, keepdim):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 5))
    x[1, 2] = x[3] = NAN
    t = proa.to_tensor(x)
    kwargs = {"axis": tuple(axis) if isinstance(axis, list) else axis, "keepdims": keepdim}
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning) if axis == 1 else np.errstate():
        expected = np.nanquantile(x, q, **kwargs)
    np.testing.assert_allclose(proa.nanquantile(t, q, axis, keepdim).numpy(), expected)
    np.testing.assert_allclose(proa.quantile(t, q, axis, keepdim).numpy(), np.quantile(x, q, **kwargs))


def test_medians_and_nan():
    x = np.array([[1.0, NAN, 3.0, 5.0], [2.0, 1.0, 5.0, 8.0], [NAN, NAN, NAN, 4.0]])
    t = proa.to_tensor(x)
    np.testing.assert_allclose(proa.median(t, 1).numpy(), [NAN, 3.5, NAN])
    np.testing.assert_allclose(proa.nanmedian(t, 1).numpy(), [3.0, 3.5, 4.0])
    assert proa.median(proa.to_tensor([1.0, float("inf"), float("inf")])).item() == float("inf")


@pytest.mark.parametrize("function", ["median", "nanmedian"])
@pytest.mark.parametrize("pair", [(-np.inf, 3.0), (3.0, np.inf), (-np.inf, np.inf), (-np.inf, -np.inf), (3e38, -3e38)])
def test_medians_beside_infinity(function, pair):
    with np.errstate(invalid="ignore"):
        expected = np.median(np.asarray(pair))
    np.testing.assert_equal(getattr(proa, function)(proa.to_tensor(pair, dtype="float32")).item(), expected)


@pytest.mark.parametrize("axis", [0, -1, [0]])
def test_quantiles_of_one_number_along_an_axis(axis):
    x = proa.to_tensor(2.5)
    for out in (proa.median(x, axis), proa.nanmedian(x, axis), proa.quantile(x, 0.3, axis)):
        assert out.shape == [] and out.item() == 2.5


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_bincount_of_the_largest_number(dtype):
    largest = min(np.iinfo(dtype).max, 40_000)
    x = np.array([largest, 1, largest], dtype)
    np.testing.assert_array_equal(
        proa.bincount(proa.to_tensor(x), minlength=300).numpy(), np.bincount(x, minlength=300)
    )


def test_bincount_of_integer_weights_is_float64():
    out = proa.bincount(proa.to_tensor([0, 3, 3]), proa.to_tensor([1, 2, 5]))
    assert out.dtype == proa.float64 and out.tolist() == [1.0, 0.0, 0.0, 7.0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("values", [[0.25, 0.25], [1, -1], [0, 0], [0, 0.5], [256, 256]])
def test_truth_of_sums_and_products(dtype, values):
    """A result of bool is made of which elements are not 0, as NumPy makes it; not of numbers cut to integers."""
    x = proa.to_tensor(np.asarray(values)).astype(dtype)
    true = [v != 0 for v in x.tolist()]
    assert proa.sum(x, dtype="bool").item() is any(true)
    assert proa.prod(x, dtype="bool").item() is all(true)
    assert proa.cumsum(x, dtype="bool").tolist() == np.logical_or.accumulate(true).tolist()
    assert proa.cumprod(x, dim=0, dtype="bool").tolist() == np.logical_and.accumulate(true).tolist()
    rows = proa.stack([x, x], 1).T  # strided
    assert proa.sum(rows, axis=1, dtype="bool").tolist() == [any(true)] * 2
    assert proa.sum(x[:0], dtype="bool").item() is False and proa.prod(x[:0], dtype="bool").item() is True


# Losses ---------------------------------------------------------------------------------

_PROBABILITY, _LABEL = np.array([0.2, 0.7]), np.array([0.3, 0.6])
_LABELED = {
    "binary_cross_entropy": lambda x, y: F.binary_cross_entropy(x, y),
    "binary_cross_entropy_with_logits": lambda x, y: F.binary_cross_entropy_with_logits(x, y),
    "with_logits and pos_weight": lambda x, y: F.binary_cross_entropy_with_logits(
        x, y, pos_weight=proa.to_tensor([2.0, 3.0], dtype="float64")
    ),
    "kl_div": lambda x, y: F.kl_div(x, y),
    "log_loss": lambda x, y: F.log_loss(x, y).sum(),
    "cross_entropy": lambda x, y: F.cross_entropy(x, y, soft_label=True),
    "cross_entropy of probabilities": lambda x, y: F.cross_entropy(x, y, soft_label=True, use_softmax=False),
}


@pytest.mark.parametrize("name", _LABELED)
def test_labels_receive_no_gradient(name):
    x, label = leaf(_PROBABILITY, "float64"), leaf(_LABEL, "float64")
    _LABELED[name](x, label).backward()
    assert label.grad is None and x.grad is not None


def test_positive_weight_of_soft_labels():
    x, y, w = np.array([0.5, -2.0, 30.0]), np.array([0.3, 0.8, 0.5]), np.array([2.0, 0.5, 3.0])
    p = 1 / (1 + np.exp(-x))
    with np.errstate(divide="ignore"):
        expected = -(w * y * np.log(p) + (1 - y) * np.log(np.maximum(1 - p, 1e-300)))
    t = [proa.to_tensor(v) for v in (x, y)]
    loss = F.binary_cross_entropy_with_logits(*t, pos_weight=proa.to_tensor(w), reduction="none")
    np.testing.assert_allclose(loss.numpy(), expected, rtol=1e-3)


def test_gradient_of_a_logit_of_zero():
    # The loss is smooth there, though max(x, 0) and |x|, of which it is made, are not.
    x = leaf([0.0, 0.0])
    F.binary_cross_entropy_with_logits(x, proa.to_tensor([0.0, 1.0]), reduction="sum").backward()
    assert x.grad.tolist() == [0.5, -0.5]


def test_labels_without_classes():
    assert F.label_smooth(proa.zeros([3, 0])).shape == [3, 0]


def test_gradients_of_certain_predictions_are_finite():
    x = leaf([0.0, 1.0, 0.0, 1.0])
    F.binary_cross_entropy(x, proa.to_tensor([0.0, 1.0, 1.0, 0.0]), reduction="sum").backward()
    assert x.grad.tolist() == [0.0, 0.0, pytest.approx(-1e12), pytest.approx(1e12)]


# Gradients at kinks ---------------------------------------------------------------------

_NORMS = {
    **{f"norm {p}": lambda x, p=p: proa.norm(x, p) for p in ("fro", 0, 0.5, 1, 2, 3, float("inf"))},  # type: ignore[misc]
    "norm along an axis": lambda x: proa.norm(x, 2, 1).sum(),
    "dist": lambda x: proa.dist(x, proa.zeros([2, 2])),
    "std": lambda x: x.std(),
    "std along an axis": lambda x: x.std(0).sum(),
    "cosine_similarity": lambda x: F.cosine_similarity(x, proa.ones([2, 2])).sum() * 0.0,
    "weight_norm": lambda x: (x / (proa.norm(x) + 1.0)).sum() * 0.0,
}


@pytest.mark.parametrize("name", _NORMS)
def test_gradients_at_zero_are_zero(name):
    x = leaf(np.zeros((2, 2)))
    _NORMS[name](x).backward()
    assert x.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_normalize_of_zeros_has_a_finite_gradient():
    x = leaf(np.zeros((1, 2)))
    F.normalize(x, epsilon=0.5).sum().backward()  # x / 0.5 there
    assert x.grad.tolist() == [[2.0, 2.0]]


def test_atan2_of_bools():
    x, y = proa.to_tensor([True, False]), leaf([1.0, 2.0])
    proa.atan2(x, y).sum().backward()
    np.testing.assert_allclose(y.grad.numpy(), [-0.5, 0.0])
    z = leaf([1.0, 2.0])
    proa.atan2(z, proa.to_tensor([True, True])).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), [0.5, 0.2])


# Copies and views -----------------------------------------------------------------------

_COPIES = {
    "split": lambda x: proa.split(x, 2)[0],
    "chunk": lambda x: proa.chunk(x, 2)[1],
    "unstack": lambda x: proa.unstack(x)[0],
    "crop": lambda x: proa.crop(x, [1, 3]),
    "conj": lambda x: proa.conj(x),
    "Tensor.conj": lambda x: x.conj(),
    "Tensor.split": lambda x: x.split(2)[0],
}


@pytest.mark.parametrize("name", _COPIES)
def test_what_is_written_into_a_part_does_not_change_its_source(name):
    x = proa.to_tensor(np.arange(6.0).reshape(2, 3))
    part = _COPIES[name](x)
    part[...] = 9.0
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] and part.min().item() == 9.0


def test_gradients_go_through_copies():
    x = leaf(np.ones((2, 4)))
    a, b = proa.split(x, [1, 3], axis=1)
    b[:, 0] = 0.0
    (a.sum() + 2 * b.sum() + 3 * proa.unstack(x)[1].sum()).backward()
    assert x.grad.tolist() == [[1.0, 0.0, 2.0, 2.0], [4.0, 3.0, 5.0, 5.0]]


# Spectral norms -------------------------------------------------------------------------


def test_spectral_norm_moves_in_training_only():
    layer = proa.nn.utils.spectral_norm(proa.nn.Linear(4, 3))
    x = proa.ones([1, 4])

    def vectors():
        return layer.weight_u.numpy().copy(), layer.weight_v.numpy().copy()

    before = vectors()
    layer(x)
    after = vectors()
    assert all(np.any(a != b) for a, b in zip(before, after))
    layer.eval()
    first = layer(x).numpy()
    assert np.array_equal(layer(x).numpy(), first)
    assert all(np.array_equal(a, b) for a, b in zip(after, vectors()))
    u, v = after
    sigma = u @ (layer.weight_orig.numpy().T @ v)
    np.testing.assert_allclose(layer.weight.numpy(), layer.weight_orig.numpy() / sigma, rtol=1e-5)


def test_spectral_norm_layer_does_not_keep_its_iterations():
    layer = proa.nn.SpectralNorm([4, 3], power_iters=2)
    weight = proa.randn([4, 3])
    before = layer.weight_u.numpy().copy(), layer.weight_v.numpy().copy()
    first = layer(weight).numpy()
    assert np.array_equal(layer(weight).numpy(), first)
    assert np.array_equal(layer.weight_u.numpy(), before[0]) and np.array_equal(layer.weight_v.numpy(), before[1])
    u, v = before
    for _ in range(2):
        v = weight.numpy().T @ u
        v /= np.linalg.norm(v)
        u = weight.numpy() @ v
        u /= np.linalg.norm(u)
    np.testing.assert_allclose(first, weight.numpy() / (u @ weight.numpy() @ v), rtol=1e-4)


# Initializers ---------------------------------------------------------------------------


def made(initializer, shape=(200, 200)):
    return proa.create_parameter(list(shape), "float32", default_initializer=initializer)


def test_fans_that_are_no_integers():
    init = proa.nn.initializer
    expected = (2 / 0.3) ** 0.5
    for initializer, std in (
        (init.XavierNormal(fan_in=0.1, fan_out=0.2), expected),
        (init.XavierUniform(fan_in=0.1, fan_out=0.2), expected),
        (init.KaimingNormal(fan_in=0.1), 20**0.5),
        (init.KaimingUniform(fan_in=0.1), 20**0.5),
        (init.XavierNormal(fan_in=0, fan_out=0), 0.0),
        (init.Normal(0.0, -1.0), 1.0),
        (init.TruncatedNormal(0.0, -1.0), 0.8796),
    ):
        assert made(initializer).numpy().std() == pytest.approx(std, rel=0.02)


def test_a_parameter_takes_the_shape_of_its_value():
    assert made(proa.nn.initializer.Assign(np.arange(6.0)), [2, 2]).tolist() == [0, 1, 2, 3, 4, 5]


# Values of the reference's initializer, by kernel size.
_BILINEAR = {
    1: [[1.0]],
    2: [[1.0, 0.0], [0.0, 0.0]],
    3: [[0.0625, 0.3125, 0.4375], [0.1875, 0.6875, 0.6875], [0.1875, 0.4375, 0.3125]],
    4: [
        [0.0625, 0.28125, 0.375, 0.15625],
        [0.1875, 0.65625, 0.75, 0.21875],
        [0.1875, 0.46875, 0.375, 0.09375],
        [0.0625, 0.09375, 0.0, -0.03125],
    ],
}


@pytest.mark.parametrize("size", _BILINEAR)
def test_bilinear_kernels(size):
    kernel = made(proa.nn.initializer.Bilinear(), (2, 3, size, size)).numpy()
    np.testing.assert_allclose(kernel, np.broadcast_to(np.array(_BILINEAR[size], "float32"), kernel.shape), atol=1e-7)


# Arguments ------------------------------------------------------------------------------


def test_sizes_of_one_are_repeated_in_tensordot():
    x, y = np.arange(8.0).reshape(2, 1, 4), np.arange(12.0).reshape(3, 4)
    expected = np.einsum("ijk,jk->i", np.broadcast_to(x, (2, 3, 4)), y)
    tx, ty = leaf(x, "float64"), leaf(y, "float64")
    out = proa.tensordot(tx, ty, [[1, 2], [0, 1]])
    np.testing.assert_allclose(out.numpy(), expected)
    np.testing.assert_allclose(proa.tensordot(ty, tx, [[0, 1], [1, 2]]).numpy(), expected)
    out.sum().backward()
    np.testing.assert_allclose(tx.grad.numpy(), np.broadcast_to(y.sum(0), (2, 1, 4)))


def test_a_tensor_as_probability_of_dropout():
    x = proa.ones([4])
    assert F.dropout(x, proa.to_tensor([0.0])).tolist() == F.dropout(x, proa.to_tensor(0.5), training=False).tolist()
    with pytest.raises(ValueError, match="in \\[0, 1\\]"):
        F.dropout(x, proa.to_tensor(1.5))
    with pytest.raises(TypeError, match="p must be a number"):
        F.dropout(x, proa.to_tensor([0.5, 0.5]))


def test_one_bias_for_all():
    out = F.linear(proa.ones([2, 3]), proa.ones([3, 4]), proa.to_tensor([1.0]))
    assert out.tolist() == [[4.0] * 4] * 2
    one = leaf([1.0])
    for n, name in ((1, "conv1d"), (2, "conv2d"), (3, "conv3d")):
        x, w = proa.randn([2, 4] + [3] * n), proa.randn([4, 2] + [2] * n)
        for function in (getattr(F, name), getattr(F, name + "_transpose")):
            expected = function(x, w, proa.ones([4]), groups=2)
            np.testing.assert_allclose(function(x, w, one, groups=2).numpy(), expected.numpy(), rtol=1e-6)
    function(x, w, one, groups=2).sum().backward()
    assert one.grad.tolist() == [float(expected.size)]


def test_a_feed_may_lack_dims_of_one():
    main = proa.static.Program()
    with proa.static.program_guard(main):
        x, w = proa.static.data("x", [3, 1]), proa.static.data("w", [-1, 1])
        out = [proa.matmul(x, proa.ones([1, 2])), w + 1.0]
    values = np.arange(3, dtype="float32")
    product, more = proa.static.Executor().run(main, feed={"x": values, "w": values}, fetch_list=out)
    assert product.tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]] and more.shape == (3, 1)


@pytest.mark.parametrize(
    "name, dtype",
    [
        ("int", "int64"),
        (int, "int64"),
        ("long", "int64"),
        (np.int_, "int64"),
        (np.intc, "int32"),
        ("short", "int16"),
        ("half", "float16"),
        (np.half, "float16"),
        ("float", "float64"),
        (float, "float64"),
        ("double", "float64"),
        (np.float32, "float32"),
        (np.dtype("float32"), "float32"),
        ("paddle.float32", "float32"),
        ("complex", "complex128"),
        (complex, "complex128"),
        (bool, "bool"),
        ("bool_", "bool"),
    ],
)
def test_dtypes_by_other_names(name, dtype):
    x = proa.ones([2])
    assert x.astype(name).dtype.name == x.cast(name).dtype.name == proa.zeros([2], name).dtype.name == dtype
    assert proa.to_tensor([1], dtype=name).dtype.name == proa.framework.dtype.convert_dtype(name) == dtype
    assert proa.zeros_like(x, dtype=name).dtype == name
    for wrong in ("float31", object, np.dtype("U3")):
        with pytest.raises(TypeError):
            x.astype(wrong)
        with pytest.raises(TypeError):
            proa.zeros([2], wrong)


# Optimizers -----------------------------------------------------------------------------


@pytest.mark.parametrize("lazy", [False, True])
def test_adam_of_sparse_rows_follows_its_formula(lazy):
    # The first step of rows with gradients is the learning rate, whatever the gradient: 1 - 0.1 = 0.9.
    start = proa.nn.initializer.Constant(1.0)
    table = proa.nn.Embedding(5, 2, sparse=True, weight_attr=start)
    adam = proa.optimizer.Adam(0.1, parameters=table.parameters(), lazy_mode=lazy)
    p, m, v = np.ones(5), np.zeros(5), np.zeros(5)
    for t, ids in enumerate(([1, 1, 3], [0], [3, 4]), 1):
        table(proa.to_tensor(ids)).sum().backward()
        adam.step()
        adam.clear_grad()
        g = np.bincount(ids, minlength=5).astype("float64")
        rows = g > 0 if lazy else np.full(5, True)
        m[rows] = 0.9 * m[rows] + 0.1 * g[rows]
        v[rows] = 0.999 * v[rows] + 0.001 * g[rows] ** 2
        step = 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        p[rows] -= step * m[rows] / (np.sqrt(v[rows]) + 1e-8)
        np.testing.assert_allclose(table.weight.numpy(), np.stack([p, p], 1), rtol=1e-5)
        if t == 1:
            np.testing.assert_allclose(p, [1.0, 0.9, 1.0, 0.9, 1.0], rtol=1e-6)
