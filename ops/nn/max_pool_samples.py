"""References of max pooling in one to three dims: loops over windows, with channels first."""

import itertools

import numpy as np

from ops.nn.conv_samples import each, from_first, pads, to_first


class Windows:
    """The windows of a pool: for each dim, of each output position the positions inside the image, and how many count."""

    def __init__(self, at, counted):
        self._at, self._counted = at, counted
        self.sizes = [len(windows) for windows in at]

    @staticmethod
    def of_pool(sizes, kernel_size, stride, padding, ceil_mode, padding_algorithm):
        n = len(sizes)
        kernel = each(kernel_size, n)
        strides = each(stride, n) if len(each(stride, n)) else kernel
        at, counted = [], []
        around = pads(padding, padding_algorithm, sizes, kernel, strides, [1] * n)
        for size, k, s, (before, after) in zip(sizes, kernel, strides, around):
            room = size + before + after - k
            steps = -(-room // s) if ceil_mode else max(room, 0) // s
            starts = [i * s - before for i in range(steps + 1)]
            at.append([range(max(b, 0), max(min(b + k, size), max(b, 0))) for b in starts])
            counted.append([max(min(b + k, size + after) - b, 0) for b in starts])
        return Windows(at, counted)

    @staticmethod
    def adaptive(sizes, output_size):
        out = [size if n == -1 else n for size, n in zip(sizes, each(output_size, len(sizes)))]
        at = [[range(i * size // n, -(-(i + 1) * size // n)) for i in range(n)] for size, n in zip(sizes, out)]
        return Windows(at, [[len(w) for w in windows] for windows in at])

    def __iter__(self):
        """(index of the output, index of the image, how many positions count) for each window."""
        every = (slice(None), slice(None))
        for i in itertools.product(*(range(n) for n in self.sizes)):
            inside = [windows[k] for windows, k in zip(self._at, i)]
            seen = tuple(slice(w.start, w.stop) for w in inside)
            yield every + i, every + seen, int(np.prod([counts[k] for counts, k in zip(self._counted, i)]))


def maxima(x, windows):
    """The maxima and their places, of [N, C, ...]."""
    shape = (*x.shape[:2], *windows.sizes)
    out, indices = np.full(shape, np.finfo(x.dtype).min, np.float64), np.full(shape, -1, np.int32)
    places = np.broadcast_to(np.arange(int(np.prod(x.shape[2:]))).reshape(x.shape[2:]), x.shape)
    for to, seen, _ in windows:
        part = x[seen].reshape(*x.shape[:2], -1) if x[seen].size else None
        if part is not None:
            at = part.argmax(axis=-1)[..., None]
            out[to] = np.take_along_axis(part, at, -1)[..., 0]
            indices[to] = np.take_along_axis(places[seen].reshape(part.shape), at, -1)[..., 0]
    return out, indices


def with_index(x, kernel_size, stride=(), padding=0, ceil_mode=False, data_format="NCHW", padding_algorithm="EXPLICIT"):
    x = to_first(x, data_format)
    windows = Windows.of_pool(x.shape[2:], kernel_size, stride, padding, ceil_mode, padding_algorithm)
    return tuple(from_first(t, data_format) for t in maxima(x, windows))


def scatter(values, indices, shape, add=True):
    """Zeros of `shape` [N, C, ...] with values where indices say."""
    out = np.zeros((*shape[:2], int(np.prod(shape[2:]))))
    for at in np.ndindex(*indices.shape):
        if indices[at] >= 0:
            to = (*at[:2], indices[at])
            out[to] = out[to] * add + values[at]
    return out.reshape(shape)


def gather(x, indices):
    flat = x.reshape(*x.shape[:2], int(np.prod(x.shape[2:])))
    places = indices.reshape(*indices.shape[:2], int(np.prod(indices.shape[2:]))).astype(np.int64)
    return np.where(places < 0, 0, np.take_along_axis(flat, np.maximum(places, 0), -1)).reshape(indices.shape)


reference_max_pool1d_with_index = reference_max_pool2d_with_index = reference_max_pool3d_with_index = with_index


def _max_pool(*args, **kwargs):
    return with_index(*args, **kwargs)[0]


reference_max_pool1d = reference_max_pool2d = reference_max_pool3d = _max_pool


def reference_max_pool_grad(
    grad_out, x, kernel_size, stride=(), padding=0, ceil_mode=False, data_format="NCHW", padding_algorithm="EXPLICIT"
):
    _, indices = with_index(x, kernel_size, stride, padding, ceil_mode, data_format, padding_algorithm)
    g, i, x = (to_first(t, data_format) for t in (grad_out, indices, x))
    return from_first(scatter(g, i, x.shape), data_format)


def reference_max_pool_pick(
    values, x, kernel_size, stride=(), padding=0, ceil_mode=False, data_format="NCHW", padding_algorithm="EXPLICIT"
):
    _, indices = with_index(x, kernel_size, stride, padding, ceil_mode, data_format, padding_algorithm)
    return from_first(gather(to_first(values, data_format), to_first(indices, data_format)), data_format)
