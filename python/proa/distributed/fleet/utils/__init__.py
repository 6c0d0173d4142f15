"""recompute, under the name that programs know."""

from proa.autograd.recompute import recompute

__all__ = ["recompute"]
