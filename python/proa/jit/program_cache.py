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

    def _recordings(self):
        functions = list(functions_alive) if self._functions is None else self._functions
        return [r for f in functions for r in list(f._recordings) if r.trace is not None]

    def concrete_programs(self):
        """What was recorded, a list: each with its `program`, `inputs` and `outputs`."""
        return [r.trace for r in self._recordings()]

    def last(self):
        """What was used last: (what it holds for, (concrete program, what is called)).

        Raises:
            RuntimeError: nothing is recorded yet.
        """
        recordings = self._recordings()
        if not recordings:
            raise _C.located(RuntimeError("ProgramCache.last: nothing is recorded yet; call the function first"))
        last = max(recordings, key=lambda r: r.used)
        return last.key, (last.trace, last.module)

    def __len__(self):
        return len(self.concrete_programs())
