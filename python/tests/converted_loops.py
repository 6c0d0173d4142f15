"""Loops that depend on tensors: functions that `to_static` must run as Python does."""

import proa as paddle
from proa import nn
from python.tests.converted_registry import supported

F = nn.functional


@supported
def while_of_tensor(x):
    """`while` of a tensor's value"""
    y = x
    while y.abs().sum() < 100:
        y = y * 2
    return y


@supported
def while_never(x):
    """A loop without a turn"""
    y = x
    while y.abs().sum() < 0:
        y = y * 2
    return y


@supported
def while_counted(x):
    """A number of Python that becomes a tensor in a loop"""
    n, y = 0, x
    while y.abs().sum() < 50:
        y = y + x
        n += 1
        if n > 20:
            break
    return y * n


@supported
def while_float_of_int(x):
    """An int that becomes a float tensor in a loop"""
    total = 0
    y = x.abs() + 0.1
    while y.sum() < 60:
        total = total + y.mean()
        y = y * 1.5
    return total * x


@supported
def while_with_else(x):
    """`while` with `else`"""
    y = x.abs() + 0.1
    while y.sum() < 60:
        y = y * 1.5
    else:
        y = y + 1
    return y


@supported
def while_else_and_break(x):
    """`while` with `break` and `else`"""
    y, n = x.abs() + 0.1, 0
    while n < 5:
        y = y * 1.5
        n += 1
        if y.sum() > 40:
            break
    else:
        y = y * 100
    return y


@supported
def while_true(x):
    """`while True` with `break`"""
    y = x.abs() + 0.1
    while True:
        y = y * 1.5
        if y.sum() > 60:
            break
    return y


@supported
def while_not(x):
    """`while not` of a flag"""
    done = False
    y = x.abs() + 0.1
    while not done:
        y = y * 1.5
        done = y.sum() > 60
    return y


@supported
def while_of_and(x):
    """`while` of `and` and `or`"""
    y, n = x.abs() + 0.1, 0
    while n < 6 and (y.sum() < 60 or y.max() < 1):
        y = y * 1.5
        n = n + 1
    return y * n


@supported
def while_chained(x):
    """`while` of a chained comparison"""
    y = x.abs() + 0.1
    while 0 < y.sum() < 60:
        y = y * 1.5
    return y


@supported
def while_walrus(x):
    """`while` of a walrus"""
    y = x.abs() + 0.1
    while (s := y.sum()) < 60:
        y = y * 1.5 + s * 0.01
    return y


@supported
def break_first(x):
    """`break` at the beginning of a turn"""
    y = x
    for k in range(4):
        if y.sum() > 5:
            break
        y = y + k + 1
    return y


@supported
def break_of_range(x):
    """`break` in a long `range`"""
    y = x.abs() + 0.1
    for _ in range(100):
        y = y * 1.1
        if y.sum() > 60:
            break
    return y


@supported
def index_after_break(x):
    """The index after `break`"""
    y, k = x.abs() + 0.1, 0
    for k in range(50):
        y = y * (1.2 + 0.001 * k)
        if y.sum() > 60:
            break
    return y * k


@supported
def break_in_list(x):
    """`break` in a `for` over a list"""
    y = x
    for factor in [1.5, -2.0, 3.0, -4.0]:
        y = y * factor
        if y.sum() > 3:
            break
    return y


@supported
def break_in_layers(x):
    """`break` in a `for` over layers"""
    y = x
    for layer in _LAYERS:
        y = layer(y)
        if y.sum() > 0.5:
            break
    return y


_LAYERS = nn.LayerList([nn.Linear(4, 4, weight_attr=nn.initializer.Constant(0.1 * k)) for k in range(1, 4)])


@supported
def break_and_else(x):
    """`for` with `break` and `else`"""
    y = x
    for k in range(3):
        if x[k].sum() > 2.5:
            break
        y = y + x[k]
    else:
        y = y * 100
    return y


@supported
def continue_of_tensor(x):
    """`continue` by a tensor"""
    total = x[0] * 0
    for row in x:
        if row.sum() < 0:
            continue
        total = total + row
    return total


@supported
def continue_in_while(x):
    """`continue` in a `while` of a tensor"""
    n, y = paddle.to_tensor(0), x
    while n < (x > 0).astype("int64").sum():
        n = n + 1
        if n % 2 == 0:
            continue
        y = y + n.astype("float32")
    return y


@supported
def break_and_continue(x):
    """`break` and `continue` in one loop"""
    total = x[0] * 0
    for k in range(3):
        if x[k].sum() < -3:
            break
        if x[k].sum() < 0:
            continue
        if k == 1:
            continue
        total = total + x[k] * (k + 1)
    return total


@supported
def return_in_loop(x):
    """`return` in a `for`"""
    y = x
    for k in range(3):
        y = y + x[k]
        if y.sum() > 4:
            return y * 2
    return y * 3


@supported
def return_in_while(x):
    """`return` in a `while` of a tensor"""
    y, n = x.abs() + 0.1, 0
    while y.sum() < 80:
        y = y * 1.5
        n += 1
        if y.max() > 6:
            return y * 2
    return y * n


@supported
def return_in_nested_loops(x):
    """`return` in a loop in a loop"""
    y = x
    for i in range(2):
        for j in range(2):
            y = y + x[i] * (j + 1)
            if y.sum() > 6:
                return y * 10
    return y


@supported
def returns_of_kinds(x):
    """`return`, `break` and `continue` in one loop, with `else`"""
    y = x
    for k in range(3):
        s = x[k].sum()
        if s > 3:
            return y, y * 2
        if s < -2:
            break
        if s < 0:
            continue
        y = y + x[k]
    else:
        y = y * 5
    return y, y * 3


@supported
def return_of_python_in_loop(x):
    """`return` by a value of Python in a loop"""
    y = x
    for k in range(5):
        y = y * 2
        if k == 2:
            return y
    return None


@supported
def range_of_tensor(x):
    """`range` of a tensor"""
    y = x
    for k in range((x > 0).astype("int64").sum()):
        y = y + k
    return y


@supported
def range_of_three(x):
    """`range` of start, stop and step that are tensors"""
    n = (x > 0).astype("int64").sum()
    total = x * 0
    for k in range(n, n + 7, 2):
        total = total + k
    for k in range(n + 5, n, -2):
        total = total + k * 0.5
    return total


@supported
def range_never(x):
    """`range` of a tensor that is 0"""
    y = x
    for k in range((x > 100).astype("int64").sum()):
        y = y + k
    return y


@supported
def range_of_size(x):
    """`range` of a size"""
    total = x[0] * 0
    for k in range(x.shape[0]):
        total = total + x[k] * k
    return total


@supported
def range_of_len(x):
    """`range(len(x))`"""
    total = x[0] * 0
    for k in range(len(x)):
        total = paddle.tanh(total + x[k])
    return total


@supported
def rows_of_tensor(x):
    """`for` over a tensor"""
    total = x[0] * 0
    for row in x:
        total = total * 0.5 + row
    return total


@supported
def enumerate_of_tensor(x):
    """`enumerate` of a tensor"""
    total = x[0] * 0
    for k, row in enumerate(x):
        total = total + row * k
    return total


@supported
def enumerate_from(x):
    """`enumerate` from a number on"""
    total = x[0] * 0
    for k, row in enumerate(x, 2):
        total = total + row * k
    return total


@supported
def zip_of_tensors(x):
    """`zip` of tensors"""
    total = x[0] * 0
    for a, b in zip(x, x * 2):
        total = total + a * b
    return total


@supported
def enumerate_of_zip(x):
    """`enumerate` of `zip`"""
    total = x[0] * 0
    for k, (a, b) in enumerate(zip(x, paddle.tanh(x))):
        total = total + a * b * k
    return total


@supported
def reversed_rows(x):
    """`reversed` of a range of a size"""
    total = x[0] * 0
    for k in reversed(range(x.shape[0])):
        total = total * 0.5 + x[k]
    return total


@supported
def nested_loops(x):
    """A loop in a loop, both of tensors"""
    y, n = x.abs() + 0.1, paddle.to_tensor(0)
    while n < 3:
        while y.sum() < 20 * (n + 1).astype("float32"):
            y = y * 1.3
        n = n + 1
        y = y - 0.01
    return y


@supported
def loop_of_numbers_in_loop(x):
    """A loop of Python in a loop of a tensor"""
    y = x.abs() + 0.1
    while y.sum() < 60:
        for k in range(3):
            y = y * (1 + 0.1 * k)
    return y


@supported
def loop_of_tensor_in_loop(x):
    """A loop of a tensor in a loop of Python"""
    y = x.abs() + 0.1
    for k in range(1, 4):
        while y.sum() < 20 * k:
            y = y * 1.2
    return y


@supported
def branch_in_loop(x):
    """A branch in a loop"""
    y, n = x, 0
    while n < (x > 0).astype("int64").sum():
        if y.sum() > 0:
            y = y - 1
        else:
            y = y + 2
        n = n + 1
    return y


@supported
def loop_in_branch(x):
    """A loop in a branch"""
    y = x
    if x.sum() > 0:
        while y.sum() < 50:
            y = y * 1.5
    else:
        while y.sum() < 10:
            y = y + 1
    return y
