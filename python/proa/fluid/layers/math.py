"""Elementwise functions of two tensors, reductions, comparisons and products, with the old arguments."""

import proa
from proa import _C
from proa._generated import aliases
from proa.fluid.layers.arguments import act_on
from proa.fluid.layers.blocks import write
from proa.static.sequences import as_first_of

_COMPARISONS = {
    "equal": proa.equal,
    "not_equal": proa.not_equal,
    "less_than": proa.less_than,
    "less_equal": proa.less_equal,
    "greater_than": proa.greater_than,
    "greater_equal": proa.greater_equal,
    "logical_and": proa.logical_and,
    "logical_or": proa.logical_or,
    "logical_xor": proa.logical_xor,
}


def _elementwise(name, function):
    def call(x, y, axis=-1, act=None, name=None):
        return act_on(function(x, y, axis), act)

    call.__doc__ = f"{name.partition('_')[2]} of x and y, whose dims meet those of x from `axis` on; then `act`."
    return call


def _reduction(name, function):
    def call(input, dim=None, keep_dim=False, name=None):
        result = function(input, dim, keep_dim)
        # Of all elements the old function gives [1].
        return result.reshape([1]) if len(result.shape) == 0 else result

    call.__doc__ = f"{name.partition('_')[2]} of the elements along `dim`, or of all: then [1]."
    return call


def _comparison(name, function):
    def call(x, y, cond=None, name=None, out=None, force_cpu=None):
        result = function(x, y)
        into = cond if cond is not None else out
        if into is None:
            return result
        return write(into, result.reshape(into.shape))

    call.__doc__ = f"{name} of x and y, element by element; written into `cond` if that is given."
    return call


# Ops that came after the old namespace.
_LATER = ("elementwise_fmax", "elementwise_fmin", "reduce_amax", "reduce_amin")


def _all():
    """From the names of the old namespace to what makes them, and the function within."""
    for name in aliases.NAMES:
        if name.startswith(("elementwise_", "reduce_")) and name not in _LATER:
            yield name, _elementwise if name.startswith("elementwise_") else _reduction, getattr(aliases, name)
    for name, function in _COMPARISONS.items():
        yield name, _comparison, function


for _name, _make, _function in _all():
    _made = _make(_name, _function)
    _made.__name__ = _made.__qualname__ = _name
    globals()[_name] = _made


def logical_not(x, out=None, name=None):
    """not x, element by element; written into `out` if that is given."""
    result = proa.logical_not(x)
    return result if out is None else write(out, result)


def mean(x, name=None):
    """The mean of all elements: [1]."""
    return _C.ops.mean(x).reshape([1])


def matmul(x, y, transpose_x=False, transpose_y=False, alpha=1.0, name=None):
    """alpha * x @ y."""
    result = proa.matmul(x, y, transpose_x, transpose_y)
    return result if alpha == 1.0 else result * alpha


def mul(x, y, x_num_col_dims=1, y_num_col_dims=1, name=None):
    """The product of x and y as matrices: the first dims of each, as many as said, are rows."""
    rows, columns = list(x.shape[:x_num_col_dims]), list(y.shape[y_num_col_dims:])
    a = _C.ops.flatten(x, x_num_col_dims, -1)
    a = _C.ops.flatten(a, 0, x_num_col_dims - 1) if x_num_col_dims > 1 else a
    b = _C.ops.flatten(y, 0, y_num_col_dims - 1) if y_num_col_dims > 1 else y
    b = _C.ops.flatten(b, 1, -1) if len(b.shape) > 2 else b
    result = _C.ops.matmul(a, b)
    if len(rows) == 1 and len(columns) == 1:
        return result
    return result.reshape([-1 if i == 0 else size for i, size in enumerate(rows)] + columns)


def sum(x):
    """The sum of a list of tensors."""
    return as_first_of(proa.add_n(x), x if isinstance(x, (list, tuple)) else [x])


def sums(input, out=None):
    """The sum of a list of tensors, written into `out` if that is given."""
    result = sum(input)
    return result if out is None else write(out, result)


def l2_normalize(x, axis, epsilon=1e-12, name=None):
    """x over its L2 norm along `axis`."""
    axis = 0 if len(x.shape) == 1 else axis
    squares = _C.ops.sum(x * x, axis=[axis], keepdim=True)
    return x * proa.rsqrt(_C.ops.clip(squares, epsilon, None))


def cos_sim(X, Y):
    """The cosine of the angle between rows of X and of Y (which may have one row): [N, 1]."""
    product = _C.ops.sum(X * Y, axis=[-1], keepdim=True)
    norms = [proa.sqrt(_C.ops.sum(v * v, axis=[-1], keepdim=True)) for v in (X, Y)]
    return product / (norms[0] * norms[1])


def fsp_matrix(x, y):
    """The products of channels of x and of y, averaged over pixels: [N, C of x, C of y]."""
    a, b = _C.ops.flatten(x, 2, -1), _C.ops.flatten(y, 2, -1)
    return _C.ops.matmul(a, b, False, True) / float(x.shape[2] * x.shape[3])


def where(condition):
    """Where `condition` holds: int64, [count, rank]."""
    return proa.nonzero(condition)


def affine_channel(x, scale=None, bias=None, data_layout="NCHW", act=None, name=None):
    """scale * x + bias for each channel."""
    shape = [1, -1] + [1] * (len(x.shape) - 2) if data_layout == "NCHW" else [-1]
    x = x if scale is None else x * scale.reshape(shape)
    return act_on(x if bias is None else x + bias.reshape(shape), act)


__all__ = [
    *(_name for _name, _, _ in _all()), "affine_channel", "cos_sim", "fsp_matrix", "l2_normalize", "logical_not",
    "matmul", "mean", "mul", "sum", "sums", "where",
]  # fmt: skip
