"""Arrays of tensors: lists that are written, read and recycled."""

import numpy as np
import pytest

import proa
from proa.tensor import array_length, array_read, array_write, create_array


def test_write_extends_and_overwrites():
    array = create_array("float32")
    assert array_length(array) == 0
    first, second = proa.ones([2]), proa.zeros([3], "int64")
    for i, x in enumerate((first, second)):
        assert array_write(x, proa.to_tensor(i), array) is array
    assert (
        array_length(array) == 2 and array_read(array, 0) is first and array_read(array, np.int64(1).item()) is second
    )
    array_write(second, 0, array)
    assert array_read(array, proa.to_tensor([0])) is second
    assert array_write(first, 0)[0] is first


def test_an_initialized_array_is_a_list_of_its_own():
    given = [proa.ones([2]), proa.ones([1])]
    array = create_array(proa.float32, given)
    array_write(proa.zeros([1]), 2, array)
    assert array_length(array) == 3 and len(given) == 2
    assert array_length(create_array("float32", tuple(given))) == 2


def test_gradients_flow_through():
    x = proa.to_tensor([1.0, 2.0], stop_gradient=False)
    array = create_array("float32")
    for i in range(3):
        array_write(x if i == 0 else array_read(array, i - 1) * x, i, array)
    array_read(array, 2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 * x.numpy() ** 2)


def test_in_a_program():
    program = proa.static.Program()
    proa.enable_static()
    try:
        with proa.static.program_guard(program):
            x = proa.static.data("x", [2], "float32")
            array = create_array("float32", [x])
            array_write(array_read(array, 0) * 2, 1, array)
            out = array_read(array, array_length(array) - 1)
        (got,) = proa.static.Executor().run(program, feed={"x": np.ones(2, "float32")}, fetch_list=[out])
        with proa.static.program_guard(proa.static.Program()):
            i = proa.static.data("i", [1], "int64")
            with pytest.raises((TypeError, ValueError, RuntimeError), match="program"):
                array_read(array, i)
    finally:
        proa.disable_static()
    np.testing.assert_array_equal(got, [2, 2])


@pytest.mark.parametrize(
    "call, kind, says",
    [
        (lambda: array_write(1.0, 0), TypeError, "array_write: x must be a Tensor, not float"),
        (lambda: array_write(proa.ones([1]), 1), IndexError, "i must be at most the length of the array, 0"),
        (lambda: array_write(proa.ones([1]), -1), IndexError, "i must not be negative; it is -1"),
        (lambda: array_write(proa.ones([1]), 2**63, []), IndexError, "i must be at most"),
        (lambda: array_write(proa.ones([1]), 0, (1,)), TypeError, "array must be a list of tensors.*not tuple"),
        (lambda: array_read([], 0), IndexError, "array_read: i must be less than the length of the array, 0; it is 0"),
        (lambda: array_read([], True), TypeError, "i must be an integer or an integer tensor, not bool"),
        (lambda: array_read([], proa.ones([1])), TypeError, "integer tensor of one element"),
        (lambda: array_read([], proa.ones([2], "int64")), TypeError, r"it is \[2\]"),
        (lambda: array_read(None, 0), TypeError, "array_read: array must be a list of tensors.*not NoneType"),
        (lambda: array_length(proa.ones([1])), TypeError, "array_length: array must be a list of tensors.*not Tensor"),
        (lambda: create_array("float33"), (TypeError, ValueError), "float33"),
        (lambda: create_array("float32", 1), TypeError, "initialized_list must be a list or tuple of tensors, not int"),
        (lambda: create_array("float32", [1]), TypeError, r"initialized_list\[0\] must be a Tensor, not int"),
    ],
)
def test_bad_arguments(call, kind, says):
    with pytest.raises(kind, match=says):
        call()
