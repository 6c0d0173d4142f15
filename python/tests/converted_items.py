"""Functions that call what gives another kind by a tensor, wherever they do, and that order and choose items of lists by tensors."""

import copy
import heapq
import itertools
import math

import proa as paddle
from proa import nn
from python.tests.converted_registry import supported


def _one_or_none(x):
    if x.sum() > 3:
        return None
    return x * 2


def _pair_or_one(x):
    if x.sum() > 0:
        return x, x * 3
    return x


@supported
def second_call_of_a_statement(x):
    """A helper that returns another structure by a tensor, called behind others in a statement"""
    return x.abs() * len(_pair_or_one(x)) + paddle.exp(-x.abs()) * len(_pair_or_one(x - 1))


@supported
def called_in_a_dict(x):
    """The same in a dict, and in an argument by name"""
    made = {"count": len(_pair_or_one(x)), "value": _one_or_none(x=x + 1)}
    return x * made["count"] if made["value"] is None else made["value"]


@supported
def while_a_call_gives_something(x):
    """A `while` whose condition calls what returns None by a tensor"""
    while _one_or_none(x) is not None:
        x = x + 1
    return x * 2


@supported
def while_of_and_that_calls(x):
    """The same behind `and`, with `else`"""
    k = 0
    while k < 20 and _one_or_none(x) is not None:
        x = x + 0.5
        k = k + 1
    else:
        x = x * 2
    return x * k


@supported
def called_behind_and(x):
    """`and`, `or`, ternaries that call it, or leave that out"""
    if x.max() < 100 and _one_or_none(x) is not None and _one_or_none(x + 1) is None:
        y = x * 2
    elif _one_or_none(x) is None or _one_or_none(x * 2) is None:
        y = x * 3
    else:
        y = x * 5
    return y * (len(_pair_or_one(y)) if x.max() > 0.5 else len(_pair_or_one(-y)))


@supported
def none_in_one_way(x):
    """None in one way of an `if`, a tensor in the other, and what asks which it is"""
    found = None
    if x.sum() > 0:
        found = x * 2
    if found is not None:
        return found + x
    return x


@supported
def shapes_of_ways(x):
    """Numbers of dims that differ between the ways, read afterwards"""
    if x.sum() > 0:
        y = x * 2
    else:
        y = x.sum()
    return y * 3 + x


@supported
def dtypes_of_ways(x):
    """Dtypes that differ between the ways, read afterwards"""
    if x.sum() > 0:
        y = x * 2
    else:
        y = (x * 2).astype("int64")
    return y + x


@supported
def texts_of_ways(x):
    """Texts, functions and layers that `if`, `elif` and `else` choose by tensors, used afterwards"""
    name, act = "sum", paddle.sin
    if x.sum() > 3:
        name = "max"
    elif x.sum() > 0:
        act = nn.ReLU()
        if x.max() > 1:
            act = nn.Tanh()
    else:
        name = ("mean", 2.0)
    if isinstance(name, tuple):
        return getattr(x, name[0])() * name[1]
    return act(getattr(x, name)()) * x


@supported
def found_in_turns(x):
    """A name that each turn of a loop sets to None, or to a tensor"""
    total, n = x * 0, (x[0, 0] * 0).astype("int64")
    for k in range(3):
        found = None
        if x[k].sum() > 0:
            found = x[k]
        if found is not None:
            total = total + found
    while n < 3:
        found = None
        if total.sum() + n > 1:
            found = x
        if found is not None:
            total = total + found
        n = n + 1
    return total


@supported
def ternaries_of_kinds(x):
    """Ternaries of several kinds: None, other dims, texts, tuples"""
    mask = x * 2 if x.sum() > 0 else None
    name = "max" if x.max() > 1 else "sum"
    count = len(x if x.min() > -1 else (x, x))
    whole = (x if x.sum() > 0 else x.sum()) * getattr(x, name)()
    return whole * count if mask is None else whole + mask


class _Counter:
    def __init__(self):
        self.calls = 0

    def step(self, x):
        self.calls = self.calls + 1
        return _one_or_none(x)


@supported
def called_in_order(x):
    """Several calls in a statement, which keep their order"""
    counter = _Counter()
    found = counter.calls, counter.step(x), counter.step(x + 10), counter.calls
    return x * found[3] if found[1] is None else found[1] * found[3]


@supported
def sorted_by_a_tensor(x):
    """`sorted` by a key that is a tensor, and backwards"""
    rows = sorted([x[0], x[1], x[2]], key=lambda row: row.sum())
    return paddle.stack(rows) * 2 + paddle.stack(sorted(rows, key=lambda row: row.max(), reverse=True))


@supported
def sorted_pairs(x):
    """`list.sort` of tuples of a number and a tensor"""
    rows = [(k + 1, row) for k, row in enumerate([x[0], x[1], x[2]])]
    rows.sort(key=lambda pair: -pair[1].sum())
    return rows[0][0] * rows[0][1] + rows[1][1] * rows[2][0]


@supported
def sorted_tensors(x):
    """`sorted` of tensors of one element"""
    low, middle, high = sorted([x[0].sum(), x[1].sum(), x[2].sum()])
    return (high - low) * x + middle


@supported
def sorted_by_python(x):
    """`sorted`, `max` and `min` by keys of Python"""
    rows = sorted(enumerate([x[0], x[1], x[2]]), key=lambda pair: -pair[0])
    return rows[0][1] - max(rows, key=lambda pair: pair[0] % 2)[1] + min([3, 1, 2])


@supported
def best_by_a_key(x):
    """`max` and `min` by a key that is a tensor"""
    rows = [x[0], x[1], x[2]]
    return max(rows, key=lambda row: row.sum()) - min(*rows, key=lambda row: (row * row).sum())


@supported
def filtered_by_a_function(x):
    """`filter` by a tensor, gone over, made a list of, and added up"""
    found = x[0] * 0
    for row in filter(lambda row: row.sum() > 0, [x[0], x[1], x[2]]):
        found = found + row
    return sum(filter(lambda row: row.max() > 0.3, [x[0], x[1]]), found) + len(list(filter(None, [0, 1, 2])))


@supported
def accumulated(x):
    """`itertools.accumulate` with a branch of a tensor"""
    steps = itertools.accumulate([x[0], x[1], x[2]], lambda a, b: a + b if b.sum() > 0 else a * 2)
    return paddle.stack(list(steps))


@supported
def index_of_a_list(x):
    """A list of tensors, or of numbers, by an index that is a tensor"""
    items = [x, x * 2, x * 3]
    return items[(x.sum() > 0).astype("int64")] * [1.0, 2.0, 3.0][x.argmax() % 3] + items[-1 - x.argmax() % 3]


@supported
def index_of_a_dict(x):
    """A dict by a number that is a tensor"""
    table = {0: x, 1: x * 2}
    return table[int(x.sum() > 0)] + {False: 1.0, True: 5.0}[bool(x.max() > 0.5)]


@supported
def item_by_a_tensor(x):
    """Setitem of a list by an index that is a tensor"""
    items = [x, x * 2, x * 3]
    items[x.argmax() % 3] = x.abs()
    return items[0] + items[1] * items[2]


@supported
def popped_by_a_tensor(x):
    """`pop` of an item whose index is a tensor"""
    items = [x, x * 2, x * 3]
    found = items.pop((x.sum() > 0).astype("int64"))
    return found + items[0] - items[1] * len(items)


@supported
def called_by_an_index(x):
    """A layer, or a function, of a list by an index that is a tensor"""
    functions = [paddle.tanh, lambda v: v * 2 if v.sum() > 0 else v, paddle.sin]
    return functions[x.argmax() % 3](x)


def _doubled_where_large(layer, inputs, outputs):
    if outputs.sum() > 0:
        return outputs * 2


def _shifted(layer, inputs):
    if inputs[0].max() > 0.5:
        return inputs[0] - 1


class _Hooked(nn.Layer):
    def __init__(self):
        super().__init__()
        self.inner = nn.Tanh()
        self.inner.register_forward_pre_hook(_shifted)
        self.inner.register_forward_post_hook(_doubled_where_large)

    def forward(self, x):
        return self.inner(x) * 3


_HOOKED = _Hooked()


@supported
def hooks_by_a_tensor(x):
    """Hooks before and after `forward` that give something by a tensor, or None"""
    return _HOOKED(x) + x


_STEPS = nn.Sequential(nn.Tanh(), nn.ReLU(), nn.Tanh())


@supported
def layers_until(x):
    """A loop over layers that a tensor ends, or leaves one out of"""
    for k, layer in enumerate(_STEPS):
        if x.sum() < -2 and k == 1:
            continue
        x = layer(x) + 0.1
        if x.max() > 0.9:
            break
    return x


@supported
def sorted_by_tuples(x):
    """`sorted`, `max` and `min` by tuples of tensors and numbers, and by what dicts hold"""
    rows = [{"sign": row.sum() > 0, "sum": row.sum(), "row": row} for row in [x[0], x[1], x[2]]]
    rows.sort(key=lambda r: (r["sign"].astype("int64"), -r["sum"]))
    best = max((r["row"].max(), k) for k, r in enumerate(rows))
    return rows[0]["row"] - rows[2]["row"] * 2 + best[1] * min([(best[0], 2), (best[0], 1)])[1]


@supported
def largest_of_rows(x):
    """`heapq.nlargest` and `nsmallest` by a tensor"""
    rows = [x[0], x[1], x[2]]
    first, second = heapq.nlargest(2, rows, key=lambda row: row.sum())
    return first - second * heapq.nsmallest(1, [row.max() for row in rows])[0]


@supported
def items_of_kinds(x):
    """A list of texts, None, functions and tensors of several shapes, by an index that is a tensor"""
    name = ["sum", "max", "mean"][x.argmax() % 3]
    mask = [None, x * 2][int(x.sum() > 0)]
    size = len([(x, x), x, (x,)][x.argmin() % 3])
    whole = getattr(x, name)() * x + size
    return whole if mask is None else whole + mask


@supported
def slices_of_lists(x):
    """Slices of a list of tensors by bounds that are tensors"""
    rows = [x[0], x[1], x[2]]
    k = int((x > 0).sum()) % 3
    return sum(rows[k:], x[0] * 0) - sum(rows[:k], x[0] * 0)


@supported
def numbers_in_lists(x):
    """`in` and `not in` of numbers that are tensors, in lists, ranges, dicts and tensors"""
    first = int(x.argmax())
    if first in [1, 2, 3, 5]:
        x = x * 2
    if first not in range(4) and first in {0: "a", 4: "b", 7: "c"}:
        x = x + 1
    if 2.0 in [x.sum(), x.max()] or x.max() in x:
        x = x * 3
    return x


@supported
def functions_of_math(x):
    """Functions of `math` of tensors, which give numbers, without gradients, as `float` does"""
    scale = 1 / math.sqrt(x.abs().sum()) + math.exp(x.mean()) + math.log(x.abs().max() + 2, 2)
    return x * scale + math.floor(x.sum()) * math.pow(2, x.max()) + math.sqrt(x.shape[-1])


@supported
def copies_of_tensors(x):
    """`copy.copy` and `copy.deepcopy` of tensors, and of lists and dicts of them"""
    y = x.detach()
    kept, table = copy.deepcopy([y * 2, 3]), copy.deepcopy({"x": y + 1})
    return x + copy.copy(y) + kept[0] * kept[1] + table["x"]


@supported
def first_that_holds(x):
    """`next` of a generator expression with a condition of a tensor: with a default, None, and one of Python beside"""
    rows = [x[0], x[1], x[2]]
    large = next((row for row in rows if row.sum() > 0), None)
    whole = next((row * 2 for k, row in enumerate(rows) if k > 0 and row.max() > 0.5), x[0] * 0)
    name = next(name for name in ("a", "bc") if len(name) > 1)
    return whole * len(name) if large is None else whole + large
