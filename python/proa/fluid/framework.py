"""Programs, variables and modes, under their old names; see also proa.framework.modes."""

import contextlib

from proa import _C
from proa.framework import core
from proa.framework.compat import in_dynamic_mode
from proa.framework.modes import *
from proa.framework.modes import _in_legacy_dygraph as _in_legacy_dygraph
from proa.framework.modes import _non_static_mode as _non_static_mode
from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert({
    "proa.static": "Program Variable cpu_places cuda_places default_main_program default_startup_program device_guard "
    "name_scope program_guard",
    "proa.static.block": "Block",
    "proa.framework": "EagerParamBase=Parameter ParamBase=Parameter Parameter",
    "proa.device": "is_compiled_with_cuda is_compiled_with_npu is_compiled_with_rocm is_compiled_with_xpu",
    "proa.utils": "deprecated require_version unique_name",
    "proa.fluid.lod_tensor": "LoDTensor",
    "proa.fluid.core": "is_compiled_with_cinn",
    "proa.framework.flags": "get_flags set_flags",
    "proa.io.loader": "_DataLoader=DataLoader",
})  # fmt: skip

__getattr__, __dir__ = _lazy(__name__, _HOMES)


def _current_expected_place():
    """Where ops run now."""
    return _C.Place(_C.get_device())


def _set_expected_place(place):
    """Says where ops run from now on."""
    _C.set_device(place)


def convert_np_dtype_to_dtype_(np_dtype):
    """The dtype of a NumPy dtype."""
    from proa.framework.dtype import as_dtype

    return as_dtype(np_dtype)


class _Tracer:
    """What eager mode is asked by programs that knew its tracer."""

    _train_mode = True

    @property
    def _has_grad(self):
        return _C.is_grad_enabled()

    def train_mode(self):
        """Accepted; each layer knows its own mode."""

    eval_mode = train_mode


_tracer = _Tracer()


def _dygraph_tracer():
    """The tracer in eager mode, None in static mode."""
    return _tracer if in_dynamic_mode() else None


@contextlib.contextmanager
def _dygraph_guard(tracer):
    """Inside, ops run at once if `tracer` is one."""
    if tracer is None:
        yield
        return
    with _C.eager_mode():
        yield


def _only(function, eager):
    import functools

    @functools.wraps(function)
    def call(*args, **kwargs):
        if in_dynamic_mode() != eager:
            mode = "eager mode, call paddle.disable_static()" if eager else "static mode, call paddle.enable_static()"
            raise _C.located(RuntimeError(f"{function.__name__}: works in {mode} first"))
        return function(*args, **kwargs)

    return call


def dygraph_only(function):
    """A function that works in eager mode only."""
    return _only(function, True)


def static_only(function):
    """A function that works in static mode only."""
    return _only(function, False)


def dygraph_not_support(function):
    """A function that works in static mode only."""
    return _only(function, False)


def _varbase_creator(type=None, name=None, shape=None, dtype=None, persistable=None, **kwargs):
    """An empty tensor."""
    from proa.fluid.layers.tensor import create_tensor

    return create_tensor(dtype or "float32", name, bool(persistable))


def _get_paddle_place(place):
    return _C.Place(place) if isinstance(place, str) else place
