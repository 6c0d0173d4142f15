"""See proa.nn.Layer."""

from proa.nn.layer.layers import HookRemoveHelper as HookRemoveHelper
from proa.nn.layer.layers import Layer

__all__ = ["Layer"]
