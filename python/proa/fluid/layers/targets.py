"""What detectors are trained towards: which anchors and proposals are taken, their classes and places, with the arguments of 1.8."""

import proa
from proa import _C
from proa.fluid.layers.images import shared_part
from proa.static.sequences import layout_of, note

__all__ = ["generate_proposal_labels", "retinanet_target_assign", "rpn_target_assign"]

_NEAR = 1e-5  # overlaps that differ by less are the same


def _numbers(like, axis):
    return proa.arange(0, _C.ops.shape(like)[axis].astype("int64"), 1, "int64")


def _overlaps(boxes, others):
    """What boxes [..., N, 4] and others [..., M, 4] share of what they cover, both ends of a side counted: [..., N, M]."""
    dims = len(boxes.shape) - 2
    a, b = _C.ops.unsqueeze(boxes, [dims + 1]), _C.ops.unsqueeze(others, [dims])
    return shared_part(a, b, 1.0)


def _codes(boxes, truths, weights=(1.0, 1.0, 1.0, 1.0)):
    """How far and how large truths [N, 4] are, measured by boxes [N, 4], both ends of a side counted; over `weights`."""
    ops = _C.ops
    sides, wanted = boxes[:, 2:] - boxes[:, :2] + 1.0, truths[:, 2:] - truths[:, :2] + 1.0
    between = (truths[:, :2] + 0.5 * wanted - boxes[:, :2] - 0.5 * sides) / sides
    codes = ops.concat([between, ops.log(wanted / sides)], 1)
    return codes / _C.to_tensor(list(weights), dtype="float32").astype(codes.dtype)


def _some(mask, most, use_random):
    """`most` (an int, or int64 [images, 1]) of what is true in each row of [images, N]: the first, or any."""
    ops = _C.ops
    keys = _numbers(mask, 1).astype("float32")
    keys = proa.rand(ops.shape(mask)) if use_random else ops.unsqueeze(keys, [0])
    place = ops.argsort(
        ops.argsort(ops.where(mask, keys, ops.full_like(mask, 0).astype("float32") + float("inf")), 1), 1
    )
    return ops.logical_and(mask, place < most)


def _how_many(mask):
    return _C.ops.sum(mask.astype("int64"), axis=[1], keepdim=True)


class _Truths:
    """The truths of each image, side by side: boxes [images, M, 4], which of them are there and which count."""

    def __init__(self, name, gt_boxes, is_crowd, scale=None):
        ops = _C.ops
        self.layout = layout_of(name, gt_boxes, name="gt_boxes")
        counts = ops.reshape(is_crowd, [-1, 1]).astype("int64") == 0
        self.counts = ops.squeeze(self.layout.padded(counts.astype("int64"), 0), [2]) > 0
        self.there = ops.squeeze(self.layout.padded(ops.full_like(counts, 1).astype("int64"), 0), [2]) > 0
        self.boxes = self.layout.padded(gt_boxes, 0.0)
        if scale is not None:
            self.boxes = self.boxes * ops.unsqueeze(scale, [2])

    def overlaps(self, boxes):
        """Of boxes [1 or images, N, 4] with each truth: [images, N, M]; -1 for what does not count."""
        found = _overlaps(boxes, self.boxes)
        return _C.ops.where(_C.ops.unsqueeze(self.counts, [1]), found, _C.ops.full_like(found, -1.0))

    def of(self, images, which, padded=None):
        """Values [K, ...] of the truths of these images and numbers."""
        padded = self.boxes if padded is None else padded
        return _C.ops.gather_nd(padded, _C.ops.stack([images, which], 1))


def _best_anchors(overlaps, may, inside, least):
    """Anchors that overlap a truth by `least`, or no less than any other anchor does: bool [images, N]."""
    ops = _C.ops
    highest = ops.max(overlaps, [1], True)
    is_best = ops.logical_and(may, ops.abs(overlaps - highest) < _NEAR).any(2)
    return ops.logical_or(is_best, ops.logical_and(inside, ops.max(overlaps, 2) >= least))


def _of_anchors(truths, overlaps, positive, negative, anchors, bbox_pred, cls_logits):
    """(scores, places, (images, anchors) of the scores, which of them are of positive ones, targets, weights)

    An anchor may be both, where no other one comes near a truth: it is negative then, and in its place among the positive ones
    stands the first of them, with a weight of 0.
    """
    ops = _C.ops
    fake = ops.logical_and(positive, negative)
    positive, first = ops.logical_and(positive, ops.logical_not(negative)), ops.argmax(positive.astype("int64"), 1)
    # Of each image the positive ones before the others.
    places = ops.nonzero(ops.stack([positive, negative], 1)).astype("int64")
    score_of, is_negative = ops.stack([places[:, 0], places[:, 2]], 1), places[:, 1]
    scores = ops.gather_nd(cls_logits, score_of)
    places = ops.nonzero(ops.stack([fake, positive], 1)).astype("int64")
    images, real = places[:, 0], places[:, 1]
    which = ops.where(real == 0, ops.gather(first, images, 0), places[:, 2])
    at = ops.stack([images, which], 1)
    predicted, nearest = ops.gather_nd(bbox_pred, at), ops.gather_nd(ops.argmax(overlaps, 2), at)
    target = _codes(ops.gather(anchors, which, 0), truths.of(images, nearest))
    weight = ops.unsqueeze(real, [1]).astype(target.dtype) + ops.full_like(target, 0.0)
    for result in (target, weight):
        result.stop_gradient = True
    return scores, predicted, score_of, is_negative == 0, target, weight


def rpn_target_assign(bbox_pred, cls_logits, anchor_box, anchor_var, gt_boxes, is_crowd, im_info,
                      rpn_batch_size_per_im=256, rpn_straddle_thresh=0.0, rpn_fg_fraction=0.5, rpn_positive_overlap=0.7,
                      rpn_negative_overlap=0.3, use_random=True):  # fmt: skip
    """Which anchors a network of proposals (Faster R-CNN) learns from, what it said of them, and what is right.

    An anchor is positive that overlaps a truth by `rpn_positive_overlap`, or no less than other anchors do, and negative that
    overlaps every truth by less than `rpn_negative_overlap`; one that is both is negative. Others are not taken.

    Args:
        bbox_pred (Tensor): codes of places, [images, anchors, 4].
        cls_logits (Tensor): scores, [images, anchors, 1].
        anchor_box (Tensor): [anchors, 4], in pixels of what the network sees. anchor_var (Tensor): not used.
        gt_boxes (Tensor): the truths, [rows, 4], a sequence for each image, in pixels of the image.
        is_crowd (Tensor): int32, [rows, 1]: 1 for a truth that does not count.
        im_info (Tensor): [images, 3]: height, width, and what sides were multiplied by.
        rpn_batch_size_per_im (int): how many anchors of an image are taken at most.
        rpn_straddle_thresh (float): by how many pixels an anchor may leave the image; below 0: by any.
        rpn_fg_fraction (float): how many of them may be positive.
        rpn_positive_overlap, rpn_negative_overlap (float): see above.
        use_random (bool): take any of them, else the first.

    Returns:
        tuple of Tensor: scores [P + Q, 1], places [R, 4], labels int32 [P + Q, 1], right codes [R, 4] and their weights [R, 4]:
        of P positive and Q negative anchors, image after image, of each the positive ones first. For each anchor that would be
        both, places begin with the first positive one of the image, with a weight of 0; other weights are 1.

    Raises:
        ValueError: nothing is known of the sequences of gt_boxes.
    """
    ops = _C.ops
    scale = im_info[:, 2:3]
    truths = _Truths("rpn_target_assign", gt_boxes, is_crowd, scale)
    anchors = ops.reshape(anchor_box, [-1, 4])
    overlaps = truths.overlaps(ops.unsqueeze(anchors, [0]))
    inside = overlaps[:, :, 0] > -2.0
    if rpn_straddle_thresh >= 0:
        beyond = float(rpn_straddle_thresh)
        low = ops.unsqueeze((anchors[:, :2] >= -beyond).all(1), [0])
        size = ops.concat([im_info[:, 1:2], im_info[:, 0:1]], 1) + beyond
        high = (ops.unsqueeze(anchors[:, 2:], [0]) < ops.unsqueeze(size, [1])).all(2)
        inside = ops.logical_and(low, high)
        overlaps = ops.where(ops.unsqueeze(inside, [2]), overlaps, ops.full_like(overlaps, -1.0))
    may = ops.logical_and(ops.unsqueeze(inside, [2]), ops.unsqueeze(truths.counts, [1]))
    positive = _best_anchors(overlaps, may, inside, rpn_positive_overlap)
    negative = ops.logical_and(inside, ops.max(overlaps, 2) < rpn_negative_overlap)
    if rpn_fg_fraction > 0 and rpn_batch_size_per_im > 0:  # else all
        positive = _some(positive, int(rpn_batch_size_per_im * rpn_fg_fraction), use_random)
        negative = _some(negative, int(rpn_batch_size_per_im) - _how_many(positive), use_random)
    scores, places, _, labels, target, weight = _of_anchors(
        truths, overlaps, positive, negative, anchors, bbox_pred, cls_logits
    )
    return scores, places, ops.unsqueeze(labels, [1]).astype("int32"), target, weight


def retinanet_target_assign(bbox_pred, cls_logits, anchor_box, anchor_var, gt_boxes, gt_labels, is_crowd, im_info,
                            num_classes=1, positive_overlap=0.5, negative_overlap=0.4):  # fmt: skip
    """Which anchors a RetinaNet learns from, what it said of them, and what is right: all that are positive or negative.

    Args:
        bbox_pred (Tensor): codes of places, [images, anchors, 4].
        cls_logits (Tensor): scores, [images, anchors, num_classes].
        anchor_box, anchor_var, gt_boxes, is_crowd, im_info: as of `rpn_target_assign`.
        gt_labels (Tensor): int32, [rows, 1]: classes of the truths, from 1 on.
        num_classes (int): how many there are.
        positive_overlap, negative_overlap (float): as `rpn_positive_overlap` and `rpn_negative_overlap` there.

    Returns:
        tuple of Tensor: scores [P + Q, num_classes], places [R, 4], labels int32 [P + Q, 1] (0: no truth), right codes [R, 4],
        their weights [R, 4] (as of `rpn_target_assign`), and int32 [images, 1]: one more than the image has places, for
        `sigmoid_focal_loss`.

    Raises:
        ValueError: cls_logits has other classes; nothing is known of the sequences of gt_boxes.
    """
    ops = _C.ops
    if type(cls_logits.shape[2]) is int and cls_logits.shape[2] != num_classes:
        raise _C.located(
            ValueError(f"retinanet_target_assign: cls_logits is of {cls_logits.shape[2]} classes, not of {num_classes}")
        )
    truths = _Truths("retinanet_target_assign", gt_boxes, is_crowd, im_info[:, 2:3])
    anchors = ops.reshape(anchor_box, [-1, 4])
    overlaps = truths.overlaps(ops.unsqueeze(anchors, [0]))
    may = overlaps > -0.5
    positive = _best_anchors(overlaps, may, overlaps[:, :, 0] > -2.0, positive_overlap)
    negative = ops.max(overlaps, 2) < negative_overlap
    count = (_how_many(positive) + 1).astype("int32")
    scores, places, score_of, is_positive, target, weight = _of_anchors(
        truths, overlaps, positive, negative, anchors, bbox_pred, cls_logits
    )
    nearest = ops.gather_nd(ops.argmax(overlaps, 2), score_of)
    classes = truths.of(score_of[:, 0], nearest, truths.layout.padded(ops.reshape(gt_labels, [-1]).astype("int32"), 0))
    labels = ops.where(is_positive, classes, ops.full_like(classes, 0))
    return scores, places, ops.unsqueeze(labels, [1]), target, weight, count


def _left_of_cascade(rois, stays):
    """Boxes [images, N, 4] and which of them go on to the next stage; of an image without any a box of zeros does."""
    ops = _C.ops
    stays = ops.logical_and(stays, (rois[:, :, 2:] - rois[:, :, :2] + 1.0 > 0.0).all(2))
    alone = ops.logical_and(ops.logical_not(stays.any(1, True)), ops.unsqueeze(_numbers(stays, 1), [0]) == 0)
    return ops.where(ops.unsqueeze(alone, [2]), ops.full_like(rois, 0.0), rois), ops.logical_or(stays, alone)


def generate_proposal_labels(rpn_rois, gt_classes, is_crowd, gt_boxes, im_info, batch_size_per_im=256, fg_fraction=0.25,
                             fg_thresh=0.25, bg_thresh_hi=0.5, bg_thresh_lo=0.0, bbox_reg_weights=(0.1, 0.1, 0.2, 0.2),
                             class_nums=None, use_random=True, is_cls_agnostic=False, is_cascade_rcnn=False,
                             max_overlap=None, return_max_overlap=False):  # fmt: skip
    """Which proposals the second half of a Faster R-CNN learns from, their classes and places.

    The truths are proposals too, unless they do not count. One that overlaps a truth by `fg_thresh` has its class, whether the truth
    counts or not; one whose best overlap lies from `bg_thresh_lo` to below `bg_thresh_hi` is background. An image without
    proposals gives none.

    Args:
        rpn_rois (Tensor): proposals, [rows, 4], a sequence for each image, in pixels of what the network sees.
        gt_classes (Tensor): int32, [rows, 1], with the sequences of gt_boxes.
        is_crowd (Tensor): int32, [rows, 1]: 1 for a truth that does not count.
        gt_boxes (Tensor): the truths, [rows, 4], a sequence for each image, in pixels of the image.
        im_info (Tensor): [images, 3]: height, width, and what sides were multiplied by.
        batch_size_per_im (int): how many of an image are taken at most. fg_fraction (float): how many of them may have a class.
        bbox_reg_weights (list): what the codes of places are divided by.
        class_nums (int): how many classes there are, background included.
        use_random (bool): take any of them, else the first.
        is_cls_agnostic (bool): one place for all classes; class_nums is 2 then.
        is_cascade_rcnn (bool): take all, whatever the two numbers say, but those whose `max_overlap` is 1: truths.
        max_overlap (Tensor, optional): [rows], the best overlaps that the stage before returned. return_max_overlap (bool): give the best overlap of each, too.

    Returns:
        tuple of Tensor: proposals [K, 4], labels int32 [K, 1], right codes [K, 4 * class_nums] (0 but for the class), their weights
        within and outside (1 for the class, else 0), and if asked for the overlaps [K]; a sequence for each image.

    Raises:
        ValueError: nothing is known of the sequences of rpn_rois or gt_boxes; class_nums is no positive number.
    """
    ops = _C.ops
    if type(class_nums) is not int or class_nums < 1:
        raise _C.located(ValueError(f"generate_proposal_labels: class_nums must be a positive int, not {class_nums!r}"))
    scale = ops.unsqueeze(im_info[:, 2:3], [2])
    truths = _Truths("generate_proposal_labels", gt_boxes, is_crowd)
    proposals = layout_of("generate_proposal_labels", rpn_rois, name="rpn_rois")
    is_roi = ops.squeeze(proposals.padded(ops.full_like(rpn_rois[:, :1], 1.0), 0.0), [2]) > 0.0
    rois = proposals.padded(rpn_rois, 0.0) / scale
    stays = is_roi
    if is_cascade_rcnn and max_overlap is not None:
        before = proposals.padded(ops.reshape(max_overlap, [-1]), 1.0)
        rois, stays = _left_of_cascade(rois, ops.logical_and(is_roi, before < 1.0))
    boxes = ops.concat([truths.boxes, rois], 1)
    there = ops.concat([truths.there, stays], 1)
    there = ops.logical_and(there, is_roi.any(1, True))
    overlaps = _overlaps(boxes, truths.boxes)
    overlaps = ops.where(ops.unsqueeze(truths.there, [1]), overlaps, ops.full_like(overlaps, -1.0))
    largest = ops.clip(ops.max(overlaps, 2), 0.0, None)  # of an image without truths: 0
    no_crowd = ops.concat([truths.counts, ops.full_like(is_roi, True)], 1)
    best = ops.where(no_crowd, largest, ops.full_like(largest, -1.0))
    positive = ops.logical_and(there, best >= fg_thresh)
    negative = ops.logical_and(there, ops.logical_and(best < bg_thresh_hi, best >= bg_thresh_lo))
    negative = ops.logical_and(negative, ops.logical_not(positive))
    if not is_cascade_rcnn:
        positive = _some(positive, int(batch_size_per_im * fg_fraction), use_random)
        negative = _some(negative, int(batch_size_per_im) - _how_many(positive), use_random)
    places = ops.nonzero(ops.stack([positive, negative], 1)).astype("int64")
    images, is_negative, which = (places[:, i] for i in range(3))
    at = ops.stack([images, which], 1)
    rois, nearest = ops.gather_nd(boxes, at), ops.gather_nd(ops.argmax(overlaps, 2), at)
    classes = truths.of(images, nearest, truths.layout.padded(ops.reshape(gt_classes, [-1]).astype("int32"), 0))
    labels = ops.where(is_negative == 0, classes, ops.full_like(classes, 0))
    codes = _codes(rois, truths.of(images, nearest), bbox_reg_weights)
    slot = ops.clip(labels, 0, 1) if is_cls_agnostic else labels
    numbers = proa.arange(0, class_nums, 1, "int32")
    mine = ops.logical_and(ops.unsqueeze(slot, [1]) == numbers, ops.unsqueeze(labels > 0, [1]))
    weight = ops.unsqueeze(mine, [2]).astype(codes.dtype) + ops.full_like(ops.unsqueeze(codes, [1]), 0.0)
    target = ops.where(weight > 0.0, ops.unsqueeze(codes, [1]), ops.full_like(weight, 0.0))
    rois = rois * ops.gather(ops.squeeze(scale, [2]), images, 0)
    width = 4 * class_nums
    results = [rois, ops.unsqueeze(labels, [1]), ops.reshape(target, [-1, width])]
    results += [ops.reshape(weight, [-1, width])] * 2
    if return_max_overlap:
        results.append(ops.gather_nd(largest, at))
    lengths = ops.squeeze(_how_many(positive) + _how_many(negative), [1])
    for result in results:
        result.stop_gradient = True
        note(result, [lengths])
    return tuple(results)
