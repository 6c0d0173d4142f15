"""Layers of transformer parts."""

from proa import _C
from proa.incubate.nn import functional as fused
from proa.incubate.nn.divided import divided_parameters, ring_of
from proa.nn.initializer import Constant
from proa.nn.layer.layers import Layer
from proa.nn.layer.transformer import _attrs

__all__ = ["FusedFeedForward", "FusedMultiHeadAttention", "FusedTransformerEncoderLayer"]


def _scale(layer, size, attr=None):
    return layer.create_parameter([size], attr=attr, default_initializer=Constant(1.0))


def _bias(layer, shape, attr=None):
    return layer.create_parameter(shape, attr=attr, is_bias=True)


class FusedMultiHeadAttention(Layer):
    """Self-attention with its residual and its normalization (incubate.nn.functional.fused_multi_head_attention).

    Args:
        embed_dim (int): size of inputs and outputs.
        num_heads (int): heads, which divide embed_dim.
        dropout_rate, attn_dropout_rate (float): of the result and of the weights.
        kdim, vdim (int, optional): embed_dim, or not given.
        normalize_before (bool): normalize inputs, not sums.
        need_weights (bool): False.
        qkv_weight_attr, qkv_bias_attr, ... ln_bias_attr (optional): attributes of the parameters.
        epsilon (float): added to variances.
        weight_attr, bias_attr (optional): attributes of the weights and biases that have none of their own.
        nranks (int): processes that divide the heads; parameters are of this one's num_heads / nranks.
        ring_id (int): number of their group, `group.id`.
        name: not used.

    Raises:
        ValueError: sizes that do not fit, need_weights, or a group that is none of nranks processes.

    Examples:
        >>> layer = proa.incubate.nn.FusedMultiHeadAttention(8, 2)
        >>> layer(proa.ones([1, 3, 8])).shape
        [1, 3, 8]
    """

    def __init__(self, embed_dim, num_heads, dropout_rate=0.5, attn_dropout_rate=0.5, kdim=None, vdim=None,
                 normalize_before=False, need_weights=False, qkv_weight_attr=None, qkv_bias_attr=None,
                 linear_weight_attr=None, linear_bias_attr=None, pre_ln_scale_attr=None, pre_ln_bias_attr=None,
                 ln_scale_attr=None, ln_bias_attr=None, epsilon=1e-05, nranks=1, ring_id=-1, name=None,
                 weight_attr=None, bias_attr=None):  # fmt: skip
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise _C.located(
                ValueError(f"FusedMultiHeadAttention: {num_heads} heads do not divide embed_dim {embed_dim}")
            )
        if need_weights:
            raise _C.located(ValueError("FusedMultiHeadAttention: need_weights must be False"))
        for which, size in (("kdim", kdim), ("vdim", vdim)):
            if size not in (None, embed_dim):
                raise _C.located(
                    ValueError(f"FusedMultiHeadAttention: {which} must be embed_dim, {embed_dim}; it is {size}")
                )
        ring = ring_of("FusedMultiHeadAttention", ring_id, nranks)
        (heads,), part = divided_parameters("FusedMultiHeadAttention", ring, nranks, num_heads=num_heads)
        self.embed_dim, self.num_heads, self.head_dim, self._ring_id = embed_dim, heads, embed_dim // num_heads, ring_id
        self.normalize_before, self.epsilon = normalize_before, epsilon
        self.dropout_rate, self.attn_dropout_rate = dropout_rate, attn_dropout_rate

        def chosen(attr, common):
            return common if attr is None else attr

        self.qkv_weight = part(
            self.create_parameter,
            1,
            [3, heads, self.head_dim, embed_dim],
            attr=chosen(qkv_weight_attr, weight_attr),
        )
        self.qkv_bias = part(_bias, 1, self, [3, heads, self.head_dim], chosen(qkv_bias_attr, bias_attr))
        self.linear_weight = part(
            self.create_parameter,
            0,
            [heads * self.head_dim, embed_dim],
            attr=chosen(linear_weight_attr, weight_attr),
        )
        self.linear_bias = _bias(self, [embed_dim], chosen(linear_bias_attr, bias_attr))
        self.pre_ln_scale = self.pre_ln_bias = self.ln_scale = self.ln_bias = None
        if normalize_before:
            self.pre_ln_scale = _scale(self, embed_dim, pre_ln_scale_attr)
            self.pre_ln_bias = _bias(self, [embed_dim], pre_ln_bias_attr)
        else:
            self.ln_scale = _scale(self, embed_dim, ln_scale_attr)
            self.ln_bias = _bias(self, [embed_dim], ln_bias_attr)

    def forward(self, query, key=None, value=None, attn_mask=None, cache=None):
        """query [N, L, embed_dim]; key and value are query, or not given. With a cache gives (result, cache)."""
        if any(t is not None and t is not query for t in (key, value)):
            raise _C.located(ValueError("FusedMultiHeadAttention: key and value must be query, or None"))
        return fused.fused_multi_head_attention(
            query, self.qkv_weight, self.linear_weight, self.normalize_before, self.pre_ln_scale, self.pre_ln_bias,
            self.ln_scale, self.ln_bias, self.epsilon, self.qkv_bias, self.linear_bias, cache, attn_mask,
            self.dropout_rate, self.attn_dropout_rate, self.epsilon, self.training, ring_id=self._ring_id,
        )  # fmt: skip

    def extra_repr(self):
        return f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, normalize_before={self.normalize_before}"


class FusedFeedForward(Layer):
    """A feed-forward net with its residual and its normalization (incubate.nn.functional.fused_feedforward).

    Args:
        d_model (int): size of inputs and outputs.
        dim_feedforward (int): size of the hidden layer.
        dropout_rate (float): of the result.
        epsilon (float): added to variances.
        activation (str): "relu" or "gelu".
        act_dropout_rate (float, optional): of the hidden layer; dropout_rate unless given.
        normalize_before (bool): normalize inputs, not sums.
        linear1_weight_attr, ... ln2_bias_attr (optional): attributes of the parameters.
        weight_attr, bias_attr (optional): attributes of the weights and biases that have none of their own.
        nranks (int): processes that divide the hidden layer; parameters are of this one's dim_feedforward / nranks.
        ring_id (int): number of their group, `group.id`.
        name: not used.

    Raises:
        ValueError: sizes that do not fit, or a group that is none of nranks processes.

    Examples:
        >>> proa.incubate.nn.FusedFeedForward(8, 16)(proa.ones([1, 3, 8])).shape
        [1, 3, 8]
    """

    def __init__(self, d_model, dim_feedforward, dropout_rate=0.1, epsilon=1e-05, activation="relu",
                 act_dropout_rate=None, normalize_before=False, linear1_weight_attr=None, linear1_bias_attr=None,
                 linear2_weight_attr=None, linear2_bias_attr=None, ln1_scale_attr=None, ln1_bias_attr=None,
                 ln2_scale_attr=None, ln2_bias_attr=None, nranks=1, ring_id=-1, name=None, weight_attr=None,
                 bias_attr=None):  # fmt: skip
        super().__init__()
        if d_model <= 0 or dim_feedforward <= 0:
            raise _C.located(
                ValueError(f"FusedFeedForward: sizes must be positive; they are {d_model}, {dim_feedforward}")
            )
        ring = ring_of("FusedFeedForward", ring_id, nranks)
        (hidden,), part = divided_parameters("FusedFeedForward", ring, nranks, dim_feedforward=dim_feedforward)
        self._d_model, self._dim_feedforward, self._epsilon = d_model, hidden, epsilon
        self._ring_id = ring_id
        self._activation, self._normalize_before = activation, normalize_before
        self._dropout_rate = dropout_rate
        self._act_dropout_rate = dropout_rate if act_dropout_rate is None else act_dropout_rate

        def chosen(attr, common):
            return common if attr is None else attr

        self._linear1_weight = part(
            self.create_parameter, 1, [d_model, hidden], attr=chosen(linear1_weight_attr, weight_attr)
        )
        self._linear1_bias = part(_bias, 0, self, [hidden], chosen(linear1_bias_attr, bias_attr))
        self._linear2_weight = part(
            self.create_parameter, 0, [hidden, d_model], attr=chosen(linear2_weight_attr, weight_attr)
        )
        self._linear2_bias = _bias(self, [d_model], chosen(linear2_bias_attr, bias_attr))
        self._ln1_scale = self._ln1_bias = self._ln2_scale = self._ln2_bias = None
        if normalize_before:
            self._ln1_scale, self._ln1_bias = (
                _scale(self, d_model, ln1_scale_attr),
                _bias(self, [d_model], ln1_bias_attr),
            )
        else:
            self._ln2_scale, self._ln2_bias = (
                _scale(self, d_model, ln2_scale_attr),
                _bias(self, [d_model], ln2_bias_attr),
            )

    def forward(self, src, cache=None):
        """src [..., d_model]."""
        return fused.fused_feedforward(
            src, self._linear1_weight, self._linear2_weight, self._linear1_bias, self._linear2_bias, self._ln1_scale,
            self._ln1_bias, self._ln2_scale, self._ln2_bias, self._act_dropout_rate, self._dropout_rate,
            self._activation, self._epsilon, self._epsilon, self._normalize_before, self.training, ring_id=self._ring_id,
        )  # fmt: skip

    def extra_repr(self):
        return f"d_model={self._d_model}, dim_feedforward={self._dim_feedforward}, activation={self._activation}"


class FusedTransformerEncoderLayer(Layer):
    """FusedMultiHeadAttention and FusedFeedForward; arguments are those of nn.TransformerEncoderLayer.

    Examples:
        >>> proa.incubate.nn.FusedTransformerEncoderLayer(8, 2, 16)(proa.ones([1, 5, 8])).shape
        [1, 5, 8]
    """

    def __init__(self, d_model, nhead, dim_feedforward, dropout_rate=0.1, activation="relu", attn_dropout_rate=None,
                 act_dropout_rate=None, normalize_before=False, weight_attr=None, bias_attr=None):  # fmt: skip
        super().__init__()
        weights, biases = _attrs(weight_attr, 2), _attrs(bias_attr, 2)
        attention_rate = dropout_rate if attn_dropout_rate is None else attn_dropout_rate
        self.fused_attn = FusedMultiHeadAttention(
            d_model, nhead, dropout_rate, attention_rate, normalize_before=normalize_before, weight_attr=weights[0],
            bias_attr=biases[0],
        )  # fmt: skip
        self.ffn = FusedFeedForward(
            d_model, dim_feedforward, dropout_rate, activation=activation, act_dropout_rate=act_dropout_rate,
            normalize_before=normalize_before, weight_attr=weights[1], bias_attr=biases[1],
        )  # fmt: skip

    def forward(self, src, src_mask=None, cache=None):
        """src [N, T, d_model]; src_mask as in FusedMultiHeadAttention. With a cache gives (result, cache)."""
        out = self.fused_attn(src, attn_mask=src_mask, cache=cache)
        return self.ffn(out) if cache is None else (self.ffn(out[0]), out[1])
