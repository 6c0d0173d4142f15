"""Attention of several heads, and the masks that programs add in attention of their own."""

import collections
import math

from proa import _C
from proa.framework.names import borrow as _borrow
from proa.nn import functional as F
from proa.nn.functional.attention import additive_mask, attention_weights
from proa.nn.functional.shapes import size_argument
from proa.nn.layer.common import Linear
from proa.nn.layer.layers import Layer


class MultiHeadAttention(Layer):
    """Several attentions side by side, each in its own projection.

    Args:
        embed_dim (int): size of queries and of the result; divisible by num_heads.
        num_heads (int): attentions.
        dropout (float): of the attention's weights.
        kdim, vdim (int, optional): sizes of keys and values; embed_dim unless given.
        need_weights (bool): return the attention's weights too.
        weight_attr, bias_attr (ParamAttr|bool, optional): of the four projections.

    Calling it:
        query [N, T, embed], key [N, S, kdim] and value [N, S, vdim] (query and key unless given);
        attn_mask, broadcast to [N, heads, T, S]: booleans (True may be seen), integers
        (not 0 may be seen) or numbers that are added to the scores; cache (see gen_cache).
        Gives the result [N, T, embed], or a tuple with weights and cache where they are asked for.

    Examples:
        >>> attention = proa.nn.MultiHeadAttention(8, 2)
        >>> attention(proa.ones([1, 3, 8])).shape
        [1, 3, 8]
    """

    Cache = collections.namedtuple("Cache", ["k", "v"])
    StaticCache = collections.namedtuple("StaticCache", ["k", "v"])

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        kdim=None,
        vdim=None,
        need_weights=False,
        weight_attr=None,
        bias_attr=None,
    ):
        super().__init__()
        embed_dim = size_argument("MultiHeadAttention", "embed_dim", embed_dim)
        num_heads = size_argument("MultiHeadAttention", "num_heads", num_heads)
        kdim = size_argument("MultiHeadAttention", "kdim", kdim or embed_dim)
        vdim = size_argument("MultiHeadAttention", "vdim", vdim or embed_dim)
        if embed_dim % num_heads:
            raise _C.located(
                ValueError(
                    f"MultiHeadAttention: embed_dim must be divisible by num_heads; "
                    f"they are {embed_dim} and {num_heads}"
                )
            )
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = kdim, vdim
        self.dropout, self.need_weights = dropout, need_weights
        self.q_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)
        self.k_proj = Linear(self.kdim, embed_dim, weight_attr, bias_attr)
        self.v_proj = Linear(self.vdim, embed_dim, weight_attr, bias_attr)
        self.out_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)

    def _heads(self, x):
        """[N, T, embed] as [N, heads, T, head_dim]."""
        shape = [x.shape[0], x.shape[1], self.num_heads, self.head_dim]
        return _C.ops.transpose(_C.ops.reshape(x, shape), [0, 2, 1, 3])

    def compute_kv(self, key, value):
        """Keys and values of the heads, [N, heads, S, head_dim] each."""
        return self._heads(self.k_proj(key)), self._heads(self.v_proj(value))

    def gen_cache(self, key, value=None, type=Cache):
        """What decoding step by step keeps between steps.

        StaticCache holds the projections of a `key` and `value` that do not change (those
        of an encoder). Cache grows with each step; it starts empty, for the batch of `key`,
        or with keys and values that are projected already.
        """
        if type is MultiHeadAttention.StaticCache:
            return self.StaticCache(*self.compute_kv(key, key if value is None else value))
        if value is None:
            empty = _C.ops.full([key.shape[0], self.num_heads, 0, self.head_dim], 0.0, key.dtype)
            return self.Cache(empty, empty)
        return self.Cache(key, value)

    def _prepare_qkv(self, query, key, value, cache=None):
        """Projected queries, keys and values [N, heads, T, head_dim], and the cache if there is one: for subclasses."""
        q = self._heads(self.q_proj(query))
        if isinstance(cache, self.StaticCache):
            return q, cache.k, cache.v, cache
        k, v = self.compute_kv(key, value)
        if isinstance(cache, self.Cache):
            k, v = _C.ops.concat([cache.k, k], 2), _C.ops.concat([cache.v, v], 2)
            cache = self.Cache(k, v)
        return (q, k, v) if cache is None else (q, k, v, cache)

    def forward(self, query, key=None, value=None, attn_mask=None, cache=None):
        ops = _C.ops
        key = query if key is None else key
        value = key if value is None else value
        q = self.q_proj(query)
        q = ops.reshape(q, [q.shape[0], q.shape[1], self.num_heads, self.head_dim])
        if isinstance(cache, self.StaticCache):
            k, v = cache
        else:
            k, v = self.compute_kv(key, value)
            if isinstance(cache, self.Cache):
                k, v = ops.concat([cache.k, k], 2), ops.concat([cache.v, v], 2)
                cache = self.Cache(k, v)
        scale, by_head = 1.0 / math.sqrt(self.head_dim), [0, 2, 1, 3]
        mask = additive_mask(attn_mask, q.dtype, "MultiHeadAttention")
        if self.need_weights or (self.dropout and self.training):
            weights = attention_weights(q, ops.transpose(k, by_head), mask, scale)
            if self.dropout:
                weights = F.dropout(weights, self.dropout, training=self.training)
            out = ops.transpose(ops.matmul(weights, v), by_head)
        else:
            out = ops.attention(q, ops.transpose(k, by_head), ops.transpose(v, by_head), mask, scale)
        out = self.out_proj(ops.reshape(out, [out.shape[0], out.shape[1], self.embed_dim]))
        results = [out]
        if self.need_weights:
            results.append(weights)
        if cache is not None:
            results.append(cache)
        return out if len(results) == 1 else tuple(results)


def _convert_attention_mask(attn_mask, dtype):
    """A mask to be added to scores, for programs that write attention of their own.

    A mask of bool or of integers says what is seen; what is not gets -1e9. A floating point mask is added as it is.
    """
    if attn_mask is None:
        return None
    if attn_mask.dtype.is_floating_point:
        return attn_mask if attn_mask.dtype == dtype else attn_mask.astype(dtype)
    return (attn_mask.astype(dtype) - 1.0) * 1e9


__getattr__ = _borrow(__name__, "proa.nn")
