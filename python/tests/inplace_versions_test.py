"""Versions: in-place changes of what backward needs; tensors that share elements and the count of their changes."""

import re

import numpy as np
import pytest

import proa as paddle


def _tensor(a, grad=False):
    return paddle.to_tensor(np.asarray(a, "float64"), stop_gradient=not grad)


def _grads(y, *xs):
    return [None if g is None else g.numpy() for g in paddle.grad(y, list(xs), retain_graph=True, allow_unused=True)]


def test_an_op_keeps_what_it_overwrites_itself():
    x, w = _tensor([1.0, 2.0], True), _tensor([3.0, 5.0], True)
    for change, gx, gw in (
        (lambda b: b.multiply_(b), [2.0, 4.0], None),
        (lambda b: b.multiply_(w), [3.0, 5.0], [1.0, 2.0]),
        (lambda b: b.divide_(b), [0.0, 0.0], None),
        (lambda b: b.pow_(2.0), [2.0, 4.0], None),
        (lambda b: b.clip_(1.5, 3.0), [0.0, 1.0], None),
        (lambda b: b[0:1].multiply_(b[1:2]), [2.0, 1.0 + 1.0], None),
    ):
        b = x * 1
        change(b)
        got = _grads(b.sum(), x, w)
        assert got[0].tolist() == gx
        assert gw is None or got[1].tolist() == gw
    # What another op overwrites is refused: nothing was kept for it.
    b = x * 1
    c = b * w
    b.multiply_(w)
    with pytest.raises(RuntimeError, match="saved for multiply's backward was changed in place by multiply_"):
        c.sum().backward()


def test_an_op_without_gradient_leaves_a_constant():
    x = _tensor([1.0, 5.0], True)
    b = x * 1
    b.floor_divide_(_tensor([2.0, 2.0]))
    assert b.stop_gradient and b.tolist() == [0.0, 2.0]
    (b.sum() + x.sum()).backward()
    assert x.grad.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="floor_divide_: cannot change x in place"):
        x.floor_divide_(_tensor([2.0, 2.0]))


# Parts of one tensor: a change of any counts, since all of its memory has one version.


def test_parts_changed_by_ops_that_save_their_result():
    x = _tensor([[1.0, 2.0], [3.0, 4.0]], True)
    b = x * 1
    b[0].exp_()
    b[0].sum().backward(retain_graph=True)  # nothing has changed since
    b[1].exp_()
    says = (
        "a tensor saved for exp's backward was changed in place by exp_; it is [2] float64, was saved at version 1 "
        "and is at version 2; it is a part (a view) of a larger tensor, and a change of any part counts: make the "
        "parts apart and join them (stack, concat), or change it after backward"
    )
    with pytest.raises(RuntimeError, match=re.escape(says)):
        b.sum().backward()


def test_parts_made_apart_and_joined():
    x = _tensor([[1.0, 2.0], [3.0, 4.0]], True)
    paddle.stack([x[0].exp(), x[1].exp()]).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(x.numpy()))


def test_parts_changed_by_ops_that_save_nothing_of_them():
    x, w = _tensor([[1.0, 2.0], [3.0, 4.0]], True), _tensor([5.0, 6.0], True)
    b = x * 1
    b[0].add_(w)
    b[1].scale_(3.0)
    b[0:2, 1].subtract_(w)
    gx, gw = _grads((b * _tensor([[1.0, 10.0], [100.0, 1000.0]])).sum(), x, w)
    assert gx.tolist() == [[1.0, 10.0], [300.0, 3000.0]]
    assert gw.tolist() == [1 - 10, 10 - 1000]


def test_a_whole_tensor_is_not_called_a_part():
    x = _tensor([1.0], True)
    y = x * 1
    z = y.exp_() * 2
    y.add_(y.detach())
    with pytest.raises(RuntimeError, match=r"by add_; .* version 2; change a copy \(clone\), or"):
        z.backward()


# Detach, clone, shared memory


def test_detach_shares_elements_and_version():
    x = _tensor([1.0, 2.0], True)
    b = x * x
    d = b.detach()
    assert d.stop_gradient and d.is_leaf and d._is_shared_buffer_with(b)
    before = b.inplace_version
    d.add_(_tensor([1.0, 1.0]))
    assert b.inplace_version == d.inplace_version == before + 1
    assert b.tolist() == [2.0, 5.0]
    d.add_(_tensor([1.0, 1.0], True))  # a history of its own
    assert not d.stop_gradient
    assert _grads(b.sum(), x)[0].tolist() == [2.0, 4.0]
    y = paddle.exp(x)
    y.detach().add_(_tensor([1.0, 1.0]))
    with pytest.raises(RuntimeError, match="exp's backward was changed in place by add_"):
        y.sum().backward()


def test_clone_is_differentiable_and_apart():
    x = _tensor([1.0, 2.0], True)
    c = x.clone()
    c.scale_(3.0)
    assert x.tolist() == [1.0, 2.0] and not c._is_shared_buffer_with(x)
    assert _grads(c.sum(), x)[0].tolist() == [3.0, 3.0]


def test_versions():
    x = paddle.ones([2])
    assert x.inplace_version == x._inplace_version() == 0
    x[0] = 3.0
    x.add_(x)
    assert x.inplace_version == 2
    x._bump_inplace_version()
    assert x.inplace_version == 3
    x.set_value(np.zeros(2, "float32"))
    assert x.inplace_version == 4
    p = _tensor([1.0], True)
    y = p * p
    with paddle.no_grad():
        p._bump_inplace_version()
    with pytest.raises(RuntimeError, match="_bump_inplace_version"):
        y.backward()


def test_gradient_attributes():
    x = _tensor([1.0], True)
    x.name = "weight"
    assert x._grad_name() == "weight@GRAD"
    assert x._grad_value() is None
    (x * 2).backward()
    assert x._grad_value().tolist() == x._grad_ivar().tolist() == [2.0]
    x.grad.scale_(2.0)
    assert x.grad.inplace_version == 1
    x._reset_grad_inplace_version(False)
    assert x.grad.inplace_version == 1
    x._reset_grad_inplace_version()
    assert x.grad.inplace_version == 0
    assert x.value() is x


def test_shared_buffers():
    a, b = paddle.arange(4, dtype="float32"), paddle.zeros([2, 2])
    assert not a._is_shared_buffer_with(b)
    a._share_buffer_to(b)
    assert a._is_shared_buffer_with(b) and b.tolist() == [[0, 1], [2, 3]]
    b[0] = 9.0
    assert a.tolist() == [9, 9, 2, 3]
    rows = b._slice(1, 2)
    assert rows.tolist() == [[2, 3]] and rows._offset() == 8 and rows._is_shared_buffer_with(a)
    with pytest.raises(ValueError, match="_share_buffer_to"):
        a._share_buffer_to(paddle.zeros([5]))
    with pytest.raises(TypeError, match="expected a Tensor"):
        a._share_buffer_to(3)
    with pytest.raises(ValueError, match="rows 1 to 3"):
        b._slice(1, 3)
