"""Names under which programs reach what the extension module has: places, types of variables, questions of the build."""

from types import SimpleNamespace as _Namespace

from proa import _C
from proa.framework.core import *
from proa.framework.core import VarDesc as VarDesc
from proa.framework.names import missing as _missing


def __getattr__(name):
    if name == "ops":
        from proa import _legacy_C_ops

        return _legacy_C_ops
    if name in ("Scope", "_Scope"):
        from proa.static.scope import Scope

        return Scope
    if name == "ReduceOp":
        from proa.distributed import ReduceOp

        return ReduceOp
    if name in ("AnalysisConfig", "PaddleTensor", "create_paddle_predictor"):
        from proa.fluid import predictors

        return getattr(predictors, name)
    if name == "LoDTensor":
        from proa.fluid.lod_tensor import LoDTensor

        return LoDTensor
    return _missing(__name__)(name)


class EOFException(Exception):
    """The end of a reader's data."""


class EnforceNotMet(RuntimeError):
    """The class of errors of the old core; errors here are Python's own."""


op_proto_and_checker_maker = _Namespace(
    OpRole=_Namespace(Forward=0, Backward=1, Optimize=2, RPC=4, Dist=8, LRSched=16, Loss=256),
    kOpRoleAttrName=lambda: "op_role",
    kOpRoleVarAttrName=lambda: "op_role_var",
    kOpNameScopeAttrName=lambda: "op_namescope",
    kOpDeviceAttrName=lambda: "op_device",
)


def is_compiled_with_cuda():
    """Whether CUDA is built in."""
    return _C.has_devices("gpu")


def is_compiled_with_rocm():
    """Whether ROCm is built in: no."""
    return False


is_compiled_with_npu = is_compiled_with_xpu = is_compiled_with_mlu = is_compiled_with_rocm
is_compiled_with_ipu = is_compiled_with_cinn = is_compiled_with_dist = is_compiled_with_rocm


def is_compiled_with_mkldnn():
    """Whether oneDNN is built in: yes."""
    return True


def get_cuda_device_count():
    """How many GPUs there are."""
    return _C.device_count("gpu")


def get_cuda_current_device_id():
    """The number of the GPU of now."""
    return 0


def supports_bfloat16():
    """Whether ops compute in bfloat16: yes."""
    return True


def globals():
    """The flags, by name."""
    from proa.framework.flags import get_flags

    return get_flags(None)


def default_cpu_generator():
    """The generator of random numbers: `manual_seed(seed)`, `initial_seed()`."""
    from proa.framework.random import seed

    return _Namespace(manual_seed=seed, initial_seed=_C.initial_seed)
