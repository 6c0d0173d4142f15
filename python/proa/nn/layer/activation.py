"""Activations as layers."""

from collections.abc import Callable

from proa import _C
from proa._C import Tensor
from proa.framework.attributes import real
from proa.framework.names import borrow as _borrow
from proa.nn import functional as F
from proa.nn.functional.shapes import size_argument
from proa.nn.initializer import Constant
from proa.nn.layer.layers import Layer


def function_of(owner, argument, name):
    """The function of nn.functional that an argument of a layer, such as `activation`, names."""
    function = getattr(F, name, None) if isinstance(name, str) and not name.startswith("_") else None
    if not callable(function):
        raise _C.located(
            ValueError(
                f"{owner}: {argument} must be the name of a function of nn.functional, such as 'relu', not {name!r}"
            )
        )
    return function


class _Activation(Layer):
    """An activation with these settings; `_function` computes it."""

    _function: Callable[..., Tensor]  # of proa.nn.functional

    def __init__(self, name=None, **settings):
        super().__init__()
        for key, value in settings.items():
            self.__dict__["_" + key] = value
        self.__dict__["_setting_names"] = tuple(settings)
        self.__dict__["_name"] = name

    def _settings(self):
        """The settings as the attributes have them now."""
        return {key: self.__dict__["_" + key] for key in self._setting_names}

    @property
    def name(self):
        return self._name

    def forward(self, x):
        return type(self)._function(x, **self._settings())

    def extra_repr(self):
        return ", ".join(f"{key}={value}" for key, value in self._settings().items())


class ReLU(_Activation):
    """max(x, 0).

    Examples:
        >>> proa.nn.ReLU()(proa.to_tensor([-2.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    def __init__(self, name=None):
        super().__init__(name)

    def forward(self, x):
        return F.relu(x)


class ReLU6(_Activation):
    """min(max(x, 0), 6).

    Examples:
        >>> proa.nn.ReLU6()(proa.to_tensor([-2.0, 8.0])).tolist()
        [0.0, 6.0]
    """

    _function = staticmethod(F.relu6)

    def __init__(self, name=None):
        super().__init__(name)


class Sigmoid(_Activation):
    """1 / (1 + exp(-x)).

    Examples:
        >>> proa.nn.Sigmoid()(proa.to_tensor([0.0])).tolist()
        [0.5]
    """

    _function = staticmethod(F.sigmoid)

    def __init__(self, name=None):
        super().__init__(name)


class LogSigmoid(_Activation):
    """log(1 / (1 + exp(-x))).

    Examples:
        >>> np.round(proa.nn.LogSigmoid()(proa.to_tensor([0.0])).astype("float64").numpy(), 4).tolist()
        [-0.6931]
    """

    _function = staticmethod(F.log_sigmoid)

    def __init__(self, name=None):
        super().__init__(name)


class Tanh(_Activation):
    """Hyperbolic tangent.

    Examples:
        >>> proa.nn.Tanh()(proa.to_tensor([0.0])).tolist()
        [0.0]
    """

    _function = staticmethod(F.tanh)

    def __init__(self, name=None):
        super().__init__(name)


class Tanhshrink(_Activation):
    """x - tanh(x).

    Examples:
        >>> proa.nn.Tanhshrink()(proa.to_tensor([0.0])).tolist()
        [0.0]
    """

    _function = staticmethod(F.tanhshrink)

    def __init__(self, name=None):
        super().__init__(name)


class Silu(_Activation):
    """x * sigmoid(x).

    Examples:
        >>> proa.nn.Silu()(proa.to_tensor([0.0])).tolist()
        [0.0]
    """

    _function = staticmethod(F.silu)

    def __init__(self, name=None):
        super().__init__(name)


class Swish(_Activation):
    """x * sigmoid(x).

    Examples:
        >>> proa.nn.Swish()(proa.to_tensor([0.0])).tolist()
        [0.0]
    """

    _function = staticmethod(F.swish)

    def __init__(self, name=None):
        super().__init__(name)


class Mish(_Activation):
    """x * tanh(log(1 + exp(x))).

    Examples:
        >>> proa.nn.Mish()(proa.to_tensor([0.0])).tolist()
        [0.0]
    """

    _function = staticmethod(F.mish)

    def __init__(self, name=None):
        super().__init__(name)


class Softsign(_Activation):
    """x / (1 + |x|).

    Examples:
        >>> proa.nn.Softsign()(proa.to_tensor([1.0])).tolist()
        [0.5]
    """

    _function = staticmethod(F.softsign)

    def __init__(self, name=None):
        super().__init__(name)


class Hardsigmoid(_Activation):
    """min(max(x / 6 + 0.5, 0), 1).

    Examples:
        >>> proa.nn.Hardsigmoid()(proa.to_tensor([-4.0, 0.0, 4.0])).tolist()
        [0.0, 0.5, 1.0]
    """

    _function = staticmethod(F.hardsigmoid)

    def __init__(self, name=None):
        super().__init__(name)


class Hardswish(_Activation):
    """x * min(max(x + 3, 0), 6) / 6.

    Examples:
        >>> proa.nn.Hardswish()(proa.to_tensor([-4.0, 4.0])).tolist()
        [0.0, 4.0]
    """

    _function = staticmethod(F.hardswish)

    def __init__(self, name=None):
        super().__init__(name)


class GELU(_Activation):
    """x * P(X <= x) of a standard normal X; `approximate` by tanh.

    Examples:
        >>> proa.nn.GELU()(proa.to_tensor([0.0])).tolist()
        [0.0]
    """

    _function = staticmethod(F.gelu)

    def __init__(self, approximate=False, name=None):
        super().__init__(name, approximate=approximate)


class ELU(_Activation):
    """x where positive, alpha * (exp(x) - 1) elsewhere.

    Examples:
        >>> proa.nn.ELU()(proa.to_tensor([0.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    _function = staticmethod(F.elu)

    def __init__(self, alpha=1.0, name=None):
        super().__init__(name, alpha=alpha)


class CELU(_Activation):
    """max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0).

    Examples:
        >>> proa.nn.CELU()(proa.to_tensor([0.0, 2.0])).tolist()
        [0.0, 2.0]
    """

    _function = staticmethod(F.celu)

    def __init__(self, alpha=1.0, name=None):
        super().__init__(name, alpha=alpha)


class SELU(_Activation):
    """scale * (x where positive, alpha * (exp(x) - 1) elsewhere).

    Examples:
        >>> proa.nn.SELU()(proa.to_tensor([0.0])).tolist()
        [0.0]
    """

    _function = staticmethod(F.selu)

    def __init__(self, scale=1.0507009873554805, alpha=1.6732632423543772, name=None):
        super().__init__(name, scale=scale, alpha=alpha)


class LeakyReLU(_Activation):
    """x where positive, negative_slope * x elsewhere.

    Examples:
        >>> proa.nn.LeakyReLU(0.5)(proa.to_tensor([-2.0, 2.0])).tolist()
        [-1.0, 2.0]
    """

    _function = staticmethod(F.leaky_relu)

    def __init__(self, negative_slope=0.01, name=None):
        super().__init__(name, negative_slope=negative_slope)


class Hardshrink(_Activation):
    """x where |x| > threshold, 0 elsewhere.

    Examples:
        >>> proa.nn.Hardshrink()(proa.to_tensor([0.25, 2.0])).tolist()
        [0.0, 2.0]
    """

    _function = staticmethod(F.hardshrink)

    def __init__(self, threshold=0.5, name=None):
        super().__init__(name, threshold=threshold)


class Softshrink(_Activation):
    """x moved towards 0 by threshold.

    Examples:
        >>> proa.nn.Softshrink()(proa.to_tensor([0.25, 2.0])).tolist()
        [0.0, 1.5]
    """

    _function = staticmethod(F.softshrink)

    def __init__(self, threshold=0.5, name=None):
        super().__init__(name, threshold=threshold)


class ThresholdedReLU(_Activation):
    """x where x > threshold, 0 elsewhere.

    Examples:
        >>> proa.nn.ThresholdedReLU()(proa.to_tensor([0.5, 2.0])).tolist()
        [0.0, 2.0]
    """

    _function = staticmethod(F.thresholded_relu)

    def __init__(self, threshold=1.0, name=None):
        super().__init__(name, threshold=threshold)


class Hardtanh(_Activation):
    """x kept in [min, max].

    Examples:
        >>> proa.nn.Hardtanh()(proa.to_tensor([-4.0, 0.5])).tolist()
        [-1.0, 0.5]
    """

    _function = staticmethod(F.hardtanh)

    def __init__(self, min=-1.0, max=1.0, name=None):
        super().__init__(name, min=min, max=max)


class Softplus(_Activation):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold.

    Examples:
        >>> np.round(proa.nn.Softplus()(proa.to_tensor([0.0])).astype("float64").numpy(), 4).tolist()
        [0.6931]
    """

    _function = staticmethod(F.softplus)

    def __init__(self, beta=1, threshold=20, name=None):
        super().__init__(name, beta=beta, threshold=threshold)


class Softmax(_Activation):
    """exp(x) over its sum along `axis`.

    Examples:
        >>> proa.nn.Softmax()(proa.to_tensor([1.0, 1.0])).tolist()
        [0.5, 0.5]
    """

    _function = staticmethod(F.softmax)

    def __init__(self, axis=-1, name=None):
        super().__init__(name, axis=axis)


class Softmax2D(Layer):
    """Softmax over the channels of images, [N, C, H, W] or [C, H, W].

    Examples:
        >>> proa.nn.Softmax2D()(proa.zeros([1, 2, 1, 1])).flatten().tolist()
        [0.5, 0.5]
    """

    def __init__(self, name=None):
        super().__init__()
        self._name = name

    def forward(self, x):
        x = _C.tensor_argument(x, "Softmax2D", "x")
        if len(x.shape) not in (3, 4):
            raise _C.located(ValueError(f"Softmax2D: x must be [N, C, H, W] or [C, H, W]; it is {list(x.shape)}"))
        return F.softmax(x, -3)

    def extra_repr(self):
        return "" if self._name is None else f"name={self._name}"


class LogSoftmax(_Activation):
    """The logarithm of Softmax.

    Examples:
        >>> np.round(proa.nn.LogSoftmax()(proa.to_tensor([0.0, 0.0])).astype("float64").numpy(), 4).tolist()
        [-0.6931, -0.6931]
    """

    _function = staticmethod(F.log_softmax)

    def __init__(self, axis=-1, name=None):
        super().__init__(name, axis=axis)


class Maxout(_Activation):
    """The highest of `groups` channels that lie side by side along `axis`.

    Examples:
        >>> proa.nn.Maxout(2)(proa.ones([1, 4, 2, 2])).shape
        [1, 2, 2, 2]
    """

    _function = staticmethod(F.maxout)

    def __init__(self, groups, axis=1, name=None):
        super().__init__(name, groups=groups, axis=axis)


class GLU(_Activation):
    """First half times sigmoid of the second half along `axis`.

    Examples:
        >>> proa.nn.GLU()(proa.to_tensor([3.0, 0.0])).tolist()
        [1.5]
    """

    _function = staticmethod(F.glu)

    def __init__(self, axis=-1, name=None):
        super().__init__(name, axis=axis)


class PReLU(Layer):
    """x where positive, weight * x elsewhere; the weight is trained.

    Args:
        num_parameters (int): 1, or one for each channel.
        init (float): what the weight starts from.
        weight_attr (ParamAttr, optional): of the weight.
        data_format (str): where the channels are.

    Examples:
        >>> proa.nn.PReLU()(proa.to_tensor([-2.0, 2.0])).tolist()
        [-0.5, 2.0]
    """

    def __init__(self, num_parameters=1, init=0.25, weight_attr=None, data_format="NCHW", name=None):
        super().__init__()
        num_parameters = size_argument("PReLU", "num_parameters", num_parameters)
        self._num_parameters, self._data_format = num_parameters, data_format
        self._init, self._weight_attr, self._name = init, weight_attr, name
        self._weight = self.create_parameter(
            [num_parameters], weight_attr, default_initializer=Constant(real("PReLU", "init", init))
        )

    @property
    def weight(self):
        return self._weight

    def forward(self, x):
        return F.prelu(x, self._weight, data_format=self._data_format)

    def extra_repr(self):
        text = f"num_parameters={self._num_parameters}, data_format={self._data_format}"
        return f"{text}, init={self._init}, dtype={self._dtype}"


__getattr__ = _borrow(__name__, "proa.nn")
