"""Recorded programs: to_static, save, load."""

from proa.jit.input_spec import InputSpec
from proa.jit.saving import TranslatedLayer, load, save
from proa.jit.static_function import ProgramTranslator, StaticFunction, not_to_static, to_static

__all__ = ["ProgramTranslator", "TranslatedLayer", "load", "not_to_static", "save", "to_static"]
