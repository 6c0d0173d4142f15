"""Ops by the names that the reference gave them in 2.x, called as its functions called them.

`_legacy_C_ops.matmul_v2(x, y, "trans_x", False, "trans_y", True)`: tensors first, then names and values of attributes.
Attributes that choose a library or a device have no effect. What such an op has as second results beside the one that
programs use (shapes, masks, statistics) is None, unless it is said otherwise.

The names stand in the schemas (`aliases`, docs/schema.md); what is more than a formula in proa.framework.reference_ops. An
op that has one name and the same arguments in both needs no word anywhere.
"""

import functools as _functools

from proa import _C
from proa._generated import aliases as _aliases
from proa.framework.names import MissingName as _MissingName
from proa.framework.reference_ops import OPS as _OPS

_IGNORED = ("use_cudnn", "use_mkldnn", "use_xpu", "op_device", "op_role", "name", "fuse_relu_before_depthwise_conv",
            "workspace_size_MB", "exhaustive_search", "use_quantizer", "mkldnn_data_type", "x_data_format",
            "y_data_format", "use_addto", "padding_algorithm", "is_sparse", "is_distributed", "remote_prefetch")  # fmt: skip


def _taken(name, arguments):
    """(tensors and other leading values, attributes)."""
    cut = next((i for i, value in enumerate(arguments) if isinstance(value, str)), len(arguments))
    rest = arguments[cut:]
    if len(rest) % 2 or not all(isinstance(key, str) for key in rest[::2]):
        raise _C.located(TypeError(f"{name}: give tensors, then names and values of attributes"))
    attributes = dict(zip(rest[::2], rest[1::2]))
    return list(arguments[:cut]), {key: value for key, value in attributes.items() if key not in _IGNORED}


def _find(name):
    """The function of (tensors, attributes); None if there is none."""
    if name.startswith("_"):
        return None
    if name in _OPS:
        return _OPS[name]
    return getattr(_aliases if name in _aliases.NAMES else _C.ops, name, None)


def __getattr__(name):
    function = _find(name)
    if function is None:
        raise _MissingName(__name__, name)

    @_functools.wraps(function)
    def call(*arguments):
        tensors, attributes = _taken(name, arguments)
        try:
            return function(*tensors, **attributes)
        except TypeError as error:
            if "unexpected keyword argument" not in str(error):
                raise
            raise _C.located(TypeError(f"_C_ops.{name}: {str(error).partition('() ')[2] or error}")) from None

    call.__name__ = call.__qualname__ = name
    return call


def __dir__():
    ops = {name for name in dir(_C.ops) if not name.startswith("_")}
    return sorted({*_OPS, *_aliases.NAMES, *ops})
