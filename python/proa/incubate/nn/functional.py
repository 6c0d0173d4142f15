"""Functions of transformer parts: attention, feed-forward net, and stacks of both."""

import math

from proa import _C
from proa.incubate.nn.divided import ring_of
from proa.nn import functional as F
from proa.nn.functional.attention import additive_mask

__all__ = ["fused_feedforward", "fused_multi_head_attention", "fused_multi_transformer"]


def _normalized(x, scale, bias, epsilon):
    return F.layer_norm(x, x.shape[-1:], scale, bias, epsilon)


def _activation(what, name):
    if name not in ("gelu", "relu"):
        raise _C.located(ValueError(f"{what}: activation must be 'gelu' or 'relu', not {name!r}"))
    return getattr(F, name)


def fused_feedforward(x, linear1_weight, linear2_weight, linear1_bias=None, linear2_bias=None, ln1_scale=None,
                      ln1_bias=None, ln2_scale=None, ln2_bias=None, dropout1_rate=0.5, dropout2_rate=0.5,
                      activation="relu", ln1_epsilon=1e-05, ln2_epsilon=1e-05, pre_layer_norm=False, training=True,
                      mode="upscale_in_train", ring_id=-1, add_residual=True, name=None):  # fmt: skip
    """x + dropout2(linear2(dropout1(activation(linear1(x))))), normalized: the feed-forward part of a transformer.

    Args:
        x (Tensor): [..., d_model].
        linear1_weight, linear2_weight (Tensor): [d_model, hidden] and [hidden, d_model].
        linear1_bias, linear2_bias (Tensor, optional): [hidden] and [d_model].
        ln1_scale, ln1_bias, ln2_scale, ln2_bias (Tensor, optional): [d_model]; of the normalization before (1), or after (2).
        dropout1_rate, dropout2_rate (float): parts that are dropped in training.
        activation (str): "relu" or "gelu".
        ln1_epsilon, ln2_epsilon (float): added to variances.
        pre_layer_norm (bool): normalize x, not the sum.
        training (bool): whether anything is dropped.
        mode (str): that of nn.functional.dropout.
        add_residual (bool): add x.
        ring_id (int): number of the group of processes (`group.id`) that divide linear1's outputs and linear2's inputs; x and the result are the same on all; -1: one has all.
        name: not used.

    Returns:
        Tensor: of the shape of x.

    Raises:
        ValueError: shapes that do not fit, or an unknown activation.

    Examples:
        >>> x, weight = proa.ones([1, 2, 4]), proa.ones([4, 4])
        >>> proa.incubate.nn.functional.fused_feedforward(x, weight, weight, training=False).shape
        [1, 2, 4]
    """
    x = _C.tensor_argument(x, "fused_feedforward", "x")
    function, ring = _activation("fused_feedforward", activation), ring_of("fused_feedforward", ring_id)
    y = ring.copy_in(_normalized(x, ln1_scale, ln1_bias, ln1_epsilon) if pre_layer_norm else x)
    y = function(F.linear(y, linear1_weight, linear1_bias))
    with ring.own_numbers():
        y = F.dropout(y, dropout1_rate, training=training, mode=mode)
    y = F.dropout(ring.linear(y, linear2_weight, linear2_bias), dropout2_rate, training=training, mode=mode)
    y = x + y if add_residual else y
    return y if pre_layer_norm else _normalized(y, ln2_scale, ln2_bias, ln2_epsilon)


def _query_key_value(what, x, weight, bias, transposed=True):
    """[3, N, heads, L, D] of x [N, L, E] and weight [3, heads, D, E] (not transposed: [E, 3, heads, D])."""
    if len(x.shape) != 3:
        raise _C.located(ValueError(f"{what}: x must be [N, L, embed_dim]; it is {list(x.shape)}"))
    if len(weight.shape) != 4 or weight.shape[0 if transposed else 1] != 3:
        form = "[3, heads, head_dim, embed_dim]" if transposed else "[embed_dim, 3, heads, head_dim]"
        raise _C.located(ValueError(f"{what}: qkv_weight must be {form}; it is {list(weight.shape)}"))
    heads, size = weight.shape[1:3] if transposed else weight.shape[2:]
    if transposed:
        flat = _C.ops.matmul(x, weight.reshape([3 * heads * size, -1]), False, True)
    else:
        flat = _C.ops.matmul(x, weight.reshape([-1, 3 * heads * size]))
    if bias is not None:
        flat = flat + bias.reshape([-1])
    return _C.ops.transpose(flat.reshape([0, 0, 3, heads, size]), [2, 0, 3, 1, 4])


def _attended(query, key, value, attn_mask, rate, training, mode):
    """softmax(query key^T / sqrt(D) + mask) value, of [N, heads, L, D] as [N, L, heads * D]."""
    scores = _C.ops.matmul(query * (1.0 / math.sqrt(query.shape[-1])), key, False, True)
    mask = additive_mask(attn_mask, scores.dtype, "fused_multi_head_attention")
    weights = F.softmax(scores if mask is None else scores + mask)
    weights = F.dropout(weights, rate, training=training, mode=mode)
    return _C.ops.transpose(_C.ops.matmul(weights, value), [0, 2, 1, 3]).flatten(2)


def fused_multi_head_attention(x, qkv_weight, linear_weight, pre_layer_norm=False, pre_ln_scale=None, pre_ln_bias=None,
                               ln_scale=None, ln_bias=None, pre_ln_epsilon=1e-05, qkv_bias=None, linear_bias=None,
                               cache_kv=None, attn_mask=None, dropout_rate=0.5, attn_dropout_rate=0.5, ln_epsilon=1e-05,
                               training=True, mode="upscale_in_train", ring_id=-1, add_residual=True, name=None):  # fmt: skip
    """x + dropout(linear(attention of x to itself)), normalized: the attention part of a transformer.

    Args:
        x (Tensor): [N, L, embed_dim].
        qkv_weight (Tensor): [3, heads, head_dim, embed_dim], for queries, keys and values.
        linear_weight (Tensor): [heads * head_dim, embed_dim].
        pre_layer_norm (bool): normalize x, not the sum.
        pre_ln_scale, pre_ln_bias, ln_scale, ln_bias (Tensor, optional): [embed_dim]; of the normalization before, or after.
        pre_ln_epsilon, ln_epsilon (float): added to variances.
        qkv_bias (Tensor, optional): [3, heads, head_dim].
        linear_bias (Tensor, optional): [embed_dim].
        cache_kv (Tensor, optional): [2, N, heads, before, head_dim], keys and values of what came before.
        attn_mask (Tensor, optional): broadcasts to [N, heads, L, before + L]; see nn.functional.scaled_dot_product_attention.
        dropout_rate, attn_dropout_rate (float): parts of the result and of the weights that are dropped in training.
        training (bool): whether anything is dropped.
        mode (str): that of nn.functional.dropout.
        add_residual (bool): add x.
        ring_id (int): number of the group of processes (`group.id`) that divide heads; x and the result are the same on all; -1: one has all.
        name: not used.

    Returns:
        Tensor: of the shape of x; with cache_kv also the new cache, [2, N, heads, before + L, head_dim].

    Raises:
        ValueError: shapes that do not fit.

    Examples:
        >>> x, qkv, linear = proa.ones([1, 3, 4]), proa.ones([3, 2, 2, 4]), proa.ones([4, 4])
        >>> proa.incubate.nn.functional.fused_multi_head_attention(x, qkv, linear, training=False).shape
        [1, 3, 4]
    """
    what = "fused_multi_head_attention"
    x, qkv_weight = _C.tensor_argument(x, what, "x"), _C.tensor_argument(qkv_weight, what, "qkv_weight")
    ring = ring_of(what, ring_id)
    y = ring.copy_in(_normalized(x, pre_ln_scale, pre_ln_bias, pre_ln_epsilon) if pre_layer_norm else x)
    query, key, value = _query_key_value(what, y, qkv_weight, qkv_bias).unbind(0)
    if cache_kv is not None:
        key, value = _C.ops.concat([cache_kv[0], key], 2), _C.ops.concat([cache_kv[1], value], 2)
    with ring.own_numbers():
        y = _attended(query, key, value, attn_mask, attn_dropout_rate, training, mode)
    y = F.dropout(ring.linear(y, linear_weight, linear_bias), dropout_rate, training=training, mode=mode)
    y = x + y if add_residual else y
    y = y if pre_layer_norm else _normalized(y, ln_scale, ln_bias, ln_epsilon)
    return y if cache_kv is None else (y, _C.ops.stack([key, value], 0))


def fused_multi_transformer(x, ln_scales, ln_biases, qkv_weights, qkv_biases, linear_weights, linear_biases,
                            ffn_ln_scales, ffn_ln_biases, ffn1_weights, ffn1_biases, ffn2_weights, ffn2_biases,
                            pre_layer_norm=True, epsilon=1e-05, cache_kvs=None, time_step=None, attn_mask=None,
                            dropout_rate=0.0, activation="gelu", training=False, mode="upscale_in_train",
                            trans_qkvw=True, ring_id=-1, name=None):  # fmt: skip
    """A stack of attention and feed-forward parts, for generating text step by step.

    Args:
        x (Tensor): [N, L, embed_dim].
        ln_scales, ln_biases, ..., ffn2_biases (list[Tensor]): for each layer what fused_multi_head_attention and
            fused_feedforward take; biases may be None.
        pre_layer_norm (bool): normalize what comes into a part, not what it gives.
        epsilon (float): added to variances.
        cache_kvs (list[Tensor], optional): for each layer [2, N, heads, most, head_dim], into which keys and values are written.
        time_step (Tensor|int, optional): the place of x in the caches, where L is 1; without, x is the beginning.
        attn_mask (Tensor, optional): broadcasts to [N, heads, L, L], or to [N, heads, 1, time_step + 1].
        dropout_rate (float): part that is dropped in training.
        activation (str): "gelu" or "relu".
        training (bool): whether anything is dropped.
        mode (str): that of nn.functional.dropout.
        trans_qkvw (bool): qkv_weights are [3, heads, head_dim, embed_dim]; else [embed_dim, 3, heads, head_dim].
        ring_id (int): number of the group of processes (`group.id`) that divide heads and hidden sizes; x and the result are the same on all; -1: one has all.
        name: not used.

    Returns:
        Tensor: of the shape of x; with cache_kvs also these.

    Raises:
        ValueError: shapes that do not fit, or a step beyond the caches.

    Examples:
        >>> x, qkv, square = proa.ones([1, 3, 4]), proa.ones([3, 2, 2, 4]), proa.ones([4, 4])
        >>> one, none = [proa.ones([4])], [None]
        >>> proa.incubate.nn.functional.fused_multi_transformer(
        ...     x, one, one, [qkv], none, [square], none, one, one, [square], none, [square], none
        ... ).shape
        [1, 3, 4]
    """
    what = "fused_multi_transformer"
    x, function = _C.tensor_argument(x, what, "x"), _activation(what, activation)
    layers, ring = len(qkv_weights), ring_of(what, ring_id)
    if cache_kvs is not None and len(cache_kvs) != layers:
        raise _C.located(ValueError(f"{what}: {len(cache_kvs)} caches for {layers} layers"))
    if time_step is not None and cache_kvs is None:
        raise _C.located(ValueError(f"{what}: time_step needs cache_kvs"))
    begin = 0 if time_step is None else int(time_step)

    def of(values, i):
        return None if values is None else values[i]

    for i in range(layers):
        y = ring.copy_in(_normalized(x, of(ln_scales, i), of(ln_biases, i), epsilon) if pre_layer_norm else x)
        query, key, value = _query_key_value(what, y, qkv_weights[i], of(qkv_biases, i), trans_qkvw).unbind(0)
        if cache_kvs is not None:
            key, value = _written(what, cache_kvs[i], key, value, begin)
        with ring.own_numbers():
            y = _attended(query, key, value, attn_mask, dropout_rate, training, mode)
        y = x + F.dropout(
            ring.linear(y, linear_weights[i], of(linear_biases, i)), dropout_rate, training=training, mode=mode
        )
        x = y if pre_layer_norm else _normalized(y, of(ln_scales, i), of(ln_biases, i), epsilon)
        y = ring.copy_in(_normalized(x, of(ffn_ln_scales, i), of(ffn_ln_biases, i), epsilon) if pre_layer_norm else x)
        y = function(F.linear(y, ffn1_weights[i], of(ffn1_biases, i)))
        with ring.own_numbers():
            y = F.dropout(y, dropout_rate, training=training, mode=mode)
        y = x + F.dropout(
            ring.linear(y, ffn2_weights[i], of(ffn2_biases, i)), dropout_rate, training=training, mode=mode
        )
        x = y if pre_layer_norm else _normalized(y, of(ffn_ln_scales, i), of(ffn_ln_biases, i), epsilon)
    return x if cache_kvs is None else (x, cache_kvs)


def _written(what, cache, key, value, begin):
    """Writes keys and values into a cache from `begin` on; all up to there, to be looked at."""
    end = begin + key.shape[2]
    if begin < 0 or end > cache.shape[3]:
        raise _C.located(ValueError(f"{what}: places {begin} to {end} are beyond a cache of {list(cache.shape)}"))
    cache[:, :, :, begin:end] = _C.ops.stack([key, value], 0)
    return cache[0][:, :, :end], cache[1][:, :, :end]
