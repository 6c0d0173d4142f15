"""Python's operators on tensors, against NumPy."""

import operator

import numpy as np
import pytest

from proa import _C

_ARITHMETIC = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
]
_COMPARISONS = [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge]


def _t(a):
    return _C.to_tensor(np.asarray(a))


@pytest.mark.parametrize("op", _ARITHMETIC + _COMPARISONS)
def test_against_numpy(op):
    x = np.array([[1.5, -2.0, 3.0]], np.float32)
    y = np.array([[2.0], [0.5]], np.float32)
    if op is operator.pow:
        x = np.abs(x)
    np.testing.assert_allclose(op(_t(x), _t(y)).numpy(), op(x, y), rtol=1e-6)


@pytest.mark.parametrize("op", _ARITHMETIC + _COMPARISONS)
@pytest.mark.parametrize("number", [2, 2.5, True, np.float32(2.5), np.int64(3), np.float64(0.5)])
def test_numbers_on_both_sides(op, number):
    x = np.array([1.5, 2.0, 3.0], np.float32)
    right = op(_t(x), number)
    assert right.dtype == ("bool" if op in _COMPARISONS else "float32")
    np.testing.assert_allclose(right.numpy(), op(x, np.float32(number)), rtol=1e-6)
    np.testing.assert_allclose(op(number, _t(x)).numpy(), op(np.float32(number), x), rtol=1e-6)


@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.sub])
def test_arrays_on_both_sides(op):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for out in (op(_t(x), x), op(x, _t(x))):
        assert isinstance(out, _C.Tensor)
        np.testing.assert_array_equal(out.numpy(), op(x, x))


@pytest.mark.parametrize(
    ("dtype", "number", "result"),
    [
        ("int32", 2, "int32"),
        ("int32", 2.5, "float32"),
        ("bool", 2, "int64"),
        ("float16", 2.5, "float16"),
        ("float64", 1, "float64"),
        ("float32", 1j, "complex64"),
        ("uint8", 254, "uint8"),
        ("uint8", 256, "int64"),
        ("uint8", -1, "int64"),
    ],
)
def test_numbers_raise_only_the_category(dtype, number, result):
    out = _C.to_tensor([1], dtype) + number
    assert out.dtype == result
    assert out.numpy()[0] == 1 + number


def test_numbers_that_do_not_fit_compare_right():
    x = _C.to_tensor([0, 200], "uint8")
    assert (x < 300).tolist() == [True, True]
    assert (x > -1).tolist() == [True, True]


def test_unary():
    x = _C.to_tensor([1.5, -2.0])
    assert (-x).tolist() == [-1.5, 2.0]
    assert abs(x).tolist() == [1.5, 2.0]
    assert +x is x
    assert (~_C.to_tensor([True, False])).tolist() == [False, True]


def test_bits():
    x, y = _C.to_tensor([6, 3]), _C.to_tensor([3, 5])
    assert (x & y).tolist() == [2, 1]
    assert (x | y).tolist() == [7, 7]
    assert (x ^ y).tolist() == [5, 6]


def test_matmul():
    x, y = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    np.testing.assert_allclose((_t(x) @ _t(y.T)).numpy(), x @ y.T, rtol=1e-5)


def test_augmented_assignment_binds_a_new_tensor():
    x = y = _C.to_tensor([1.0, 2.0])
    x += 1
    assert x is not y
    assert y.tolist() == [1.0, 2.0]
    assert x.tolist() == [2.0, 3.0]


def test_in_place_methods_keep_the_object():
    x = _C.to_tensor([1.0, 2.0])
    version = x.inplace_version
    assert x.add_(_C.to_tensor([1.0, 1.0])) is x
    assert x.tolist() == [2.0, 3.0]
    assert x.inplace_version == version + 1


def test_other_operands():
    x = _C.to_tensor([1.0])
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711
    assert (x == "a") is False
    for bad in ("a", None, [1.0], object()):
        with pytest.raises(TypeError):
            x + bad
        with pytest.raises(TypeError):
            bad - x

    class Other:
        def __radd__(self, x):
            return "radd"

    assert x + Other() == "radd"


def test_shapes_that_do_not_broadcast():
    with pytest.raises(ValueError, match=r"add: shapes do not broadcast.*\[2, 3\].*\[4\]"):
        _t(np.ones((2, 3), "float32")) + _t(np.ones(4, "float32"))


def test_errors_leave_no_reference():
    import sys

    x = _C.to_tensor(np.ones((2, 3), "float32"))
    before = sys.getrefcount(x)
    for _ in range(10):
        with pytest.raises(ValueError):
            x + np.ones(4)
    assert sys.getrefcount(x) == before


def test_hash_is_identity():
    x, y = _C.to_tensor(1.0), _C.to_tensor(1.0)
    assert len({x, y, x}) == 2


def test_subclass_operands():
    class Parameter(_C.Tensor):
        pass

    p = Parameter(_C.to_tensor([1.0, 2.0]))
    assert (p + 1).tolist() == [2.0, 3.0]
    assert (1 - p).tolist() == [0.0, -1.0]
    assert type(p * p) is _C.Tensor
