"""The transformer that BERT, GPT-2 and ViT share, by the words of their configurations."""

import functools

from proa import _C, nn
from proa.nn import functional as F

__all__ = ["activation_of", "encoder", "number"]

_ACTIVATIONS = {
    "gelu": F.gelu,
    "gelu_new": functools.partial(F.gelu, approximate=True),
    "gelu_pytorch_tanh": functools.partial(F.gelu, approximate=True),
    "relu": F.relu,
    "silu": F.silu,
    "swish": F.silu,
    "tanh": F.tanh,
}


def activation_of(name):
    """The function of a name in a configuration.

    Raises:
        ValueError: there is none.
    """
    if name not in _ACTIVATIONS:
        known = ", ".join(sorted(_ACTIVATIONS))
        raise _C.located(ValueError(f"hugging_face: the activation must be one of {known}, not {name!r}"))
    return _ACTIVATIONS[name]


def number(config, name, default=None):
    """A positive int of a configuration.

    Raises:
        ValueError: it is missing, or something else.
    """
    value = config.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise _C.located(ValueError(f"hugging_face: {name} of the configuration must be a positive int, not {value!r}"))
    return value


def encoder(size, heads, inner, layers, activation, epsilon, dropout, attention_dropout, normalize_before):
    """A TransformerEncoder of these sizes; normalized at its end if it normalizes before.

    Args:
        size, heads, inner, layers (int): of a vector, attentions, the hidden layer, layers.
        activation (str): a name of `activation_of`.
        epsilon (float): of the normalizations.
        dropout, attention_dropout (float): of results, and of attention weights.
        normalize_before (bool): the inputs of attention and feed-forward net, instead of the sums.
    """
    layer = nn.TransformerEncoderLayer(
        size, heads, inner, dropout, attn_dropout=attention_dropout, act_dropout=0.0, normalize_before=normalize_before
    )
    net = nn.TransformerEncoder(layer, layers, nn.LayerNorm(size, epsilon) if normalize_before else None)
    for layer in net.layers:
        layer.activation = activation_of(activation)
        layer.norm1, layer.norm2 = nn.LayerNorm(size, epsilon), nn.LayerNorm(size, epsilon)
    return net
