"""Normalization layers."""

import math

from proa import _C
from proa.framework.attributes import wrong
from proa.framework.dtype import as_dtype, convert_dtype
from proa.framework.names import borrow as _borrow
from proa.framework.parameter import parameter_of
from proa.nn import functional as F
from proa.nn.functional.shapes import plain_ints, size_argument
from proa.nn.initializer import Constant
from proa.nn.layer.activation import function_of
from proa.nn.layer.layers import Layer


class _BatchNormBase(Layer):
    """Batch normalization of `num_features` channels; see BatchNorm2D."""

    _ranks: tuple[int, ...] = (2, 3, 4, 5)

    def __init__(
        self,
        num_features,
        momentum=0.9,
        epsilon=1e-05,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
        use_global_stats=None,
        name=None,
    ):
        # Statistics in float16 would lose what a batch adds to them; float16 images go with float32 parameters.
        low = convert_dtype(_C.get_default_dtype()) == "float16"
        super().__init__(dtype="float32" if low else None)
        num_features = size_argument(type(self).__name__, "num_features", num_features, 0)
        self._num_features, self._momentum, self._epsilon = num_features, momentum, epsilon
        self._data_format, self._use_global_stats = data_format, use_global_stats
        self.weight = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)
        self._weight_attr, self._bias_attr, self._name = weight_attr, bias_attr, name
        self._mean = self._statistic("w_1", 0.0)
        self._variance = self._statistic("w_2", 1.0)
        # Parameters that are not trained, and buffers.
        self._buffer_names.update(_mean=None, _variance=None)

    _in_place = False
    _fuse_with_relu = False

    def _statistic(self, name, value):
        def start():
            return _C.ops.full([self._num_features], value, as_dtype(self._dtype))

        return parameter_of(start, f"{self._full_name}.{name}", trainable=False)

    _trainable_statistics = False

    def _check(self, x):
        x = _C.tensor_argument(x, type(self).__name__, "x")
        if len(x.shape) not in self._ranks:
            raise _C.located(
                ValueError(
                    f"{type(self).__name__}: x must have {' or '.join(map(str, self._ranks))} dims; "
                    f"it is {list(x.shape)} {x.dtype.name}"
                )
            )

    def forward(self, x, residual=None, relu=False):
        """x normalized; with relu its positive part, with a residual that of the sum, in one pass over the images."""
        self._check(x)
        return F.batch_norm(
            x,
            self._mean,
            self._variance,
            self.weight,
            self.bias,
            self.training or self._trainable_statistics,
            self._momentum,
            self._epsilon,
            self._data_format,
            self._use_global_stats,
            relu=relu,
            residual=residual,
        )

    def extra_repr(self):
        text = f"num_features={self._num_features}, momentum={self._momentum}, epsilon={self._epsilon}"
        return text if self._data_format == "NCHW" else f"{text}, data_format={self._data_format}"


class BatchNorm1D(_BatchNormBase):
    """Batch normalization of [N, C] or [N, C, L]; arguments as in BatchNorm2D.

    Examples:
        >>> proa.nn.BatchNorm1D(3)(proa.rand([4, 3])).shape
        [4, 3]
    """

    _ranks = (2, 3)

    def __init__(
        self,
        num_features,
        momentum=0.9,
        epsilon=1e-05,
        weight_attr=None,
        bias_attr=None,
        data_format="NCL",
        use_global_stats=None,
        name=None,
    ):
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats, name)


class BatchNorm2D(_BatchNormBase):
    """Batch normalization of [N, C, H, W] (Ioffe and Szegedy, 2015).

    Args:
        num_features (int): channels.
        momentum (float): what remains of the running statistics in each training step.
        epsilon (float): keeps the division finite.
        weight_attr, bias_attr (ParamAttr|bool, optional): of weight and bias, [C]; False for none.
        data_format (str): "NCHW" or "NHWC".
        use_global_stats (bool, optional): use the running statistics in training too.

    Examples:
        >>> norm = proa.nn.BatchNorm2D(3)
        >>> norm(proa.randn([2, 3, 4, 4])).shape
        [2, 3, 4, 4]
    """

    _ranks = (4,)


class BatchNorm3D(_BatchNormBase):
    """Batch normalization of [N, C, D, H, W]; arguments as in BatchNorm2D.

    Examples:
        >>> proa.nn.BatchNorm3D(3)(proa.rand([2, 3, 2, 2, 2])).shape
        [2, 3, 2, 2, 2]
    """

    _ranks = (5,)

    def __init__(
        self,
        num_features,
        momentum=0.9,
        epsilon=1e-05,
        weight_attr=None,
        bias_attr=None,
        data_format="NCDHW",
        use_global_stats=None,
        name=None,
    ):
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats, name)


class BatchNorm(_BatchNormBase):
    """Batch normalization of any rank from 2 to 5, with an activation.

    Args:
        num_channels (int): channels.
        act (str, optional): name of a function of nn.functional that is applied at the end.
        is_test (bool): start in evaluation.
        momentum, epsilon: as in BatchNorm2D.
        param_attr, bias_attr (ParamAttr|bool, optional): of weight and bias.
        dtype (str): of parameters and statistics.
        data_layout (str): where the channels are.
        use_global_stats (bool): use the running statistics in training too.
        trainable_statistics (bool): use the batch's statistics in evaluation too, and keep them.
        in_place, moving_mean_name, moving_variance_name, do_model_average_for_mean_and_var: accepted.

    Examples:
        >>> proa.nn.BatchNorm(3)(proa.rand([2, 3, 4, 4])).shape
        [2, 3, 4, 4]
    """

    def __init__(
        self,
        num_channels,
        act=None,
        is_test=False,
        momentum=0.9,
        epsilon=1e-05,
        param_attr=None,
        bias_attr=None,
        dtype="float32",
        data_layout="NCHW",
        in_place=False,
        moving_mean_name=None,
        moving_variance_name=None,
        do_model_average_for_mean_and_var=True,
        use_global_stats=False,
        trainable_statistics=False,
    ):
        super().__init__(
            num_channels, momentum, epsilon, param_attr, bias_attr, data_layout, True if use_global_stats else None
        )
        self._param_attr, self._data_layout, self._in_place = param_attr, data_layout, in_place
        self._is_test, self._trainable_statistics = is_test, trainable_statistics
        if dtype is not None and convert_dtype(dtype) != self._dtype:
            self.to(dtype=dtype)
        for parameter, statistic, given in (
            ("moving_mean_name", self._mean, moving_mean_name),
            ("moving_variance_name", self._variance, moving_variance_name),
        ):
            if given is not None and not isinstance(given, str):
                raise wrong("BatchNorm", parameter, "a str", given)
            if given is not None:
                statistic.name = given
        self._act = None if act is None else function_of("BatchNorm", "act", act)
        self._trainable_statistics = trainable_statistics
        if is_test:
            self.eval()

    def forward(self, input):
        if self._act is F.relu:
            return super().forward(input, relu=True)
        out = super().forward(input)
        return out if self._act is None else self._act(out)


class LayerNorm(Layer):
    """Normalizes each sample over its last dims (Ba et al., 2016).

    Args:
        normalized_shape (int|list[int]): the last dims.
        epsilon (float): keeps the division finite.
        weight_attr, bias_attr (ParamAttr|bool, optional): of weight and bias, of that many elements; False for none.

    Examples:
        >>> proa.nn.LayerNorm(4)(proa.randn([2, 3, 4])).shape
        [2, 3, 4]
    """

    def __init__(self, normalized_shape, epsilon=1e-05, weight_attr=None, bias_attr=None, name=None):
        super().__init__()
        shape = plain_ints(normalized_shape)
        shape = list(shape) if isinstance(shape, (list, tuple)) else [shape]
        shape = [size_argument("LayerNorm", "normalized_shape", d, 0) for d in shape]
        self._normalized_shape, self._epsilon = shape, epsilon
        self._weight_attr, self._bias_attr = weight_attr, bias_attr
        count = math.prod(shape)
        self.weight = self.create_parameter([count], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([count], bias_attr, is_bias=True)

    def forward(self, input):
        return F.layer_norm(input, self._normalized_shape, self.weight, self.bias, self._epsilon)

    def extra_repr(self):
        return f"normalized_shape={self._normalized_shape}, epsilon={self._epsilon}"


class GroupNorm(Layer):
    """Normalizes each sample over groups of channels (Wu and He, 2018).

    Args:
        num_groups (int): channels are divided into so many.
        num_channels (int): channels.
        epsilon (float): keeps the division finite.
        weight_attr, bias_attr (ParamAttr|bool, optional): of weight and bias, [C]; False for none.
        data_format (str): where the channels are.

    Examples:
        >>> proa.nn.GroupNorm(num_groups=2, num_channels=4)(proa.rand([2, 4, 3, 3])).shape
        [2, 4, 3, 3]
    """

    def __init__(
        self,
        num_groups,
        num_channels,
        epsilon=1e-05,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
        name=None,
    ):
        super().__init__()
        num_groups = size_argument("GroupNorm", "num_groups", num_groups)
        num_channels = size_argument("GroupNorm", "num_channels", num_channels)
        if num_channels % num_groups:
            raise _C.located(ValueError(f"GroupNorm: {num_channels} channels are not divisible by {num_groups} groups"))
        self._num_groups, self._num_channels = num_groups, num_channels
        self._epsilon, self._data_format = epsilon, data_format
        self._weight_attr, self._bias_attr = weight_attr, bias_attr
        self.weight = self.create_parameter([num_channels], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_channels], bias_attr, is_bias=True)

    def forward(self, input):
        return F.group_norm(input, self._num_groups, self._epsilon, self.weight, self.bias, self._data_format)

    def extra_repr(self):
        return f"num_groups={self._num_groups}, num_channels={self._num_channels}, epsilon={self._epsilon}"


class _InstanceNormBase(Layer):
    """Instance normalization of `num_features` channels; see InstanceNorm2D."""

    _rank = 4

    def __init__(
        self,
        num_features,
        epsilon=1e-05,
        momentum=0.9,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
        name=None,
    ):
        super().__init__()
        if (weight_attr is False) != (bias_attr is False):
            raise _C.located(
                ValueError(f"{type(self).__name__}: weight_attr and bias_attr must both be False, or neither")
            )
        num_features = size_argument(type(self).__name__, "num_features", num_features, 0)
        self._num_features, self._epsilon, self._data_format = num_features, epsilon, data_format
        self._momentum, self._weight_attr, self._bias_attr = momentum, weight_attr, bias_attr
        self.scale = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)

    def forward(self, input):
        input = _C.tensor_argument(input, type(self).__name__, "input")
        if len(input.shape) != self._rank and not (self._rank == 3 and len(input.shape) == 2):
            raise _C.located(
                ValueError(
                    f"{type(self).__name__}: x must have {self._rank} dims; it is {list(input.shape)} {input.dtype.name}"
                )
            )
        return F.instance_norm(
            input, weight=self.scale, bias=self.bias, eps=self._epsilon, data_format=self._data_format
        )

    def extra_repr(self):
        return f"num_features={self._num_features}, epsilon={self._epsilon}"


class InstanceNorm1D(_InstanceNormBase):
    """Normalizes each channel of each sample of [N, C, L]; arguments as in InstanceNorm2D.

    Examples:
        >>> proa.nn.InstanceNorm1D(3)(proa.rand([2, 3, 5])).shape
        [2, 3, 5]
    """

    _rank = 3

    def __init__(
        self,
        num_features,
        epsilon=1e-05,
        momentum=0.9,
        weight_attr=None,
        bias_attr=None,
        data_format="NCL",
        name=None,
    ):
        super().__init__(num_features, epsilon, momentum, weight_attr, bias_attr, data_format)


class InstanceNorm2D(_InstanceNormBase):
    """Normalizes each channel of each sample of [N, C, H, W] (Ulyanov et al., 2016).

    Args:
        num_features (int): channels.
        epsilon (float): keeps the division finite.
        momentum: accepted.
        weight_attr, bias_attr (ParamAttr|bool, optional): of scale and bias, [C]; both False for none.
        data_format (str): where the channels are.

    Examples:
        >>> proa.nn.InstanceNorm2D(3)(proa.rand([2, 3, 4, 4])).shape
        [2, 3, 4, 4]
    """


class InstanceNorm3D(_InstanceNormBase):
    """Normalizes each channel of each sample of [N, C, D, H, W]; arguments as in InstanceNorm2D.

    Examples:
        >>> proa.nn.InstanceNorm3D(3)(proa.rand([2, 3, 2, 2, 2])).shape
        [2, 3, 2, 2, 2]
    """

    _rank = 5

    def __init__(
        self,
        num_features,
        epsilon=1e-05,
        momentum=0.9,
        weight_attr=None,
        bias_attr=None,
        data_format="NCDHW",
        name=None,
    ):
        super().__init__(num_features, epsilon, momentum, weight_attr, bias_attr, data_format)


class LocalResponseNorm(Layer):
    """Normalizes over neighbouring channels; arguments as in functional.local_response_norm.

    Examples:
        >>> proa.nn.LocalResponseNorm(size=5)(proa.rand([2, 4, 3, 3])).shape
        [2, 4, 3, 3]
    """

    def __init__(self, size, alpha=0.0001, beta=0.75, k=1.0, data_format="NCHW", name=None):
        super().__init__()
        self.size, self.alpha, self.beta, self.k, self.data_format = size, alpha, beta, k, data_format
        self.name = name

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k, self.data_format)

    def extra_repr(self):
        text = f"size={self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
        return text if self.data_format == "NCHW" else f"{text}, data_format={self.data_format}"


__getattr__ = _borrow(__name__, "proa.nn")
