"""Parameters and buffers that become another dtype, or go to another device, and stay the same objects."""

import weakref

from proa import _C
from proa.framework.dtype import is_floating
from proa.framework.grad_mode import no_grad


def _moved(tensor, device, dtype):
    """`tensor` on `device` and, if it is floating point, of `dtype`; the same object if nothing changes."""
    if dtype is None or not is_floating(tensor.dtype):
        dtype = tensor.dtype
    same_place = device is None or str(tensor.place) == str(_C.to_tensor(0, place=device).place)
    if same_place and dtype == tensor.dtype:
        return tensor
    with _C.eager_mode():
        return _C.to_tensor(tensor.detach(), dtype=dtype, place=None if same_place else device)


def move(tensor, device, dtype):
    """Makes the object itself what `_moved` gives of it, and its gradient too."""
    moved = _moved(tensor, device, dtype)
    if moved is tensor:
        return
    frozen, grad = tensor.stop_gradient, tensor.grad
    if not frozen and tensor.is_leaf:
        _keep_earlier_graphs(tensor)
    _C.rebind(tensor, moved)
    tensor.stop_gradient = frozen
    if grad is not None:
        tensor.grad = _moved(grad, device, dtype)


def _keep_earlier_graphs(leaf):
    """Graphs that were recorded give their gradients to what the leaf will be, too; it is about to be bound anew."""
    held = weakref.ref(leaf)

    def add(grad):
        leaf = held()
        if leaf is not None:
            grad = _moved(grad, str(leaf.place), leaf.dtype)
            with no_grad():
                leaf.grad = grad if leaf.grad is None else leaf.grad + grad

    leaf.register_hook(add)
