"""rnnt_loss beside a sum over all paths; its gradients; in programs, and at bad values."""

import itertools

import numpy as np
import pytest

import proa
from proa.nn import functional as F

to = proa.to_tensor


def log_softmax(shape, seed=0):
    x = np.random.default_rng(seed).standard_normal(shape) * 2
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def by_paths(x, label, blank):
    """-log of the sum over all ways to put the labels between the blanks of the steps; x [steps, labels + 1, classes]."""
    steps, places, _ = x.shape
    total = 0.0
    # The last of steps + labels emissions is a blank.
    for at in itertools.combinations(range(steps + places - 2), places - 1):
        t = u = 0
        score = 0.0
        for i in range(steps + places - 1):
            if i in at:
                score += x[t, u, label[u]]
                u += 1
            else:
                score += x[t, u, blank]
                t += 1
        total += np.exp(score)
    return -np.log(total)


STEPS, LENGTHS = [4, 2, 1, 3], [3, 0, 2, 1]
LABELS = np.array([[1, 2, 2], [9, 9, 9], [3, 0, -1], [2, 77, 5]])
X = log_softmax([4, 4, 4, 5])


@pytest.mark.parametrize("blank", [4, 0])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_is_the_sum_over_paths(blank, dtype):
    labels = np.where(LABELS == 0, 4 - blank, LABELS)
    wanted = [by_paths(X[n, :t, : u + 1], labels[n], blank) for n, (t, u) in enumerate(zip(STEPS, LENGTHS))]
    arguments = [to(np.array(a, dtype)) for a in (labels, STEPS, LENGTHS)]
    found = F.rnnt_loss(to(X), *arguments, blank, 0.0, "none")
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)
    assert F.rnnt_loss(to(X), *arguments, blank).item() == pytest.approx(np.mean(wanted))
    assert F.rnnt_loss(to(X), *arguments, blank, reduction="sum").item() == pytest.approx(np.sum(wanted))
    layer = proa.nn.RNNTLoss(blank, reduction="sum")
    assert layer(to(X.astype("float32")), *arguments).item() == pytest.approx(np.sum(wanted), rel=1e-6)
    half = F.rnnt_loss(to(X.astype("float32")).astype("bfloat16"), *arguments, blank, reduction="none")
    assert half.dtype == proa.bfloat16
    np.testing.assert_allclose(half.astype("float32").numpy(), wanted, rtol=0.02)


def test_of_no_labels_is_the_sum_of_blanks():
    x = log_softmax([2, 3, 1, 4])
    loss = F.rnnt_loss(to(x), to(np.zeros([2, 0], "int64")), to([3, 2]), to([0, 0]), reduction="none")
    np.testing.assert_allclose(loss.numpy(), [-x[0, :, 0, 0].sum(), -x[1, :2, 0, 0].sum()])


def gradient(x, fastemit_lambda=0.0):
    leaf = to(x, stop_gradient=False)
    F.rnnt_loss(leaf, to(LABELS), to(STEPS), to(LENGTHS), 4, fastemit_lambda, "sum").backward()
    return leaf.grad.numpy()


def test_gradients_by_differences_and_of_labels_that_come_early():
    v, h = np.random.default_rng(1).standard_normal(X.shape), 1e-6

    def loss(x):
        return F.rnnt_loss(to(x), to(LABELS), to(STEPS), to(LENGTHS), 4, 0.0, "sum").item()

    first = gradient(X)
    np.testing.assert_allclose((first * v).sum(), (loss(X + h * v) - loss(X - h * v)) / (2 * h), rtol=1e-7)
    for n, (t, u) in enumerate(zip(STEPS, LENGTHS)):
        assert (first[n, t:] == 0).all() and (first[n, :, u + 1 :] == 0).all()
        # A path ends once, and emits each label once.
        np.testing.assert_allclose(first[n, :, :, 4].sum(), -t)
        np.testing.assert_allclose(first[n, :, :, :4].sum(), -u)
    early = gradient(X, 0.5)
    np.testing.assert_allclose(early[..., 4], first[..., 4])
    np.testing.assert_allclose(early[..., :4], 1.5 * first[..., :4])


def test_second_gradients():
    v, h = np.random.default_rng(2).standard_normal(X.shape), 1e-5
    leaf = to(X, stop_gradient=False)
    loss = F.rnnt_loss(leaf, to(LABELS), to(STEPS), to(LENGTHS), 4, 0.0, "sum")
    (g,) = proa.grad(loss, leaf, create_graph=True)
    ((g * to(v)).sum()).backward()
    wanted = (gradient(X + h * v) - gradient(X - h * v)) / (2 * h)
    np.testing.assert_allclose(leaf.grad.numpy(), wanted, atol=1e-8)


def test_unlikely_paths_are_no_infinities():
    x = np.full([1, 50, 11, 3], -1e4, "float32")
    x[..., 1] = 0.0
    leaf = to(x, stop_gradient=False)
    loss = F.rnnt_loss(leaf, to(np.full([1, 10], 1)), to([50]), to([10]), reduction="sum")
    loss.backward()
    assert loss.item() == pytest.approx(5e5, rel=1e-4) and np.isfinite(leaf.grad.numpy()).all()


def test_programs_of_an_open_batch(tmp_path):
    class Model(proa.nn.Layer):
        def forward(self, x, labels, steps, lengths):
            return F.rnnt_loss(x, labels, steps, lengths, blank=4, reduction="none")

    spec = proa.static.InputSpec
    specs = [spec([None, 4, 4, 5], "float64"), *[spec(s, "int64") for s in ([None, 3], [None], [None])]]
    proa.jit.save(Model(), str(tmp_path / "model"), input_spec=specs)
    loaded = proa.jit.load(str(tmp_path / "model"))
    for n in (4, 2):
        given = [to(np.array(a)[:n]) for a in (LABELS, STEPS, LENGTHS)]
        leaf = to(X[:n], stop_gradient=False)
        out = loaded(leaf, *given)
        np.testing.assert_allclose(out.numpy(), F.rnnt_loss(to(X[:n]), *given, 4, reduction="none").numpy())
        out.sum().backward()
        np.testing.assert_allclose(leaf.grad.numpy(), gradient(X, 0.001)[:n])
    with pytest.raises(ValueError, match=r"input_lengths must be in \[1, 4\]"):
        loaded(to(X[:1]), to(LABELS[:1]), to([5]), to([1]))


@pytest.mark.parametrize(
    "changed, says",
    [
        ({"steps": [0]}, r"input_lengths must be in \[1, 4\]; they are"),
        ({"steps": [5]}, r"input_lengths must be in \[1, 4\]"),
        ({"lengths": [4]}, r"label_lengths must be in \[0, 3\]"),
        ({"lengths": [-1]}, r"label_lengths must be in \[0, 3\]"),
        ({"labels": [[1, 5, 0]]}, r"labels must be in \[0, 5\)"),
        ({"labels": [[1, 2]]}, r"label must be \[N, 3\]; it is \[1, 2\]"),
        ({"labels": [[1, 2, 3], [1, 2, 3]]}, "label must be of the 1 samples of input"),
        ({"steps": [4, 4]}, "input_lengths must be of the 1 samples"),
        ({"blank": 5}, "blank must be one of 5 classes, not 5"),
        ({"blank": -1}, "blank must be one of 5 classes, not -1"),
        ({"x": X[0]}, "rnnt_loss: input must"),
        ({"x": X[:1, :0]}, "input must have a step and a place"),
        ({"reduction": "all"}, "reduction must be one of mean, sum, none, not 'all'"),
    ],
)
def test_errors(changed, says):
    call = {"x": X[:1], "labels": LABELS[:1], "steps": [4], "lengths": [3], "blank": 4, "reduction": "mean", **changed}
    with pytest.raises(ValueError, match=says):
        F.rnnt_loss(
            to(call["x"]),
            to(call["labels"]),
            to(call["steps"]),
            to(call["lengths"]),
            call["blank"],
            0.0,
            call["reduction"],
        )


def test_types():
    with pytest.raises(TypeError, match="label must be integers"):
        F.rnnt_loss(to(X), to(LABELS * 1.0), to(STEPS), to(LENGTHS))
    with pytest.raises(TypeError, match="input must be float"):
        F.rnnt_loss(to(X).astype("int64"), to(LABELS), to(STEPS), to(LENGTHS))
