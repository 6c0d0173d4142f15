"""Linear, Embedding, dropout, padding, resizing and other common layers."""

from proa import _C
from proa.framework.attributes import real
from proa.framework.names import borrow as _borrow
from proa.nn import functional as F
from proa.nn.functional.shapes import plain_ints, size_argument
from proa.nn.layer.layers import Layer
from proa.tensor.arranging import unflatten as _unflatten


class Identity(Layer):
    """Gives back its input; takes any arguments, so that it can stand for any layer.

    Examples:
        >>> proa.nn.Identity()(proa.ones([2])).tolist()
        [1.0, 1.0]
    """

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


class Linear(Layer):
    """x @ weight + bias.

    Args:
        in_features (int): size of the last dim of x.
        out_features (int): size of the last dim of the result.
        weight_attr (ParamAttr, optional): of the weight, [in_features, out_features].
        bias_attr (ParamAttr|bool, optional): of the bias, [out_features]; False for none.

    Shape:
        x: [..., in_features]; result: [..., out_features].

    Examples:
        >>> layer = proa.nn.Linear(2, 3)
        >>> layer(proa.ones([5, 2])).shape
        [5, 3]
    """

    def __init__(self, in_features, out_features, weight_attr=None, bias_attr=None, name=None):
        super().__init__()
        in_features = size_argument("Linear", "in_features", in_features, 0)
        out_features = size_argument("Linear", "out_features", out_features, 0)
        self.weight = self.create_parameter([in_features, out_features], weight_attr)
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)
        self.name, self._weight_attr, self._bias_attr = name, weight_attr, bias_attr

    def forward(self, input):
        return _C.ops.linear(input, self.weight, self.bias)

    def extra_repr(self):
        shape = self.weight.shape
        return f"in_features={shape[0]}, out_features={shape[1]}, dtype={self._dtype}"


class Bilinear(Layer):
    """x1 @ weight[k] @ x2 + bias[k] for each k of out_features.

    Args:
        in1_features (int): size of the last dim of x1.
        in2_features (int): size of the last dim of x2.
        out_features (int): size of the last dim of the result.
        weight_attr (ParamAttr, optional): of the weight, [out, in1, in2].
        bias_attr (ParamAttr|bool, optional): of the bias, [1, out]; False for none.

    Examples:
        >>> proa.nn.Bilinear(3, 4, 5)(proa.ones([2, 3]), proa.ones([2, 4])).shape
        [2, 5]
    """

    def __init__(self, in1_features, in2_features, out_features, weight_attr=None, bias_attr=None, name=None):
        super().__init__()
        in1_features = size_argument("Bilinear", "in1_features", in1_features)
        in2_features = size_argument("Bilinear", "in2_features", in2_features)
        out_features = size_argument("Bilinear", "out_features", out_features)
        self.weight = self.create_parameter([out_features, in1_features, in2_features], weight_attr)
        self.bias = self.create_parameter([1, out_features], bias_attr, is_bias=True)
        self._in1_features, self._in2_features, self._out_features = in1_features, in2_features, out_features
        self._weight_attr, self._bias_attr, self._name = weight_attr, bias_attr, name

    def forward(self, x1, x2):
        return F.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self):
        sizes = f"in1_features={self._in1_features}, in2_features={self._in2_features}"
        return f"{sizes}, out_features={self._out_features}, dtype={self._dtype}"


class Embedding(Layer):
    """Rows of a table.

    Args:
        num_embeddings (int): rows.
        embedding_dim (int): size of a row.
        padding_idx (int, optional): this row is zeros and gets no gradient; negative counts from the end.
        sparse (bool): the gradient of the table holds only the rows that x names; see F.embedding.
        weight_attr (ParamAttr, optional): of the table.

    Shape:
        x: integers [...]; result: [..., embedding_dim].

    Examples:
        >>> table = proa.nn.Embedding(10, 4)
        >>> table(proa.to_tensor([[1, 2, 3]])).shape
        [1, 3, 4]
    """

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, sparse=False, weight_attr=None, name=None):
        super().__init__()
        num_embeddings = size_argument("Embedding", "num_embeddings", num_embeddings)
        embedding_dim = size_argument("Embedding", "embedding_dim", embedding_dim)
        if padding_idx is not None:
            padding_idx = size_argument("Embedding", "padding_idx", padding_idx, -num_embeddings)
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise _C.located(ValueError(f"Embedding: padding_idx {padding_idx} is not one of {num_embeddings} rows"))
        self._num_embeddings, self._embedding_dim = num_embeddings, embedding_dim
        self._padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self._sparse, self._size = sparse, [num_embeddings, embedding_dim]
        self._weight_attr, self._name = weight_attr, name
        self.weight = self.create_parameter([num_embeddings, embedding_dim], weight_attr)
        if self._padding_idx is not None:
            recording = _C.is_grad_enabled()
            _C.set_grad_enabled(False)
            try:
                with _C.eager_mode():  # once, not in each run of a program
                    self.weight[self._padding_idx] = 0.0
            finally:
                _C.set_grad_enabled(recording)

    def forward(self, x):
        return F.embedding(x, self.weight, self._padding_idx, self._sparse)

    def extra_repr(self):
        text = f"{self._num_embeddings}, {self._embedding_dim}"
        if self._padding_idx is not None:
            text += f", padding_idx={self._padding_idx}"
        return f"{text}, sparse={self._sparse}"


class Flatten(Layer):
    """Puts the dims from start_axis to stop_axis into one.

    Examples:
        >>> proa.nn.Flatten()(proa.ones([2, 3, 4])).shape
        [2, 12]
    """

    def __init__(self, start_axis=1, stop_axis=-1):
        super().__init__()
        self.start_axis, self.stop_axis = start_axis, stop_axis

    def forward(self, input):
        return _C.ops.flatten(input, self.start_axis, self.stop_axis)


class Unflatten(Layer):
    """Makes several dims of one; one of their sizes may be -1.

    Examples:
        >>> proa.nn.Unflatten(1, [2, -1])(proa.ones([3, 8])).shape
        [3, 2, 4]
    """

    def __init__(self, axis, shape, name=None):
        super().__init__()
        self.axis, self.shape, self.name = axis, shape, name

    def forward(self, input):
        return _unflatten(input, self.axis, self.shape)

    def extra_repr(self):
        text = f"axis={self.axis}, shape={self.shape}"
        return text if self.name is None else f"{text}, name={self.name}"


class Dropout(Layer):
    """In training, zeros each element with probability p and scales the others up.

    Args:
        p (float): the probability.
        axis (int|list[int], optional): the mask varies along these axes only.
        mode (str): "upscale_in_train", or "downscale_in_infer" (scales by 1 - p in evaluation instead).

    Examples:
        >>> layer = proa.nn.Dropout(0.5)
        >>> layer.eval()
        Dropout(p=0.5, axis=None, mode=upscale_in_train)
        >>> layer(proa.ones([2])).tolist()
        [1.0, 1.0]
    """

    def __init__(self, p=0.5, axis=None, mode="upscale_in_train", name=None):
        super().__init__()
        self.p, self.axis, self.mode, self.name = p, axis, mode, name

    def forward(self, input):
        return F.dropout(input, self.p, self.axis, self.training, self.mode)

    def extra_repr(self):
        return f"p={self.p}, axis={self.axis}, mode={self.mode}"


class Dropout2D(Layer):
    """Dropout of whole channels of [N, C, H, W] (or [N, H, W, C]).

    Examples:
        >>> proa.nn.Dropout2D(0.5)(proa.ones([1, 2, 3, 3])).shape
        [1, 2, 3, 3]
    """

    def __init__(self, p=0.5, data_format="NCHW", name=None):
        super().__init__()
        self.p, self.data_format, self.name = p, data_format, name

    def forward(self, input):
        return F.dropout2d(input, self.p, self.training, self.data_format)

    def extra_repr(self):
        return f"p={self.p}, data_format={self.data_format}"


class Dropout3D(Layer):
    """Dropout of whole channels of [N, C, D, H, W] (or [N, D, H, W, C]).

    Examples:
        >>> proa.nn.Dropout3D(0.5)(proa.ones([1, 2, 1, 3, 3])).shape
        [1, 2, 1, 3, 3]
    """

    def __init__(self, p=0.5, data_format="NCDHW", name=None):
        super().__init__()
        self.p, self.data_format, self.name = p, data_format, name

    def forward(self, input):
        return F.dropout3d(input, self.p, self.training, self.data_format)

    def extra_repr(self):
        return f"p={self.p}, data_format={self.data_format}"


class AlphaDropout(Layer):
    """Dropout that keeps mean and variance of SELU's outputs (Klambauer et al., 2017).

    Examples:
        >>> layer = proa.nn.AlphaDropout(0.5)
        >>> layer.eval()
        AlphaDropout(p=0.5)
        >>> layer(proa.ones([2])).tolist()
        [1.0, 1.0]
    """

    def __init__(self, p=0.5, name=None):
        super().__init__()
        self.p, self.name = p, name

    def forward(self, input):
        return F.alpha_dropout(input, self.p, self.training)

    def extra_repr(self):
        return f"p={self.p}"


class _Pad(Layer):
    _dims = 2

    def __init__(self, padding, mode, value, data_format, name=None):
        super().__init__()
        padding = plain_ints(padding)
        if isinstance(padding, int):
            padding = [padding] * (2 * self._dims)
        self._name = name
        self._pad, self._mode, self._value, self._data_format = padding, mode, value, data_format

    @property
    def padding(self):
        return self._pad

    @property
    def value(self):
        return self._value

    def forward(self, x):
        return F.pad(x, self._pad, self._mode, self._value, self._data_format)

    def extra_repr(self):
        text = f"padding={self._pad}, mode={self._mode}"
        return f"{text}, value={self._value}, data_format={self._data_format}"


class Pad1D(_Pad):
    """Pads the last dim of [N, C, L]; padding is [left, right] or one int. Modes as in functional.pad.

    Examples:
        >>> proa.nn.Pad1D([1, 0])(proa.ones([1, 1, 2])).tolist()
        [[[0.0, 1.0, 1.0]]]
    """

    _dims = 1

    def __init__(self, padding, mode="constant", value=0.0, data_format="NCL", name=None):
        super().__init__(padding, mode, value, data_format, name)


class Pad2D(_Pad):
    """Pads [N, C, H, W]; padding is [left, right, top, bottom] or one int. Modes as in functional.pad.

    Examples:
        >>> proa.nn.Pad2D([1, 0, 2, 0])(proa.ones([1, 1, 2, 2])).shape
        [1, 1, 4, 3]
    """

    def __init__(self, padding, mode="constant", value=0.0, data_format="NCHW", name=None):
        super().__init__(padding, mode, value, data_format, name)


class Pad3D(_Pad):
    """Pads [N, C, D, H, W]; padding is [left, right, top, bottom, front, back] or one int.

    Examples:
        >>> proa.nn.Pad3D(1)(proa.ones([1, 1, 2, 2, 2])).shape
        [1, 1, 4, 4, 4]
    """

    _dims = 3

    def __init__(self, padding, mode="constant", value=0.0, data_format="NCDHW", name=None):
        super().__init__(padding, mode, value, data_format, name)


class ZeroPad2D(_Pad):
    """Pads [N, C, H, W] with zeros; padding is [left, right, top, bottom] or one int.

    Examples:
        >>> proa.nn.ZeroPad2D([1, 0, 0, 1])(proa.ones([1, 1, 1, 1])).tolist()
        [[[[0.0, 1.0], [0.0, 0.0]]]]
    """

    def __init__(self, padding, data_format="NCHW", name=None):
        super().__init__(padding, "constant", 0.0, data_format, name)


class ZeroPad1D(_Pad):
    """Pads the last dim of [N, C, L] with zeros; padding is [left, right] or one int.

    Examples:
        >>> proa.nn.ZeroPad1D([1, 0])(proa.ones([1, 1, 2])).tolist()
        [[[0.0, 1.0, 1.0]]]
    """

    _dims = 1

    def __init__(self, padding, data_format="NCL", name=None):
        super().__init__(padding, "constant", 0.0, data_format, name)


class ZeroPad3D(_Pad):
    """Pads [N, C, D, H, W] with zeros; padding is [left, right, top, bottom, front, back] or one int.

    Examples:
        >>> proa.nn.ZeroPad3D(1)(proa.ones([1, 1, 1, 1, 1])).shape
        [1, 1, 3, 3, 3]
    """

    _dims = 3

    def __init__(self, padding, data_format="NCDHW", name=None):
        super().__init__(padding, "constant", 0.0, data_format, name)


class Upsample(Layer):
    """Resizes the dims after the channels; arguments as in functional.interpolate.

    Examples:
        >>> proa.nn.Upsample(scale_factor=2)(proa.ones([1, 1, 2, 2])).shape
        [1, 1, 4, 4]
    """

    def __init__(
        self,
        size=None,
        scale_factor=None,
        mode="nearest",
        align_corners=False,
        align_mode=0,
        data_format="NCHW",
        name=None,
    ):
        super().__init__()
        self.size, self.scale_factor, self.mode = size, scale_factor, str(mode).lower()
        self.align_corners, self.align_mode, self.data_format = align_corners, align_mode, data_format
        self.name = name

    def forward(self, x):
        return F.interpolate(
            x, self.size, self.scale_factor, self.mode, self.align_corners, self.align_mode, self.data_format
        )

    def _size_repr(self):
        return f"scale_factor={self.scale_factor}" if self.scale_factor is not None else f"size={self.size}"

    def extra_repr(self):
        corners = f"align_corners={self.align_corners}, align_mode={self.align_mode}"
        return f"{self._size_repr()}, mode={self.mode}, {corners}, data_format={self.data_format}"


class UpsamplingNearest2D(Upsample):
    """Resizes [N, C, H, W], each element from its nearest.

    Examples:
        >>> proa.nn.UpsamplingNearest2D(scale_factor=2)(proa.ones([1, 1, 2, 2])).shape
        [1, 1, 4, 4]
    """

    def __init__(self, size=None, scale_factor=None, data_format="NCHW", name=None):
        super().__init__(size, scale_factor, "nearest", False, 0, data_format, name)

    def extra_repr(self):
        return f"{self._size_repr()}, data_format={self.data_format}"


class UpsamplingBilinear2D(Upsample):
    """Resizes [N, C, H, W] bilinearly, corners aligned.

    Examples:
        >>> proa.nn.UpsamplingBilinear2D(size=[4, 4])(proa.ones([1, 1, 2, 2])).shape
        [1, 1, 4, 4]
    """

    def __init__(self, size=None, scale_factor=None, data_format="NCHW", name=None):
        super().__init__(size, scale_factor, "bilinear", True, 0, data_format, name)

    def extra_repr(self):
        return f"{self._size_repr()}, data_format={self.data_format}"


class CosineSimilarity(Layer):
    """Cosine of the angle between x1 and x2 along `axis`.

    Examples:
        >>> np.round(proa.nn.CosineSimilarity(axis=1)(proa.ones([2, 3]), proa.ones([2, 3])).astype("float64").numpy(), 3).tolist()
        [1.0, 1.0]
    """

    def __init__(self, axis=1, eps=1e-08):
        super().__init__()
        self._axis, self._eps = axis, eps

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self._axis, self._eps)

    def extra_repr(self):
        return f"axis={self._axis}, eps={self._eps}"


class PairwiseDistance(Layer):
    """The p-norm of x - y + epsilon along the last dim.

    Examples:
        >>> np.round(proa.nn.PairwiseDistance()(proa.to_tensor([[3.0, 4.0]]), proa.zeros([1, 2])).astype("float64").numpy(), 3).tolist()
        [5.0]
    """

    def __init__(self, p=2.0, epsilon=1e-06, keepdim=False, name=None):
        super().__init__()
        self.p, self.epsilon, self.keepdim, self.name = p, real("PairwiseDistance", "epsilon", epsilon), keepdim, name

    def forward(self, x, y):
        from proa.tensor.linalg import norm

        x, y = (_C.tensor_argument(v, "PairwiseDistance", name) for v, name in ((x, "x"), (y, "y")))

        return norm(x - y + self.epsilon, self.p, -1, self.keepdim)

    def extra_repr(self):
        text = f"p={self.p}"
        if self.epsilon != 1e-06:
            text += f", epsilon={self.epsilon}"
        return f"{text}, keepdim=True" if self.keepdim else text


class Unfold(Layer):
    """Sliding blocks of [N, C, H, W] as columns; arguments as in functional.unfold.

    Examples:
        >>> proa.nn.Unfold(2)(proa.ones([1, 3, 4, 4])).shape
        [1, 12, 9]
    """

    def __init__(self, kernel_sizes, dilations=1, paddings=0, strides=1, name=None):
        super().__init__()
        self.kernel_sizes, self.dilations, self.paddings, self.strides = kernel_sizes, dilations, paddings, strides
        self.name = name

    def forward(self, input):
        return F.unfold(input, self.kernel_sizes, self.strides, self.paddings, self.dilations)

    def extra_repr(self):
        sizes = f"kernel_size={self.kernel_sizes}, dilation={self.dilations}"
        return f"{sizes}, padding={self.paddings}, stride={self.strides}"


class Fold(Layer):
    """Sums columns of sliding blocks into [N, C, H, W]; arguments as in functional.fold.

    Examples:
        >>> proa.nn.Fold(output_sizes=[3, 3], kernel_sizes=2)(proa.ones([1, 4, 4])).shape
        [1, 1, 3, 3]
    """

    def __init__(self, output_sizes, kernel_sizes, dilations=1, paddings=0, strides=1, name=None):
        super().__init__()
        self.output_sizes, self.kernel_sizes = output_sizes, kernel_sizes
        self.dilations, self.paddings, self.strides, self.name = dilations, paddings, strides, name

    def forward(self, x):
        return F.fold(x, self.output_sizes, self.kernel_sizes, self.strides, self.paddings, self.dilations)

    def extra_repr(self):
        sizes = f"kernel_size={self.kernel_sizes}, dilation={self.dilations}"
        return f"{sizes}, padding={self.paddings}, stride={self.strides}"


__getattr__ = _borrow(__name__, "proa.nn")
