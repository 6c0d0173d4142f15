"""Methods of Tensor that are no functions of the package."""

from proa import _C
from proa.framework.attributes import is_late, known_int
from proa.framework.requirements import as_tensor, require, require_sizes
from proa.tensor import creation, manipulation, math, search
from proa.tensor.attribute import tensor_or_number
from proa.tensor.method import method


class SelectedRows:
    """The rows that a row-sparse tensor holds: their numbers, their values, and how many rows it stands for.

    Examples:
        >>> table = proa.nn.Embedding(10, 3, sparse=True)
        >>> table(proa.to_tensor([1, 4])).sum().backward()
        >>> rows = table.weight.grad.get_selected_rows()
        >>> rows.rows(), rows.height(), rows.get_tensor().shape
        ([1, 4], 10, [2, 3])
    """

    def __init__(self, x):
        self._x = x

    def rows(self):
        """Their numbers, a list of int."""
        return self._x.rows().tolist()

    def height(self):
        """The size of the first dim of the tensor that they stand for."""
        return self._x.shape[0]

    def get_tensor(self):
        """Their values, a dense tensor with one row each."""
        return self._x.values()


@method
def get_selected_rows(x):
    """What a row-sparse tensor holds, such as the gradient of an embedding with sparse=True: see SelectedRows."""
    if not x.is_selected_rows():
        raise _C.located(ValueError(f"get_selected_rows: x is not row-sparse; it is {list(x.shape)} {x.dtype.name}"))
    return SelectedRows(x)


@method
def is_tensor(x):
    """True."""
    return True


@method
def is_sparse_coo(x):
    """False: sparse tensors are of classes of their own, proa.sparse.SparseCooTensor and SparseCsrTensor."""
    return False


@method
def is_sparse_csr(x):
    """False; see is_sparse_coo."""
    return False


def _of_sparse_only(x, name, kind, maker):
    raise _C.located(
        ValueError(
            f"{name}: x is dense, {list(x.shape)} {x.dtype.name}; only a {kind} has {name}: x.{maker}() makes one"
        )
    )


@method
def indices(x):
    """Of a SparseCooTensor its indices; a Tensor is dense and has none.

    Raises:
        ValueError: always; `x.to_sparse_coo()` makes what has indices.
    """
    _of_sparse_only(x, "indices", "SparseCooTensor", "to_sparse_coo")


@method
def crows(x):
    """Of a SparseCsrTensor where its rows begin; a Tensor is dense and has none.

    Raises:
        ValueError: always; `x.to_sparse_csr()` makes what has them.
    """
    _of_sparse_only(x, "crows", "SparseCsrTensor", "to_sparse_csr")


@method
def cols(x):
    """Of a SparseCsrTensor the columns of its elements; a Tensor is dense and has none.

    Raises:
        ValueError: always; `x.to_sparse_csr()` makes what has them.
    """
    _of_sparse_only(x, "cols", "SparseCsrTensor", "to_sparse_csr")


@method
def to_sparse_coo(x, sparse_dim=None):
    """The elements that are not 0, by their indices.

    Args:
        sparse_dim (int, optional): how many dims, the first ones, are sparse; all unless given. Elements have the others whole.

    Returns:
        SparseCooTensor: coalesced. Gradients of its values go to the elements.

    Raises:
        ValueError: sparse_dim is not from 1 to the number of dims.

    Examples:
        >>> proa.to_tensor([[0.0, 5.0], [0.0, 0.0]]).to_sparse_coo(2).indices().tolist()
        [[0], [1]]
    """
    from proa.sparse.tensor import of_dense

    x = _C.tensor_argument(x, "to_sparse_coo", "x")
    return of_dense(x, sparse_dim if sparse_dim is None else known_int("to_sparse_coo", "sparse_dim", sparse_dim))


@method
def to_sparse_csr(x):
    """The elements that are not 0, by rows, of a matrix or a batch of matrices.

    Returns:
        SparseCsrTensor: with gradients as of to_sparse_coo.

    Raises:
        ValueError: the tensor has not 2 or 3 dims.

    Examples:
        >>> proa.to_tensor([[0.0, 5.0], [0.0, 0.0]]).to_sparse_csr().crows().tolist()
        [0, 1, 1]
    """
    from proa.sparse.tensor import of_dense

    x = _C.tensor_argument(x, "to_sparse_csr", "x")
    if len(x.shape) not in (2, 3):
        raise _C.located(ValueError(f"to_sparse_csr: x must have 2 or 3 dims; it is {list(x.shape)} {x.dtype.name}"))
    return of_dense(x).to_sparse_csr()


@method
def broadcast_shape(x, y_shape):
    """The shape that an elementwise function of this tensor and a shape gives."""
    return manipulation.broadcast_shape(x.shape, y_shape)


@method
def where(condition, x=None, y=None, name=None):
    """Elements of x where this tensor holds, of y elsewhere."""
    return search.where(condition, x, y)


@method
def reverse(x, axis, name=None):
    """The elements in reverse order along axes."""
    return _C.ops.flip(x, axis)


@method
def slice(input, axes, starts, ends):
    """input[starts[i] : ends[i]] along each of `axes`, as a view."""
    return manipulation.strided_slice(input, axes, starts, ends, [1] * len(axes))


@method
def scatter_nd(index, updates, shape, name=None):
    """Zeros of a shape with updates added at the places that this tensor names."""
    return _C.ops.scatter_nd(index, updates, shape)


@method
def fill_(x, value, name=None):
    """Writes a value into all elements."""
    _C.tensor_argument(x, "fill_", "x")
    x[...] = tensor_or_number(value, "fill_", "value")
    return x


@method
def zero_(x, name=None):
    """Writes 0 into all elements."""
    _C.tensor_argument(x, "zero_", "x")
    x[...] = 0
    return x


@method
def uniform_(x, min=-1.0, max=1.0, seed=0, name=None):
    """Writes numbers evenly distributed in [min, max) into the elements."""
    _C.tensor_argument(x, "uniform_", "x")
    x[...] = _C.ops.uniform(x.shape, x.dtype, min, max, seed)
    return x


@method
def scale_(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None):
    """scale in place."""
    if act is None:
        factor = scale.item() if isinstance(scale, _C.Tensor) else scale
        return _C.ops.scale_(x, factor, bias, bias_after_scale)
    x[...] = math.scale(x, scale, bias, bias_after_scale, act)
    return x


@method
def exponential_(x, lam=1.0, name=None):
    """Writes numbers of the exponential distribution of rate lam into the elements."""
    _C.tensor_argument(x, "exponential_", "x")
    x[...] = _C.ops.exponential(x.detach(), lam)  # what is drawn has no gradient
    return x


@method
def fill_diagonal_(x, value, offset=0, wrap=False, name=None):
    """Writes a value onto the diagonal, all of whose indices are equal.

    Args:
        value (float): the value.
        offset (int): of the diagonal above the main one, for matrices.
        wrap (bool): in a matrix with more rows than columns, start again after each square block.
    """
    _C.tensor_argument(x, "fill_diagonal_", "x")
    offset, value = known_int("fill_diagonal_", "offset", offset), tensor_or_number(value, "fill_diagonal_", "value")
    rank = len(x.shape)
    if rank < 2:
        raise _C.located(ValueError(f"fill_diagonal_: at least 2 dims are needed; x is {x.shape} {x.dtype.name}"))
    says = "fill_diagonal_: with more than 2 dims all sizes must be equal, and offset 0"
    if rank > 2 and offset:
        raise _C.located(ValueError(says))
    first = _along(x, 0)
    if wrap and rank == 2:
        # Of no more rows than columns this is the row itself.
        first = first % (x.shape[1] + 1)
    here = _along(x, 1) == first + offset
    for axis in range(2, rank):
        here = _C.ops.logical_and(here, _along(x, axis) == first)
    if rank > 2:
        here = require_sizes(here, list(x.shape[1:]), [x.shape[0]] * (rank - 1), says)
    if isinstance(value, _C.Tensor):
        value = value.astype(x.dtype)
    else:
        value = _C.ops.full([], value, x.dtype)
    x[...] = _C.ops.where(here, value, x)
    return x


def _along(x, axis):
    """The index along an axis, [1, ..., size, ..., 1]."""
    rank = len(x.shape)
    return creation.arange(0, x.shape[axis], 1, "int64").reshape([-1 if i == axis else 1 for i in range(rank)])


def _on_diagonal(what, x, y, offset, dim1, dim2):
    """x with the dims turned so that the matrices of dim1 and dim2 come first, the indices of a diagonal of these,
    y turned as such a part of it, and the order that turns back."""
    x, y = _C.tensor_argument(x, what, "x"), _C.tensor_argument(y, what, "y")
    offset, rank = known_int(what, "offset", offset), len(x.shape)
    dim1, dim2 = (manipulation.known_axis_of(what, value, x, name) for name, value in (("dim1", dim1), ("dim2", dim2)))
    if dim1 == dim2:
        raise _C.located(ValueError(f"{what}: dim1 and dim2 are both {dim1}"))
    rows, columns = x.shape[dim1], x.shape[dim2]
    first = max(0, -offset)
    if is_late(rows) or is_late(columns):
        ends = as_tensor([rows, columns - offset]).min() - first
        count = _C.ops.clip(ends, 0, None)
    else:
        count = max(0, min(rows, columns - offset) - first)
    rest = [d for d in range(rank) if d not in (dim1, dim2)]
    wanted = [x.shape[d] for d in rest] + [count]
    shown = [size if isinstance(size, int) else "?" for size in wanted]
    says = f"{what}: y must be {shown}, the diagonals of x; it is {{}}"
    if len(y.shape) != len(wanted):
        raise _C.located(ValueError(says.format(list(y.shape))))
    if isinstance(count, int):
        y = require_sizes(y, list(y.shape), wanted, says, y)
    else:
        y = require(y, as_tensor(list(y.shape)) == as_tensor(wanted), says, _C.ops.shape(y))
    order = [dim1, dim2, *rest]
    back = sorted(range(rank), key=order.__getitem__)
    row = creation.arange(first, y.shape[rank - 2] + first, 1, "int64")
    values = _C.ops.transpose(y, [rank - 2, *range(rank - 2)])
    return _C.ops.transpose(x, order), [row, row + offset], values.astype(x.dtype), back


@method
def fill_diagonal_tensor(x, y, offset=0, dim1=0, dim2=1, name=None):
    """x with the elements of y on the diagonals of the matrices that dim1 and dim2 make.

    Args:
        y (Tensor): the dims of x but dim1 and dim2, and then as many elements as a diagonal has.
        offset (int): of the diagonal above the main one.
        dim1, dim2 (int): rows and columns of the matrices.

    Returns:
        Tensor: of the shape of x.

    Raises:
        ValueError: y of another shape, or one dim twice.
        IndexError: dims that x does not have.
    """
    turned, places, values, back = _on_diagonal("fill_diagonal_tensor", x, y, offset, dim1, dim2)
    return _C.ops.transpose(_C.ops.index_put(turned, places, values, [0, 1]), back)


@method
def fill_diagonal_tensor_(x, y, offset=0, dim1=0, dim2=1, name=None):
    """fill_diagonal_tensor in place."""
    turned, places, values, back = _on_diagonal("fill_diagonal_tensor_", x, y, offset, dim1, dim2)
    x[...] = _C.ops.transpose(_C.ops.index_put(turned, places, values, [0, 1]), back)
    return x


@method
def cov(x, rowvar=True, ddof=True, fweights=None, aweights=None, name=None):
    """linalg.cov of this tensor."""
    from proa import linalg as module

    return module.cov(x, rowvar, ddof, fweights, aweights)


@method
def cond(x, p=None, name=None):
    """linalg.cond of this tensor."""
    from proa import linalg as module

    return module.cond(x, p)


@method
def inv(x, name=None):
    """linalg.inv of this tensor."""
    from proa import linalg as module

    return module.inv(x)


@method
def lu_unpack(x, y, unpack_ludata=True, unpack_pivots=True, name=None):
    """linalg.lu_unpack of this tensor and pivots y."""
    from proa import linalg as module

    return module.lu_unpack(x, y, unpack_ludata, unpack_pivots)


@method
def lu(x, pivot=True, get_infos=False, name=None):
    """linalg.lu of this tensor."""
    from proa import linalg as module

    return module.lu(x, pivot, get_infos)


@method
def lstsq(x, y, rcond=None, driver=None, name=None):
    """linalg.lstsq of this tensor."""
    from proa import linalg as module

    return module.lstsq(x, y, rcond, driver)


@method
def qr(x, mode="reduced", name=None):
    """linalg.qr of this tensor."""
    from proa import linalg as module

    return module.qr(x, mode)


@method
def matrix_power(x, n, name=None):
    """linalg.matrix_power of this tensor."""
    from proa import linalg as module

    return module.matrix_power(x, n)


@method
def multi_dot(x, name=None):
    """linalg.multi_dot; the first argument is a list of tensors."""
    from proa import linalg as module

    return module.multi_dot(x)


def block(x):
    """The block of the default main program, whose variable this is to programs of 2.x that ask (`x.block.program`)."""
    from proa.static import default_main_program

    return default_main_program().global_block()


def lod_level(x):
    """How many levels of sequences the rows are made of: of inputs with `lod_level`, and of what sequence functions give."""
    from proa.static import sequences

    return len(sequences.levels_of(x))


_layout = _C.Tensor.type


def kind(x):
    """The kind of variable, of `fluid.core.VarDesc.VarType`: LOD_TENSOR, SELECTED_ROWS, or what `create_var` was told."""
    from proa.framework.core import VarDesc

    told = x.__dict__.get("_kind")
    return (
        getattr(VarDesc.VarType, "LOD_TENSOR" if _layout.__get__(x) == "DENSE_TENSOR" else "SELECTED_ROWS")
        if told is None
        else told
    )


for _name, _attribute in (("block", block), ("lod_level", lod_level), ("type", kind)):
    setattr(_C.Tensor, _name, property(_attribute))

# In static mode -----------------------------------------------------------------------------------------------------------

_write = _C.Tensor.set_value


@method
def get_value(self, scope=None):
    """The value of a variable that keeps one (a parameter): of `scope`, or its own.

    Raises:
        ValueError: a scope is given that has no variable of this name.
        RuntimeError: it is a value of a program, which has none before the program runs: fetch it.
    """
    if scope is not None:
        return _of_scope("get_value", self, scope)
    if _C.is_symbolic(self):
        raise _C.located(
            RuntimeError("get_value: a value of a program has no number until it runs; fetch it with Executor.run")
        )
    return self


@method
def set_value(self, value, scope=None):
    """Gives the tensor, or the variable of its name in `scope`, another value of the same dims.

    Args:
        value (Tensor|ndarray|number): what to write.
        scope (Scope, optional): of static mode.
    """
    if scope is None:
        return _write(self, value)
    return _write(_of_scope("set_value", self, scope), value)


@method
def to_string(self, throw_on_error=False, with_details=True):
    """One line about a value of a program; of other tensors, their text."""
    if not _C.is_symbolic(self):
        return repr(self)
    sizes = ", ".join(str(size) for size in self.shape)
    return f"var {self.name} : LOD_TENSOR.shape({sizes}).dtype({self.dtype.name}).stop_gradient({self.stop_gradient})"


def _of_scope(what, x, scope):
    found = scope.find_var(x.name)
    if found is None:
        raise _C.located(ValueError(f"{what}: the scope has no variable {x.name!r}"))
    return found.get_tensor().tensor()


@method
def to_uva_tensor(x, device_id=0):
    """The tensor in memory of this machine that a GPU may read: for a package without GPUs, an error that says so."""
    _C.tensor_argument(x, "to_uva_tensor", "x")
    x.cuda(device_id)
    return x


@method
def _repr_html_(x):
    """What notebooks show: shape, dtype and place, and the numbers or those of the corners, as a table."""
    from proa.framework import html

    return html.tensor(x)


@method
def __array_namespace__(x, *, api_version=None):
    """`proa.array_api`: the functions of the array API standard.

    Raises:
        ValueError: for a version of the standard that is none, or newer than what is there.
    """
    from proa import array_api

    if api_version not in (None, "2021.12", "2022.12", "2023.12"):
        raise _C.located(ValueError(f"__array_namespace__: api_version is {api_version!r}; there is 2023.12"))
    return array_api


def _with_arrays(value):
    """The value with arrays in place of tensors; lists, tuples and dicts are gone through."""
    if isinstance(value, _C.Tensor):
        return value.__array__()
    if type(value) in (list, tuple):
        return type(value)(map(_with_arrays, value))
    if type(value) is dict:
        return {name: _with_arrays(each) for name, each in value.items()}
    return value


@method
def __array_function__(x, func, types, args, kwargs):
    """NumPy's protocol: calls `func` with arrays in place of tensors. Gradients do not pass; functions of this package have them.

    Raises:
        TypeError: a tensor is given for `out`; what NumPy wrote there would be lost.
    """
    out = kwargs.get("out")
    if isinstance(out, _C.Tensor) or (isinstance(out, tuple) and any(isinstance(each, _C.Tensor) for each in out)):
        raise _C.located(TypeError(f"numpy.{func.__name__}: out must be an array; write x[...] = the result instead"))
    return func(*_with_arrays(args), **_with_arrays(kwargs))


@method
def to_device(x, device, *, stream=None):
    """The tensor on another device."""
    if stream is not None:
        raise _C.located(ValueError("to_device: there are no streams to wait for; give stream=None"))
    return x if device == x.place else x.to(device)


def _device(x):
    """Where the elements are, as the array API standard names it: `place`."""
    return x.place


def _mT(x):
    """Each matrix with rows and columns swapped."""
    from proa.array_api import matrix_transpose

    return matrix_transpose(x)


for _name, _get in (("device", _device), ("mT", _mT)):
    setattr(_C.Tensor, _name, property(_get))
