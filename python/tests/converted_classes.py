"""Classes, layers, properties and hooks in which control flow depends on tensors."""

import abc

import proa as paddle
from proa import nn
from python.tests.converted_registry import supported


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
def properties(x):
    """Properties with branches"""
    square = _Square(x)
    return square.half + _Square(-x).half.sum()


class _Chosen:
    def __init__(self, x):
        if x.sum() > 0:
            self.value = x * 2
        else:
            self.value = x * 3
        self.count = 1


@supported
def constructors(x):
    """`__init__` with a branch"""
    return _Chosen(x).value + _Chosen(-x).value


class _Level:
    """A value that a property gives, sets by a tensor, and deletes."""

    def __init__(self):
        self._value = None
        self.sets = 0

    @property
    def value(self):
        return self._value

    @value.setter
    def value(self, x):
        self.sets += 1
        if x.sum() > 0:
            self._value = x * 2
        else:
            self._value = x - 1

    @value.deleter
    def value(self):
        self._value = None


@supported
def property_set(x):
    """Properties with setters, `+=` and deleters"""
    level = _Level()
    level.value = x
    level.value += 1
    first, level.value = level.value, x * 3
    y = level.value
    del level.value
    assert level.value is None and level.sets == 3
    return y + first


@supported
def property_set_in_branch(x):
    """A property that a branch and a loop set"""
    level = _Level()
    level.value = x
    if x.max() > 1:
        level.value = x * 5
    n = paddle.to_tensor(0)
    while n < 3:
        level.value = level.value + x
        n = n + 1
    return level.value
