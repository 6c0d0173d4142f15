"""Images and regions of them, with the old arguments."""

import proa
from proa import _C
from proa.fluid.layers.nn import image_resize
from proa.nn import functional as F
from proa.static.nn.deform import deform_conv2d
from proa.static.sequences import levels_of
from proa.vision import ops as vision

__all__ = [
    "box_clip", "deformable_conv", "grid_sampler", "image_resize_short", "iou_similarity", "psroi_pool", "random_crop",
    "resize_linear", "roi_align", "roi_pool",
]  # fmt: skip


def resize_linear(input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True, align_mode=1,
                  data_format="NCW"):  # fmt: skip
    """A row of pixels at another size."""
    return image_resize(input, out_shape, scale, name, "LINEAR", actual_shape, align_corners, align_mode, data_format)


def image_resize_short(input, out_short_len, resample="BILINEAR"):
    """Images [N, C, H, W] of another size, whose shorter side is `out_short_len`; their form stays."""
    if len(input.shape) != 4:
        raise _C.located(ValueError(f"image_resize_short: input must be [N, C, H, W]; it is {list(input.shape)}"))
    height, width = input.shape[2:]
    short = min(height, width)
    size = [int(side * (out_short_len / short) + 0.5) for side in (height, width)]
    return image_resize(input, size, resample=resample)


def grid_sampler(x, grid, name=None):
    """Pixels of x at the places of a grid: `nn.functional.grid_sample`."""
    return F.grid_sample(x, grid)


def random_crop(x, shape, seed=None):
    """A part of this shape of the last dims of each sample, from a place that is drawn.

    Args:
        x (Tensor): [N, ...].
        shape (list[int]): of the part.
        seed (int, optional): accepted; numbers are drawn from the generator of the place.
    """
    first = len(x.shape) - len(shape)
    if first < 1 or any(type(n) is int and n < m for n, m in zip(x.shape[first:], shape, strict=True)):
        raise _C.located(ValueError(f"random_crop: shape {list(shape)} is no part of samples of x, {list(x.shape)}"))
    if first > 1:
        rest = list(x.shape[first:])
        return _C.ops.reshape(random_crop(_C.ops.reshape(x, [-1, *rest]), shape), [*x.shape[:first], *shape])
    samples = _C.ops.cumsum(_C.ops.full_like(_C.ops.max(_C.ops.flatten(x, 1, -1), 1), 1).astype("int64"), 0) - 1
    places = [_C.ops.reshape(samples, [-1, *[1] * len(shape)])]
    for axis, size in enumerate(shape):
        room = float(x.shape[axis + 1] - size + 1)
        begin = _C.ops.floor(proa.rand([1]) * room).astype("int64") if room > 1 else _C.ops.full([1], 0, _C.int64)
        index = begin + proa.arange(0, size, 1, "int64")
        places.append(_C.ops.reshape(index, [1, *[size if i == axis else 1 for i in range(len(shape))]]))
    whole = sum(place * 0 for place in places)
    return _C.ops.gather_nd(x, _C.ops.stack([place + whole for place in places], len(shape) + 1))


def deformable_conv(input, offset, mask, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None,
                    deformable_groups=None, im2col_step=None, param_attr=None, bias_attr=None, modulated=True,
                    name=None):  # fmt: skip
    """`static.nn.deform_conv2d`; without its mask where `modulated` is False."""
    return deform_conv2d(
        input, offset, mask if modulated else None, num_filters, filter_size, stride, padding, dilation, groups or 1,
        deformable_groups or 1, im2col_step or 1, param_attr, bias_attr, name,
    )  # fmt: skip


def _counts(op, rois, rois_num):
    """How many regions each image has."""
    if rois_num is not None:
        return rois_num
    levels = levels_of(rois)
    if not levels:
        raise _C.located(
            ValueError(f"{op}: give rois_num, or rois that hold sequences (lod_level=1): one for each image")
        )
    return levels[-1].astype("int32")


def roi_align(
    input, rois, pooled_height=1, pooled_width=1, spatial_scale=1.0, sampling_ratio=-1, rois_num=None, name=None
):
    """`vision.ops.roi_align` of regions [rows, 4], whose sequences are those of the images."""
    size = (pooled_height, pooled_width)
    return vision.roi_align(
        input, rois, _counts("roi_align", rois, rois_num), size, spatial_scale, sampling_ratio, aligned=False
    )


def roi_pool(input, rois, pooled_height=1, pooled_width=1, spatial_scale=1.0, rois_num=None, name=None):
    """`vision.ops.roi_pool` of regions [rows, 4], whose sequences are those of the images."""
    return vision.roi_pool(
        input, rois, _counts("roi_pool", rois, rois_num), (pooled_height, pooled_width), spatial_scale
    )


def psroi_pool(input, rois, output_channels, spatial_scale, pooled_height, pooled_width, name=None):
    """`vision.ops.psroi_pool` of regions [rows, 4], whose sequences are those of the images."""
    size = (pooled_height, pooled_width)
    result = vision.psroi_pool(input, rois, _counts("psroi_pool", rois, None), size, spatial_scale)
    if type(result.shape[1]) is int and result.shape[1] != output_channels:
        raise _C.located(
            ValueError(f"psroi_pool: input has channels for {result.shape[1]} output_channels, not {output_channels}")
        )
    return result


def _sides(boxes, extra):
    return boxes[..., 2:] - boxes[..., :2] + extra


def iou_similarity(x, y, box_normalized=True, name=None):
    """What each box of x [N, 4] and of y [M, 4] share of what they cover: [N, M].

    Args:
        box_normalized (bool): False counts both ends of a side, as of pixels.
    """
    return shared_part(_C.ops.unsqueeze(x, [1]), _C.ops.unsqueeze(y, [0]), 0.0 if box_normalized else 1.0)


def shared_part(a, b, extra):
    """Of boxes [..., 4] that go together: what they share over what they cover; `extra` is added to sides."""
    between = _C.ops.minimum(a[..., 2:], b[..., 2:]) - _C.ops.maximum(a[..., :2], b[..., :2]) + extra
    shared = _C.ops.prod(_C.ops.clip(between, 0.0, None), [-1])
    covered = _C.ops.prod(_sides(a, extra), [-1]) + _C.ops.prod(_sides(b, extra), [-1]) - shared
    return _C.ops.where(covered > 0.0, shared / covered, _C.ops.full_like(covered, 0.0))


def box_clip(input, im_info, name=None):
    """Boxes [rows, 4] of images, one sequence each, or [images, rows, 4], within their images.

    Args:
        im_info (Tensor): [images, 3]: height, width and scale of each.
    """
    sides = _C.ops.round(im_info[:, :2] / im_info[:, 2:]) - 1.0
    if levels := levels_of(input):
        from proa.static.sequences import Layout

        sides = Layout(levels[-1]).of_sequence(sides)
    elif len(input.shape) == 3:
        sides = _C.ops.unsqueeze(sides, [1])
    limits = _C.ops.concat([sides[..., 1:], sides[..., :1]] * 2, len(sides.shape) - 1)
    return _C.ops.minimum(_C.ops.clip(input, 0.0, None), limits)
