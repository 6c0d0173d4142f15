"""Jacobian and Hessian: matrices of derivatives, of which only what is asked for is computed."""

from proa import _C
from proa.incubate.autograd.functional import _recording, as_inputs, call, gradients, push_forward

__all__ = ["Hessian", "Jacobian"]

# One-hot rows are kept as an identity matrix up to this size.
_MAX_IDENTITY = 256


class _Matrix:
    """The derivative of recorded `outputs` by `inputs`, of which what is asked for is computed when it is first read.

    Tensors are flattened and put one after the other; with `batched`, all dims but the first, and a row
    is a row of each sample.
    """

    def __init__(self, who, outputs, inputs, batched):
        self._who, self._outputs, self._inputs, self._batched = who, outputs, inputs, batched
        for what, tensors in (("result", outputs), ("xs", inputs)):
            for i, t in enumerate(tensors):
                if t.is_complex():
                    raise _C.located(
                        TypeError(
                            f"{who}: {what} {i} is {t.dtype.name}; a complex function has no matrix of derivatives "
                            "in general, use jvp or vjp, or real and imaginary parts (as_real, as_complex)"
                        )
                    )
        if batched:
            sizes = {tuple(t.shape[:1]) for t in (*outputs, *inputs)}
            if len(sizes) != 1 or () in sizes:
                raise _C.located(
                    ValueError(
                        f"{who}: with is_batched, xs and results must have the same first dim; their shapes are "
                        f"{[t.shape for t in inputs]} and {[t.shape for t in outputs]}"
                    )
                )
            self._batch = outputs[0].shape[0]
        self._row_sizes = [self._size(t) for t in outputs]
        self._column_sizes = [self._size(t) for t in inputs]
        self._num_rows, self._num_columns = sum(self._row_sizes), sum(self._column_sizes)
        self._identities, self._lines = {}, {}

    def _size(self, tensor):
        size = 1
        for n in tensor.shape[1:] if self._batched else tensor.shape:
            size *= n
        return size

    @property
    def shape(self):
        matrix = (self._num_rows, self._num_columns)
        return (self._batch, *matrix) if self._batched else matrix

    def row(self, i):
        """[N], or [B, N]: one backward pass."""
        return self._line(("row", i), lambda: self._compute_row(i))

    def column(self, j):
        """[M], or [B, M]: two backward passes."""
        return self._line(("column", j), lambda: self._compute_column(j))

    def _line(self, key, compute):
        # One that was read without grad cannot be differentiated.
        key = *key, _C.is_grad_enabled()
        if key not in self._lines:
            self._lines[key] = compute()
        return self._lines[key]

    def _compute_row(self, i):
        for output, n in zip(self._outputs, self._row_sizes):  # noqa: B007
            if i < n:
                break
            i -= n
        return self._flat(gradients([output], self._inputs, [self._one_hot(output, n, i)]))

    def _compute_column(self, j):
        vectors = []
        for x, n in zip(self._inputs, self._column_sizes):
            vectors.append(self._one_hot(x, n, j) if 0 <= j < n else _C.ops.full_like(x, 0))
            j -= n
        return self._flat(push_forward(self._outputs, self._inputs, vectors))

    def _flat(self, parts):
        flat = [self._batch, -1] if self._batched else [-1]
        if self._batched and self._batch == 0:
            sizes = [self._size(t) for t in parts]
            return _C.ops.full([0, sum(sizes)], 0, parts[0].dtype)
        parts = [t if t.ndim == len(flat) else _C.ops.reshape(t, flat) for t in parts]
        return parts[0] if len(parts) == 1 else _C.ops.concat(parts, axis=-1)

    def _one_hot(self, like, n, i):
        """Zeros like a tensor of n numbers (for each sample), with a one at number i."""
        if n == 1:
            return _C.ops.full_like(like, 1)
        shape = like.shape[self._batched :]
        if n <= _MAX_IDENTITY:
            key = n, like.dtype.name
            if key not in self._identities:
                self._identities[key] = _C.ops.eye(n, dtype=like.dtype)
            hot = self._identities[key][i]
        else:
            hot = _C.ops.full([n], 0, like.dtype)
            hot[i] = 1.0
        if len(shape) != 1:
            hot = _C.ops.reshape(hot, shape)
        return _C.ops.broadcast_to(hot, like.shape) if self._batched else hot

    def __getitem__(self, key):
        axis = int(self._batched)
        key = self._complete(key)
        rows, columns = self._select(key[axis]), key[axis + 1]
        if isinstance(rows, range) and len(rows) > 2 and isinstance(columns, int) and not isinstance(columns, bool):
            found = self.column(self._index(columns, self._num_columns, "column"))
            rest = key[: axis + 1]
        elif isinstance(rows, int):
            found, rest = self.row(rows), key[:axis] + key[axis + 1 :]
        else:
            found = self._stacked(rows, axis)
            rest = (*key[:axis], slice(None), *key[axis + 1 :])
        while rest and isinstance(rest[-1], slice) and rest[-1] == slice(None):
            rest = rest[:-1]
        return found[rest] if rest else found

    def _complete(self, key):
        """A tuple with something for each dim."""
        key = key if isinstance(key, tuple) else (key,)
        dims = 3 if self._batched else 2
        full = slice(None)
        dots = [i for i, k in enumerate(key) if k is Ellipsis]
        if len(dots) > 1 or len(key) - len(dots) > dims:
            raise _C.located(IndexError(f"{self._who}: too many indices for the shape {list(self.shape)}"))
        missing = (full,) * (dims - len(key) + len(dots))
        if dots:
            return key[: dots[0]] + missing + key[dots[0] + 1 :]
        return key + missing

    def _select(self, key):
        """The number of a row, or a sequence of numbers."""
        if isinstance(key, slice):
            return range(self._num_rows)[key]
        if isinstance(key, (list, tuple)):
            return [self._select(k) for k in key]
        return self._index(key, self._num_rows, "row")

    def _index(self, key, n, what):
        try:
            return range(n)[key]
        except IndexError:
            raise _C.located(
                IndexError(f"{self._who}: there is no {what} {key}; the shape is {list(self.shape)}")
            ) from None
        except TypeError:
            raise _C.located(
                TypeError(f"{self._who}: {what}s are chosen by int, slice or list of int, not {type(key).__name__}")
            ) from None

    def _stacked(self, rows, axis):
        if len(rows) == 0:
            shape = [self._batch, 0, self._num_columns] if self._batched else [0, self._num_columns]
            return _C.ops.full(shape, 0, self._inputs[0].dtype)
        return _C.ops.stack([self.row(i) for i in rows], axis=axis)


class Jacobian:
    """The Jacobian matrix of a function, read by indexing.

    Results and arguments are flattened and put one after the other, so that the matrix has a row for each
    number that `func` gives and a column for each that it takes: shape [M, N]. With `is_batched`, the
    first dim of all tensors is that of independent samples, and the shape is [B, M, N].

    A row costs one backward pass when it is first read, and a column alone (`J[:, 0]`) two. What is read
    can be differentiated further (unless read under no_grad).

    Args:
        func (Callable): from Tensors to a Tensor or a sequence of them; called once.
        xs (Tensor|Sequence[Tensor]): where.
        is_batched (bool): see above.

    Raises:
        TypeError: complex tensors: the derivative of a complex function multiplies by no matrix unless the
            function is analytic. Its real and imaginary parts have one, which
            `Jacobian(lambda r: proa.as_real(func(proa.as_complex(r))), proa.as_real(x))` is.
        ValueError: different first dims with is_batched.

    Examples:
        >>> x = proa.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> J = proa.incubate.autograd.Jacobian(lambda x, y: proa.matmul(x, y), [x, x])
        >>> J.shape
        (4, 8)
        >>> J[0].tolist()
        [1.0, 3.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0]
    """

    def __init__(self, func, xs, is_batched=False):
        with _recording():
            inputs = as_inputs(xs, "Jacobian")
            _, outputs = call(func, xs, inputs, "Jacobian")
        self._matrix = _Matrix("Jacobian", outputs, inputs, bool(is_batched))

    @property
    def shape(self):
        """(M, N), or (B, M, N)."""
        return self._matrix.shape

    def __getitem__(self, indexes):
        return self._matrix[indexes]


class Hessian:
    """The matrix of second derivatives of a function with one result, read by indexing.

    Shape [N, N], or [B, N, N] with `is_batched`; flattening, cost and laziness as in Jacobian.

    Args:
        func (Callable): from Tensors to a Tensor with one element; with is_batched, one for each sample.
        xs (Tensor|Sequence[Tensor]): where.
        is_batched (bool): the first dim is that of independent samples.

    Raises:
        ValueError: `func` gives more than one number. TypeError: complex tensors, see Jacobian.

    Examples:
        >>> x = proa.to_tensor([1.0, 2.0])
        >>> H = proa.incubate.autograd.Hessian(lambda x: (x * x * x).sum(), x)
        >>> H[:, :].tolist()
        [[6.0, 0.0], [0.0, 12.0]]
    """

    def __init__(self, func, xs, is_batched=False):
        with _recording():
            inputs = as_inputs(xs, "Hessian")
            _, outputs = call(func, xs, inputs, "Hessian")
            first = _Matrix("Hessian", outputs, inputs, bool(is_batched))
            if first._num_rows != 1:
                raise _C.located(
                    ValueError(
                        f"Hessian: func must give one number{' for each sample' if is_batched else ''}, but its results "
                        f"have the shapes {[y.shape for y in outputs]}"
                    )
                )
            slopes = gradients(outputs, inputs, [_C.ops.full_like(y, 1) for y in outputs])
        self._matrix = _Matrix("Hessian", slopes, inputs, bool(is_batched))

    @property
    def shape(self):
        """(N, N), or (B, N, N)."""
        return self._matrix.shape

    def __getitem__(self, indexes):
        return self._matrix[indexes]
