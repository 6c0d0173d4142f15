"""Functions whose names hold texts that differ from turn to turn of a loop that depends on a tensor."""

import proa as paddle
from python.tests.converted_registry import refused, supported


@supported
def states_as_texts(x):
    """A machine whose state is a text, compared in each turn, and changed by a tensor"""
    state, out = "start", x * 0
    for row in x:
        if state == "start":
            if row.sum() > 0:
                state = "run"
        elif state == "run":
            out = out + row
            if row.sum() < 0:
                state = "done"
        else:
            out = out - row
    return out


@supported
def mode_after_a_loop(x):
    """A text that a `while` changes once, compared after it"""
    mode, n = "up", paddle.zeros([], "int64")
    while n < 4 + 0 * (x > 0).astype("int64").sum():
        if mode == "up":
            x = x + 1
            if x.sum() > 5:
                mode = "down"
        else:
            x = x - 0.5
        n = n + 1
    return x * (2 if mode == "down" else 1)


@supported
def kinds_of_rows(x):
    """A text that a ternary chooses in each turn: `in`, `not in`, `!=`"""
    kind, seen = "none", 0
    for row in x:
        kind = "up" if row.sum() > 0 else "down"
        if kind in ("up", "flat"):
            seen = seen + 1
        if kind not in ("up",):
            x = x * 1.1
    if kind != "none":
        x = x + 1
    return x * seen


@supported
def matched_text(x):
    """`match` of a text that turns change"""
    last, out = "a", x
    for row in x:
        match last:
            case "a":
                out, last = out + row, "b"
            case "b":
                out, last = out * 1.5, "c" if row.sum() > 0 else "a"
            case _:
                out, last = out - row, "a"
    return out


@supported
def tags_of_words(x):
    """Tags of words by that of the word before: texts that a name hands to another"""
    tag, count = "O", 0
    for row in x:
        before = tag
        if row.max() > 1.0:
            tag = "B" if before == "O" else "I"
        else:
            tag = "O"
        if tag == "B":
            count = count + 1
    return x * count


@supported
def swapped_texts(x):
    """Texts that two names hand to each other, in a loop that a `break` ends"""
    one, other = "left", "right"
    for row in x:
        if row.sum() < -3:
            break
        if row.sum() > 0:
            one, other = other, one
        if one == "left":
            x = x + row
    return x if other == "right" else x * 2


def _following(state, row):
    if state == "a" and row.sum() > 0:
        return "b"
    if state == "b" and row.max() > 1:
        return "c"
    return state


@supported
def state_of_a_function(x):
    """A text that a called function gives by the one before"""
    state = "a"
    for row in x:
        state = _following(state, row)
    return x * 3 if state == "c" else x * (2 if state == "b" else 1)


@refused(
    "which text it is, of 'a'.*, depends on a tensor; it can be compared by ==, != and in; else a program holds tensors, and no text"
)
def text_that_grows(x):
    """A text that a loop of a tensor makes longer: a number, which who called the function looks up"""
    name, n = "a", paddle.to_tensor(0)
    while n < (x.abs() > 0).astype("int64").sum():
        name = name + "b"
        n = n + 1
    return x * len(name)


@refused("which text it is, of 'start'.*, depends on a tensor; it can be compared by ==, != and in")
def text_as_a_key(x):
    """A text that turns change as the key of a dict: compare it"""
    state, factors = "start", {"start": 1.0, "run": 2.0}
    n = paddle.to_tensor(0)
    while n < (x.abs() > 0).astype("int64").sum():
        x = x * factors[state]
        if x.sum() > 0:
            state = "run"
        n = n + 1
    return x
