"""What a function returns of which only the run knows the kind: a tensor here, None or a tuple there.

Both ways of a statement give values of one kind. Where what they return is not, each way gives a value of every kind, with
stand-ins for those that it does not return, and the number of the one that it does. Who calls the recorded function gets that
one alone, and so does who calls what `jit.save` wrote; code that is recorded cannot go on with what has no kind, and files of other
formats have no way to say it: there it is an error.
"""

import dataclasses

from proa import _C
from proa.jit import structure
from proa.jit.dy2static.values import built, flat, is_number, nothing, tensor_of


@dataclasses.dataclass
class Alternatives:
    """One of several values, by a number: an int, or int64 []. `why` says what an error says of it."""

    which: object
    values: tuple

    why = ""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise _C.located(TypeError(self.why))


def _kind(value):
    """What two values have in common that both ways may give as one; None for any."""
    tree, leaves = flat(value)
    marks = []
    for leaf in leaves:
        if isinstance(leaf, _C.Tensor):
            marks.append((leaf.dtype, len(leaf.shape)))
        else:
            marks.append(type(leaf) if is_number(leaf) else structure.Constant(leaf))
    return tree, tuple(marks)


def _parts(value):
    return value.values if isinstance(value, Alternatives) else (value,)


def merged(known, values):
    """Values of all kinds that some values may be of, the known ones first."""
    every, kinds = list(known), [_kind(v) for v in known]
    for part in (part for value in values for part in _parts(value)):
        kind = _kind(part)
        if kind not in kinds:
            every.append(part)
            kinds.append(kind)
    return every


def lifted(value, known, why):
    """A value as Alternatives of known kinds; the value itself if one of its kinds is not known."""
    kinds = [_kind(v) for v in known]
    parts = {}
    places = []
    for part in _parts(value):
        kind = _kind(part)
        if kind not in kinds:
            return value
        places.append(kinds.index(kind))
        parts[places[-1]] = part
    which = places[0]
    if isinstance(value, Alternatives):
        which = value.which
        if not isinstance(which, int):
            which = _C.ops.reshape(
                _C.ops.gather(_C.to_tensor(places, dtype="int64"), _C.ops.reshape(which, [1]), 0), []
            )
        else:
            which = places[which]
    return _made(which, [parts[i] if i in parts else _stand_in(v) for i, v in enumerate(known)], why)


def _stand_in(value):
    tree, leaves = flat(value)
    return built(tree, [nothing(leaf) for leaf in leaves])


def _made(which, values, why):
    made = Alternatives(which, tuple(values))
    made.why = why
    return made


def one_of(number, values, why):
    """One of several values, whatever their kinds, by an int64 tensor []."""
    return _made(number, values, why)


def or_none(returned, value, why):
    """`value` where a bool tensor holds, else None."""
    every = merged([None], [value])
    some = lifted(value, every, why)
    which = _C.ops.where(returned, tensor_of(some.which, _C.int64), _C.to_tensor(0, dtype="int64"))
    return _made(which, some.values, why)


def settled(value):
    """A value as it is; Alternatives are an error."""
    if isinstance(value, Alternatives):
        raise _C.located(TypeError(value.why))
    return value
