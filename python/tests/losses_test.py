"""Losses of nn.functional against NumPy and SciPy."""

import inspect

import numpy as np
import pytest
from scipy import special

import proa
from proa.nn import functional as F
from python.tests.checked_values import array, check_gradient, close, random, tensor


def log_softmax(x, axis=-1):
    return x - special.logsumexp(x, axis=axis, keepdims=True)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("column", [False, True])
def test_cross_entropy(reduction, weighted, column):
    x, label = array(6, 4), np.array([0, 3, -100, 1, 2, 3])
    weight = np.array([1.0, 2.0, 0.5, 3.0], "float32")
    kept = label != -100
    each = -log_softmax(x)[np.arange(6), np.where(kept, label, 0)] * kept
    places = kept * (weight[np.where(kept, label, 0)] if weighted else 1.0)
    each = each * (places if weighted else 1.0)
    expected = {"mean": each.sum() / places.sum(), "sum": each.sum(), "none": each}[reduction]
    given = label[:, None] if column else label
    logs = tensor(log_softmax(x))
    if not column:
        for labels in (label, label.reshape(-1, 1)):
            close(F.nll_loss(logs, tensor(labels), tensor(weight) if weighted else None, reduction=reduction), expected)
    if column and reduction == "none":
        expected = expected[:, None]
    probabilities = tensor(special.softmax(x, -1))
    # Without a weight a label is ignored in the mean only by a number that is not negative.
    for ignored in (-100, 7):
        divisor = 6 if ignored < 0 and not weighted else places.sum()
        wanted = each.sum() / divisor if reduction == "mean" else expected
        renamed = tensor(np.where(given == -100, ignored, given))
        how = {"weight": tensor(weight) if weighted else None, "reduction": reduction, "ignore_index": ignored}
        close(F.cross_entropy(tensor(x), renamed, **how), wanted)
        close(F.cross_entropy(probabilities, renamed, use_softmax=False, **how), wanted)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_weights_of_classes_get_gradients(reduction):
    x, label = array(6, 4).astype("float64"), tensor(np.array([0, 3, -100, 1, 3, 3]))
    weight, places = random.random(4) + 0.5, random.random(6)
    for loss, given in ((F.cross_entropy, x), (F.nll_loss, log_softmax(x))):
        run = lambda x, w: (loss(x, label, w, reduction=reduction) * tensor(places)).sum()
        check_gradient(run, given, weight)
    # What is no number in a class without places stays there.
    weight[2] = np.nan
    w = tensor(weight)
    w.stop_gradient = False
    F.cross_entropy(tensor(x), label, w).backward()
    assert w.grad[2].item() == 0 and np.isfinite(w.grad.numpy()).all()
    for loss in (F.cross_entropy, F.nll_loss):
        with pytest.raises(ValueError, match=r"weight must be \[4\]"):
            loss(tensor(x), label, tensor(np.ones(3), grad=True))


@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy_soft(weighted):
    x, label = array(3, 4), special.softmax(array(3, 4), -1)
    weight = np.array([1.0, 2.0, 0.5, 3.0], "float32")
    each = -(log_softmax(x) * label).sum(1, keepdims=True)
    places = (label * weight).sum(1, keepdims=True) if weighted else np.ones((3, 1))
    w = tensor(weight) if weighted else None
    close(F.cross_entropy(tensor(x), tensor(label), w, soft_label=True), (each * places).sum() / places.sum())
    close(F.cross_entropy(tensor(x), tensor(label), w, soft_label=True, reduction="none"), each * places)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", ["hard", "column", "soft"])
def test_cross_entropy_smoothed(weighted, form):
    x, label = array(4, 3, 5), np.random.default_rng(2).integers(0, 3, (4, 5))
    weight = np.array([1.0, 2.0, 0.5], "float32")
    ones = np.moveaxis(np.eye(3, dtype="float32")[label], -1, 1)
    soft = ones * 0.7 + 0.1
    places = np.einsum("ncl,c->nl", soft, weight) if weighted else np.ones((4, 5))
    each = -(soft * log_softmax(x, 1)).sum(1) * places
    given = {"hard": label, "column": label[:, None], "soft": ones}[form]
    for reduction, expected in [("mean", each.sum() / places.sum()), ("none", each[:, None])]:
        arguments = dict(reduction=reduction, axis=1, label_smoothing=0.3)
        arguments["weight"] = tensor(weight) if weighted else None
        close(F.cross_entropy(tensor(x), proa.to_tensor(given), **arguments), expected)
        close(proa.nn.CrossEntropyLoss(**arguments)(tensor(x), proa.to_tensor(given)), expected)
    with pytest.raises(ValueError, match="label_smoothing must be from 0 to 1, not 1.5"):
        F.cross_entropy(tensor(x), proa.to_tensor(given), axis=1, label_smoothing=1.5)


def test_cross_entropy_along_an_axis():
    x, label = array(2, 5, 3), random.integers(0, 5, (2, 3))
    expected = -np.take_along_axis(log_softmax(x, 1), label[:, None], 1)[:, 0]
    close(F.cross_entropy(tensor(x), tensor(label), axis=1, reduction="none"), expected)
    close(F.cross_entropy(tensor(x), tensor(label), axis=-2), expected.mean())
    close(F.nll_loss(tensor(log_softmax(x, 1)), tensor(label), reduction="none"), expected)


def test_cross_entropy_all_ignored():
    assert F.cross_entropy(tensor(array(2, 3)), tensor(np.array([-100, -100]))).item() == 0.0


def test_cross_entropy_errors():
    x = tensor(array(4, 3))
    with pytest.raises(ValueError, match=r"label is \[3\] int64"):
        F.cross_entropy(x, tensor(np.zeros(3, "int64")))
    with pytest.raises(ValueError, match="weight must be"):
        F.cross_entropy(x, tensor(np.zeros(4, "int64")), tensor(array(4)))
    with pytest.raises(ValueError, match="reduction"):
        F.cross_entropy(x, tensor(np.zeros(4, "int64")), reduction="max")
    with pytest.raises(IndexError, match="axis 2"):
        F.cross_entropy(x, tensor(np.zeros(4, "int64")), axis=2)
    with pytest.raises(ValueError, match="soft label"):
        F.cross_entropy(x, tensor(array(4, 2)), soft_label=True)


def test_cross_entropy_gradient():
    label = proa.to_tensor([0, 2, 1])
    weight = proa.to_tensor(np.array([1.0, 2.0, 3.0]))
    check_gradient(lambda x: F.cross_entropy(x, label, weight), array(3, 3))


def test_softmax_with_cross_entropy():
    x, label = array(3, 4), np.array([[0], [1], [3]])
    with pytest.warns(DeprecationWarning, match="use paddle.nn.functional.cross_entropy"):
        loss, probabilities = F.softmax_with_cross_entropy(tensor(x), tensor(label), return_softmax=True)
    assert "deprecated" in inspect.getdoc(F.softmax_with_cross_entropy)
    close(loss, -np.take_along_axis(log_softmax(x), label, 1))
    close(probabilities, special.softmax(x, -1))


def test_binary_losses():
    x, label, w = array(5), random.integers(0, 2, 5).astype("float32"), np.abs(array(5))
    p = special.expit(x)
    each = -(label * np.log(p) + (1 - label) * np.log(1 - p))
    close(F.binary_cross_entropy(tensor(p), tensor(label), tensor(w)), (each * w).mean())
    close(F.binary_cross_entropy_with_logits(tensor(x), tensor(label), tensor(w)), (each * w).mean())
    weighed = each * (label * 2.0 + 1.0)
    pos = tensor(np.array([3.0], "float32"))
    close(F.binary_cross_entropy_with_logits(tensor(x), tensor(label), pos_weight=pos), weighed.mean())
    extreme = F.binary_cross_entropy(tensor(np.array([0.0, 1.0], "float32")), tensor(np.array([1.0, 0.0], "float32")))
    assert extreme.item() == 100.0
    large = F.binary_cross_entropy_with_logits(
        tensor(np.array([-300.0], "float32")), tensor(np.array([1.0], "float32"))
    )
    assert large.item() == 300.0


def test_simple_losses():
    x, y = array(3, 4), array(3, 4)
    close(F.mse_loss(tensor(x), tensor(y)), ((x - y) ** 2).mean())
    close(F.l1_loss(tensor(x), tensor(y), "sum"), np.abs(x - y).sum(), 1e-4)
    d = np.abs(x - y)
    close(F.smooth_l1_loss(tensor(x), tensor(y), "none", 0.7), np.where(d < 0.7, d * d / 2, 0.7 * d - 0.245))
    p = special.softmax(y, -1)
    p[0, 0] = 0.0
    expected = np.where(p > 0, p * (np.log(np.where(p > 0, p, 1)) - x), 0)
    close(F.kl_div(tensor(x), tensor(p), "batchmean"), expected.sum() / 3)
    close(F.kl_div(tensor(x), tensor(p), "none"), expected)
    for reduction in ("batchmean", "mean"):
        assert np.isnan(F.kl_div(tensor(x[:0]), tensor(p[:0]), reduction).item())
    label = np.sign(array(3, 4))
    close(F.margin_ranking_loss(tensor(x), tensor(y), tensor(label), 0.1), np.maximum(-label * (x - y) + 0.1, 0).mean())
    close(F.hinge_embedding_loss(tensor(x), tensor(label)), np.where(label == 1, x, np.maximum(1 - x, 0)).mean())
    close(F.square_error_cost(tensor(x), tensor(y)), (x - y) ** 2)


def test_focal_loss():
    x, label = array(4), np.array([0, 1, 1, 0], "float32")
    p = special.expit(x)
    ce = -(label * np.log(p) + (1 - label) * np.log(1 - p))
    pt, at = p * label + (1 - p) * (1 - label), 0.25 * label + 0.75 * (1 - label)
    close(F.sigmoid_focal_loss(tensor(x), tensor(label)), (ce * at * (1 - pt) ** 2).sum())


def ctc_reference(log_probs, label, blank=0):
    """Sum over all paths, by brute force."""
    steps, classes = log_probs.shape
    total = -np.inf
    for path in np.ndindex(*(classes,) * steps):
        merged = [c for i, c in enumerate(path) if i == 0 or c != path[i - 1]]
        if [c for c in merged if c != blank] == list(label):
            total = np.logaddexp(total, sum(log_probs[t, c] for t, c in enumerate(path)))
    return -total


def test_ctc():
    x = array(4, 3, 3)
    labels, lengths = np.array([[1, 2], [1, 1], [2, 0]]), np.array([2, 2, 1])
    steps = np.array([4, 4, 3])
    logs = log_softmax(x)
    expected = [ctc_reference(logs[: steps[i], i], labels[i, : lengths[i]]) for i in range(3)]
    out = F.ctc_loss(tensor(x), tensor(labels), tensor(steps), tensor(lengths), reduction="none")
    close(out, expected, 1e-4)
    layer = proa.nn.CTCLoss()(tensor(x), tensor(labels), tensor(steps), tensor(lengths))
    close(layer, np.mean(np.array(expected) / lengths), 1e-4)


def test_loss_layers():
    x, y = tensor(array(3, 4)), tensor(array(3, 4))
    close(proa.nn.MSELoss("sum")(x, y), F.mse_loss(x, y, "sum").numpy())
    close(proa.nn.SmoothL1Loss(delta=2.0)(x, y), F.smooth_l1_loss(x, y, delta=2.0).numpy())
    with pytest.raises(ValueError, match="reduction"):
        proa.nn.L1Loss("average")


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8"])
@pytest.mark.parametrize("shape, axis", [([4, 3], -1), ([2, 3, 4, 5], 1), ([3, 5], 0), ([3], 0), ([0, 3], 1)])
def test_cross_entropy_of_probabilities(shape, axis, dtype):
    """Labels of 16 and 8 bits were refused, and -1 was the last class without a word."""
    x = F.softmax(proa.randn(shape), axis=axis)
    x.stop_gradient = False
    classes = shape[axis]
    label = np.random.default_rng(0).integers(0, classes, [s for i, s in enumerate(shape) if i != axis % len(shape)])
    loss = F.cross_entropy(x, proa.to_tensor(label, dtype=dtype), axis=axis, use_softmax=False, reduction="none")
    p = np.take_along_axis(x.numpy(), np.expand_dims(label, axis), axis)
    np.testing.assert_allclose(loss.numpy(), -np.log(p).squeeze(axis), rtol=1e-6)
    loss.sum().backward()
    expected = np.zeros(shape, "float32")
    np.put_along_axis(expected, np.expand_dims(label, axis), -1 / p, axis)
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-5)
    if label.size:
        for wrong in (classes, -1)[: 1 + (dtype[0] == "i")]:
            with pytest.raises(ValueError, match=f"label {wrong} at position 0 is not in"):
                F.cross_entropy(x, proa.to_tensor(label * 0 + wrong, dtype=dtype), axis=axis, use_softmax=False)


def test_cross_entropy_of_a_certain_class_and_an_ignored_one():
    p = proa.to_tensor([[1.0, 0, 0], [0.5, 0.5, 0]], stop_gradient=False)
    F.cross_entropy(p, proa.to_tensor([-100, 1]), use_softmax=False, reduction="sum").backward()
    assert p.grad.tolist() == [[0, 0, 0], [0, -2, 0]]
