"""Attention to the keys that a sparse matrix names."""

import math

from proa import _C
from proa.nn.functional.shapes import require_dims
from proa.sparse import shapes
from proa.sparse.nn.functional.activation import softmax
from proa.sparse.products import masked_matmul, matmul
from proa.sparse.tensor import SparseCsrTensor
from proa.sparse.unary import sparse_argument

__all__ = ["attention"]

_OP = "attention"


def _require(name, x, shape):
    if list(x.shape) != shape:
        raise _C.located(ValueError(f"{_OP}: {name} must be {shape}; it is {list(x.shape)}"))


def _kept(scores, seen):
    """The rows of `scores` with the elements where `seen` is not 0."""
    coo = scores.to_sparse_coo()
    kept = _C.ops.nonzero(seen != 0).flatten()
    indices = _C.ops.gather(coo._indices, kept, 1)
    cols = _C.ops.gather(scores._cols, kept, 0)
    crows = _C.ops.coo_crows(indices, scores._shape)
    return SparseCsrTensor(crows, cols, _C.ops.gather(scores._values, kept, 0), scores._shape, True)


def attention(query, key, value, sparse_mask, key_padding_mask=None, attn_mask=None, name=None):
    """softmax(query key^T / sqrt(D)) value over the keys that each query names; no other scores are computed.

    A query that sees no key gets zeros.

    Args:
        query, key, value (Tensor): [N, heads, L, D], floating point.
        sparse_mask (SparseCsrTensor): [N * heads, L, L], an element where a query (row) sees a key (column).
        key_padding_mask (Tensor, optional): [N, L], 0 for keys that nobody sees.
        attn_mask (Tensor, optional): [L, L], 0 for keys that a query does not see.
        name (str, optional): not used.

    Returns:
        Tensor: [N, heads, L, D].

    Raises:
        ValueError: other shapes.
        TypeError: sparse_mask is not sparse.

    Examples:
        >>> x = proa.to_tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
        >>> mask = proa.sparse.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 1.0], [1, 2, 2])
        >>> proa.sparse.nn.functional.attention(x, x, x, mask).tolist()
        [[[[0.0, 1.0], [1.0, 0.0]]]]
    """
    query, key, value = (_C.tensor_argument(t, _OP, n) for n, t in (("query", query), ("key", key), ("value", value)))
    require_dims(_OP, "query", query, 4)
    n, heads, length, depth = query.shape
    _require("key", key, list(query.shape))
    _require("value", value, list(query.shape))
    mask = sparse_argument(_OP, "sparse_mask", sparse_mask).to_sparse_csr().coalesce()
    _require("sparse_mask", mask, [n * heads, length, length])
    q, k, v = (_C.ops.reshape(t, [n * heads, length, depth]) for t in (query, key, value))
    scores = masked_matmul(q * (1.0 / math.sqrt(max(depth, 1))), _C.ops.transpose(k, [0, 2, 1]), mask)
    for given, name, shape in (
        (key_padding_mask, "key_padding_mask", [n, length]),
        (attn_mask, "attn_mask", [length] * 2),
    ):
        if given is None:
            continue
        given = _C.tensor_argument(given, _OP, name)
        _require(name, given, shape)
        batch, row, column = (shapes._row(scores.to_sparse_coo()._indices, d).flatten() for d in range(3))
        first = batch // heads if name == "key_padding_mask" else row
        scores = _kept(scores, _C.ops.gather_nd(given, _C.ops.stack([first, column], 1)))
    return _C.ops.reshape(matmul(softmax(scores), v), [n, heads, length, depth])
