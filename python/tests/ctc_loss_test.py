"""ctc_loss against a sum over all paths; where there is no alignment, beyond the lengths, in programs, at bad values."""

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


def test_what_is_beyond_the_lengths_is_not_read():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((5, 2, 4))
    case = ([[1, 2, 3], [3, 1, 1]], [5, 3], [3, 1])
    plain, loss = loss_of(x, *case, reduction="none")
    loss.sum().backward()
    dirty = x.copy()
    dirty[3:, 1] = np.nan
    labels = [[1, 2, 3], [3, 99, -1]]
    leaf, other = loss_of(dirty, labels, *case[1:], reduction="none")
    other.sum().backward()
    np.testing.assert_array_equal(other.numpy(), loss.numpy())
    np.testing.assert_array_equal(leaf.grad.numpy(), plain.grad.numpy())
    assert (leaf.grad.numpy()[3:, 1] == 0).all()


def test_classes_of_probability_zero():
    x = np.zeros((3, 1, 3))
    x[:, :, 2] = -np.inf
    leaf, loss = loss_of(x, [[1]], [3], [1], reduction="none")
    np.testing.assert_allclose(loss.numpy(), [-np.log(6 / 8)])
    loss.sum().backward()
    assert np.isfinite(leaf.grad.numpy()).all() and (leaf.grad.numpy()[:, :, 2] == 0).all()
    x[:, :, 1] = -np.inf
    assert loss_of(x, [[1]], [3], [1], reduction="none")[1].item() == np.inf


def test_long_sequences_do_not_underflow():
    x = np.random.default_rng(0).standard_normal((2000, 1, 5))
    labels = [[1 + i % 4 for i in range(200)]]
    _, loss = loss_of(x, labels, [2000], [200])
    _, single = loss_of(x.astype("float32"), labels, [2000], [200])
    assert loss.item() > 1 and abs(single.item() / loss.item() - 1) < 1e-5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_same_bits_for_any_number_of_threads(dtype):
    x = np.random.default_rng(0).standard_normal((40, 13, 30)).astype(dtype)
    labels = np.random.default_rng(1).integers(1, 30, (13, 12))
    found, before = [], proa._C.get_num_threads()
    try:
        for n in (1, 2, 3, 5):
            proa._C.set_num_threads(n)
            leaf, loss = loss_of(x, labels, range(28, 41), [12] * 12 + [3], reduction="none")
            loss.sum().backward()
            found.append(loss.numpy().tobytes() + leaf.grad.numpy().tobytes())
    finally:
        proa._C.set_num_threads(before)
    assert len(set(found)) == 1


def test_one_operation_of_a_program_that_runs_at_other_sizes(tmp_path):
    loss_layer = proa.nn.CTCLoss(blank=0, reduction="none")

    class Model(proa.nn.Layer):
        def forward(self, x, labels, steps, lengths):
            return loss_layer(x, labels, steps, lengths)

    spec = proa.static.InputSpec
    specs = [
        spec([None, None, 5], "float64"),
        spec([None, None], "int64"),
        spec([None], "int64"),
        spec([None], "int64"),
    ]
    saved = str(tmp_path / "model")
    proa.jit.save(Model(), saved, input_spec=specs)
    loaded = proa.jit.load(saved)
    rng = np.random.default_rng(0)
    for t, n, width in ((6, 2, 3), (9, 4, 2), (3, 1, 1)):
        x, labels = rng.standard_normal((t, n, 5)), rng.integers(1, 5, (n, width))
        steps, lengths = np.full(n, t), np.full(n, width)
        leaf, eager = loss_of(x, labels, steps, lengths, reduction="none")
        again = proa.to_tensor(x, stop_gradient=False)
        out = loaded(again, *map(proa.to_tensor, (labels, steps, lengths)))
        np.testing.assert_array_equal(out.numpy(), eager.numpy())
        eager.sum().backward(), out.sum().backward()
        np.testing.assert_array_equal(again.grad.numpy(), leaf.grad.numpy())


def test_three_orders_of_gradients():
    x = proa.to_tensor(np.random.default_rng(0).standard_normal((4, 1, 3)), stop_gradient=False)
    to = proa.to_tensor
    loss = F.ctc_loss(x, to([[1, 2]]), to([4]), to([2]), reduction="sum")
    (first,) = proa.grad(loss, x, create_graph=True)
    (second,) = proa.grad((first**2).sum(), x, create_graph=True)
    (third,) = proa.grad((second**2).sum(), x)
    # Along one direction, by differences.
    h, v = 1e-5, np.random.default_rng(1).standard_normal((4, 1, 3))

    def squares(x):
        x = proa.to_tensor(x, stop_gradient=False)
        (g,) = proa.grad(F.ctc_loss(x, to([[1, 2]]), to([4]), to([2]), reduction="sum"), x, create_graph=True)
        return (proa.grad((g**2).sum(), x)[0] ** 2).sum().item()

    slope = (squares(x.numpy() + h * v) - squares(x.numpy() - h * v)) / (2 * h)
    np.testing.assert_allclose((third.numpy() * v).sum(), slope, rtol=1e-6)


@pytest.mark.parametrize(
    "labels, steps, lengths, says",
    [
        ([[1, 5]], [3], [2], "label 5 at [0, 1] is not in [0, 4)"),
        ([[1, 2]], [4], [2], "input length 4 of sample 0 is not in [0, 3]"),
        ([[1, 2]], [3], [3], "label length 3 of sample 0 is not in [0, 2]"),
        ([[1, 2]], [-1], [2], "input length -1"),
        ([[1.0, 2.0]], [3], [2], "labels must be integers"),
    ],
)
def test_bad_values(labels, steps, lengths, says):
    with pytest.raises((ValueError, TypeError), match=says.replace("[", r"\[").replace(")", r"\)")):
        loss_of(np.zeros((3, 1, 4)), labels, steps, lengths)
