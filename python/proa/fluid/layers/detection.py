"""Boxes with the arguments of 1.8: names over `vision.ops`, and what picks boxes, a function of NumPy in programs too."""

import numpy as np

import proa
from proa import _C
from proa.framework.names import missing as _missing
from proa.static.sequences import note
from proa.vision.ops import box_coder as _box_coder
from proa.vision.ops import yolo_box as _yolo_box
from proa.vision.ops import yolo_loss as _yolo_loss

__all__ = ["box_coder", "matrix_nms", "multiclass_nms", "yolo_box", "yolov3_loss"]

__getattr__ = _missing(__name__)


def yolo_box(x, img_size, anchors, class_num, conf_thresh, downsample_ratio, clip_bbox=True, name=None, scale_x_y=1.0):
    """Boxes and scores from what a YOLO network predicts; see proa.vision.ops.yolo_box."""
    return _yolo_box(x, img_size, anchors, class_num, conf_thresh, downsample_ratio, clip_bbox, name, scale_x_y)


def yolov3_loss(x, gt_box, gt_label, anchors, anchor_mask, class_num, ignore_thresh, downsample_ratio, gt_score=None,
                use_label_smooth=True, name=None, scale_x_y=1.0):  # fmt: skip
    """The loss of YOLOv3, for one of its maps; see proa.vision.ops.yolo_loss."""
    return _yolo_loss(x, gt_box, gt_label, anchors, anchor_mask, class_num, ignore_thresh, downsample_ratio, gt_score,
                      use_label_smooth, name, scale_x_y)  # fmt: skip


def box_coder(
    prior_box, prior_box_var, target_box, code_type="encode_center_size", box_normalized=True, name=None, axis=0
):
    """Boxes told by how far and how large they are, measured by other boxes; see proa.vision.ops.box_coder."""
    return _box_coder(prior_box, prior_box_var, target_box, code_type, box_normalized, axis, name)


def _overlaps(boxes, normalized):
    """[n, n]: what two boxes share of what they cover; 0 of boxes that do not touch, and of those turned inside out."""
    extra = 0.0 if normalized else 1.0
    low, high = boxes[:, None], boxes[None]
    sides = boxes[:, 2:] - boxes[:, :2]
    areas = np.where((sides < 0).any(1), 0.0, (sides + extra).prod(1))
    between = np.minimum(low[..., 2:], high[..., 2:]) - np.maximum(low[..., :2], high[..., :2])
    shared = np.where((between < 0).any(2), 0.0, (between + extra).prod(2))
    covered = areas[:, None] + areas[None] - shared
    return np.divide(shared, covered, out=np.zeros_like(shared), where=covered > 0)


def _best(scores, threshold, count):
    """Numbers of the scores above a threshold, best first, of equal ones the first; at most `count`, all if it is -1."""
    found = np.flatnonzero(scores > threshold)
    found = found[np.argsort(-scores[found], kind="stable")]
    return found[:count] if count >= 0 else found


def _kept(boxes, threshold, normalized, eta):
    """Which of boxes, best first, stay."""
    overlaps, kept = _overlaps(boxes, normalized), []
    for i in range(len(boxes)):
        if all(overlaps[i, j] <= threshold for j in kept):
            kept.append(i)
            if eta < 1.0 and threshold > 0.5:
                threshold *= eta
    return kept


def _decayed(boxes, scores, normalized, sigma):
    """Scores, best first, lowered by what better boxes overlap; `sigma` None: in a line."""
    overlaps = np.tril(_overlaps(boxes, normalized), -1)
    most = overlaps.max(1, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        if sigma is None:
            factors = (1.0 - overlaps) / (1.0 - most)[None]
        else:
            factors = np.exp((most[None] ** 2 - overlaps**2) * sigma)
    factors = np.where(np.tril(np.ones_like(overlaps), -1) > 0, factors, 1.0)
    return scores * np.fmin(1.0, np.fmin.reduce(factors, 1, initial=1.0))


def _need_boxes(op, bboxes, scores):
    b, s = list(bboxes.shape), list(scores.shape)
    open_size = lambda n: not isinstance(n, int) or n < 0  # known when the program runs
    fits = lambda x, y: open_size(x) or open_size(y) or x == y
    if len(b) != 3 or len(s) != 3 or b[2] != 4 or not fits(b[0], s[0]) or not fits(b[1], s[2]):
        raise _C.located(
            ValueError(
                f"{op}: bboxes must be [images, boxes, 4] and scores [images, classes, boxes]; they are {b} and {s}"
            )
        )
    for name, tensor in (("bboxes", bboxes), ("scores", scores)):
        if tensor.dtype not in (_C.float32, _C.float64):
            raise _C.located(TypeError(f"{op}: {name} must be float32 or float64, not {tensor.dtype.name}"))


def _on_host(function, tensors, outputs):
    """What a function of arrays gives: now, or when the program runs; `outputs` are (shape, dtype) of each."""
    if not any(_C.is_symbolic(t) for t in tensors):
        return [proa.to_tensor(v) for v in function(*(t.numpy() for t in tensors))]
    from proa.static import default_main_program, py_func

    block = default_main_program().current_block()
    out = [block.create_var(shape=shape, dtype=dtype) for shape, dtype in outputs]
    return py_func(lambda *values: function(*(v.numpy() for v in values)), list(tensors), out)


def _pick(op, of_class, bboxes, scores, background, keep_top_k, ordered, none):
    """[picked, 6] of all images, their numbers [picked, 1] and how many of each image; `of_class` gives (numbers, scores)."""
    _need_boxes(op, bboxes, scores)

    def run(boxes, values):
        rows, numbers, counts = [], [], []
        for image in range(len(boxes)):
            found = []
            for label in range(values.shape[1]):
                if label != background:
                    found += [(label, s, n) for n, s in zip(*of_class(boxes[image], values[image, label]))]
            best = sorted(range(len(found)), key=lambda i: -found[i][1])
            if keep_top_k >= 0:
                best = best[:keep_top_k]
            found = [found[i] for i in (best if ordered else sorted(best))]
            rows += [[label, score, *boxes[image, number]] for label, score, number in found]
            numbers += [[image * boxes.shape[1] + number] for _, _, number in found]
            counts.append(len(found))
        if not rows and none:  # what 1.8 gives for nothing
            return np.full([1, 1], -1, boxes.dtype), np.zeros([0, 1], "int32"), np.array([1], "int64")
        return np.array(rows, boxes.dtype).reshape(-1, 6), np.array(numbers, "int32").reshape(-1, 1), np.array(counts)

    columns = -1 if none else 6  # of a program's value: one where there is nothing
    outputs = [([-1, columns], bboxes.dtype), ([-1, 1], "int32"), ([-1], "int64")]
    rows, numbers, counts = _on_host(run, [bboxes, scores], outputs)
    if _C.is_symbolic(rows):
        note(rows, [counts])
    return rows, numbers


def multiclass_nms(bboxes, scores, score_threshold, nms_top_k, keep_top_k, nms_threshold=0.3, normalized=True, nms_eta=1.0,
                   background_label=0, name=None):  # fmt: skip
    """Boxes that stay, class by class, when each takes out later ones that overlap it too much. On the host.

    A program that is saved with it asks the process that runs it for the function.

    Args:
        bboxes (Tensor): [images, boxes, 4]: x1, y1, x2, y2; float32 or float64.
        scores (Tensor): [images, classes, boxes].
        score_threshold (float): boxes with no more than that are not looked at.
        nms_top_k, keep_top_k (int): how many boxes of a class are looked at, and how many of an image stay; -1: all.
        nms_threshold (float): two boxes that stay overlap by no more than that.
        normalized (bool): coordinates are parts of the image, not pixels.
        nms_eta (float): below 1, a threshold above 0.5 is multiplied by it with each box that stays.
        background_label (int): the class that is left out; -1: none.

    Returns:
        Tensor: [picked, 6]: class, score, x1, y1, x2, y2, by class; a sequence for each image. [[-1.0]] if there is none.

    Raises:
        ValueError: shapes do not fit. TypeError: not of floating point.

    Examples:
        >>> boxes = proa.to_tensor([[[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9], [2.0, 2.0, 3.0, 3.0]]])
        >>> scores = proa.to_tensor([[[0.5, 0.75, 0.25]]])
        >>> proa.fluid.layers.multiclass_nms(boxes, scores, 0.1, -1, -1, background_label=-1)[:, :2].tolist()
        [[0.0, 0.75], [0.0, 0.25]]
    """

    def of_class(boxes, values):
        best = _best(values, score_threshold, nms_top_k)
        best = best[_kept(boxes[best], nms_threshold, normalized, nms_eta)]
        return best, values[best]

    return _pick("multiclass_nms", of_class, bboxes, scores, background_label, keep_top_k, False, True)[0]


def matrix_nms(bboxes, scores, score_threshold, post_threshold, nms_top_k, keep_top_k, use_gaussian=False,
               gaussian_sigma=2.0, background_label=0, normalized=True, return_index=False, name=None):  # fmt: skip
    """Boxes with scores that are lowered by what better boxes of the class overlap, best first. On the host.

    A program that is saved with it asks the process that runs it for the function.

    Args:
        bboxes (Tensor): [images, boxes, 4]: x1, y1, x2, y2; float32 or float64.
        scores (Tensor): [images, classes, boxes].
        score_threshold (float): boxes with no more than that are not looked at.
        post_threshold (float): boxes with no more than that at the end are left out.
        nms_top_k, keep_top_k (int): how many boxes of a class are looked at, and how many of an image stay; -1: all.
        use_gaussian (bool), gaussian_sigma (float): lower by exp(-sigma * overlap^2), not by 1 - overlap.
        background_label (int): the class that is left out; -1: none.
        normalized (bool): coordinates are parts of the image, not pixels.
        return_index (bool): give the numbers of the boxes too.

    Returns:
        Tensor: [picked, 6]: class, score, x1, y1, x2, y2; a sequence for each image. With return_index, a pair of it and
        int32 [picked, 1], the numbers of the boxes, counted through all images.

    Raises:
        ValueError: shapes do not fit. TypeError: not of floating point.

    Examples:
        >>> boxes = proa.to_tensor([[[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.5]]])
        >>> scores = proa.to_tensor([[[0.5, 1.0]]])
        >>> proa.fluid.layers.matrix_nms(boxes, scores, 0.1, 0.0, -1, -1, background_label=-1)[:, :2].tolist()
        [[0.0, 1.0], [0.0, 0.25]]
    """

    def of_class(boxes, values):
        best = _best(values, score_threshold, nms_top_k)
        lowered = _decayed(boxes[best], values[best], normalized, gaussian_sigma if use_gaussian else None)
        stay = lowered > post_threshold
        return best[stay], lowered[stay]

    picked = _pick("matrix_nms", of_class, bboxes, scores, background_label, keep_top_k, True, False)
    return picked if return_index else picked[0]
