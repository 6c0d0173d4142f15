"""Gradient ops may be called by name, and by files: with tensors of shapes that do not belong together each is an
error at the first call, or what it gives has gradients of the first and second order."""

import collections

import pytest

import proa
from fuzz import corpus, judge
from fuzz.values import FLOATING, TensorValue

# Samples of an op whose shapes are changed.
_SAMPLES = 2


def _is_gradient(name):
    return name.endswith(("_grad", "_backward", "_grads")) or "_grad_" in name


def _gradient_ops():
    found = collections.defaultdict(list)
    for c in corpus.op_seeds():
        name = c.target.rpartition(".")[2]
        if _is_gradient(name):
            found[name].append(c)
    return found


_OPS = _gradient_ops()


def _other_shapes(dims):
    """Those that differ from `dims` in a size, in a dim more or less, or in the order."""
    found = [dims[:i] + (n,) + dims[i + 1 :] for i, size in enumerate(dims) for n in (1, size + 1, max(size - 1, 0), 0)]
    found += [dims[1:], dims[:-1], (), (1,) * len(dims), dims[::-1], (1, *dims), (2, *dims), (*dims, 1), (3,)]
    return [s for s in dict.fromkeys(found) if s != dims]


def _with_shape(c, index, dims):
    """The call with tensor number `index` of another shape; all that may have gradients have them."""
    numbers = iter(range(1000))

    def change(v):
        if not isinstance(v, TensorValue):
            return v
        if next(numbers) == index:
            v = v.with_(dims=dims)
        if v.dtype in FLOATING:
            return v.with_(layout="plain", dtype="float64", grad=True)
        return v.with_(layout="plain", grad=v.dtype.startswith("complex"))

    return c.rebuilt(change)


@pytest.mark.parametrize("name", sorted(_OPS))
def test_shapes_that_do_not_belong_together(name):
    calls = []
    for c in _OPS[name][:_SAMPLES]:
        tensors = [v for v in c.leaves() if isinstance(v, TensorValue)]
        for i, tensor in enumerate(tensors):
            calls += [_with_shape(c, i, dims) for dims in _other_shapes(tensor.dims)]
    for mode in ("differentiate", "differentiate_twice"):
        for text in sorted({str(c.with_(mode=mode)) for c in calls}):
            outcome = judge.run(text)
            assert not outcome.found, f"{text}: {outcome}"


def test_there_are_gradient_ops():
    assert {"relu_backward", "conv_input_grad", "batch_norm_grad_grad_x"} <= set(_OPS)
    assert len(_OPS) > 60
    assert set(_OPS) <= {d["name"] for d in proa._C.op_registry()}
