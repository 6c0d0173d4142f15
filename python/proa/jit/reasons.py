"""Why a function is recorded once more: what its recordings differ in from a call, as text."""

from proa.jit import context, structure
from proa.jit.sizes import fits


def reason(recordings, dropped, call, key):
    """Why no recording so far serves this call: by what the one that is most like it differs."""
    best = None
    for recording in recordings:
        state, tree, kinds = recording.key
        if tree != key[1]:
            rank, why = 0, f"other arguments: {_difference(tree, key[1])}"
        elif kinds != key[2]:
            rank, why = 1, f"other tensors: {_tensor_difference(call, kinds, key[2])}"
        elif state != key[0]:
            rank, why = 2, f"other context: {', '.join(context.differences(state, key[0]))}"
        elif not fits(recording.sizes, call.sizes):
            rank, why = 3, f"other sizes: {sizes_text(call.sizes)}, recorded for {sizes_text(recording.sizes)}"
        else:
            rank, why = 4, recording.broken or "the recording does not hold any more"
        if best is None or rank >= best[0]:
            best = rank, why
    if best is None:
        return "the first call" if not dropped else "earlier recordings were dropped"
    return best[1]


def sizes_text(sizes):
    """Sizes of tensors as text; ? for an open one."""
    return ", ".join("[" + ", ".join("?" if n < 0 else str(n) for n in s) + "]" for s in sizes) or "no tensors"


def _difference(a, b):
    if isinstance(a, structure.Constant) and isinstance(b, structure.Constant):
        return f"{b!r}, recorded for {a!r}"
    same = hasattr(a, "items") and hasattr(b, "items") and (a.type, a.keys) == (b.type, b.keys)
    if same and len(a.items) == len(b.items):
        return next(_difference(x, y) for x, y in zip(a.items, b.items, strict=True) if x != y)
    return "another structure"


def _tensor_difference(call, old, new):
    i = next(i for i, (a, b) in enumerate(zip(old, new, strict=True)) if a != b)
    if old[i][0] != new[i][0]:
        return f"tensor {i} is {new[i][0].name}, recorded for {old[i][0].name}"
    return f"tensor {i} {'does not require' if new[i][1] else 'requires'} a gradient"
