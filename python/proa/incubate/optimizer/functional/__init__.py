"""Minimizers of functions of a vector, by their gradients."""

from proa.framework.names import missing as _missing
from proa.incubate.optimizer.functional.quasi_newton import minimize_bfgs, minimize_lbfgs

__all__ = ["minimize_bfgs", "minimize_lbfgs"]

__getattr__ = _missing(__name__)
