"""What branches change - tensors, lists, attributes, names - and what they call: functions that `to_static` must run as Python does."""

import proa as paddle
from proa import nn
from python.tests.converted_registry import supported

F = nn.functional


@supported
def swapped(x):
    """A swap in one way"""
    a, b = x[0], x[1]
    if a.sum() > b.sum():
        a, b = b, a
    return a * 2 + b


@supported
def augmented(x):
    """Augmented assignments in a branch"""
    y = x * 1
    if x.sum() > 0:
        y += 2
        y *= x
    else:
        y -= 1
    return y


@supported
def items_of_a_tensor(x):
    """Setitem in a branch"""
    y = x * 1
    if x.sum() > 0:
        y[0] = 5.0
    else:
        y[1, 1:] = x[0, 1:] * 2
    return y


@supported
def items_in_one_way(x):
    """Setitem in one way of a nested `if`"""
    y = paddle.zeros_like(x)
    if x.sum() > 0:
        y[0] = x[1]
        if x[0].sum() > 0:
            y[1] = x[0] * 2
    return y + x


@supported
def methods_in_place(x):
    """Methods in place in a branch"""
    y = x * 2
    if x.sum() > 0:
        y.add_(paddle.ones_like(x))
    else:
        y.scale_(0.5)
    return y


@supported
def stopped_in_a_branch(x):
    """`stop_gradient` and `detach_` in a branch: gradients pass where it was not taken, and where there are others"""
    y = x * 2
    z = x * 3
    if x.sum() > 0:
        y.stop_gradient = True
        w = y * z
    else:
        z.detach_()
        w = y + z
    return w.sum() + (y * y).sum() + z.sum()


@supported
def stopped_in_a_loop(x):
    """`stop_gradient` in a loop: of one turn, or of each"""
    y = x * 2
    n = paddle.zeros([], "int64")
    while n < x.abs().sum().clip(max=3).astype("int64") + 2:
        if n == 1:
            y.stop_gradient = True
        y = y * x
        n = n + 1
    return y.sum()


@supported
def aliases(x):
    """A second name for a tensor that a branch changes in place"""
    y = x * 2
    z = y
    if x.sum() > 0:
        y[0] = 1.0
    return z + y


@supported
def items_of_a_dict(x):
    """Items of a dict in a branch"""
    d = {"a": x, "n": 1}
    if x.sum() > 0:
        d["a"] = x * 2
        d["n"] = 3
    return d["a"] * d["n"]


@supported
def items_of_a_list(x):
    """Items of a list in a branch"""
    items = [x, x * 2, x * 3]
    if x.sum() > 0:
        items[1] = items[0] + 1
    else:
        items[2] = items[2] - 1
    return paddle.stack(items)


@supported
def append_in_both(x):
    """`append` in both ways"""
    items = []
    if x.sum() > 0:
        items.append(x * 2)
    else:
        items.append(x * 3)
    items.append(x)
    return items[0] + items[1]


@supported
def append_in_one(x):
    """`append` in one way"""
    items = [x]
    if x.sum() > 0:
        items.append(x * 2)
    return paddle.stack(items).sum(0), items[-1]


@supported
def length_after_branch(x):
    """`len` of a list that a branch appended to"""
    items = [x]
    if x.sum() > 0:
        items.append(x * 2)
    return x * len(items)


@supported
def new_lists(x):
    """Lists made in the ways"""
    if x.sum() > 0:
        items = [x, x * 2]
    else:
        items = [x * 3, x * 4]
    return items[0] + items[1]


class _Holder:
    def __init__(self, value):
        self.value = value
        self.count = 0


@supported
def attributes(x):
    """Attributes of an object that a branch sets"""
    holder = _Holder(x)
    if x.sum() > 0:
        holder.value = x * 2
        holder.count += 1
    return holder.value * (holder.count + 1)


@supported
def list_attribute(x):
    """A list of an object that a branch appends to"""
    holder = _Holder([x])
    if x.sum() > 0:
        holder.value.append(x * 2)
    else:
        holder.value.append(x * 3)
    return holder.value[1]


class _Switch(nn.Layer):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(4, 4, weight_attr=nn.initializer.Constant(0.2))
        self.two = nn.Linear(4, 4, weight_attr=nn.initializer.Constant(-0.3))
        self.register_buffer("steps", paddle.zeros([1]))

    def forward(self, x):
        if x.sum() > 0:
            return self.one(x)
        return self.two(x)


_SWITCH = _Switch()


@supported
def layers_by_value(x):
    """Layers chosen by a tensor"""
    return _SWITCH(x)


_SEQUENTIAL = nn.Sequential(_Switch(), nn.Tanh(), _Switch())


@supported
def layers_in_containers(x):
    """Layers with branches in a Sequential"""
    return _SEQUENTIAL(x) + x


@supported
def calls_of_functions(x):
    """Functions that are called are converted, too"""
    return _absolute(x) + _absolute(-x * 2)


def _absolute(v):
    if v.sum() < 0:
        v = -v
    return v


@supported
def functions_in_branches(x):
    """Functions called in branches"""
    if x.sum() > 0:
        y = _absolute(x[0])
    else:
        y = _absolute(x[1]) * 2
    return y


@supported
def function_in_function(x):
    """A function defined in the function, with a branch"""

    def clip(v, top):
        if v.max() > top:
            return v * 0.5
        return v

    return clip(x, 1.0) + clip(x * 2, 3.0)


@supported
def defined_in_branches(x):
    """Functions defined in the ways of a condition of Python"""
    if x.ndim == 2:

        def act(v):
            if v.sum() > 0:
                return v * 2
            return v * 3

    else:
        act = paddle.tanh
    return act(x)


@supported
def nonlocal_in_branches(x):
    """`nonlocal` in a branch"""
    total = x * 0
    count = 0

    def add(v):
        nonlocal total, count
        if v.sum() > 0:
            total = total + v
            count = count + 1

    add(x)
    add(-x)
    add(x * 2)
    return total * count


_LEVEL = 1.0


@supported
def global_in_branches(x):
    """`global` in a function, read in a branch"""
    global _calls
    _calls = 3
    y = x
    if x.sum() > 0:
        y = y * _calls * _LEVEL
    return y


_calls = 0


@supported
def with_in_branches(x):
    """`with` in a branch, and a branch in `with`"""
    y = x
    if x.sum() > 0:
        with paddle.no_grad():
            k = x.max()
        y = y * 2 + k * 0
    with paddle.amp.auto_cast(enable=False):
        if x.mean() > 0.1:
            y = y * 3
    return y


@supported
def return_in_with(x):
    """`return` in a branch in `with`"""
    with paddle.amp.auto_cast(enable=False):
        if x.sum() > 0:
            return x * 2
        y = x * 3
    return y


@supported
def return_in_try(x):
    """`return` in a branch in `try`"""
    y = x
    try:
        if x.sum() > 0:
            return x * 2
        y = x * 3
    except KeyError:
        return x
    else:
        y = y + 1
    finally:
        z = 5
    return y * z


@supported
def while_in_branch(x):
    """A loop of Python in a branch"""
    y = x
    if x.sum() > 0:
        for k in range(3):
            if k == 1:
                continue
            y = y * (k + 1)
    return y


@supported
def dropout_in_a_branch(x):
    """Random numbers in a branch that is not taken"""
    y = x
    if x.sum() > 1e6:
        y = F.dropout(x, 0.5)
    return y


@supported
def deep_nesting(x):
    """Six branches in each other"""
    y = x
    if x[0, 0] > 0:
        y = y + 1
        if x[0, 1] > 0:
            y = y * 2
            if x[0, 2] > 0:
                y = y + 3
                if x[0, 3] > 0:
                    y = y * 4
                    if x[1, 0] > 0:
                        y = y + 5
                        if x[1, 1] > 0:
                            y = y * 6
    return y


@supported
def integers(x):
    """Branches of integers and of truth values"""
    index = x.argmax()
    if index > 5:
        index = index - 5
    odd = index % 2 == 1
    if odd:
        index = index * 2
    return x * index.astype("float32"), odd


@supported
def condition_of_one_element(x):
    """Conditions [1], and such that are no truth values"""
    y = x
    if x.sum().reshape([1]) > 0:
        y = y * 2
    if (x > 0.5).astype("int64").sum():
        y = y + 1
    if x[0, :1]:
        y = y + 2
    return y


@supported
def assigned_in_if_chain(x):
    """A choice among many by an integer"""
    k = (x > 0).astype("int64").sum() % 4
    if k == 0:
        y = paddle.tanh(x)
    elif k == 1:
        y = F.sigmoid(x)
    elif k == 2:
        y = F.relu(x)
    else:
        y = x * x
    return y


@supported
def pass_in_branches(x):
    """`pass`, docstrings and comments in branches"""
    y = x
    if x.sum() > 0:
        pass
    else:
        """Nothing."""
        # but this
        y = y * 2
    return y


@supported
def deleted_in_branches(x):
    """`del` in a branch"""
    y = x
    if x.sum() > 0:
        t = x * 2
        y = y + t
        del t
    return y


@supported
def import_in_branches(x):
    """`import` in a branch"""
    y = x
    if x.sum() > 0:
        import math

        y = y * math.pi
    return y


@supported
def lists_in_a_dict_that_changes(x):
    """A list in a dict, both changed in a branch"""
    out = {"last": x, "all": []}
    for i in range(3):
        if x.sum() > i - 1:
            out["last"] = out["last"] + i
            out["all"].append(x * i)
        else:
            out["last"] = out["last"] - i
            out["all"].append(x)
    return out["last"] + sum(out["all"])


@supported
def items_of_a_list_in_a_dict(x):
    """Items of a list in a dict, and the dict, in a branch"""
    out = {"items": [x, x * 2], "sum": x}
    items = out["items"]
    if x.sum() > 0:
        items[0] = x * 5
        out["sum"] = x * 3
    else:
        items[1] = x * 6
        out["sum"] = x - 1
    return out["items"][0] * 2 + items[1] + out["sum"]


@supported
def another_name_for_a_list(x):
    """A list that is changed, and gets another name in a branch"""
    items, box = [x], {}
    if x.sum() > 0:
        items[0] = x * 3
        box["it"] = items
    else:
        items[0] = x * 4
        box["it"] = items
    items[0] = items[0] + 1
    return box["it"][0]


@supported
def a_list_in_a_dict_in_a_loop(x):
    """Items of a list in a dict, and the dict, in a loop that depends on a tensor"""
    out, y = {"items": [x], "sum": x}, x.abs()
    while y.sum() < 20:
        y = y * 2 + 1
        out["items"][0] = out["items"][0] + y
        out["sum"] = out["sum"] * 0.5 + out["items"][0]
    return out["items"][0] - out["sum"]


@supported
def items_of_a_dict_that_is_gone_through(x):
    """Items of a dict in a branch, while a loop goes through it"""
    found, total = {"a": x, "b": x * 2}, x * 0
    for key, value in found.items():
        if value.sum() > 0:
            found[key] = value + 1
        else:
            found[key] = value - 1
        total = total + found[key]
    return total


def _many(x):
    """3, as a tensor that only the run knows."""
    return (x[:3, 0].abs() >= 0).astype("int64").sum()


@supported
def inserted_in_loops(x):
    """`insert` in a loop, at the front and before the last"""
    front, inner = [x], []
    for i in range(_many(x)):
        front.insert(0, x * i)
        inner.insert(-1, x + i)
    return paddle.stack(front), paddle.stack(inner)


@supported
def popped_and_deleted(x):
    """`pop(0)`, `del` of an item and a slice, `copy`, `clear` of a list that a loop made"""
    items = []
    for i in range(_many(x) + 3):
        items.append(x * i)
    first = items.pop(0)
    items.insert(1, items.pop(-2))
    del items[-1], items[0:1]
    kept = items.copy()
    items.clear()
    items.append(first + 1)
    return paddle.stack(kept), paddle.stack(items)


@supported
def replaced_and_appended(x):
    """A list whose items a loop replaces, and that it appends to"""
    items = [x]
    for i in range(_many(x)):
        items[0] = items[0] + 1
        items.append(x * i)
        items[-1] = items[-1] - items[0]
    return paddle.stack(items)


@supported
def queue_of_list(x):
    """A list as a queue: `pop(0)` and `append` in a loop"""
    items = [x, x * 2]
    for i in range(_many(x)):
        items.append(items.pop(0) * items[-1] + i)
    return paddle.stack(items)


@supported
def popped_in_one_way(x):
    """`pop`, `del` and `insert` in one way"""
    items, others = [x, x * 2, x * 3], [x, x - 1]
    if x.sum() > 0:
        items.pop(0)
        del others[0]
    else:
        items.insert(1, x * 5)
    return paddle.stack(items).sum(0), paddle.stack(others).sum(0)


@supported
def popped_in_loop(x):
    """A list as a stack that a loop takes from"""
    items, total = [x, x * 2, x * 3, x * 5], x
    for _ in range(_many(x)):
        total = total + items.pop()
    return total * items[0]
