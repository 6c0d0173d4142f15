"""Programs of PaddlePaddle 1.x that train SSD, and cascades: what boxes are matched with, which others are learnt from; against loops."""

import numpy as np
import pytest

from python.tests.reference_program import run

_R = np.random.RandomState(13)
_N, _P, _K = np.array([2, 0, 3]), 7, 4  # truths of three images, boxes, columns
_MATCH = np.where(_R.rand(3, _P) < 0.6, -1, _R.randint(0, 9, [3, _P]) % np.maximum(_N, 1)[:, None]).astype("int32")
_MATCH[1] = -1
_OTHERS, _OTHERS_OF = np.array([[0], [4], [6], [2]], "int32"), np.array([1, 2, 1])


@pytest.mark.parametrize("columns", [1, _P])
@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize("value", [0, 5])
def test_target_assign(columns, others, value):
    x = _R.randn(_N.sum(), columns, _K).astype("float32")
    inputs, lengths = {"X": x, "MatchIndices": _MATCH}, (_N,)
    if others:
        inputs, lengths = {**inputs, "NegIndices": _OTHERS}, (_N, _OTHERS_OF)
    found, _ = run(
        "target_assign", inputs, ["Out", "OutWeight"], 0, {"mismatch_value": value}, lengths, {"X": 1, "NegIndices": 1}
    )
    wanted, weights = np.full([3, _P, _K], value, "float32"), np.zeros([3, _P, 1], "float32")
    begins = np.cumsum(_N) - _N
    for i in range(3):
        for j in range(_P):
            if _MATCH[i, j] >= 0:
                wanted[i, j], weights[i, j] = x[begins[i] + _MATCH[i, j], j % columns], 1
    for i, place in zip(np.repeat(np.arange(3), _OTHERS_OF), _OTHERS[:, 0], strict=True):
        if others:
            wanted[i, place], weights[i, place] = value, 1
    np.testing.assert_array_equal(found[0], wanted)
    np.testing.assert_array_equal(found[1], weights)


def _mined(inputs, **attributes):
    outputs = {"NegIndices": "int32", "UpdatedMatchIndices": "int32"}
    return run("mine_hard_examples", inputs, outputs, 1, attributes, (), {})


_LOSS, _OTHER_LOSS, _DIST = (_R.rand(3, _P).astype("float32") for _ in range(3))


@pytest.mark.parametrize("ratio", [0.5, 1.0, 3.0])
def test_mining_of_negatives(ratio):
    inputs = {"ClsLoss": _LOSS, "MatchIndices": _MATCH, "MatchDist": _DIST}
    found, lengths = _mined(inputs, neg_pos_ratio=ratio, neg_dist_threshold=0.6, mining_type="max_negative")
    wanted = []
    for match, dist, loss in zip(_MATCH, _DIST, _LOSS, strict=True):
        may = [j for j in range(_P) if match[j] == -1 and dist[j] < np.float32(0.6)]
        most = int((match != -1).sum() * ratio)
        wanted.append(sorted(sorted(may, key=lambda j: -loss[j])[:most]))
    np.testing.assert_array_equal(found[0][:, 0], np.concatenate(wanted))
    np.testing.assert_array_equal(found[1], _MATCH)
    np.testing.assert_array_equal(lengths, [len(w) for w in wanted])
    assert lengths[1] == 0 < len(found[0])


@pytest.mark.parametrize("with_places", [False, True])
def test_mining_of_hard_examples(with_places):
    inputs = {"ClsLoss": _LOSS, "MatchIndices": _MATCH, "MatchDist": _DIST}
    inputs |= {"LocLoss": _OTHER_LOSS} if with_places else {}
    found, lengths = _mined(inputs, sample_size=4, mining_type="hard_example")
    wanted, matches = [], _MATCH.copy()
    for i, loss in enumerate(_LOSS + _OTHER_LOSS if with_places else _LOSS):
        best = np.argsort(-loss, kind="stable")[:4]
        wanted.append([j for j in range(_P) if j in best and _MATCH[i, j] == -1])
        matches[i] = [m if j in best else -1 for j, m in enumerate(_MATCH[i])]
    np.testing.assert_array_equal(found[0][:, 0], np.concatenate(wanted))
    np.testing.assert_array_equal(found[1], matches)
    np.testing.assert_array_equal(lengths, [len(w) for w in wanted])
    with pytest.raises(ValueError, match="mining_type must be max_negative or hard_example"):
        _mined(inputs, mining_type="none")


@pytest.mark.parametrize("classes", [1, 3])
def test_box_decoder_and_assign(classes):
    priors = np.sort(_R.rand(6, 2, 2) * 30, 1).reshape(6, 4).astype("float32")
    spread = np.float32([0.1, 0.1, 0.2, 0.2])
    codes, scores = _R.randn(6, 4 * classes).astype("float32") * 4, _R.rand(6, classes).astype("float32")
    inputs = {"PriorBox": priors, "PriorBoxVar": spread, "TargetBox": codes, "BoxScore": scores}
    found, _ = run(
        "box_decoder_and_assign",
        inputs,
        ["DecodeBox", "OutputAssignBox"],
        0,
        {"box_clip": 0.7},
        (),
        {},
        ("PriorBoxVar",),
    )
    wanted = np.zeros([6, classes, 4])
    for i, prior in enumerate(priors):
        sides = prior[2:] - prior[:2] + 1
        for j in range(classes):
            code = codes[i, 4 * j : 4 * j + 4] * spread
            middle, half = code[:2] * sides + prior[:2] + sides / 2, np.exp(np.minimum(code[2:], 0.7)) * sides / 2
            wanted[i, j] = np.concatenate([middle - half, middle + half - 1])
    np.testing.assert_allclose(found[0], wanted.reshape(6, -1), rtol=1e-4, atol=1e-4)
    best = wanted[np.arange(6), scores[:, 1:].argmax(1) + 1] if classes > 1 else priors
    np.testing.assert_allclose(found[1], best, rtol=1e-4, atol=1e-4)
