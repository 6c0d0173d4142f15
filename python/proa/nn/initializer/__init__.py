"""How parameters start.

An initializer has `make(shape, dtype)`, which returns a new tensor, and can be
called with a parameter to fill it in place.
"""

from proa.framework.names import missing as _missing
from proa.nn.initializer.base import (
    Initializer,
    calculate_gain,
    fans,
    fills_in_place,
    global_initializer,
    set_global_initializer,
    start_value,
)
from proa.nn.initializer.deterministic import Assign, Bilinear, Constant, Dirac
from proa.nn.initializer.random import (
    KaimingNormal,
    KaimingUniform,
    Normal,
    Orthogonal,
    TruncatedNormal,
    Uniform,
    XavierNormal,
    XavierUniform,
)

__all__ = [
    "Assign",
    "Bilinear",
    "Constant",
    "Dirac",
    "KaimingNormal",
    "KaimingUniform",
    "Normal",
    "Orthogonal",
    "TruncatedNormal",
    "Uniform",
    "XavierNormal",
    "XavierUniform",
    "calculate_gain",
    "set_global_initializer",
]

__getattr__ = _missing(__name__)
