"""What `static.py_func` records: ops of the registry (`proa.utils.custom_op`) that call a function of this process by a name."""

import functools

import proa
from proa import _C

__all__ = ["call"]

# Functions by the names that programs have for them.
_functions: dict[str, object] = {}


def _kept(function, what):
    """The name under which programs call a function; the same function has one name."""
    if not callable(function):
        raise _C.located(TypeError(f"py_func: {what} is {function!r}; it must be a function"))
    where = f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', type(function).__name__)}"
    for name, other in _functions.items():
        if other is function:
            return name
    name = f"{where}#{len(_functions)}"
    _functions[name] = function
    return name


def _function(name):
    if name not in _functions:
        raise _C.located(
            RuntimeError(
                f"py_func: the function {name.partition('#')[0]} belongs to the process that recorded the program; "
                "an op that other processes have too is made by proa.utils.custom_op"
            )
        )
    return _functions[name]


def _as_list(value, count, what, name):
    """What a function returned, as a list of `count`."""
    value = [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]
    if len(value) != count:
        raise _C.located(ValueError(f"py_func: {what} {name.partition('#')[0]} gave {len(value)} values, not {count}"))
    return value


def _like(value, dtype):
    tensor = value if isinstance(value, proa.Tensor) else proa.to_tensor(value)
    return tensor if tensor.dtype == dtype else tensor.astype(dtype)


def _metas(shapes, ranks, dtypes):
    metas, at = [], 0
    for rank, dtype in zip(ranks, dtypes):
        metas.append(proa.utils.custom_ops.Meta(shapes[at : at + rank], dtype))
        at += rank
    return metas


_PARAMS = "Tensor[] xs, str function, str backward, int[] skipped, int[] shapes, int[] ranks, str[] dtypes"


@functools.cache
def _ops():
    """The ops, which differ in having a gradient."""
    from proa.utils.custom_ops import CustomOp

    def run(xs, function, backward, skipped, shapes, ranks, dtypes):
        values = (
            _as_list(_function(function)(*xs), len(ranks), "the function", function)
            if ranks
            else [_function(function)(*xs)]
        )
        if not ranks:
            return [proa.zeros([], "int64")]
        return [_like(v, dtype) for v, dtype in zip(values, dtypes)]

    def infer(xs, function, backward, skipped, shapes, ranks, dtypes):
        return _metas(shapes, ranks, dtypes) or [proa.utils.custom_ops.Meta([], "int64")]

    def gradient(xs, outs, grad_outs, function, backward, skipped, shapes, ranks, dtypes):
        taken = [t for i, t in enumerate([*xs, *outs]) if i not in skipped]
        values = _as_list(_function(backward)(*taken, *grad_outs), len(xs), "the backward function", backward)
        return [proa.zeros_like(x) if v is None else _like(v, x.dtype) for v, x in zip(values, xs)]

    plain = CustomOp(f"py_func({_PARAMS}) -> Tensor[] outs", run, infer)
    differentiable = CustomOp(f"py_func_with_backward({_PARAMS}) -> Tensor[] outs", run, infer, gradient)
    for op in (plain, differentiable):
        op.extension = "static.py_func of another process"
    return plain, differentiable


def _tensors(value, what):
    values = [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]
    for v in values:
        if not isinstance(v, proa.Tensor):
            raise _C.located(TypeError(f"py_func: {what} is {type(v).__name__}; Tensors of the program are expected"))
    return values


def call(func, x, out, backward_func, skip):
    """Records the call; (what py_func returns, a value that stands for the call if it has no results)."""
    xs, outs = _tensors(x, "x"), _tensors(out, "out")
    skipped = []
    for s in _tensors(skip, "skip_vars_in_backward_input"):
        found = [i for i, t in enumerate([*xs, *outs]) if t is s]
        if not found:
            raise _C.located(
                ValueError("py_func: skip_vars_in_backward_input has a value that is neither of x nor of out")
            )
        skipped += found
    shapes = [[-1 if not isinstance(n, int) or n < 0 else n for n in t.shape] for t in outs]
    plain, differentiable = _ops()
    op = plain if backward_func is None else differentiable
    results = op(
        xs, _kept(func, "func"), "" if backward_func is None else _kept(backward_func, "backward_func"), sorted(set(skipped)),
        [n for shape in shapes for n in shape], [len(shape) for shape in shapes], [t.dtype.name for t in outs],
    )  # fmt: skip
    if not outs:
        return None, results[0]
    for t, result in zip(outs, results):
        _C.rebind(t, result)
    return out, None
