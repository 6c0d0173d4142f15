"""Runs that need nothing but their feeds: what a first run looked up, for the next ones of the same fetches.

A run of `Executor` asks much of a program that most have not: other scopes, readers, prints, sequences, pipelines. Where a run
found none of it, the next one checks that it is still so, in as little time as that takes.
"""

from proa import _C
from proa.framework import recorded_rates
from proa.static.scope import Scope

__all__ = ["Ready", "key_of"]

_MOST = 32  # fetch lists of a program
_Tensor = _C.Tensor


def key_of(fetch_list, return_numpy):
    """What a Ready of a program is kept by."""
    return return_numpy, *map(id, fetch_list)


class Ready:
    """A program with the tensors that are fetched."""

    __slots__ = ("_fetches", "_held", "_operations", "_ranks", "_recorded", "_sequences")

    def __init__(self, program, fetch_list, fetches):
        self._recorded, self._operations = program._program, program._program.num_operations
        self._held, self._fetches = list(fetch_list), fetches  # held: so that no other object gets its id
        self._ranks = {name: program._program.find(name).ndim for name in program._program.input_names}
        self._sequences = len(program._levels)

    def keep(self, program, return_numpy):
        """Keeps it for later runs."""
        if len(program._ready) >= _MOST:
            program._ready.clear()
        program._ready[key_of(self._held, return_numpy)] = self

    def run(self, program, feed, scope):
        """What is fetched, or None where the program, what is fed or the scope asks for more."""
        recorded = program._program
        if (
            recorded is not self._recorded
            or recorded.num_operations != self._operations
            or type(scope) is not Scope
            or scope._own
            or not is_plain(program)
            or len(program._levels) != self._sequences
        ):
            return None
        ranks, arrays = self._ranks, False
        for name, value in feed.items():
            kind = type(value)
            if kind is not _Tensor:
                if kind.__name__ != "ndarray":
                    return None
                arrays = True
            if ranks.get(name) != value.ndim:
                return None
        recorded_rates.refresh()
        with _C.eager_mode():
            if arrays:
                feed = {name: _C.to_tensor(value) for name, value in feed.items()}
            return recorded.run(feed, self._fetches, False)


def is_plain(program):
    """Whether a run is what the operations do, and nothing else."""
    return not (program._prints or program._after_run or program._readers or program._pipeline or program._starts)
