"""Runs a case in this process and says what is wrong with the answer.

An answer is a result or an error of a documented kind whose message is for people. What ends the process is judged by
`fuzz.supervisor`, from outside.
"""

from __future__ import annotations

import dataclasses
import re

from fuzz import replay

_DOCUMENTED = (
    TypeError,
    ValueError,
    IndexError,
    OverflowError,
    MemoryError,
    NotImplementedError,
    RuntimeError,
    KeyError,
    OSError,
)
# What only a fault inside says.
_INTERNAL = re.compile(
    r"std::|basic_string|vector::|_M_|bad_alloc|bad_variant|formula of an op is wrong|Broken promise|Check failed|"
    r"could not (create|execute)|returned (NULL|a result with)|absl::|"
    r"\bstoi\b|bad_function_call|map::at|unordered_map"
)
# Python's own words, where a function of ours should have spoken.
_UNCLEAR = re.compile(
    r"incompatible function arguments|[Uu]nable to cast|object has no attribute|object is not (subscriptable|iterable|callable)|not supported between|has no len\(\)|"
    r"unsupported operand|list index out of range|tuple index out of range|not enough values to unpack|"
    r"too many values to unpack|cannot unpack|object cannot be interpreted|referenced before assignment|"
    r"must be real number|bad operand type|can only concatenate|unhashable type|pop from empty|"
    r"local variable|division by zero|^0$|^$|min\(\) |max\(\) |string indices|invalid literal"
)


# What backward may say of a call that was right: the user changed what it needs, or asks what has no answer.
_RIGHT_IN_BACKWARD = re.compile(r"was changed in place|is singular|rows that occur twice|NotImplemented")


@dataclasses.dataclass
class Outcome:
    """`kind`: ok, refused, or what was found: internal, differs, backward, unclear."""

    kind: str
    says: str = ""

    @property
    def found(self) -> bool:
        return self.kind not in ("ok", "refused")


def run(text: str) -> Outcome:
    """The outcome of a case; the process is then as it was before (`replay.reset`)."""
    try:
        eval(compile(text, "case", "eval"), vars(replay))  # pylint: disable=eval-used
    except replay.Differs as e:
        return Outcome("differs", str(e))
    except replay.BackwardFailed as e:
        if _RIGHT_IN_BACKWARD.search(str(e)):
            return Outcome("refused", "backward")
        return Outcome("internal" if _INTERNAL.search(str(e)) else "backward", str(e))
    except RecursionError as e:
        return Outcome("internal", f"RecursionError: {e}")
    except Exception as e:  # pylint: disable=broad-except
        said = f"{type(e).__name__}: {_first_line(e)}"
        if isinstance(e, SystemError) or _INTERNAL.search(str(e)):
            return Outcome("internal", said)
        if not isinstance(e, _DOCUMENTED) or _UNCLEAR.search(str(e)):
            return Outcome("unclear", said)
        return Outcome("refused", type(e).__name__)
    finally:
        replay.reset()
    return Outcome("ok")


def _first_line(e) -> str:
    return (str(e).splitlines() or [""])[0][:300]


def signature(kind: str, says: str, target: str) -> str:
    """What findings of one cause have in common: the text without its numbers and names in quotes."""
    says = re.sub(r"'[^']*'|\"[^\"]*\"", "'_'", says)
    return f"{kind} {target}: " + re.sub(r"-?\d[\d.e+-]*", "N", says)[:100]
