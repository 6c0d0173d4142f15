"""Programs in several scopes: the same operations on other parameters.

A program holds the tensors that were made while it was built: its own scope's. Who runs its startup program in another scope gets
values of that scope (`Scope._own`), and from then on a run there works on a copy of the program that captures those.
"""

from proa import _C
from proa.framework import recorded_rates

__all__ = ["bound", "copied", "value_in"]


def value_in(scope, tensor):
    """What a captured tensor is in a scope: the scope's own value of that name, or the tensor itself."""
    return scope._own.get(tensor.name, tensor) if scope._own else tensor


def bound(program, scope):
    """The recorded program that a run of `program` in a scope runs."""
    if not scope._own:
        return program._program
    captured = program._program.captured
    if not any(tensor.name in scope._own for _, tensor in captured):
        return program._program
    version = program._program.num_operations, len(captured), scope._changes
    known = program._bound.get(scope)
    if known is None or known[0] != version:
        known = program._bound[scope] = version, _copy(program._program, captured, scope)
    return known[1]


def copied(recorded, scope):
    """A copy of a recorded program with the values of a scope, and the names of what it captures."""
    named, taken = recorded.clone(), set()
    for _, tensor in named.captured:
        if tensor.persistable and tensor.name and tensor.name not in taken:
            taken.add(tensor.name)
            named.capture(tensor, tensor.name)
    captured = named.captured
    if scope._own and any(tensor.name in scope._own for _, tensor in captured):
        return _copy(named, captured, scope)
    return named


def _copy(recorded, captured, scope):
    copy = recorded.clone()
    slots = copy.module([], [])
    shared = recorded_rates.tensors()
    elements = {}  # of the scope's own tensors, by the elements of those in the program
    for number, (name, tensor) in enumerate(captured):
        own = scope._own.get(tensor.name)
        if own is None and tensor.persistable and not any(tensor is rate for rate in shared):
            # What no startup program starts begins as it is where it was made. A rate is moved by its schedule for all.
            own = scope._own[tensor.name] = like(tensor, tensor)
        if own is not None:
            elements[tensor.data_ptr(), tuple(tensor.shape)] = own
            _put(copy, slots, number, name, tensor, own)
    for number, (name, tensor) in enumerate(captured):
        # A gradient's formula keeps a parameter by another handle on the same elements.
        own = elements.get((tensor.data_ptr(), tuple(tensor.shape)))
        if own is not None and tensor.name not in scope._own and tensor.size:
            _put(copy, slots, number, name, tensor, own.detach())
    return copy


def _put(copy, slots, number, name, tensor, own):
    if not name:
        name = f"{tensor.name}@{number}"
        copy.capture(tensor, name)
    slots.set_captured(name, own)


def like(tensor, value):
    """A value as the tensor of a scope: with the name and the settings of the one that the program captures."""
    with _C.eager_mode():
        own = value.detach().astype(tensor.dtype).clone()
    own.name = tensor.name
    own.persistable = True
    own.stop_gradient = tensor.stop_gradient
    return own
