"""References of proposals, box by box."""

import math

import numpy as np

from ops.conformance.samples import Sample
from ops.vision.suppression_samples import _boxes, _falling, _greedy

TOLERANCE = {"generate_proposals": {"float32": (1e-4, 1e-4)}}


def reference_generate_proposals(
    scores, bbox_deltas, img_size, anchors, variances, img_scale=None, pre_nms_top_n=6000, post_nms_top_n=1000, nms_thresh=0.5,
    min_size=0.1, eta=1.0, pixel_offset=False,
):  # fmt: skip
    more = 1.0 if pixel_offset else 0.0
    anchors, variances = anchors.reshape(-1, 4), variances.reshape(-1, 4)
    rois, probs, counts = [], [], []
    for n in range(len(scores)):
        a, h, w = scores.shape[1:]
        values = scores[n].transpose(1, 2, 0).ravel()
        codes = bbox_deltas[n].reshape(a, 4, h, w).transpose(2, 3, 0, 1).reshape(-1, 4)
        order = _falling(values)
        found = []
        for i in order[:pre_nms_top_n] if pre_nms_top_n > 0 else order:
            sides = anchors[i, 2:] - anchors[i, :2] + more
            middle = variances[i, :2] * codes[i, :2] * sides + anchors[i, :2] + sides / 2
            lengths = np.exp(np.minimum(variances[i, 2:] * codes[i, 2:], math.log(1000 / 16))) * sides
            limit = img_size[n, ::-1]
            low = np.clip(middle - lengths / 2, 0, limit - more)
            high = np.clip(middle + lengths / 2 - more, 0, limit - more)
            sizes = high - low + more if img_scale is None else (high - low) / img_scale[n] + 1
            if (sizes < max(min_size, 1)).any() or more and ((low + high + more) / 2 > limit).any():
                continue
            found.append([*low, *high, values[i]])
        found = np.array(found).reshape(-1, 5)
        if not len(found):
            found = np.zeros((1, 5))
        elif nms_thresh > 0:
            kept = _greedy(found[:, :4], nms_thresh, more, eta)
            found = found[kept[:post_nms_top_n] if post_nms_top_n > 0 else kept]
        rois.append(found[:, :4])
        probs.append(found[:, 4:])
        counts.append(len(found))
    together = lambda parts, size: np.concatenate([np.zeros((0, size)), *parts])
    return together(rois, 4), together(probs, 1), np.array(counts, np.int32)


def samples_generate_proposals():
    rng = np.random.default_rng(4)
    for dtype in ("float32", "float64"):
        n, a, h, w = 2, 3, 4, 5
        make = lambda *shape, dtype=dtype: rng.standard_normal(shape).astype(dtype)
        sizes = np.array([[40, 50], [30, 60]], dtype)
        args = (
            make(n, a, h, w),
            make(n, 4 * a, h, w),
            sizes,
            _boxes(rng, h, w, a, dtype=dtype),
            rng.random((h, w, a, 4)).astype(dtype),
        )
        yield Sample(args)
        yield Sample((*args, None, 40, 7, 0.3, 4.0, 0.9, True))
        yield Sample((*args, None, 0, 0, 0.0, 4.0))
        yield Sample((*args, np.array([1.5, 0.5], dtype), 40, 7, 0.6, 4.0, 0.8, True))
        yield Sample((*args, None, 20, 5, 0.5, 1000.0))  # none is large enough


def _levels(rois, low, high, refer_level, refer_scale, pixel_offset):
    more = 1.0 if pixel_offset else 0.0
    for box in rois:
        w, h = box[2] - box[0], box[3] - box[1]
        size = 0.0 if w < 0 or h < 0 else math.sqrt((w + more) * (h + more))
        level = math.log2(size / refer_scale + 1e-6) + refer_level
        yield low if math.isnan(level) else int(min(max(math.floor(min(level, 1e9)), low), high))


def reference_distribute_fpn_proposals(
    fpn_rois, rois_num=None, min_level=2, max_level=5, refer_level=4, refer_scale=224, pixel_offset=False
):
    levels = np.array(list(_levels(fpn_rois, min_level, max_level, refer_level, refer_scale, pixel_offset)), int)
    return tuple(fpn_rois[levels == k] for k in range(min_level, max_level + 1))


def reference_fpn_levels(
    fpn_rois, rois_num=None, min_level=2, max_level=5, refer_level=4, refer_scale=224, pixel_offset=False
):
    levels = list(_levels(fpn_rois, min_level, max_level, refer_level, refer_scale, pixel_offset))
    by_level = [i for k in range(min_level, max_level + 1) for i in range(len(levels)) if levels[i] == k]
    images = np.repeat(np.arange(len(rois_num)), rois_num) if rois_num is not None else np.zeros(len(levels), int)
    counts = [[sum(1 for i, k in enumerate(levels) if k == level and images[i] == n)
               for n in range(1 if rois_num is None else len(rois_num))] for level in range(min_level, max_level + 1)]  # fmt: skip
    restore = np.array([by_level.index(i) for i in range(len(levels))], np.int32)
    return restore.reshape(-1, 1), np.array(counts, np.int32)


def samples_distribute_fpn_proposals():
    rng = np.random.default_rng(5)
    for dtype in ("float32", "float64"):
        yield Sample((_boxes(rng, 30, side=300.0, dtype=dtype),))
        yield Sample((_boxes(rng, 30, side=300.0, dtype=dtype), None, 3, 6, 4, 64, True))


def samples_fpn_levels():
    for sample in samples_distribute_fpn_proposals():
        yield sample
        yield Sample((sample.args[0], np.array([11, 0, 19], np.int64), *sample.args[2:]))


def reference_bipartite_match(x, match_type="bipartite", dist_threshold=0.5):
    matrices = x[None] if x.ndim == 2 else x
    shape = (len(matrices), matrices.shape[2])
    indices, distances = np.full(shape, -1, np.int32), np.zeros(shape)
    for n, m in enumerate(matrices):
        left = np.where(np.isnan(m), -1.0, m)
        while left.size and left.max() >= 1e-6:  # the first column of the largest, and there the first row
            c, r = np.unravel_index(np.argmax(left.T), left.T.shape)
            indices[n, c], distances[n, c] = r, left[r, c]
            left[r], left[:, c] = -1, -1
        for c in range(shape[1]) if match_type == "per_prediction" else ():
            column = np.where(np.isnan(m[:, c]), -1.0, m[:, c])
            if indices[n, c] < 0 and column.size and column.max() >= max(dist_threshold, 1e-6):
                indices[n, c], distances[n, c] = np.argmax(column), column.max()
    return indices, distances


def samples_bipartite_match():
    rng = np.random.default_rng(6)
    for shape in ((6, 9), (2, 140, 5)):
        yield Sample((rng.random(shape).round(1),))  # many of the same
        yield Sample((rng.random(shape).astype("float32"), "per_prediction", 0.7))
