"""See proa.fluid.layer_helper."""

from proa.fluid.layer_helper import LayerHelper

__all__ = ["LayerObjectHelper"]

LayerObjectHelper = LayerHelper
