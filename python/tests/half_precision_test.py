"""Sums, means, norms and losses of float16 and bfloat16 of many and of large elements, against float64.

A sum in float16 is infinite above 65,504; what is divided by it becomes 0 without a word.
"""

import numpy as np
import pytest

import proa
import proa.nn.functional as F

MANY = 70_000
_RESOLUTION = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
rng = np.random.default_rng(0)


def rounded(x, dtype):
    """Numbers that the dtype has, as float64."""
    return proa.to_tensor(np.asarray(x, "float32")).astype(dtype).astype("float64").numpy()


def check(function, arrays, dtype, loose=4.0):
    """Results and gradients in a half type are those in float64 to a few units in the last place."""
    results = []
    for kind in ("float64", dtype):
        leaves = [proa.to_tensor(x).astype(kind) for x in arrays]
        for leaf in leaves:
            leaf.stop_gradient = False
        out = function(*leaves)
        grads = []
        if not out.stop_gradient:
            # Weights, as the elements of some results (softmax) have a constant sum; every type has these numbers.
            weights = proa.to_tensor(np.arange(out.size).reshape(out.shape) % 7 - 2.0).astype(out.dtype)
            (out * weights).sum().backward()
            grads = [leaf.grad for leaf in leaves if leaf.grad is not None]
        assert all(g.dtype == leaves[0].dtype for g in grads)
        results.append([t.astype("float64").numpy() for t in (out, *grads)])
    for exact, half in zip(*results):
        scale = np.abs(exact).max() if exact.size else 0.0
        # Gradients below the smallest numbers of float16 are as near as it can be.
        tiny = 2.0**-22 if dtype == "float16" else 0.0
        np.testing.assert_allclose(half, exact, loose * _RESOLUTION[dtype], _RESOLUTION[dtype] * scale + tiny)


# Name, function and inputs: many elements, or large ones. Results themselves are numbers that float16 has.
_MANY, _LARGE = rng.uniform(0.5, 1.5, MANY), rng.uniform(200, 500, (3, 40))
_REDUCTIONS = {
    "mean": (lambda x: x.mean(), [_MANY]),
    "mean of large ones": (lambda x: x.mean(), [np.full(MANY, 60_000.0)]),
    "sum": (lambda x: x.sum(), [_MANY * 0.5]),
    "nanmean": (lambda x: proa.nanmean(x), [_MANY]),
    "var": (lambda x: x.var(), [_MANY]),
    "std": (lambda x: x.std(), [_MANY]),
    "std of large ones": (lambda x: x.std(1), [_LARGE * 20]),
    "logsumexp": (lambda x: proa.logsumexp(x), [_MANY]),
    "norm": (lambda x: proa.norm(x), [_MANY]),
    "norm of large ones": (lambda x: proa.norm(x, axis=1), [_LARGE]),
    "norm 3": (lambda x: proa.norm(x, 3.0, 1), [_LARGE]),
    "norm inf": (lambda x: proa.norm(x, float("inf"), 1), [np.sort(_LARGE)]),
    "matrix norm": (lambda x: proa.norm(x, 1, [0, 1]), [_LARGE]),
    "dist": (lambda x, y: proa.dist(x, y), [_LARGE, -_LARGE * 0.1]),
    "normalize": (lambda x: F.normalize(x), [_LARGE]),
    "cosine_similarity": (lambda x, y: F.cosine_similarity(x, y), [_LARGE, rng.uniform(200, 500, (3, 40))]),
    "cumsum": (lambda x: proa.cumsum(x), [_MANY[:20_000]]),
    "softmax": (lambda x: F.softmax(x, 0), [_LARGE / 200]),
    "log_softmax": (lambda x: F.log_softmax(x), [_LARGE / 200]),
    "local_response_norm": (lambda x: F.local_response_norm(x, 5), [_LARGE.reshape(1, 12, 10)]),
    "layer_norm": (lambda x: F.layer_norm(x, 40), [_LARGE]),
}
_LABELS = rng.integers(0, 2, MANY)
_CLASSES = rng.integers(0, 4, MANY // 4)
_LOGITS, _TARGETS = rng.standard_normal(MANY), _LABELS.astype("float64")
_PROBABILITIES = rng.uniform(0.1, 0.9, MANY)


def _classes():
    return proa.to_tensor(_CLASSES)


_LOSSES = {
    "mse_loss": (F.mse_loss, [_MANY, _TARGETS]),
    "l1_loss": (F.l1_loss, [_MANY + 1, _TARGETS]),
    "smooth_l1_loss": (F.smooth_l1_loss, [_MANY, _TARGETS]),
    "binary_cross_entropy": (lambda x, y: F.binary_cross_entropy(x, y), [_PROBABILITIES, _TARGETS]),
    "binary_cross_entropy_with_logits": (F.binary_cross_entropy_with_logits, [_LOGITS, _TARGETS]),
    "kl_div": (F.kl_div, [_LOGITS, _PROBABILITIES]),
    "kl_div batchmean": (lambda x, y: F.kl_div(x, y, "batchmean"), [_LOGITS[:, None], _PROBABILITIES[:, None]]),
    "cross_entropy": (lambda x: F.cross_entropy(x, _classes()), [_LOGITS.reshape(-1, 4)]),
    "cross_entropy ignoring": (
        lambda x: F.cross_entropy(proa.concat([x] * 5), proa.concat([_classes()] * 5), ignore_index=3),
        [_LOGITS.reshape(-1, 4)],
    ),
    "cross_entropy weighted": (
        lambda x: F.cross_entropy(x, _classes(), proa.to_tensor([4.0, 8.0, 12.0, 16.0]).astype(x.dtype)),
        [_LOGITS.reshape(-1, 4)],
    ),
    "nll_loss": (
        lambda x: F.nll_loss(proa.concat([x] * 5), proa.concat([_classes()] * 5)),
        [-np.abs(_LOGITS.reshape(-1, 4)) - 2],
    ),
    "dice_loss": (
        lambda x: F.dice_loss(x, proa.to_tensor(_LABELS.reshape(1, -1, 1))),
        [np.stack([_PROBABILITIES, 1 - _PROBABILITIES], -1).reshape(1, -1, 2)],
    ),
    "margin_ranking_loss": (
        lambda x, y: F.margin_ranking_loss(x, y, proa.ones_like(x), margin=4.0),
        [_MANY, _PROBABILITIES],
    ),
    "npair_loss": (
        lambda x, y: F.npair_loss(x, y, proa.to_tensor(np.arange(8)), l2_reg=1e-6),
        [rng.uniform(20, 22, (8, 300)), rng.uniform(20, 22, (8, 300))],
    ),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", [*_REDUCTIONS, *_LOSSES])
def test_as_in_float64(name, dtype):
    function, arrays = (_REDUCTIONS | _LOSSES)[name]
    check(function, [rounded(x, dtype) for x in arrays], dtype, 16.0 if "npair" in name else 4.0)


_IMAGES = rng.standard_normal((2, 3, 14, 14))
# What is made of several steps, between which nothing is rounded.
_COMPOSED = {
    "sinc": (proa.sinc, [np.linspace(-20.3, 20.3, 97)]),
    "logit with eps": (lambda x: proa.logit(x, 0.01), [np.linspace(0.0, 1.0, 65)]),
    "margin_cross_entropy": (lambda x: F.margin_cross_entropy(x, proa.arange(9)), [rng.uniform(-0.8, 0.8, (9, 30))]),
    "interpolate": (lambda x: F.interpolate(x, size=[31, 17], mode="bilinear", align_corners=True), [_IMAGES]),
    "interpolate cubic": (lambda x: F.interpolate(x, scale_factor=2.5, mode="bicubic"), [_IMAGES]),
    "interpolate three": (lambda x: F.interpolate(x.unsqueeze(0), size=[5, 9, 30], mode="trilinear"), [_IMAGES]),
}


def _far(function, arrays, dtype):
    """How far results and gradients are from those in float64, in units of the largest number's last place."""
    found = []
    for kind in ("float64", dtype):
        leaves = [proa.to_tensor(x).astype(kind) for x in arrays]
        for leaf in leaves:
            leaf.stop_gradient = False
        out = function(*leaves)
        weights = proa.to_tensor(np.arange(out.size).reshape(out.shape) % 7 - 3.0).astype(out.dtype)
        proa.autograd.backward(out, weights)
        found.append([t.astype("float64").numpy() for t in (out, *(leaf.grad for leaf in leaves))])
    return [np.abs(h - e).max() / np.abs(e).max() / _RESOLUTION[dtype] for e, h in zip(*found, strict=True)]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", _COMPOSED)
def test_composed_functions_round_once(name, dtype):
    function, arrays = _COMPOSED[name]
    assert max(_far(function, [rounded(x, dtype) for x in arrays], dtype)) < 0.6


_ROWS = rng.uniform(200, 500, (30, 40))
_SCORES = np.log(rng.dirichlet(np.ones(5), (2, 9, 4)))


_ALIKE = proa.to_tensor(np.where(np.arange(30) % 3, 1, -1))


def _transduced(x):
    return F.rnnt_loss(x, proa.to_tensor([[1, 2, 4], [3, 3, 1]]), proa.to_tensor([9, 7]), proa.to_tensor([3, 1]))


_KEPT = _COMPOSED | {
    "normalize": (lambda x: F.normalize(x), [_ROWS]),
    "cosine_similarity": (lambda x, y: F.cosine_similarity(x, y), [_ROWS, _ROWS[::-1]]),
    "local_response_norm": (lambda x: F.local_response_norm(x, 5), [_ROWS.reshape(1, 12, 100)]),
    "cdist": (lambda x, y: proa.cdist(x, y), [_ROWS, _ROWS[::-1] * 0.5]),
    "pdist": (lambda x: proa.pdist(x), [_ROWS]),
    "cov": (lambda x: proa.linalg.cov(x), [_ROWS]),
    "corrcoef": (lambda x: proa.linalg.corrcoef(x), [_ROWS[:5]]),
    "cosine_embedding_loss": (lambda x, y: F.cosine_embedding_loss(x, y, _ALIKE), [_ROWS, _ROWS[::-1]]),
    "rnnt_loss": (_transduced, [_SCORES]),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("given", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", _KEPT)
def test_autocast_rounds_nothing_between_steps(name, given, dtype):
    """At level O2, which computes in 16 bits what has no class: squares of 400 are no float16."""
    function, arrays = _KEPT[name]
    found = []
    for on in (False, True):
        leaves = [proa.to_tensor(x).astype(given) for x in arrays]
        for leaf in leaves:
            leaf.stop_gradient = False
        with proa.amp.auto_cast(on, level="O2", dtype=dtype):
            out = function(*leaves)
        proa.autograd.backward(out, proa.ones_like(out))
        found.append([out, *(leaf.grad for leaf in leaves)])
    for a, b in zip(*found, strict=True):
        assert a.dtype == b.dtype and np.isfinite(a.astype("float32").numpy()).all()
        np.testing.assert_array_equal(a.astype("float32").numpy(), b.astype("float32").numpy())


_WIDE = rng.standard_normal((1, 2, 300, 500))
_PLACES = rng.uniform(-1.2, 1.2, (1, 9, 11, 2))
_OFFSETS, _KERNEL = rng.uniform(-3, 3, (1, 18, 40, 600)), rng.standard_normal((3, 2, 3, 3))
# What counts pixels, of which there are more than 16-bit types have numbers.
_PIXELS = {
    **{
        f"grid_sample {mode} {padding} {corners}": (
            lambda x, g, m=mode, p=padding, c=corners: F.grid_sample(x, g, m, p, c),
            [_WIDE, _PLACES],
        )
        for mode in ("bilinear", "nearest")
        for padding in ("zeros", "border", "reflection")
        for corners in (True, False)
    },
    "affine_grid": (lambda t: F.affine_grid(t, [1, 1, 300, 500]), [rng.standard_normal((1, 2, 3))]),
    "deform_conv2d": (
        lambda x, o, w: proa.vision.ops.deform_conv2d(x, o, w, padding=1),
        [rng.standard_normal((1, 2, 40, 600)), _OFFSETS, _KERNEL],
    ),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", _PIXELS)
def test_pixels_are_counted_in_float32(name, dtype):
    function, arrays = _PIXELS[name]
    results = []
    for kind in ("float64", dtype):
        given = [proa.to_tensor(rounded(x, dtype)).astype(kind) for x in arrays]
        results.append(function(*given).astype("float64").numpy())
    exact, half = results
    np.testing.assert_allclose(half, exact, _RESOLUTION[dtype], _RESOLUTION[dtype] * np.abs(exact).max())


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_autocast_keeps_places(level):
    """The places are exact, the pixels of the type of x."""
    x, grid, theta = (proa.to_tensor(a).astype("float32") for a in (_WIDE, _PLACES, _PIXELS["affine_grid"][1][0]))
    wanted = [F.grid_sample(x, grid), F.affine_grid(theta, [1, 1, 300, 500])]
    with proa.amp.auto_cast(level=level, dtype="bfloat16"):
        found = [F.grid_sample(x, grid), F.affine_grid(theta, [1, 1, 300, 500])]
    for a, b in zip(wanted, found, strict=True):
        assert b.dtype == proa.float32
        np.testing.assert_array_equal(a.numpy(), b.numpy())


_MATRIX, _BLOCKS = rng.standard_normal((4, 6, 6)), rng.standard_normal((2, 12, 12))
_NORM = proa.nn.SpectralNorm([6, 6], power_iters=3)
# What is no product of matrices to who calls it, and stands in no list of the reference.
_NO_PRODUCTS = {
    "matrix_power": lambda: proa.linalg.matrix_power(proa.to_tensor(_MATRIX, dtype="float32"), 3),
    "lstsq": lambda: proa.linalg.lstsq(*(proa.to_tensor(x, dtype="float32") for x in (_MATRIX[:, :, :3], _MATRIX)))[1],
    "fold": lambda: F.fold(proa.to_tensor(_BLOCKS, dtype="float32"), [4, 5], [2, 2]),
    "bilinear": lambda: F.bilinear(*(proa.to_tensor(x, dtype="float32") for x in (_MATRIX[0], _MATRIX[1], _MATRIX))),
    "SpectralNorm": lambda: _NORM(proa.to_tensor(_MATRIX[0], dtype="float32")),
}


@pytest.mark.parametrize("name", _NO_PRODUCTS)
@pytest.mark.parametrize("level", ["O1", "O2"])
def test_autocast_lowers_no_products_inside_of_functions(name, level):
    wanted = _NO_PRODUCTS[name]()
    with proa.amp.auto_cast(level=level, dtype="bfloat16"):
        found = _NO_PRODUCTS[name]()
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_covariances_count_beyond_what_the_type_can(dtype):
    """Of 70,000 observations, a number that is infinite in float16, and 69,888 in bfloat16."""
    x = rounded(np.stack([rng.standard_normal(MANY), rng.standard_normal(MANY) + 300]), dtype)
    for function, wanted in ((proa.linalg.cov, np.cov(x)), (proa.linalg.corrcoef, np.corrcoef(x))):
        found = function(proa.to_tensor(x).astype(dtype))
        assert found.dtype.name == dtype
        np.testing.assert_allclose(found.astype("float64").numpy(), wanted, _RESOLUTION[dtype], 1e-4)


def test_products_of_float16_overflow_only_at_the_end():
    factors = np.array([1000.0, 1000.0, 0.001, 0.001, 2.0])
    check(lambda x: proa.prod(x), [rounded(factors, "float16")], "float16")


def test_norms_of_float32_neither_overflow_nor_vanish():
    for size in (1e30, 1e-30):
        x = proa.to_tensor(np.full(4, size, "float32"), stop_gradient=False)
        norm = proa.norm(x)
        norm.backward()
        assert norm.item() == pytest.approx(2 * size) and x.grad.tolist() == [0.5] * 4


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_are_clipped_not_lost(dtype):
    values = rounded(rng.uniform(200, 400, MANY), dtype)
    norm = np.sqrt((values**2).sum())

    def parameter():
        p = proa.to_tensor(np.zeros(MANY)).astype(dtype)
        p.stop_gradient = False
        p.grad = proa.to_tensor(values).astype(dtype)
        return p

    def clipped(p):
        return p.grad.astype("float64").numpy()

    tolerance = {"rtol": 4 * _RESOLUTION[dtype], "atol": 2.0**-24}
    p = parameter()
    total = proa.nn.utils.clip_grad_norm_(p, 1.0)
    assert total.item() == pytest.approx(norm, rel=1e-5) and total.dtype == proa.float32
    np.testing.assert_allclose(clipped(p), values / norm, **tolerance)
    p = parameter()
    total = proa.nn.utils.clip_grad_norm_(p, 1.0, norm_type=3.0)
    assert total.item() == pytest.approx((values**3).sum() ** (1 / 3), rel=1e-5)
    for clip in (proa.nn.ClipGradByGlobalNorm(1.0), proa.nn.ClipGradByNorm(1.0)):
        p = parameter()
        ((_, grad),) = clip([(p, p.grad)])
        assert grad.dtype == p.dtype
        np.testing.assert_allclose(grad.astype("float64").numpy(), values / norm, **tolerance)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("queries", [5, 130, 700])  # (some of 700 at a time)
def test_attention_does_not_round_scores(queries, dtype):
    """Scores are up to 60, of which bfloat16 has none between 60 and 60.25."""
    draw = np.random.default_rng(3)
    q, k, v = (draw.standard_normal((2, n, 8, 64)) * w for n, w in ((queries, 2.0), (300, 2.0), (300, 1.0)))
    arrays = [rounded(x, dtype) for x in (q, k, v)]
    far = _far(lambda *given: proa._C.ops.attention(*given, scale=0.125), arrays, dtype)
    assert far[0] < 0.9 and max(far[1:]) < 1.2, far
