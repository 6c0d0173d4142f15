"""What turns of loops that depend on tensors change: functions that `to_static` must run as Python does."""

import proa as paddle
from proa import nn
from python.tests.converted_registry import supported

F = nn.functional
_LAYERS = nn.LayerList([nn.Linear(4, 4, weight_attr=nn.initializer.Constant(0.1 * k)) for k in range(1, 4)])


@supported
def locals_of_turns(x):
    """Names that are bound in a turn alone"""
    y = x.abs() + 0.1
    while y.sum() < 60:
        factor = y.mean() + 1
        y = y * factor
    return y


@supported
def structures_in_loops(x):
    """Tuples, dicts and lists as variables of a loop"""
    state, d, items = (x, x * 2), {"n": 0}, [x, x]
    n = paddle.to_tensor(0)
    while n < 3:
        state = state[1] * 0.5, state[0] + 1
        d["n"] = d["n"] + 1
        items = [items[1], items[0] * 0.5]
        n = n + 1
    return state[0] + state[1] * d["n"] + items[0] - items[1]


@supported
def none_before(x):
    """None before a loop, a tensor after its first turn"""
    prev, y = None, x.abs() + 0.1
    while y.sum() < 60:
        if prev is None:
            prev = y
        y = y * 1.2 + prev * 0.1
        prev = y
    return y


@supported
def first_turn_binds(x):
    """A name that the first turn binds and the second reads"""
    n, y = paddle.to_tensor(0), x
    while n < 3:
        if n.shape == []:
            pass
        z = y + 1
        y = z * 0.5
        n = n + 1
    return y


@supported
def append_in_loop(x):
    """`append` in a loop of a tensor, `stack` and `concat` of the list"""
    items, y = [], x.abs() + 0.1
    while y.sum() < 60:
        y = y * 1.5
        items.append(y)
    items.append(x)
    return paddle.stack(items).sum(0), paddle.concat(items, axis=0).mean(0), items[-1] + items[0]


@supported
def append_of_rows(x):
    """`append` in a `for` over a tensor"""
    items = []
    for row in x:
        items.append(row * 2)
    return paddle.stack(items, axis=1), len(items)


@supported
def append_some(x):
    """`append` in a branch in a loop"""
    items = [x[0]]
    for row in x:
        if row.sum() > 0:
            items.append(row * 2)
    return paddle.stack(items).sum(0)


@supported
def extend_in_loop(x):
    """`extend` and `+=` of a list in a loop"""
    items, n = [x], paddle.to_tensor(0)
    while n < 3:
        items += [x * 2]
        items.extend([x * 3])
        n = n + 1
    return paddle.stack(items, axis=-1).sum(-1)


@supported
def list_returned(x):
    """A list that a loop made is returned as one"""
    items, n = [], paddle.to_tensor(0)
    while n < (x > 0).astype("int64").sum() % 3 + 1:
        items.append(x * (n + 1).astype("float32"))
        n = n + 1
    return items


@supported
def list_read_in_loop(x):
    """A list is read in the loop that appends to it"""
    items, n = [x], paddle.to_tensor(0)
    while n < 4:
        items.append(items[-1] * 0.5 + items[0])
        n = n + 1
    return items[-1], items[2]


@supported
def loop_over_made_list(x):
    """A `for` over a list that a loop made"""
    items, n = [], paddle.to_tensor(0)
    while n < 3:
        items.append(x * (n + 1).astype("float32"))
        n = n + 1
    total = x * 0
    for k, item in enumerate(items):
        total = total + item * k
    return total


@supported
def arrays_in_loops(x):
    """`array_write`, `array_read`, `array_length` in a loop"""
    array, i = paddle.tensor.create_array("float32"), paddle.zeros([1], "int64")
    while i < (x > 0).astype("int64").sum() % 3 + 1:
        paddle.tensor.array_write(x * i.astype("float32"), i, array)
        i = i + 1
    return paddle.tensor.array_read(array, i - 1) + paddle.tensor.array_length(array)


class _Counter:
    def __init__(self):
        self.n = 0
        self.seen = []


@supported
def attributes_in_loops(x):
    """Attributes of an object that a loop changes"""
    counter, y = _Counter(), x.abs() + 0.1
    while y.sum() < 60:
        y = y * 1.5
        counter.n += 1
        counter.seen.append(y)
    return y * counter.n, paddle.stack(counter.seen).sum(0)


@supported
def items_in_loops(x):
    """Setitem by the index of a loop"""
    y = paddle.zeros_like(x)
    for k in range((x > 0).astype("int64").sum() % 3 + 1):
        y[k] = x[k] * 2 + y[0]
    return y + x


@supported
def slices_in_loops(x):
    """Slices by the index of a loop"""
    total, n = x[0] * 0, paddle.to_tensor(1)
    while n < 3:
        total = total + x[:n].sum(0) + x[n - 1 : n].sum(0)
        n = n + 1
    return total


@supported
def growing(x):
    """A size that grows with each turn"""
    y = x
    while y.shape[0] < 12 if isinstance(y.shape[0], int) else paddle.shape(y)[0] < 12:
        y = paddle.concat([y, x])
    return y


@supported
def growing_by_values(x):
    """A size that grows as long as values say so"""
    y = x[:1]
    while y.abs().sum() < 20:
        y = paddle.concat([y, x[:1].abs() + 0.5])
    return y.sum(0)


@supported
def closures_in_loops(x):
    """`nonlocal` and closures in a loop"""
    y = x.abs() + 0.1
    count = 0

    def step():
        nonlocal y, count
        y = y * 1.5
        count = count + 1

    while y.sum() < 60:
        step()
    return y * count


@supported
def generators_beside(x):
    """Comprehensions and generators in a loop"""
    y = x.abs() + 0.1
    while y.sum() < 60:
        parts = [y * k for k in range(1, 3)]
        y = sum(p * 0.6 for p in parts)
    return y


@supported
def random_in_loops(x):
    """Dropout of nothing in a loop"""
    y, n = x, paddle.to_tensor(0)
    while n < 3:
        y = F.dropout(y, 0.0) * 0.5
        n = n + 1
    return y


@supported
def parameters_in_loops(x):
    """A layer in a loop"""
    y, n = x, paddle.to_tensor(0)
    while n < 3:
        y = paddle.tanh(_LAYERS[0](y)) + x
        n = n + 1
    return y


@supported
def gradients_through_breaks(x):
    """Gradients through a loop that is left"""
    w, y = x.mean(), x
    for _ in range(30):
        y = y * w + x
        if y.abs().sum() > 15:
            break
    return y


@supported
def with_in_loops(x):
    """`with` and `try` in a loop that is left"""
    y = x.abs() + 0.1
    for _ in range(40):
        with paddle.amp.auto_cast(enable=False):
            y = y * 1.2
            if y.sum() > 30:
                break
        try:
            y = y + 0.1
        finally:
            y = y * 1.0
    return y


@supported
def python_while(x):
    """A `while` of Python with a `break` of a tensor"""
    n, y = 6, x.abs() + 0.1
    while n > 0:
        y = y * 1.4
        n = n - 1
        if y.sum() > 25:
            break
    return y * n


@supported
def doubled_until(x):
    """A helper with a loop, called in a loop"""
    y = x.abs() + 0.1
    for limit in (10.0, 20.0, 30.0):
        y = _until(y, limit)
    return y


def _until(v, limit):
    while v.sum() < limit:
        v = v * 1.25
    return v


@supported
def else_of_inner_loops(x):
    """`break`, `continue` and `else` of loops of Python in each other, by Python and by tensors"""
    y = x
    for i in range(3):
        for j in range(3):
            if j == 2:
                break
            if x[i].sum() > 0:
                continue
            y = y + j + 1
        else:
            y = y * 100
        y = y + i
    return y


@supported
def endless_with_returns(x):
    """`while True` that ends by `return` alone"""
    n = 0
    while True:
        n += 1
        if x.sum() * n > 3:
            return n * x
        if n > 5:
            return x


@supported
def return_in_else_of_loop(x):
    """`return` in the `else` of a loop"""
    for k in range(2):
        if x[k].sum() > 1.0:
            break
    else:
        return x * 7
    return x * k


@supported
def try_in_loop(x):
    """`try`, `except`, `finally` with `continue` in a loop"""
    y = x
    for k in range(4):
        try:
            if k == 2:
                raise KeyError("a")
            if y.sum() > 2:
                continue
            y = y + 1
        except KeyError:
            y = y * 2
            continue
        finally:
            y = y + 0.5
    return y


@supported
def names_used_again(x):
    """Names that two loops use"""
    i, s = 0, x.abs().sum()
    while s > 1:
        s = s / 2
        i += 1
    t = 0
    while s < 8:
        s = s * 3
        t += i
        i = i + 1
    return x * i + t


@supported
def length_in_loop(x):
    """`len` of a list in the loop that appends to it"""
    items = []
    for row in x:
        if len(items) > 0 and row.sum() > 0:
            items.append(row + items[-1])
        else:
            items.append(row)
    return paddle.stack(items)


@supported
def sizes_in_loops(x):
    """A loop by the size of what it changes"""
    y = x
    if x.shape[0] % 2 == 0:
        y = paddle.concat([y, y[:1]])
    while y.shape[0] > 2:
        y = y[1:] + y[:1]
        if y.shape[0] <= 2:
            break
    return y.sum(0)


@supported
def index_that_returns(x):
    """A function that returns the index of a loop"""

    def first(v):
        for k in range(3):
            if v[k].sum() > 1:
                return k
        return 10

    return x * first(x)


@supported
def attribute_as_target(x):
    """An attribute as the target of a `for`"""
    holder = _Counter()
    for holder.n in range(3):
        if x[holder.n].sum() > 1:
            break
    return x * holder.n


@supported
def selected_or_nothing(x):
    """What is selected by values, or nothing of it"""
    chosen = x.flatten()[paddle.nonzero(x.flatten() > 1.4).flatten()]
    if chosen.shape[0] == 0:
        return x.sum() * 0
    if len(chosen) > 1 or not chosen.shape[0]:
        return chosen.max() + chosen.shape[0]
    return chosen.sum() * 10


@supported
def detached_in_branches(x):
    """`detach` and `no_grad` in branches and loops"""
    if x.sum() > 0:
        with paddle.no_grad():
            y = x * 3
        y = y + x
    else:
        y = (x * 5).detach() * x
    n = 0
    while y.abs().sum() < 60:
        half = (y * 0.5).detach()
        y = y * 2 + half
        n += 1
    return y * n


@supported
def match_with_guard(x):
    """`match` whose guard is a tensor"""
    match (x.shape, {"k": x}):
        case [_, 4], {"k": t} if t.sum() > 0:
            return t * 2
        case [_, n], {"k": t}:
            return t * n
    return x


@supported
def match_of_tensor(x):
    """`match` of a tensor, by values"""
    match (x > 0).astype("int64").sum() % 3:
        case 0:
            y = x
        case 1 | 2 if x.sum() > 1:
            y = x * 2
        case n:
            y = x * n.astype("float32") - 1
    return y


def _ways(x):
    for row in x:
        if row.sum() > 0:
            yield row
        else:
            yield from [row * 2, row * 3]


@supported
def generator_of_ways(x):
    """A generator whose ways give different numbers of items"""
    return sum(_ways(x)) + paddle.stack(list(_ways(x))).sum(0)


def _loop_of_ways(x):
    k = 0
    while k < 3:
        if x[k].sum() > 0:
            yield x[k]
            yield x[k] * 2
        k += 1


@supported
def generator_in_for(x):
    """A `for` over such a generator"""
    y = x[0] * 0
    for row in _loop_of_ways(x):
        y = y + row
    return y


@supported
def matrix_of_number(x):
    """A number that a loop makes a matrix: a run without a turn raises, where it is read"""
    total, n = 0, paddle.to_tensor(0)
    while n < (x.abs() > 0).astype("int64").sum():
        total = total + x
        n = n + 1
    return total


@supported
def matrix_of_number_in_for(x):
    """The same in a `for`, by `+=`, with a `break`"""
    loss = 0.0
    for i in range((x.abs() > 0).astype("int64").sum()):
        loss += x * i
        if i > 3:
            break
    return loss
