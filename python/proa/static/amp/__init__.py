"""Mixed precision of programs: recorded in float32, made again by the interpreter of `paddle.amp.auto_cast`.

A network that is built inside of `paddle.amp.auto_cast` records its casts at once and needs none of this but `decorate`'s
scaling of the loss.
"""

from proa.static.amp import bf16
from proa.static.amp.casting import cast_model_to_fp16, cast_parameters_to_fp16
from proa.static.amp.decorator import decorate
from proa.static.amp.guard import fp16_guard
from proa.static.amp.lists import AutoMixedPrecisionLists, CustomOpLists

__all__ = [
    "AutoMixedPrecisionLists",
    "CustomOpLists",
    "bf16",
    "cast_model_to_fp16",
    "cast_parameters_to_fp16",
    "decorate",
    "fp16_guard",
]
