"""Tensor.view: the same memory, or an error."""

import numpy as np
import pytest

import proa as paddle


def test_shares_memory_and_gradients():
    x = paddle.arange(6).astype("float32")
    x.stop_gradient = False
    y = x.view([2, -1])
    assert y.shape == [2, 3]
    (y * y).sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    z = paddle.zeros([4])
    z.view((2, 2))[1, 0] = 5.0
    assert z.tolist() == [0.0, 0.0, 5.0, 0.0]
    z.view_as(paddle.ones([2, 2]))[0] = 1.0
    assert z.tolist() == [1.0, 1.0, 5.0, 0.0]


def test_of_strides():
    x = paddle.arange(24).reshape([4, 6])
    turned = paddle.transpose(x, [1, 0])
    assert turned.view([3, 2, 4]).shape == [3, 2, 4]  # splits a dim only
    with pytest.raises(ValueError, match=r"view: \[24\] is no view of how the elements lie; x is \[6, 4\]"):
        turned.view([24])
    assert paddle.zeros([0, 3]).view([3, 0]).shape == [3, 0]


def test_errors():
    x = paddle.zeros([2, 3])
    with pytest.raises(ValueError, match="6"):
        x.view([4, 2])
    with pytest.raises(TypeError, match="view_as"):
        x.view_as([3, 2])


def test_dtypes_of_the_same_bytes():
    given = np.arange(1, 9, dtype="float32").reshape(2, 4)
    x = paddle.to_tensor(given)
    for dtype in ("int32", "uint8", "int16", "float64", "int64", "complex64", "float32"):
        np.testing.assert_array_equal(x.view(dtype).numpy(), given.view(dtype))
    x.view(paddle.int32)[0, 1] = 0
    assert x.tolist()[0] == [1.0, 0.0, 3.0, 4.0]
    assert x[1:, 2:].view("float64").shape == [1, 1]
    assert x[:, 1].view("int32").shape == [2]  # of one size elements may lie apart
    assert paddle.zeros([0, 4]).view("int64").shape == [0, 2]
    assert paddle.to_tensor(1.0).view("int32").item() == 0x3F800000
    half = paddle.to_tensor([1.0], "bfloat16")
    assert half.view("int16").tolist() == [0x3F80]


def test_dtypes_and_gradients():
    x = paddle.ones([2, 2])
    x.stop_gradient = False
    assert x.view("int32").stop_gradient
    assert x.view("float64").stop_gradient


def test_dtypes_that_do_not_fit():
    x = paddle.zeros([2, 3])
    with pytest.raises(ValueError, match="3 elements of float32 in the last dim are no whole number of float64"):
        x.view("float64")
    with pytest.raises(ValueError, match=r"must lie one behind the other; x is \[3, 2\] float32 with strides \[1, 3\]"):
        x.T.view("int64")
    with pytest.raises(ValueError, match="rows must begin at multiples of float64"):
        paddle.zeros([2, 4])[:, 1:3].view("float64")
    with pytest.raises(ValueError, match="rows must begin at multiples of float64"):
        x[:, :2].view("float64")
    with pytest.raises(ValueError, match="has no last dim"):
        paddle.to_tensor(1.0).view("int16")
    with pytest.raises(ValueError, match="others than 0 and 1"):
        paddle.zeros([4], "uint8").view("bool")


def test_dtypes_in_programs(tmp_path):
    class Model(paddle.nn.Layer):
        def forward(self, x):
            return x.view("int32") + 1, x.view("uint8")

    paddle.jit.save(Model(), str(tmp_path / "m"), input_spec=[paddle.static.InputSpec([None, 3], "float32")])
    x = np.float32([[1, 2, 3], [4, 5, 6]])
    a, b = paddle.jit.load(str(tmp_path / "m"))(paddle.to_tensor(x))
    np.testing.assert_array_equal(a.numpy(), x.view("int32") + 1)
    np.testing.assert_array_equal(b.numpy(), x.view("uint8"))


def test_programs():
    @paddle.jit.to_static
    def viewed(x):
        return x.view([x.shape[0], -1]).sum(1), x.view_as(paddle.zeros([3, 8]))

    a, b = viewed(paddle.ones([3, 2, 4]))
    assert a.tolist() == [8.0, 8.0, 8.0]
    assert b.shape == [3, 8]
