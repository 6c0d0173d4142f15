"""Passes by their names."""

import proa.distributed.passes.training  # noqa: F401, which registers its own
from proa import _C
from proa.distributed.passes.base import registered

__all__ = ["new_pass"]


def new_pass(name, pass_attrs=None):
    """A pass by its name.

    Args:
        name (str): "recompute", "gradient_merge", "sharding" or "amp" (also as "auto_parallel_..."), "optimize_cast", or a registered one.
        pass_attrs (dict, optional): its settings.

    Raises:
        ValueError: there is none of this name.

    Examples:
        >>> proa.distributed.passes.new_pass("gradient_merge", {"k_steps": 2}).get_attr("k_steps")
        2
    """
    passes = registered()
    if name not in passes:
        raise _C.located(
            ValueError(
                f"new_pass: there is no pass {name!r}; there are: {', '.join(sorted(passes))}. Operations are fused when a program is run"
            )
        )
    made = passes[name]()
    for key, value in (pass_attrs or {}).items():
        made.set_attr(key, value)
    return made
