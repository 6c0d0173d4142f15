"""Anchors, proposals and boxes of pyramids, with the arguments of 1.8: names over `vision.ops`, with sequences for images."""

import proa
from proa import _C
from proa.static.sequences import layout_of, levels_of, note
from proa.vision import ops as vision

__all__ = ["anchor_generator", "collect_fpn_proposals", "distribute_fpn_proposals", "generate_proposals",
           "retinanet_detection_output"]  # fmt: skip


def anchor_generator(input, anchor_sizes=None, aspect_ratios=None, variance=(0.1, 0.1, 0.2, 0.2), stride=None,
                     offset=0.5, name=None):  # fmt: skip
    """Boxes around each cell of a map, one for each ratio and size, and their variances: [H, W, boxes of a cell, 4] each.

    Args:
        input (Tensor): [images, channels, H, W].
        anchor_sizes (list): sides in pixels. aspect_ratios (list): heights by widths. A number stands for a list of one.
        variance (list): four numbers. stride (list): width and height of a cell, in pixels.
        offset (float): where in a cell the middle of its boxes is.

    Raises:
        ValueError: sizes, ratios, variances or strides that are none; stride is missing.
    """
    sizes, ratios = (list(v) if isinstance(v, (list, tuple)) else [v] for v in (anchor_sizes, aspect_ratios))
    if stride is None or None in sizes or None in ratios:
        missing = "stride" if stride is None else "anchor_sizes" if None in sizes else "aspect_ratios"
        raise _C.located(ValueError(f"anchor_generator: {missing} is missing"))
    return _C.ops.anchor_generator(input, sizes, ratios, list(stride), list(variance), offset)


def generate_proposals(scores, bbox_deltas, im_info, anchors, variances, pre_nms_top_n=6000, post_nms_top_n=1000,
                       nms_thresh=0.5, min_size=0.1, eta=1.0, return_rois_num=False, name=None):  # fmt: skip
    """The best boxes of each image by scores of anchors, those that overlap better ones left out.

    Args:
        scores (Tensor): [images, A, H, W]. bbox_deltas (Tensor): codes of places, [images, 4 A, H, W].
        im_info (Tensor): [images, 3]: height, width, and what sides were multiplied by.
        anchors, variances (Tensor): [H, W, A, 4].
        pre_nms_top_n, post_nms_top_n (int): how many of an image are looked at, and stay.
        nms_thresh, min_size, eta (float): as of `vision.ops.generate_proposals`; ends of sides are counted.
        return_rois_num (bool): give how many there are of each image.

    Returns:
        tuple of Tensor: boxes [rows, 4] and scores [rows, 1], a sequence for each image, and if asked for int32 [images].
    """
    scale = _C.ops.reshape(im_info[:, 2:3], [-1])
    rois, probs, count = _C.ops.generate_proposals(scores, bbox_deltas, im_info[:, :2], anchors, variances, scale,
                                                   pre_nms_top_n, post_nms_top_n, nms_thresh, min_size, eta, True)  # fmt: skip
    for rows in (rois, probs):
        note(rows, [count.astype("int64")])
    return (rois, probs, count) if return_rois_num else (rois, probs)


def distribute_fpn_proposals(fpn_rois, min_level, max_level, refer_level, refer_scale, rois_num=None, name=None):
    """Boxes [rows, 4] by the level of a pyramid that they go to; see `vision.ops.distribute_fpn_proposals`.

    Args:
        rois_num (Tensor, optional): int32 [images]: how many boxes are of each; else the sequences of fpn_rois say it.

    Returns:
        (list of Tensor, Tensor): the boxes of each level, a sequence for each image, and int32 [rows, 1], where each one went; with
        rois_num a list of int32 [images] besides.
    """
    known = levels_of(fpn_rois) if rois_num is None else [rois_num]
    count = known[-1].astype("int32") if known else None
    levels, restore, counts = vision.distribute_fpn_proposals(
        fpn_rois, min_level, max_level, refer_level, refer_scale, True, count
    )
    for level, n in zip(levels, counts or (), strict=False):
        note(level, [n.astype("int64")])
    return (levels, restore, counts) if rois_num is not None else (levels, restore)


def collect_fpn_proposals(multi_rois, multi_scores, min_level, max_level, post_nms_top_n, rois_num_per_level=None,
                          name=None):  # fmt: skip
    """The best boxes of all levels of a pyramid, image after image.

    Args:
        multi_rois, multi_scores (list of Tensor): boxes [rows, 4] and scores [rows, 1] of each level, a sequence for each image.
        min_level, max_level (int): the lowest and the highest level.
        post_nms_top_n (int): how many stay of all images.
        rois_num_per_level (list of Tensor, optional): int32 [images] for each level, if nothing is known of sequences.

    Returns:
        Tensor: [rows, 4], a sequence for each image; with rois_num_per_level int32 [images] besides.

    Raises:
        ValueError: not as many lists as levels; nothing is known of sequences.
    """
    ops, levels = _C.ops, max_level - min_level + 1
    for what, values in (("multi_rois", multi_rois), ("multi_scores", multi_scores)):
        if len(values) != levels:
            raise _C.located(
                ValueError(
                    f"collect_fpn_proposals: {what} must be {levels} tensors, one for each level, not {len(values)}"
                )
            )
    given = rois_num_per_level or [None] * levels
    layouts = [
        layout_of("collect_fpn_proposals", r, n, name="multi_rois") for r, n in zip(multi_rois, given, strict=True)
    ]
    rois, scores = ops.concat(list(multi_rois), 0), ops.reshape(ops.concat(list(multi_scores), 0), [-1])
    images = ops.concat([layout.sequence for layout in layouts], 0).astype("int64")
    best = ops.argsort(scores, 0, True)[: int(post_nms_top_n)]
    mine = ops.gather(images, best, 0)
    order = ops.gather(best, ops.argsort(mine, 0, False), 0)
    numbers = proa.arange(0, ops.shape(layouts[0].lengths)[0].astype("int64"), 1, "int64")
    counts = ops.sum((ops.unsqueeze(mine, [1]) == numbers).astype("int64"), axis=[0])
    result = ops.gather(rois, order, 0)
    note(result, [counts])
    return (result, counts.astype("int32")) if rois_num_per_level else result


def _decoded(codes, anchors):
    """Boxes [images, N, 4] that are so far and so large, measured by anchors [N, 4]; ends of sides are counted."""
    ops = _C.ops
    sides = anchors[:, 2:] - anchors[:, :2] + 1.0
    middle = codes[..., :2] * sides + anchors[:, :2] + 0.5 * sides
    half = 0.5 * ops.exp(codes[..., 2:]) * sides
    return ops.concat([middle - half, middle + half - 1.0], 2)


def retinanet_detection_output(bboxes, scores, anchors, im_info, score_threshold=0.05, nms_top_k=1000, keep_top_k=100,
                               nms_threshold=0.3, nms_eta=1.0):  # fmt: skip
    """The boxes that a RetinaNet found: of each level the best, decoded, and of those of a class that overlap the best.

    Args:
        bboxes, scores (list of Tensor): codes of places [images, N, 4] and scores [images, N, classes] of each level.
        anchors (list of Tensor): [N, 4] of each level.
        im_info (Tensor): [images, 3]: height, width, and what sides were multiplied by.
        score_threshold (float): lower scores are not looked at, but for the last level.
        nms_top_k, keep_top_k, nms_threshold, nms_eta: how many of a level are looked at, and as of `multiclass_nms`.

    Returns:
        Tensor: [count, 6]: class (from 1 on), score, box in pixels of the image; a sequence for each image.

    Raises:
        ValueError: the lists are not of one length.
    """
    ops = _C.ops
    if not len(bboxes) == len(scores) == len(anchors) > 0:
        counts = f"{len(bboxes)}, {len(scores)} and {len(anchors)}"
        raise _C.located(
            ValueError(
                f"retinanet_detection_output: bboxes, scores and anchors must be of as many levels, not {counts}"
            )
        )
    kept, boxes = [], []
    for level, (codes, score, around) in enumerate(zip(bboxes, scores, anchors, strict=True)):
        least = 0.0 if level == len(bboxes) - 1 else float(score_threshold)
        looked_at = score > least
        if nms_top_k > -1:
            flat = ops.flatten(ops.where(looked_at, score, ops.full_like(score, -1.0)), 1, 2)
            place = ops.argsort(ops.argsort(flat, 1, True), 1)
            looked_at = ops.logical_and(looked_at, ops.reshape(place, ops.shape(score)) < int(nms_top_k))
        kept.append(ops.where(looked_at, score, ops.full_like(score, -1.0)))
        boxes.append(_decoded(codes, ops.reshape(around, [-1, 4])))
    scale = ops.unsqueeze(im_info[:, 2:3], [2])
    sides = ops.unsqueeze(ops.round(im_info[:, :2] / im_info[:, 2:3]) - 1.0, [1])
    sides = ops.concat([sides[..., 1:], sides[..., :1]] * 2, 2)
    places = ops.maximum(ops.minimum(ops.concat(boxes, 1) / scale, sides), ops.full_like(sides, 0.0))
    rows, _, counts = ops.multiclass_nms(places, ops.transpose(ops.concat(kept, 1), [0, 2, 1]), None, 0.0, -1,
                                         keep_top_k, nms_threshold, False, nms_eta, -1, False)  # fmt: skip
    found = ops.concat([rows[:, :1] + 1.0, rows[:, 1:]], 1)
    note(found, [counts.astype("int64")])
    return found
