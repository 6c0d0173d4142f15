"""Boxes with the arguments of 1.8: names over `vision.ops`."""

from proa import _C
from proa.framework.names import missing as _missing
from proa.static.sequences import note
from proa.vision.ops import box_coder as _box_coder
from proa.vision.ops import matrix_nms as _matrix_nms
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


def _sequences(rows, counts):
    """The rows; in a program a sequence for each image."""
    if _C.is_symbolic(rows):
        note(rows, [counts.astype("int64")])
    return rows


def multiclass_nms(bboxes, scores, score_threshold, nms_top_k, keep_top_k, nms_threshold=0.3, normalized=True, nms_eta=1.0,
                   background_label=0, name=None):  # fmt: skip
    """Boxes that stay, class by class, when each takes out later ones that overlap it too much.

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

    rows, _, counts = _C.ops.multiclass_nms(bboxes, scores, None, score_threshold, nms_top_k, keep_top_k, nms_threshold,
                                            normalized, nms_eta, background_label, True)  # fmt: skip
    return _sequences(rows, counts)


def matrix_nms(bboxes, scores, score_threshold, post_threshold, nms_top_k, keep_top_k, use_gaussian=False,
               gaussian_sigma=2.0, background_label=0, normalized=True, return_index=False, name=None):  # fmt: skip
    """Boxes with scores that are lowered by what better boxes of the class overlap, best first.

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

    rows, counts, index = _matrix_nms(bboxes, scores, score_threshold, post_threshold, nms_top_k, keep_top_k, use_gaussian,
                                      gaussian_sigma, background_label, normalized, True)  # fmt: skip
    rows = _sequences(rows, counts)
    return (rows, index) if return_index else rows
