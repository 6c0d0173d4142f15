"""Sizes that are known only when a program runs, as `x.shape` holds them."""

import contextlib
import numbers
import operator
import sys
import threading
import warnings

from proa import _C

__all__ = ["Size", "at_least_two", "is_same"]

_thread = threading.local()


@contextlib.contextmanager
def at_least_two():
    """Open sizes that are met inside, on this thread, are from 2 on, and of nothing else is taken for granted.

    For recordings that are made open because a call had another size: the function was not written for unknown sizes.
    A size is not -1 there; comparisons are answered only where every size from 2 on gives the same answer.
    """
    before = getattr(_thread, "least", None)
    _thread.least = 2
    try:
        yield
    finally:
        _thread.least = before


class Size:
    """A size of a value of a program that its declaration leaves open, a number whose arithmetic is recorded.

    It goes where a tensor or a size of an op goes: `x.reshape([x.shape[0], -1])`, `x / x.shape[0]`,
    `paddle.zeros([2 * x.shape[0]])`. It is equal to -1, by which programs find out that a size is open. What
    needs the number itself while the program is recorded (`range`, `int`, an attribute, a comparison with
    another number) is a RuntimeError.

    A size knows what it is: a dim that an op hands on from its argument is the same size, and sums, differences and multiples of
    sizes are compared as such: `2 * n + 1 - n == n + 1`, `n != n + 1`. Sizes of different inputs that are compared
    are taken for equal, as -1 and -1 are, with a warning.

    Args:
        of (Tensor): the value.
        axis (int|None): the dim; None for the number of elements.
        tensor (Tensor, optional): what was computed of sizes; then `of` and `axis` say where it began.
        terms (dict, optional): of what was computed, the sum: {(what, ...): factor}, with the constant at ().
    """

    __slots__ = ("_axis", "_of", "_tensor", "_terms")
    __array_ufunc__ = None  # numbers of NumPy leave it to a size to compute with them

    def __init__(self, of, axis, tensor=None, terms=None):
        self._of, self._axis, self._tensor, self._terms = of, axis, tensor, terms

    def tensor(self):
        """The size as a 0-d int64 tensor of the program."""
        if self._tensor is not None:
            return self._tensor
        if self._axis is None:
            return _C.ops.numel(self._of)
        return _C.ops.squeeze(_C.ops.slice(_C.ops.shape(self._of), [0], [self._axis], [self._axis + 1]), [0])

    def _refuse(self, what):
        what = _asking_function() or what
        name = "the number of elements" if self._axis is None else f"the size of dim {self._axis}"
        shape = "[" + ", ".join(str(-1 if isinstance(s, Size) else s) for s in self._of.shape) + "]"
        raise _C.located(
            RuntimeError(
                f"{what}: {name} of a tensor {shape} {self._of.dtype.name} is known only when the program runs; give "
                "it in the InputSpec (static.data), or compute with paddle.shape(x) in tensor functions"
            )
        )

    def _with(self, tensor, terms):
        return Size(self._of, self._axis, tensor, terms)

    # What it is ----------------------------------------------------------------

    def _sum(self):
        """{what: factor} with the constant at (); a dim is (its name,), a number of elements (program, value)."""
        if self._terms is None:
            if self._axis is None:
                program = _C.program_of(self._of)
                self._terms = {(id(program), program.value_number(self._of)): 1}
            else:
                self._terms = {(_C.dim_name(self._of, self._axis),): 1}
        return self._terms

    def _least(self):
        """The smallest number that it can be, or None."""
        least = getattr(_thread, "least", None)
        if least is None:
            return None
        for what, factor in self._sum().items():
            if what and (factor < 0 or isinstance(what[0], str)):
                return None
        return sum(factor * (least if what else 1) for what, factor in self._sum().items())

    def is_of_inputs(self):
        """Whether it is computed from sizes of inputs alone, not from those of what depends on values."""
        program = _C.program_of(self._of)
        inputs = {program.value_number(program.find(name)) for name in program.input_names}
        for what in self._sum():
            if not what:
                continue
            if isinstance(what[0], str):
                return False
            number = what[1] if len(what) == 2 else int(program.text_of_dim(what[0]).partition(".")[0].lstrip("%"))
            if number not in inputs:
                return False
        return True

    def truth(self):
        """`bool` of it in a function that is converted: a tensor where that depends on the run."""
        if self._least() is not None and self.is_of_inputs():
            return bool(self)
        return self.tensor() != 0

    def _is_dim(self):
        return self._tensor is None

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
        if getattr(_thread, "least", None) is not None:
            self._refuse("str")  # a text would hold for this size alone
        return "-1" if self._tensor is None else _text(self._sum(), _C.program_of(self._of))

    def __format__(self, spec):
        return format(repr(self), spec)

    # As -1, the sign of an open size; or as what it is ------------------------

    def __hash__(self):
        if getattr(_thread, "least", None) is not None:
            self._refuse("hash")
        return hash(-1)

    def __bool__(self):
        least = self._least()
        if least is None and self._tensor is not None or least is not None and least < 1:
            self._refuse("bool")
        return True

    def _compare(self, other, compare):
        if isinstance(other, _C.Tensor):
            return compare(self.tensor(), other)
        if isinstance(other, Size):
            difference = _plus(self._sum(), other._sum(), -1)
        elif isinstance(other, numbers.Real):
            difference = None if any(self._sum()) else {(): self._sum().get((), 0) - other}
        else:
            return NotImplemented
        if difference is not None:
            if not any(difference):  # a number at most
                return compare(difference.get((), 0), 0)
            return self._compare_unlike(other, compare)
        least = self._least()
        if _is_converted(sys._getframe(2)) and not (other == -1 and compare in (operator.eq, operator.ne)):
            # In a function that is converted the answer may be a tensor, where it is not the same for all sizes.
            if least is None or not self.is_of_inputs():
                return compare(self.tensor(), other)
        if least is not None:
            # The numbers from `least` on: they agree if all of them lie on one side.
            if least > other:
                return compare(least, other)
            if least == other and compare in (operator.ge, operator.lt):
                return compare is operator.ge
            self._refuse(f"comparison with {other}")
        if getattr(_thread, "least", None) is not None:
            self._refuse(f"comparison with {other}")
        if self._tensor is not None or other > 0:
            self._refuse(f"comparison with {other}")
        return compare(-1, other)

    def _compare_unlike(self, other, compare):
        """With a size that is not known to be the same, nor known to be another."""
        dims = self._is_dim() and other._is_dim() and compare in (operator.eq, operator.ne)
        # What the library's own functions take for equal, their ops check when the program runs.
        if dims and sys._getframe(3).f_globals.get("__name__", "").startswith(("proa.", "paddle.")):
            return compare is operator.eq
        if getattr(_thread, "least", None) is not None:
            self._refuse(f"{compare.__name__} of sizes")
        if not dims:
            if _is_converted(sys._getframe(3)):
                return compare(self.tensor(), other.tensor())
            self._refuse(f"{compare.__name__} of sizes")
        names = _input_name(self._of), _input_name(other._of)
        if None not in names:
            warnings.warn(
                f"open sizes of the inputs {names[0]!r} (dim {self._axis}) and {names[1]!r} (dim {other._axis}) are "
                "taken for equal; if they may differ, compare paddle.shape(x) in tensor functions",
                stacklevel=4,
            )
        return compare is operator.eq

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
        other = number = _plain(other)
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
        terms = _combined(self._sum(), _sum_of(number), function, turned)
        if not any(terms):  # the same whatever the sizes are, as n - (n - 2)
            return terms.get((), 0)
        return self._with(function(other, self.tensor()) if turned else function(self.tensor(), other), terms)

    def __neg__(self):
        return self._with(-self.tensor(), _times(self._sum(), -1))

    def __abs__(self):
        return self


def _asking_function():
    """The function of this package that asks for the number; None if a user's own code does."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("proa."):
        name = frame.f_code.co_name
        if frame.f_globals["__name__"].startswith("proa.jit."):  # where a user's function is recorded
            return None
        if not name.startswith(("_", "<")) and frame.f_globals["__name__"] != __name__:
            return name
        frame = frame.f_back
    return None


def _plain(number):
    """A number of NumPy as one of Python."""
    if isinstance(number, (int, float)) or not isinstance(number, numbers.Real):
        return number
    return int(number) if isinstance(number, numbers.Integral) else float(number)


# Sums of sizes: {what: factor}. `what` is a dim, () for the constant, or an operation on two sums. ------------------


# Ids of the code objects of functions that proa.jit converts.
converted_codes: set = set()
_COMPARING = ("proa.jit.dy2static.runtime", "proa.jit.dy2static.ordering")


def _is_converted(frame):
    """Whether the code that compares is a user's, of a function that is converted: there the answer may be a tensor."""
    # A chained comparison is made by the runtime of converted functions, that of `max` and `min` by what stands for these.
    return id(frame.f_code) in converted_codes or frame.f_globals.get("__name__") in _COMPARING


def is_same(a, b):
    """Whether two sizes, numbers or of a program, are known to be one."""
    return not _plus(_sum_of(a), _sum_of(b), -1)


def _sum_of(number):
    return number._sum() if isinstance(number, Size) else {(): int(number)}


def _plus(a, b, factor=1):
    out = dict(a)
    for what, count in b.items():
        out[what] = out.get(what, 0) + factor * count
    return {what: count for what, count in out.items() if count}


def _times(a, factor):
    return {what: count * factor for what, count in a.items() if count * factor}


def _combined(a, b, function, turned):
    if turned:
        a, b = b, a
    if function is operator.add:
        return _plus(a, b)
    if function is operator.sub:
        return _plus(a, b, -1)
    if function is operator.mul:
        for one, other in ((a, b), (b, a)):
            if not any(one):
                return _times(other, one.get((), 0))
    if function in (operator.floordiv, operator.mod) and not any(b) and b.get((), 0) > 0:
        by = b[()]
        if all(factor % by == 0 for what, factor in a.items() if what):  # (2 * n + 3) // 2 is n + 1
            if function is operator.mod:
                return _plus({}, {(): a.get((), 0) % by})
            return _plus({}, {what: factor // by for what, factor in a.items()})
    return {(function.__name__, frozenset(a.items()), frozenset(b.items())): 1}


_SIGNS = {"mul": "*", "floordiv": "//", "mod": "%", "pow": "**"}


def _text(terms, program):
    """`2*n + 1`; dims are named by the value that had them first, and axis."""
    parts = []
    for what, factor in sorted(terms.items(), key=lambda item: (len(item[0]) == 0, str(item[0]))):
        if not what:
            parts.append(str(factor))
            continue
        if isinstance(what[0], str):
            left, right = (_text(dict(side), program) for side in what[1:])
            name = f"({left}){_SIGNS.get(what[0], what[0])}({right})"
        else:
            name = program.text_of_dim(what[0]) if len(what) == 1 else f"%{what[1]}.size"
        parts.append({1: name, -1: f"-{name}"}.get(factor) or f"{factor}*{name}")
    return " + ".join(parts).replace("+ -", "- ") or "0"


def _input_name(t):
    """The name of an input of a program; None for other values."""
    program = _C.program_of(t)
    number = program.value_number(t)
    return next((name for name in program.input_names if program.value_number(program.find(name)) == number), None)


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
