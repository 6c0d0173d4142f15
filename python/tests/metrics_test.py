"""Metrics, beside scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics as reference

import proa
from proa import metric


def test_accuracy():
    m = metric.Accuracy(topk=(1, 2))
    scores = proa.to_tensor([[0.1, 0.7, 0.2], [0.5, 0.1, 0.4], [0.2, 0.3, 0.5]])
    assert m.update(m.compute(scores, proa.to_tensor([1, 2, 0]))) == pytest.approx([1 / 3, 2 / 3])
    hot = proa.to_tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    m.update(m.compute(scores, hot))
    assert m.accumulate() == pytest.approx([4 / 6, 5 / 6]) and m.name() == ["acc_top1", "acc_top2"]
    m.reset()
    assert m.accumulate() == [0.0, 0.0]
    assert metric.accuracy(scores, proa.to_tensor([[1], [2], [0]]), k=2).item() == pytest.approx(2 / 3)


def test_binary_metrics():
    random = np.random.default_rng(0)
    scores, labels = random.random(500), random.integers(0, 2, 500)
    scores = np.clip(scores + 0.2 * labels, 0, 1)
    precision, recall, auc = metric.Precision(), metric.Recall(), metric.Auc()
    for part in np.split(np.arange(500), 5):
        for m in (precision, recall, auc):
            m.update(scores[part], labels[part])
    called = (scores >= 0.5).astype(int)
    assert precision.accumulate() == pytest.approx(reference.precision_score(labels, called))
    assert recall.accumulate() == pytest.approx(reference.recall_score(labels, called))
    assert auc.accumulate() == pytest.approx(reference.roc_auc_score(labels, scores), abs=1e-3)
    auc.reset()
    assert auc.accumulate() == 0.0
    with pytest.raises(ValueError, match="in \\[0, 1\\]"):
        auc.update(np.array([1.5]), np.array([1]))


def test_area_of_precision_over_recall():
    random = np.random.default_rng(1)
    for positive in (0.5, 0.05):
        # Multiples of 1/64, so that the histogram loses nothing.
        scores, labels = random.integers(0, 65, 400) / 64, (random.random(400) < positive).astype(int)
        area = metric.Auc("PR", num_thresholds=64)
        for part in np.split(np.arange(400), 4):
            area.update(np.stack([1 - scores[part], scores[part]], 1), labels[part, None])
        precision, recall, _ = reference.precision_recall_curve(labels, scores)
        assert area.accumulate() == pytest.approx(reference.auc(recall, precision), abs=1e-12)
    area.reset()
    area.update(np.array([0.1, 0.9]), np.array([0, 0]))
    assert area.accumulate() == 0.0  # without a positive
    with pytest.raises(ValueError, match="curve must be"):
        metric.Auc(curve="pr")


def test_scores_of_a_half():
    """As in PaddlePaddle 3.3: Precision takes 0.5 for positive, Recall rounds it to the even number, 0."""
    scores, labels = np.float32([0.5, 0.5, 0.4, 0.6]), np.array([1, 0, 1, 1])
    precision, recall = metric.Precision(), metric.Recall()
    precision.update(proa.to_tensor(scores), labels), recall.update(proa.to_tensor(scores), labels)
    assert (precision.tp, precision.fp, recall.tp, recall.fn) == (2, 1, 1, 2)
