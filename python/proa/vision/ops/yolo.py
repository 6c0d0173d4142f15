"""What YOLO networks predict: boxes of each cell of a grid, by anchors."""

from proa import _C
from proa.framework.attributes import known_int, known_ints, reals
from proa.tensor.attribute import optional_tensor

__all__ = ["yolo_box", "yolo_loss"]


def yolo_box(x, img_size, anchors, class_num, conf_thresh, downsample_ratio, clip_bbox=True, name=None, scale_x_y=1.0,
             iou_aware=False, iou_aware_factor=0.5):  # fmt: skip
    """Boxes and scores from what a YOLO network predicts.

    Args:
        x (Tensor): [N, A * (5 + class_num), H, W]; for each of A anchors x, y, w, h, confidence and classes.
            With iou_aware [N, A * (6 + class_num), H, W], and the overlaps before all others.
        img_size (Tensor): integers [N, 2], height and width of the images.
        anchors (list[int]): width and height of each of A anchors, in pixels.
        class_num (int): number of classes.
        conf_thresh (float): boxes of less confidence are zeros.
        downsample_ratio (int): pixels of the network's input to a cell.
        clip_bbox (bool): keep boxes inside of the image.
        scale_x_y (float): how far centers reach beyond their cell.
        iou_aware (bool): confidence ** (1 - iou_aware_factor) * overlap ** iou_aware_factor is the confidence.

    Returns:
        (Tensor, Tensor), without gradients: boxes [N, A * H * W, 4], x1, y1, x2, y2 in pixels, and scores [N, A * H * W, class_num].

    Raises:
        ValueError: for other shapes or anchors.

    Examples:
        >>> x = proa.zeros([1, 7, 1, 1])
        >>> boxes, scores = proa.vision.ops.yolo_box(x, proa.to_tensor([[32, 32]]), [16, 8], 2, 0.1, 32)
        >>> boxes.tolist(), scores.tolist()
        ([[[8.0, 12.0, 24.0, 20.0]]], [[[0.25, 0.25]]])
    """
    x = _C.tensor_argument(x, "yolo_box", "x")
    img_size = _C.tensor_argument(img_size, "yolo_box", "img_size")
    conf_thresh, scale_x_y, iou_aware_factor = reals(
        "yolo_box", conf_thresh=conf_thresh, scale_x_y=scale_x_y, iou_aware_factor=iou_aware_factor
    )
    class_num, downsample_ratio = (
        known_int("yolo_box", what, value)
        for what, value in (("class_num", class_num), ("downsample_ratio", downsample_ratio))
    )
    anchors = known_ints("yolo_box", "anchors", anchors)
    return _C.ops.yolo_box(x, img_size, anchors, class_num, conf_thresh, downsample_ratio, clip_bbox, scale_x_y,
                           iou_aware, iou_aware_factor)  # fmt: skip


def yolo_loss(x, gt_box, gt_label, anchors, anchor_mask, class_num, ignore_thresh, downsample_ratio, gt_score=None,
              use_label_smooth=True, name=None, scale_x_y=1.0):  # fmt: skip
    """The loss of YOLOv3, for one of its maps: of places, confidence and classes.

    A true box belongs to the cell of its center and to the anchor whose shape is nearest to its own; if that is none of
    this map, only confidences near to it are left out of account.

    Args:
        x (Tensor): [N, M * (5 + class_num), H, W], for each of M anchors x, y, w, h, confidence and classes.
        gt_box (Tensor): [N, B, 4], center, width and height of true boxes, as parts of the image; no width or no height
            stands for no box.
        gt_label (Tensor): int32 [N, B], their classes.
        anchors (list[int]): width and height of all anchors of the network, in pixels.
        anchor_mask (list[int]): which M of them are those of this map.
        class_num (int): number of classes.
        ignore_thresh (float): confidences of boxes that overlap a true one by more are not in the loss.
        downsample_ratio (int): pixels of the network's input to a cell.
        gt_score (Tensor, optional): [N, B], weights of the true boxes (of mixed images); 1 unless given.
        use_label_smooth (bool): classes are taken as 1 - s and s, s = min(1 / class_num, 1 / 40), not 1 and 0.
        scale_x_y (float): how far centers reach beyond their cell.

    Returns:
        Tensor: [N].

    Raises:
        ValueError: for other shapes or anchors. IndexError: for a class that there is not.

    Examples:
        >>> x, box = proa.zeros([1, 7, 2, 2]), proa.to_tensor([[[0.3, 0.3, 0.5, 0.5]]])
        >>> loss = proa.vision.ops.yolo_loss(x, box, proa.to_tensor([[1]], "int32"), [32, 32], [0], 2, 0.7, 32)
        >>> loss.shape
        [1]
    """
    x, gt_box, gt_label = (
        _C.tensor_argument(value, "yolo_loss", name)
        for name, value in (("x", x), ("gt_box", gt_box), ("gt_label", gt_label))
    )
    gt_score = optional_tensor(gt_score, "yolo_loss", "gt_score")
    ignore_thresh, scale_x_y = reals("yolo_loss", ignore_thresh=ignore_thresh, scale_x_y=scale_x_y)
    anchors, mask = (
        known_ints("yolo_loss", what, value) for what, value in (("anchors", anchors), ("anchor_mask", anchor_mask))
    )
    class_num, downsample_ratio = (
        known_int("yolo_loss", what, value)
        for what, value in (("class_num", class_num), ("downsample_ratio", downsample_ratio))
    )
    return _C.ops.yolo_loss(x, gt_box, gt_label, gt_score, anchors, mask, class_num, ignore_thresh, downsample_ratio,
                            use_label_smooth, scale_x_y)  # fmt: skip
