"""References of YOLO's boxes and loss, cell by cell."""

import math

import numpy as np

from ops.conformance.samples import Sample

TOLERANCE = {
    name: {"float32": (1e-4, 1e-4)} for name in ("yolo_box", "yolo_loss", "yolo_loss_grad", "yolo_loss_curvature")
}


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def reference_yolo_box(
    x, img_size, anchors, class_num, conf_thresh=0.01, downsample_ratio=32, clip_bbox=True, scale_x_y=1.0, iou_aware=False,
    iou_aware_factor=0.5,
):  # fmt: skip
    count = len(anchors) // 2
    n, _, height, width = x.shape
    boxes, scores = np.zeros((n, count, height, width, 4)), np.zeros((n, count, height, width, class_num))
    for image, a, i, j in np.ndindex(n, count, height, width):
        first = (count if iou_aware else 0) + a * (5 + class_num)
        v = x[image, first : first + 5 + class_num, i, j]
        sure = _sigmoid(v[4])
        if iou_aware:
            sure = sure ** (1 - iou_aware_factor) * _sigmoid(x[image, a, i, j]) ** iou_aware_factor
        if sure < conf_thresh:
            continue
        image_h, image_w = (float(s) for s in img_size[image])
        middle_x = (j + _sigmoid(v[0]) * scale_x_y - (scale_x_y - 1) / 2) * image_w / width
        middle_y = (i + _sigmoid(v[1]) * scale_x_y - (scale_x_y - 1) / 2) * image_h / height
        w = math.exp(v[2]) * anchors[2 * a] * image_w / (width * downsample_ratio) if v[2] < 700 else math.inf
        h = math.exp(v[3]) * anchors[2 * a + 1] * image_h / (height * downsample_ratio) if v[3] < 700 else math.inf
        box = [middle_x - w / 2, middle_y - h / 2, middle_x + w / 2, middle_y + h / 2]
        if clip_bbox:
            limits = (0.0, 0.0, image_w - 1, image_h - 1)
            box = [limits[k] if (v < limits[k] if k < 2 else v > limits[k]) else v for k, v in enumerate(box)]
        boxes[image, a, i, j] = box
        scores[image, a, i, j] = sure * _sigmoid(v[5:])
    return boxes.reshape(n, -1, 4) if n else boxes.reshape(0, count * height * width, 4), scores.reshape(
        n, count * height * width, class_num
    )


def _shared(a, b):
    """Of boxes x, y, w, h, their middles and sides."""
    inner = [
        min(a[k] + a[k + 2] / 2, b[k] + b[k + 2] / 2) - max(a[k] - a[k + 2] / 2, b[k] - b[k + 2] / 2) for k in (0, 1)
    ]
    common = 0.0 if min(inner) < 0 else inner[0] * inner[1]
    return common / (a[2] * a[3] + b[2] * b[3] - common)


def _terms(
    x, gt_box, gt_label, gt_score, anchors, anchor_mask, class_num, ignore_thresh=0.7, downsample_ratio=32, use_label_smooth=True,
    scale_x_y=1.0,
):  # fmt: skip
    """(element of x, what it should be, weight, whether it is an entropy) of each term of the loss."""
    n, _, height, width = x.shape
    maps = len(anchor_mask)
    off = min(1 / class_num, 1 / 40) if use_label_smooth else 0.0
    side = lambda a, k, cells: anchors[2 * a + k] / (downsample_ratio * cells)
    channel = lambda m, k: m * (5 + class_num) + k
    for image in range(n):
        weight = np.zeros((maps, height, width))
        true = [b for b in range(gt_box.shape[1]) if gt_box[image, b, 2] > 1e-6 and gt_box[image, b, 3] > 1e-6]
        for m, i, j in np.ndindex(maps, height, width):
            v = x[image, channel(m, 0) : channel(m, 4), i, j]
            bias = (1 - scale_x_y) / 2
            predicted = [
                (j + _sigmoid(v[0]) * scale_x_y + bias) / width,
                (i + _sigmoid(v[1]) * scale_x_y + bias) / height,
                math.exp(v[2]) * side(anchor_mask[m], 0, width),
                math.exp(v[3]) * side(anchor_mask[m], 1, height),
            ]
            if any(_shared(predicted, gt_box[image, b]) > ignore_thresh for b in true):
                weight[m, i, j] = -1
        for b in true:
            px, py, w, h = gt_box[image, b]
            shapes = [
                _shared([0, 0, w, h], [0, 0, side(a, 0, height), side(a, 1, height)]) for a in range(len(anchors) // 2)
            ]
            best = int(np.argmax(shapes))
            if best not in anchor_mask:
                continue
            m = list(anchor_mask).index(best)
            i, j = min(max(int(py * height), 0), height - 1), min(max(int(px * width), 0), width - 1)
            score = 1.0 if gt_score is None else gt_score[image, b]
            weight[m, i, j] = score
            place = score * (2 - w * h)
            at = lambda k, m=m, i=i, j=j: (image, channel(m, k), i, j)
            yield at(0), px * height - j, place, True
            yield at(1), py * height - i, place, True
            yield at(2), math.log(w / side(best, 0, height)), place, False
            yield at(3), math.log(h / side(best, 1, height)), place, False
            for c in range(class_num):
                yield at(5 + c), 1 - off if c == gt_label[image, b] else off, score, True
        for m, i, j in np.ndindex(maps, height, width):
            if weight[m, i, j] > 1e-5:
                yield (image, channel(m, 4), i, j), 1.0, weight[m, i, j], True
            elif weight[m, i, j] > -0.5:
                yield (image, channel(m, 4), i, j), 0.0, 1.0, True


def reference_yolo_loss(x, *args, **named):
    out = np.zeros(len(x))
    for at, wanted, weight, is_entropy in _terms(x, *args, **named):
        s = _sigmoid(x[at])
        entropy = -wanted * np.log(s) - (1 - wanted) * np.log(1 - s)
        out[at[0]] += weight * (entropy if is_entropy else abs(x[at] - wanted))
    return out


def reference_yolo_loss_grad(dy, x, *args, **named):
    out = np.zeros(x.shape)
    for at, wanted, weight, is_entropy in _terms(x, *args, **named):
        out[at] += dy[at[0]] * weight * (_sigmoid(x[at]) - wanted if is_entropy else np.sign(x[at] - wanted))
    return out


def reference_yolo_loss_curvature(dy, x, *args, **named):
    out = np.zeros(x.shape)
    for at, _, weight, is_entropy in _terms(x, *args, **named):
        s = _sigmoid(x[at])
        out[at] += dy[at[0]] * weight * s * (1 - s) * is_entropy
    return out


_ANCHORS = [10, 13, 16, 30, 33, 23, 30, 61, 62, 45, 59, 119]


def samples_yolo_loss():
    rng = np.random.default_rng(9)
    for dtype in ("float32", "float64"):
        for height, width, more in (
            (4, 4, {}),
            (3, 5, {"use_label_smooth": False, "scale_x_y": 1.1, "ignore_thresh": 0.2}),
        ):
            box = rng.uniform(0.05, 0.9, (2, 5, 4)).astype(dtype)
            box[:, 2:4, 2:] /= 8
            box[0, 1] = box[0, 0]  # two of a cell
            box[1, 3] = 0  # none
            label = rng.integers(0, 3, (2, 5)).astype("int32")
            x = rng.standard_normal((2, 3 * (5 + 3), height, width)).astype(dtype)
            score = rng.random((2, 5)).astype(dtype) if more else None
            yield Sample((x, box, label, score, _ANCHORS, [0, 2, 4], 3), {"ignore_thresh": 0.4} | more)


def samples_yolo_loss_grad():
    for sample in samples_yolo_loss():
        dy = np.linspace(0.5, 1.5, len(sample.args[0])).astype(sample.args[0].dtype)
        yield Sample((dy, *sample.args), sample.kwargs)


samples_yolo_loss_curvature = samples_yolo_loss_grad
