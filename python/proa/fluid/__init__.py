"""The namespace of 1.x as far as it means something in 2.x: eager layers, functions, optimizers, static programs.

Programs for 2.x import it for a few names, older ones for all; each name here is the new thing with the old arguments.
"""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_MODULES = (
    "average", "backward", "clip", "compiler", "contrib", "core", "data_feeder", "dataloader", "dygraph", "dygraph_utils", "executor",
    "framework", "incubate", "initializer", "input", "install_check", "io", "layer_helper", "layers", "lod_tensor", "log_helper", "metrics", "nets",
    "optimizer", "param_attr", "profiler", "proto", "reader", "regularizer", "unique_name",
)  # fmt: skip
_HOMES = _invert({
    "proa.static": "BuildStrategy CompiledProgram ExecutionStrategy Executor ParallelExecutor Program Scope Variable "
    "cpu_places cuda_places default_main_program default_startup_program device_guard global_scope load "
    "load_program_state name_scope program_guard save scope_guard set_program_state",
    "proa._C": "CPUPlace CUDAPinnedPlace CUDAPlace NPUPlace Tensor XPUPlace",
    "proa.framework": "ParamAttr Parameter",
    "proa.static.parameters": "WeightNormParamAttr",
    "proa.fluid.data_feeder": "DataFeeder",
    "proa.fluid.dataset": "DatasetFactory",
    "proa.fluid.lod_tensor": "LoDTensor create_lod_tensor create_random_int_lodtensor",
    "proa.fluid.dygraph.base": "disable_dygraph enable_dygraph enable_imperative=enable_dygraph "
    "disable_imperative=disable_dygraph",
    "proa.fluid.dygraph.checkpoint": "load_dygraph save_dygraph",
    "proa.framework.modes": "in_dygraph_mode",
    "proa.device": "is_compiled_with_cuda is_compiled_with_npu is_compiled_with_rocm is_compiled_with_xpu",
    "proa.utils": "require_version",
    "proa.static.nn": "embedding",
    "proa.nn.functional": "one_hot",
    "proa.fluid.inputs": "cuda_pinned_places data memory_optimize release_memory",
    "proa.static.gradients": "gradients",
    "proa.framework.flags": "get_flags set_flags",
})  # fmt: skip

__all__ = sorted([*_HOMES, *_MODULES])

__getattr__, __dir__ = _lazy(__name__, _HOMES, _MODULES)
