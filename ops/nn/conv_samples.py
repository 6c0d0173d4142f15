"""References of convolution in one to three dims: loops over taps, with channels first."""

import itertools

import numpy as np


def each(v, n):
    """`v` as n numbers: one for all, or one each."""
    v = [v] if isinstance(v, int) else list(v)
    return v * n if len(v) == 1 else v


def pads(padding, padding_algorithm, sizes, kernel, stride, dilation):
    """[before, after] for each dim."""
    n = len(sizes)
    if padding_algorithm == "VALID":
        return [[0, 0]] * n
    if padding_algorithm == "SAME":
        out = []
        for size, k, s, d in zip(sizes, kernel, stride, dilation):
            total = max((-(-size // s) - 1) * s + d * (k - 1) + 1 - size, 0)
            out.append([total // 2, total - total // 2])
        return out
    p = [padding] if isinstance(padding, int) else list(padding)
    return [p[2 * i : 2 * i + 2] for i in range(n)] if len(p) == 2 * n else [[q, q] for q in each(p, n)]


def to_first(x, data_format):
    return np.moveaxis(x, -1, 1) if data_format[-1] == "C" else x


def from_first(x, data_format):
    return np.moveaxis(x, 1, -1) if data_format[-1] == "C" else x


class Walk:
    """A convolution of images of `sizes`: what the window does."""

    def __init__(self, sizes, kernel, stride, padding, dilation, groups, padding_algorithm):
        n = len(sizes)
        self.sizes, self.kernel, self.groups = list(sizes), list(kernel), groups
        self.stride, self.dilation = each(stride, n), each(dilation, n)
        self.pads = pads(padding, padding_algorithm, sizes, kernel, self.stride, self.dilation)
        self.out = [
            (size + sum(p) - d * (k - 1) - 1) // s + 1
            for size, p, d, k, s in zip(sizes, self.pads, self.dilation, kernel, self.stride)
        ]

    def taps(self, out=None):
        """(tap, what of the padded image it sees) for each tap of the kernel."""
        for tap in itertools.product(*(range(k) for k in self.kernel)):
            yield (
                tap,
                tuple(
                    slice(t * d, t * d + (n - 1) * s + 1, s)
                    for t, d, n, s in zip(tap, self.dilation, out or self.out, self.stride)
                ),
            )

    def padded(self, x):
        return np.pad(x, [(0, 0), (0, 0), *self.pads])

    def forward(self, x, weight):
        wide, og, cg = self.padded(x), weight.shape[0] // self.groups, weight.shape[1]
        out = np.zeros((x.shape[0], weight.shape[0], *self.out))
        for tap, seen in self.taps():
            for k in range(self.groups):
                part = wide[(slice(None), slice(k * cg, (k + 1) * cg), *seen)]
                w = weight[(slice(k * og, (k + 1) * og), slice(None), *tap)]
                out[:, k * og : (k + 1) * og] += np.einsum("nc...,oc->no...", part, w)
        return out

    def input_grad(self, grad, weight):
        """`grad` may lack the last outputs."""
        og, cg = weight.shape[0] // self.groups, weight.shape[1]
        wide = np.zeros((grad.shape[0], cg * self.groups, *(s + sum(p) for s, p in zip(self.sizes, self.pads))))
        for tap, seen in self.taps(grad.shape[2:]):
            for k in range(self.groups):
                w = weight[(slice(k * og, (k + 1) * og), slice(None), *tap)]
                part = np.einsum("no...,oc->nc...", grad[:, k * og : (k + 1) * og], w)
                wide[(slice(None), slice(k * cg, (k + 1) * cg), *seen)] += part
        inside = tuple(slice(p[0], p[0] + s) for p, s in zip(self.pads, self.sizes))
        return wide[(slice(None), slice(None), *inside)]

    def weight_grad(self, x, grad, weight_shape):
        wide, og, cg = self.padded(x), weight_shape[0] // self.groups, weight_shape[1]
        out, pixels = np.zeros(weight_shape), int(np.prod(grad.shape[2:]))
        for tap, seen in self.taps(grad.shape[2:]):
            for k in range(self.groups):
                part = wide[(slice(None), slice(k * cg, (k + 1) * cg), *seen)]
                out[(slice(k * og, (k + 1) * og), slice(None), *tap)] = np.einsum(
                    "nop,ncp->oc",
                    grad[:, k * og : (k + 1) * og].reshape(x.shape[0], og, pixels),
                    part.reshape(x.shape[0], cg, pixels),
                )
        return out


def with_bias(out, bias):
    return out if bias is None else out + bias.reshape(-1, *[1] * (out.ndim - 2))


def reference_conv(
    x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCHW", padding_algorithm="EXPLICIT"
):
    x = to_first(x, data_format)
    walk = Walk(x.shape[2:], weight.shape[2:], stride, padding, dilation, groups, padding_algorithm)
    return from_first(with_bias(walk.forward(x, weight), bias), data_format)


def reference_conv1d(
    x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCL", padding_algorithm="EXPLICIT"
):
    return reference_conv(x, weight, bias, stride, padding, dilation, groups, data_format, padding_algorithm)


def reference_conv2d(
    x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCHW", padding_algorithm="EXPLICIT"
):
    return reference_conv(x, weight, bias, stride, padding, dilation, groups, data_format, padding_algorithm)


def reference_conv3d(
    x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCDHW", padding_algorithm="EXPLICIT"
):
    return reference_conv(x, weight, bias, stride, padding, dilation, groups, data_format, padding_algorithm)


def reference_conv_input_grad(
    grad_out,
    weight,
    input_shape,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    data_format="NCHW",
    padding_algorithm="EXPLICIT",
):
    sizes = input_shape[1:-1] if data_format[-1] == "C" else input_shape[2:]
    walk = Walk(sizes, weight.shape[2:], stride, padding, dilation, groups, padding_algorithm)
    return from_first(walk.input_grad(to_first(grad_out, data_format), weight), data_format)


def reference_conv_weight_grad(
    x,
    grad_out,
    weight_shape,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    data_format="NCHW",
    padding_algorithm="EXPLICIT",
    dtype=None,
):
    x = to_first(x, data_format)
    walk = Walk(x.shape[2:], weight_shape[2:], stride, padding, dilation, groups, padding_algorithm)
    return walk.weight_grad(x, to_first(grad_out, data_format), weight_shape)


def reference_channel_sum(x, data_format="NCHW", dtype=None):
    channel = x.ndim - 1 if data_format[-1] == "C" and data_format != "NC" else 1
    return x.sum(axis=tuple(d for d in range(x.ndim) if d != channel))


HALF = {"float16": (5e-3, 5e-3), "bfloat16": (4e-2, 4e-2), "float32": (2e-5, 2e-5)}
TOLERANCE = {
    "conv": HALF,
    "conv1d": HALF,
    "conv2d": HALF,
    "conv3d": HALF,
    "conv_input_grad": HALF,
    "conv_weight_grad": HALF,
}
