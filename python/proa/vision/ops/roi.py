"""Pools of regions of images."""

from proa import _C
from proa.nn.functional.shapes import positive
from proa.nn.layer.layers import Layer

__all__ = ["PSRoIPool", "RoIAlign", "RoIPool", "psroi_pool", "roi_align", "roi_pool"]


def _arguments(what, x, boxes, boxes_num, output_size):
    x, boxes, boxes_num = (
        _C.tensor_argument(value, what, name) for name, value in (("x", x), ("boxes", boxes), ("boxes_num", boxes_num))
    )
    return (x, boxes, boxes_num, *positive(what, "output_size", output_size, 2))


def roi_align(x, boxes, boxes_num, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=True, name=None):
    """The means of points in each part of each region of images.

    Args:
        x (Tensor): [N, C, H, W], float32 or float64.
        boxes (Tensor): [regions, 4], x1, y1, x2, y2 in pixels over spatial_scale.
        boxes_num (Tensor): int32 [N], how many boxes each image has.
        output_size (int|tuple[int]): parts down and across.
        spatial_scale (float): pixels of x to a unit of the boxes.
        sampling_ratio (int): points down and across in a part, or as many as it has pixels (-1).
        aligned (bool): pixels are where their middle is.
        name (str, optional): not used.

    Returns:
        Tensor: [regions, C, *output_size].

    Raises:
        ValueError: shapes, counts or boxes that do not belong together.

    Examples:
        >>> x, boxes = proa.arange(16.0).reshape([1, 1, 4, 4]), proa.to_tensor([[0.0, 0.0, 2.0, 2.0]])
        >>> proa.vision.ops.roi_align(x, boxes, proa.to_tensor([1], "int32"), 2).tolist()
        [[[[0.0, 1.0], [4.0, 5.0]]]]
    """
    arguments = _arguments("roi_align", x, boxes, boxes_num, output_size)
    return _C.ops.roi_align(*arguments, spatial_scale, sampling_ratio, aligned)


def roi_pool(x, boxes, boxes_num, output_size, spatial_scale=1.0, name=None):
    """The largest pixels of each part of each region of images; zero for parts without pixels.

    Args, returns, raises: those of roi_align. Corners are rounded to pixels, and the last ones belong to the regions.

    Examples:
        >>> x, boxes = proa.arange(16.0).reshape([1, 1, 4, 4]), proa.to_tensor([[0.0, 0.0, 3.0, 3.0]])
        >>> proa.vision.ops.roi_pool(x, boxes, proa.to_tensor([1], "int32"), 2).tolist()
        [[[[5.0, 7.0], [13.0, 15.0]]]]
    """
    return _C.ops.roi_pool(*_arguments("roi_pool", x, boxes, boxes_num, output_size), spatial_scale)[0]


def psroi_pool(x, boxes, boxes_num, output_size, spatial_scale=1.0, name=None):
    """The means of each part of each region, each part from channels of its own.

    Args, raises: those of roi_align; x is [N, C * output_size[0] * output_size[1], H, W].

    Returns:
        Tensor: [regions, C, *output_size].

    Examples:
        >>> x = proa.arange(4.0).reshape([1, 4, 1, 1]).expand([1, 4, 3, 3])
        >>> boxes = proa.to_tensor([[0.0, 0.0, 2.0, 2.0]])
        >>> proa.vision.ops.psroi_pool(x, boxes, proa.to_tensor([1], "int32"), 2).tolist()
        [[[[0.0, 1.0], [2.0, 3.0]]]]
    """
    x, boxes, boxes_num, height, width = _arguments("psroi_pool", x, boxes, boxes_num, output_size)
    channels = x.shape[1] if len(x.shape) == 4 else 0
    if type(channels) is int and (channels < 1 or channels % (height * width)):
        raise _C.located(
            ValueError(f"psroi_pool: x must be [N, C * {height} * {width}, H, W]; it is {list(x.shape)} {x.dtype.name}")
        )
    return _C.ops.psroi_pool(x, boxes, boxes_num, height, width, channels // (height * width), spatial_scale)


class _Pool(Layer):
    """A layer of a function of x, boxes and boxes_num."""

    def __init__(self, output_size, spatial_scale=1.0):
        super().__init__()
        self._output_size, self._spatial_scale = output_size, spatial_scale

    def extra_repr(self):
        return f"output_size={self._output_size}, spatial_scale={self._spatial_scale}"


class RoIAlign(_Pool):
    """roi_align as a layer; its input is (x, boxes, boxes_num, aligned=True).

    Examples:
        >>> x, boxes = proa.ones([1, 3, 4, 4]), proa.to_tensor([[0.0, 0.0, 2.0, 2.0]])
        >>> proa.vision.ops.RoIAlign(2)(x, boxes, proa.to_tensor([1], "int32")).shape
        [1, 3, 2, 2]
    """

    def forward(self, x, boxes, boxes_num, aligned=True):
        return roi_align(x, boxes, boxes_num, self._output_size, self._spatial_scale, aligned=aligned)


class RoIPool(_Pool):
    """roi_pool as a layer; its input is (x, boxes, boxes_num).

    Examples:
        >>> x, boxes = proa.ones([1, 3, 4, 4]), proa.to_tensor([[0.0, 0.0, 2.0, 2.0]])
        >>> proa.vision.ops.RoIPool(2)(x, boxes, proa.to_tensor([1], "int32")).shape
        [1, 3, 2, 2]
    """

    def forward(self, x, boxes, boxes_num):
        return roi_pool(x, boxes, boxes_num, self._output_size, self._spatial_scale)


class PSRoIPool(_Pool):
    """psroi_pool as a layer; its input is (x, boxes, boxes_num).

    Examples:
        >>> x, boxes = proa.ones([1, 8, 4, 4]), proa.to_tensor([[0.0, 0.0, 2.0, 2.0]])
        >>> proa.vision.ops.PSRoIPool(2)(x, boxes, proa.to_tensor([1], "int32")).shape
        [1, 2, 2, 2]
    """

    def forward(self, x, boxes, boxes_num):
        return psroi_pool(x, boxes, boxes_num, self._output_size, self._spatial_scale)
