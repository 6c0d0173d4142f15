"""Initializer, the base class; the global initializers; fan sizes and gains."""

import math

from proa import _C

_global_weight = None
_global_bias = None


class Initializer:
    """Base of initializers. Subclasses define `make`, or override `__call__` alone."""

    def make(self, shape, dtype):
        """A new tensor of this shape and dtype."""
        raise _C.located(NotImplementedError(f"{type(self).__name__}.make"))

    def __call__(self, param, block=None):
        """Fills `param` in place and returns it."""
        grad = _C.is_grad_enabled()
        _C.set_grad_enabled(False)
        try:
            if _C.is_symbolic(param):
                param.set_value(self.make(param.shape, param.dtype))
            else:
                with _C.eager_mode():  # once, also where a program is recorded
                    param.set_value(self.make(param.shape, param.dtype))
        finally:
            _C.set_grad_enabled(grad)
        return param


def fills_in_place(initializer):
    """True for a callable that fills a parameter but cannot make a tensor."""
    return type(initializer).__dict__.get("make") is None and getattr(type(initializer), "make", None) in (
        None,
        Initializer.make,
    )


def start_value(initializer, shape, dtype):
    """The tensor that a new parameter takes over."""
    if fills_in_place(initializer):
        return _C.ops.full(shape, 0.0, dtype)
    return initializer.make(shape, dtype)


def set_global_initializer(weight_init, bias_init=None):
    """Sets the initializers of all parameters made from now on whose attr names none.

    Args:
        weight_init (Initializer|None): for weights; None goes back to each layer's own.
        bias_init (Initializer|None): for biases.

    Examples:
        >>> init = proa.nn.initializer
        >>> init.set_global_initializer(init.Uniform(), init.Constant(0.1))
        >>> init.set_global_initializer(None)
    """
    for each in (weight_init, bias_init):
        if each is not None and not callable(each):
            raise _C.located(TypeError(f"set_global_initializer: {each!r} is not an initializer"))
    global _global_weight, _global_bias
    _global_weight, _global_bias = weight_init, bias_init


def global_initializer(is_bias):
    """What `set_global_initializer` set, or None."""
    return _global_bias if is_bias else _global_weight


def fans(shape):
    """(fan_in, fan_out) of a weight: [in, out] for a matrix, [out, in, ...] for a convolution."""
    if not shape:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    if len(shape) == 2:
        return shape[0], shape[1]
    receptive = math.prod(shape[2:])
    return shape[1] * receptive, shape[0] * receptive


_GAINS = {
    "sigmoid": 1.0,
    "linear": 1.0,
    "conv1d": 1.0,
    "conv2d": 1.0,
    "conv3d": 1.0,
    "conv1d_transpose": 1.0,
    "conv2d_transpose": 1.0,
    "conv3d_transpose": 1.0,
    "tanh": 5.0 / 3.0,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4.0,
}


def calculate_gain(nonlinearity, param=None):
    """The factor by which an activation shrinks a standard normal's spread.

    Args:
        nonlinearity (str): sigmoid, linear, conv1d to conv3d_transpose, tanh, relu, leaky_relu or selu.
        param (float, optional): the negative slope of leaky_relu, 0.01 unless given.

    Examples:
        >>> proa.nn.initializer.calculate_gain("tanh")
        1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else float(param)
        return math.sqrt(2.0 / (1.0 + slope * slope))
    if nonlinearity not in _GAINS:
        raise _C.located(
            ValueError(f"calculate_gain: {nonlinearity!r} is not known; choose from {sorted([*_GAINS, 'leaky_relu'])}")
        )
    return _GAINS[nonlinearity]
