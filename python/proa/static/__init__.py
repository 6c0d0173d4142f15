"""Static mode: ops are recorded into a program, which an Executor runs."""

from proa._C import CPUPlace as CPUPlace
from proa._C import Tensor as Variable
from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy
from proa.jit.input_spec import InputSpec
from proa.static import nn
from proa.static.executor import CompiledProgram, Executor
from proa.static.gradients import append_backward, gradients
from proa.static.host import Print, py_func
from proa.static.places import cpu_places
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
from proa.static.scope import Scope, global_scope, scope_guard

_HOMES = _invert({
    "proa.static.strategies": "BuildStrategy ExecutionStrategy ParallelExecutor",
    "proa.static.ipu": "IpuCompiledProgram IpuStrategy ipu_shard_guard set_ipu_shard",
    "proa.static.parameters": "WeightNormParamAttr create_global_var create_parameter",
    "proa.static.states": "deserialize_persistables deserialize_program load load_from_file load_program_state "
    "normalize_program save save_to_file serialize_persistables serialize_program set_program_state",
    "proa.static.places": "cuda_places device_guard mlu_places npu_places xpu_places",
    "proa.fluid.io": "load_vars save_vars",
    "proa.static.metrics": "accuracy auc ctr_metric_bundle",
    "proa.static.averages": "ExponentialMovingAverage",
})  # fmt: skip

__all__ = [
    "CompiledProgram", "Executor", "InputSpec", "Print", "Program", "Scope", "Variable", "append_backward", "cpu_places",
    "data", "default_main_program", "default_startup_program", "global_scope", "gradients", "load_inference_model",
    "name_scope", "nn", "program_guard", "py_func", "save_inference_model", "scope_guard", *_HOMES,
]  # fmt: skip

__getattr__, __dir__ = _lazy(__name__, _HOMES, ("amp", "io", "sparsity"))
