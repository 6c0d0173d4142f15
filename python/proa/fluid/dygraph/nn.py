"""Layers with the old arguments: sizes first, `act` after the result, parameters `weight` and `bias`."""

from proa import _C, nn
from proa.fluid.layers.arguments import act_on
from proa.nn import functional as F
from proa.nn import initializer

__all__ = [
    "BatchNorm", "BilinearTensorProduct", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose", "Dropout",
    "Embedding", "FC", "GRUUnit", "GroupNorm", "InstanceNorm", "LayerNorm", "Linear", "PRelu", "Pool2D", "SpectralNorm",
]  # fmt: skip

BatchNorm = nn.BatchNorm


class Linear(nn.Layer):
    """act(x @ weight + bias), weight [input_dim, output_dim]."""

    def __init__(self, input_dim, output_dim, param_attr=None, bias_attr=None, act=None, dtype="float32"):
        super().__init__(dtype=dtype)
        self._act = act
        self.weight = self.create_parameter([input_dim, output_dim], param_attr, dtype)
        self.bias = self.create_parameter([output_dim], bias_attr, dtype, is_bias=True)

    def forward(self, input):
        return act_on(F.linear(input, self.weight, self.bias), self._act)


class FC(nn.Layer):
    """A linear layer whose input size is that of its first input.

    Args:
        size (int): features of the result.
        num_flatten_dims (int): dims that stay.
    """

    def __init__(self, size, num_flatten_dims=1, param_attr=None, bias_attr=None, act=None, is_test=False,
                 dtype="float32"):  # fmt: skip
        super().__init__(dtype=dtype)
        self._size, self._keep, self._act = size, num_flatten_dims, act
        self._param_attr, self._bias_attr = param_attr, bias_attr
        self.weight = self.bias = None

    def forward(self, input):
        flat = _C.ops.flatten(input, self._keep, -1) if len(input.shape) > self._keep + 1 else input
        if self.weight is None:
            with _C.eager_mode():
                self.weight = self.create_parameter([flat.shape[-1], self._size], self._param_attr, self._dtype)
                self.bias = self.create_parameter([self._size], self._bias_attr, self._dtype, is_bias=True)
        return act_on(F.linear(flat, self.weight, self.bias), self._act)


def _listed(value, count):
    return list(value) if isinstance(value, (list, tuple)) else [value] * count


class _Conv(nn.Layer):
    def __init__(self, rank, num_channels, num_filters, filter_size, stride, padding, dilation, groups, param_attr,
                 bias_attr, act, dtype, transposed=False):  # fmt: skip
        super().__init__(dtype=dtype)
        groups = groups or 1
        kernel = _listed(filter_size, rank)
        if transposed:
            shape, start = [num_channels, num_filters // groups, *kernel], None
        else:
            if num_channels % groups:
                raise _C.located(
                    ValueError(f"{type(self).__name__}: {num_channels} channels are no multiple of {groups} groups")
                )
            shape = [num_filters, num_channels // groups, *kernel]
            count = num_channels
            for size in kernel:
                count *= size
            start = initializer.Normal(0.0, (2.0 / count) ** 0.5)
        self.weight = self.create_parameter(shape, param_attr, dtype, default_initializer=start)
        self.bias = self.create_parameter([num_filters], bias_attr, dtype, is_bias=True)
        self._stride, self._padding, self._dilation, self._groups, self._act = stride, padding, dilation, groups, act
        self._num_channels, self._num_filters, self._filter_size = num_channels, num_filters, filter_size

    def _apply(self, function, input, **more):
        result = function(input, self.weight, self.bias, stride=self._stride, padding=self._padding,
                          dilation=self._dilation, groups=self._groups, **more)  # fmt: skip
        return act_on(result, self._act)


class Conv2D(_Conv):
    """A 2-D convolution; see `nn.Conv2D`."""

    def __init__(self, num_channels, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None,
                 param_attr=None, bias_attr=None, use_cudnn=True, act=None, dtype="float32"):  # fmt: skip
        super().__init__(2, num_channels, num_filters, filter_size, stride, padding, dilation, groups, param_attr,
                         bias_attr, act, dtype)  # fmt: skip

    def forward(self, input):
        return self._apply(F.conv2d, input)


class Conv3D(_Conv):
    """A 3-D convolution; see `nn.Conv3D`."""

    def __init__(self, num_channels, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None,
                 param_attr=None, bias_attr=None, use_cudnn=True, act=None, dtype="float32"):  # fmt: skip
        super().__init__(3, num_channels, num_filters, filter_size, stride, padding, dilation, groups, param_attr,
                         bias_attr, act, dtype)  # fmt: skip

    def forward(self, input):
        return self._apply(F.conv3d, input)


class Conv2DTranspose(_Conv):
    """A transposed 2-D convolution; see `nn.Conv2DTranspose`."""

    def __init__(self, num_channels, num_filters, filter_size, output_size=None, padding=0, stride=1, dilation=1,
                 groups=None, param_attr=None, bias_attr=None, use_cudnn=True, act=None, dtype="float32"):  # fmt: skip
        super().__init__(2, num_channels, num_filters, filter_size, stride, padding, dilation, groups, param_attr,
                         bias_attr, act, dtype, True)  # fmt: skip
        self._output_size = output_size

    def forward(self, input):
        return self._apply(F.conv2d_transpose, input, output_size=self._output_size)


class Conv3DTranspose(_Conv):
    """A transposed 3-D convolution; see `nn.Conv3DTranspose`."""

    def __init__(self, num_channels, num_filters, filter_size, padding=0, stride=1, dilation=1, groups=None,
                 param_attr=None, bias_attr=None, use_cudnn=True, act=None, dtype="float32"):  # fmt: skip
        super().__init__(3, num_channels, num_filters, filter_size, stride, padding, dilation, groups, param_attr,
                         bias_attr, act, dtype, True)  # fmt: skip

    def forward(self, input):
        return self._apply(F.conv3d_transpose, input)


class Pool2D(nn.Layer):
    """The largest element, or the mean, of windows; see `layers.pool2d`."""

    def __init__(self, pool_size=-1, pool_type="max", pool_stride=1, pool_padding=0, global_pooling=False,
                 use_cudnn=True, ceil_mode=False, exclusive=True, data_format="NCHW"):  # fmt: skip
        super().__init__()
        self._arguments = (pool_size, pool_type, pool_stride, pool_padding, global_pooling, use_cudnn, ceil_mode, None,
                           exclusive, data_format)  # fmt: skip

    def forward(self, input):
        from proa.fluid import layers

        return layers.pool2d(input, *self._arguments)


class Embedding(nn.Layer):
    """Rows of a table [size[0], size[1]]; a last dim of one of the indices stays.

    Args:
        size (list[int]): of the table.
        is_sparse (bool): the gradient holds only the rows that are used.
    """

    def __init__(self, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, dtype="float32"):
        super().__init__(dtype=dtype)
        self._size, self._is_sparse = size, is_sparse
        self._padding_idx = padding_idx if padding_idx is None or padding_idx >= 0 else size[0] + padding_idx
        self.weight = self.create_parameter(list(size), param_attr, dtype)

    def forward(self, input):
        return F.embedding(input, self.weight, self._padding_idx, self._is_sparse)


class LayerNorm(nn.Layer):
    """Layer normalization; see `nn.LayerNorm`."""

    def __init__(self, normalized_shape, scale=True, shift=True, epsilon=1e-05, param_attr=None, bias_attr=None, act=None,
                 dtype="float32"):  # fmt: skip
        super().__init__(dtype=dtype)
        self._normalized_shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self._epsilon, self._act = epsilon, act
        count = 1
        for size in self._normalized_shape:
            count *= size
        one = initializer.Constant(1.0)
        self.weight = self.create_parameter([count], param_attr, dtype, default_initializer=one) if scale else None
        self.bias = self.create_parameter([count], bias_attr, dtype, is_bias=True) if shift else None

    def forward(self, input):
        shape = self._normalized_shape
        weight, bias = (None if v is None else v.reshape(shape) for v in (self.weight, self.bias))
        return act_on(F.layer_norm(input, shape, weight, bias, self._epsilon), self._act)


class GroupNorm(nn.GroupNorm):
    """Group normalization; see `nn.GroupNorm`."""

    def __init__(self, channels, groups, epsilon=1e-05, param_attr=None, bias_attr=None, act=None, data_layout="NCHW",
                 dtype="float32"):  # fmt: skip
        super().__init__(groups, channels, epsilon, param_attr, bias_attr, data_layout)
        self._act = act

    def forward(self, input):
        return act_on(super().forward(input), self._act)


class InstanceNorm(nn.InstanceNorm2D):
    """Instance normalization; see `nn.InstanceNorm2D`."""

    def __init__(self, num_channels, epsilon=1e-5, param_attr=None, bias_attr=None, dtype="float32"):
        super().__init__(num_channels, epsilon, weight_attr=param_attr, bias_attr=bias_attr)


class PRelu(nn.Layer):
    """x, and weight * x where x is negative; a weight for all, each channel or each element."""

    def __init__(self, mode, channel=None, input_shape=None, param_attr=None, dtype="float32"):
        super().__init__(dtype=dtype)
        if mode not in ("all", "channel", "element"):
            raise _C.located(ValueError(f"PRelu: mode must be 'all', 'channel' or 'element', not {mode!r}"))
        shape = {"all": [1], "channel": [1, channel or 1, 1, 1], "element": [1, *(input_shape or [1])[1:]]}[mode]
        self.weight = self.create_parameter(shape, param_attr, dtype, default_initializer=initializer.Constant(1.0))

    def forward(self, input):
        return F.relu(input) - self.weight * F.relu(-input)


class Dropout(nn.Layer):
    """Zeros at random in training; see `layers.dropout`."""

    def __init__(self, p=0.5, seed=None, dropout_implementation="downgrade_in_infer", is_test=False):
        super().__init__()
        self._p, self._mode, self._is_test = p, dropout_implementation, is_test

    def forward(self, input):
        from proa.fluid.layers.nn import dropout_mode

        mode = dropout_mode(self._mode)
        return F.dropout(input, self._p, training=self.training and not self._is_test, mode=mode)


class GRUUnit(nn.Layer):
    """One step of a gated recurrent unit.

    Args:
        size (int): three times the size of the hidden state.
        origin_mode (bool): h = u * h_before + (1 - u) * c; False exchanges the two.

    `forward(input [N, size], hidden [N, size / 3])` gives the hidden state, the reset one, and the gates.
    """

    def __init__(self, size, param_attr=None, bias_attr=None, activation="tanh", gate_activation="sigmoid",
                 origin_mode=False, dtype="float32"):  # fmt: skip
        super().__init__(dtype=dtype)
        self._hidden, self._origin = size // 3, origin_mode
        self._activation, self._gate = activation, gate_activation
        self.weight = self.create_parameter([self._hidden, size], param_attr, dtype)
        self.bias = self.create_parameter([1, size], bias_attr, dtype, is_bias=True)

    def forward(self, input, hidden):
        d = self._hidden
        x = input if self.bias is None else input + self.bias
        gates = act_on(x[:, : 2 * d] + _C.ops.matmul(hidden, self.weight[:, : 2 * d]), self._gate)
        update, reset = gates[:, :d], gates[:, d:]
        kept = reset * hidden
        new = act_on(x[:, 2 * d :] + _C.ops.matmul(kept, self.weight[:, 2 * d :]), self._activation)
        h = update * hidden + (1.0 - update) * new if self._origin else (1.0 - update) * hidden + update * new
        return h, kept, _C.ops.concat([gates, new], 1)


class BilinearTensorProduct(nn.Bilinear):
    """x * W_i * y; see `nn.Bilinear`."""

    def __init__(self, input1_dim, input2_dim, output_dim, name=None, act=None, param_attr=None, bias_attr=None,
                 dtype="float32"):  # fmt: skip
        super().__init__(input1_dim, input2_dim, output_dim, param_attr, bias_attr, name)
        self._act = act

    def forward(self, x, y):
        return act_on(super().forward(x, y), self._act)


class SpectralNorm(nn.SpectralNorm):
    """A weight over its largest singular value; see `nn.SpectralNorm`."""

    def __init__(self, weight_shape, dim=0, power_iters=1, eps=1e-12, dtype="float32"):
        super().__init__(weight_shape, dim, power_iters, eps)
