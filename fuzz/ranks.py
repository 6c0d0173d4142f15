"""Each operand of each op at ranks and sizes that its sample does not have, one at a time.

What an op's kernel relies on - that a bias has one dim, that an index has as many elements as there are rows - its
inference must have checked, whoever calls it: public functions mostly give right ranks, files and `_C.ops` need not.
Random calls find most of what is missing; here is nothing random, and nothing is left out.
"""

from __future__ import annotations

import itertools

from fuzz import case as cases
from fuzz.values import FLOATING, TensorValue

KIND = "ranks"
# An operand's dims are one of these, instead of its own.
_DIMS = ((), (0,), (1,), (3,), (2, 3), (3, 0), (2, 3, 4), (1, 1, 1, 1), (2, 1, 3, 1, 2))
# `record_open` records with unknown sizes, so that what is wrong is seen when the program runs.
_MODES = ("call", "record_open", "differentiate")


class Generator:
    """All cases, in the order of the ops' names; `case` as of `generate.Generator`."""

    def __init__(self, corpus: dict):
        # Of each op the sample with the most operands, of which some may be left out.
        seeds: dict[str, cases.Case] = {}
        for right in map(cases.parse, corpus["seeds"]["op"]):
            if right.target not in seeds or _operands(right) > _operands(seeds[right.target]):
                seeds[right.target] = right
        self._cases = [c for _, right in sorted(seeds.items()) for c in _changed(right)]

    def __len__(self) -> int:
        return len(self._cases)

    def case(self, number: int) -> str:
        return str(self._cases[number].with_(mode=_MODES[number % len(_MODES)]))

    def texts(self, mode: str):
        """All cases in one way of calling."""
        return (str(c.with_(mode=mode)) for c in self._cases)


def _operands(c: cases.Case) -> int:
    return sum(isinstance(v, TensorValue) for v in c.leaves())


def _changed(right: cases.Case):
    """The call with each tensor in turn at each of the dims."""
    for operand in range(_operands(right)):
        for dims in _DIMS:
            seen = itertools.count()

            def change(v, seen=seen, operand=operand, dims=dims):
                if not isinstance(v, TensorValue):
                    return v
                v = v.with_(grad=v.dtype in FLOATING)
                return v.with_(dims=dims) if next(seen) == operand else v

            yield right.rebuilt(change)
