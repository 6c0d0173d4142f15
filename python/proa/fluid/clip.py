"""Clipping of gradients, under its old names."""

from proa import _C
from proa.framework.names import missing as _missing
from proa.nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue

__all__ = [
    "ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue", "ErrorClipByValue", "GradientClipByGlobalNorm",
    "GradientClipByNorm", "GradientClipByValue", "set_gradient_clip",
]  # fmt: skip

__getattr__ = _missing(__name__)

GradientClipByGlobalNorm = ClipGradByGlobalNorm
GradientClipByNorm = ClipGradByNorm
GradientClipByValue = ClipGradByValue

_default = None


class ErrorClipByValue:
    """Clips gradients on their way back through one variable. Not in this version."""

    def __init__(self, max, min=None):
        raise _C.located(
            NotImplementedError(
                "ErrorClipByValue: not in this version; register a hook: x.register_hook(lambda g: g.clip(...))"
            )
        )


def set_gradient_clip(clip, param_list=None, program=None):
    """What fluid's optimizers clip gradients by, unless they are given a `grad_clip`.

    Args:
        clip (ClipGradBase): one of the classes here.
        param_list, program: accepted; it holds for all parameters.
    """
    global _default
    from proa.nn.clip import ClipGradBase

    if clip is not None and not isinstance(clip, ClipGradBase):
        raise _C.located(TypeError(f"set_gradient_clip: clip must be a GradientClipBy..., not {type(clip).__name__}"))
    _default = clip


def default_clip():
    """What `set_gradient_clip` was given."""
    return _default
