"""Modes of eager execution."""

import contextlib

from proa import _C
from proa.autograd import grad
from proa.framework import enable_grad as enable_grad
from proa.framework import no_grad
from proa.framework.compat import disable_static, enable_static, in_dynamic_mode
from proa.framework.names import missing as _missing

__all__ = ["disable_dygraph", "enable_dygraph", "enabled", "grad", "guard", "no_grad", "no_grad_", "to_variable"]

__getattr__ = _missing(__name__)

no_grad_ = no_grad
enabled = in_dynamic_mode


@contextlib.contextmanager
def guard(place=None):
    """Inside, ops run at once (on `place`, if given).

    Examples:
        >>> with proa.fluid.dygraph.guard():
        ...     x = proa.fluid.dygraph.to_variable([1.0, 2.0])
        >>> x.shape
        [2]
    """
    device = _C.get_device()
    if place is not None:
        _C.set_device(place)
    try:
        with _C.eager_mode():
            yield
    finally:
        if place is not None:
            _C.set_device(device)


def enable_dygraph(place=None):
    """Ops run at once from now on."""
    disable_static(place)


def disable_dygraph():
    """Ops are recorded from now on."""
    enable_static()


def to_variable(value, name=None, zero_copy=None, dtype=None):
    """A tensor of an array, a list, a number; a tensor stays as it is.

    Args:
        value: what it holds.
        name (str, optional): its name.
        zero_copy (bool, optional): accepted.
        dtype (str, optional): of the elements.
    """
    if isinstance(value, _C.Tensor):
        return value if dtype is None else value.astype(dtype)
    with _C.eager_mode():
        tensor = _C.to_tensor(value, dtype=dtype)
    if name is not None:
        tensor.name = name
    return tensor


@contextlib.contextmanager
def program_desc_tracing_guard(enable):
    """Nothing: kept for programs that trace by hand."""
    yield


@contextlib.contextmanager
def param_guard(parameters):
    """Nothing: parameters are what they are in programs too."""
    yield


_switch_tracer_mode_guard_ = _switch_declarative_mode_guard_ = program_desc_tracing_guard
