"""Derivatives of functions: products with vectors, and Jacobian and Hessian matrices."""

from proa.framework.names import missing as _missing
from proa.incubate.autograd.functional import jvp, vjp
from proa.incubate.autograd.matrices import Hessian, Jacobian

__all__ = ["Hessian", "Jacobian", "jvp", "vjp"]

__getattr__ = _missing(__name__)
