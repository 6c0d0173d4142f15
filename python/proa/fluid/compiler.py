"""See proa.static.CompiledProgram."""

from proa.framework.names import missing as _missing
from proa.static.executor import CompiledProgram
from proa.static.strategies import BuildStrategy, ExecutionStrategy

__all__ = ["BuildStrategy", "CompiledProgram", "ExecutionStrategy"]

__getattr__ = _missing(__name__)
