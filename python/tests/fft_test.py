"""proa.fft against NumPy and finite differences: every function, norm, size and axis."""

import inspect
import itertools

import numpy as np
import pytest

import proa

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY = ("fftn", "ifftn", "rfftn", "irfftn")
TWO = ("fft2", "ifft2", "rfft2", "irfft2")
REAL = ("rfft", "ihfft", "rfftn", "rfft2", "ihfftn", "ihfft2")
NORMS = ("backward", "ortho", "forward")


def _signal(name, shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if name not in REAL:
        x = x + 1j * rng.standard_normal(shape)
    kind = {"float64": np.complex128, "float32": np.complex64}[dtype] if np.iscomplexobj(x) else dtype
    return x.astype(kind)


def _close(got, want, dtype="float64"):
    tolerance = 1e-12 if dtype == "float64" else 3e-6
    assert got.shape == list(want.shape)
    scale = np.abs(want).max(initial=1.0)
    np.testing.assert_allclose(got.numpy(), want, rtol=tolerance, atol=tolerance * scale)


def test_every_function_is_here():
    names = {n for n, f in vars(proa.fft).items() if inspect.isfunction(f) and not n.startswith("_")}
    others = {"hfft2", "hfftn", "ihfft2", "ihfftn", "fftfreq", "rfftfreq", "fftshift", "ifftshift"}
    assert names == {*ONE, *MANY, *TWO, *others} == set(proa.fft.__all__)


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_one_axis(name, dtype):
    function, reference = getattr(proa.fft, name), getattr(np.fft, name)
    for shape, axis in (((7,), -1), ((3, 8), 1), ((5, 3), 0), ((2, 6, 3), 1), ((2, 53), -1), ((0, 4), 1)):
        x = _signal(name, shape, dtype)
        for n, norm in itertools.product((None, 1, 2, 5, 16), NORMS):
            want = reference(x, n, axis, norm)
            _close(function(proa.to_tensor(x), n, axis, norm), want, dtype)
    assert function(proa.to_tensor(x)).dtype.name == {"float64": want.dtype.name}.get(
        dtype, {"complex128": "complex64", "float64": "float32"}.get(want.dtype.name, want.dtype.name)
    )


@pytest.mark.parametrize("n", [1, 2, 3, 47, 53, 97, 360, 1009, 2**12, 2 * 1009, 10007])
def test_any_length(n):
    for name in ONE:
        x = _signal(name, (2, n // 2 + 1 if name in ("irfft", "hfft") else n))
        _close(getattr(proa.fft, name)(proa.to_tensor(x), n), getattr(np.fft, name)(x, n))


@pytest.mark.parametrize("name", MANY + TWO)
def test_several_axes(name):
    function, reference = getattr(proa.fft, name), getattr(np.fft, name)
    x = _signal(name, (3, 4, 5))
    axes = [(-2, -1), (0, 2), (2, 0), (1, 0)]
    if name in MANY:
        axes += [None, (1,), (2, 0, 1)]
    for chosen, norm in itertools.product(axes, NORMS):
        for s in (None, [4, 6, 3][: len(chosen or (0, 1, 2))]):
            want = reference(x, s, chosen if chosen is not None or s is None else (0, 1, 2), norm)
            _close(function(proa.to_tensor(x), s, chosen, norm), want)


@pytest.mark.parametrize("norm", NORMS)
def test_hermitian_over_several_axes(norm):
    """hfftn(x) is the real fftn of the signal that x is one half of; ihfftn its inverse."""
    spectrum = np.random.default_rng(1).standard_normal((4, 6))
    half = proa.fft.ihfftn(proa.to_tensor(spectrum), norm=norm)
    _close(half, np.fft.ifftn(spectrum, norm=norm)[:, :4])
    _close(proa.fft.hfftn(half, s=[4, 6], norm=norm), spectrum)
    _close(proa.fft.hfft2(proa.fft.ihfft2(proa.to_tensor(spectrum), norm=norm), norm=norm), spectrum)


def test_types():
    for kind, want in (
        ("int32", "complex64"),
        ("bool", "complex64"),
        ("float16", "complex64"),
        ("float64", "complex128"),
    ):
        x = np.array([1, 0, 1, 1])
        y = proa.fft.fft(proa.to_tensor(x).astype(kind))
        assert y.dtype.name == want
        np.testing.assert_allclose(y.numpy(), np.fft.fft(x), atol=1e-6)
        assert proa.fft.rfft(proa.to_tensor(x).astype(kind)).dtype.name == want


def test_layouts():
    x = proa.to_tensor(_signal("fft", (6, 8)))
    for view in (x.t(), x[::2], x[:, 1::3], x[1]):
        _close(proa.fft.fft(view), np.fft.fft(view.numpy()))
        _close(proa.fft.fft(view, axis=0), np.fft.fft(view.numpy(), axis=0))


def test_frequencies_and_shifts():
    for n, d in itertools.product((1, 2, 5, 8), (1.0, 0.25, 3)):
        np.testing.assert_allclose(proa.fft.fftfreq(n, d, "float64").numpy(), np.fft.fftfreq(n, d))
        np.testing.assert_allclose(proa.fft.rfftfreq(n, d, "float64").numpy(), np.fft.rfftfreq(n, d))
    assert proa.fft.fftfreq(3).dtype == proa.float32
    x = np.arange(24).reshape(2, 3, 4)
    for axes in (None, 1, [0], (0, 2), [-1]):
        np.testing.assert_array_equal(proa.fft.fftshift(proa.to_tensor(x), axes).numpy(), np.fft.fftshift(x, axes))
        np.testing.assert_array_equal(proa.fft.ifftshift(proa.to_tensor(x), axes).numpy(), np.fft.ifftshift(x, axes))


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("n", [None, 4, 7])
def test_gradients_by_differences(name, n):
    """Of a sum with weights, in the real and in the imaginary parts of x."""
    function = getattr(proa.fft, name)
    a = _signal(name, (2, 5), seed=3)
    weights = proa.to_tensor(np.random.default_rng(4).standard_normal(function(proa.to_tensor(a), n).shape))
    other = weights * 0.3 + 0.7

    def value(x):
        y = function(x, n)
        return (
            (y.real() * weights).sum() + ((y.imag() * other) ** 2).sum() if y.is_complex() else (y**2 * weights).sum()
        )

    x = proa.to_tensor(a, stop_gradient=False)
    value(x).backward()
    got, step = x.grad.numpy(), 1e-6
    for place in np.ndindex(a.shape):
        for direction in (1.0, 1j) if np.iscomplexobj(a) else (1.0,):
            moved = [a.copy(), a.copy()]
            moved[0][place] += step * direction
            moved[1][place] -= step * direction
            slope = (float(value(proa.to_tensor(moved[0]))) - float(value(proa.to_tensor(moved[1])))) / (2 * step)
            part = got[place].real if direction == 1.0 else got[place].imag
            assert part == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_second_derivatives():
    x = proa.to_tensor(np.random.default_rng(5).standard_normal(6), stop_gradient=False)
    power = (proa.fft.rfft(x).abs() ** 2).sum()
    (first,) = proa.grad(power, [x], create_graph=True)
    (second,) = proa.grad((first * proa.arange(6, dtype="float64")).sum(), [x])
    f = np.fft.rfft(np.eye(6), axis=0)
    hessian = 2 * (f.conj().T @ f).real
    np.testing.assert_allclose(second.numpy(), hessian @ np.arange(6), rtol=1e-10)


def test_the_same_bits_for_any_number_of_threads():
    x = proa.to_tensor(_signal("fft", (37, 60, 11), "float32"))
    before = proa._C.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            proa._C.set_num_threads(threads)
            results.append(proa.fft.fftn(x).numpy())
    finally:
        proa._C.set_num_threads(before)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_nan_stays_in_its_line():
    x = _signal("rfft", (3, 8))
    x[1, 2] = np.nan
    for name in ("rfft", "fft"):
        y = getattr(proa.fft, name)(proa.to_tensor(x)).numpy()
        assert np.isnan(y[1]).all() and not np.isnan(y[[0, 2]]).any()


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: proa.fft.fft([1.0]), TypeError, "fft: x must be a Tensor, not list"),
        (lambda: proa.fft.fft(proa.ones([])), ValueError, "fft: x has no axes"),
        (lambda: proa.fft.fft(proa.ones([3]), 0), ValueError, "fft: s is 0; it must be positive"),
        (lambda: proa.fft.fft(proa.ones([3]), 2.0), TypeError, "must be an integer, not float"),
        (lambda: proa.fft.fft(proa.ones([3]), axis=1), IndexError, "fft: axis 1 is out of range"),
        (lambda: proa.fft.fft(proa.ones([3]), norm="both"), ValueError, "norm is 'both'"),
        (lambda: proa.fft.fft(proa.ones([2, 0])), ValueError, "nothing to transform along axis 1"),
        (lambda: proa.fft.rfft(proa.ones([2], "complex64")), TypeError, "rfft: x must be real"),
        (lambda: proa.fft.irfft(proa.ones([1])), ValueError, "make no signal without its size"),
        (lambda: proa.fft.fftn(proa.ones([2, 2]), [2, 2, 2]), ValueError, "3 sizes"),
        (lambda: proa.fft.fftn(proa.ones([2, 2]), [2], [0, 1]), ValueError, "1 sizes for 2 axes"),
        (lambda: proa.fft.fftn(proa.ones([2, 2]), axes=[0, -2]), ValueError, "named twice"),
        (lambda: proa.fft.fftn(proa.ones([2, 2]), axes=1), TypeError, "axes must be a list"),
        (lambda: proa.fft.fft2(proa.ones([2])), ValueError, "two dims or more"),
        (lambda: proa.fft.fft2(proa.ones([2, 2]), axes=[0]), ValueError, "two axes"),
        (lambda: proa.fft.fftfreq(0), ValueError, "n is 0"),
        (lambda: proa.fft.fftfreq(4, 0.0), ValueError, "d is 0.0"),
        (lambda: proa.fft.fftshift(proa.ones([2]), 1), IndexError, "axis 1"),
        (lambda: proa.fft.fft(proa.ones([1]), 2**31), ValueError, "at most 67108864"),
    ],
)
def test_what_is_refused(call, kind, says):
    with pytest.raises(kind, match=says):
        call()
