"""How a block ended: at its end (None), by break, continue or return, or by one of these that only the run knows."""

from proa import _C


class _Jump:
    __slots__ = ("code", "name")

    def __init__(self, name, code):
        self.name, self.code = name, code

    def __repr__(self):
        return self.name


BREAK, CONTINUE = _Jump("break", 1), _Jump("continue", 2)
RAISED = _Jump(
    "raise", 4
)  # of one way: what follows is that of the other ways, as the run ends with the error (checks.py)


class Returned:
    """`return value`."""

    __slots__ = ("value",)
    code = 3

    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return "return"


class Mixed:
    """One of several, by a tensor: 0 at the end, 1 break, 2 continue, 3 return.

    Args:
        code (Tensor): int64 [].
        codes (set): which it may be.
        payload: the value of `return`, whatever it is for other codes.
    """

    __slots__ = ("code", "codes", "payload")

    def __init__(self, code, codes, payload=None):
        self.code, self.codes, self.payload = code, codes, payload


def codes_of(signal):
    """The codes that a signal may have."""
    if signal is None:
        return {0}
    return signal.codes if isinstance(signal, Mixed) else {signal.code}


def code_tensor(signal):
    """The code as a tensor."""
    if isinstance(signal, Mixed):
        return signal.code
    return _C.to_tensor(0 if signal is None else signal.code)


def payload_of(signal):
    """(whether there is one, the value of `return`)."""
    if isinstance(signal, Mixed):
        return 3 in signal.codes, signal.payload
    return isinstance(signal, Returned), getattr(signal, "value", None)


def ends(signal):
    """Whether nobody reads what names are where this is the signal."""
    return codes_of(signal) in ({3}, {4})


def signal_of(code, codes, payload):
    """The signal of a tensor of codes."""
    codes = codes - {4} or codes
    if len(codes) > 1:
        return Mixed(code, codes, payload)
    (only,) = codes
    return Returned(payload) if only == 3 else (None, BREAK, CONTINUE, None, RAISED)[only]


def at_end(mixed):
    """A bool tensor: the block came to its end."""
    return _C.ops.equal(mixed.code, _C.to_tensor(0))
