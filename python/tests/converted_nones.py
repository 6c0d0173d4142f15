"""Functions with names that are None until a statement that depends on a tensor gives them a value."""

import proa as paddle
from python.tests.converted_registry import supported


@supported
def while_it_is_none(x):
    """`while found is None:`, of a name that a turn gives a tensor"""
    found, k = x, 0
    found = None
    while found is None:
        y = x * x + k
        if y.sum() > 40.0:
            found = y * x
        k += 1
    return found * k


@supported
def while_it_is_none_and_more(x):
    """The same with another condition, `break`, and what follows if it is None still"""
    found = None
    n = paddle.zeros([], "int64")
    while found is None and n < 5:
        if (x + n).max() > 1e9:
            break
        if (x + n).sum() > 3:
            found = x.exp() + n
        n += 1
    if found is None:
        return x * n
    return found


@supported
def first_turn_that_finds(x):
    """`for` with `break` that finds something, or None"""
    found = None
    for k in range(6):
        y = x * k
        if y.sum() > 2.0:
            found = y + x
            break
    return found if found is not None else x - 1


@supported
def many_ifs_that_may_give_something(x):
    """Many `if`s in a row that give names a value or leave them None: each is recorded once"""
    s = x.sum()
    a = b = c = d = e = f = g = h = None
    if s > -4:
        a = x
    if s > -3:
        b = x * 2
    if s > -2:
        c = a * b if a is not None and b is not None else x
    if s > -1:
        d = x.exp()
    if s > 0:
        e = x.abs()
    if s > 1:
        f = x.sum(0)
    if s > 2:
        g = x.sum()
    if s > 3:
        h = x.astype("float64")
    out = x * 0
    if a is not None:
        out += a
    if not b is None:  # noqa: E714
        out += b * 2
    out = out if c is None else out + c
    if d is not None and e is not None:
        out = out + d * e
    if f is not None:
        out = out + f
    if g is not None or a is None:
        out = out * 3
    if h is None:
        return out
    return out + h.astype("float32")


def _may_find(x, limit):
    best = None
    for row in (x[0], x[1]):
        if row.sum() > limit:
            best = row * row
    return best


@supported
def returned_or_none(x):
    """A helper that returns such a name, and who asks whether it is None"""
    found, other = _may_find(x, -1.0), _may_find(x, 0.5)
    y = x if found is None else x + found
    return y if other is None else y * other


@supported
def none_again(x):
    """A name that becomes None again, in a loop that counts how often it was"""
    last, missed, total = None, 0, x * 0
    for k in range(4):
        if (x.sum() * k) > 1:
            last = x * k
        if last is None:
            missed += 1
            continue
        total = total + last
        if total.max() > 3:
            last = None
    return total + missed


@supported
def pairs_or_none(x):
    """Tuples in the place of None, and branches in branches"""
    pair = None
    if x.sum() > 0:
        if x.max() > 1:
            pair = (x, x.max())
        else:
            pair = (x * 2, x.min())
    if pair is not None:
        return pair[0] * pair[1]
    return x


@supported
def many_ternaries(x):
    """Many ternaries in a row, each of a number or a matrix by a tensor: what follows is recorded once from the last that has the name on"""
    total = x.sum()
    a = x.sum() if x[0, 0] > 0 else x * 2
    total = total + (a.sum() if len(a.shape) else a * 2)
    b, c = (x.max() if x[0, 1] > 0 else x * 3), x * 0.5
    total = total + (b.mean() if len(b.shape) else b * c.sum())
    d = [x.min() if x[0, 2] > 0 else x + 1, 2]
    total = total + (d[0].sum() if len(d[0].shape) else d[0]) * d[1]
    e = None if x[1, 0] > 0 else x * 2
    total = total * (1 if e is None else 0.5)
    g = x.sum() if x[1, 1] > 0 else x * 4
    h = g * 2
    total = total + (h.max() if len(h.shape) else h)
    p = x.mean() if x[1, 2] > 0 else x - 1
    total = total - (p.sum() if len(p.shape) else p)
    q = x.mean() * 3 if x[2, 0] > 0 else x
    return total * (q.sum() if len(q.shape) else q)
