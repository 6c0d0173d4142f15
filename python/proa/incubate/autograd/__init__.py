"""Derivatives of functions: products with vectors, and Jacobian and Hessian matrices."""

from proa.incubate.autograd.functional import jvp, vjp
from proa.incubate.autograd.matrices import Hessian, Jacobian

__all__ = ["Hessian", "Jacobian", "jvp", "vjp"]
