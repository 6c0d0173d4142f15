"""Transformers (Vaswani et al., 2017)."""

import copy

from proa import _C
from proa.framework.attributes import real, wrong
from proa.framework.names import borrow as _borrow
from proa.framework.parameter import ParamAttr
from proa.nn.functional.attention import additive_mask
from proa.nn.functional.shapes import size_argument
from proa.nn.layer.activation import function_of
from proa.nn.layer.attention import MultiHeadAttention, _convert_attention_mask  # noqa: F401  programs take the mask here
from proa.nn.layer.common import Dropout, Linear
from proa.nn.layer.container import LayerList, checked_layers
from proa.nn.layer.layers import Layer
from proa.nn.layer.norm import LayerNorm


def _made_like(owner, parameter, first, count):
    """`count` layers: the first one, and others of its class that are made by its settings."""
    count = checked_layers(owner, count, 0)
    if isinstance(first, type) or not isinstance(first, Layer):
        raise wrong(owner, parameter, "a layer, which is the first", first)
    if count > 1 and not hasattr(first, "_config"):
        raise wrong(
            owner, parameter, "a layer with a dict `_config`, the arguments that the others are made with", first
        )
    return [first if i == 0 else type(first)(**first._config) for i in range(count)]


def _attrs(attr, count):
    """An attr for each of `count` layers: a list gives its items, one attr is copied (names made unique)."""
    if isinstance(attr, (list, tuple)):
        if len(attr) == 1:
            return list(attr) * count
        if len(attr) != count:
            raise _C.located(
                ValueError(f"Transformer: {count} parameter attributes are needed; {len(attr)} were given")
            )
        return list(attr)
    if isinstance(attr, ParamAttr) and attr.name is not None:
        copies = []
        for i in range(count):
            each = copy.copy(attr)
            each.name = f"{attr.name}_{i}"
            copies.append(each)
        return copies
    return [attr] * count


class _Block(Layer):
    """What encoder and decoder layers share: the feed-forward net, and where the normalizations are."""

    def _make(self, d_model, dim_feedforward, dropout, activation, act_dropout, normalize_before, weight, bias):
        self.normalize_before = normalize_before
        self.linear1 = Linear(d_model, dim_feedforward, weight, bias)
        self.dropout = Dropout(dropout if act_dropout is None else act_dropout)
        self.linear2 = Linear(dim_feedforward, d_model, weight, bias)
        self.activation = function_of(type(self).__name__, "activation", activation)

    def _around(self, x, norm, drop, function):
        """x plus `function` of x, normalized before or after."""
        inner = function(norm(x) if self.normalize_before else x)
        extra = ()
        if isinstance(inner, tuple):
            inner, *extra = inner
        x = x + drop(inner)
        return (x if self.normalize_before else norm(x)), tuple(extra)

    def _feed_forward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    @property
    def _config(self):
        return self.__dict__["_settings"]


def _settings(scope):
    """The arguments of __init__, with which a layer is made once more."""
    return {name: value for name, value in scope.items() if name not in ("self", "__class__")}


def _check_settings(layer, d_model, nhead, dim_feedforward, dropout, attn_dropout, act_dropout):
    """What layers below would refuse by names of their own."""
    owner = type(layer).__name__
    size_argument(owner, "d_model", d_model)
    size_argument(owner, "nhead", nhead)
    size_argument(owner, "dim_feedforward", dim_feedforward, 0)
    for name, rate in (("dropout", dropout), ("attn_dropout", attn_dropout), ("act_dropout", act_dropout)):
        if rate is not None:
            real(owner, name, rate)


class TransformerEncoderLayer(_Block):
    """Self-attention and a feed-forward net, each with a residual and a normalization.

    Args:
        d_model (int): size of inputs and outputs.
        nhead (int): heads of the attention.
        dim_feedforward (int): size of the hidden layer.
        dropout (float): of both parts' results.
        activation (str): name of a function of nn.functional.
        attn_dropout, act_dropout (float, optional): of attention weights and of the hidden layer; dropout unless given.
        normalize_before (bool): normalize the inputs of each part instead of the sums.
        weight_attr, bias_attr (optional): an attr, or one each for attention and feed-forward net.

    Examples:
        >>> proa.nn.TransformerEncoderLayer(8, 2, 16)(proa.ones([1, 5, 8])).shape
        [1, 5, 8]
    """

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward,
        dropout=0.1,
        activation="relu",
        attn_dropout=None,
        act_dropout=None,
        normalize_before=False,
        weight_attr=None,
        bias_attr=None,
    ):
        self.__dict__["_settings"] = _settings(locals())
        super().__init__()
        _check_settings(self, d_model, nhead, dim_feedforward, dropout, attn_dropout, act_dropout)
        weights, biases = _attrs(weight_attr, 2), _attrs(bias_attr, 2)
        self.self_attn = MultiHeadAttention(
            d_model,
            nhead,
            dropout if attn_dropout is None else attn_dropout,
            weight_attr=weights[0],
            bias_attr=biases[0],
        )
        self._make(d_model, dim_feedforward, dropout, activation, act_dropout, normalize_before, weights[1], biases[1])
        self.norm1, self.norm2 = LayerNorm(d_model), LayerNorm(d_model)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)

    def forward(self, src, src_mask=None, cache=None):
        """src [N, T, d_model]; src_mask as in MultiHeadAttention. With a cache gives (result, cache)."""
        src, extra = self._around(src, self.norm1, self.dropout1, lambda x: self.self_attn(x, x, x, src_mask, cache))
        src, _ = self._around(src, self.norm2, self.dropout2, self._feed_forward)
        return src if cache is None else (src, extra[0])

    def gen_cache(self, src):
        """An empty cache for decoding step by step."""
        return self.self_attn.gen_cache(src, type=MultiHeadAttention.Cache)


class TransformerEncoder(Layer):
    """`num_layers` layers made like `encoder_layer`, which is the first of them.

    Args:
        encoder_layer (TransformerEncoderLayer): the pattern.
        num_layers (int): how many; with 0 only `norm` is left.
        norm (LayerNorm, optional): applied at the end.

    Examples:
        >>> layer = proa.nn.TransformerEncoderLayer(8, 2, 16)
        >>> proa.nn.TransformerEncoder(layer, 2)(proa.ones([1, 3, 8])).shape
        [1, 3, 8]
    """

    def __init__(self, encoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = LayerList(_made_like("TransformerEncoder", "encoder_layer", encoder_layer, num_layers))
        self.num_layers, self.norm = num_layers, norm

    def forward(self, src, src_mask=None, cache=None):
        """src [N, T, d_model]; src_mask as in MultiHeadAttention. With a cache gives (result, caches)."""
        src = _C.tensor_argument(src, "TransformerEncoder", "src")
        src_mask = additive_mask(src_mask, src.dtype, type(self).__name__, "src_mask")
        caches = []
        for i, layer in enumerate(self.layers):
            if cache is None:
                src = layer(src, src_mask)
            else:
                src, new = layer(src, src_mask, cache[i])
                caches.append(new)
        if self.norm is not None:
            src = self.norm(src)
        return src if cache is None else (src, caches)

    def gen_cache(self, src):
        """An empty cache of each layer."""
        return [layer.gen_cache(src) for layer in self.layers]


class TransformerDecoderLayer(_Block):
    """Self-attention, attention to an encoder's memory, and a feed-forward net.

    Args: as in TransformerEncoderLayer; attrs may be three.

    Examples:
        >>> proa.nn.TransformerDecoderLayer(8, 2, 16)(proa.ones([1, 3, 8]), proa.ones([1, 5, 8])).shape
        [1, 3, 8]
    """

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward,
        dropout=0.1,
        activation="relu",
        attn_dropout=None,
        act_dropout=None,
        normalize_before=False,
        weight_attr=None,
        bias_attr=None,
    ):
        self.__dict__["_settings"] = _settings(locals())
        super().__init__()
        _check_settings(self, d_model, nhead, dim_feedforward, dropout, attn_dropout, act_dropout)
        weights, biases = _attrs(weight_attr, 3), _attrs(bias_attr, 3)
        attention = dropout if attn_dropout is None else attn_dropout
        self.self_attn = MultiHeadAttention(d_model, nhead, attention, weight_attr=weights[0], bias_attr=biases[0])
        self.cross_attn = MultiHeadAttention(d_model, nhead, attention, weight_attr=weights[1], bias_attr=biases[1])
        self._make(d_model, dim_feedforward, dropout, activation, act_dropout, normalize_before, weights[2], biases[2])
        self.norm1, self.norm2, self.norm3 = LayerNorm(d_model), LayerNorm(d_model), LayerNorm(d_model)
        self.dropout1, self.dropout2, self.dropout3 = Dropout(dropout), Dropout(dropout), Dropout(dropout)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, cache=None):
        """tgt [N, T, d_model], memory [N, S, d_model]. With a cache gives (result, caches)."""
        own, static = (None, None) if cache is None else cache
        tgt, extra = self._around(tgt, self.norm1, self.dropout1, lambda x: self.self_attn(x, x, x, tgt_mask, own))
        if extra:
            own = extra[-1]
        tgt, extra = self._around(
            tgt, self.norm2, self.dropout2, lambda x: self.cross_attn(x, memory, memory, memory_mask, static)
        )
        tgt, _ = self._around(tgt, self.norm3, self.dropout3, self._feed_forward)
        return tgt if cache is None else (tgt, (own, static))

    def gen_cache(self, memory):
        """An empty cache of the self-attention, and the projections of `memory`."""
        return (
            self.self_attn.gen_cache(memory, type=MultiHeadAttention.Cache),
            self.cross_attn.gen_cache(memory, memory, type=MultiHeadAttention.StaticCache),
        )


class TransformerDecoder(Layer):
    """`num_layers` layers made like `decoder_layer`, which is the first of them; arguments as in TransformerEncoder.

    Examples:
        >>> layer = proa.nn.TransformerDecoderLayer(8, 2, 16)
        >>> proa.nn.TransformerDecoder(layer, 2)(proa.ones([1, 3, 8]), proa.ones([1, 5, 8])).shape
        [1, 3, 8]
    """

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = LayerList(_made_like("TransformerDecoder", "decoder_layer", decoder_layer, num_layers))
        self.num_layers, self.norm = num_layers, norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, cache=None):
        """tgt [N, T, d_model], memory [N, S, d_model]. With a cache gives (result, caches)."""
        tgt = _C.tensor_argument(tgt, "TransformerDecoder", "tgt")
        tgt_mask, memory_mask = (
            additive_mask(mask, tgt.dtype, type(self).__name__, name)
            for name, mask in (("tgt_mask", tgt_mask), ("memory_mask", memory_mask))
        )
        caches = []
        for i, layer in enumerate(self.layers):
            if cache is None:
                tgt = layer(tgt, memory, tgt_mask, memory_mask)
            else:
                tgt, new = layer(tgt, memory, tgt_mask, memory_mask, cache[i])
                caches.append(new)
        if self.norm is not None:
            tgt = self.norm(tgt)
        return tgt if cache is None else (tgt, caches)

    def gen_cache(self, memory, do_zip=False):
        """A cache of each layer; with do_zip a list of all first and a list of all second parts."""
        caches = [layer.gen_cache(memory) for layer in self.layers]
        return list(zip(*caches)) if do_zip else caches


class Transformer(Layer):
    """Encoder and decoder.

    Args:
        d_model (int): size of inputs and outputs.
        nhead (int): heads of each attention.
        num_encoder_layers, num_decoder_layers (int): layers.
        dim_feedforward (int): size of the hidden layers.
        dropout, activation, attn_dropout, act_dropout, normalize_before, weight_attr, bias_attr:
            as in TransformerEncoderLayer.
        custom_encoder, custom_decoder (Layer, optional): used instead.

    Examples:
        >>> net = proa.nn.Transformer(8, 2, 1, 1, 16)
        >>> net(proa.ones([1, 3, 8]), proa.ones([1, 2, 8])).shape
        [1, 2, 8]
    """

    def __init__(
        self,
        d_model=512,
        nhead=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        dim_feedforward=2048,
        dropout=0.1,
        activation="relu",
        attn_dropout=None,
        act_dropout=None,
        normalize_before=False,
        weight_attr=None,
        bias_attr=None,
        custom_encoder=None,
        custom_decoder=None,
    ):
        super().__init__()
        _check_settings(self, d_model, nhead, dim_feedforward, dropout, attn_dropout, act_dropout)
        size_argument("Transformer", "num_encoder_layers", num_encoder_layers, 0)
        size_argument("Transformer", "num_decoder_layers", num_decoder_layers, 0)
        self.d_model, self.nhead = d_model, nhead
        settings = (
            d_model, nhead, dim_feedforward, dropout, activation, attn_dropout, act_dropout, normalize_before,
        )  # fmt: skip

        def attrs(attr, which):
            """Three attrs are those of self-attention, cross-attention and feed-forward net."""
            if isinstance(attr, (list, tuple)) and len(attr) == 3:
                return [attr[i] for i in which]
            return attr

        for parameter, custom in (("custom_encoder", custom_encoder), ("custom_decoder", custom_decoder)):
            if custom is not None and not callable(custom):
                raise wrong("Transformer", parameter, "a Layer", custom)
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer = TransformerEncoderLayer(*settings, attrs(weight_attr, (0, 2)), attrs(bias_attr, (0, 2)))
            self.encoder = TransformerEncoder(layer, num_encoder_layers, LayerNorm(d_model))
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            layer = TransformerDecoderLayer(*settings, attrs(weight_attr, (0, 1, 2)), attrs(bias_attr, (0, 1, 2)))
            self.decoder = TransformerDecoder(layer, num_decoder_layers, LayerNorm(d_model))

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None):
        """src [N, S, d_model], tgt [N, T, d_model]; masks as in MultiHeadAttention. Gives [N, T, d_model]."""
        return self.decoder(tgt, self.encoder(src, src_mask), tgt_mask, memory_mask)

    def generate_square_subsequent_mask(self, length):
        """[length, length]: 0 where a step may look, -inf where it lies in the future."""
        return _C.ops.triu(_C.ops.full([length, length], float("-inf"), _C.get_default_dtype()), 1)


def _convert_param_attr_to_list(param_attr, n):
    """n ParamAttrs, from one for all (whose name gets a number for each) or a list."""
    from copy import deepcopy

    if isinstance(param_attr, (list, tuple)):
        if len(param_attr) != n:
            raise _C.located(ValueError(f"there must be {n} attributes, not {len(param_attr)}"))
        return [ParamAttr.of(attr) for attr in param_attr]
    if isinstance(param_attr, bool):
        return [ParamAttr.of(None if param_attr else False)] * n
    first = ParamAttr.of(param_attr)
    found = [deepcopy(first) for _ in range(n)]
    for i, attr in enumerate(found):
        attr.name = f"{first.name}_{i}" if first.name else None
    return found


__getattr__ = _borrow(__name__, "proa.nn")
