"""Losses for very many classes, against walks down the tree, against the formula in float64, and samples of classes."""

import numpy as np
import pytest

import proa
from proa.nn import functional as F


def walk(x, label, classes, weight, bias):
    """The loss of one sample, turn by turn from the leaf to the root."""
    total, levels = 0.0, (classes - 1).bit_length()
    node = label + classes
    for _ in range(levels):
        turn, node = node % 2, node // 2
        score = x @ weight[node - 1] + bias[node - 1] if node else 0.0
        total += np.log1p(np.exp(score)) - (turn * score if node else 0.0)
    return total


@pytest.mark.parametrize("classes", [2, 3, 4, 6, 8, 13])
def test_a_walk_down_the_tree(classes):
    rng = np.random.RandomState(classes)
    x, weight, bias = rng.randn(7, 5), rng.randn(classes - 1, 5), rng.randn(classes - 1)
    labels = rng.randint(0, classes, 7)
    tensors = [proa.to_tensor(v, stop_gradient=False) for v in (x, weight, bias)]
    loss = F.hsigmoid_loss(tensors[0], proa.to_tensor(labels[:, None]), classes, tensors[1], tensors[2])
    expected = np.array([walk(x[i], labels[i], classes, weight, bias) for i in range(7)])
    assert loss.shape == [7, 1] and np.allclose(loss.numpy()[:, 0], expected)
    loss.sum().backward()
    for k, array in enumerate((x, weight, bias)):
        found = tensors[k].grad.numpy()
        for place in list(np.ndindex(array.shape))[:4]:
            ends = []
            for step in (1e-6, -1e-6):
                moved = [v.copy() for v in (x, weight, bias)]
                moved[k][place] += step
                ends.append(sum(walk(moved[0][i], labels[i], classes, *moved[1:]) for i in range(7)))
            assert found[place] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-6)


def test_a_tree_of_ones_own():
    table = np.array([[0, 2, -1], [0, 1, 3], [0, -1, -1]])
    code = np.array([[1, 0, 0], [0, 1, 1], [1, 0, 0]])
    rng = np.random.RandomState(0)
    x, weight = rng.randn(3, 4), rng.randn(5, 4)
    layer = proa.nn.HSigmoidLoss(4, 5, bias_attr=False, is_custom=True).astype("float64")
    layer.weight.set_value(weight)
    loss = layer(proa.to_tensor(x), proa.to_tensor([0, 1, 2]), proa.to_tensor(table), proa.to_tensor(code))
    scores = np.where(table >= 0, (weight[table] * x[:, None]).sum(-1), 0)
    assert np.allclose(loss.numpy()[:, 0], (np.log1p(np.exp(scores)) - code * scores).sum(1))
    with pytest.raises(ValueError, match="with is_custom, path_table and path_code"):
        layer(proa.to_tensor(x), proa.to_tensor([0, 1, 2]))


def test_training_by_the_tree():
    proa.seed(0)
    x = proa.eye(6)
    labels = proa.arange(6)
    loss_of = proa.nn.HSigmoidLoss(6, 6)
    assert loss_of.weight.shape == [5, 6] and loss_of.bias.shape == [5, 1]
    adam = proa.optimizer.Adam(0.1, parameters=loss_of.parameters())
    losses = []
    for _ in range(30):
        loss = loss_of(x, labels).mean()
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(loss.item())
    # Two of six ways are a level shorter, which counts log(2).
    assert losses[-1] - np.log(2) * 2 / 6 < 0.2 * losses[0]


def by_formula(cosines, labels, m1, m2, m3, scale):
    out = cosines.copy()
    rows = np.arange(len(labels))
    out[rows, labels] = np.cos(m1 * np.arccos(cosines[rows, labels]) + m2) - m3
    out = np.exp(scale * out - (scale * out).max(1, keepdims=True))
    out /= out.sum(1, keepdims=True)
    return -np.log(out[rows, labels]), out


@pytest.mark.parametrize("margins", [(1.0, 0.5, 0.0), (1.0, 0.0, 0.35), (1.35, 0.0, 0.0), (0.9, 0.4, 0.15)])
def test_margins(margins):
    rng = np.random.RandomState(0)
    cosines, labels = rng.uniform(-0.9, 0.9, (5, 7)), rng.randint(0, 7, 5)
    expected, probabilities = by_formula(cosines, labels, *margins, 16.0)
    logits = proa.to_tensor(cosines, stop_gradient=False)
    for reduction, value in (("mean", expected.mean()), ("sum", expected.sum()), (None, expected[:, None])):
        loss, softmax = F.margin_cross_entropy(logits, proa.to_tensor(labels), *margins, 16.0, None, True, reduction)
        assert loss.shape == list(np.shape(value)) and np.allclose(loss.numpy(), value)
        assert np.allclose(softmax.numpy(), probabilities)
    F.margin_cross_entropy(logits, proa.to_tensor(labels[:, None].astype("int32")), *margins, 16.0).backward()
    for place in [(0, 0), (2, int(labels[2])), (4, int(labels[4]))]:
        ends = []
        for step in (1e-6, -1e-6):
            moved = cosines.copy()
            moved[place] += step
            ends.append(by_formula(moved, labels, *margins, 16.0)[0].mean())
        assert logits.grad.numpy()[place] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-4, abs=1e-7)


def test_samples_of_classes():
    label = proa.to_tensor([11, 5, 1, 3, 12, 2, 15, 19, 18, 19])
    named = [1, 2, 3, 5, 11, 12, 15, 18, 19]
    places, classes = F.class_center_sample(label, 20, 6)
    assert classes.tolist() == named and places.tolist() == [4, 3, 0, 2, 5, 1, 6, 8, 7, 8]
    drawn = []
    for seed in (1, 1, 2):
        proa.seed(seed)
        places, classes = F.class_center_sample(label, 20, 14)
        found = classes.tolist()
        assert found[:9] == named and len(set(found)) == 14 and set(found) <= set(range(20))
        assert [found[i] for i in places.tolist()] == label.tolist()
        drawn.append(found[9:])
    assert drawn[0] == drawn[1] != drawn[2]
    counts = np.zeros(20)
    for seed in range(300):
        proa.seed(seed)
        counts[F.class_center_sample(label, 20, 10)[1].tolist()[9]] += 1
    assert counts[named].sum() == 0 and counts[[i for i in range(20) if i not in named]].min() > 10
    assert F.class_center_sample(proa.zeros([0], "int64"), 5, 2)[1].shape == [2]


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: F.hsigmoid_loss(proa.ones([2, 3]), proa.to_tensor([0, 1]), 1, proa.ones([3, 3])), ValueError, "at least 2"),
        (lambda: F.hsigmoid_loss(proa.ones([2, 3]), proa.to_tensor([0, 1]), 4, proa.ones([3, 2])), ValueError, r"weight \[.., D\]"),
        (lambda: F.hsigmoid_loss(proa.ones([2, 3]), proa.to_tensor([0, 1]), 5, proa.ones([3, 3])), ValueError, "4 rows"),
        (lambda: F.hsigmoid_loss(proa.ones([2, 3]), proa.to_tensor([0]), 4, proa.ones([3, 3])), ValueError, "of 2 samples"),
        (lambda: F.hsigmoid_loss(proa.ones([2, 3]), proa.to_tensor([0, 4]), 4, proa.ones([3, 3])), IndexError, "out of range"),
        (lambda: F.hsigmoid_loss(proa.ones([2, 3]), proa.to_tensor([0, -1]), 4, proa.ones([3, 3])), IndexError, "out of range"),
        (lambda: F.hsigmoid_loss(proa.ones([1, 3]), proa.to_tensor([0]), 4, proa.ones([3, 3]), path_code=proa.to_tensor([[1]])), ValueError, "belong together"),
        (lambda: F.margin_cross_entropy(proa.ones([3]), proa.to_tensor([0])), ValueError, r"logits must be \[N, C\]"),
        (lambda: F.margin_cross_entropy(proa.ones([1, 3]), proa.to_tensor([0]), reduction="none"), ValueError, "reduction must"),
        (lambda: F.margin_cross_entropy(proa.ones([1, 3]), proa.to_tensor([0.0])), TypeError, "int64 or int32; it is float32"),
        (lambda: F.margin_cross_entropy(proa.ones([1, 3]), proa.to_tensor([-1])), IndexError, "out of range"),
        (lambda: F.class_center_sample(proa.to_tensor([0]), 3, 4), ValueError, "num_samples must be in 1..3"),
        (lambda: F.class_center_sample(proa.to_tensor([-1]), 3, 2), IndexError, "out of range"),
        (lambda: F.class_center_sample(proa.zeros([2, 2], "int64"), 3, 2), ValueError, r"label must be \[N\]"),
    ],
)  # fmt: skip
def test_what_is_refused(call, kind, says):
    with pytest.raises(kind, match=says):
        call()


@pytest.mark.parametrize("label", [[2, 0], [0, -1], [3, 1]])
def test_a_program_refuses_labels_that_are_no_class(label):
    """What is computed for its errors alone is not part of a program: these are of what is used."""
    specs = [proa.static.InputSpec([None, 2], "float32"), proa.static.InputSpec([None], "int64")]
    x, label = proa.to_tensor([[0.1, 0.2], [0.3, -0.4]]), proa.to_tensor(label)
    for function in (
        lambda x, label: F.margin_cross_entropy(x, label),
        lambda x, label: F.hsigmoid_loss(x, label, 2, x[:1]),
    ):
        for call in (function, proa.jit.to_static(function, input_spec=specs)):
            with pytest.raises(IndexError, match="out of range"):
                call(x, label)
