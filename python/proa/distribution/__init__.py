"""Probability distributions: samples, densities, entropies, divergences."""

from proa.distribution.categorical import Categorical
from proa.distribution.distribution import Distribution
from proa.distribution.kl import kl_divergence, register_kl
from proa.distribution.normal import Normal
from proa.distribution.uniform import Uniform
from proa.framework.names import missing as _missing

__all__ = ["Categorical", "Distribution", "Normal", "Uniform", "kl_divergence", "register_kl"]

__getattr__ = _missing(__name__)
