"""Matching, the loss and the output of detectors with prior boxes: against loops of NumPy."""

import numpy as np
import pytest

import proa
from proa import fluid
from proa.fluid import layers

_RNG = np.random.RandomState(12)
LENGTHS = [2, 1, 3]
PRIORS, CLASSES = 9, 4


def _boxes(n):
    corners = np.sort(_RNG.rand(n, 2, 2), 1).reshape(n, 4).astype("float32")
    corners[:, 2:] += 0.05
    return corners


PRIOR = _boxes(PRIORS)
VARIANCE = np.tile(np.array([[0.1, 0.1, 0.2, 0.2]], "float32"), [PRIORS, 1])
TRUTH, LABEL = _boxes(6), np.array([[1], [2], [3], [1], [3], [2]], "int64")
TRUTH[0] = PRIOR[3] + 0.01  # matches well


def _overlap(a, b):
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0)
    shared = sides.prod()
    return shared / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - shared)


def _split(rows):
    return np.split(rows, np.cumsum(LENGTHS)[:-1])


def _match(distances, kind, threshold):
    match, near = np.full(distances.shape[1], -1), np.zeros(distances.shape[1], "float32")
    left = distances.copy()
    for _ in range(len(left)):
        row, column = np.unravel_index(left.argmax(), left.shape)
        if left[row, column] <= 1e-6:
            break
        match[column], near[column] = row, left[row, column]
        left[row], left[:, column] = -1, -1
    if kind == "per_prediction":
        for column in np.flatnonzero(match < 0):
            row = distances[:, column].argmax()
            if distances[row, column] >= threshold:
                match[column], near[column] = row, distances[row, column]
    return match, near


def _distances():
    return [np.float32([[_overlap(a, b) for b in PRIOR] for a in truths]) for truths in _split(TRUTH)]


def _run(build, **feed):
    main = fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, fluid.Program()):
        return fluid.Executor().run(main, feed=feed, fetch_list=build())


@pytest.mark.parametrize(
    ("kind", "threshold"), [(None, None), ("bipartite", None), ("per_prediction", 0.05), ("per_prediction", None)]
)
def test_bipartite_match(kind, threshold):
    rows = fluid.create_lod_tensor(np.concatenate(_distances()), [LENGTHS])
    build = lambda: list(layers.bipartite_match(fluid.data("d", [None, PRIORS], lod_level=1), kind, threshold))
    match, near = _run(build, d=rows)
    for i, distances in enumerate(_distances()):
        wanted = _match(distances, kind, 0.5 if threshold is None else threshold)
        assert match[i].tolist() == wanted[0].tolist()
        np.testing.assert_allclose(near[i], wanted[1], rtol=1e-6)
    assert match.dtype == np.int32 and (match >= 0).sum() >= 6


@pytest.mark.parametrize("columns", [1, 3])
def test_target_assign(columns):
    values = _RNG.randint(1, 9, (6, columns, 2)).astype("float32")
    match = np.int32([[0, -1, 1], [-1, 0, -1], [2, 2, 0]])
    negatives = np.int32([[1], [0], [2]])

    def build():
        x = fluid.data("x", [None, columns, 2], lod_level=1)
        m, n = fluid.data("m", [None, 3], "int32"), fluid.data("n", [None, 1], "int32", lod_level=1)
        return [*layers.target_assign(x, m, mismatch_value=-5), *layers.target_assign(x, m, n)]

    found = _run(
        build, x=fluid.create_lod_tensor(values, [LENGTHS]), m=match, n=fluid.create_lod_tensor(negatives, [[1, 2, 0]])
    )
    for i, rows in enumerate(_split(values)):
        for j, row in enumerate(match[i]):
            wanted = rows[row, j % columns] if row >= 0 else np.full(2, -5)
            assert found[0][i, j].tolist() == wanted.tolist() and found[1][i, j].item() == float(row >= 0)
    assert found[2][0, 1].tolist() == [0, 0]
    assert found[3][..., 0].tolist() == [[1, 1, 1], [1, 1, 1], [1, 1, 1]]


def _encode(prior, variance, box):
    sizes, middle = prior[2:] - prior[:2], (prior[2:] + prior[:2]) / 2
    own = box[2:] - box[:2]
    return np.concatenate([((box[2:] + box[:2]) / 2 - middle) / sizes, np.log(own / sizes)]) / variance


def _loss(places, scores, ratio):
    """The loss of each image, by the steps of the paper."""
    losses, matches = [], 0
    for i, (distances, truths, labels) in enumerate(zip(_distances(), _split(TRUTH), _split(LABEL), strict=True)):
        match, _ = _match(distances, "per_prediction", 0.3)
        classes = [labels[m, 0] if m >= 0 else 0 for m in match]
        exp = np.exp(scores[i] - scores[i].max(1, keepdims=True))
        costs = -np.log(exp / exp.sum(1, keepdims=True))[np.arange(PRIORS), classes]
        positive = np.flatnonzero(match >= 0)
        others = sorted(np.flatnonzero(match < 0), key=lambda j, c=costs: -c[j])[: int(len(positive) * ratio)]
        loss = costs[positive].sum() + costs[others].sum()
        for j in positive:
            error = np.abs(places[i, j] - _encode(PRIOR[j], VARIANCE[j], truths[match[j]]))
            loss += np.where(error < 1, 0.5 * error**2, error - 0.5).sum()
        losses.append(loss)
        matches += len(positive)
    return np.array(losses), matches


@pytest.mark.parametrize("ratio", [3.0, 1.0])
def test_ssd_loss(ratio):
    """Its value, and its slopes by differences."""
    places = _RNG.randn(3, PRIORS, 4).astype("float32")
    scores = _RNG.randn(3, PRIORS, CLASSES).astype("float32") * 2

    def build():
        where = fluid.layers.data("where", [PRIORS, 4], stop_gradient=False)
        what = fluid.layers.data("what", [PRIORS, CLASSES], stop_gradient=False)
        truth, label = fluid.data("truth", [None, 4], lod_level=1), fluid.data("label", [None, 1], "int64", lod_level=1)
        prior, variance = fluid.data("prior", [PRIORS, 4]), fluid.data("variance", [PRIORS, 4])
        plain, normal = (
            layers.ssd_loss(
                where, what, truth, label, prior, variance, overlap_threshold=0.3, neg_pos_ratio=ratio, normalize=n
            )
            for n in (False, True)
        )
        return [plain, normal, *proa.static.gradients([layers.reduce_sum(plain)], [where, what])]

    lod = lambda rows: fluid.create_lod_tensor(rows, [LENGTHS])
    found = _run(build, where=places, what=scores, truth=lod(TRUTH), label=lod(LABEL), prior=PRIOR, variance=VARIANCE)
    wanted, matches = _loss(places.astype("float64"), scores.astype("float64"), ratio)
    np.testing.assert_allclose(found[0][:, 0], wanted, rtol=1e-4)
    np.testing.assert_allclose(found[1][:, 0], wanted / matches, rtol=1e-4)
    for number, slope in enumerate(found[2:]):
        for place in list(np.ndindex(slope.shape))[::7]:
            moved = []
            for step in (1e-5, -1e-5):
                given = [places.astype("float64"), scores.astype("float64")]
                given[number][place] += step
                moved.append(_loss(*given, ratio)[0].sum())
            assert abs(slope[place] - (moved[0] - moved[1]) / 2e-5) < 1e-3


def test_detection_output():
    """Codes of boxes give the boxes back; of two on one another the better stays."""
    boxes = np.float32([[0, 0, 0.4, 0.4], [0.02, 0, 0.4, 0.41], [0.5, 0.5, 0.9, 0.8]])
    prior, variance = PRIOR[:3], VARIANCE[:3]
    codes = np.float32([[_encode(p, v, b) for p, v, b in zip(prior, variance, boxes, strict=True)]])
    scores = np.float32([[[0, 3, 0], [0, 2, 0], [0, 0, 4]]])
    found = layers.detection_output(
        *map(proa.to_tensor, (codes, scores, prior, variance)), nms_threshold=0.5, score_threshold=0.3
    )
    found = found[0] if isinstance(found, (tuple, list)) else found
    rows = sorted(found.tolist())
    assert [row[0] for row in rows] == [1, 2]
    np.testing.assert_allclose([row[2:] for row in rows], boxes[[0, 2]], atol=1e-5)
    with pytest.raises(ValueError, match="mining_type must be 'max_negative'"):
        layers.ssd_loss(*[proa.zeros([1, 3, 4])] * 5, mining_type="hard_example")
    with pytest.raises(ValueError, match="match_type must be 'bipartite' or 'per_prediction', not 'other'"):
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            layers.bipartite_match(fluid.data("d", [None, 3], lod_level=1), "other")
