"""FLAGS_set_to_1d: tensors without dims are indexed, counted and joined, and become arrays, as if they had one dim of one.

Full reductions gave [1] in the reference up to 2.4, and programs say `loss.numpy()[0]`, `loss[0]` or `concat(losses)`.
"""

from proa import _C

__all__ = ["set_to_1d"]

_own = {name: getattr(_C.Tensor, name) for name in ("numpy", "__getitem__", "__len__", "__iter__")}
_join = _C.ops.concat


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


def _one_dim(x):
    return _C.ops.reshape(x, [1]) if isinstance(x, _C.Tensor) and x.ndim == 0 else x


def _len(self):
    return _own["__len__"](_one_dim(self))


def _iter(self):
    return _own["__iter__"](_one_dim(self))


def _concat(x, *args, **kwargs):
    return _join([_one_dim(item) for item in x] if isinstance(x, (list, tuple)) else x, *args, **kwargs)


def set_to_1d(on):
    """Switches it on or off, for all tensors."""
    changed = {"numpy": _numpy, "__getitem__": _getitem, "__len__": _len, "__iter__": _iter}
    for name, own in _own.items():
        setattr(_C.Tensor, name, changed[name] if on else own)
    _C.ops.concat = _concat if on else _join
