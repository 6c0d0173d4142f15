"""Making and rearranging tensors, with the old arguments."""

import proa
from proa import _C
from proa.fluid.layers.arguments import act_on
from proa.fluid.layers.blocks import write
from proa.static.parameters import create_global_var
from proa.static.sequences import as_first_of

__all__ = [
    "arange", "argmax", "argmin", "argsort", "assign", "cast", "clamp", "concat", "create_global_var", "create_parameter",
    "create_tensor", "crop", "crop_tensor", "diag", "expand", "expand_as", "eye", "fill_constant",
    "fill_constant_batch_size_like", "flatten", "full_like", "gather", "gather_nd", "gaussian_random_batch_size_like", "get_tensor_from_selected_rows",
    "index_select", "linspace", "merge_selected_rows", "multiplex", "one_hot", "ones", "pad", "pad2d", "pad_constant_like", "range", "reshape", "reverse",
    "scatter", "scatter_nd", "scatter_nd_add", "shard_index", "slice", "space_to_depth", "split", "squeeze", "stack",
    "strided_slice", "topk", "transpose", "triu", "unbind", "uniform_random_batch_size_like", "unique",
    "unique_with_counts", "unsqueeze", "unstack", "zeros",
]  # fmt: skip


def _into(out, value):
    if out is None:
        return value
    return write(out, value.reshape(out.shape))


# Making ---------------------------------------------------------------------------------------------------------------


def create_tensor(dtype, name=None, persistable=False):
    """An empty tensor, to be written into."""
    tensor = _C.ops.full([0], 0, dtype)
    if name is not None:
        tensor.name = name
    tensor.persistable = persistable
    return tensor


def create_parameter(shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None):
    """A parameter: of the program in static mode, else of its own."""
    if _C.in_static_mode():
        from proa.static.parameters import create_parameter as create
    else:
        from proa.framework import create_parameter as create
    return create(shape, dtype, name, attr, is_bias, default_initializer)


def fill_constant(shape, dtype, value, force_cpu=False, out=None, name=None):
    """A tensor of one value; written into `out` if that is given."""
    return _into(out, proa.full(shape, value, dtype))


def fill_constant_batch_size_like(input, shape, dtype, value, input_dim_idx=0, output_dim_idx=0, force_cpu=False):
    """A tensor of one value, whose size at `output_dim_idx` is that of `input` at `input_dim_idx`."""
    return proa.full(_like(input, shape, input_dim_idx, output_dim_idx), value, dtype)


def _like(input, shape, input_dim_idx, output_dim_idx):
    """`shape` with one size of `input`; a tensor of sizes where that size is not known."""
    sizes = [int(size) for size in shape]
    size = input.shape[input_dim_idx]
    if not isinstance(size, int) or size >= 0:
        sizes[output_dim_idx] = size
        return sizes
    parts = [_C.ops.full([1], size, _C.int64) for size in sizes]
    parts[output_dim_idx] = _C.ops.slice(_C.ops.shape(input), [0], [input_dim_idx], [input_dim_idx + 1]).astype("int64")
    return _C.ops.concat(parts, 0)


def uniform_random_batch_size_like(
    input, shape, dtype="float32", input_dim_idx=0, output_dim_idx=0, min=-1.0, max=1.0, seed=0
):
    """Random numbers, uniform; sizes as in `fill_constant_batch_size_like`."""
    return proa.uniform(_like(input, shape, input_dim_idx, output_dim_idx), dtype, min, max, seed)


def gaussian_random_batch_size_like(
    input, shape, input_dim_idx=0, output_dim_idx=0, mean=0.0, std=1.0, seed=0, dtype="float32"
):
    """Random numbers, normal; sizes as in `fill_constant_batch_size_like`."""
    return _C.ops.gaussian(_like(input, shape, input_dim_idx, output_dim_idx), dtype, float(mean), float(std), seed)


def zeros(shape, dtype, force_cpu=False, name=None):
    """Zeros."""
    return proa.zeros(shape, dtype)


def ones(shape, dtype, force_cpu=False):
    """Ones."""
    return proa.ones(shape, dtype)


def full_like(x, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """A tensor of one value, like x."""
    return _into(out, proa.full_like(x, fill_value, dtype))


def range(start, end, step, dtype, name=None):
    """start, start + step, ... before end."""
    return proa.arange(start, end, step, dtype)


def arange(start, end, step=1, dtype=None, name=None):
    """start, start + step, ... before end."""
    return proa.arange(start, end, step, dtype)


def linspace(start, stop, num, dtype=None, name=None):
    """`num` values from start to stop."""
    return proa.linspace(start, stop, num, dtype)


def eye(num_rows, num_columns=None, batch_shape=None, dtype="float32", name=None):
    """The unit matrix, as often as `batch_shape` says."""
    matrix = proa.eye(num_rows, num_columns, dtype)
    return matrix if not batch_shape else proa.tile(matrix, [*batch_shape, 1, 1])


def diag(diagonal):
    """The matrix with this diagonal."""
    return proa.diag(diagonal)


def triu(x, diagonal=0, name=None):
    """The upper triangle of x."""
    return proa.triu(x, diagonal)


def one_hot(input, depth, allow_out_of_range=False):
    """Rows of `depth` with a one at each index; a last dim of one goes away."""
    input = _C.ops.squeeze(input, [-1]) if len(input.shape) > 1 and input.shape[-1] == 1 else input
    if not allow_out_of_range:
        return proa.nn.functional.one_hot(input, depth)
    classes = proa.arange(0, depth, 1, input.dtype)
    return _C.ops.equal(_C.ops.unsqueeze(input, [-1]), classes).astype("float32")


# Rearranging ------------------------------------------------------------------------------------------------------------


def cast(x, dtype):
    """x in another dtype."""
    return proa.cast(x, dtype)


def assign(input, output=None):
    """A copy; written into `output` if that is given, which gets its dims, too, where it has others."""
    value = proa.assign(input)
    if output is None:
        return value
    if 0 in output.shape or len(output.shape) != len(value.shape) and 1 not in (output.size, value.size):
        _C.rebind(output, value)  # such as what create_tensor gives
        return output
    return _into(output, value)


def concat(input, axis=0, name=None):
    """Tensors one after another along `axis`."""
    inputs = input if isinstance(input, (list, tuple)) else [input]
    result = proa.concat(inputs, axis)
    return result if axis in (0, -len(result.shape)) else as_first_of(result, inputs)


def stack(x, axis=0, name=None):
    """Tensors beside one another along a new axis."""
    return proa.stack(x if isinstance(x, (list, tuple)) else [x], axis)


def unstack(x, axis=0, num=None):
    """The slices of x along `axis`."""
    return proa.unstack(x, axis, num)


def unbind(input, axis=0):
    """The slices of x along `axis`."""
    return proa.unbind(input, axis)


def split(input, num_or_sections, dim=-1, name=None):
    """Equal parts of x along `dim`, or parts of these sizes."""
    return proa.split(input, num_or_sections, dim)


def reshape(x, shape, actual_shape=None, act=None, inplace=False, name=None):
    """x with other dims; -1 is inferred, 0 is kept. `actual_shape` (a tensor) goes before `shape`."""
    return act_on(proa.reshape(x, shape if actual_shape is None else actual_shape), act)


def transpose(x, perm, name=None):
    """x with its dims in another order."""
    return proa.transpose(x, perm)


def squeeze(input, axes, name=None):
    """x without these dims of one; without all of them if `axes` is empty."""
    return proa.squeeze(input, axes or None)


def unsqueeze(input, axes, name=None):
    """x with dims of one added."""
    return proa.unsqueeze(input, axes)


def flatten(x, axis=1, name=None):
    """A matrix: the dims before `axis` are its rows."""
    if axis == 0:
        return x.reshape([1, -1])
    rows = _C.ops.flatten(x, 0, axis - 1) if axis > 1 else x
    return _C.ops.flatten(rows, 1, -1) if len(rows.shape) > 1 else _C.ops.unsqueeze(rows, [1])


def expand(x, expand_times, name=None):
    """x repeated along each dim: what is now called tile."""
    return proa.tile(x, expand_times)


def expand_as(x, target_tensor, name=None):
    """x repeated to the dims of another tensor."""
    times = [t // s for s, t in zip(x.shape, target_tensor.shape)]
    return proa.tile(x, times)


def slice(input, axes, starts, ends):
    """The part from starts to ends along axes."""
    return proa.slice(input, axes, starts, ends)


def strided_slice(input, axes, starts, ends, strides):
    """Every `strides`-th from starts to ends along axes."""
    return proa.strided_slice(input, axes, starts, ends, strides)


def crop(x, shape=None, offsets=None, name=None):
    """The part of this shape from these offsets on."""
    return proa.crop(x, shape.shape if isinstance(shape, _C.Tensor) and len(shape.shape) > 1 else shape, offsets)


crop_tensor = crop


def reverse(x, axis):
    """x with the order along axes turned round.

    Examples:
        >>> proa.reverse(proa.to_tensor([[1, 2], [3, 4]]), axis=0).tolist()
        [[3, 4], [1, 2]]
    """
    return proa.flip(x, axis if isinstance(axis, (list, tuple)) else [axis])


def pad(x, paddings, pad_value=0.0, name=None):
    """x with values added: before and after, for each dim."""
    return _C.ops.pad(x, list(paddings), "constant", pad_value)


def pad2d(input, paddings=(0, 0, 0, 0), mode="constant", pad_value=0.0, data_format="NCHW", name=None):
    """An image with pixels added: [top, bottom, left, right]."""
    top, bottom, left, right = paddings
    mode = {"edge": "replicate"}.get(mode, mode)
    return proa.nn.functional.pad(input, [left, right, top, bottom], mode, pad_value, data_format)


def pad_constant_like(x, y, pad_value=0.0, name=None):
    """y with values added at the ends, to the dims of x."""
    paddings = []
    for larger, smaller in zip(x.shape, y.shape):
        paddings += [0, larger - smaller]
    return pad(y, paddings, pad_value)


def space_to_depth(x, blocksize, name=None):
    """Blocks of pixels as channels: [N, C * b * b, H / b, W / b]."""
    n, c, h, w = x.shape
    b = blocksize
    x = x.reshape([n, c, h // b, b, w // b, b])
    return x.transpose([0, 3, 5, 1, 2, 4]).reshape([n, c * b * b, h // b, w // b])


def shard_index(input, index_num, nshards, shard_id, ignore_value=-1):
    """Indices within one of `nshards` parts."""
    return proa.shard_index(input, index_num, nshards, shard_id, ignore_value)


# Choosing -----------------------------------------------------------------------------------------------------------------


def gather(input, index, overwrite=True):
    """Rows of these indices."""
    return proa.gather(input, index.reshape([-1]))


def gather_nd(input, index, name=None):
    """Elements, or slices, at these places."""
    return proa.gather_nd(input, index)


def index_select(input, index, dim=0):
    """Slices of these indices along `dim`."""
    return proa.index_select(input, index, dim)


def scatter(input, index, updates, name=None, overwrite=True):
    """input with rows replaced by, or added to, `updates`."""
    return proa.scatter(input, index, updates, overwrite)


def scatter_nd(index, updates, shape, name=None):
    """Zeros with `updates` added at these places."""
    return proa.scatter_nd(index, updates, shape)


def scatter_nd_add(ref, index, updates, name=None):
    """ref with `updates` added at these places."""
    return proa.scatter_nd_add(ref, index, updates)


def argmax(x, axis=0):
    """Where the largest element is along `axis`."""
    return proa.argmax(x, axis)


def argmin(x, axis=0):
    """Where the smallest element is along `axis`."""
    return proa.argmin(x, axis)


def argsort(input, axis=-1, descending=False, name=None):
    """(sorted values, indices) along `axis`."""
    return _C.ops.sort(input, axis, descending)


def topk(input, k, name=None):
    """(the k largest along the last axis, their indices)."""
    return proa.topk(input, k)


def multiplex(inputs, index):
    """Of each row the one of the tensor that `index` [rows, 1] names."""
    return proa.multiplex(inputs, index)


def clamp(input, min=None, max=None, output=None, name=None):
    """x, not less than min and not more than max; written into `output` if that is given."""
    return _into(output, proa.clip(input, min, max))


def merge_selected_rows(x, name=None):
    """A row-sparse tensor, such as the gradient of a sparse embedding, with each row once; of a dense one a copy."""
    return proa.merge_rows(x)


def get_tensor_from_selected_rows(x, name=None):
    """The values of a row-sparse tensor, a row for each that it holds; of a dense one itself."""
    return x.values() if x.is_selected_rows() else x


def unique(x, dtype="int32"):
    """(values in the order of their first occurrence, for each element the index of its value)."""
    return _unique(x, dtype)[:2]


def unique_with_counts(x, dtype="int32"):
    """`unique`, and how often each value occurs."""
    return _unique(x, dtype)


def _unique(x, dtype):
    values, first, inverse, counts = _C.ops.unique(x)
    order = _C.ops.argsort(first)
    place = _C.ops.argsort(order)
    return (
        proa.gather(values, order),
        proa.gather(place, inverse).astype(dtype),
        proa.gather(counts, order).astype(dtype),
    )
