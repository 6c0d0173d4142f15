"""Functions of indices under the name that 1.7 gave them a module of their own."""

from proa.nn.functional import one_hot as one_hot
from proa.static.nn import embedding as embedding

__all__ = ["embedding", "one_hot"]
