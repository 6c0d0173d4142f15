"""ctc_loss against a sum over all paths, where there is no alignment, and its gradient's norm_by_times."""

import itertools

import numpy as np
import pytest

import proa
import proa.nn.functional as F


def by_paths(logits, label, blank):
    """-log of the probability of all paths of classes that collapse to the label; logits [T, C]. And whether any is."""
    p = np.exp(logits - np.log(np.exp(logits).sum(1, keepdims=True)))
    total = 0.0
    for path in itertools.product(range(logits.shape[1]), repeat=len(logits)):
        collapsed = [c for i, c in enumerate(path) if i == 0 or c != path[i - 1]]
        if [c for c in collapsed if c != blank] == list(label):
            total += np.prod([p[t, c] for t, c in enumerate(path)])
    return -np.log(total) if total > 0 else 0.0


def loss_of(x, labels, steps, lengths, **arguments):
    leaf = proa.to_tensor(x, stop_gradient=False)
    to = proa.to_tensor
    return leaf, F.ctc_loss(leaf, to(np.array(labels)), to(np.array(steps)), to(np.array(lengths)), **arguments)


@pytest.mark.parametrize("blank", [0, 2])
def test_sum_over_paths(blank):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 6, 3))
    a, b = [c for c in range(3) if c != blank]
    labels = [[a, b, a, a], [a, a, b, b], [a, a, a, b], [b, a, b, a], [a, b, a, b], [a, a, a, a]]
    steps, lengths = [4, 4, 4, 3, 1, 4], [2, 2, 3, 4, 0, 2]
    _, loss = loss_of(x, labels, steps, lengths, blank=blank, reduction="none")
    expected = [by_paths(x[: steps[i], i], labels[i][: lengths[i]], blank) for i in range(6)]
    assert expected[2] == expected[3] == 0.0  # five steps needed of four; four of three
    np.testing.assert_allclose(loss.numpy(), expected, rtol=1e-12)


def test_no_alignment_has_no_gradient():
    x = np.random.default_rng(0).standard_normal((3, 3, 5)).astype("float32")
    leaf, loss = loss_of(x, [[1, 2, 3, 4], [1, 1, 2, 2], [1, 2, 3, 4]], [3, 3, 0], [4, 3, 2], reduction="none")
    assert loss.tolist() == [0.0, 0.0, 0.0]
    loss.sum().backward()
    assert (leaf.grad.numpy() == 0).all()
    leaf, loss = loss_of(x, [[1, 2, 3, 4], [1, 2, 2, 2], [1, 2, 3, 4]], [3, 3, 3], [4, 2, 3])
    loss.backward()
    assert np.isfinite(loss.item()) and np.isfinite(leaf.grad.numpy()).all()
    assert (leaf.grad.numpy()[:, 0] == 0).all() and (leaf.grad.numpy()[:, 1:] != 0).any()


def test_norm_by_times_divides_the_gradient_only():
    x = np.random.default_rng(0).standard_normal((6, 2, 4))
    case = ([[1, 2], [3, 1]], [6, 4], [2, 2])
    for reduction in ("none", "sum", "mean"):
        plain, loss = loss_of(x, *case, reduction=reduction)
        divided, same = loss_of(x, *case, reduction=reduction, norm_by_times=True)
        np.testing.assert_array_equal(loss.numpy(), same.numpy())
        loss.sum().backward(), same.sum().backward()
        expected = plain.grad.numpy() / np.array([6, 4])[None, :, None]
        np.testing.assert_allclose(divided.grad.numpy(), expected, rtol=1e-12, atol=1e-15)


def test_empty_labels():
    x = np.random.default_rng(0).standard_normal((3, 1, 2))
    for labels in (np.zeros((1, 0), "int64"), np.ones((1, 2), "int64")):
        _, loss = loss_of(x, labels, [3], [0], reduction="none")
        np.testing.assert_allclose(loss.numpy(), [by_paths(x[:, 0], [], 0)], rtol=1e-12)
