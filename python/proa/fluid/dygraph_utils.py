"""Steps that layers share."""

from proa.fluid.layers.arguments import act_on
from proa.framework.reference_ops import align

__all__ = ["_append_activation_in_dygraph", "_append_bias_in_dygraph"]


def _append_activation_in_dygraph(input, act=None, use_cudnn=None, use_mkldnn=None):
    """The activation of this name, of the input."""
    return act_on(input, act)


def _append_bias_in_dygraph(input, bias=None, axis=1, use_mkldnn=False):
    """The input plus a bias along `axis`."""
    return input if bias is None else input + align(input, bias, axis)
