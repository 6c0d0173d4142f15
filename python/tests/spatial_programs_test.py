"""Convolutions and pools in programs: each is one operation, right for sizes that were open when it was recorded."""

import re

import numpy as np
import pytest

import proa
import proa.nn.functional as F

_WEIGHT = {1: [4, 3, 3], 2: [4, 3, 3, 2], 3: [4, 3, 3, 2, 2]}
_FORMATS = {1: ("NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def _cases():
    """(name, dims, whether channels are last, function of an image)."""
    for n in (1, 2, 3):
        for last in (False, True):
            weight = proa.to_tensor(np.random.default_rng(n).standard_normal(_WEIGHT[n]).astype("float32"))
            channels = {"data_format": _FORMATS[n][last]}
            for padding in (1, "SAME", "VALID", [1, 0] * n):
                conv, transpose = getattr(F, f"conv{n}d"), getattr(F, f"conv{n}d_transpose")
                given = dict(channels, stride=2, padding=padding)
                yield f"conv{n}d", n, last, lambda x, f=conv, w=weight, g=given: f(x, w, **g)
                turned = proa.to_tensor(weight.numpy()[:3].swapaxes(0, 1).copy()[:3])
                yield f"conv{n}d_transpose", n, last, lambda x, f=transpose, w=turned, g=given: f(x, w, **g)
                for kind in ("max", "avg"):
                    if n == 1 and last:
                        continue  # pools of one dim have no formats
                    given_pool = dict(given, kernel_size=3)
                    if n == 1:
                        del given_pool["data_format"]
                    pool = getattr(F, f"{kind}_pool{n}d")
                    yield f"{kind}_pool{n}d", n, last, lambda x, f=pool, g=given_pool: f(x, **g)
            if not last:
                for kind in ("max", "avg"):
                    pool = getattr(F, f"adaptive_{kind}_pool{n}d")
                    yield f"adaptive_{kind}_pool{n}d", n, last, lambda x, f=pool: f(x, 2)
                pool = getattr(F, f"max_pool{n}d")
                yield f"max_pool{n}d_with_index", n, last, lambda x, f=pool: f(x, 2, return_mask=True)[0]


_CASES = list(_cases())


def _images(n, last):
    """Of even and odd sizes."""
    rng = np.random.default_rng(0)
    for size in (6, 7, 9):
        x = rng.standard_normal([2, 3, *(size + d for d in range(n))]).astype("float32")
        yield np.moveaxis(x, 1, -1).copy() if last else x


def _operations(program):
    """Names of the operations, but for the sizes that gradients will ask for."""
    names = [re.search(r" = (\w+)\(", line) for line in program.global_block().ops]
    return [name[1] for name in names if name and name[1] != "shape"]


def _eager(function, x):
    x = proa.to_tensor(x, stop_gradient=False)
    y = function(x)
    (y * y).sum().backward()
    return y.numpy(), x.grad.numpy()


@pytest.mark.parametrize("index", range(len(_CASES)), ids=[f"{i}-{c[0]}" for i, c in enumerate(_CASES)])
def test_one_operation_of_open_sizes(index):
    name, n, last, function = _CASES[index]
    proa.enable_static()
    try:
        main = proa.static.Program()
        with proa.static.program_guard(main, proa.static.Program()):
            shape = [None] * (n + 2)
            shape[-1 if last else 1] = 3
            x = proa.static.data("x", shape, "float32")
            x.stop_gradient = False
            y = function(x)
            assert _operations(main) == [name]
            (grad,) = proa.static.gradients([(y * y).sum()], [x])
        run = proa.static.Executor().run
        got = [run(main, feed={"x": image}, fetch_list=[y, grad]) for image in _images(n, last)]
    finally:
        proa.disable_static()
    for image, results in zip(_images(n, last), got):
        for result, expected in zip(results, _eager(function, image)):
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_unpooling_of_open_sizes(n):
    pool, unpool = getattr(F, f"max_pool{n}d"), getattr(F, f"max_unpool{n}d")
    rng = np.random.default_rng(0)
    images = [rng.standard_normal([2, 3, *(size + 2 * d for d in range(n))]).astype("float32") for size in (4, 6)]

    def there_and_back(x):
        return unpool(*pool(x, 2, return_mask=True), 2)

    proa.enable_static()
    try:
        main = proa.static.Program()
        with proa.static.program_guard(main, proa.static.Program()):
            y = there_and_back(proa.static.data("x", [None] * (n + 2), "float32"))
            assert _operations(main) == [f"max_pool{n}d_with_index", f"max_unpool{n}d"]
        run = proa.static.Executor().run
        got = [run(main, feed={"x": image}, fetch_list=[y])[0] for image in images]
    finally:
        proa.disable_static()
    for image, result in zip(images, got):
        assert result.shape == image.shape
        np.testing.assert_array_equal(result, there_and_back(proa.to_tensor(image)).numpy())
        assert ((result == 0) | (result == image)).all() and (result != 0).sum() * 2**n == image.size


def test_convolutions_of_many_dims_lie_as_two_do():
    """Chains of convolutions move no images: results lie channels-last, and elementwise ops keep that."""
    for n in (1, 2, 3):
        x = proa.ones([2, 3, *[6] * n])
        w = proa.ones([4, 3, *[1] * n])
        y = F.relu(getattr(F, f"conv{n}d")(x, w))
        assert y.strides[1] == 1 and not y.is_contiguous()
        v = proa.ones([5, 4, *[3] * n])
        before = proa._C.reorder_counts()
        z = F.relu(getattr(F, f"conv{n}d")(y, v, padding=1))
        assert z.strides[1] == 1
        assert proa._C.reorder_counts()["data"] == before["data"]
