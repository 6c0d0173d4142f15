"""Expressions that depend on tensors: functions that `to_static` must run as Python does."""

import functools

import proa as paddle
from python.tests.converted_registry import supported

F = paddle.nn.functional


@supported
def and_of_tensors(x):
    """`and` of tensors"""
    if x.sum() > 0 and x.max() > 1:
        return x * 2
    return x * 3


@supported
def or_of_tensors(x):
    """`or` of tensors"""
    return x * 2 if x.sum() > 1 or x.min() < -2 else x * 3


@supported
def not_of_tensors(x):
    """`not` of a tensor"""
    if not x.sum() > 0:
        return x * 2
    return x * 3


@supported
def and_or_not(x):
    """`and`, `or` and `not` together"""
    a, b, c = x.sum() > 0, x.max() > 1, x.min() < -1
    return x * 2 if (a and not b) or (c and not (a or b)) else x * 3


@supported
def python_and_tensor_terms(x):
    """`and`, `or` of values of Python and tensors"""
    y = x * 1
    if x.ndim == 2 and x.sum() > 0:
        y = y + 1
    if x.ndim == 3 or x.sum() > 0:
        y = y + 2
    if x.sum() > 0 and x.ndim == 3:
        y = y + 4
    return y


@supported
def guarded_terms(x):
    """The second term is computed only where the first one holds"""
    n = (x > 0).astype("int64").sum() % 4
    y = x
    if n < 3 and x[n].sum() > 0:
        y = y * 2
    if n >= 3 or x[n].sum() < 0:
        y = y + 1
    return y


@supported
def values_of_and(x):
    """`and` and `or` as values"""
    flag = x.sum() > 0
    both = flag and x.max() > 1
    either = flag or x.max() > 1
    return x * both.astype("float32") + either.astype("float32"), both, either


@supported
def values_of_or(x):
    """`or` of numbers as a value"""
    k = F.relu(x.sum()) or x.abs().max()
    return x * k


@supported
def chained_comparisons(x):
    """Chained comparisons of tensors"""
    if -1 < x.mean() < 0.2 < 1:
        return x * 2
    return x * 3


@supported
def chained_of_three(x):
    """Chained comparisons with several tensors"""
    a, b, c = x[0].sum(), x[1].sum(), x[2].sum()
    y = x * 2 if a < b < c else x * 3
    return y * 2 if a > b >= c else y


@supported
def ternaries(x):
    """A ternary of a tensor"""
    return x * 2 if x.sum() > 0 else x - 1


@supported
def ternaries_in_ternaries(x):
    """A ternary in a ternary"""
    return x * 2 if x.sum() > 2 else (x * 3 if x.sum() > 0 else x * 4)


@supported
def ternary_of_numbers(x):
    """A ternary of numbers of Python"""
    k = 3 if x.sum() > 0 else 5
    return x * k


@supported
def ternary_of_tuples(x):
    """A ternary of tuples and dicts"""
    a, b = (x, x * 2) if x.sum() > 0 else (x * 3, x)
    d = {"k": a} if x.sum() > 0 else {"k": b}
    return a - b + d["k"]


@supported
def ternary_as_argument(x):
    """Ternaries in arguments, f-strings and lists"""
    items = [x if x.sum() > 0 else -x, paddle.tanh(x * 2 if x.max() > 1 else x)]
    return paddle.add(*items) * len(f"{'a' if x.ndim == 2 else 'bc'}")


@supported
def ternary_in_comprehension(x):
    """Ternaries in comprehensions"""
    return paddle.stack([row if row.sum() > 0 else row * 0.1 for row in [x[0], x[1], x[2]]])


@supported
def lambdas_with_ternaries(x):
    """Lambdas with ternaries"""
    act = lambda v: v * 2 if v.sum() > 0 else v * 3
    return act(x) + act(-x)


@supported
def lambdas_as_defaults(x):
    """Lambdas as arguments with defaults"""

    def apply(v, act=lambda v: v if v.sum() > 0 else -v, *, scale=2.0):
        return act(v) * scale

    return apply(x) + apply(x, scale=1.0)


@supported
def lambdas_in_map(x):
    """Lambdas given to `map`, `filter`, `sorted`, `reduce`"""
    rows = list(map(lambda v: v * 2 if v.sum() > 0 else v, [x[0], x[1], x[2]]))
    first = functools.reduce(lambda a, b: a if a.sum() > b.sum() else b, rows)
    return first + sorted(rows, key=lambda v: v.ndim)[0]


@supported
def walrus_in_condition(x):
    """A walrus in a condition"""
    if (s := x.sum()) > 0:
        return x * s
    return x - s


@supported
def casts_of_tensors(x):
    """`int`, `float`, `bool` of tensors"""
    k = int(x.abs().sum())
    f = float(x.astype("float64").mean())
    b = bool(x.sum() > 0)
    y = x * k + f
    if b:
        y = y + 1
    return y


@supported
def int_as_bound(x):
    """`int` of a tensor as the bound of a loop"""
    y = x
    for _ in range(int(x.abs().sum()) % 4):
        y = y * 1.5
    return y


@supported
def int_as_size(x):
    """`int` of a tensor in an index"""
    n = int((x > 0).astype("int64").sum() % 3)
    return x[n] * 2


@supported
def len_of_tensors(x):
    """`len` of a tensor"""
    if len(x) > 4:
        return x * 2
    return x * len(x)


@supported
def sizes_in_conditions(x):
    """Sizes in conditions"""
    y = x
    if x.shape[0] > 4:
        y = y * 2
    if x.shape[0] >= 3 and x.shape[1] == 4:
        y = y + 1
    return y * 3 if 3 < x.shape[0] <= 6 else y


@supported
def shape_function(x):
    """`paddle.shape` in conditions and bounds"""
    total = x[0] * 0
    for k in range(paddle.shape(x)[0]):
        total = total + x[k]
    if paddle.shape(x)[0] > 4:
        total = total * 2
    return total


@supported
def asserts_of_tensors(x):
    """`assert` of a tensor"""
    assert x.abs().sum() > 0, "nothing"
    assert (x.abs() < 100).all() and x.ndim == 2
    return x * 2


@supported
def prints_of_tensors(x):
    """`print` of tensors"""
    y = x * 2
    print("sum", y.sum(), end="")
    return y


@supported
def comparisons_of_identity(x):
    """`is`, `is not`, `in` of Python beside tensors"""
    kind = None
    if x is not None and kind is None:
        kind = "a" if kind is not None and x.sum() > 0 else "b"
    return x * 2 if kind in ("b", "c") else x


@supported
def isinstance_of_tensors(x):
    """`isinstance`, `hasattr`, `callable` of tensors"""
    if isinstance(x, paddle.Tensor) and hasattr(x, "shape") and not callable(3):
        if x.sum() > 0:
            return x * 2
    return x * 3


@supported
def starred_arguments(x):
    """Starred and named arguments of a converted function"""

    def mix(a, b, *rest, factor=1.0, **more):
        if a.sum() > 0:
            return a * factor + b
        return a + b * more.get("scale", 3.0) + sum(rest)

    return mix(*[x, x * 2], *(x, x), factor=0.5, **{"scale": 2.0})


@supported
def conditional_call(x):
    """A function that is chosen by Python, called in a condition of a tensor"""
    act = paddle.tanh if x.ndim == 2 else paddle.sin
    if act(x).sum() > 0:
        return act(x)
    return act(-x)


@supported
def annotated(x: paddle.Tensor, scale: float = 2.0) -> paddle.Tensor:
    """Type hints of names and parameters in branches"""
    y: paddle.Tensor = x
    count: int
    if x.sum() > 0:
        count: int = 3  # type: ignore[no-redef]
        y: paddle.Tensor = x * count * scale  # type: ignore[no-redef]
    return y


@supported
def unpacked_in_branches(x):
    """Unpacking, starred names in a branch"""
    if x.sum() > 0:
        a, *rest = paddle.split(x, 4, axis=1)
        b = rest[-1]
    else:
        (a, b), _ = (x[:, :1], x[:, 1:2]), None
    return a * b


@supported
def many_targets(x):
    """`a = b = c` and `a[0], b = ...` in a branch"""
    a = b = x * 1
    pair = [x, x]
    if x.sum() > 0:
        a = b = x * 2
        pair[0], c = a * 2, b
    else:
        pair[1], c = x * 3, x
    return a + b + pair[0] + pair[1] + c


@supported
def match_of_python(x):
    """`match` of Python with branches of tensors in its cases"""
    match tuple(x.shape)[1:]:
        case (4,) if x.ndim == 2:
            if x.sum() > 0:
                return x * 2
            y = x * 3
        case _:
            y = x
    return y + 1


@supported
def walrus_in_while(x):
    """`:=` in the condition of a `while`, with `and`"""
    n = 0
    while (s := x.abs().sum()) > 1.0 and (n := n + 1) < 20:
        x = x / 2
    return x * s + n


@supported
def walrus_of_and(x):
    """`:=` in later operands of `and`, used where all hold"""
    if x.max() > 0 and (m := x.sum() + 100) < 1000 and (k := m * 2) > 0:
        x = x * m + k
    else:
        x = x - 1
    return x


@supported
def walrus_in_turns(x):
    """The same in a loop with `break` and `else`"""
    n = 0
    while x.abs().max() > 0.5 and (m := x.sum()) < 1000:
        if m > 7:
            break
        x, n = x / 2 + m / 100, n + 1
    else:
        x = x + 1
    return x * n


@supported
def walrus_of_ways(x):
    """`:=` in the ways of `or` and ternaries"""
    y = 0 if (n := x.sum()) > 0 and (m := x.max()) > -10 else 3  # noqa: F841
    k = (a := x.mean()) > 1 or (b := a + 1) > 0  # noqa: F841
    q = (c := 3) if x.sum() > 0 else (c := 4)
    return x * n + y + a + q + c + k
