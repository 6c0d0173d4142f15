"""Linear algebra: products, linear systems, decompositions, and what is measured of matrices.

Matrices are the last two dims of a tensor, [..., M, N]; those before are a batch. Types are float32, float64, complex64
and complex128. Each matrix of a batch is one thread's work, so that results do not depend on the number of threads. Bad
matrices (singular, not positive definite) are errors that name their place in the batch; NaN in a matrix gives NaN.
Everything that varies smoothly has gradients of any order.
"""

from proa._generated.linalg import *  # noqa: F403
from proa._generated.root import cholesky as cholesky
from proa._generated.root import inverse as inv  # noqa: F401
from proa.framework.names import missing as _missing
from proa.linalg.decompositions import *  # noqa: F403
from proa.linalg.measures import *  # noqa: F403
from proa.linalg.products import *  # noqa: F403
from proa.linalg.statistics import *  # noqa: F403
from proa.tensor.linalg import norm as norm

__getattr__ = _missing(__name__)
