"""Runs that need nothing but their feeds: what a first run looked up, for the next ones of the same fetches.

A run of `Executor` asks much of a program that most have not: readers, prints, sequences, pipelines. Where a run found none of it,
the next one checks that it is still so, in as little time as that takes: by the objects that are fetched, or their names, whether it
prunes, and the scope, where that has values of its own.
"""

import weakref

from proa import _C
from proa.framework import recorded_rates
from proa.static.scope import Scope

__all__ = ["Ready", "key_of"]

_MOST = 32  # fetch lists of a program
_Tensor = _C.Tensor


def key_of(fetch_list, return_numpy, prune, scope):
    """What a Ready of a program is kept by."""
    own = id(scope) if getattr(scope, "_own", None) else 0
    return return_numpy, prune, own, *[item if type(item) is str else id(item) for item in fetch_list]


class Ready:
    """A program with the tensors that are fetched.

    Args:
        program (Program): whose run looked them up.
        fetch_list (list): as it was given.
        fetches (list): the tensors that are fetched for it.
        recorded (_C.Program): what runs: that of the program, or its copy for the values of the scope.
        scope (Scope): of the run.
        prune (bool): whether it leaves out what the fetches do not need.
    """

    __slots__ = ("_changes", "_fetches", "_held", "_operations", "_prune", "_ranks", "_recorded", "_runs", "_scope", "_sequences")  # fmt: skip

    def __init__(self, program, fetch_list, fetches, recorded, scope, prune):
        self._recorded, self._operations = program._program, program._program.num_operations
        self._runs, self._prune = recorded, prune
        self._held, self._fetches = list(fetch_list), fetches  # held: so that no other object gets its id
        self._ranks = {name: program._program.find(name).ndim for name in program._program.input_names}
        self._sequences = len(program._levels)
        self._scope = weakref.ref(scope) if scope._own else None
        self._changes = scope._changes

    def keep(self, program, return_numpy, scope):
        """Keeps it for later runs."""
        if len(program._ready) >= _MOST:
            program._ready.clear()
        program._ready[key_of(self._held, return_numpy, self._prune, scope)] = self

    def run(self, program, feed, scope):
        """What is fetched, or None where the program, what is fed or the scope asks for more."""
        recorded = program._program
        if (
            recorded is not self._recorded
            or recorded.num_operations != self._operations
            or type(scope) is not Scope
            or (scope._own if self._scope is None else self._scope() is not scope or scope._changes != self._changes)
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
        if not arrays:  # the program's operations run, whatever mode it is
            return self._runs.run(feed, self._fetches, self._prune)
        with _C.eager_mode():
            feed = {name: _C.to_tensor(value) for name, value in feed.items()}
            return self._runs.run(feed, self._fetches, self._prune)


def is_plain(program):
    """Whether a run is what the operations do, and nothing else."""
    return not (program._prints or program._after_run or program._readers or program._pipeline or program._starts)
