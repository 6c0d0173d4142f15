"""`try` with handlers, in code that is recorded: what a recording refuses is no error of the user's, and passes handlers by.

    try:                           try:
        y = f(x)        ->             with _proa_.guarded():
    except Exception:                      y = f(x)
        y = None                   except _proa_.handled(Exception):
                                       y = None

A handler that took such an error would be recorded in the place of what the function does.
"""

import os
import sys

from proa.jit.dy2static import checks, undefined, wishes

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
_ALL = (Exception, KeyboardInterrupt, SystemExit, GeneratorExit)


class Refused(checks.Unfinished):
    """Takes an error past the handlers of users; who records raises the error (`unwrapped`).

    Args:
        error (Exception): it.
    """

    def __init__(self, error):
        super().__init__(error)
        self.error = error


def unwrapped(error):
    """The error that passed the handlers; others as they are."""
    return error.error if isinstance(error, Refused) else error


class guarded(checks.guarding):
    """Around the body of a `try` with handlers."""

    def __exit__(self, kind, error, trace):
        super().__exit__()
        if isinstance(error, Exception) and _is_refusal(error):
            raise Refused(error) from None


class finishing:
    """Around what `finally` does: where the recording ends before, its values are no more, and what it raises is left aside."""

    def __enter__(self):
        error = sys.exc_info()[1]
        step = getattr(error, "__traceback__", None)
        passes = step is not None and step.tb_frame is sys._getframe(1)
        self._is_over = passes and (isinstance(error, checks.Unfinished) or _is_refusal(error))

    def __exit__(self, kind, error, trace):
        return self._is_over and isinstance(error, Exception)


def handled(kind=None):
    """What a handler for a kind of errors, or for all of them, takes."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return tuple(part for k in kinds for part in (_ALL if k is None or k is BaseException else (k,)))


def _is_refusal(error):
    if wishes.is_asked(error) or getattr(error, "_proa_wish", None) or getattr(error, "_proa_loop", None):
        return True
    return undefined.missed(error)[0] is not None or _is_located(error)


def _is_located(error):
    """Whether this package raised it, by a sentence that begins with its kind: errors of the user's own calls do not."""
    step = error.__traceback__
    while step.tb_next is not None:
        step = step.tb_next
    return step.tb_frame.f_code.co_filename.startswith(_OWN) and str(error).startswith("(")
