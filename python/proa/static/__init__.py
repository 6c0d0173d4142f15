"""Static mode: ops are recorded into a program, which an Executor runs."""

from proa._C import CPUPlace as _CPUPlace
from proa._C import Tensor as Variable
from proa.jit.input_spec import InputSpec
from proa.static import nn
from proa.static.executor import CompiledProgram, Executor
from proa.static.gradients import append_backward, gradients
from proa.static.host import Print, py_func, scope_guard
from proa.static.program import (
    Program,
    data,
    default_main_program,
    default_startup_program,
    disable_static,
    enable_static,
    name_scope,
    program_guard,
)
from proa.static.saving import load_inference_model, save_inference_model

__all__ = [
    "CompiledProgram", "Executor", "InputSpec", "Print", "Program", "Variable", "append_backward", "cpu_places", "data",
    "default_main_program", "default_startup_program", "gradients", "load_inference_model", "name_scope", "nn",
    "program_guard", "py_func", "save_inference_model", "scope_guard",
]  # fmt: skip


def cpu_places(device_count=None):
    """A list of CPU places."""
    return [_CPUPlace()] * (device_count or 1)
