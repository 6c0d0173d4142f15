"""Parameters and buffers that become another dtype, or go to another device, and stay the same objects."""

from proa import _C
from proa.framework.dtype import is_floating


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
    _C.move(tensor, moved)
    tensor.stop_gradient = frozen
    if grad is not None:
        tensor.grad = _moved(grad, device, dtype)
