"""recompute, under the name that programs know."""

from proa.autograd.recomputation import recompute

__all__ = ["recompute"]
