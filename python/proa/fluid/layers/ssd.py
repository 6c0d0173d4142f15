"""Training and reading of detectors with prior boxes (SSD, Liu et al., 2016), with the arguments of 1.8."""

import proa
from proa import _C
from proa.fluid.layers.detection import box_coder, multiclass_nms
from proa.fluid.layers.images import iou_similarity
from proa.nn import functional as F
from proa.static.sequences import layout_of

__all__ = ["bipartite_match", "detection_output", "ssd_loss", "target_assign"]

_LEAST = 1e-6  # below it nothing is a match


def bipartite_match(dist_matrix, match_type=None, dist_threshold=None, name=None):
    """Which row each column is matched with: the nearest pair first, each row and column once.

    Args:
        dist_matrix (Tensor): how near a row is to a column, such as `iou_similarity(truths, priors)`: [rows, columns], with a
            sequence for each image.
        match_type (str, optional): "bipartite", or "per_prediction": then columns that are left get their nearest row, if that
            is near enough.
        dist_threshold (float, optional): how near that is; 0.5.

    Returns:
        (Tensor, Tensor): int32 [images, columns], the number of the row in its image, -1 for none; and how near it is.

    Raises:
        ValueError: another match_type, or nothing is known of sequences.
    """
    return _match(layout_of("bipartite_match", dist_matrix).padded(dist_matrix, -1.0), match_type, dist_threshold)


def _match(distances, match_type, threshold):
    """`bipartite_match` of [images, rows, columns]; rows that are none are negative."""
    if match_type not in (None, "bipartite", "per_prediction"):
        raise _C.located(
            ValueError(f"bipartite_match: match_type must be 'bipartite' or 'per_prediction', not {match_type!r}")
        )
    ops = _C.ops
    numbers = [proa.arange(0, ops.shape(distances)[axis].astype("int64"), 1, "int64") for axis in (1, 2)]
    columns = ops.shape(distances)[2].astype("int64")
    none = ops.full_like(ops.max(distances, 1), -1).astype("int64")

    def turn(t, left, match, near):
        flat = ops.flatten(left, 1, 2)
        best, place = ops.max(flat, 1), ops.argmax(flat, 1)
        found = ops.unsqueeze(best > _LEAST, [1])
        row, column = (ops.unsqueeze(v, [1]) for v in (place // columns, place % columns))
        in_row = ops.logical_and(numbers[0] == row, found)
        in_column = ops.logical_and(numbers[1] == column, found)
        match, near = ops.where(in_column, row, match), ops.where(in_column, ops.unsqueeze(best, [1]), near)
        taken = ops.logical_or(ops.unsqueeze(in_row, [2]), ops.unsqueeze(in_column, [1]))
        return [t + 1, ops.where(taken, ops.full_like(left, -1.0), left), match, near]

    start = [ops.full([1], 0, _C.int64), distances, none, ops.full_like(none, 0).astype(distances.dtype)]
    rows = ops.shape(distances)[1].astype("int64")
    _, _, match, near = _C.while_loop(lambda t, *_: [(t < rows).all()], turn, start)
    if match_type == "per_prediction":
        best, place = ops.max(distances, 1), ops.argmax(distances, 1)
        enough = max(0.5 if threshold is None else float(threshold), _LEAST)
        more = ops.logical_and(match < 0, best >= enough)
        match, near = ops.where(more, place, match), ops.where(more, best, near)
    return match.astype("int32"), near


def target_assign(input, matched_indices, negative_indices=None, mismatch_value=None, name=None):
    """What stands for each column of a match, and how much it counts: 1 where there is a match, 0 elsewhere.

    Args:
        input (Tensor): [rows, columns or 1, K], or [rows, K]; a sequence for each image.
        matched_indices (Tensor): int32 [images, columns], from `bipartite_match`.
        negative_indices (Tensor, optional): int32 [count, 1], a sequence for each image: columns without a match that count.
        mismatch_value (number, optional): stands where there is no match; 0.

    Returns:
        (Tensor, Tensor): [images, columns, K], and float32 [images, columns, 1].
    """
    layout = layout_of("target_assign", input)
    values = input if len(input.shape) == 3 else _C.ops.unsqueeze(input, [1])
    value, counts = _assigned(
        layout.padded(values, 0), matched_indices, 0 if mismatch_value is None else mismatch_value
    )
    if negative_indices is not None:
        negatives = layout_of("target_assign", negative_indices, name="negative_indices")
        padded = negatives.padded(_C.ops.reshape(negative_indices, [-1]).astype("int64"), -1)
        columns = proa.arange(0, _C.ops.shape(matched_indices)[1].astype("int64"), 1, "int64")
        hit = (_C.ops.unsqueeze(padded, [2]) == columns).any(1)
        counts = _C.ops.where(_C.ops.unsqueeze(hit, [2]), _C.ops.full_like(counts, 1.0), counts)
    return value, counts


def _assigned(padded, match, missing):
    """`target_assign` of [images, rows, columns or 1, K]."""
    ops = _C.ops
    match = match.astype("int64")
    found = ops.unsqueeze(match >= 0, [2])
    index = ops.unsqueeze(ops.clip(match, 0, None), [2])
    if type(padded.shape[2]) is int and padded.shape[2] == 1:
        rows = ops.squeeze(padded, [2])
        images = proa.arange(0, ops.shape(match)[0].astype("int64"), 1, "int64")
        images = ops.unsqueeze(images, [1, 2]) + index * 0
        value = ops.gather_nd(rows, ops.concat([images, index], 2))
    else:
        images = ops.unsqueeze(proa.arange(0, ops.shape(match)[0].astype("int64"), 1, "int64"), [1, 2]) + index * 0
        columns = ops.unsqueeze(proa.arange(0, ops.shape(match)[1].astype("int64"), 1, "int64"), [0, 2]) + index * 0
        value = ops.gather_nd(padded, ops.concat([images, index, columns], 2))
    return ops.where(found, value, ops.full_like(value, missing)), found.astype("float32")


def ssd_loss(location, confidence, gt_box, gt_label, prior_box, prior_box_var=None, background_label=0,
             overlap_threshold=0.5, neg_pos_ratio=3.0, neg_overlap=0.5, loc_loss_weight=1.0, conf_loss_weight=1.0,
             match_type="per_prediction", mining_type="max_negative", normalize=True, sample_size=None):  # fmt: skip
    """The loss of prior boxes: classes of all that match a truth and of the hardest others, places of those that match.

    Args:
        location (Tensor): [images, priors, 4]: predicted codes of places.
        confidence (Tensor): [images, priors, classes]: scores.
        gt_box (Tensor): [rows, 4]: the truths, with a sequence for each image.
        gt_label (Tensor): [rows, 1]: their classes.
        prior_box (Tensor): [priors, 4]. prior_box_var (Tensor, optional): [priors, 4].
        background_label (int): the class of no truth.
        overlap_threshold (float): from which overlap on a prior matches.
        neg_pos_ratio (float): so many others count for each match.
        neg_overlap (float): accepted; priors without a match overlap less.
        loc_loss_weight, conf_loss_weight (float): weights of the parts.
        match_type (str): as of `bipartite_match`.
        mining_type (str): "max_negative".
        normalize (bool): over the number of matches of all images.
        sample_size (int, optional): accepted.

    Returns:
        Tensor: [images, 1].

    Raises:
        ValueError: another mining_type, or nothing is known of sequences.
    """
    if mining_type != "max_negative":
        raise _C.located(ValueError(f"ssd_loss: mining_type must be 'max_negative', not {mining_type!r}"))
    ops = _C.ops
    layout = layout_of("ssd_loss", gt_box, name="gt_box")
    overlaps = layout.padded(iou_similarity(gt_box, prior_box), -1.0)
    match, _ = _match(overlaps, match_type, overlap_threshold)
    labels = ops.reshape(gt_label, [-1, 1, 1]).astype("int64")
    classes, positive = _assigned(layout.padded(labels, background_label), match, background_label)
    costs = F.softmax_with_cross_entropy.__wrapped__(confidence, classes)  # [images, priors, 1]
    counts = ops.logical_or(positive > 0.0, _hardest(costs, positive, neg_pos_ratio)).astype(costs.dtype)
    codes = box_coder(prior_box, prior_box_var, gt_box, "encode_center_size")
    places, _ = _assigned(layout.padded(codes, 0.0), match, 0.0)
    places.stop_gradient = True
    error = ops.abs(location - places)
    smooth = ops.where(error < 1.0, 0.5 * error * error, error - 0.5)
    loss = conf_loss_weight * costs * counts + loc_loss_weight * ops.sum(smooth, axis=[2], keepdim=True) * positive
    total = ops.sum(ops.squeeze(loss, [2]), axis=[1], keepdim=True)
    return total / ops.clip(positive.sum(), _LEAST, None) if normalize else total


def _hardest(costs, positive, ratio):
    """Of the priors without a match those with the largest costs, `ratio` for each match of the image: bool [images, priors, 1]."""
    ops = _C.ops
    matched = positive > 0.0
    keys = ops.where(matched, ops.full_like(costs, -float("inf")), costs.detach())
    order = ops.argsort(ops.argsort(ops.squeeze(keys, [2]), 1, True), 1)  # the place of each, largest first
    most = ops.sum(ops.squeeze(positive, [2]), axis=[1], keepdim=True) * float(ratio)
    chosen = order.astype("float32") < ops.floor(most)
    return ops.logical_and(ops.unsqueeze(chosen, [2]), ops.logical_not(matched))


def detection_output(loc, scores, prior_box, prior_box_var, background_label=0, nms_threshold=0.3, nms_top_k=400,
                     keep_top_k=200, score_threshold=0.01, nms_eta=1.0, return_index=False):  # fmt: skip
    """The boxes that a detector found: codes of places decoded, and of boxes that overlap the best.

    Args:
        loc (Tensor): [images, priors, 4]. scores (Tensor): [images, priors, classes]: before softmax.
        prior_box, prior_box_var (Tensor): [priors, 4].
        background_label, nms_threshold, nms_top_k, keep_top_k, score_threshold, nms_eta: as of `multiclass_nms`.
        return_index (bool): not in this version.

    Returns:
        Tensor: [count, 6]: class, score, box; in a program a sequence for each image.
    """
    if return_index:
        raise _C.located(NotImplementedError("detection_output: return_index is not in this version"))
    boxes = box_coder(prior_box, prior_box_var, loc, "decode_center_size")
    scores = _C.ops.transpose(F.softmax(scores, -1), [0, 2, 1])
    return multiclass_nms(
        boxes, scores, score_threshold, nms_top_k, keep_top_k, nms_threshold, True, nms_eta, background_label
    )
