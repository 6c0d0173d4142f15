"""Tracebacks that show the lines of users: without the frames of what records and of the runtime between blocks."""

import collections
import linecache
import os
import sys

_JIT = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_PACKAGE = os.path.dirname(os.path.dirname(_JIT)) + os.sep


def of_user(error):
    """The error without those frames; its cause and context stay."""
    steps = []
    step = error.__traceback__
    while step is not None:
        steps.append(step)
        step = step.tb_next
    kept = [s for s in steps if not s.tb_frame.f_code.co_filename.startswith(_JIT)]
    if kept:
        for one, following in zip(kept, [*kept[1:], None], strict=True):
            one.tb_next = following
        error.__traceback__ = kept[0]
    return error


def most_repeated(error):
    """The line outside of this package that the traceback of a recursion has most often: "file:line, in function: text"."""
    lines, step = collections.Counter(), error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            lines[code.co_filename, step.tb_lineno, code.co_name] += 1
        step = step.tb_next
    if not lines:
        return "a line of this package"
    (file, line, name), _ = lines.most_common(1)[0]
    return f"{os.path.basename(file)}:{line}, in {name}: {linecache.getline(file, line).strip()}"


def innermost(error):
    """The last line of the traceback that is outside of this package, "file:line, in function"; None if none is."""
    found, step = None, error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            found = f"{os.path.basename(code.co_filename)}:{step.tb_lineno}, in {code.co_name}"
        step = step.tb_next
    return found


def place_of(error):
    """(file, line) of the innermost line of the traceback that is outside of this package."""
    found, step = (None, None), error.__traceback__
    while step is not None:
        if not step.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            found = step.tb_frame.f_code.co_filename, step.tb_lineno
        step = step.tb_next
    return found


def line_of(frame):
    """ "file:line, in function" of a frame."""
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}, in {frame.f_code.co_name}"


def line_of_user():
    """`line_of` the innermost frame outside of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return line_of(frame)
