"""Gives parameters the same first values in every framework that calls itself `paddle`.

Random streams of frameworks differ, so that a program trained from random weights
prints other numbers in each. Here a parameter that would be drawn at random gets
values that depend on its shape and on how many of that shape came before, and on
nothing else. Parameters that a program sets itself, to constants or arrays, stay.
"""

import copy
import zlib

import numpy as np

# Initializers that draw nothing.
_NOT_RANDOM = {"Constant", "ConstantInitializer", "Assign", "NumpyArrayInitializer", "Dirac", "Bilinear"}


def values_for(shape, count):
    """The values of the `count`-th parameter of a shape: uniform, within 1 / sqrt(fan in)."""
    seed = zlib.crc32(repr((tuple(shape), count)).encode())
    fan = max(1, int(np.prod(shape[1:])) if len(shape) > 2 else shape[0])
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype("float32") / np.float32(fan**0.5)


def install(paddle):
    """Replaces the random initializers of all layers made from now on."""
    original = paddle.nn.Layer.create_parameter
    counts = {}

    def create_parameter(self, shape, attr=None, dtype=None, is_bias=False, default_initializer=None, **more):
        arguments = {
            "attr": attr,
            "dtype": dtype,
            "is_bias": is_bias,
            "default_initializer": default_initializer,
            **more,
        }
        if attr is False:
            return original(self, shape, **arguments)
        if isinstance(attr, str):
            attr = paddle.ParamAttr(name=attr)
        elif isinstance(attr, paddle.ParamAttr):
            attr = copy.copy(attr)
        elif attr is not None and not isinstance(attr, bool):
            attr = paddle.ParamAttr(initializer=attr)
        else:
            attr = paddle.ParamAttr()
        initializer = attr.initializer or default_initializer
        drawn = not is_bias if initializer is None else type(initializer).__name__ not in _NOT_RANDOM
        if drawn:
            shape = [int(size) for size in shape]
            count = counts[tuple(shape)] = counts.get(tuple(shape), -1) + 1
            attr.initializer = paddle.nn.initializer.Assign(values_for(shape, count))
        arguments["attr"] = attr
        return original(self, shape, **arguments)

    paddle.nn.Layer.create_parameter = create_parameter
