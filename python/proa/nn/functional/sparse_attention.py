"""Attention to chosen keys alone."""

import math

from proa import _C
from proa.framework.requirements import as_tensor, require_sizes
from proa.nn.functional.attention import additive_mask
from proa.nn.functional.shapes import require_dims
from proa.tensor.creation import arange
from proa.tensor.manipulation import expand

__all__ = ["sparse_attention"]

_F = "sparse_attention"


def _require(name, x, shape):
    """x, which has to be of a shape; that of open sizes is compared when the program runs."""
    wanted = [size if isinstance(size, int) else "?" for size in shape]
    says = f"{_F}: {name} must be {wanted}; it is {{}} {x.dtype.name}"
    if len(x.shape) != len(shape):
        raise _C.located(ValueError(says.format(list(x.shape))))
    return require_sizes(x, list(x.shape), shape, says, x)


def _seen(offset, columns, rows):
    """Booleans [N, heads, rows, keys] of the places that rows in CSR form name; `rows` is (rows, keys)."""
    length, keys = rows
    n, heads, count = columns.shape
    place = expand(arange(0, count, 1, "int64"), [n, heads, count])
    row = _C.ops.searchsorted(offset.astype("int64"), place, right=True) - 1
    # What lies behind the last row goes into a row of its own, which is cut off.
    marks = _C.ops.full([n, heads, (length + 1) * keys], 0.0, _C.float32)
    column = columns.astype("int64")
    inside = _C.ops.logical_and(_C.ops.logical_and(column >= 0, column < keys), row >= 0)
    # What is no column, or lies before the first row, gets an index that is none, which putting refuses.
    index = _C.ops.where(inside, row.astype("int64") * keys + column, _C.ops.full_like(column, (length + 1) * keys))
    marks = _C.ops.put_along_axis(marks, index, _C.ops.full(index.shape, 1.0, _C.float32), 2)
    return marks.reshape([n, heads, length + 1, keys])[:, :, :length] > 0


def sparse_attention(
    query, key, value, sparse_csr_offset, sparse_csr_columns, key_padding_mask=None, attn_mask=None, name=None
):
    """softmax(query key^T / sqrt(D)) value over the keys that each query names (Child et al., 2019).

    Keys are named by rows in CSR form: query i sees the keys `columns[offset[i] : offset[i + 1]]`. A query that sees none gets
    zeros. The scores of all keys are computed: it saves no time here, it gives the numbers.

    Args:
        query, key, value (Tensor): [N, heads, L, D], floating point.
        sparse_csr_offset (Tensor): [N, heads, L + 1] int32 or int64, rising from 0.
        sparse_csr_columns (Tensor): [N, heads, count] int32 or int64, from 0 to L - 1.
        key_padding_mask (Tensor, optional): [N, L], 0 for keys that nobody sees.
        attn_mask (Tensor, optional): [L, L], 0 for keys that a query does not see.
        name (str, optional): for the program text.

    Returns:
        Tensor: [N, heads, L, D].

    Raises:
        ValueError: other shapes.
        IndexError: a column is not below L, or the first offset is not 0.

    Examples:
        >>> x = proa.to_tensor([[[[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]]])
        >>> offset, columns = proa.to_tensor([[[0, 1, 3, 3]]]), proa.to_tensor([[[2, 0, 1]]])
        >>> proa.nn.functional.sparse_attention(x, x, x, offset, columns).round().tolist()
        [[[[2.0, 2.0], [0.0, 1.0], [0.0, 0.0]]]]
    """
    query, key, value, offset, columns = (
        _C.tensor_argument(x, _F, name)
        for name, x in (
            ("query", query),
            ("key", key),
            ("value", value),
            ("sparse_csr_offset", sparse_csr_offset),
            ("sparse_csr_columns", sparse_csr_columns),
        )
    )
    require_dims(_F, "query", query, 4)
    n, heads, length, _ = query.shape
    key = _require("key", key, list(query.shape))
    value = _require("value", value, list(query.shape))
    offset = _require("sparse_csr_offset", offset, [n, heads, length + 1])
    require_dims(_F, "sparse_csr_columns", columns, 3)
    columns = _require("sparse_csr_columns", columns, [n, heads, columns.shape[2]])
    seen = _seen(offset, columns, (length, key.shape[2]))
    if key_padding_mask is not None:
        mask = _C.tensor_argument(key_padding_mask, _F, "key_padding_mask")
        mask = _require("key_padding_mask", mask, [n, length])
        seen = _C.ops.logical_and(seen, (mask != 0).unsqueeze([1, 2]))
    if attn_mask is not None:
        mask = _C.tensor_argument(attn_mask, _F, "attn_mask")
        mask = _require("attn_mask", mask, [length, length])
        seen = _C.ops.logical_and(seen, mask != 0)
    size, scale = query.shape[3], 1.0
    if isinstance(size, int):
        scale = 1.0 / math.sqrt(max(size, 1))
    else:
        query = query * _C.ops.rsqrt(_C.ops.clip(as_tensor([size]), 1, None).astype(query.dtype))
    by_head = [0, 2, 1, 3]
    q, k, v = (_C.ops.transpose(x, by_head) for x in (query, key, value))
    out = _C.ops.attention(q, k, v, additive_mask(seen, query.dtype, "sparse_attention"), scale)
    return _C.ops.transpose(out, by_head) * seen.any(-1, True).astype(query.dtype)
