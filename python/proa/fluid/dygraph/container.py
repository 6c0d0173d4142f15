"""See proa.nn."""

from proa.nn.layer.container import LayerList, ParameterList, Sequential

__all__ = ["LayerList", "ParameterList", "Sequential"]
