"""Attention."""

import math

from proa import _C
from proa.framework.attributes import is_late, real
from proa.nn.functional.common import dropout
from proa.nn.functional.shapes import require_dims


def additive_mask(mask, dtype, op, parameter="attn_mask"):
    """A mask to be added to scores: booleans (True may be seen) and integers become 0 and -1e9."""
    if mask is None:
        return None
    mask = _C.tensor_argument(mask, op, parameter)
    if mask.dtype == _C.bool or mask.dtype.name.startswith(("int", "uint")):
        return (mask.astype(dtype) - 1.0) * (1e9 if dtype != _C.float16 else 1e4)
    return mask if mask.dtype == dtype else mask.astype(dtype)


def attention_weights(query, key, mask, scale):
    """softmax(scale query key^T + mask), [N, heads, L, S], of queries [N, L, heads, D] and keys [N, S, heads, D]."""
    ops = _C.ops
    query, key = (ops.transpose(t, [0, 2, 1, 3]) for t in (query, key))
    scores = ops.matmul(query * scale, key, False, True)
    return ops.softmax(scores if mask is None else scores + mask, -1)


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, training=True, name=None
):
    """softmax(query key^T / sqrt(D) + mask) value for each sample and head (Vaswani et al., 2017).

    No [L, S] matrix is kept for the gradient, unless weights are dropped.

    Args:
        query (Tensor): [N, L, heads, D].
        key (Tensor): [N, S, heads, D].
        value (Tensor): [N, S, heads, E].
        attn_mask (Tensor, optional): broadcasts to [N, heads, L, S]; booleans (True may be seen), integers (not 0 may
            be seen) or numbers that are added to the scores.
        dropout_p (float): part of the weights that is dropped in training.
        is_causal (bool): a query sees the keys up to its own place only; instead of attn_mask.
        training (bool): whether weights are dropped.

    Examples:
        >>> x = proa.ones([1, 3, 2, 4])
        >>> proa.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True).shape
        [1, 3, 2, 4]
    """
    query = _C.tensor_argument(query, "scaled_dot_product_attention", "query")
    key = _C.tensor_argument(key, "scaled_dot_product_attention", "key")
    value = _C.tensor_argument(value, "scaled_dot_product_attention", "value")
    for name, x in (("query", query), ("key", key), ("value", value)):
        require_dims("scaled_dot_product_attention", name, x, 4)
    ops = _C.ops
    mask = additive_mask(attn_mask, query.dtype, "scaled_dot_product_attention")
    if is_causal:
        if mask is not None:
            raise _C.located(ValueError("scaled_dot_product_attention: give attn_mask or is_causal, not both"))
        mask = ops.triu(ops.full([query.shape[1], key.shape[1]], -math.inf, query.dtype), 1)
    depth = query.shape[-1]
    if is_late(depth):
        query, scale = query / depth.tensor().astype(query.dtype).sqrt(), 1.0
    else:
        scale = 1.0 / math.sqrt(max(depth, 1))
    if not (dropout_p and training):
        return ops.attention(query, key, value, mask, scale)
    dropout_p = real("scaled_dot_product_attention", "dropout_p", dropout_p)
    weights = dropout(attention_weights(query, key, mask, scale), dropout_p)
    return ops.transpose(ops.matmul(weights, ops.transpose(value, [0, 2, 1, 3])), [0, 2, 1, 3])
