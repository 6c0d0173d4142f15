"""What functions of 2.x imported from one place; see where each is defined."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert({
    "proa.fluid.layer_helper": "LayerHelper",
    "proa.fluid.data_feeder": "check_dtype check_type check_variable_and_dtype convert_dtype",
    "proa.static": "Variable default_main_program default_startup_program device_guard",
    "proa.framework": "ParamAttr",
    "proa.framework.modes": "_non_static_mode in_dygraph_mode _in_legacy_dygraph",
    "proa.framework.compat": "in_dynamic_mode",
    "proa.fluid.framework": "_varbase_creator convert_np_dtype_to_dtype_ dygraph_only",
    "proa.fluid": "core",
    "proa.fluid.initializer": "Constant",
    "proa.utils": "deprecated",
})  # fmt: skip

__all__ = sorted(name for name in _HOMES if not name.startswith("_"))

__getattr__, __dir__ = _lazy(__name__, _HOMES)
