"""Parts of images around regions, and text that is found, with the arguments of 1.8."""

from proa import _C
from proa.framework.names import missing as _missing
from proa.jit.reference.call import reference_op
from proa.static.sequences import note

__all__ = ["deformable_roi_pooling", "locality_aware_nms", "prroi_pool", "roi_perspective_transform"]

__getattr__ = _missing(__name__)


def prroi_pool(input, rois, spatial_scale=1.0, pooled_height=1, pooled_width=1, batch_roi_nums=None, name=None):
    """The mean of each part of regions, of what lies between the pixels; gradients flow to the images and to the corners.

    Args:
        input (Tensor): images [N, C, H, W].
        rois (Tensor): [regions, 4]: x1, y1, x2, y2; a sequence for each image, or see batch_roi_nums.
        spatial_scale (float): corners are multiplied by it.
        pooled_height, pooled_width (int): how many parts there are.
        batch_roi_nums (Tensor, optional): int64 [N]: how many regions each image has.

    Returns:
        Tensor: [regions, C, pooled_height, pooled_width].

    Raises:
        ValueError: nothing says which image a region is of, or there are others.

    Examples:
        >>> x = proa.reshape(proa.arange(16, dtype="float32"), [1, 1, 4, 4])
        >>> proa.fluid.layers.prroi_pool(x, proa.to_tensor([[0.0, 0.0, 2.0, 2.0]])).tolist()
        [[[[5.0]]]]
    """
    attributes = {"spatial_scale": float(spatial_scale), "pooled_height": pooled_height, "pooled_width": pooled_width}
    inputs = {"X": input, "ROIs": rois, "BatchRoINums": batch_roi_nums}
    return reference_op("prroi_pool", inputs, {"Out": ("float32", 0)}, attributes)[0]


def roi_perspective_transform(input, rois, transformed_height, transformed_width, spatial_scale=1.0, name=None):
    """Quadrangles of images as upright pictures.

    Args:
        input (Tensor): images [N, C, H, W].
        rois (Tensor): [regions, 8]: four corners x, y from the upper left one round; a sequence for each image.
        transformed_height, transformed_width (int): the sizes of the pictures.
        spatial_scale (float): corners are multiplied by it.

    Returns:
        tuple: the pictures [regions, C, transformed_height, transformed_width]; int32 [regions, 1, ...], whether a pixel
        is in the quadrangle and the image; [regions, 9], the projections from pictures to the image.

    Raises:
        ValueError: nothing says which image a region is of, or there are others.

    Examples:
        >>> corners = proa.to_tensor([[0.0, 0.0, 2.0, 0.0, 2.0, 2.0, 0.0, 2.0]])
        >>> picture, mask, matrix = proa.fluid.layers.roi_perspective_transform(proa.ones([1, 2, 4, 4]), corners, 3, 3)
        >>> picture.shape, mask.shape, matrix.shape
        ([1, 2, 3, 3], [1, 1, 3, 3], [1, 9])
    """
    attributes = {"transformed_height": transformed_height, "transformed_width": transformed_width,
                  "spatial_scale": float(spatial_scale)}  # fmt: skip
    outputs = {"Out": ("float32", 0), "Mask": ("int32", 0), "TransformMatrix": ("float32", 0)}
    return tuple(reference_op("roi_perspective_transform", {"X": input, "ROIs": rois}, outputs, attributes))


def deformable_roi_pooling(input, rois, trans, no_trans=False, spatial_scale=1.0, group_size=(1, 1), pooled_height=1,
                           pooled_width=1, part_size=None, sample_per_part=1, trans_std=0.1, position_sensitive=False,
                           name=None):  # fmt: skip
    """The mean of some samples of each part of regions, each part moved by what a network found.

    Args:
        input (Tensor): images [N, C, H, W].
        rois (Tensor): [regions, 4]; a sequence for each image.
        trans (Tensor): [regions, 2 * kinds, parts, parts]: how far parts are moved, x and y, as parts of the region's sides.
        no_trans (bool): nothing is moved.
        spatial_scale (float): corners are multiplied by it.
        group_size (list): how many groups of channels there are, down and across.
        pooled_height, pooled_width (int): how many parts there are.
        part_size (list, optional): how many of them trans has; pooled_height and pooled_width if None.
        sample_per_part (int): samples along each side of a part.
        trans_std (float): trans is multiplied by it.
        position_sensitive (bool): each part has channels of its own.

    Returns:
        Tensor: [regions, channels, pooled_height, pooled_width].

    Raises:
        ValueError: nothing says which image a region is of, or there are others.

    Examples:
        >>> regions, moves = proa.to_tensor([[0.0, 0.0, 3.0, 3.0]]), proa.zeros([1, 2, 2, 2])
        >>> proa.fluid.layers.deformable_roi_pooling(proa.ones([1, 3, 8, 8]), regions, moves, pooled_height=2, pooled_width=2).shape
        [1, 3, 2, 2]
    """
    channels = input.shape[1]
    if position_sensitive:
        channels = channels // (pooled_height * pooled_width)
    parts = [pooled_height, pooled_width] if part_size is None else part_size
    attributes = {"no_trans": bool(no_trans), "spatial_scale": float(spatial_scale), "output_dim": channels,
                  "group_size": list(group_size), "pooled_height": pooled_height, "pooled_width": pooled_width,
                  "part_size": parts if isinstance(parts, list) else list(parts) if isinstance(parts, tuple) else [parts] * 2,
                  "sample_per_part": sample_per_part, "trans_std": float(trans_std)}  # fmt: skip
    inputs = {"Input": input, "ROIs": rois, "Trans": trans}
    return reference_op("deformable_psroi_pooling", inputs, {"Output": ("float32", 0)}, attributes)[0]


def locality_aware_nms(bboxes, scores, score_threshold, nms_top_k, keep_top_k, nms_threshold=0.3, normalized=True,
                       nms_eta=1.0, background_label=-1, name=None):  # fmt: skip
    """Boxes or polygons of text: neighbours in the list that overlap become one, and of those the best stay.

    Args:
        bboxes (Tensor): [images, boxes, 4], x1, y1, x2, y2; or [images, boxes, 8], 16, 24 or 32: corners x, y.
        scores (Tensor): [images, classes, boxes].
        score_threshold (float): sums of scores that are no more are left out.
        nms_top_k, keep_top_k (int): how many of a class are looked at, and how many of an image stay; -1: all.
        nms_threshold (float): what overlaps more is one, or goes.
        normalized (bool): coordinates are parts of the image, not pixels.
        nms_eta (float): below 1, a threshold above 0.5 is multiplied by it with each box that stays.
        background_label (int): the class that is left out; -1: none.

    Returns:
        Tensor: [kept, 2 + size]: class, score, corners; a sequence for each image.

    Raises:
        ValueError: shapes do not fit. TypeError: not of floating point.

    Examples:
        >>> boxes = proa.to_tensor([[[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 4.0], [5.0, 5.0, 6.0, 6.0]]])
        >>> proa.fluid.layers.locality_aware_nms(boxes, proa.to_tensor([[[0.5, 0.5, 0.25]]]), 0.1, -1, -1).tolist()
        [[0.0, 1.0, 0.0, 0.0, 2.0, 3.0], [0.0, 0.25, 5.0, 5.0, 6.0, 6.0]]
    """
    rows, counts = _C.ops.locality_aware_nms(bboxes, scores, score_threshold, nms_top_k, keep_top_k, nms_threshold,
                                             normalized, nms_eta, background_label)  # fmt: skip
    if _C.is_symbolic(rows):
        note(rows, [counts.astype("int64")])
    return rows
