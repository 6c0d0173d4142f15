"""Functions whose errors, names and items depend on tensors: none of these fails for the data of the corpus."""

import proa as paddle
from python.tests.converted_registry import supported


@supported
def raise_of_tensor(x):
    """`raise` in a branch: the run raises it (a saved program, an AssertionError)"""
    if x.isnan().any():
        raise ValueError("nan")
    return x * 2


@supported
def raise_in_last_way(x):
    """`raise` where no way of an `if` holds"""
    if x.abs().sum() > 1e9:
        y = x
    elif x.abs().sum() >= 0:
        y = x * 2
    else:
        raise ValueError("nan")
    return y


@supported
def raise_in_loop(x):
    """`raise` and `assert` in a loop"""
    n = paddle.to_tensor(0)
    while n < 3:
        if x.abs().max() > 1e6:
            raise OverflowError("large")
        assert x.isfinite().all(), "infinite"
        x = x * 2
        n = n + 1
    return x


def _root(x):
    if x.min() < 0:
        raise ValueError("negative")
    return (x + 1).sqrt()


@supported
def raise_of_called(x):
    """`raise` in a function that a branch calls"""
    if x.abs().sum() > 0:
        return _root(x.abs()) * x
    return x


@supported
def raise_and_catch(x):
    """`try` with `raise` in a branch"""
    if x.sum() > 0:
        try:
            raise KeyError("key")
        except KeyError:
            y = x * 3
    else:
        y = x
    return y


@supported
def assert_in_branch(x):
    """`assert` of a tensor in a branch"""
    if x.sum() < 1e9:
        assert x.sum() < 1e9, "large"
    return x * 3


@supported
def item_of_tensor(x):
    """`item` of a tensor, which gives a tensor of one element"""
    return x * x.abs().max().item() + x.item(0) + x.item(1, 2)


@supported
def defined_in_loop(x):
    """A name that each turn binds first, read after the loop"""
    n = paddle.to_tensor(0)
    while n < (x.abs() > 0).astype("int64").sum():
        y = x * 2
        n = n + 1
    return y


@supported
def defined_in_for(x):
    """Names and indices of a `for` over a tensor, read after it"""
    for k, row in enumerate(x):  # noqa: B007
        doubled = row * 2
        kept = {"sum": row.sum()}
    return doubled + kept["sum"] + row * k


@supported
def filtered(x):
    """Comprehensions with a condition of tensors"""
    rows = [row * 2 for row in x if row.sum() > 0]
    rows.append(x[0])
    return paddle.stack(rows).sum(0)


@supported
def filtered_twice(x):
    """Comprehensions with conditions of Python and tensors, in `sum`"""
    first = sum([row * 2 for k, row in enumerate(x) if k != 1 if row.max() > 0], x[0])
    return first + sum(row for row in x if row.sum() < 0) + x[0]


@supported
def listed_rows(x):
    """Comprehensions over a tensor"""
    return paddle.stack([row + 1 for row in x])


def _positive(x, factor):
    for row in x:
        if row.sum() < 0:
            continue
        yield row * factor


@supported
def generator_of_tensor(x):
    """Generators whose items depend on tensors"""
    total = x[0]
    for row in _positive(x, 3):
        total = total + row
    return total


@supported
def generator_in_function(x):
    """`yield` in a branch, `yield from`"""

    def rows():
        for row in x:
            if row.sum() > 0:
                yield row
        yield from [x[0], x[1]]

    return sum(rows())


@supported
def raise_in_try(x):
    """`raise` and `assert` by a tensor in a `try` that handles the error, with `else` and `finally`"""
    y = x
    try:
        y = y * 2
        if x.sum() > 0:
            y = y + 1
            raise ValueError("positive", 3)
        y = y * 3
        assert x.max() < 1, "large"
        y = y + x
    except ValueError as error:
        y = y * error.args[1]
    except AssertionError:
        y = y - 1
    else:
        y = y * 7
    finally:
        y = y + 0.5
    return y


@supported
def raise_in_try_of_turns(x):
    """The same in a loop, and in a function that is called"""

    def half(row):
        try:
            if row.max() > 1:
                raise RuntimeError("large")
            row = row * 2
        except Exception:
            row = row / 2
        return row

    out = x * 0
    for row in x:
        try:
            if row.sum() > 0:
                raise KeyError("positive")
            out = out + half(row)
        except (KeyError, TypeError):
            out = out - half(row) * 2
    return out


@supported
def assert_beside_handlers(x):
    """`assert` by a tensor in a branch, in a `try` whose handlers do not take its error"""
    try:
        if x.sum() > 0:
            assert x.abs().max() < 1e6, "large"
            x = x * 2
        found = {"a": x}["b"]
    except KeyError:
        found = x + 1
    return found
