"""Functions as people write them, construct by construct: what `to_static` must run as Python does.

The first line of each docstring names the construct in docs/to_static.md, which `python converted_registry.py` writes. What
depends on tensors stands in files of its own, by subject.
"""

import collections
import contextlib
import dataclasses
import functools

import proa as paddle
from proa import nn
from python.tests.converted_registry import supported

F = nn.functional
_RATE = 0.5


# Python values ---------------------------------------------------------------------------------------------------------


@supported
def comprehension(x):
    """List comprehensions, with conditions and nested"""
    rows = [row * k for k, row in enumerate(x) if k != 1]
    return sum(v for pair in [[a, a + 1] for a in rows] for v in pair)


@supported
def comprehension_of_dict(x):
    """Comprehensions of dicts and sets"""
    parts = {name: x * k for k, name in enumerate("ab", 1)}
    sizes = {v.shape[0] for v in parts.values()}
    return {name: v + len(sizes) for name, v in parts.items()}


@supported
def if_of_values(x):
    """`if`, `elif`, `else` of Python values"""
    if x.ndim == 3:
        return x
    elif x.shape[-1] > 3 and _RATE is not None:
        return x * 2
    else:
        return -x


@supported
def early_returns(x, kind="pair"):
    """Early returns of different structure"""
    if kind == "none":
        return None
    if kind == "pair":
        return x, {"twice": x * 2}
    return x


@supported
def ternary(x):
    """Ternaries, `and`, `or`, `not` of Python values"""
    factor = 2.0 if not x.stop_gradient or x.ndim else 3.0
    return x * (factor and 4.0) * (None or 0.5)


@supported
def chained(x):
    """Chained comparisons of Python values"""
    return x * 3 if 0 < x.ndim <= 2 < x.shape[-1] else x


@supported
def loops(x):
    """`for` over `range`, with `break`, `continue`, `else`"""
    total = x * 0
    for i in range(10):
        if i % 2:
            continue
        if i > 6:
            break
        total = total + x[:, i % 4 : i % 4 + 1] * i
    else:
        total = total * 100
    return total


@supported
def while_of_values(x):
    """`while` of Python values"""
    n = 3
    while n:
        x, n = paddle.tanh(x) + n, n - 1
    return x


@supported
def zipped(x):
    """`enumerate`, `zip`, `reversed`, `map`, `len` over tensors and lists"""
    total = 0
    for i, (a, b) in enumerate(zip(x, reversed(list(x)), strict=True)):
        total = total + a * b * i
    return total + sum(map(paddle.sin, x)) * len(x)


@supported
def unpacking(x):
    """Unpacking, starred names, swaps, walrus"""
    first, *rest = paddle.split(x, 4, axis=1)
    first, second = rest[0], first
    if (count := len(rest)) > 2:
        first = first * count
    return first + second + rest[-1]


@supported
def texts(x):
    """f-strings and texts of what is known"""
    names = {f"{x.ndim}d-{k:02d}": x * k for k in range(3)}
    return names["2d-02"] + len("%s" % x.dtype)


@supported
def casts(x):
    """`int`, `float`, `bool`, `str`, `isinstance` of Python values"""
    k = int("3") + float(True) + bool(x.ndim) + len(str(x.shape[0]))
    return x * k if isinstance(x, paddle.Tensor) and not isinstance(k, int) else x


@supported
def mutation(x):
    """Lists and dicts that are changed: `append`, `extend`, `pop`, `insert`, `update`, `setdefault`"""
    items, named = [], {}
    for k in range(4):
        items.append(x * k)
        named.setdefault(k % 2, []).append(items[-1])
    items.extend([x, x + 1])
    items.insert(0, items.pop())
    named.update(last=items[0])
    return paddle.stack(items).sum(0) + sum(named[0]) + named["last"]


@supported
def counting(x):
    """Containers of the standard library: deque, defaultdict, namedtuple, dataclass"""
    queue = collections.deque([x], maxlen=2)
    queue.append(x * 2)
    queue.append(x * 3)
    found = collections.defaultdict(lambda: 0.0)
    found["a"] = found["a"] + queue[0]
    return _Pair(found["a"], queue[1]).total() + _Point(x, x).a


class _Pair(collections.namedtuple("_Pair", "a b")):
    def total(self):
        return self.a + self.b


@dataclasses.dataclass
class _Point:
    a: paddle.Tensor
    b: paddle.Tensor


@supported
def matching(x):
    """`match`"""
    match tuple(x.shape):
        case (rows, columns) if rows < columns:
            return x * rows
        case _:
            return x


# Functions ---------------------------------------------------------------------------------------------------------------


@supported
def closures(x):
    """Closures and `nonlocal`"""
    total, calls = x * 0, 0

    def add(value):
        nonlocal total, calls
        total, calls = total + value, calls + 1
        return add

    add(x)(x * 2)(x * 3)
    return total * calls


@supported
def generators(x):
    """Generators, `yield from`, generator expressions"""

    def parts():
        for k in range(3):
            yield x * k
        yield from (x[i : i + 1] for i in range(x.shape[0]))

    return sum(paddle.mean(v) for v in parts())


@supported
def lambdas(x):
    """Lambdas and functions as values, `functools.partial`, `functools.reduce`"""
    functions = [lambda v, k=k: v * k for k in (1.0, 2.0)] + [functools.partial(paddle.scale, scale=3.0)]
    return functools.reduce(lambda a, b: a * b, [f(x) for f in functions])


@supported
def recursion(x, depth=4):
    """Recursion on Python values"""
    return x if depth == 0 else paddle.sin(recursion(x, depth - 1)) + depth


@supported
def keywords(x, /, scale=1.5, *, shift=0.25, **more):
    """Positional-only, keyword-only, default and variadic arguments"""

    def inner(*args, factor, **rest):
        return sum(args) * factor + sum(rest.values())

    return inner(x, x * scale, factor=shift, third=x, **more)


@supported
def typed(x: paddle.Tensor, many: "list[int] | None" = None) -> "tuple[paddle.Tensor, ...]":
    """Type hints"""
    count: int = 3
    return tuple(x * k for k in many or range(count))


def _twice(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **kwargs) * 2

    return call


@supported
@_twice
def decorated(x):
    """Decorated functions"""
    return paddle.exp(-x * x)


@functools.lru_cache(maxsize=1)
def _cached_factor(k=3):
    return k * 1.5


@supported
def cached(x):
    """Cached functions of Python values"""
    return x * _cached_factor() + _cached_factor()


# Statements ---------------------------------------------------------------------------------------------------------------


@supported
def trying(x):
    """`try`, `except`, `else`, `finally`"""
    try:
        y = x.no_such_method()
    except AttributeError as error:
        y = x * len(type(error).__name__)
    else:
        y = x
    finally:
        y = y + 1
    return y


@supported
def contexts(x):
    """`with`: `no_grad`, `contextlib`, several at once"""

    @contextlib.contextmanager
    def scaled(k):
        yield k

    with scaled(2.0) as a, scaled(3.0) as b:
        y = x * a * b
    with paddle.no_grad():
        frozen = x * 10
    return y + frozen


@supported
def asserting(x):
    """`assert` and `raise` of Python values, `print` of what is known, `del`, `global`"""
    global _calls
    _calls = _calls + 1
    assert x.ndim == 2, "a matrix"
    if x.shape[1] < 1:
        raise ValueError("empty")
    y = x * 2
    z = y + 1
    del y
    return z


_calls = 0


# Tensors ------------------------------------------------------------------------------------------------------------------


@supported
def indexing(x):
    """Indexing: slices, `None`, `...`, lists, masks by `where`"""
    return x[1:3, None, ::2].sum(1) + x[[0, 2]][..., :2] + paddle.where(x > 0, x, x * 0)[:2, -2:]


@supported
def assigning(x):
    """Setitem and augmented assignment of what the function makes"""
    y = paddle.zeros_like(x)
    y[0] = x[1] * 2
    y[:, 1] = x[:, 0]
    y += x
    y[1:] *= 3.0
    return y


@supported
def sizes(x):
    """Sizes as numbers: `x.shape[0]`, arithmetic, `reshape`, `zeros`"""
    n = x.shape[0]
    return x.reshape([n * 2, -1]) / n + paddle.ones([n * 2, 1])


@supported
def choosing(x):
    """Choices by values of tensors: `paddle.where`, `static.nn.cond`, `case`, `while_loop`"""
    y = paddle.static.nn.cond(x.mean() > 0, lambda: x * 2, lambda: x - 1)
    i, y = paddle.static.nn.while_loop(lambda i, v: i < 3, lambda i, v: [i + 1, v * 0.5], [paddle.to_tensor(0), y])
    return y + paddle.where(x > 0, x, -x)


@supported
def arrays(x):
    """Lists of tensors: `create_array`, `array_write`, `array_read`, `concat`"""
    array = paddle.tensor.create_array("float32")
    for k in range(3):
        paddle.tensor.array_write(x * k, paddle.to_tensor(k), array)
    return paddle.concat(array, 0) + paddle.tensor.array_read(array, paddle.to_tensor(1)).sum()


# Classes ------------------------------------------------------------------------------------------------------------------


class _Base(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4, weight_attr=nn.initializer.Constant(0.3))

    def forward(self, x):
        return self.linear(x)


class _Derived(_Base):
    scale = 2.0

    @property
    def factor(self):
        return self.scale + 1

    @staticmethod
    def shifted(x):
        return x + 1

    @classmethod
    def doubled(cls, x):
        return x * cls.scale

    def __getitem__(self, k):
        return self.linear.weight[k]

    def forward(self, x):
        return self.shifted(self.doubled(super().forward(x))) * self.factor + self[0]


_LAYER = _Derived()


@supported
def inheritance(x):
    """`super`, properties, static and class methods, operators of classes"""
    return _LAYER(x)


@supported
def layers(x):
    """Layers made outside: Sequential, LayerList, loops over them"""
    for layer in _LIST:
        x = layer(x) + x
    return x


_LIST = nn.LayerList(
    [nn.Linear(4, 4, weight_attr=nn.initializer.Constant(0.1)), nn.Sequential(nn.Tanh(), nn.LayerNorm(4))]
)


class _Steps:
    """Iterates, and is called."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        return iter(range(self.count))

    def __call__(self, x):
        return x * self.count


@supported
def objects(x):
    """Classes of one's own: `__iter__`, `__call__`, attributes that are set"""
    steps = _Steps(3)
    steps.kept = x
    for k in steps:
        steps.kept = steps(steps.kept) + k
    return steps.kept


@supported
def beam(x):
    """A beam search of fixed length: `topk`, `gather`, lists of histories"""
    scores, paths = x[0], []
    for _ in range(3):
        wide = scores.unsqueeze(1) + F.log_softmax(x @ x.t() @ x, -1)[:1]
        best, index = paddle.topk(wide.flatten(), 4)
        paths.append(index // 4)
        scores = best
    return scores, paddle.stack(paths)


@supported
def attention(x):
    """A block of attention written out"""
    q, k, v = (x * s for s in (1.0, 0.5, 2.0))
    weights = F.softmax(q @ k.t() / q.shape[-1] ** 0.5, axis=-1)
    return F.gelu(weights @ v) + x


@supported
def recurrent(x):
    """A recurrent net as a loop over steps"""
    h = paddle.zeros([1, 4])
    states = []
    for t in range(x.shape[0]):
        h = paddle.tanh(x[t : t + 1] + h * 0.5)
        states.append(h)
    return paddle.concat(states[::-1], 0), h


@supported
def suppression(x):
    """Overlaps of boxes, all against all, by broadcasting"""
    low, high = paddle.minimum(x[:, :2], x[:, 2:]), paddle.maximum(x[:, :2], x[:, 2:])
    area = (high - low).prod(-1)
    inner = paddle.clip(paddle.minimum(high[:, None], high) - paddle.maximum(low[:, None], low), min=0).prod(-1)
    return inner / (area[:, None] + area - inner + 1e-3)
