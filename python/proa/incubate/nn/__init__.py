"""Parts of transformers whose steps run as one call."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert({
    "proa.incubate.nn.multi_transformer": "FusedMultiTransformer",
    "proa.incubate.nn.transformer": "FusedFeedForward FusedMultiHeadAttention FusedTransformerEncoderLayer",
})  # fmt: skip

__all__ = [*_HOMES, "functional"]

__getattr__, __dir__ = _lazy(__name__, _HOMES, ("functional",))
