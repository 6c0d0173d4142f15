"""Boxes that the first stage of a detector proposes, and the levels of a pyramid that they go to."""

from proa import _C
from proa.tensor.attribute import optional_tensor

__all__ = ["distribute_fpn_proposals", "generate_proposals"]


def generate_proposals(scores, bbox_deltas, img_size, anchors, variances, pre_nms_top_n=6000, post_nms_top_n=1000,
                       nms_thresh=0.5, min_size=0.1, eta=1.0, pixel_offset=False, return_rois_num=False,
                       name=None):  # fmt: skip
    """The best boxes of anchors moved by codes, cut to their image, that do not overlap each other too much.

    Args:
        scores (Tensor): [N, A, H, W], for each of A anchors of a cell; float32 or float64.
        bbox_deltas (Tensor): [N, 4 * A, H, W], codes as `box_coder` takes them.
        img_size (Tensor): [N, 2], height and width of the images.
        anchors (Tensor): [H, W, A, 4], x1, y1, x2, y2 in pixels.
        variances (Tensor): [H, W, A, 4], what codes are multiplied by.
        pre_nms_top_n (int): how many of an image are looked at, the best; 0 or less: all.
        post_nms_top_n (int): how many of an image stay at most; 0 or less: all.
        nms_thresh (float): two boxes that stay share no more than that of what both cover.
        min_size (float): boxes of a smaller side are left out; 1 at least.
        eta (float): below 1, a threshold above 0.5 is multiplied by it with each box that stays.
        pixel_offset (bool): corners are pixels: a side is x2 - x1 + 1.
        return_rois_num (bool): give how many boxes there are of each image.

    Returns:
        (Tensor, Tensor, Tensor|None): boxes [kept, 4], by image, best first; their scores [kept, 1]; int32 [N], how many of
        each image. An image without any gives one box of zeros.

    Raises:
        ValueError: shapes do not fit. TypeError: dtypes differ.

    Examples:
        >>> anchors = proa.to_tensor([0.0, 0, 4, 4]).reshape([1, 1, 1, 4])
        >>> rois, probs, count = proa.vision.ops.generate_proposals(
        ...     proa.ones([1, 1, 1, 1]), proa.zeros([1, 4, 1, 1]), proa.to_tensor([[8.0, 3.0]]), anchors,
        ...     proa.ones([1, 1, 1, 4]), return_rois_num=True)
        >>> rois.tolist(), probs.tolist(), count.tolist()
        ([[0.0, 0.0, 3.0, 4.0]], [[1.0]], [1])
    """
    given = {
        "scores": scores,
        "bbox_deltas": bbox_deltas,
        "img_size": img_size,
        "anchors": anchors,
        "variances": variances,
    }
    scores, deltas, size, anchors, variances = (
        _C.tensor_argument(value, "generate_proposals", what) for what, value in given.items()
    )
    size = size if size.dtype == scores.dtype else size.astype(scores.dtype)
    rois, probs, count = _C.ops.generate_proposals(scores, deltas, size, anchors, variances, None, pre_nms_top_n,
                                                   post_nms_top_n, nms_thresh, min_size, eta, pixel_offset)  # fmt: skip
    return rois, probs, count if return_rois_num else None


def distribute_fpn_proposals(fpn_rois, min_level, max_level, refer_level, refer_scale, pixel_offset=False, rois_num=None,
                             name=None):  # fmt: skip
    """Boxes by the level of a pyramid that they go to: floor(log2(sqrt(area) / refer_scale)) + refer_level.

    Args:
        fpn_rois (Tensor): [R, 4], x1, y1, x2, y2; float32 or float64.
        min_level, max_level (int): the levels there are.
        refer_level, refer_scale (int): the level of boxes with this side.
        pixel_offset (bool): corners are pixels: a side is x2 - x1 + 1.
        rois_num (Tensor, optional): int32 or int64 [images], how many of the boxes are of each image.

    Returns:
        (list[Tensor], Tensor, list[Tensor]|None): boxes of each level; int32 [R, 1], where among these, one level after
        another, each of fpn_rois is; with rois_num, int32 [images] for each level, how many of each image it has.

    Raises:
        ValueError: for other shapes, levels or scales; if rois_num does not sum to R.

    Examples:
        >>> boxes = proa.to_tensor([[0.0, 0, 60, 60], [0, 0, 10, 10]])
        >>> levels, restore, _ = proa.vision.ops.distribute_fpn_proposals(boxes, 2, 3, 3, 32)
        >>> [level.tolist() for level in levels], restore.tolist()
        ([[[0.0, 0.0, 10.0, 10.0]], [[0.0, 0.0, 60.0, 60.0]]], [[1], [0]])
    """
    rois = _C.tensor_argument(fpn_rois, "distribute_fpn_proposals", "fpn_rois")
    count = optional_tensor(rois_num, "distribute_fpn_proposals", "rois_num")
    args = (rois, count, min_level, max_level, refer_level, refer_scale, pixel_offset)
    restore, counts = _C.ops.fpn_levels(*args)
    return _C.ops.distribute_fpn_proposals(*args), restore, None if count is None else _C.ops.unbind(counts, 0)
