"""Tracebacks that show the lines of users: without the frames of the runtime between the blocks of a function."""

import os

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def of_user(error):
    """The error without those frames; its cause and context stay."""
    steps = []
    step = error.__traceback__
    while step is not None:
        steps.append(step)
        step = step.tb_next
    kept = [s for s in steps if not s.tb_frame.f_code.co_filename.startswith(_HERE)]
    if kept:
        for one, following in zip(kept, [*kept[1:], None], strict=True):
            one.tb_next = following
        error.__traceback__ = kept[0]
    return error
