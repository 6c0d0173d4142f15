"""Names that some ways and turns alone give a value: searches that `break` ends, read afterwards."""

import proa as paddle
from python.tests.converted_registry import supported, unbound


def _many(x):
    """3, as a tensor that only the run knows."""
    return (x[:3, 0].abs() >= 0).astype("int64").sum()


@supported
def defined_in_one_way(x):
    """A name that one way alone gives a value, read afterwards: the run raises where it has none"""
    if x.abs().sum() > 0:
        y = x * 2
    return y


@supported
def defined_in_some_turns(x):
    """A name that a branch in a loop of a tensor binds first, read after the loop"""
    n = paddle.to_tensor(0)
    while n < (x.abs() > 0).astype("int64").sum():
        if x.sum() < 1e9:
            y = x * 2
        n = n + 1
    return y


@supported
def found_by_break(x):
    """A name that is bound on the turn of a `break`, in a loop with `else`"""
    for i in range(_many(x)):
        if x[i].sum() > 0:
            found = i
            break
    else:
        found = 2
    return x[found] * 2


@supported
def found_by_break_of_rows(x):
    """The same in a `for` over a tensor, a row and its index"""
    for i, row in enumerate(x):
        if row[0] > -50:
            found, index = row * 3, i
            break
    return found + index


@supported
def found_by_break_of_numbers(x):
    """The same in a `for` over numbers and over a list"""
    for i in range(3):
        if x[i].sum() > 0:
            found = i
            break
    else:
        found = 0
    for scale in [0.5, -1.0, 2.0]:
        if (x * scale).sum() > 0:
            chosen = scale
            break
    return x[found] * chosen


@supported
def found_in_while(x):
    """The same in a `while` with `else`"""
    i = _many(x) * 0
    while i < 3:
        if x[i].max() > 1:
            row = x[i] * x[i]
            break
        i = i + 1
    else:
        row = x.mean(0)
    return row + i


@supported
def found_in_while_true(x):
    """The same in `while True`, with several names"""
    i = _many(x) - 3
    while True:
        total = x[: i + 1].sum()
        if i >= 2:
            last, names = i, {"total": total, "row": x[i]}
            break
        i = i + 1
    return names["row"] * names["total"] + last


@supported
def found_by_several_breaks(x):
    """Several breaks that bind other names"""
    for i in range(_many(x)):
        if x[i].sum() > 2:
            high, row = i, x[i]
            break
        if x[i].sum() < -2:
            high, row = i + 10, -x[i]
            break
    else:
        high, row = 100, x[0] * 0
    return row * high


@supported
def found_by_one_of_the_breaks(x):
    """A name that one of several breaks binds, read where it was"""
    kind = 0
    for i in range(_many(x)):
        if x[i].sum() > 2:
            row = x[i] * 2
            kind = 1
            break
        if x[i].sum() < -2:
            kind = 2
            break
    if kind == 1:
        return row
    return x[0] * kind


@supported
def found_in_nested_loops(x):
    """A loop in a loop, each ended by a `break`"""
    for i in range(_many(x)):
        for j in range(_many(x)):
            if x[i, j] > 0.5:
                column = j
                break
        else:
            column = 3
        if x[i, column] > -10:
            at = x[i, column] * (column + 1)
            break
    return x * at


@supported
def found_in_inner_loop(x):
    """A name of an inner loop, read after the outer one"""
    for i in range(_many(x)):
        for j in range(_many(x)):
            if x[i, j] > -50:
                best = x[i, j] * 2
        x = x + 1
    return x * best


@supported
def found_in_first_or_later(x):
    """A name that one turn binds and later turns change"""
    for i in range(_many(x)):
        if i == 0:
            best = x[i]
        elif x[i].sum() > best.sum():
            best = x[i] * 1.5
    return best


@supported
def found_in_turns_of_flags(x):
    """The first of the rows, by a flag of Python"""
    first = True
    for i in range(_many(x)):
        if first:
            best = x[i]
            first = False
        else:
            best = paddle.maximum(best, x[i])
    return best


@supported
def found_and_returned(x):
    """`return` of the name in the loop, and of another one after it"""
    for i in range(_many(x)):
        if x[i].sum() > 1:
            found = x[i] * 2
            if x[i].max() > 1:
                return found
            break
    else:
        return x[0]
    return found - 1


@supported
def found_by_continue(x):
    """A name that turns bind which `continue` does not end"""
    for i in range(_many(x)):
        if x[i].sum() < -50:
            continue
        last = x[i] * i
    return last


@supported
def found_and_changed(x):
    """Names that are changed after the loop: `+=`, setitem, methods in place"""
    for i in range(_many(x)):
        if x[i].sum() > -50:
            row = x[i] * 2
            number = i
            break
    number += 2
    row[0] = 7.0
    row.scale_(0.5)
    return row * number


@supported
def found_and_changed_in_branches(x):
    """The same in a branch"""
    for i in range(_many(x)):
        if x[i].sum() > -50:
            row = x[i] * 2
            break
    if x.sum() > 0:
        row[1] = 3.0
        row += 1
    return row * 2


@supported
def found_and_read_in_branches(x):
    """Names that are read in branches, loops, lambdas and comprehensions"""
    for i in range(_many(x)):
        if x[i].sum() > -50:
            row = x[i]
            break
    if x.sum() > 0:
        y = row * 2
    else:
        y = (lambda: row - 1)()
    for _ in range(_many(x)):
        y = y + row
    return sum([y * k + row for k in (1, 2)])


@supported
def found_by_a_function(x):
    """A function in the function that reads the name, and one that binds it (`nonlocal`)"""

    def search():
        nonlocal index
        for i in range(_many(x)):
            if x[i].sum() > -50:
                index = i
                break

    def read():
        return x[index] * 2  # noqa: F821

    index = None
    del index
    search()
    return read()


@supported
def found_where_known(x):
    """A name bound by the same condition as it is read"""
    large = x.sum() > 0
    if large:
        scale = x.max()
    y = x + 1
    if large:
        y = y * scale
    return y


@supported
def found_in_parts(x):
    """Lists and tuples that one way binds"""
    if x.abs().sum() > 0:
        parts = [x * 2, x - 1]
        pair = x.sum(), "name"
    return parts[0] * parts[1] + pair[0]


@supported
def deleted_in_one_way(x):
    """`del` in one way, and a value again"""
    y = x * 2
    if x.sum() > 0:
        del y
    if x.sum() > 0:
        y = x - 1
    return y


@supported
def found_of_open_size(x):
    """What is found has a size of its own"""
    for i in range(_many(x)):
        if x[i].sum() > -50:
            part = x[: i + 2]
            break
    return part.sum(0)


@supported
def found_in_with(x):
    """`with` and `try` around a search"""
    with paddle.no_grad():
        for i in range(_many(x)):
            if x[i].sum() > -50:
                index = i
                break
    try:
        for j in range(_many(x)):
            if x[j].sum() > -50:
                row = x[j]
                break
    finally:
        x = x * 2
    return x[index] + row


@supported
def nearest_of_rows(x):
    """The nearest of the rows, without a first one"""
    for i in range(_many(x)):
        distance = ((x[i] - x[-1]) ** 2).sum()
        if i == 0 or distance < least:  # noqa: F821
            least, nearest = distance, i
    return x[nearest] * least


# Each raises UnboundLocalError for some of what it is given.


@unbound
def _one_way(x):
    if x.sum() > 0:
        y = x * 2
    return y


@unbound
def _by_break(x):
    for i in range(x.shape[0]):
        if x[i] > 1:
            found = x[i]
            break
    return found


@unbound
def _by_break_of_tensor(x):
    for i in range((x > -100).astype("int64").sum()):
        if x[i] > 1:
            found = x[i]
            break
    return found


@unbound
def _read_in_branch(x):
    for i in range(x.shape[0]):
        if x[i] > 1:
            found = x[i]
            break
    if x[0] > 0:
        return found
    return x[1]


@unbound
def _read_before(x):
    if x[0] > 0:
        z = after * 2  # noqa: F821
    else:
        z = x * 1
    after = x
    return z + after


@unbound
def _second_turn(x):
    n = (x > -100).astype("int64").sum()
    k = n * 0
    while k < n:
        if k == x[0]:
            total = x[k]
        if k > 0:
            total = total + x[k]
        k += 1
    return total


@unbound
def _of_two_loops(x):
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            if x[i] * x[j] > 3:
                a, b = i, j
                break
        else:
            continue
        break
    return x[a] + 10 * x[b]


@unbound
def _of_else(x):
    i = 0
    n = (x > 0).astype("int64").sum()
    while i < n:
        if x[i] > 1:
            row = x[i]
            break
        i += 1
    else:
        first = x[0]
    if x[1] > 0:
        return row
    return first * 2
