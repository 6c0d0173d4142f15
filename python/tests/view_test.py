"""Tensor.view: the same memory, or an error."""

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
    with pytest.raises(TypeError, match="only shapes are supported"):
        x.view("int32")
    with pytest.raises(TypeError, match="view_as"):
        x.view_as([3, 2])


def test_programs():
    @paddle.jit.to_static
    def viewed(x):
        return x.view([x.shape[0], -1]).sum(1), x.view_as(paddle.zeros([3, 8]))

    a, b = viewed(paddle.ones([3, 2, 4]))
    assert a.tolist() == [8.0, 8.0, 8.0]
    assert b.shape == [3, 8]
