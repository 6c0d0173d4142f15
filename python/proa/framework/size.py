"""Sizes that are known only when a program runs, as `x.shape` holds them."""

import operator

from proa import _C

__all__ = ["Size"]


class Size:
    """A size of a value of a program that its declaration leaves open, a number whose arithmetic is recorded.

    It goes where a tensor or a size of an op goes: `x.reshape([x.shape[0], -1])`, `x / x.shape[0]`,
    `paddle.zeros([2 * x.shape[0]])`. It is equal to -1, by which programs find out that a size is open. What
    needs the number itself while the program is recorded (`range`, `int`, an attribute, a comparison with
    another number) is a RuntimeError.

    Args:
        of (Tensor): the value.
        axis (int|None): the dim; None for the number of elements.
        tensor (Tensor, optional): what was computed of sizes; then `of` and `axis` say where it began.
    """

    __slots__ = ("_axis", "_of", "_tensor")

    def __init__(self, of, axis, tensor=None):
        self._of, self._axis, self._tensor = of, axis, tensor

    def tensor(self):
        """The size as a 0-d int64 tensor of the program."""
        if self._tensor is not None:
            return self._tensor
        if self._axis is None:
            return _C.ops.numel(self._of)
        return _C.ops.squeeze(_C.ops.slice(_C.ops.shape(self._of), [0], [self._axis], [self._axis + 1]), [0])

    def _refuse(self, what):
        name = "the number of elements" if self._axis is None else f"the size of dim {self._axis}"
        shape = "[" + ", ".join(str(-1 if isinstance(s, Size) else s) for s in self._of.shape) + "]"
        raise _C.located(
            RuntimeError(
                f"{what}: {name} of a tensor {shape} {self._of.dtype.name} is known only when the program runs; give "
                "it in the InputSpec (static.data), or compute with paddle.shape(x) in tensor functions"
            )
        )

    def _with(self, tensor):
        return Size(self._of, self._axis, tensor)

    # As a number that it is not yet ------------------------------------------

    def __index__(self):
        self._refuse("int")

    def __int__(self):
        self._refuse("int")

    def __float__(self):
        self._refuse("float")

    def __round__(self, digits=None):
        return self

    __floor__ = __ceil__ = __trunc__ = __pos__ = __round__

    def __repr__(self):
        return "-1" if self._tensor is None else "?"

    def __format__(self, spec):
        return format(repr(self), spec)

    # As -1, the sign of an open size -------------------------------------------

    def __hash__(self):
        return hash(-1)

    def __bool__(self):
        if self._tensor is not None:
            self._refuse("bool")
        return True

    def _compare(self, other, compare):
        if isinstance(other, Size):
            # Open sizes are taken for equal, as -1 and -1 are: ops check when the program runs.
            if compare in (operator.eq, operator.ne) and self._tensor is None and other._tensor is None:
                return compare is operator.eq
            self._refuse(f"{compare.__name__} of sizes")
        if isinstance(other, _C.Tensor):
            return compare(self.tensor(), other)
        if not isinstance(other, (int, float)):
            return NotImplemented
        if self._tensor is not None or other > 0:
            self._refuse(f"comparison with {other}")
        return compare(-1, other)

    def __eq__(self, other):
        return self._compare(other, operator.eq)

    def __ne__(self, other):
        return self._compare(other, operator.ne)

    def __lt__(self, other):
        return self._compare(other, operator.lt)

    def __le__(self, other):
        return self._compare(other, operator.le)

    def __gt__(self, other):
        return self._compare(other, operator.gt)

    def __ge__(self, other):
        return self._compare(other, operator.ge)

    # Arithmetic ------------------------------------------------------------------

    def _combine(self, other, function, turned=False):
        if isinstance(other, Size):
            other = other.tensor()
        elif isinstance(other, _C.Tensor):
            # Beside a tensor it counts as a number does: the tensor's dtype stays.
            size = self.tensor()
            if other.dtype != _C.bool:
                size = _C.ops.cast(size, other.dtype)
            return function(other, size) if turned else function(size, other)
        elif isinstance(other, float):
            return _number(function, other, self.tensor()) if turned else _number(function, self.tensor(), other)
        elif not isinstance(other, int):
            return NotImplemented
        if function is operator.truediv:
            return _number(function, other, self.tensor()) if turned else _number(function, self.tensor(), other)
        return self._with(function(other, self.tensor()) if turned else function(self.tensor(), other))

    def __neg__(self):
        return self._with(-self.tensor())

    def __abs__(self):
        return self


def _number(function, a, b):
    """A quotient and the like: a 0-d tensor of the default dtype."""
    kind = _C.get_default_dtype()
    a, b = (_C.ops.cast(v, kind) if isinstance(v, _C.Tensor) else v for v in (a, b))
    return function(a, b)


def _add_operators():
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
        function = getattr(operator, name)

        def straight(self, other, function=function):
            return self._combine(other, function)

        def turned(self, other, function=function):
            return self._combine(other, function, True)

        setattr(Size, f"__{name}__", straight)
        setattr(Size, f"__r{name}__", turned)


_add_operators()
_C.set_size_type(Size)
