"""What detectors of PaddlePaddle 1.8 are trained towards, by loops over pairs of boxes, and the boxes of three images."""

import numpy as np

_RNG = np.random.RandomState(5)
LENGTHS = np.array([3, 1, 2])  # truths of three images
IMAGES, CLASSES = len(LENGTHS), 4
INFO = np.array([[48, 64, 2.0], [64, 64, 1.0], [64, 48, 0.5]], "float32")


def boxes(n, size, least=4.0):
    corners = np.sort(_RNG.rand(n, 2, 2) * size, 1)
    corners[:, 1] += least
    return corners.reshape(n, 4).astype("float32")


ANCHORS = np.concatenate([boxes(30, 50), np.array([[-9, -9, 12, 12], [40, 40, 90, 90]], "float32")])
N = len(ANCHORS)
TRUTH = np.concatenate([ANCHORS[[3, 7, 11]] / 2 + 0.4, ANCHORS[[5]] + 1, ANCHORS[[2, 9]] * 2 - 1]).astype("float32")
CROWD = np.array([[0], [0], [1], [0], [0], [0]], "int32")
LABEL = np.array([[1], [3], [2], [2], [1], [3]], "int32")
ROIS_OF = np.array([5, 6, 4])
ROIS = np.concatenate([ANCHORS[[3, 7, 11, 20, 21]], ANCHORS[[5, 6, 8, 22, 23, 24]] + 1, ANCHORS[[2, 9, 25, 26]] + 0.5])


def overlap(a, b):
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]) + 1, 0)
    shared = sides.prod()
    return shared / ((a[2:] - a[:2] + 1).prod() + (b[2:] - b[:2] + 1).prod() - shared)


def code(box, truth, weights=(1, 1, 1, 1)):
    side, wanted = box[2:] - box[:2] + 1, truth[2:] - truth[:2] + 1
    middle = truth[:2] + wanted / 2 - box[:2] - side / 2
    return np.concatenate([middle / side, np.log(wanted / side)]) / np.array(weights)


def parts(rows, lengths):
    return np.split(rows, np.cumsum(lengths)[:-1])


def anchors_of_image(truths, info, high, low, straddle=-1.0, positives=None, most=None):
    """(places, their truths, which of them count, positive ones, negative ones, nearest truths) of an image, as lists of numbers.

    truths: those that count, as the network sees them. positives, most: how many there are at most; None: all.
    """
    inside = [
        i
        for i, a in enumerate(ANCHORS)
        if straddle < 0 or (a[:2] >= -straddle).all() and a[2] < info[1] + straddle and a[3] < info[0] + straddle
    ]
    table = {i: [overlap(ANCHORS[i], t) for t in truths] for i in inside}
    highest = [max(table[i][t] for i in inside) for t in range(len(truths))]
    best = [
        i
        for i in inside
        if max(table[i], default=-1) >= high or any(abs(v - h) < 1e-5 for v, h in zip(table[i], highest, strict=True))
    ]
    best = best if most is None else best[:positives]
    negative = [i for i in inside if max(table[i], default=-1) < low]
    negative = negative if most is None else negative[: most - len(best)]
    fakes = [i for i in best if i in negative]
    positive = [i for i in best if i not in negative]
    nearest = {i: int(np.argmax(table[i])) for i in best}
    places = best[:1] * len(fakes) + positive
    return places, [nearest[i] for i in places], [0] * len(fakes) + [1] * len(positive), positive, negative, nearest


def anchor_targets(high, low, lengths=LENGTHS, truth=TRUTH, crowd=CROWD, label=LABEL, **options):
    """(LocationIndex, ScoreIndex, TargetLabel, TargetBBox, BBoxInsideWeight) of all images, with lengths of the first two."""
    found = [[], [], [], [], []]
    counts = [[], []]
    for i, (boxes_of, is_crowd, classes) in enumerate(
        zip(*(parts(v, lengths) for v in (truth, crowd, label)), strict=True)
    ):
        counted = is_crowd[:, 0] == 0
        truths, classes = boxes_of[counted] * INFO[i, 2], classes[counted, 0]
        places, of, real, positive, negative, nearest = anchors_of_image(truths, INFO[i], high, low, **options)
        found[0] += [p + i * N for p in places]
        found[1] += [p + i * N for p in positive + negative]
        found[2] += [classes[nearest[p]] for p in positive] + [0] * len(negative)
        found[3] += [code(ANCHORS[p], truths[t]) for p, t in zip(places, of, strict=True)]
        found[4] += [[r] * 4 for r in real]
        counts[0].append(len(places))
        counts[1].append(len(positive + negative))
    return [np.array(found[0]), np.array(found[1]), np.reshape(found[2], [-1, 1]), np.reshape(found[3], [-1, 4]), np.reshape(found[4], [-1, 4])], counts  # fmt: skip


def proposal_targets(lengths=LENGTHS, rois_of=ROIS_OF, before=None, **options):
    """(rois, labels, codes, weights, overlaps) of all images, and how many each has; `before`: overlaps of the stage before."""
    get = {"batch_size_per_im": 256, "fg_fraction": 0.25, "fg_thresh": 0.25, "bg_thresh_hi": 0.5, "bg_thresh_lo": 0.0,
           "bbox_reg_weights": [0.1, 0.1, 0.2, 0.2], "is_cls_agnostic": False, "is_cascade_rcnn": False, **options}  # fmt: skip
    found, counts = [[], [], [], [], []], []
    images = zip(*(parts(v, lengths) for v in (TRUTH, CROWD, LABEL)), parts(ROIS, rois_of), strict=True)
    stages = parts(np.zeros(len(ROIS)) if before is None else before, rois_of)
    for i, (truths, crowd, classes, rois) in enumerate(images):
        counts.append(0)
        if not len(rois):
            continue
        rois = rois / INFO[i, 2]
        if get["is_cascade_rcnn"]:
            rois = rois[stages[i] < 1] if (stages[i] < 1).any() else np.zeros([1, 4])
        proposals = [*truths, *rois]
        table = [[overlap(b, t) for t in truths] for b in proposals]
        best = [-1 if k < len(truths) and crowd[k, 0] else max(row) for k, row in enumerate(table)]
        positive = [k for k, v in enumerate(best) if v >= get["fg_thresh"]]
        negative = [
            k for k, v in enumerate(best) if get["bg_thresh_lo"] <= v < get["bg_thresh_hi"] and k not in positive
        ]
        if not get["is_cascade_rcnn"]:
            positive = positive[: int(get["batch_size_per_im"] * get["fg_fraction"])]
            negative = negative[: get["batch_size_per_im"] - len(positive)]
        for k in positive + negative:
            nearest = int(np.argmax(table[k]))
            label = classes[nearest, 0] if k in positive else 0
            row, mine = np.zeros([2, CLASSES, 4])
            if label:
                slot = 1 if get["is_cls_agnostic"] else label
                row[slot] = code(proposals[k], truths[nearest], get["bbox_reg_weights"])
                mine[slot] = 1
            for values, value in zip(
                found, (proposals[k] * INFO[i, 2], [label], row.ravel(), mine.ravel(), max(table[k])), strict=True
            ):
                values.append(value)
            counts[-1] += 1
    return [np.array(v) for v in found], counts
