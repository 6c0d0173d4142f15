"""Functions whose names may still change: functional differentiation."""

from proa.incubate import autograd

__all__ = ["autograd"]
