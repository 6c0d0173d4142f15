"""Values that leave the branch or loop that makes them, by an attribute of an object or a global that nobody watches."""

import re

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_VALUE = re.compile(r"%(-?\d+)")


def is_leaking(program, outputs):
    """Whether a value is used, or among the numbers `outputs`, where it is not seen.

    Args:
        program (Program): whose text says what its blocks make and use: each region is between braces.
        outputs (iterable[int]): values that the program gives.
    """
    scopes = [set()]
    for line in str(program).splitlines()[1:]:
        line = _STRING.sub("", line.strip())
        if line.startswith("}") and len(scopes) > 1:
            scopes.pop()
        made, equals, used = line.partition(" = ")
        if not equals:
            made, used = "", line
        if any(not any(int(n) in scope for scope in scopes) for n in _VALUE.findall(used)):
            return True
        scopes[-1].update(int(n) for n in _VALUE.findall(made))
        if line.endswith("{"):
            scopes.append(set())
    return not scopes[0].issuperset(outputs)
