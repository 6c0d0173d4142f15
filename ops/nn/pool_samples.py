"""References of pooling: loops over windows, in NCHW."""

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


def _ranges(size, kernel, stride, before, after, ceil_mode):
    room = size + before + after - kernel
    n = (-(-room // stride) if ceil_mode else room // stride) + 1
    positions = [
        [p for p in range(i * stride - before, i * stride - before + kernel) if p < size + after] for i in range(n)
    ]
    inside = [[p for p in window if 0 <= p < size] for window in positions]
    return [(w[0], w[-1] + 1, len(p)) if w else (0, 0, len(p)) for w, p in zip(inside, positions)]


def _windows(shape, kernel_size, stride, padding, ceil_mode):
    kernel = _pair(kernel_size)
    stride = _pair(stride) if len(_pair(stride)) else kernel
    p = _padding(padding)
    return [_ranges(shape[2 + d], kernel[d], stride[d], p[2 * d], p[2 * d + 1], ceil_mode) for d in range(2)]


def _adaptive(shape, output_size):
    size = [shape[2 + d] if n == -1 else n for d, n in enumerate(_pair(output_size))]
    return [[(i * shape[2 + d] // n, -(-(i + 1) * shape[2 + d] // n), 0) for i in range(n)] for d, n in enumerate(size)]


def _each(windows):
    for i, (top, bottom, rows) in enumerate(windows[0]):
        for j, (left, right, columns) in enumerate(windows[1]):
            yield i, j, top, bottom, left, right, rows * columns


def _max(x, windows):
    shape = x.shape[:2] + (len(windows[0]), len(windows[1]))
    out, indices = np.full(shape, np.finfo(x.dtype).min, np.float64), np.full(shape, -1, np.int32)
    for i, j, top, bottom, left, right, _ in _each(windows):
        part = x[:, :, top:bottom, left:right]
        if part.size:
            flat = part.reshape(*part.shape[:2], -1)
            at = flat.argmax(axis=-1)
            out[:, :, i, j] = np.take_along_axis(flat, at[..., None], -1)[..., 0]
            indices[:, :, i, j] = (top + at // (right - left)) * x.shape[3] + left + at % (right - left)
    return out, indices


def reference_max_pool2d_with_index(x, kernel_size, stride=(), padding=(0, 0), ceil_mode=False, data_format="NCHW"):
    x = _to_nchw(x, data_format)
    out, indices = _max(x, _windows(x.shape, kernel_size, stride, padding, ceil_mode))
    return _from_nchw(out, data_format), _from_nchw(indices, data_format)


def reference_max_pool2d(x, kernel_size, stride=(), padding=(0, 0), ceil_mode=False, data_format="NCHW"):
    return reference_max_pool2d_with_index(x, kernel_size, stride, padding, ceil_mode, data_format)[0]


def reference_adaptive_max_pool2d(x, output_size, data_format="NCHW"):
    x = _to_nchw(x, data_format)
    out, indices = _max(x, _adaptive(x.shape, output_size))
    return _from_nchw(out, data_format), _from_nchw(indices, data_format)


def reference_pool2d_scatter(values, indices, input_shape, data_format="NCHW"):
    v, i = _to_nchw(values, data_format), _to_nchw(indices, data_format)
    n, c, h, w = (
        (input_shape[0], input_shape[3], input_shape[1], input_shape[2]) if data_format == "NHWC" else input_shape
    )
    out = np.zeros((n, c, h * w))
    for a in range(n):
        for b in range(c):
            there = i[a, b].reshape(-1) >= 0
            np.add.at(out[a, b], i[a, b].reshape(-1)[there], v[a, b].reshape(-1)[there])
    return _from_nchw(out.reshape(n, c, h, w), data_format)


def reference_max_unpool2d(x, indices, output_shape, data_format="NCHW"):
    v, i = _to_nchw(x, data_format), _to_nchw(indices, data_format)
    n, c, h, w = _nchw_shape(output_shape, data_format)
    out = np.zeros((n, c, h * w))
    for a, b, p, q in np.ndindex(*i.shape):
        if i[a, b, p, q] >= 0:
            out[a, b, i[a, b, p, q]] = v[a, b, p, q]
    return _from_nchw(out.reshape(n, c, h, w), data_format)


def reference_pool2d_gather(x, indices, data_format="NCHW"):
    x, i = _to_nchw(x, data_format), _to_nchw(indices, data_format)
    flat = x.reshape(*x.shape[:2], x.shape[2] * x.shape[3])
    places = i.reshape(*i.shape[:2], i.shape[2] * i.shape[3]).astype(np.int64)
    out = np.where(places < 0, 0, np.take_along_axis(flat, np.maximum(places, 0), -1)).reshape(i.shape)
    return _from_nchw(out, data_format)


def reference_max_pool2d_grad(grad_out, x, kernel_size, stride=(), padding=(0, 0), ceil_mode=False, data_format="NCHW"):
    _, indices = reference_max_pool2d_with_index(x, kernel_size, stride, padding, ceil_mode, data_format)
    return reference_pool2d_scatter(grad_out, indices, x.shape, data_format)


def reference_max_pool2d_pick(values, x, kernel_size, stride=(), padding=(0, 0), ceil_mode=False, data_format="NCHW"):
    _, indices = reference_max_pool2d_with_index(x, kernel_size, stride, padding, ceil_mode, data_format)
    return reference_pool2d_gather(values, indices, data_format)


def _mean(x, windows, exclusive=True):
    out = np.zeros(x.shape[:2] + (len(windows[0]), len(windows[1])))
    for i, j, top, bottom, left, right, counted in _each(windows):
        divisor = (bottom - top) * (right - left) if exclusive else counted
        total = x[:, :, top:bottom, left:right].sum(axis=(2, 3))
        out[:, :, i, j] = total / divisor if divisor else np.nan
    return out


def _mean_grad(g, shape, windows, exclusive=True):
    out = np.zeros(shape)
    for i, j, top, bottom, left, right, counted in _each(windows):
        divisor = (bottom - top) * (right - left) if exclusive else counted
        if divisor:
            out[:, :, top:bottom, left:right] += g[:, :, i : i + 1, j : j + 1] / divisor
    return out


def _nchw_shape(s, data_format):
    return (s[0], s[3], s[1], s[2]) if data_format == "NHWC" else tuple(s)


def reference_avg_pool2d(
    x, kernel_size, stride=(), padding=(0, 0), ceil_mode=False, exclusive=True, data_format="NCHW"
):
    x = _to_nchw(x, data_format)
    return _from_nchw(_mean(x, _windows(x.shape, kernel_size, stride, padding, ceil_mode), exclusive), data_format)


def reference_avg_pool2d_grad(
    grad_out, input_shape, kernel_size, stride=(), padding=(0, 0), ceil_mode=False, exclusive=True, data_format="NCHW"
):
    shape = _nchw_shape(input_shape, data_format)
    windows = _windows(shape, kernel_size, stride, padding, ceil_mode)
    return _from_nchw(_mean_grad(_to_nchw(grad_out, data_format), shape, windows, exclusive), data_format)


def reference_adaptive_avg_pool2d(x, output_size, data_format="NCHW"):
    x = _to_nchw(x, data_format)
    return _from_nchw(_mean(x, _adaptive(x.shape, output_size)), data_format)


def reference_adaptive_avg_pool2d_grad(grad_out, input_shape, data_format="NCHW"):
    shape = _nchw_shape(input_shape, data_format)
    g = _to_nchw(grad_out, data_format)
    return _from_nchw(_mean_grad(g, shape, _adaptive(shape, g.shape[2:])), data_format)


def reference_adaptive_avg_pool2d_like(x, out_shape, data_format="NCHW"):
    return reference_adaptive_avg_pool2d(x, _nchw_shape(out_shape, data_format)[2:], data_format)
