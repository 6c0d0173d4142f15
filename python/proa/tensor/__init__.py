"""Functions on tensors that are more than one op: creation, random, rearranging, math, statistics, linear algebra."""

# Not in __all__, which the root package takes over: these are names of proa.tensor alone.
from proa.framework.names import borrow as _borrow
from proa.tensor import (
    arranging,
    attribute,
    creation,
    elementary,
    linalg,
    logic,
    manipulation,
    math,
    placing,
    random,
    running,
    search,
    stat,
)
from proa.tensor import methods as methods
from proa.tensor.arranging import *
from proa.tensor.array import array_length as array_length
from proa.tensor.array import array_read as array_read
from proa.tensor.array import array_write as array_write
from proa.tensor.array import create_array as create_array
from proa.tensor.attribute import *
from proa.tensor.creation import *
from proa.tensor.einsum import einsum
from proa.tensor.elementary import *
from proa.tensor.linalg import *
from proa.tensor.logic import *
from proa.tensor.manipulation import *
from proa.tensor.math import *
from proa.tensor.placing import *
from proa.tensor.random import *
from proa.tensor.running import *
from proa.tensor.search import *
from proa.tensor.stat import *

__all__ = ["einsum"]
__all__ += arranging.__all__
__all__ += attribute.__all__
__all__ += creation.__all__
__all__ += elementary.__all__
__all__ += linalg.__all__
__all__ += logic.__all__
__all__ += manipulation.__all__
__all__ += math.__all__
__all__ += placing.__all__
__all__ += random.__all__
__all__ += running.__all__
__all__ += search.__all__
__all__ += stat.__all__

__getattr__ = _borrow(__name__, "proa")
