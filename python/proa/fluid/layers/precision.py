"""How well a detector finds boxes, with the arguments of 1.8."""

import proa
from proa import _C
from proa.fluid.layers.images import shared_part
from proa.static.sequences import layout_of, take

__all__ = ["detection_map"]


def _inside(count):
    return proa.arange(0, count, 1, "int64")


def _by(order, *keys):
    """The order by keys, the last one first; of equal ones as it was."""
    for key in keys:
        order = take(order, _C.ops.argsort(take(key, order), 0))
    return order


def detection_map(detect_res, label, class_num, background_label=0, overlap_threshold=0.3, evaluate_difficult=True,
                  has_state=None, input_states=None, out_states=None, ap_version="integral"):  # fmt: skip
    """The mean over classes of the average precision of detections.

    Of the detections of a class in an image, the best first, each takes the truth that it overlaps most, if that is more than
    overlap_threshold and nobody has taken it.

    Args:
        detect_res (Tensor): float32, [rows, 6]: class, score, and the box (x1, y1, x2, y2), as part of the image; a sequence for
            each image, as `detection_output` gives.
        label (Tensor): float32, [rows, 6]: class, whether it is difficult, and the box; or [rows, 5], without the second.
        class_num (int): how many classes there are.
        background_label (int): as of PaddlePaddle, a class does not count that has as many truths as this number.
        overlap_threshold (float): see above.
        evaluate_difficult (bool): whether difficult truths count; else they are neither found nor missed.
        has_state, input_states, out_states: what batches before counted: `fluid.metrics.DetectionMAP` keeps it.
        ap_version (str): "integral", or "11point".

    Returns:
        Tensor: float32 [1].

    Raises:
        ValueError: nothing is known of the sequences of an input; label has other columns; an unknown ap_version; class_num is
            no positive number.
        NotImplementedError: states are given.

    Examples:
        >>> with proa.static.program_guard(proa.static.Program()):
        ...     found = proa.static.data("found", [None, 6], lod_level=1)
        ...     truth = proa.static.data("truth", [None, 6], lod_level=1)
        ...     score = proa.fluid.layers.detection_map(found, truth, 21)
        >>> score.shape
        [1]
    """
    if any(state is not None for state in (has_state, input_states, out_states)):
        raise _C.located(
            NotImplementedError(
                "detection_map: variables keep no sequences from run to run; use fluid.metrics.DetectionMAP, which keeps what "
                "batches before counted"
            )
        )
    rows, truths = counted(
        detect_res, label, class_num, overlap_threshold, evaluate_difficult, ap_version, op="detection_map"
    )
    return mean_precision(rows, truths, class_num, background_label, ap_version)


def counted(found, label, class_num, least, evaluate_difficult, kind, op):
    """((class, score and whether it is right of each detection that counts), how many truths each class has [class_num])."""
    if kind not in ("integral", "11point"):
        raise _C.located(ValueError(f"{op}: ap_version must be integral or 11point, not {kind!r}"))
    if type(class_num) is not int or class_num < 1:
        raise _C.located(ValueError(f"{op}: class_num must be a positive int, not {class_num!r}"))
    if len(label.shape) != 2 or label.shape[1] not in (5, 6):
        raise _C.located(ValueError(f"{op}: label must be [rows, 5] or [rows, 6]; it is {list(label.shape)}"))
    ops = _C.ops
    images, of_truths = (layout_of(op, x, name=n) for x, n in ((found, "detect_res"), (label, "label")))
    classes, true_classes = (x[:, 0].astype("int64") for x in (found, label))
    hard = true_classes != true_classes
    if label.shape[1] == 6 and not evaluate_difficult:
        hard = ops.abs(label[:, 1]) >= 1e-6
    order, hit, counts = _hits(found, label, classes, true_classes, hard, images, of_truths, least)
    sorted_classes = take(classes, order)
    counts = ops.logical_and(counts, ops.logical_and(sorted_classes >= 0, sorted_classes < class_num))
    kept = ops.reshape(ops.nonzero(counts), [-1])
    numbers = ops.unsqueeze(_inside(class_num), [0])
    of_class = ops.logical_and(ops.unsqueeze(true_classes, [1]) == numbers, ops.unsqueeze(ops.logical_not(hard), [1]))
    rows = take(sorted_classes, kept), take(found[:, 1], take(order, kept)), take(hit, kept).astype("float32")
    return rows, ops.sum(of_class.astype("int64"), [0])


def mean_precision(rows, truths, class_num, background_label, kind):
    """The mean over classes of what `counted` gives, float32 [1]."""
    ops = _C.ops
    each = _precisions(*rows, truths, class_num, kind)
    seen = ops.logical_and(truths > 0, truths != background_label)
    mean = ops.sum(ops.where(seen, each, ops.full_like(each, 0.0))) / ops.clip(
        ops.sum(seen.astype("float32")), 1.0, None
    )
    return ops.reshape(mean, [1])


def _hits(found, label, classes, true_classes, hard, images, of_truths, least):
    """(the order of detections, by class, image and score; which of them find a truth; which count), both in that order."""
    ops = _C.ops
    # One more truth, which no detection is of.
    boxes = ops.concat([label[:, -4:], ops.full([1, 4], 0.0, label.dtype)], 0)
    same = ops.unsqueeze(images.sequence, [1]) == ops.unsqueeze(of_truths.sequence, [0])
    same = ops.logical_and(same, ops.unsqueeze(classes, [1]) == ops.unsqueeze(true_classes, [0]))
    same = ops.concat([same, ops.unsqueeze(classes != classes, [1])], 1)
    overlaps = shared_part(ops.unsqueeze(ops.clip(found[:, 2:6], 0.0, 1.0), [1]), ops.unsqueeze(boxes, [0]), 0.0)
    overlaps = ops.where(same, overlaps, ops.full_like(overlaps, -1.0))
    rows = _inside(ops.shape(found)[0].astype("int64"))
    order = _by(rows, 0.0 - found[:, 1], images.sequence, classes)
    near = ops.logical_and(take(ops.max(overlaps, [1]), order) > least, rows == rows)
    which = take(ops.argmax(overlaps, 1), order)
    # Who takes the same truth stands side by side, the best first; who takes none is alone.
    taken = ops.where(near, which, rows + ops.shape(boxes)[0].astype("int64"))
    groups = ops.argsort(taken, 0)
    there = take(taken, groups)
    is_first = there != ops.concat([ops.full([1], -1, _C.int64), there], 0)[:-1]
    hit = ops.logical_and(near, take(is_first, ops.argsort(groups, 0)))
    is_hard = take(ops.concat([hard, ops.full([1], False, _C.bool)], 0), which)
    return order, hit, ops.logical_not(ops.logical_and(near, is_hard))


def _precisions(classes, scores, hit, truths, class_num, kind):
    """The average precision of each class, [class_num], by detections in the order of their classes."""
    ops = _C.ops
    order = _by(_inside(ops.shape(classes)[0].astype("int64")), 0.0 - scores, classes)
    hit = take(hit, order)
    member = ops.unsqueeze(classes, [1]) == ops.unsqueeze(_inside(class_num), [0])
    counts = ops.sum(member.astype("int64"), [0])
    before = take(ops.cumsum(counts, 0) - counts, classes)
    upto = ops.concat([ops.full([1], 0.0, _C.float32), ops.cumsum(hit, 0)], 0)
    hits = upto[1:] - take(upto, before)
    rank = (_inside(ops.shape(classes)[0].astype("int64")) - before + 1).astype("float32")
    precision = hits / rank
    wanted = ops.clip(take(truths, classes).astype("float32"), 1.0, None)
    zero = ops.full_like(precision, 0.0)
    each = lambda values: ops.where(member, ops.unsqueeze(values, [1]), ops.unsqueeze(zero, [1]))
    if kind == "integral":
        return ops.sum(each(precision * hit / wanted), [0])
    recall = (hits / wanted).astype("float64")
    total = ops.full([class_num], 0.0, _C.float32)
    for tenth in range(11):
        reached = ops.where(recall >= tenth / 10.0, precision, zero)
        padded = ops.concat([each(reached), ops.full([1, class_num], 0.0, _C.float32)], 0)
        total = total + ops.max(padded, [0]) / 11.0
    return total
