"""Branches that depend on tensors: functions that `to_static` must run as Python does."""

from proa import nn
from python.tests.converted_registry import supported

F = nn.functional


@supported
def if_of_tensor(x):
    """`if`, `else` of a tensor's value"""
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y


@supported
def if_without_else(x):
    """`if` without `else`"""
    y = x + 1
    if x.mean() > 0:
        y = y * 3
    return y


@supported
def elif_of_tensor(x):
    """`elif` of tensors"""
    if x.sum() > 3:
        y = x * 2
    elif x.sum() > 0:
        y = x * 3
    elif x.sum() > -3:
        y = x * 4
    else:
        y = x * 5
    return y


@supported
def nested_ifs(x):
    """`if` in `if`"""
    y = x
    if x.sum() > 0:
        y = y + 1
        if x[0].sum() > 0:
            y = y * 2
        else:
            y = y * 3
            if x[1].sum() > 0:
                y = y - 1
    return y


@supported
def if_in_both(x):
    """`if` in both ways of an `if`"""
    if x.sum() > 0:
        if x.max() > 1:
            y = x * 2
        else:
            y = x * 3
    else:
        if x.min() < -1:
            y = x * 4
        else:
            y = x * 5
    return y


@supported
def several_names(x):
    """Several names changed in one way"""
    a, b, c = x, x * 2, x * 3
    if x.sum() > 0:
        a, b = b, a
        c = c + a
    return a - b, c


@supported
def names_of_both_ways(x):
    """Names that both ways bind first"""
    if x.sum() > 0:
        a = x * 2
        b = a + 1
    else:
        b = x * 3
        a = b - 1
    return a * b


@supported
def local_of_one_way(x):
    """Names of one way alone, not read afterwards"""
    y = x
    if x.sum() > 0:
        half = x * 0.5
        y = y + half
    return y


@supported
def unlike_locals(x):
    """Names that have other shapes in the two ways, not read afterwards"""
    if x.sum() > 0:
        t = x.sum()
        y = x * t
    else:
        t = x * 2
        y = x + t
    return y


@supported
def python_and_tensor(x):
    """A condition of Python in one of a tensor, and the other way round"""
    y = x
    if x.ndim == 2:
        if x.sum() > 0:
            y = y * 2
    if x.sum() > 0:
        if x.ndim == 2:
            y = y + 1
    return y


@supported
def number_or_tensor(x):
    """A number of Python in one way, a tensor in the other"""
    if x.sum() > 0:
        k = 2.0
    else:
        k = x.mean()
    return x * k


@supported
def tensor_or_number(x):
    """A tensor in the first way, a number in the second"""
    k = 1
    if x.sum() > 0:
        k = x.mean()
    return x * k


@supported
def numbers(x):
    """Other numbers of Python in the ways"""
    k, n = 2, 0.5
    if x.sum() > 0:
        k, n = 5, 1.5
    return x * k + n


@supported
def int_or_float(x):
    """An int in one way, a float in the other"""
    k = 2
    if x.sum() > 0:
        k = 0.5
    return x * k


@supported
def equal_numbers(x):
    """The same number in both ways stays a number of Python"""
    if x.sum() > 0:
        n, y = 2, x
    else:
        n, y = 2, -x
    return y.reshape([-1, n])[:1] + sum([y.sum()] * n)


@supported
def flags(x):
    """A truth value of Python that a branch changes"""
    found = False
    if x.max() > 1.5:
        found = True
    if found:
        return x * 2
    return x * 3


@supported
def early_return(x):
    """`return` in an `if` of a tensor"""
    if x.sum() > 0:
        return x * 2
    y = x - 1
    return y * y


@supported
def return_in_both(x):
    """`return` in both ways"""
    if x.sum() > 0:
        return x, x.sum()
    else:
        return -x, x.mean()


@supported
def returns_in_a_row(x):
    """Several early returns, one after the other"""
    if x.sum() > 2:
        return x * 2
    if x.sum() > 0:
        return x * 3
    y = x * 4
    if x.sum() > -2:
        return y + 1
    return y


@supported
def returns_that_may_be(x):
    """`return` in one way of an `if` in an `if`, and what follows both"""
    y = x
    if x.sum() > 0:
        if x.max() > 1:
            return y * 10
        y = y + 1
    else:
        if x.min() < -1:
            return y * 20
        y = y - 1
    y = y * 2
    return y + 3


@supported
def return_of_python_first(x, kind=None):
    """Early returns of Python's and of tensors mixed"""
    if kind is not None:
        return kind
    if x.ndim == 3:
        return None
    if x.sum() > 0:
        return x * 2
    if x.ndim == 2 and x.shape[-1] == 4:
        return x * 3
    return x


@supported
def returns_of_structures(x):
    """Returned dicts, lists and tuples"""
    if x.sum() > 0:
        return {"a": x, "b": [x * 2, (x.sum(), 3)]}
    return {"a": -x, "b": [x * 3, (x.mean(), 3)]}


@supported
def return_of_none(x):
    """None from both ways of a helper"""
    seen = []

    def note(v):
        seen.append(v * 2)
        if v.ndim == 1:
            return None
        return None

    note(x)
    return seen[0]


def _pair_or_one(x):
    if x.sum() > 0:
        return x, x * 2
    return x


def _one_or_none(x):
    if x.sum() > 0:
        return x * 2


@supported
def called_for_a_structure(x):
    """A helper that returns another structure, or None, by a tensor: who called it asks which"""
    found = _pair_or_one(x)
    if isinstance(found, tuple):
        a, b = found
        x = a + b
    if _one_or_none(x - 1) is None:
        return x * 3
    return x


@supported
def called_until_none(x):
    """A helper that returns None by a tensor, in a loop that ends there"""
    for k in range(3):
        found = _one_or_none(x - k)
        if found is None:
            break
        x = found
    return x


@supported
def length_of_a_structure(x):
    """`len` of what a helper returns, one value or several by a tensor"""
    return x * len(_pair_or_one(x))


@supported
def shapes_differ(x):
    """A size that differs between the ways"""
    if x.sum() > 0:
        y = x[:1]
    else:
        y = x[:2]
    return y * 2
