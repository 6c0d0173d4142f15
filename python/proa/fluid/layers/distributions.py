"""Distributions, under their old path."""

from proa.distribution import Categorical, Normal, Uniform

__all__ = ["Categorical", "Normal", "Uniform"]
