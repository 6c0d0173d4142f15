"""Recorded programs: to_static, save, load."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy
from proa.jit.input_spec import InputSpec
from proa.jit.saving import TranslatedLayer, load, save
from proa.jit.settings import ignore_module, set_code_level, set_verbosity
from proa.jit.static_function import StaticFunction, not_to_static, to_static
from proa.jit.translator import ProgramTranslator, enable_to_static

_HOMES = _invert({"proa.jit.tracing_layer": "TracedLayer"})

__all__ = [
    "ProgramTranslator",
    "TranslatedLayer",
    "enable_to_static",
    "ignore_module",
    "load",
    "not_to_static",
    "save",
    "set_code_level",
    "set_verbosity",
    "to_static",
    *_HOMES,
]

__getattr__, __dir__ = _lazy(__name__, _HOMES)
