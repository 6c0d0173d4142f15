"""Convolutions and pools of sparse images, by rules: which elements meet under which place of the window."""

import math

from proa import _C
from proa.nn.functional.shapes import flat, padding_pairs, positive
from proa.sparse.tensor import SparseCooTensor
from proa.sparse.unary import sparse_argument

__all__ = ["conv2d", "conv3d", "max_pool3d", "subm_conv2d", "subm_conv3d"]


def _image(op, x, n, data_format):
    """x, a coalesced image of n dims with dense channels."""
    wanted = "NDHWC" if n == 3 else "NHWC"
    if data_format != wanted:
        raise _C.located(ValueError(f"{op}: data_format must be {wanted!r}, not {data_format!r}"))
    x = sparse_argument(op, "x", x)
    if x.is_sparse_csr() or x.ndim != n + 2 or x.sparse_dim() != n + 1:
        kind = "a CSR tensor" if x.is_sparse_csr() else f"one with {x.sparse_dim()} sparse dims"
        raise _C.located(
            ValueError(
                f"{op}: x must be a COO tensor [{', '.join(wanted)}] with dense channels alone, as to_sparse_coo({n + 1}) makes "
                f"it; it is {kind}, {x.shape}"
            )
        )
    return x.coalesce()


def _results(x, kernel, strides, pads, dilations, submanifold):
    """(the rules, the shape without channels of the result)."""
    rules = _C.ops.window_rules(x._indices, x._shape[:-1], kernel, strides, flat(pads), dilations, submanifold)
    sizes = [
        (size + before + behind - dilation * (k - 1) - 1) // stride + 1
        for size, (before, behind), dilation, k, stride in zip(
            x._shape[1:-1], pads, dilations, kernel, strides, strict=True
        )
    ]
    return rules, [x._shape[0], *sizes]


def _conv(op, n, x, weight, bias, stride, padding, dilation, groups, data_format, submanifold):
    x = _image(op, x, n, data_format)
    weight = _C.tensor_argument(weight, op, "weight")
    if groups != 1:
        raise _C.located(ValueError(f"{op}: groups must be 1; it is {groups}"))
    if len(weight.shape) != n + 2 or weight.shape[n] != x.shape[-1]:
        raise _C.located(
            ValueError(
                f"{op}: weight must have {n} sizes of the window, then {x.shape[-1]} channels by x, then those of the result; "
                f"it is {list(weight.shape)} {weight.dtype.name}"
            )
        )
    kernel = list(weight.shape[:n])
    strides, dilations = positive(op, "stride", stride, n), positive(op, "dilation", dilation, n)
    if submanifold:
        if any(s != 1 for s in strides):
            raise _C.located(ValueError(f"{op}: stride must be 1, as results are where elements are; it is {stride}"))
        pads = [[k // 2 * d, (k - 1 - k // 2) * d] for k, d in zip(kernel, dilations, strict=True)]
    else:
        pads = padding_pairs(op, padding, n, x.shape[1:-1], kernel, strides, dilations, True)
    (indices, source, target, counts), shape = _results(x, kernel, strides, pads, dilations, submanifold)
    weight = _C.ops.reshape(weight, [math.prod(kernel), *weight.shape[n:]])
    values = _C.ops.rulebook_matmul(x._values, weight, source, target, counts, [indices.shape[1]])
    if bias is not None:
        values = values + _C.tensor_argument(bias, op, "bias")
    return SparseCooTensor(indices, values, [*shape, weight.shape[2]], True)


def conv3d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NDHWC", name=None):
    """Convolution of a sparse image; the result has elements where the window covers one.

    Args:
        x (SparseCooTensor): [N, D, H, W, C] with 4 sparse dims.
        weight (Tensor): [kD, kH, kW, C, M].
        bias (Tensor, optional): [M], added to the elements that the result holds.
        stride, dilation (int|list[int]): of each dim.
        padding (int|str|list[int]): as in nn.functional.conv3d.
        groups (int): 1.
        data_format (str): "NDHWC".
        name (str, optional): not used.

    Returns:
        SparseCooTensor: [N, D, H, W, M] with 4 sparse dims, coalesced.

    Raises:
        ValueError: shapes do not fit, or the window is larger than the image.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0], [1], [1], [1]], [[1.0, 2.0]], [1, 3, 3, 3, 2])
        >>> y = proa.sparse.nn.functional.conv3d(x, proa.ones([2, 2, 2, 2, 4]))
        >>> y.shape, y.nnz(), y.values()[0].tolist()
        ([1, 2, 2, 2, 4], 8, [3.0, 3.0, 3.0, 3.0])
    """
    return _conv("conv3d", 3, x, weight, bias, stride, padding, dilation, groups, data_format, False)


def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NHWC", name=None):
    """As conv3d for [N, H, W, C] with 3 sparse dims and a weight [kH, kW, C, M].

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0], [1], [1]], [[1.0, 2.0]], [1, 3, 3, 2])
        >>> proa.sparse.nn.functional.conv2d(x, proa.ones([2, 2, 2, 1]), padding=1).shape
        [1, 4, 4, 1]
    """
    return _conv("conv2d", 2, x, weight, bias, stride, padding, dilation, groups, data_format, False)


def subm_conv3d(
    x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NDHWC", key=None, name=None
):
    """Submanifold convolution (Graham and van der Maaten, 2017): the result has elements where x has some, and no others.

    Args:
        x, weight, bias, dilation, groups, data_format, name: as in conv3d.
        stride (int|list[int]): 1.
        padding: of no effect: the result has the sizes of x, the window is centred on each element.
        key (str, optional): not used.

    Returns:
        SparseCooTensor: [N, D, H, W, M] with 4 sparse dims.

    Raises:
        ValueError: shapes do not fit, or another stride.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 0], [1, 1], [1, 1], [0, 1]], [[1.0], [2.0]], [1, 3, 3, 3, 1])
        >>> proa.sparse.nn.functional.subm_conv3d(x, proa.ones([3, 3, 3, 1, 1])).values().tolist()
        [[3.0], [3.0]]
    """
    return _conv("subm_conv3d", 3, x, weight, bias, stride, padding, dilation, groups, data_format, True)


def subm_conv2d(
    x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NHWC", key=None, name=None
):
    """As subm_conv3d for [N, H, W, C] with 3 sparse dims and a weight [kH, kW, C, M].

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 0], [1, 1], [0, 1]], [[1.0], [2.0]], [1, 3, 3, 1])
        >>> proa.sparse.nn.functional.subm_conv2d(x, proa.ones([3, 3, 1, 1])).values().tolist()
        [[3.0], [3.0]]
    """
    return _conv("subm_conv2d", 2, x, weight, bias, stride, padding, dilation, groups, data_format, True)


def _ceiled(size, pair, kernel, stride):
    """The padding with which a last window that is not whole counts too; it begins within what is there."""
    before, behind = pair
    rest = (size + before + behind - kernel) % stride
    more = stride - rest if rest else 0
    starts = (size + before + behind + more - kernel) // stride * stride
    return [before, behind + more] if starts < size + before else [before, behind]


def max_pool3d(x, kernel_size, stride=None, padding=0, ceil_mode=False, data_format="NDHWC", name=None):
    """The largest of the elements under the window, of those that are held; NaN where one is NaN.

    Args:
        x (SparseCooTensor): [N, D, H, W, C] with 4 sparse dims.
        kernel_size (int|list[int]): of the window.
        stride (int|list[int], optional): that of kernel_size unless given.
        padding (int|str|list[int]): as in nn.functional.max_pool3d.
        ceil_mode (bool): let the last window go beyond the image.
        data_format (str): "NDHWC".
        name (str, optional): not used.

    Returns:
        SparseCooTensor: with an element where the window covers one. Its gradient goes to every element that is as large.

    Raises:
        ValueError: x has other dims, or the window is larger than the image.

    Examples:
        >>> x = proa.sparse.sparse_coo_tensor([[0, 0], [0, 1], [0, 1], [0, 1]], [[-1.0], [-2.0]], [1, 2, 2, 2, 1])
        >>> proa.sparse.nn.functional.max_pool3d(x, 2).values().tolist()
        [[-1.0]]
    """
    op = "max_pool3d"
    x = _image(op, x, 3, data_format)
    kernel = positive(op, "kernel_size", kernel_size, 3)
    strides = kernel if stride is None else positive(op, "stride", stride, 3)
    pads = padding_pairs(op, padding, 3, x.shape[1:-1], kernel, strides, [1] * 3, True)
    if ceil_mode:
        pads = [_ceiled(*each) for each in zip(x.shape[1:-1], pads, kernel, strides, strict=True)]
    (indices, source, target, _), shape = _results(x, kernel, strides, pads, [1] * 3, False)
    values = _C.ops.graph_extreme(x._values, source, target, [indices.shape[1]], True)
    return SparseCooTensor(indices, values, [*shape, x.shape[-1]], True)
