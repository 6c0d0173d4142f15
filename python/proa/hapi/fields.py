"""Which values of a batch a network gets: what a batch holds, and what `forward` takes."""

import inspect

import numpy as np

from proa import _C

__all__ = ["flat", "listed", "parameters"]


def listed(value):
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _is_structure(value):
    """Whether it holds tensors or arrays; a list of numbers is itself a field."""
    if isinstance(value, (_C.Tensor, np.ndarray)):
        return False
    if isinstance(value, (list, tuple)):
        return any(isinstance(v, (_C.Tensor, np.ndarray)) or _is_structure(v) for v in value)
    return isinstance(value, dict)


def flat(batch):
    """The fields of a batch, which may come as ([inputs...], [labels...]) or by names."""
    fields = []
    values = [batch[key] for key in sorted(batch)] if isinstance(batch, dict) else listed(batch)
    for value in values:
        if _is_structure(value):
            fields.extend(flat(value))
        else:
            fields.append(value)
    return fields


def parameters(network):
    """(names, how many have no default) of what `forward` takes by position; names is None where it takes any number."""
    try:
        taken = inspect.signature(network.forward).parameters.values()
    except (AttributeError, TypeError, ValueError):
        return None, 0
    named = [p for p in taken if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    least = sum(p.default is p.empty for p in named)
    return (None if any(p.kind == p.VAR_POSITIONAL for p in taken) else [p.name for p in named]), least
