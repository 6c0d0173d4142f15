"""FusedMultiTransformer: a stack of transformer parts for generating text."""

from proa import _C
from proa.incubate.nn import functional as fused
from proa.incubate.nn.divided import divided_parameters, ring_of
from proa.nn.initializer import Constant
from proa.nn.layer.layers import Layer

__all__ = ["FusedMultiTransformer"]


class FusedMultiTransformer(Layer):
    """Layers of attention and feed-forward nets that run as one call (incubate.nn.functional.fused_multi_transformer).

    Args:
        embed_dim (int): size of inputs and outputs.
        num_heads (int): heads, which divide embed_dim.
        dim_feedforward (int): size of the hidden layers.
        dropout_rate (float): part that is dropped in training.
        activation (str): "gelu" or "relu".
        normalize_before (bool): normalize what comes into a part, not what it gives.
        ln_scale_attrs, ... ffn2_bias_attrs (optional): for each layer an attribute of a parameter, or one for all.
        epsilon (float): added to variances.
        num_layers (int): how many layers; as many as qkv_weight_attrs has, where that is a list (-1).
        trans_qkvw (bool): weights of queries, keys and values are [3, heads, head_dim, embed_dim]; else
            [embed_dim, 3, heads, head_dim].
        nranks (int): processes that divide heads and hidden layers; parameters are of this one's parts.
        ring_id (int): number of their group, `group.id`.
        name: not used.

    Raises:
        ValueError: sizes that do not fit, or a group that is none of nranks processes.

    Examples:
        >>> layer = proa.incubate.nn.FusedMultiTransformer(8, 2, 16, num_layers=2)
        >>> layer(proa.ones([1, 3, 8])).shape
        [1, 3, 8]
    """

    def __init__(self, embed_dim, num_heads, dim_feedforward, dropout_rate=0.0, activation="gelu",
                 normalize_before=True, ln_scale_attrs=None, ln_bias_attrs=None, qkv_weight_attrs=None,
                 qkv_bias_attrs=None, linear_weight_attrs=None, linear_bias_attrs=None, ffn_ln_scale_attrs=None,
                 ffn_ln_bias_attrs=None, ffn1_weight_attrs=None, ffn1_bias_attrs=None, ffn2_weight_attrs=None,
                 ffn2_bias_attrs=None, epsilon=1e-05, num_layers=-1, nranks=1, trans_qkvw=True, ring_id=-1,
                 name=None):  # fmt: skip
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads or dim_feedforward <= 0:
            raise _C.located(
                ValueError(
                    f"FusedMultiTransformer: sizes do not fit: {num_heads} heads, embed_dim {embed_dim}, "
                    f"dim_feedforward {dim_feedforward}"
                )
            )
        if num_layers == -1:
            num_layers = len(qkv_weight_attrs) if isinstance(qkv_weight_attrs, (list, tuple)) else 1
        self.normalize_before, self.activation, self.dropout_rate = normalize_before, activation, dropout_rate
        self._epsilon, self._trans_qkvw = epsilon, trans_qkvw
        size, self._ring_id = embed_dim // num_heads, ring_id
        what, sizes = "FusedMultiTransformer", {"num_heads": num_heads, "dim_feedforward": dim_feedforward}
        (heads, hidden), part = divided_parameters(what, ring_of(what, ring_id, nranks), nranks, **sizes)
        qkv = [3, heads, size, embed_dim] if trans_qkvw else [embed_dim, 3, heads, size]
        axes = {"qkv_weights": 1 if trans_qkvw else 2, "qkv_biases": 1, "linear_weights": 0, "ffn1_weights": 1,
                "ffn1_biases": 0, "ffn2_weights": 0}  # fmt: skip
        shapes = {
            "ln_scales": ([embed_dim], ln_scale_attrs), "ln_biases": ([embed_dim], ln_bias_attrs),
            "qkv_weights": (qkv, qkv_weight_attrs), "qkv_biases": ([3, heads, size], qkv_bias_attrs),
            "linear_weights": ([heads * size, embed_dim], linear_weight_attrs),
            "linear_biases": ([embed_dim], linear_bias_attrs),
            "ffn_ln_scales": ([embed_dim], ffn_ln_scale_attrs), "ffn_ln_biases": ([embed_dim], ffn_ln_bias_attrs),
            "ffn1_weights": ([embed_dim, hidden], ffn1_weight_attrs),
            "ffn1_biases": ([hidden], ffn1_bias_attrs),
            "ffn2_weights": ([hidden, embed_dim], ffn2_weight_attrs),
            "ffn2_biases": ([embed_dim], ffn2_bias_attrs),
        }  # fmt: skip
        for group, (shape, attrs) in shapes.items():
            values = []
            for i in range(num_layers):
                attr = attrs[i] if isinstance(attrs, (list, tuple)) else attrs
                initializer = Constant(1.0) if group.endswith("scales") else None
                arguments = {"attr": attr, "is_bias": group.endswith("biases"), "default_initializer": initializer}
                if group in axes:
                    made = part(self.create_parameter, axes[group], shape, **arguments)
                else:
                    made = self.create_parameter(shape, **arguments)
                if made is not None:
                    self.add_parameter(f"{group[:-1]}_{i}", made)
                values.append(made)
            object.__setattr__(self, f"_{group}", values)

    def forward(self, src, attn_mask=None, caches=None, time_step=None):
        """src [N, L, embed_dim]; see fused_multi_transformer. With caches gives (result, caches)."""
        return fused.fused_multi_transformer(
            src, self._ln_scales, self._ln_biases, self._qkv_weights, self._qkv_biases, self._linear_weights,
            self._linear_biases, self._ffn_ln_scales, self._ffn_ln_biases, self._ffn1_weights, self._ffn1_biases,
            self._ffn2_weights, self._ffn2_biases, self.normalize_before, self._epsilon, caches, time_step, attn_mask,
            self.dropout_rate, self.activation, self.training, trans_qkvw=self._trans_qkvw, ring_id=self._ring_id,
        )  # fmt: skip
