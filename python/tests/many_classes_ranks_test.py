"""margin_cross_entropy and class_center_sample over ranks that share the classes: as one process that has them all."""

import numpy as np
import pytest

import proa
from proa.distributed.groups import run_threads
from proa.nn import functional as F

_R = np.random.RandomState(0)


def _parts(array, sizes):
    return np.split(array, np.cumsum(sizes)[:-1], axis=1)


@pytest.mark.parametrize("sizes", [(4, 4), (1, 6), (3, 2, 4)])
@pytest.mark.parametrize("margins", [(1.0, 0.5, 0.0), (1.0, 0.0, 0.35), (1.35, 0.0, 0.0), (0.9, 0.4, 0.15)])
@pytest.mark.parametrize("reduction", ["mean", "sum", None])
@pytest.mark.parametrize("column", [False, True])
def test_margins(sizes, margins, reduction, column):
    classes = sum(sizes)
    cosines, labels = _R.uniform(-0.9, 0.9, (6, classes)), _R.randint(0, classes, 6)
    labels[:2] = 0, classes - 1
    weight = _R.rand(6, 1) if reduction is None else _R.rand()
    of_softmax = _R.rand(6, classes)
    if column:
        labels = labels[:, None]

    def run(logits, group, weights):
        x = proa.to_tensor(logits, stop_gradient=False)
        loss, softmax = F.margin_cross_entropy(x, proa.to_tensor(labels), *margins, 16.0, group, True, reduction)
        (loss * proa.to_tensor(weight)).sum().backward(retain_graph=True)
        first = x.grad.numpy().copy()
        x.clear_grad()
        (softmax * proa.to_tensor(weights)).sum().backward()
        return loss.numpy(), softmax.numpy(), first, x.grad.numpy()

    expected = run(cosines, False, of_softmax)

    def rank():
        at = proa.distributed.get_rank()
        return run(_parts(cosines, sizes)[at], None, _parts(of_softmax, sizes)[at])

    results = run_threads(rank, len(sizes))
    for loss, *_ in results:
        np.testing.assert_allclose(loss, expected[0], rtol=1e-10)
    for k in (1, 2, 3):
        np.testing.assert_allclose(np.concatenate([r[k] for r in results], 1), expected[k], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_margins_of_narrow_logits(dtype):
    cosines, labels = _R.uniform(-0.9, 0.9, (5, 6)), proa.to_tensor(_R.randint(0, 6, 5))
    wide = proa.to_tensor(cosines).astype(dtype).astype("float64")
    expected = F.margin_cross_entropy(wide, labels, group=False).item()

    def rank():
        at = proa.distributed.get_rank()
        x = proa.to_tensor(_parts(cosines, (3, 3))[at]).astype(dtype)
        return F.margin_cross_entropy(x, labels)

    for loss in run_threads(rank, 2):
        assert loss.dtype.name == dtype and loss.item() == pytest.approx(
            expected, rel={"float32": 1e-5}.get(dtype, 8e-3)
        )


def test_data_parallel():
    """group=False: each rank alone, although there are others, and without a meeting."""
    cosines, labels = _R.uniform(-0.9, 0.9, (2, 4, 5)), _R.randint(0, 5, (2, 4))

    def rank():
        at = proa.distributed.get_rank()
        loss = F.margin_cross_entropy(proa.to_tensor(cosines[at]), proa.to_tensor(labels[at]), group=False)
        if at == 0:  # the other does not come here
            places, classes = F.class_center_sample(proa.to_tensor(labels[at]), 5, 5, group=False)
            assert [classes.tolist()[i] for i in places.tolist()] == labels[at].tolist()
        return loss.item()

    alone = [F.margin_cross_entropy(proa.to_tensor(x), proa.to_tensor(y)).item() for x, y in zip(cosines, labels)]
    assert run_threads(rank, 2) == pytest.approx(alone)


@pytest.mark.parametrize("sizes, samples", [((10, 10), (6, 6)), ((4, 16), (4, 1)), ((5, 3, 12), (1, 3, 9))])
def test_samples(sizes, samples):
    label = _R.randint(0, 20, 15)
    label[:3] = 0, 19, 19
    starts = np.cumsum([0, *sizes])

    def rank():
        at = proa.distributed.get_rank()
        places, classes = F.class_center_sample(proa.to_tensor(label), sizes[at], samples[at])
        return places.tolist(), classes.tolist()

    results = run_threads(rank, len(sizes))
    chosen = []
    for at, (places, classes) in enumerate(results):
        named = sorted({int(c - starts[at]) for c in label if starts[at] <= c < starts[at + 1]})
        assert classes[: len(named)] == named and len(classes) == max(len(named), samples[at])
        assert len(set(classes)) == len(classes) and set(classes) <= set(range(sizes[at]))
        assert places == results[0][0]
        chosen += [c + starts[at] for c in classes]
    assert [chosen[i] for i in results[0][0]] == label.tolist()


def test_training_with_samples():
    """The two together, as the losses of faces do: scores to the sampled classes alone, gradients of what was scored."""
    x, centers, label = _R.randn(8, 4), _R.randn(20, 4), _R.randint(0, 20, 8)

    def normalized(v):
        return F.normalize(v, axis=1)

    def rank():
        at = proa.distributed.get_rank()
        own = proa.to_tensor(centers[10 * at : 10 * at + 10], stop_gradient=False)
        places, classes = F.class_center_sample(proa.to_tensor(label), 10, 10)  # all of them, in another order
        logits = proa.matmul(normalized(proa.to_tensor(x)), normalized(proa.gather(own, classes)), transpose_y=True)
        loss = F.margin_cross_entropy(logits, places, scale=8.0)
        loss.backward()
        return loss.item(), own.grad.numpy()

    whole = proa.to_tensor(centers, stop_gradient=False)
    logits = proa.matmul(normalized(proa.to_tensor(x)), normalized(whole), transpose_y=True)
    loss = F.margin_cross_entropy(logits, proa.to_tensor(label), scale=8.0)
    loss.backward()
    results = run_threads(rank, 2)
    assert [r[0] for r in results] == pytest.approx([loss.item()] * 2)
    np.testing.assert_allclose(np.concatenate([r[1] for r in results]), whole.grad.numpy(), rtol=1e-8, atol=1e-12)


def test_what_they_refuse():
    logits, label = proa.zeros([2, 3]), proa.to_tensor([0, 6])
    for group in ("all", 0, True, [0, 1]):
        with pytest.raises(TypeError, match="group must be what distributed.new_group gives, None or False"):
            F.margin_cross_entropy(logits, proa.to_tensor([0, 1]), group=group)
        with pytest.raises(TypeError, match="class_center_sample: group must be"):
            F.class_center_sample(label, 7, 7, group=group)

    def rank(call):
        with pytest.raises(IndexError, match="out of range"):
            call()
        return True

    assert run_threads(rank, 2, lambda: F.margin_cross_entropy(logits, label)) == [True, True]
    assert run_threads(rank, 2, lambda: F.class_center_sample(label, 3, 2)) == [True, True]


def test_a_group_of_some():
    """A group of its own; who is not in it computes alone."""

    def rank():
        group = proa.distributed.new_group([0, 1])
        at = proa.distributed.get_rank()
        x = proa.to_tensor(_parts(cosines, (2, 2))[at]) if at < 2 else proa.to_tensor(cosines)
        return F.margin_cross_entropy(x, proa.to_tensor([0, 3]), group=group).item()

    cosines = _R.uniform(-0.9, 0.9, (2, 4))
    found = run_threads(rank, 3)
    assert found == pytest.approx([found[2]] * 3)
