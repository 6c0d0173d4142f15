"""Functions that `to_static` refuses: each runs as it is written, and recorded is an error that names the line."""

import numpy as np

import proa as paddle
from python.tests.converted_registry import refused

_NUMBER = "known only when the program runs|no elements until the program runs"


@refused(_NUMBER)
def number_of_tensor(x):
    """`numpy`, `tolist` of a value of the program: pass the tensor on"""
    return x * x.sum().numpy()


@refused("stop_gradient of an argument, which is a tensor of the caller")
def stopped_argument(x):
    """`stop_gradient` of an argument in a branch: write `x = x.detach()`"""
    if x.sum() > 0:
        x.stop_gradient = True
    return x * 2


@refused("a function that appends the items to a list and returns it")
def sent_to_a_generator(x):
    """`if` of a tensor in a generator that does more than yield: use a function"""

    def rows():
        factor = yield x[0]
        if x.sum() > 0:
            yield x[1] * factor

    steps = rows()
    return next(steps) + steps.send(2)


def _pair_or_one(x):
    if x.abs().sum() > 0:
        return x, x
    return x


def _one_or_none(x):
    if x.abs().sum() > 0:
        return x


@refused("a value depends on a tensor, and the ways give a tuple of 2 and")
def returns_of_ways(x):
    """Returned structures that differ between the ways, of a function that a comprehension or a lambda calls: write a loop"""
    return sum([x * len(_pair_or_one(x * k)) for k in range(2)])


@refused(r"y: the ways of the statement .* give \[\] float32 and \[3, 4\] float32; let both give tensors of one dtype")
def shapes_of_turns(x):
    """Values of another kind that a turn of a loop gives by a tensor, read in the next one: one kind for all turns"""
    y, n = x, paddle.to_tensor(0)
    while n < (x.abs() > 0).astype("int64").sum():
        if y.sum() > 1:
            y = y.sum()
        n = n + 1
    return y


@refused("comes to its end and gives None")
def return_in_one_way(x):
    """`return` in one way alone, where what goes on wants a value: return something in the other"""
    return _one_or_none(x) * 2


@refused("y has a value in one way")
def defined_for_a_generator(x):
    """A name that one way alone gives a value, read in a generator or class of the function: give it one before"""

    def rows():
        yield y

    if x.abs().sum() > 0:
        y = x * 2
    return next(rows())


@refused(r"how many items items has depends on a tensor, .* \[3, 4\] float32, \[3, 4\] int64; use a list for each kind")
def list_of_kinds(x):
    """A list that a loop appends tensors of other dtypes to: a list for each kind"""
    items, n = [x], paddle.to_tensor(0)
    while n < (x.abs() > 0).astype("int64").sum():
        items.append(x.astype("int64"))
        n = n + 1
    return items[0]


@refused("remove: of a list whose number of items depends on a tensor; .* use the tensor paddle.stack")
def removed_from_a_made_list(x):
    """`remove`, `index` of a list that a loop made: use the tensor `paddle.stack` makes of it"""
    items, n = [], paddle.to_tensor(0)
    while n < 1 + 0 * (x.abs() > 0).astype("int64").sum():
        items.append(x.sum())
        n = n + 1
    items.remove(x.sum()) if n > 5 else None
    return items[0]


@refused("an array of NumPy takes numbers, .* use a tensor: y = paddle.zeros")
def item_of_an_array(x):
    """Setitem of an array of NumPy: use a tensor"""
    array = np.zeros([3], "float32")
    array[0] = x.sum()
    return x * paddle.to_tensor(array[0])


@refused("must keep dtype and number of dims from turn to turn")
def dims_in_loop(x):
    """A number of dims that changes from turn to turn"""
    y, n = x, paddle.to_tensor(0)
    while n < (x.abs() > 100).astype("int64").sum():
        y = y.unsqueeze(0)
        n = n + 1
    return y


@refused("other|grows")
def list_of_lists(x):
    """A list in a list that grows in one way: give it a name"""
    items = [[x]]
    if x.abs().sum() > 0:
        items[0].append(x)
    return items[0][-1]


@refused("use the name|is passed on|Moved|alias|items of a list")
def list_by_another_name(x):
    """A list that a loop made an array, by another name"""
    items, n = [], paddle.to_tensor(0)
    holder = {"items": items}
    while n < (x.abs() > 0).astype("int64").sum():
        items.append(x)
        n = n + 1
    return paddle.stack(holder["items"]).sum(0)


@refused("a tensor decides whether to go on, both ways are recorded")
def recursion_of_a_tensor(x):
    """A recursion that a tensor ends: write a `while` loop"""
    if x.sum() > -100:
        return recursion_of_a_tensor(x - 10)
    return x


@refused(r"a pattern of a `match` compares a tensor; give it a name")
def pattern_of_tensor(x):
    """A value in a pattern that is compared with a tensor: name the part and compare it in a guard"""
    match [x.argmax() % 2, x]:
        case [1, y]:
            return y * 2
        case [_, y]:
            return y


@refused("state: the ways of the statement .* give 'stop' and 'idle'; let both give tensors")
def texts_of_turns(x):
    """A tuple with texts that a turn of a loop replaces by a tensor, read in the next one: numbers for the states"""
    state, n = ("idle", None), paddle.to_tensor(0)
    for row in x:
        kind, _ = state
        if row.sum() > 0.5:
            state = ("run", row * 2)
        elif row.sum() < -0.5:
            state = ("stop", None)
        n = n + (1 if kind == "run" else 0)
    return x * n


@refused("convert the layer or the function of the loss, not the step")
def whole_step_of_training(x):
    """A step of training (`backward`, `step`, `clear_grad`, a schedule, a `GradScaler`): convert the layer or the function of the loss"""
    layer = paddle.nn.Linear(4, 1)
    optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    loss = layer(x).mean()
    loss.backward()
    optimizer.step()
    return loss
