"""Probability distributions: samples, densities, entropies, divergences, and transforms of random variables."""

from proa.distribution.categorical import Categorical
from proa.distribution.distribution import Distribution
from proa.distribution.exponential_family import ExponentialFamily
from proa.distribution.kl import kl_divergence, register_kl
from proa.distribution.normal import Normal
from proa.distribution.uniform import Uniform
from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert({
    "proa.distribution.beta": "Beta",
    "proa.distribution.dirichlet": "Dirichlet",
    "proa.distribution.elementwise_transform": "AbsTransform AffineTransform ExpTransform PowerTransform "
    "SigmoidTransform TanhTransform",
    "proa.distribution.independent": "Independent",
    "proa.distribution.multinomial": "Multinomial",
    "proa.distribution.structural_transform": "ChainTransform IndependentTransform ReshapeTransform SoftmaxTransform "
    "StackTransform StickBreakingTransform",
    "proa.distribution.transform": "Transform",
    "proa.distribution.transformed_distribution": "TransformedDistribution",
})  # fmt: skip

__all__ = [
    *_HOMES,
    "Categorical",
    "Distribution",
    "ExponentialFamily",
    "Normal",
    "Uniform",
    "kl_divergence",
    "register_kl",
]

__getattr__, __dir__ = _lazy(__name__, _HOMES, ("independent", "transform", "transformed_distribution", "variable"))
