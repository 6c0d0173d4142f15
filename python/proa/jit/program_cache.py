"""The recordings of converted functions, to be looked at."""

import weakref

from proa import _C

functions_alive: weakref.WeakSet = weakref.WeakSet()


class ProgramCache:
    """The recordings of a converted function, or of all that are alive.

    Examples:
        >>> double = proa.jit.to_static(lambda x: x + x)
        >>> before = len(proa.jit.ProgramTranslator().get_program_cache())
        >>> y = double(proa.ones([2]))
        >>> len(proa.jit.ProgramTranslator().get_program_cache()) - before
        1
    """

    def __init__(self, function=None):
        self._functions = None if function is None else [function]

    def _of(self):
        return list(functions_alive) if self._functions is None else self._functions

    def _recordings(self):
        return [r for f in self._of() for r in list(f._recordings) if r.trace is not None]

    def _of_specs(self):
        """What `get_concrete_program` recorded: (specs, concrete program)."""
        return [item for f in self._of() for item in list(f._of_specs.items())]

    def concrete_programs(self):
        """What was recorded, a list: each with its `program`, `inputs` and `outputs`."""
        return [r.trace for r in self._recordings()] + [trace for _, trace in self._of_specs()]

    def last(self):
        """What was used last: (what it holds for, (concrete program, what is called)).

        Raises:
            RuntimeError: nothing is recorded yet.
        """
        recordings, of_specs = self._recordings(), self._of_specs()
        if not recordings and of_specs:
            key, trace = of_specs[-1]
            return key, (trace, trace.module())
        if not recordings:
            raise _C.located(RuntimeError("ProgramCache.last: nothing is recorded yet; call the function first"))
        last = max(recordings, key=lambda r: r.used)
        return last.key, (last.trace, last.module)

    def __len__(self):
        return len(self.concrete_programs())
