"""References of convolution: loops over taps, in NCHW."""

import numpy as np


def _pair(v):
    v = [v] if isinstance(v, int) else list(v)
    return v * 2 if len(v) == 1 else v


def _padding(p):
    p = _pair(p)
    return p if len(p) == 4 else [p[0], p[0], p[1], p[1]]


def _to_nchw(x, data_format):
    return np.transpose(x, (0, 3, 1, 2)) if data_format == "NHWC" else x


def _from_nchw(x, data_format):
    return np.transpose(x, (0, 2, 3, 1)) if data_format == "NHWC" else x


def _taps(in_size, weight_shape, out_size, stride, padding, dilation):
    """(p, q, rows of the padded input, columns of it) for each tap of the kernel."""
    for p in range(weight_shape[2]):
        for q in range(weight_shape[3]):
            top, left = p * dilation[0], q * dilation[1]
            yield (
                p,
                q,
                slice(top, top + (out_size[0] - 1) * stride[0] + 1, stride[0]),
                slice(left, left + (out_size[1] - 1) * stride[1] + 1, stride[1]),
            )


def _padded(x, padding):
    return np.pad(x, ((0, 0), (0, 0), (padding[0], padding[1]), (padding[2], padding[3])))


def _out_size(in_size, kernel, stride, padding, dilation):
    return [
        (in_size[d] + padding[2 * d] + padding[2 * d + 1] - dilation[d] * (kernel[d] - 1) - 1) // stride[d] + 1
        for d in range(2)
    ]


def reference_conv2d(
    x, weight, bias=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, data_format="NCHW"
):
    stride, padding, dilation = _pair(stride), _padding(padding), _pair(dilation)
    x = _to_nchw(x, data_format)
    size = _out_size(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    out = np.zeros((x.shape[0], weight.shape[0], *size))
    wide = _padded(x, padding)
    cg, og = weight.shape[1], weight.shape[0] // groups
    for p, q, rows, columns in _taps(x.shape[2:], weight.shape, size, stride, padding, dilation):
        for k in range(groups):
            out[:, k * og : (k + 1) * og] += np.einsum(
                "nchw,oc->nohw", wide[:, k * cg : (k + 1) * cg, rows, columns], weight[k * og : (k + 1) * og, :, p, q]
            )
    if bias is not None:
        out += bias[None, :, None, None]
    return _from_nchw(out, data_format)


def reference_conv2d_input_grad(
    grad_out, weight, input_shape, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, data_format="NCHW"
):
    stride, padding, dilation = _pair(stride), _padding(padding), _pair(dilation)
    g = _to_nchw(grad_out, data_format)
    n, c, h, w = (
        (input_shape[0], input_shape[3], input_shape[1], input_shape[2]) if data_format == "NHWC" else input_shape
    )
    wide = np.zeros((n, c, h + padding[0] + padding[1], w + padding[2] + padding[3]))
    cg, og = weight.shape[1], weight.shape[0] // groups
    for p, q, rows, columns in _taps((h, w), weight.shape, g.shape[2:], stride, padding, dilation):
        for k in range(groups):
            wide[:, k * cg : (k + 1) * cg, rows, columns] += np.einsum(
                "nohw,oc->nchw", g[:, k * og : (k + 1) * og], weight[k * og : (k + 1) * og, :, p, q]
            )
    return _from_nchw(wide[:, :, padding[0] : padding[0] + h, padding[2] : padding[2] + w], data_format)


def reference_conv2d_weight_grad(
    x, grad_out, weight_shape, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, data_format="NCHW"
):
    stride, padding, dilation = _pair(stride), _padding(padding), _pair(dilation)
    x, g = _to_nchw(x, data_format), _to_nchw(grad_out, data_format)
    wide = _padded(x, padding)
    out = np.zeros(weight_shape)
    cg, og = weight_shape[1], weight_shape[0] // groups
    for p, q, rows, columns in _taps(x.shape[2:], weight_shape, g.shape[2:], stride, padding, dilation):
        for k in range(groups):
            out[k * og : (k + 1) * og, :, p, q] = np.einsum(
                "nohw,nchw->oc", g[:, k * og : (k + 1) * og], wide[:, k * cg : (k + 1) * cg, rows, columns]
            )
    return out


def reference_conv2d_transpose(
    x,
    weight,
    bias=None,
    stride=(1, 1),
    padding=(0, 0),
    output_padding=(),
    dilation=(1, 1),
    groups=1,
    output_size=(),
    data_format="NCHW",
):
    s, p, d = _pair(stride), _padding(padding), _pair(dilation)
    image = _to_nchw(x, data_format)
    more = _pair(output_padding) if len(_pair(output_padding)) else [0, 0]
    size = list(output_size) or [
        (image.shape[2 + i] - 1) * s[i] - p[2 * i] - p[2 * i + 1] + d[i] * (weight.shape[2 + i] - 1) + 1 + more[i]
        for i in range(2)
    ]
    channels = weight.shape[1] * groups
    shape = [x.shape[0], channels, *size] if data_format == "NCHW" else [x.shape[0], *size, channels]
    out = reference_conv2d_input_grad(x, weight, shape, stride, padding, dilation, groups, data_format)
    if bias is None:
        return out
    return out + (bias[None, :, None, None] if data_format == "NCHW" else bias)


def _behind(stride, output_padding):
    more = _pair(output_padding) if len(_pair(output_padding)) else [0, 0]
    return [m // s for m, s in zip(more, _pair(stride))]


def reference_without_outputs_behind(x, stride=(1, 1), output_padding=(), data_format="NCHW"):
    rows, columns = _behind(stride, output_padding)
    x = _to_nchw(x, data_format)
    return _from_nchw(x[:, :, : x.shape[2] - rows, : x.shape[3] - columns], data_format)


def reference_with_outputs_behind(x, stride=(1, 1), output_padding=(), data_format="NCHW"):
    rows, columns = _behind(stride, output_padding)
    return _from_nchw(np.pad(_to_nchw(x, data_format), ((0, 0), (0, 0), (0, rows), (0, columns))), data_format)


def reference_channel_sum(x, data_format="NCHW"):
    channel = x.ndim - 1 if data_format[-1] == "C" and data_format != "NC" else 1
    return x.sum(axis=tuple(d for d in range(x.ndim) if d != channel))


_HALF = {"float16": (5e-3, 5e-3), "bfloat16": (4e-2, 4e-2), "float32": (2e-5, 2e-5)}
TOLERANCE = {
    "conv2d": _HALF,
    "conv2d_input_grad": _HALF,
    "conv2d_weight_grad": _HALF,
    "conv2d_transpose": _HALF,
}
