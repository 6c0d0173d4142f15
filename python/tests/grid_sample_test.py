"""grid_sample and affine_grid against a loop over pixels, and their gradients against finite differences."""

import itertools
import math

import numpy as np
import pytest

import proa
from proa.nn import functional as F


def _reflect(p, low, span):
    if span <= 0:
        return 0.0
    p = abs(p - low)
    turns, rest = divmod(p, span)
    return (rest if turns % 2 == 0 else span - rest) + low


def _place(v, size, padding, corners):
    p = (v + 1) / 2 * (size - 1) if corners else ((v + 1) * size - 1) / 2
    if padding == "reflection":
        p = _reflect(p, 0.0, size - 1) if corners else _reflect(p, -0.5, size)
    return p if padding == "zeros" else min(max(p, 0), size - 1)


def _sample(x, grid, mode, padding, corners):
    n, c, h, w = x.shape
    out = np.zeros((n, c, *grid.shape[1:3]))
    for b, i, j in itertools.product(range(n), range(grid.shape[1]), range(grid.shape[2])):
        px, py = _place(grid[b, i, j, 0], w, padding, corners), _place(grid[b, i, j, 1], h, padding, corners)
        if mode == "nearest":
            places = [(round(py), round(px), 1.0)]
        else:
            top, left = math.floor(py), math.floor(px)
            places = [(top + di, left + dj, (1 - abs(py - top - di)) * (1 - abs(px - left - dj)))
                      for di in (0, 1) for dj in (0, 1)]  # fmt: skip
        for y, x_, weight in places:
            if 0 <= y < h and 0 <= x_ < w:
                out[b, :, i, j] += weight * x[b, :, y, x_]
    return out


@pytest.mark.parametrize("corners", [True, False])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_against_a_loop(mode, padding, corners):
    rng = np.random.RandomState(0)
    for size in ((6, 7), (1, 3), (2, 1)):
        x, grid = rng.randn(2, 3, *size).astype("float32"), (rng.rand(2, 4, 5, 2) * 5 - 2.5).astype("float32")
        got = F.grid_sample(proa.to_tensor(x), proa.to_tensor(grid), mode, padding, corners).numpy()
        np.testing.assert_allclose(got, _sample(x, grid, mode, padding, corners), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_gradients(padding):
    rng = np.random.RandomState(1)
    x, grid = rng.randn(1, 2, 4, 5), rng.rand(1, 3, 3, 2) * 2.4 - 1.2
    weights = rng.randn(1, 2, 3, 3)

    def total(a, b):
        return (
            F.grid_sample(proa.to_tensor(a), proa.to_tensor(b), padding_mode=padding) * proa.to_tensor(weights)
        ).sum()

    tensors = [proa.to_tensor(v, stop_gradient=False) for v in (x, grid)]
    (F.grid_sample(*tensors, padding_mode=padding) * proa.to_tensor(weights)).sum().backward()
    for k, value in enumerate((x, grid)):
        for index in list(np.ndindex(value.shape))[::5]:
            high, low = [v.copy() for v in (x, grid)], [v.copy() for v in (x, grid)]
            high[k][index] += 1e-6
            low[k][index] -= 1e-6
            want = (total(*high).item() - total(*low).item()) / 2e-6
            assert tensors[k].grad.numpy()[index] == pytest.approx(want, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("corners", [True, False])
def test_affine_grid(corners):
    theta = np.random.RandomState(2).randn(2, 2, 3).astype("float32")
    got = F.affine_grid(proa.to_tensor(theta), [2, 3, 5, 4], corners).numpy()
    for i, j in itertools.product(range(5), range(4)):
        y, x = (i / 4 * 2 - 1, j / 3 * 2 - 1) if corners else ((2 * i + 1) / 5 - 1, (2 * j + 1) / 4 - 1)
        np.testing.assert_allclose(got[:, i, j], theta @ np.array([x, y, 1.0]), rtol=1e-4, atol=1e-5)
    still = F.affine_grid(proa.to_tensor([[[1.0, 0, 0], [0, 1, 0]]]), proa.to_tensor([1, 1, 3, 3]), corners)
    x = proa.randn([1, 2, 3, 3])
    np.testing.assert_allclose(F.grid_sample(x, still, align_corners=corners).numpy(), x.numpy(), atol=1e-6)


def test_bad_input():
    x, grid = proa.ones([1, 1, 2, 2]), proa.zeros([1, 2, 2, 2])
    for call, says in (
        (lambda: F.grid_sample(x, proa.zeros([2, 2, 2, 2])), "grid_sample: x must be"),
        (lambda: F.grid_sample(x, grid, mode="cubic"), "mode must be"),
        (lambda: F.grid_sample(x, grid, padding_mode="wrap"), "padding_mode must be"),
        (lambda: F.affine_grid(x, [1, 1, 2, 2]), "theta must be"),
        (lambda: F.affine_grid(proa.ones([1, 2, 3]), [2, 2]), "out_shape must be"),
    ):
        with pytest.raises(ValueError, match=says):
            call()
    assert F.grid_sample(x, proa.zeros([1, 0, 2, 2])).shape == [1, 1, 0, 2]


def test_images_of_more_pixels_than_float32_counts():
    """The last pixel is number 2 ** 24 + 1, of which float32 makes 2 ** 24."""
    x = proa.zeros([1, 1, 2, 2**23 + 1], "float32")
    x[0, 0, 1, -1] = 3.0
    corner = proa.ones([1, 1, 1, 2])
    assert F.grid_sample(x, corner).item() == 3.0
    assert F.grid_sample(x, corner, mode="nearest").item() == 3.0


class _Turned(proa.nn.Layer):
    """A spatial transformer."""

    def __init__(self):
        super().__init__()
        self.conv = proa.nn.Conv2D(3, 4, 3, padding=1)

    def forward(self, x, theta):
        return F.grid_sample(self.conv(x), F.affine_grid(theta, [1, 4, 200, 300]))


def test_predictors_of_low_precision_find_the_pixels(tmp_path):
    """Convolutions are of 16 bits; places in an image of more than 256 pixels are not."""
    net, path = _Turned().eval(), str(tmp_path / "net")
    draw = np.random.default_rng(0)
    arrays = [draw.standard_normal(s).astype("float32") for s in ((1, 3, 200, 300), (1, 2, 3))]
    wanted = net(*map(proa.to_tensor, arrays)).numpy()
    specs = [proa.static.InputSpec(a.shape, "float32", name) for a, name in zip(arrays, ("x", "theta"), strict=True)]
    proa.jit.save(net, path, specs)
    config = proa.inference.Config(path)
    config.enable_mkldnn_bfloat16()
    (found,) = proa.inference.create_predictor(config).run(arrays)
    assert np.abs(np.asarray(found) - wanted).max() < 0.02 * np.abs(wanted).max()
