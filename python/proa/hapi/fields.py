"""Which values of a batch a network gets: what a batch holds, and what `forward` takes."""

import inspect

import numpy as np

from proa import _C

__all__ = ["fields_of", "listed", "parameters", "stacked", "tensors"]


def listed(value):
    """None as no, and one as one, element of a list."""
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


def tensors(values):
    """A tensor, an array or a list of such as a list of tensors."""
    with _C.eager_mode():
        return [v if isinstance(v, _C.Tensor) else _C.to_tensor(np.asarray(v)) for v in listed(values)]


def fields_of(batch):
    """The fields of a batch as tensors; it may come as ([inputs...], [labels...]) or by names."""
    if type(batch) in (list, tuple):
        for value in batch:
            if not isinstance(value, _C.Tensor):
                break
        else:
            return list(batch)
    return tensors(_flat(batch))


def _flat(batch):
    fields = []
    for value in [batch[key] for key in sorted(batch)] if isinstance(batch, dict) else listed(batch):
        if _is_structure(value):
            fields.extend(_flat(value))
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


def stacked(number, parts):
    """What output `number` of `Model.predict` is for all batches, of its parts."""
    if not isinstance(parts[0], np.ndarray):
        raise _C.located(
            TypeError(
                f"Model.predict: stack_outputs puts arrays together, but output {number} is a {type(parts[0]).__name__}; leave "
                "it out for a list of batches"
            )
        )
    return np.concatenate(parts)
