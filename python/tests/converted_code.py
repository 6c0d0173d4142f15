"""Functions and closures in which control flow depends on tensors."""

import contextlib
import functools

import proa as paddle
from python.tests.converted_registry import supported


@supported
def called_in_expressions(x):
    """Calls in calls, in subscripts and in arguments"""
    return _pick(_pick(x)[0:3]) + _pick(x[:3])


def _pick(v):
    if v.sum() > 0:
        return v
    return v * 0.5


def _logged(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        out = function(*args, **kwargs)
        if out.sum() > 0:
            return out
        return out * 2

    return call


def _repeated(times):
    def decorate(function):
        def call(v):
            for _ in range(times):
                v = function(v)
            return v

        return call

    return decorate


@supported
@_logged
def decorated_function(x):
    """A decorator with a branch"""
    if x.max() > 1:
        x = x * 0.5
    return x


@_repeated(3)
def _shrunk(v):
    if v.abs().max() > 1:
        v = v * 0.5
    return v


@supported
def decorator_with_arguments(x):
    """A decorator with arguments, over a function with a branch"""
    return _shrunk(x)


@supported
def partial_functions(x):
    """`functools.partial` of a function with a branch"""
    clip = functools.partial(_limited, limit=1.0)
    return clip(x) + functools.partial(_limited, x)(limit=0.5)


def _limited(v, limit):
    return v if v.abs().max() < limit else v * limit


@supported
def recursion_by_python(x):
    """Recursion on values of Python, with branches of tensors"""
    return _deeper(x, 4)


def _deeper(v, depth):
    if depth == 0:
        return v
    if v.sum() > 0:
        v = v * 0.5 - 0.1
    else:
        v = v * 0.5 + 0.1
    return _deeper(v, depth - 1)


@supported
def closure_of_closure(x):
    """Closures of closures that change names"""
    n, best = 0, x

    def outer(v):
        def inner(w):
            nonlocal n, best
            if w.sum() > best.sum():
                best = w
                n = n + 1
            return best

        return inner(v) + inner(v * 2)

    out = outer(x + 0.1)
    return out * 0.5 + best * n


@supported
def closure_changes_in_loop(x):
    """A closure that changes names of a loop"""
    total, n = x * 0, 0

    def add(v):
        nonlocal total, n
        total = total + v
        n += 1

    while total.abs().sum() < 20:
        add(x + 0.5 * x.sign())
    return total * n


@supported
def contexts_of_users(x):
    """Contexts of one's own around branches"""

    @contextlib.contextmanager
    def doubled():
        yield 2.0

    with doubled() as k:
        if x.sum() > 0:
            y = x * k
        else:
            y = x - k
    return y


@supported
def static_cond_of_users(x):
    """`static.nn.cond`, `case` and `while_loop` beside `if` and `while`"""
    y = paddle.static.nn.cond(x.sum() > 0, lambda: _pick(x * 2), lambda: _pick(x - 1))
    if y.sum() > 0:
        y = paddle.static.nn.case([(y.max() > 2, lambda: y * 2)], lambda: y + 1)
    n, y = paddle.static.nn.while_loop(
        lambda n, v: n < 3 and v.abs().sum() < 100, lambda n, v: [n + 1, _pick(v)], [paddle.to_tensor(0), y]
    )
    return y * n


@paddle.jit.to_static
def _decorated_inner(v):
    if v.sum() > 0:
        return v * 2
    return v


@supported
def converted_calls_converted(x):
    """A function decorated by `to_static` that calls another one"""
    return _decorated_inner(x) + _decorated_inner(-x)


@paddle.jit.not_to_static
def _plain(v):
    return v * 2 if v.ndim == 2 else v


@supported
def calls_unconverted(x):
    """A function marked by `not_to_static`"""
    y = _plain(x)
    if y.sum() > 0:
        y = _plain(y)
    return y


@supported
def no_grad_functions(x):
    """A function under `no_grad`"""

    @paddle.no_grad()
    def level(v):
        if v.sum() > 0:
            return v.max()
        return v.min()

    return x * level(x)


@supported
def exceptions_of_python(x):
    """Exceptions of Python that a branch raises and catches"""
    y = x
    if x.sum() > 0:
        try:
            y = y.no_such_method()
        except AttributeError:
            y = y * 2
        finally:
            y = y + 1
    return y


@supported
def generator_of_python(x):
    """Generators whose items are tensors"""

    def rows():
        for k in range(3):
            yield x[k]

    total = x[0] * 0
    for row in rows():
        if row.sum() > 0:
            total = total + row
        else:
            total = total - row
    return total


@supported
def star_return(x):
    """Returned tuples of other functions, unpacked"""

    def two(v):
        if v.sum() > 0:
            return v, v * 2
        return v * 3, v

    a, b = two(x)
    return (*two(a), b)


@supported
def default_of_none(x, mask=None, scale=None):
    """Arguments that may be None"""
    if mask is None:
        mask = x > 0
    if scale is None or mask.all():
        scale = 2.0
    if mask.any():
        x = x * scale
    return x


@supported
def names_like_builtins(x):
    """Names of builtins that are the user's own"""
    len = lambda v: v.shape[1]
    range = [1, 2]
    for k in range:
        if x.sum() > 0:
            x = x * k
    return x * len(x)


@supported
def functions_given_to_functions(x):
    """Functions that are given to `map`, `functools.reduce`, `static.nn.cond` and `while_loop`"""
    rows = list(map(_pick, [x[0], x[1]]))
    total = functools.reduce(_larger, rows)
    y = paddle.static.nn.cond(x.sum() > 0, functools.partial(_pick, x), lambda: _pick(x * 2))
    return paddle.static.nn.while_loop(_small, _grown, [y])[0] + total


def _larger(a, b):
    if a.sum() > b.sum():
        return a
    return b


def _small(v):
    if v.ndim == 2 and v.abs().sum() < 30:
        return v.max() < 10
    return v.max() < -100


def _grown(v):
    if v.sum() > 0:
        return [v * 1.5 + 0.1]
    return [v * 1.6 - 0.1]


@supported
def any_and_all(x):
    """`any`, `all`, `max`, `min` of tensors"""
    rows = [x[0], x[1], x[2]]
    y = x
    if any(row.sum() > 2 for row in rows):
        y = y * 2
    if all([row.max() > 0 for row in rows]):
        y = y + 1
    return y + max(rows[0].sum(), rows[1].sum(), 0.5) * min(x.max(), 1.0)


@supported
def stack_of_a_list(x):
    """A list as a stack: `append`, `pop`, `insert`, `clear` in branches of Python"""
    stack = [x]
    for k in range(4):
        top = stack.pop()
        if k % 2:
            stack.insert(0, top)
        else:
            stack.append(top * 2 if top.sum() > 0 else top * 3)
    return stack[-1]


@supported
def dicts_that_change(x):
    """`pop`, `update`, `setdefault` of dicts in branches"""
    d = {"a": x, "b": x * 2}
    if x.sum() > 0:
        d.update(a=x * 3)
        d["c"] = d.pop("b")
    else:
        d.setdefault("c", x * 5)
        d.pop("b")
    return d["a"] + d["c"]
