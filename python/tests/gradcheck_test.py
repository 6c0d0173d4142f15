"""gradcheck and gradgradcheck: find what is wrong, say where, accept what is right."""

import numpy as np
import pytest

import proa
from proa.autograd import PyLayer, gradcheck, gradgradcheck
from proa.autograd.numeric_check import Mismatch

_RNG = np.random.default_rng(1)


def _leaf(*shape, dtype="float64"):
    x = _RNG.normal(size=shape)
    if dtype == "complex128":
        x = x + 1j * _RNG.normal(size=shape)
    return proa.to_tensor(x, dtype, stop_gradient=False)


class WrongEntry(PyLayer):
    """x * y, whose gradient by y is wrong at one entry."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, dz):
        x, y = ctx.saved_tensor()
        dy = (dz * x).clone()
        dy[1, 0] = dy[1, 0] * 3
        return dz * y, dy


def test_right():
    x, y = _leaf(2, 3), _leaf(3, 2)
    for fast in (False, True):
        assert gradcheck(proa.matmul, [x, y], fast_mode=fast)
        assert gradgradcheck(proa.matmul, (x, y), fast_mode=fast)
    assert gradcheck(lambda x: (proa.sin(x), [1][0], x.sum()), x)
    assert gradcheck(lambda x, n: x**n, [x, 3])
    assert x.grad is None


def test_complex():
    x, y = _leaf(2, dtype="complex128"), _leaf(2, dtype="complex128")
    for f in (lambda x, y: x * y, lambda x, y: proa.conj(x) * proa.exp(y), lambda x, y: proa.abs(x * y)):
        assert gradcheck(f, [x, y])
        assert gradgradcheck(f, [x, y])
    assert gradcheck(proa.real, x) and gradcheck(proa.imag, x)


def test_report():
    x, y = _leaf(2, 2), _leaf(2, 2)
    with pytest.raises(Mismatch) as caught:
        gradcheck(WrongEntry.apply, [x, y])
    (line,) = caught.value.entries
    assert line.startswith("derivative of outputs[0][1, 0] by inputs[1][1, 0]: ")
    assert str(caught.value).startswith("gradcheck: 1 entries differ\n  derivative")
    assert isinstance(caught.value, AssertionError)
    assert not gradcheck(WrongEntry.apply, [x, y], raise_exception=False)
    with pytest.raises(Mismatch, match=r"derivative of outputs\[0\] by inputs\[1\]\[1, 0\]"):
        gradcheck(WrongEntry.apply, [x, y], fast_mode=True)
    with pytest.raises(Mismatch, match="and 24 more"):
        gradcheck(lambda x: (x * 2).detach() * 0 + Halved.apply(x), _leaf(32))


class Halved(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, dy):
        return dy


def test_wrong_second_derivative():
    class Cube(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, dy):
            (x,) = ctx.saved_tensor()
            return dy * 3 * (x * x).detach()  # cuts the second derivative

    x = _leaf(2)
    assert gradcheck(Cube.apply, x)
    with pytest.raises(Mismatch, match=r"gradgradcheck: 2 entries differ\n  second derivative of outputs\[0\]\[0\] by"):
        gradgradcheck(Cube.apply, x)
    assert gradgradcheck(Cube.apply, x, raise_exception=False) is False


def test_missing_gradient():
    with pytest.raises(Mismatch):
        gradcheck(lambda x, y: x * y.detach(), [_leaf(2), _leaf(2)])
    assert gradcheck(lambda x, y: x * 2, [_leaf(2), _leaf(2)])


def test_tolerances():
    x = _leaf(3)
    almost = lambda x: Almost.apply(x)
    assert not gradcheck(almost, x, raise_exception=False)
    assert gradcheck(almost, x, rtol=0.02)
    assert gradcheck(almost, x, atol=0.02)


class Almost(Halved):
    @staticmethod
    def backward(ctx, dy):
        return dy * 2.01


def test_empty_and_scalars():
    assert gradcheck(proa.sin, _leaf(0, 3))
    assert gradcheck(proa.sin, _leaf())
    assert gradgradcheck(proa.sin, _leaf())


def test_in_place_functions():
    assert gradcheck(lambda x: x.exp_(), _leaf(3))


def test_bad_arguments():
    with pytest.raises(TypeError, match=r"inputs\[0\] is float32; differences need"):
        gradcheck(proa.sin, _leaf(2, dtype="float32"))
    with pytest.raises(ValueError, match="no input requires grad"):
        gradcheck(proa.sin, proa.ones([2], "float64"))
    with pytest.raises(ValueError, match="no output depends"):
        gradgradcheck(lambda x: x.detach(), _leaf(2))
    with pytest.raises(ValueError, match="2 grad_outputs for 1"):
        gradgradcheck(proa.sin, _leaf(2), [_leaf(2), _leaf(2)])
    assert gradgradcheck(proa.sin, _leaf(2), proa.ones([2], "float64"))
