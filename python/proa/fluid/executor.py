"""See proa.static.Executor and proa.static.global_scope."""

import numpy as np

from proa.framework.names import missing as _missing
from proa.static import Executor, global_scope, scope_guard

__all__ = ["Executor", "global_scope", "scope_guard"]

__getattr__ = _missing(__name__)


def _fetch_var(name, scope=None, return_numpy=True):
    """The value of a variable of the scope."""
    tensor = (scope or global_scope()).find_var(name).get_tensor()
    return np.array(tensor) if return_numpy else tensor


def has_fetch_operators(block, fetch_targets, fetch_holder_name):
    """Whether a program fetches by itself: no."""
    return False
