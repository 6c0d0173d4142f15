"""References of transposed convolution: the gradients of the one whose input gradient it is."""

from ops.nn.conv_samples import HALF, Walk, each, from_first, pads, to_first, with_bias


def _walk(sizes, kernel, stride, padding, output_padding, dilation, groups, output_size, padding_algorithm):
    """The convolution, for x of `sizes`."""
    n = len(sizes)
    s, d = each(stride, n), each(dilation, n)
    around = pads(padding, padding_algorithm, sizes, kernel, s, d)
    more = each(output_padding, n) if list(output_padding) else [0] * n
    full = each(output_size, n) if list(output_size) else None
    full = full or [(sizes[i] - 1) * s[i] - sum(around[i]) + d[i] * (kernel[i] - 1) + 1 + more[i] for i in range(n)]
    return Walk(full, kernel, s, [p for pair in around for p in pair], d, groups, "EXPLICIT")


def reference_conv_transpose(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    output_padding=(),
    dilation=1,
    groups=1,
    output_size=(),
    data_format="NCHW",
    padding_algorithm="EXPLICIT",
):
    x = to_first(x, data_format)
    walk = _walk(
        x.shape[2:], weight.shape[2:], stride, padding, output_padding, dilation, groups, output_size, padding_algorithm
    )
    return from_first(with_bias(walk.input_grad(x, weight), bias), data_format)


reference_conv1d_transpose = reference_conv2d_transpose = reference_conv3d_transpose = reference_conv_transpose


def reference_conv_transpose_input_grad(
    grad_out,
    weight,
    input_shape,
    stride=1,
    padding=0,
    output_padding=(),
    dilation=1,
    groups=1,
    output_size=(),
    data_format="NCHW",
    padding_algorithm="EXPLICIT",
):
    sizes = input_shape[1:-1] if data_format[-1] == "C" else input_shape[2:]
    walk = _walk(
        sizes, weight.shape[2:], stride, padding, output_padding, dilation, groups, output_size, padding_algorithm
    )
    out = walk.forward(to_first(grad_out, data_format), weight)
    return from_first(out[(slice(None), slice(None), *(slice(0, s) for s in sizes))], data_format)


def reference_conv_transpose_weight_grad(
    x,
    grad_out,
    weight_shape,
    stride=1,
    padding=0,
    output_padding=(),
    dilation=1,
    groups=1,
    output_size=(),
    data_format="NCHW",
    padding_algorithm="EXPLICIT",
    dtype=None,
):
    x = to_first(x, data_format)
    walk = _walk(
        x.shape[2:], weight_shape[2:], stride, padding, output_padding, dilation, groups, output_size, padding_algorithm
    )
    return walk.weight_grad(to_first(grad_out, data_format), x, weight_shape)


TOLERANCE = {
    name: HALF
    for name in (
        "conv_transpose",
        "conv1d_transpose",
        "conv2d_transpose",
        "conv3d_transpose",
        "conv_transpose_input_grad",
        "conv_transpose_weight_grad",
    )
}
