"""Functions, classes and closures in which control flow depends on tensors."""

import abc
import contextlib
import functools

import proa as paddle
from proa import nn
from python.tests.converted_registry import supported

F = nn.functional


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


class _Shape(abc.ABC):
    scale = 1.5

    def __init__(self, value):
        self.value = value
        self.__count = 0

    @abc.abstractmethod
    def area(self, x): ...

    @property
    def half(self):
        if self.value.sum() > 0:
            return self.value * 0.5
        return self.value

    @classmethod
    def made(cls, x):
        if x.sum() > 0:
            x = x * cls.scale
        return cls(x)

    @staticmethod
    def positive(x):
        return x if x.sum() > 0 else -x

    def counted(self, x):
        if x.sum() > 0:
            self.__count += 1
        else:
            self.__count += 2
        return x * self.__count

    def __add__(self, other):
        return self.positive(self.value) + other.value

    def __call__(self, x):
        return self.area(x) if x.sum() > 0 else x


class _Square(_Shape):
    def area(self, x):
        if x.mean() > 0:
            return x * self.value
        return x + self.value


@supported
def methods(x):
    """Methods with branches"""
    return _Square(x).area(x)


@supported
def class_methods(x):
    """Class methods and static methods with branches"""
    return _Square.made(x).value + _Square.positive(x)


@supported
def callable_objects(x):
    """Objects that are called"""
    return _Square(x)(x)


@supported
def private_names(x):
    """Private names of a class"""
    square = _Square(x)
    return square.counted(x) + square.counted(-x)


class _Base(nn.Layer):
    def __init__(self, width=4):
        super().__init__()
        self.linear = nn.Linear(4, width, weight_attr=nn.initializer.Constant(0.25))
        self.limit = 1.0

    def forward(self, x, factor=1.0):
        y = self.linear(x) * factor
        if y.abs().max() > self.limit:
            y = y / y.abs().max()
        return y

    def helper(self, x):
        if x.sum() > 0:
            return x
        return -x


class _Derived(_Base):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 4, weight_attr=nn.initializer.Constant(-0.2))

    def helper(self, x):
        y = super().helper(x)
        if y.max() > 2:
            y = y * 0.1
        return y

    def forward(self, x, *, deep=True):
        y = super().forward(x, factor=2.0)
        if x.sum() > 0:
            y = super(_Derived, self).forward(y) + self.helper(x)
        elif deep:
            y = self.helper(self.gate(y))
        return y


_LAYER = _Derived()


@supported
def super_in_branches(x):
    """`super()` in methods and in branches of them"""
    return _LAYER(x)


@supported
def method_of_layer(x):
    """A method of a layer that is not `forward`"""
    return _LAYER.helper(x)


@supported
def keyword_only_forward(x):
    """Keyword-only arguments of `forward`"""
    return _LAYER(x, deep=False)


class _Mixed(nn.Layer):
    def __init__(self):
        super().__init__()
        self.blocks = nn.LayerList([_Base() for _ in range(3)])
        self.names = nn.LayerDict({"a": _Base(), "b": nn.Tanh()})

    def forward(self, x):
        for k, block in enumerate(self.blocks):
            x = block(x) + x
            if k == 1 and x.sum() > 4:
                x = x * 0.5
        for name, layer in self.names.items():
            x = layer(x) if name == "b" else layer(x) * 2
        return x


_MIXED = _Mixed()


@supported
def layers_in_lists(x):
    """Layers with branches in a LayerList and a LayerDict"""
    return _MIXED(x)


def _hooked():
    layer = _Base()

    def after(layer, inputs, output):
        if output.sum() > 0:
            return output * 2
        return output

    layer.register_forward_post_hook(after)
    return layer


_HOOKED = _hooked()


@supported
def hooks(x):
    """Hooks of layers"""
    return _HOOKED(x) + x


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
