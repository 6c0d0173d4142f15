"""Whether a list, dict or object is the concern of one call of a converted function: nobody has it when the call is over."""

import sys

from proa.jit.dy2static import functions, writes


def ends_with_call(name, thing, given):
    """Whether what a variable of a function leads to was made in this call of it, and is held by nobody around the call.

    Args:
        name (str): of the variable.
        thing: it, or what it holds.
        given (list): objects that the call gives.
    """
    frame = sys._getframe(1)
    while frame is not None and not (functions.is_made(frame.f_code) and name in frame.f_code.co_cellvars):
        frame = frame.f_back
    if frame is None:
        return False
    above, frame = list(given), frame.f_back
    while frame is not None:
        above += frame.f_locals.values()
        if frame.f_code.co_name == "_converted_call":  # who records: what it was given was made for the recording
            break
        frame = frame.f_back
    return id(thing) not in writes.reached(above)
