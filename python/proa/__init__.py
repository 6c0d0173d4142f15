"""Proa: deep learning, with the names of PaddlePaddle 2.x.

    import proa as paddle

Submodules are imported when they are first used, so that importing the package is quick.
"""

import importlib as _importlib
import os as _os

from proa import _openmp as _openmp  # isort: skip; loads _C, and so comes first
from proa import _C
from proa._C import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    CustomPlace,
    NPUPlace,
    Tensor,
    XPUPlace,
    bfloat16,
    bool,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from proa._C import DType as dtype
from proa._generated.root import *
from proa.version import full_version as __version__

_SUBMODULES = frozenset((
    "_C_ops", "_legacy_C_ops", "amp", "array_api", "autograd", "callbacks", "common_ops_import", "compat", "convert", "dataset", "device",
    "distributed", "distribution", "doctor", "errors", "fft", "fluid", "framework", "geometric", "hapi", "hub", "hugging_face", "incubate", "inference",
    "io", "jit", "linalg", "metric", "nn", "onnx", "optimizer", "profiler", "reader", "regularizer", "signal", "sparse", "static", "sysconfig",
    "tensor", "text", "upgrade", "utils", "version", "vision",
))  # fmt: skip
# Names of other modules that are names of the package too.
_HOMES = {
    "ParamAttr": "framework",
    "create_parameter": "framework",
    "enable_grad": "framework",
    "finfo": "framework",
    "get_default_dtype": "framework",
    "get_rng_state": "framework",
    "iinfo": "framework",
    "is_grad_enabled": "framework",
    "load": "framework",
    "no_grad": "framework",
    "save": "framework",
    "seed": "framework",
    "set_default_dtype": "framework",
    "set_grad_enabled": "framework",
    "set_rng_state": "framework",
    "get_cuda_rng_state": "framework.random",
    "set_cuda_rng_state": "framework.random",
    "get_cudnn_version": "device",
    "get_device": "device",
    "is_compiled_with_cinn": "device",
    "is_compiled_with_cuda": "device",
    "is_compiled_with_npu": "device",
    "is_compiled_with_rocm": "device",
    "is_compiled_with_xpu": "device",
    "set_device": "device",
    "grad": "autograd",
    "Model": "hapi",
    "summary": "hapi",
    "flops": "hapi",
    "batch": "framework.compat",
    "disable_signal_handler": "framework.compat",
    "disable_static": "framework.compat",
    "enable_static": "framework.compat",
    "get_flags": "framework.flags",
    "in_dynamic_mode": "framework.compat",
    "set_flags": "framework.flags",
    "DataParallel": "distributed.parallel",
    "__git_commit__": "version",
    "reverse": "fluid.layers.tensor",
}

# What __getattr__ finds, for type checkers (python/tests/typing_test.py compares), who know the name: typing itself takes
# longer to import than half of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from proa import (
        amp,
        array_api,
        autograd,
        callbacks,
        common_ops_import,
        compat,
        convert,
        dataset,
        device,
        distributed,
        distribution,
        doctor,
        errors,
        fft,
        fluid,
        framework,
        geometric,
        hapi,
        hub,
        hugging_face,
        incubate,
        inference,
        io,
        jit,
        linalg,
        metric,
        nn,
        onnx,
        optimizer,
        profiler,
        reader,
        regularizer,
        signal,
        sparse,
        static,
        sysconfig,
        tensor,
        text,
        upgrade,
        utils,
        version,
        vision,
    )
    from proa.autograd import grad
    from proa.device import (
        get_cudnn_version,
        get_device,
        is_compiled_with_cinn,
        is_compiled_with_cuda,
        is_compiled_with_npu,
        is_compiled_with_rocm,
        is_compiled_with_xpu,
        set_device,
    )
    from proa.distributed.parallel import DataParallel
    from proa.fluid.layers.tensor import reverse
    from proa.framework import (
        ParamAttr,
        create_parameter,
        enable_grad,
        finfo,
        get_default_dtype,
        get_rng_state,
        iinfo,
        is_grad_enabled,
        load,
        no_grad,
        save,
        seed,
        set_default_dtype,
        set_grad_enabled,
        set_rng_state,
    )
    from proa.framework.compat import (
        batch,
        disable_signal_handler,
        disable_static,
        enable_static,
        in_dynamic_mode,
    )
    from proa.framework.flags import get_flags, set_flags
    from proa.framework.random import get_cuda_rng_state, set_cuda_rng_state
    from proa.hapi.model import Model
    from proa.hapi.summary import flops, summary
del TYPE_CHECKING


def __getattr__(name: str):
    if name in _SUBMODULES:
        return _importlib.import_module(f"proa.{name}")
    home = _HOMES.get(name)
    if name == "paddle":  # programs that say `import paddle` find it in itself
        return _importlib.import_module("proa")
    if home is None:
        raise _importlib.import_module("proa.framework.names").MissingName("proa", name)
    value = getattr(_importlib.import_module(f"proa.{home}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_SUBMODULES, *_HOMES})


# Functions that are more than one op, and wrappers of some with Paddle's arguments. Type checkers read each `__all__`.
from proa.tensor.arranging import *  # type: ignore[assignment]
from proa.tensor.attribute import *  # type: ignore[assignment]
from proa.tensor.creation import *  # type: ignore[assignment]
from proa.tensor.einsum import einsum as einsum
from proa.tensor.elementary import *  # type: ignore[assignment]
from proa.tensor.linalg import *  # type: ignore[assignment]
from proa.tensor.logic import *  # type: ignore[assignment]
from proa.tensor.manipulation import *  # type: ignore[assignment]
from proa.tensor.math import *  # type: ignore[assignment]
from proa.tensor.placing import *  # type: ignore[assignment]
from proa.tensor.random import *  # type: ignore[assignment]
from proa.tensor.running import *  # type: ignore[assignment]
from proa.tensor.search import *  # type: ignore[assignment]
from proa.tensor.stat import *  # type: ignore[assignment]

if [_name for _name in _os.environ if _name.startswith("FLAGS_")]:
    _importlib.import_module("proa.framework.flags").read_environment()
