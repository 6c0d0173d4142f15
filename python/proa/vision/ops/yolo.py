"""What YOLO networks predict: boxes of each cell of a grid, by anchors."""

from proa import _C
from proa.framework.attributes import known_ints, known_list, reals
from proa.framework.grad_mode import no_grad
from proa.nn.functional.shapes import size_argument
from proa.tensor.attribute import optional_tensor
from proa.vision.ops.numbering import differ, upto

__all__ = ["yolo_box", "yolo_loss"]


def _anchors(what, anchors):
    """[(width, height), ...] in pixels."""
    anchors = known_list(what, "anchors", anchors)
    if not anchors or len(anchors) % 2 or any(a <= 0 for a in anchors):
        raise _C.located(ValueError(f"{what}: anchors must be pairs of positive numbers, not {anchors}"))
    return list(zip(anchors[::2], anchors[1::2]))


def _check_map(what, x, channels):
    if len(x.shape) != 4 or differ([x.shape[1]], [channels]):
        raise _C.located(ValueError(f"{what}: x must be [N, {channels}, H, W] by its anchors; it is {list(x.shape)}"))


def _located(x, anchors, grid, downsample_ratio, scale):
    """Centers and sizes of predicted boxes, as parts of the image: x, y, w, h, each [N, anchors, H, W].

    x is [N, anchors, 4 or more, H, W]; grid is (H, W) of the cells.
    """
    count, (height, width) = x.shape[1], grid
    bias = -0.5 * (scale - 1.0)
    kind = x.dtype
    column = upto(width, kind).reshape([1, 1, 1, -1])
    row = upto(height, kind).reshape([1, 1, -1, 1])
    sides = [_C.to_tensor([a[i] for a in anchors], dtype=kind).reshape([1, count, 1, 1]) for i in (0, 1)]
    return (
        (_C.ops.sigmoid(x[:, :, 0]) * scale + bias + column) / (width * 1.0),
        (_C.ops.sigmoid(x[:, :, 1]) * scale + bias + row) / (height * 1.0),
        _C.ops.exp(x[:, :, 2]) * sides[0] / (width * downsample_ratio * 1.0),
        _C.ops.exp(x[:, :, 3]) * sides[1] / (height * downsample_ratio * 1.0),
    )


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
        (Tensor, Tensor): boxes [N, A * H * W, 4], x1, y1, x2, y2 in pixels, and scores [N, A * H * W, class_num].

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
    anchors, class_num = _anchors("yolo_box", anchors), size_argument("yolo_box", "class_num", class_num)
    conf_thresh, downsample_ratio, scale_x_y, iou_aware_factor = reals(
        "yolo_box", conf_thresh=conf_thresh, downsample_ratio=downsample_ratio, scale_x_y=scale_x_y,
        iou_aware_factor=iou_aware_factor,
    )  # fmt: skip
    count = len(anchors)
    _check_map("yolo_box", x, count * ((6 if iou_aware else 5) + class_num))
    n, _, height, width = x.shape
    if differ(img_size.shape, [n, 2]):
        raise _C.located(ValueError(f"yolo_box: img_size must be [{n}, 2]; it is {list(img_size.shape)}"))
    overlap = _C.ops.sigmoid(x[:, :count]) if iou_aware else None
    x = (x[:, count:] if iou_aware else x).reshape([n, count, 5 + class_num, height, width])
    confidence = _C.ops.sigmoid(x[:, :, 4])
    if iou_aware:
        confidence = confidence ** (1.0 - iou_aware_factor) * overlap**iou_aware_factor
    sure = (confidence >= conf_thresh).astype(x.dtype)
    sizes = img_size.astype(x.dtype).reshape([n, 2, 1, 1, 1])
    sides = [sizes[:, 1], sizes[:, 0]]
    places = _located(x, anchors, (height, width), downsample_ratio, scale_x_y)
    centers = [places[i] * sides[i] for i in (0, 1)]
    halves = [places[2 + i] * sides[i] / 2.0 for i in (0, 1)]
    corners = [c - h for c, h in zip(centers, halves)] + [c + h for c, h in zip(centers, halves)]
    if clip_bbox:
        corners = [_C.ops.clip(corner, 0.0, None) for corner in corners[:2]] + [
            _C.ops.minimum(corner, side - 1.0) for corner, side in zip(corners[2:], sides)
        ]
    boxes = _C.ops.where((sure > 0.0).unsqueeze(-1), _C.ops.stack(corners, -1), _C.ops.full([1], 0.0, x.dtype))
    scores = _C.ops.sigmoid(x[:, :, 5:]) * (confidence * sure).unsqueeze(2)
    cells = count * height * width
    return boxes.reshape([n, cells, 4]), _C.ops.transpose(scores, [0, 1, 3, 4, 2]).reshape([n, cells, class_num])


def _shared_part(w, h, other_w, other_h, dx, dy):
    """The area that two boxes share, as a part of what both cover; their centers are dx and dy apart."""

    def inner(a, b, distance):
        edge = _C.ops.minimum(a, b + 2.0 * distance), _C.ops.minimum(a, b - 2.0 * distance)
        return (edge[0] + edge[1]) * 0.5

    across, down = inner(w, other_w, dx), inner(h, other_h, dy)
    common = across * down * (across >= 0.0).logical_and(down >= 0.0).astype(across.dtype)
    return common / (w * h + other_w * other_h - common)


def _entropy(x, label):
    """Cross entropy of sigmoid(x) and a label in 0..1."""
    return _C.ops.clip(x, 0.0, None) - x * label + _C.ops.log1p(_C.ops.exp(-_C.ops.abs(x)))


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
        ValueError: for other shapes or anchors.

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
    gt_score, class_num = (
        optional_tensor(gt_score, "yolo_loss", "gt_score"),
        size_argument("yolo_loss", "class_num", class_num),
    )
    ignore_thresh, downsample_ratio, scale_x_y = reals(
        "yolo_loss", ignore_thresh=ignore_thresh, downsample_ratio=downsample_ratio, scale_x_y=scale_x_y
    )
    every, mask = _anchors("yolo_loss", anchors), known_ints("yolo_loss", "anchor_mask", anchor_mask)
    if not mask or any(not 0 <= m < len(every) for m in mask):
        raise _C.located(ValueError(f"yolo_loss: anchor_mask must be indices of {len(every)} anchors, not {mask}"))
    _check_map("yolo_loss", x, len(mask) * (5 + class_num))
    n, _, height, width = x.shape
    if len(gt_box.shape) != 3 or differ(gt_box.shape, [n, gt_box.shape[1], 4]):
        raise _C.located(ValueError(f"yolo_loss: gt_box must be [{n}, B, 4]; it is {list(gt_box.shape)}"))
    boxes = gt_box.shape[1]
    for what, given in (("gt_label", gt_label), ("gt_score", gt_score)):
        if given is not None and differ(given.shape, [n, boxes]):
            raise _C.located(ValueError(f"yolo_loss: {what} must be [{n}, {boxes}]; it is {list(given.shape)}"))
    m, kind = len(mask), x.dtype
    score = _C.ops.full([n, boxes], 1.0, kind) if gt_score is None else gt_score
    x = x.reshape([n, m, 5 + class_num, height, width])
    with no_grad():
        truth = _Truth(gt_box, every, mask, (height, width), downsample_ratio)
        free = _free(x, truth, [every[i] for i in mask], (height, width), downsample_ratio, scale_x_y, ignore_thresh)
        # The last box of a cell says how much its confidence weighs; those of no cell go to one beyond the end.
        cells = n * m * height * width
        index = _C.ops.where(truth.here, truth.cell, truth.cell * 0 + cells).reshape([-1])
        free = _C.ops.concat([free.reshape([-1]), _C.ops.full([1], 0.0, kind)], 0)
        weight = _C.ops.scatter(free, index, score.reshape([-1]), True)[:-1].reshape([n, m, height, width])
    seen = _C.ops.transpose(x, [0, 1, 3, 4, 2]).reshape([cells, 5 + class_num])
    seen = _C.ops.gather(seen, truth.cell.reshape([-1]), 0).reshape([n, boxes, 5 + class_num])
    used = score * truth.here.astype(kind)
    size = used * (2.0 - truth.w * truth.h)
    tx, ty, tw, th = truth.wanted
    places = _entropy(seen[:, :, 0], tx) + _entropy(seen[:, :, 1], ty)
    places = places + _C.ops.abs(seen[:, :, 2] - tw) + _C.ops.abs(seen[:, :, 3] - th)
    smooth = min(1.0 / class_num, 1.0 / 40) if use_label_smooth else 0.0
    wanted = _C.ops.one_hot(gt_label, class_num).astype(kind) * (1.0 - 2.0 * smooth) + smooth
    classes = _entropy(seen[:, :, 5:], wanted).sum(-1)
    confidence = x[:, :, 4]
    is_box, is_none = (weight > 1e-5).astype(kind), (weight > -0.5).logical_and(weight <= 1e-5).astype(kind)
    sure = _entropy(confidence, 1.0) * weight * is_box + _entropy(confidence, 0.0) * is_none
    return (places * size + classes * used).sum(1) + sure.sum([1, 2, 3])


class _Truth:
    """True boxes, [N, B] each: whether it is one of this map, its cell, and what should be predicted there."""

    def __init__(self, gt_box, every, mask, grid, downsample_ratio):
        height, width = grid
        kind = gt_box.dtype
        self.x, self.y, self.w, self.h = (gt_box[:, :, i] for i in range(4))
        self.valid = (self.w > 1e-6).logical_and(self.h > 1e-6)
        side = downsample_ratio * height * 1.0
        sizes = [_C.to_tensor([a[i] for a in every], dtype=kind) for i in (0, 1)]
        w, h = self.w.unsqueeze(-1), self.h.unsqueeze(-1)
        best = _C.ops.argmax(_shared_part(w, h, sizes[0] / side, sizes[1] / side, w * 0.0, h * 0.0), -1)
        place = _C.to_tensor([mask.index(i) if i in mask else -1 for i in range(len(every))], dtype=_C.int64)
        place = _C.ops.gather(place, best.reshape([-1]), 0).reshape(best.shape)
        self.here = self.valid.logical_and(place >= 0)
        column, row = _cell(self.x, width), _cell(self.y, height)
        image = upto(gt_box.shape[0], _C.int64).unsqueeze(1)
        self.cell = ((image * len(mask) + _C.ops.clip(place, 0, None)) * height + row) * width + column
        anchor = [_C.ops.gather(s, best.reshape([-1]), 0).reshape(best.shape) for s in sizes]
        one = _C.ops.full([1], 1.0, kind)
        self.wanted = (
            self.x * height - column.astype(kind),
            self.y * height - row.astype(kind),
            _C.ops.log(_C.ops.where(self.here, self.w * side / anchor[0], one)),
            _C.ops.log(_C.ops.where(self.here, self.h * side / anchor[1], one)),
        )


def _cell(place, count):
    """In which of `count` cells a part of the whole lies; the last for 1."""
    cell = _C.ops.clip((place * count).astype(_C.int64), 0, None)
    return cell - _C.ops.clip(cell - (count - 1), 0, None)


def _free(x, truth, anchors, grid, downsample_ratio, scale, ignore_thresh):
    """-1 for predicted boxes that overlap a true one by more than the threshold, 0 for others: [N, M, H, W]."""
    px, py, pw, ph = (v.unsqueeze(-1) for v in _located(x, anchors, grid, downsample_ratio, scale))
    tx, ty, tw, th = (v.reshape([v.shape[0], 1, 1, 1, -1]) for v in (truth.x, truth.y, truth.w, truth.h))
    near = _shared_part(pw, ph, tw, th, px - tx, py - ty) > ignore_thresh
    near = near.logical_and(truth.valid.reshape([truth.valid.shape[0], 1, 1, 1, -1]))
    return _C.ops.scale(near.any(-1).astype(x.dtype), -1.0)
