"""What every other part of the package stands on: dtypes, parameters, gradient modes, random state, files."""

from proa.framework import core
from proa.framework.dtype import as_dtype, convert_dtype, finfo, get_default_dtype, iinfo, set_default_dtype
from proa.framework.grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from proa.framework.modes import (
    _disable_legacy_dygraph,
    _enable_legacy_dygraph,
    _in_dygrah_mode,
    _in_eager_without_dygraph_check,
    _in_legacy_dygraph,
    _non_static_mode,
    _test_eager_guard,
    in_dygraph_mode,
)
from proa.framework.parameter import ParamAttr, Parameter, create_parameter
from proa.framework.random import get_rng_state, seed, set_rng_state

__all__ = [
    "ParamAttr",
    "Parameter",
    "as_dtype",
    "convert_dtype",
    "core",
    "create_parameter",
    "enable_grad",
    "finfo",
    "get_default_dtype",
    "get_rng_state",
    "iinfo",
    "in_dygraph_mode",
    "is_grad_enabled",
    "load",
    "no_grad",
    "save",
    "seed",
    "set_default_dtype",
    "set_grad_enabled",
    "set_rng_state",
]

TYPE_CHECKING = False  # type checkers know the name (proa/__init__.py)
if TYPE_CHECKING:
    from proa.framework.serialization import load, save
del TYPE_CHECKING


def __getattr__(name):
    # These need NumPy, which takes longer to import than all the rest.
    if name in ("load", "save"):
        from proa.framework import serialization

        return getattr(serialization, name)
    from proa.framework.names import MissingName

    if name in _ELSEWHERE:
        import importlib

        return getattr(importlib.import_module(_ELSEWHERE[name]), name)
    raise MissingName("proa.framework", name)


_ELSEWHERE = {
    "CPUPlace": "proa._C",
    "CUDAPinnedPlace": "proa._C",
    "CUDAPlace": "proa._C",
    "LayerHelper": "proa.fluid.layer_helper",
    "Variable": "proa.static",
    "_current_expected_place": "proa.fluid.framework",
    "_dygraph_tracer": "proa.fluid.framework",
    "_non_static_mode": "proa.framework.modes",
    "dygraph_only": "proa.fluid.framework",
    "get_flags": "proa.framework.flags",
    "grad": "proa.autograd",
    "in_dynamic_mode": "proa.framework.compat",
    "set_flags": "proa.framework.flags",
}
