"""Whether two outputs of a program say the same, numbers within a tolerance."""

import re

_NUMBER = re.compile(r"[-+]?(?:\d+\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|\binf\b|\bnan\b)")


def first_difference(output, golden, relative=3e-4, absolute=3e-5):
    """A sentence about the first line that differs, or "" if none does.

    Text and integers must be equal; numbers with a point within
    `absolute + relative * |golden|`, and not finer than their printed digits.
    """
    ours, theirs = output.splitlines(), golden.splitlines()
    for count, (line, expected) in enumerate(zip(ours, theirs), 1):
        if _NUMBER.sub("#", line) != _NUMBER.sub("#", expected):
            return f"line {count}: {line!r}, expected {expected!r}"
        for got, want in zip(_NUMBER.findall(line), _NUMBER.findall(expected)):
            digits = len(want.partition(".")[2].partition("e")[0])
            tolerance = absolute + relative * abs(float(want)) + 1.01 * 10.0**-digits
            if not (got == want or abs(float(got) - float(want)) <= tolerance):
                return f"line {count}: {got} instead of {want} in {line!r}"
    if len(ours) != len(theirs):
        return f"{len(ours)} lines instead of {len(theirs)}: {(ours + theirs)[min(len(ours), len(theirs)) :][:1]}"
    return ""
