"""Sparse tensors: the elements that are held, and where they are; all others are zero.

Both kinds hold ordinary tensors. Functions of proa.sparse make sparse tensors of those, by ops that know nothing of
sparse tensors: gradients, programs, saved models and mixed precision come from there.
"""

import dataclasses

from proa import _C

__all__ = ["SparseCooTensor", "SparseCsrTensor", "SparseTensor"]


def _text(tensor, indent):
    """The elements of a tensor as its own text has them."""
    if _C.is_symbolic(tensor):
        return f"{list(tensor.shape)} {tensor.dtype.name}"
    lines = repr(tensor.detach()).split("\n")[1:]
    text = "\n".join([lines[0].strip(), *(" " * indent + line for line in lines[1:])])
    return text[:-1]


class SparseTensor:
    """What sparse tensors of both kinds have: shape, dtype, values, gradients, operators and methods.

    Methods that are functions of proa.sparse too (`x.sin()`, `x.matmul(y)`) take the same arguments.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 1], [2, 0]], [1.0, -2.0], [2, 3])
        >>> (x * 2).abs().to_dense().tolist()
        [[0.0, 0.0, 2.0], [4.0, 0.0, 0.0]]
    """

    @property
    def shape(self):
        """The sizes, those of all dims."""
        return list(self._shape)

    @property
    def ndim(self):
        """The number of dims."""
        return len(self._shape)

    @property
    def dtype(self):
        """That of the values."""
        return self._values.dtype

    @property
    def place(self):
        """Where the values are."""
        return self._values.place

    @property
    def name(self):
        """The name of the values."""
        return self._values.name

    @property
    def stop_gradient(self):
        """Whether no gradient of the values is wanted; may be set."""
        return self._values.stop_gradient

    @stop_gradient.setter
    def stop_gradient(self, value):
        self._values.stop_gradient = value

    @property
    def is_leaf(self):
        """Whether the values were made by no op that is differentiated."""
        return self._values.is_leaf

    @property
    def grad(self):
        """The gradient of the values as a sparse tensor with elements at the same places, or None."""
        grad = self._values.grad
        return None if grad is None else self._with_values(grad)

    def clear_grad(self):
        """Forgets the gradient."""
        self._values.clear_grad()

    def backward(self, grad_tensor=None, retain_graph=False):
        """Gradients of what the values were made from. `grad_tensor` (SparseTensor, optional) has its elements at the same places."""
        if isinstance(grad_tensor, SparseTensor):
            grad_tensor = grad_tensor.values()
        self._values.backward(grad_tensor, retain_graph)

    def values(self):
        """The values of the elements that are held."""
        return self._values

    def nnz(self):
        """How many elements are held."""
        return self._values.shape[0]

    def is_sparse(self):
        """True."""
        return True

    def is_dense(self):
        """False."""
        return False

    def detach(self):
        """The same elements, without history."""
        return self._with_values(self._values.detach())

    def clone(self):
        """A copy with its own values, through which gradients pass."""
        return self._with_values(_C.ops.assign(self._values))

    def astype(self, dtype):
        """The values cast to a dtype."""
        return self._with_values(self._values.astype(dtype))

    def numpy(self):
        """All elements as an array."""
        return self.to_dense().numpy()

    def tolist(self):
        """All elements as nested lists."""
        return self.to_dense().tolist()

    def __len__(self):
        if not self._shape:
            raise _C.located(TypeError("len: a tensor of no dims has no length"))
        return int(self._shape[0])

    def __add__(self, other):
        return self.add(other)

    def __sub__(self, other):
        return self.subtract(other)

    def __mul__(self, other):
        return self.multiply(other)

    def __rmul__(self, other):
        return self.multiply(other)

    def __truediv__(self, other):
        return self.divide(other)

    def __neg__(self):
        return self.neg()

    def __abs__(self):
        return self.abs()

    def __pow__(self, factor):
        return self.pow(factor)

    def __matmul__(self, other):
        return self.matmul(other)

    def __bool__(self):
        raise _C.located(ValueError("bool: a sparse tensor is neither true nor false; ask for its values()"))

    def __repr__(self):
        parts = ",\n       ".join(f"{name}={_text(part, len(name) + 1)}" for name, part in self._parts().items())
        return (
            f"Tensor(shape={self.shape}, dtype={self.dtype.name}, place={self.place}, "
            f"stop_gradient={self.stop_gradient},\n       {parts})"
        )


def _of_other_kind(x, name, kind, maker):
    raise _C.located(
        ValueError(f"{name}: x is a {type(x).__name__}, {x.shape}; only a {kind} has {name}: x.{maker}() makes one")
    )


@dataclasses.dataclass(eq=False, repr=False)
class SparseCooTensor(SparseTensor):
    """Elements by their indices, one column each; made by sparse_coo_tensor and Tensor.to_sparse_coo.

    `indices()` is [sparse_dim, nnz], `values()` [nnz, ...]: dims behind the first `sparse_dim` are dense, each element
    has them whole. An index may occur twice, which means the sum, unless the tensor is coalesced.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], [2, 2])
        >>> x.nnz(), x.coalesce().nnz(), x.to_dense().tolist()
        (2, 1, [[0.0, 3.0], [0.0, 0.0]])
    """

    _indices: _C.Tensor
    _values: _C.Tensor
    _shape: list
    _coalesced: bool = False

    def _parts(self):
        return {"indices": self._indices, "values": self._values}

    def _with_values(self, values):
        shape = [*self._shape[: self.sparse_dim()], *values.shape[1:]]
        return SparseCooTensor(self._indices, values, shape, self._coalesced)

    def _distinct(self):
        """The tensor with one element at a place."""
        return self.coalesce()

    def indices(self):
        """Where the elements are, [sparse_dim, nnz]."""
        return self._indices

    def crows(self):
        """Where rows begin: of SparseCsrTensor only.

        Raises:
            ValueError: always; `x.to_sparse_csr()` makes what has them.
        """
        _of_other_kind(self, "crows", "SparseCsrTensor", "to_sparse_csr")

    def cols(self):
        """The columns of the elements: of SparseCsrTensor only; of two dims, `indices()[1]`.

        Raises:
            ValueError: always; `x.to_sparse_csr()` makes what has them.
        """
        _of_other_kind(self, "cols", "SparseCsrTensor", "to_sparse_csr")

    def sparse_dim(self):
        """How many dims, the first ones, have indices."""
        return self._indices.shape[0]

    def dense_dim(self):
        """How many dims, the last ones, each element has whole."""
        return len(self._shape) - self._indices.shape[0]

    def is_sparse_coo(self):
        """True."""
        return True

    def is_sparse_csr(self):
        """False."""
        return False

    def is_coalesced(self):
        """Whether the indices are known to rise in row-major order, each once."""
        return self._coalesced

    def to_dense(self):
        """All elements, as an ordinary tensor. Elements at one place are added up."""
        if not self.sparse_dim():
            return _C.ops.sum(self._values, [0], self.dtype)
        return _C.ops.scatter_nd(_C.ops.transpose(self._indices, [1, 0]), self._values, self._shape)

    def to_sparse_coo(self, sparse_dim=None):
        """This tensor; with another number of sparse dims, one with these."""
        if sparse_dim is None or sparse_dim == self.sparse_dim():
            return self
        return of_dense(self.to_dense(), sparse_dim)

    def to_sparse_csr(self):
        """The same elements by rows: of a tensor of 2 or 3 dims that are all sparse."""
        x = self.coalesce()
        if self.dense_dim() or len(self._shape) not in (2, 3):
            raise _C.located(
                ValueError(
                    "to_sparse_csr: x must have 2 or 3 dims, all of them sparse; "
                    f"it is {self.shape} with {self.sparse_dim()} sparse dims"
                )
            )
        cols = _C.ops.gather(x._indices, _index(len(self._shape) - 1), 0).flatten()
        return SparseCsrTensor(_C.ops.coo_crows(x._indices, self._shape), cols, x._values, self._shape, True)


@dataclasses.dataclass(eq=False, repr=False)
class SparseCsrTensor(SparseTensor):
    """A matrix, or a batch of matrices, by rows; made by sparse_csr_tensor and Tensor.to_sparse_csr.

    The elements of row i are those numbered crows()[i] to crows()[i + 1] - 1; `cols()` and `values()` are [nnz]. A row has a
    column once, in any order. In a batch each matrix has its own crows, which begin with 0, one after the other.

    Examples:
        >>> x = proa.sparse.sparse_csr_tensor([0, 1, 1, 3], [1, 0, 2], [1.0, 2.0, 3.0], [3, 3])
        >>> x.to_dense().tolist()
        [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [2.0, 0.0, 3.0]]
    """

    _crows: _C.Tensor
    _cols: _C.Tensor
    _values: _C.Tensor
    _shape: list
    _coalesced: bool = False

    def _parts(self):
        return {"crows": self._crows, "cols": self._cols, "values": self._values}

    def _with_values(self, values):
        return SparseCsrTensor(self._crows, self._cols, values, self._shape, self._coalesced)

    def _distinct(self):
        return self  # as it was made

    def crows(self):
        """Where each row begins, and the number of elements behind the last one."""
        return self._crows

    def cols(self):
        """The column of each element."""
        return self._cols

    def indices(self):
        """Where the elements are: of SparseCooTensor only.

        Raises:
            ValueError: always; `x.to_sparse_coo()` makes what has them.
        """
        _of_other_kind(self, "indices", "SparseCooTensor", "to_sparse_coo")

    def is_sparse_coo(self):
        """False."""
        return False

    def is_sparse_csr(self):
        """True."""
        return True

    def to_dense(self):
        """All elements, as an ordinary tensor."""
        return self.to_sparse_coo().to_dense()

    def to_sparse_coo(self, sparse_dim=None):
        """The same elements by their indices."""
        indices = _C.ops.csr_indices(self._crows, self._cols, self._shape)
        return SparseCooTensor(indices, self._values, self._shape, self._coalesced).to_sparse_coo(sparse_dim)

    def to_sparse_csr(self):
        """This tensor."""
        return self


def added_up(values, places, count):
    """Zeros [count, ...] with values[i] added at places[i]; of bools whether one of them is true."""
    if values.dtype == _C.bool:
        return added_up(values.astype(_C.int32), places, count) != 0
    return _C.ops.gather_grad(values, places, [count, *values.shape[1:]])


def of_dense(x, sparse_dim=None):
    """See Tensor.to_sparse_coo."""
    rank = len(x.shape)
    sparse_dim = rank if sparse_dim is None else sparse_dim
    if not 0 < sparse_dim <= rank:
        raise _C.located(
            ValueError(f"to_sparse_coo: sparse_dim must be 1 to {rank} for x {list(x.shape)}; it is {sparse_dim}")
        )
    held = x != 0
    if sparse_dim < rank:
        held = _C.ops.any(held, list(range(sparse_dim, rank)))
    where = _C.ops.nonzero(held)
    indices = _C.ops.assign(_C.ops.transpose(where, [1, 0]))
    return SparseCooTensor(indices, _C.ops.gather_nd(x, where), list(x.shape), True)


def _index(i):
    return _C.ops.full([1], i, _C.int64)


def _method(name):
    def call(self, *args, **kwargs):
        import proa.sparse

        return getattr(proa.sparse, name)(self, *args, **kwargs)

    call.__name__ = name
    call.__doc__ = f"proa.sparse.{name} of this tensor."
    return call


# Functions of proa.sparse whose first parameter is the tensor.
for _name in (
    "abs add asin asinh atan atanh cast coalesce deg2rad divide expm1 is_same_shape isnan log1p matmul multiply mv neg pow "
    "rad2deg reshape sin sinh slice sqrt square subtract sum tan tanh transpose"
).split():
    setattr(SparseTensor, _name, _method(_name))
