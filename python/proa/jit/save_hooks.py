"""Functions that run before each `jit.save`, as those of libraries that prepare layers for it (quantization, sparsity)."""

from proa import _C
from proa.nn.layer.layers import HookRemoveHelper

__all__ = ["clear_save_pre_hooks", "register_save_pre_hook", "remove_save_pre_hook", "run"]

_hooks: dict = {}  # by a number, in the order of registration


def register_save_pre_hook(hook):
    """Lets a function run before each `jit.save`, on what is about to be saved.

    Args:
        hook (Callable): takes (layer, input_spec, configs); configs are the keyword arguments of `save`. What it gives is
            not used; an error of it is that of `save`, which then writes nothing.

    Returns:
        HookRemoveHelper: call its `remove()` to take the hook away.

    Raises:
        TypeError: hook cannot be called.

    Examples:
        >>> import os, tempfile
        >>> from proa.fluid.dygraph.jit import _register_save_pre_hook
        >>> handle = _register_save_pre_hook(lambda layer, input_spec, configs: print("saves", type(layer).__name__))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     spec = [proa.static.InputSpec([None, 2])]
        ...     proa.jit.save(proa.nn.Linear(2, 3), os.path.join(folder, "net"), spec)
        saves Linear
        >>> handle.remove()
    """
    if not callable(hook):
        raise _C.located(TypeError(f"register_save_pre_hook: hook must be a function, not {type(hook).__name__}"))
    helper = HookRemoveHelper(_hooks)
    _hooks[helper._hook_id] = hook
    return helper


def remove_save_pre_hook(hook):
    """Takes a function away; one that is not there is no error."""
    for key in [key for key, known in _hooks.items() if known is hook]:
        del _hooks[key]


def clear_save_pre_hooks():
    """Takes all functions away."""
    _hooks.clear()


def run(layer, input_spec, configs):
    """The hooks, in the order of their registration."""
    for hook in list(_hooks.values()):
        hook(layer, input_spec, configs)
