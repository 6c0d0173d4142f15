"""InputSpec: the shape, dtype and name of an input of a recorded function."""

from proa import _C


class InputSpec:
    """What is known of an input before the program runs.

    Args:
        shape (list): sizes; None or -1 for a size that is known only later.
        dtype: the dtype of the elements, or its name.
        name (str, optional): how the input is called in the program.
        stop_gradient (bool): kept for programs written for it.

    Examples:
        >>> spec = proa.static.InputSpec([None, 64], "float32", "x")
        >>> spec.shape
        (-1, 64)
    """

    def __init__(self, shape, dtype="float32", name=None, stop_gradient=False):
        if isinstance(shape, (int, str)):
            raise _C.located(TypeError(f"InputSpec: shape must be a list of sizes, not {type(shape).__name__}"))
        self.shape = tuple(-1 if size is None or size == -1 else int(size) for size in shape)
        if any(size < -1 for size in self.shape):
            raise _C.located(ValueError(f"InputSpec: shape {list(shape)} has a negative size"))
        self.dtype = _C.DType(dtype) if isinstance(dtype, str) else dtype
        self.name = name
        self.stop_gradient = stop_gradient

    @classmethod
    def from_tensor(cls, tensor, name=None):
        """The spec of a tensor."""
        return cls(tensor.shape, tensor.dtype, name or tensor.name)

    @classmethod
    def from_numpy(cls, ndarray, name=None):
        """The spec of a NumPy array."""
        return cls(ndarray.shape, str(ndarray.dtype), name)

    def batch(self, batch_size):
        """Puts a dim of this size in front; returns the spec."""
        self.shape = (int(batch_size), *self.shape)
        return self

    def unbatch(self):
        """Takes the first dim away; returns the spec."""
        if not self.shape:
            raise _C.located(ValueError("InputSpec.unbatch: the spec has no dims"))
        self.shape = self.shape[1:]
        return self

    def _key(self):
        return (self.shape, self.dtype.name, self.name)

    def __eq__(self, other):
        return isinstance(other, InputSpec) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def __repr__(self):
        return f"InputSpec(shape={self.shape}, dtype={self.dtype}, name={self.name})"
