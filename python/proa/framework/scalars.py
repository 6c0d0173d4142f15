"""FLAGS_set_to_1d: tensors without dims are indexed, and become arrays, as if they had one dim of one.

Full reductions gave [1] in the reference up to 2.4, and programs say `loss.numpy()[0]` or `loss[0]`.
"""

from proa import _C

__all__ = ["set_to_1d"]

_own = {"numpy": _C.Tensor.numpy, "__getitem__": _C.Tensor.__getitem__}


def _numpy(self, *args, **kwargs):
    array = _own["numpy"](self, *args, **kwargs)
    return array.reshape(1) if array.ndim == 0 else array


def _getitem(self, index):
    try:
        return _own["__getitem__"](self, index)
    except IndexError:
        if self.ndim == 0:
            return _own["__getitem__"](_C.ops.reshape(self, [1]), index)
        raise


def set_to_1d(on):
    """Switches it on or off, for all tensors."""
    _C.Tensor.numpy = _numpy if on else _own["numpy"]
    _C.Tensor.__getitem__ = _getitem if on else _own["__getitem__"]
