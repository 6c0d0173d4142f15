"""The functions of the Python array API standard, 2023.12, over tensors: what `x.__array_namespace__()` gives.

Names, parameters and results are the standard's, not those of the rest of the package: `axis` for `dim`, tuples for lists,
floats and integers kept apart. Libraries that are written for the standard take tensors through it; gradients flow.

What it leaves out, and why: `nextafter` and unsigned integers but uint8, for there is no such op and no such dtype.

Examples:
    >>> x = proa.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> xp = x.__array_namespace__()
    >>> xp.mean(x, axis=0).tolist(), xp.isdtype(x.dtype, "real floating")
    ([2.0, 3.0], True)
"""

from proa import (
    bool,  # noqa: A004
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from proa.array_api import fft, linalg
from proa.array_api.creation import *
from proa.array_api.dtypes import *
from proa.array_api.elementwise import *
from proa.array_api.info import __array_namespace_info__
from proa.array_api.linalg import matmul, matrix_transpose, tensordot, vecdot
from proa.array_api.manipulation import *
from proa.array_api.reductions import *
from proa.array_api.searching import *
from proa.framework.names import missing as _missing

__array_api_version__ = "2023.12"

e = 2.718281828459045
inf = float("inf")
nan = float("nan")
newaxis = None
pi = 3.141592653589793

__getattr__ = _missing(__name__)
