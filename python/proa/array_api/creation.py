"""New tensors."""

from proa import _C
from proa.framework.dtype import get_default_dtype as _default_name
from proa.tensor.creation import empty as _empty
from proa.tensor.creation import to_tensor as _to_tensor
from proa.tensor.manipulation import broadcast_shape as _broadcast_shape

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]


def default_float():
    """The dtype of floats that say none."""
    return getattr(_C, _default_name())


def _sizes(shape):
    return [shape] if isinstance(shape, int) else list(shape)


def _on(x, device):
    return x if device is None or device == x.place else x.to(device)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """start, start + step, ... up to but without stop; with one number, 0 up to it.

    Examples:
        >>> proa.array_api.arange(3).tolist(), proa.array_api.arange(1, 2, 0.5).dtype
        ([0, 1, 2], proa.float32)
    """
    start, stop = (0, start) if stop is None else (start, stop)
    if dtype is None:
        dtype = _C.int64 if all(isinstance(v, int) for v in (start, stop, step)) else default_float()
    if (stop - start) * step <= 0:
        return _on(_C.ops.full([0], 0, dtype), device)
    return _on(_C.ops.arange(start, stop, step, dtype), device)


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """A tensor of a tensor, number, nested sequence, array, or anything with DLPack or a buffer.

    Args:
        copy (bool, optional): True: never shares memory; False: always does, or raises; None: shares where it can.

    Raises:
        ValueError: a copy is needed, and copy=False.

    Examples:
        >>> proa.array_api.asarray([1, 2.5]).tolist()
        [1.0, 2.5]
    """
    if isinstance(obj, _C.Tensor):
        fits = dtype is None or obj.dtype == dtype
        if copy is False and not fits:
            raise _C.located(ValueError(f"asarray: {obj.dtype.name} to {dtype.name} needs a copy, but copy=False"))
        if fits:
            return _on(_C.ops.assign(obj) if copy else obj, device)
        return _on(_C.ops.cast(obj, dtype), device)
    shares = hasattr(obj, "__dlpack__") and not isinstance(obj, (list, tuple)) and not copy
    if shares:
        try:
            return asarray(_C.from_dlpack(obj), dtype=dtype, device=device, copy=copy)
        except (BufferError, TypeError, ValueError):
            if copy is False:
                raise
    if copy is False:
        raise _C.located(ValueError(f"asarray: a {type(obj).__name__} needs a copy, but copy=False"))
    return _on(_to_tensor(obj, dtype=dtype), device)


def empty(shape, *, dtype=None, device=None):
    """A tensor whose elements are not set.

    Examples:
        >>> proa.array_api.empty((2, 3)).shape
        [2, 3]
    """
    return _on(_empty(_sizes(shape), dtype or default_float()), device)


def empty_like(x, /, *, dtype=None, device=None):
    """`empty` of the shape (and dtype, unless given) of x.

    Examples:
        >>> proa.array_api.empty_like(proa.ones([2, 3])).shape
        [2, 3]
    """
    return empty(x.shape, dtype=dtype or x.dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Ones on the k-th diagonal, which is above the main one if positive, and zeros.

    Examples:
        >>> proa.array_api.eye(2, 3, k=1).tolist()
        [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    n_cols = n_rows if n_cols is None else n_cols
    rows, columns = _C.ops.arange(0, n_rows), _C.ops.arange(0, n_cols)
    on = _C.ops.equal(_C.ops.unsqueeze(columns, [0]), _C.ops.unsqueeze(rows, [1]) + k)
    return _on(_C.ops.cast(on, dtype or default_float()), device)


def from_dlpack(x, /, *, device=None, copy=None):
    """A tensor over the memory of an object with `__dlpack__`.

    Examples:
        >>> array = np.ones(2)
        >>> x = proa.array_api.from_dlpack(array)
        >>> array[0] = 5.0
        >>> x.tolist()
        [5.0, 1.0]
    """
    tensor = _C.from_dlpack(x)
    return _on(_C.ops.assign(tensor) if copy else tensor, device)


def full(shape, fill_value, *, dtype=None, device=None):
    """A tensor filled with a value, of the dtype of its kind unless given.

    Examples:
        >>> proa.array_api.full((2,), 3).dtype, proa.array_api.full((), True).dtype
        (proa.int64, proa.bool)
    """
    if dtype is None:
        kinds = ((bool, _C.bool), (int, _C.int64), (float, default_float()))
        other = _C.complex128 if default_float() == _C.float64 else _C.complex64
        dtype = next((d for kind, d in kinds if isinstance(fill_value, kind)), other)
    return _on(_C.ops.full(_sizes(shape), fill_value, dtype), device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """`full` of the shape (and dtype, unless given) of x.

    Examples:
        >>> proa.array_api.full_like(proa.to_tensor([1, 2]), 7).tolist()
        [7, 7]
    """
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device)


_COMPLEX = {_C.float32: _C.complex64, _C.float64: _C.complex128}


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """num values at equal distances from start to stop, which is one of them if `endpoint`.

    Examples:
        >>> proa.array_api.linspace(0, 1, 4, endpoint=False).tolist()
        [0.0, 0.25, 0.5, 0.75]
    """
    dtype = dtype or (
        _COMPLEX[default_float()] if isinstance(start, complex) or isinstance(stop, complex) else default_float()
    )
    if num == 0:
        return _on(_C.ops.full([0], 0, dtype), device)
    if not endpoint:
        stop = stop - (stop - start) / num
    if dtype in _COMPLEX.values():
        part = _C.float32 if dtype == _C.complex64 else _C.float64
        start, stop = complex(start), complex(stop)
        re, im = (_C.ops.linspace(a, b, num, part) for a, b in ((start.real, stop.real), (start.imag, stop.imag)))
        return _on(_C.ops.complex(re, im), device)
    return _on(_C.ops.linspace(start, stop, num, dtype), device)


def meshgrid(*arrays, indexing="xy"):
    """Each vector along a dim of its own, broadcast over those of the others; the first two swapped for "xy".

    Examples:
        >>> [x.shape for x in proa.array_api.meshgrid(proa.ones([2]), proa.ones([3]))]
        [[3, 2], [3, 2]]
    """
    if indexing not in ("xy", "ij"):
        raise _C.located(ValueError(f"meshgrid: indexing is {indexing!r}; it may be 'xy' or 'ij'"))
    n = len(arrays)
    swap = indexing == "xy" and n > 1
    wide = []
    for i, x in enumerate(arrays):
        place = {0: 1, 1: 0}.get(i, i) if swap else i
        wide.append(_C.ops.reshape(x, [-1 if d == place else 1 for d in range(n)]) if n else x)
    shape = []
    for x in wide:
        shape = _broadcast_shape(shape, x.shape)
    return [_C.ops.broadcast_to(x, shape) for x in wide]


def ones(shape, *, dtype=None, device=None):
    """A tensor of ones.

    Examples:
        >>> proa.array_api.ones(2).tolist()
        [1.0, 1.0]
    """
    return full(shape, 1, dtype=dtype or default_float(), device=device)


def ones_like(x, /, *, dtype=None, device=None):
    """`ones` of the shape (and dtype, unless given) of x.

    Examples:
        >>> proa.array_api.ones_like(proa.to_tensor([1, 2])).tolist()
        [1, 1]
    """
    return full_like(x, 1, dtype=dtype, device=device)


def tril(x, /, *, k=0):
    """x with zeros above the k-th diagonal of each matrix.

    Examples:
        >>> proa.array_api.tril(proa.ones([2, 2])).tolist()
        [[1.0, 0.0], [1.0, 1.0]]
    """
    return _C.ops.tril(x, k)


def triu(x, /, *, k=0):
    """x with zeros below the k-th diagonal of each matrix.

    Examples:
        >>> proa.array_api.triu(proa.ones([2, 2])).tolist()
        [[1.0, 1.0], [0.0, 1.0]]
    """
    return _C.ops.triu(x, k)


def zeros(shape, *, dtype=None, device=None):
    """A tensor of zeros.

    Examples:
        >>> proa.array_api.zeros((0, 2)).shape
        [0, 2]
    """
    return full(shape, 0, dtype=dtype or default_float(), device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    """`zeros` of the shape (and dtype, unless given) of x.

    Examples:
        >>> proa.array_api.zeros_like(proa.to_tensor([1, 2])).tolist()
        [0, 0]
    """
    return full_like(x, 0, dtype=dtype, device=device)
