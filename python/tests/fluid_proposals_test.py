"""Proposals, pyramids and what a RetinaNet gives: against loops of NumPy, and a whole half of a Faster R-CNN that trains."""

import numpy as np
import pytest

from proa import fluid
from proa.fluid import layers

_RNG = np.random.RandomState(8)


def _run(build, steps=1, **feed):
    main, start = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, start):
        fetches = build()
        exe = fluid.Executor()
        exe.run(start)
        runs = [exe.run(main, feed=feed, fetch_list=fetches) for _ in range(steps)]
        return runs[0] if steps == 1 else runs


def _sequences(rows, lengths):
    return fluid.create_lod_tensor(rows, [lengths])


def _boxes(n, size=100.0):
    corners = np.sort(_RNG.rand(n, 2, 2) * size, 1)
    corners[:, 1] += 3
    return corners.reshape(n, 4).astype("float32")


def test_anchor_generator():
    build = lambda: list(layers.anchor_generator(fluid.data("x", [1, 1, 2, 3]), 32.0, [0.5, 1.0], stride=[16.0, 8.0]))
    anchors, variances = _run(build, x=np.zeros([1, 1, 2, 3], "float32"))
    assert anchors.shape == variances.shape == (2, 3, 2, 4)
    assert (variances == np.float32([0.1, 0.1, 0.2, 0.2])).all()
    with fluid.program_guard(fluid.Program()), pytest.raises(ValueError, match="anchor_generator: stride is missing"):
        layers.anchor_generator(fluid.data("x", [1, 1, 2, 3]), [32.0], [1.0])


def _level(box):
    side = np.sqrt((box[2:] - box[:2] + 1).prod())
    return int(np.clip(np.floor(np.log2(side / 56 + 1e-8) + 4), 2, 5))


def test_pyramids():
    """Distributed and collected again: each box with its image, the best of all."""
    counts = [7, 0, 5]
    rois = _boxes(12, 400.0)

    def build():
        rows = fluid.data("rois", [None, 4], lod_level=1)
        levels, restore = layers.distribute_fpn_proposals(rows, 2, 5, 4, 56)
        worth = [layers.reduce_sum(level, dim=1, keep_dim=True) for level in levels]  # of sequences as its level
        whole = layers.collect_fpn_proposals(levels, worth, 2, 5, 8)
        return [*levels, restore, whole, layers.sequence_pool(whole, "sum")]

    *levels, restore, whole, sums = _run(build, rois=_sequences(rois, counts))
    where = np.array([_level(r) for r in rois])
    assert len(set(where)) > 1
    for level, found in zip(range(2, 6), levels, strict=True):
        np.testing.assert_array_equal(found, rois[where == level])
    np.testing.assert_array_equal(np.concatenate(levels)[restore[:, 0]], rois)
    worth = rois.sum(1)
    best = np.argsort(-worth)[:8]
    images = np.repeat([0, 1, 2], counts)
    for i in range(3):
        mine = rois[[k for k in best if images[k] == i]]
        np.testing.assert_allclose(sums[i], mine.sum(0) if len(mine) else np.zeros(4), rtol=1e-5)
    assert sorted(map(tuple, whole)) == sorted(map(tuple, rois[best]))


def _share(a, b):
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]) + 1, 0)
    return sides.prod() / ((a[2:] - a[:2] + 1).prod() + (b[2:] - b[:2] + 1).prod() - sides.prod())


@pytest.mark.parametrize("keep", [100, 4])
def test_retinanet_detection_output(keep):
    sizes, classes = [12, 5], 3
    anchors = [_boxes(n, 60.0) for n in sizes]
    codes = [(_RNG.randn(2, n, 4) * 0.2).astype("float32") for n in sizes]
    scores = [_RNG.rand(2, n, classes).astype("float32") for n in sizes]
    info = np.array([[60, 80, 2.0], [90, 60, 1.0]], "float32")

    def build():
        given = [
            [fluid.data(f"{what}{i}", [None, n, k]) for i, n in enumerate(sizes)]
            for what, k in (("codes", 4), ("scores", classes))
        ]
        around = [fluid.data(f"anchors{i}", [n, 4]) for i, n in enumerate(sizes)]
        found = layers.retinanet_detection_output(*given, around, fluid.data("info", [None, 3]), 0.3, 20, keep, 0.4)
        return [found, layers.sequence_pool(found, "sum")]

    feed = {f"{w}{i}": v[i] for w, v in (("codes", codes), ("scores", scores), ("anchors", anchors)) for i in (0, 1)}
    found, sums = _run(build, info=info, **feed)
    rows, totals = [], []
    for i in range(2):
        candidates = []
        for level, (c, s, a) in enumerate(zip(codes, scores, anchors, strict=True)):
            pairs = [
                (s[i, k, j], k, j) for k in range(len(a)) for j in range(classes) if s[i, k, j] > (0.3, 0.0)[level]
            ]
            for score, k, j in sorted(pairs, reverse=True)[:20]:
                side = a[k, 2:] - a[k, :2] + 1
                middle = c[i, k, :2] * side + a[k, :2] + side / 2
                half = np.exp(c[i, k, 2:]) * side / 2
                box = np.concatenate([middle - half, middle + half - 1]) / info[i, 2]
                most = np.round(info[i, [1, 0, 1, 0]] / info[i, 2]) - 1
                candidates.append((score, j + 1, np.clip(box, 0, most)))
        stay = []
        for label in range(1, classes + 1):
            mine = []
            for score, _, box in sorted((c for c in candidates if c[1] == label), key=lambda c: -c[0]):
                if all(_share(box, other) <= 0.4 for _, _, other in mine):
                    mine.append((score, label, box))
            stay += mine
        stay = sorted(stay, key=lambda c: -c[0])[:keep]
        image = [[label, score, *box] for score, label, box in sorted(stay, key=lambda c: (c[1], -c[0]))]
        rows += image
        totals.append(np.sum(image, 0))
    assert 4 < len(rows)
    np.testing.assert_allclose(found, rows, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(sums, totals, rtol=1e-4)


def test_both_halves_of_a_detector_train():
    """A network of proposals and a head over its proposals, as scripts of 1.8 write them: the loss falls."""
    image = _RNG.rand(2, 3, 32, 32).astype("float32")
    truth = np.array([[4, 4, 14, 15], [16, 10, 30, 28], [2, 12, 20, 30]], "float32")
    classes = np.int32([[1], [2], [1]])
    for (x1, y1, x2, y2), k, i in zip(truth.astype(int), classes[:, 0], [0, 0, 1], strict=True):
        image[i, k, y1:y2, x1:x2] += 2.0

    def build():
        fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = 3
        x, info = fluid.data("x", [None, 3, 32, 32]), fluid.data("info", [None, 3])
        boxes, label, crowd = (
            fluid.data(name, [None, size], dtype, lod_level=1)
            for name, size, dtype in [("boxes", 4, "float32"), ("label", 1, "int32"), ("crowd", 1, "int32")]
        )
        body = layers.conv2d(x, 16, 3, stride=2, padding=1, act="relu")
        body = layers.conv2d(body, 16, 3, stride=2, padding=1, act="relu")
        anchors, variances = layers.anchor_generator(body, [8.0, 16.0], [1.0], (1.0, 1.0, 1.0, 1.0), [4.0, 4.0])
        score, delta = layers.conv2d(body, 2, 1), layers.conv2d(body, 8, 1)
        rois, _ = layers.generate_proposals(layers.sigmoid(score), delta, info, anchors, variances, 60, 20, 0.7, 2.0)
        flat = [layers.reshape(layers.transpose(v, [0, 2, 3, 1]), [0, -1, k]) for v, k in ((score, 1), (delta, 4))]
        anchors = layers.reshape(anchors, [-1, 4])
        s, p, wanted, codes, weight = layers.rpn_target_assign(
            flat[1], flat[0], anchors, variances, boxes, crowd, info, 32, -1.0, 0.5, 0.6, 0.3, use_random=False
        )
        first = layers.reduce_mean(layers.sigmoid_cross_entropy_with_logits(s, layers.cast(wanted, "float32")))
        first += layers.reduce_mean(layers.square(p - codes) * weight)
        rois, labels, codes, inside, outside = layers.generate_proposal_labels(
            rois, label, crowd, boxes, info, 16, 0.5, 0.5, 0.5, 0.0, class_nums=3, use_random=False
        )
        pooled = layers.roi_align(body, rois, 3, 3, 0.25)
        head = layers.fc(pooled, 32, act="relu")
        second = layers.reduce_mean(layers.softmax_with_cross_entropy(layers.fc(head, 3), layers.cast(labels, "int64")))
        second += layers.reduce_mean(layers.smooth_l1(layers.fc(head, 12), codes, inside, outside))
        loss = first + second
        fluid.optimizer.Adam(0.01).minimize(loss)
        return [loss]

    info = np.float32([[32, 32, 1.0], [32, 32, 1.0]])
    feed = {"boxes": _sequences(truth, [2, 1]), "label": _sequences(classes, [2, 1])}
    losses = [
        float(np.reshape(run[0], [-1])[0])
        for run in _run(build, 40, x=image, info=info, crowd=_sequences(classes * 0, [2, 1]), **feed)
    ]
    assert np.isfinite(losses).all() and np.mean(losses[-5:]) < 0.5 * losses[0], losses
