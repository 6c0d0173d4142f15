"""Differentiation through the Tensor object: backward, grad, hooks, modes, Python functions."""

import threading

import numpy as np
import pytest

import proa
from proa import _C


def _leaf(*values):
    return _C.to_tensor(list(values), "float64", stop_gradient=False)


def test_backward():
    x = _leaf(1.0, 2.0)
    y = (x * x).sum()
    assert not y.stop_gradient
    assert not y.is_leaf
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert x.gradient().tolist() == [2.0, 4.0]
    (x * 3).backward(_C.to_tensor([1.0, 10.0], "float64"))
    assert x.grad.tolist() == [5.0, 34.0]


def test_clear_gradient():
    x = _leaf(1.0)
    x.clear_gradient()
    assert x.grad is None
    (x * 2).backward()
    x.clear_grad()
    assert x.grad.tolist() == [0.0]
    x.clear_gradient(set_to_zero=False)
    assert x.grad is None


def test_clear_gradient_leaves_what_was_held():
    x = _C.ops.full([50, 20], 1.0, "float64")
    x.stop_gradient = False
    (x * 2).sum().backward()
    held = x.grad
    x.clear_grad()
    assert held.sum().item() == 2000
    assert x.grad.shape == [50, 20] and x.grad.dtype == _C.float64 and not x.grad.numpy().any()
    x.grad.add_(_C.ops.full([50, 20], 3.0, "float64"))  # zeros that can be written
    (x * 2).sum().backward()
    assert x.grad.mean().item() == 5.0


def test_clear_gradient_frees():
    x = _C.ops.full([1000, 1000], 1.0, "float64")
    x.stop_gradient = False
    (x * 2).sum().backward()
    before = proa.device.memory_allocated("cpu")
    x.clear_grad()
    assert proa.device.memory_allocated("cpu") <= before - 8_000_000


def test_clear_gradient_of_what_a_pass_does_not_reach():
    x, y = _leaf(1.0), _leaf(2.0)
    (x * y).backward()
    x.clear_grad()
    y.clear_grad()
    (x * 3).backward()
    assert x.grad.tolist() == [3.0] and y.grad.tolist() == [0.0]


def test_retain_graph():
    x = _leaf(3.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [12.0]
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_grad_attribute():
    x = _leaf(1.0, 2.0)
    x.grad = _C.to_tensor([5.0, 6.0], "float64")
    assert x.grad.tolist() == [5.0, 6.0]
    x.grad = None
    assert x.grad is None
    with pytest.raises(TypeError, match="Tensor or None"):
        x.grad = 3
    with pytest.raises(ValueError, match="shape"):
        x.grad = _C.to_tensor([1.0], "float64")


def test_stop_gradient():
    x = _leaf(1.0)
    y = x * 2
    y.stop_gradient = True
    assert (y * 2).stop_gradient
    z = (x * 2).detach()
    assert z.stop_gradient
    assert (x * 2).detach_().stop_gradient


def test_grad_function():
    x, y = _leaf(2.0), _leaf(3.0)
    z = x * x * y
    (gx,) = _C.grad(z, [x], retain_graph=True)
    assert gx.tolist() == [12.0]
    assert x.grad is None
    gx, unused = _C.grad([z], [x, _leaf(1.0)], retain_graph=True, allow_unused=True)
    assert unused is None
    with pytest.raises(ValueError):
        _C.grad(z, [_leaf(1.0)], retain_graph=True)
    with pytest.raises(TypeError, match="inputs"):
        _C.grad(z, 3)
    with pytest.raises(ValueError, match="1 outputs and 2 grad_outputs"):
        _C.grad(z, x, [None, None])


def test_second_order():
    x = _leaf(2.0)
    (g,) = _C.grad(x * x * x, x, create_graph=True)
    (gg,) = _C.grad(g, x, create_graph=True)
    (ggg,) = _C.grad(gg, x)
    assert (g.item(), gg.item(), ggg.item()) == (12.0, 12.0, 6.0)


def test_backward_function():
    x = _leaf(1.0)
    _C.backward([x * 2, x * 3], [None, _C.to_tensor([10.0], "float64")])
    assert x.grad.tolist() == [32.0]
    with pytest.raises(TypeError, match="tensors"):
        _C.backward(3)


def test_modes():
    x = _leaf(1.0)
    assert _C.is_grad_enabled()
    assert _C.set_grad_enabled(False) is True
    try:
        assert (x * 2).stop_gradient
        seen = []
        thread = threading.Thread(target=lambda: seen.append(_C.is_grad_enabled()))
        thread.start()
        thread.join()
        assert seen == [True]  # each thread has its own
    finally:
        assert _C.set_grad_enabled(True) is False


def test_in_place_on_a_leaf():
    x = _leaf(1.0)
    with pytest.raises(RuntimeError, match="cannot change x in place"):
        x.add_(_C.to_tensor([1.0], "float64"))
    with pytest.raises(RuntimeError, match="cannot change x in place"):
        x[0] = 1.0
    _C.set_grad_enabled(False)
    try:
        x.add_(_C.to_tensor([1.0], "float64"))
    finally:
        _C.set_grad_enabled(True)
    assert x.tolist() == [2.0]


def test_change_of_a_saved_tensor():
    x = _leaf(1.0)
    y = _C.to_tensor([2.0], "float64")
    z = x * y
    y.add_(y)
    with pytest.raises(RuntimeError, match="add_"):
        z.backward()


# Hooks


def test_hooks():
    x = _leaf(1.0)
    seen = []
    handle = x.register_hook(lambda g: seen.append(g.item()))
    x.register_hook(lambda g: g * 10)
    (x * 2).backward()
    assert seen == [2.0]
    assert x.grad.tolist() == [20.0]
    assert handle.remove() is True
    assert handle.remove() is False
    (x * 2).backward()
    assert seen == [2.0]


def test_hook_of_an_intermediate():
    x = _leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: g * 3)
    y.retain_grads()
    (y * 5).backward()
    assert x.grad.tolist() == [30.0]
    assert y.grad.tolist() == [15.0]


def test_errors_of_hooks():
    x = _leaf(1.0)
    with pytest.raises(TypeError, match="callable"):
        x.register_hook(3)

    class Oops(Exception):
        pass

    def hook(g):
        raise Oops("from the hook")

    handle = x.register_hook(hook)
    with pytest.raises(Oops, match="from the hook"):
        (x * 2).backward()
    handle.remove()
    x.register_hook(lambda g: 3)
    with pytest.raises(TypeError, match="must return a Tensor or None, not int"):
        (x * 2).backward()


def test_gradients_of_copies_and_moves():
    x = _leaf(1.0, 2.0)
    x.clone().astype("float32").cpu().T.contiguous().sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_parameters_of_a_long_chain():
    x = _leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1.0
    y.backward()
    assert x.grad.tolist() == [1.0]


def test_numpy_of_what_requires_grad():
    np.testing.assert_array_equal((_leaf(1.0) * 2).numpy(), [2.0])
