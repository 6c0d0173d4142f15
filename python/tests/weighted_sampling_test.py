"""geometric.weighted_sample_neighbors: whose neighbours are drawn, how many, and how often."""

import numpy as np
import pytest

import proa as paddle
from proa.geometric import weighted_sample_neighbors

_ROW = [3, 7, 0, 9, 1, 4, 2, 9, 3, 9, 1, 9, 7]
_COLPTR = [0, 2, 4, 5, 6, 7, 9, 11, 11, 13, 13]
_WEIGHT = [0.1, 0.5, 0.2, 0.5, 0.9, 1.9, 2.0, 2.1, 0.01, 0.9, 0.12, 0.59, 0.67]


def _graph(dtype="int64"):
    return *(paddle.to_tensor(v, dtype) for v in (_ROW, _COLPTR)), paddle.to_tensor(_WEIGHT)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("size", [-1, 0, 1, 2, 5])
def test_of_each_node_so_many_of_its_own(size, dtype):
    row, colptr, weight = _graph(dtype)
    nodes = [0, 8, 1, 2, 9, 8]
    names = paddle.to_tensor(np.arange(13) + 100, dtype)
    found, count, eids = weighted_sample_neighbors(
        row, colptr, weight, paddle.to_tensor(nodes, dtype), size, names, return_eids=True
    )
    assert found.dtype == eids.dtype == row.dtype and count.dtype == paddle.int32
    degrees = [_COLPTR[v + 1] - _COLPTR[v] for v in nodes]
    assert count.tolist() == [d if size < 0 else min(d, size) for d in degrees]
    edges, begin = eids.numpy() - 100, 0
    assert found.tolist() == [_ROW[e] for e in edges]
    for node, n in zip(nodes, count.tolist()):
        mine = edges[begin : begin + n]
        assert sorted(set(mine)) == list(mine)  # each once, in the order of row
        assert all(_COLPTR[node] <= e < _COLPTR[node + 1] for e in mine)
        begin += n
    two = weighted_sample_neighbors(row, colptr, weight, paddle.to_tensor(nodes, dtype), size)
    assert len(two) == 2 and two[1].tolist() == count.tolist()


def test_how_often_each_is_drawn():
    paddle.seed(3)
    weights, trials = np.array([1.0, 2.0, 4.0, 0.0, 1.0]), 20000
    row, colptr = paddle.arange(5), paddle.to_tensor([0, 5])
    nodes = paddle.zeros([trials], "int64")
    share = weights / weights.sum()
    once, _ = weighted_sample_neighbors(row, colptr, paddle.to_tensor(weights, "float32"), nodes, 1)
    seen = np.bincount(once.numpy(), minlength=5)
    assert seen[3] == 0
    expected = share * trials
    assert (((seen - expected) ** 2)[expected > 0] / expected[expected > 0]).sum() < 20  # chi-square of 3, 1e-4
    # Two: the second among what is left.
    twice, count = weighted_sample_neighbors(row, colptr, paddle.to_tensor(weights, "float32"), nodes, 2)
    assert set(count.tolist()) == {2}
    pairs = twice.numpy().reshape(trials, 2)
    for a in range(5):
        for b in range(a + 1, 5):
            p = share[a] * share[b] * (1 / (1 - share[a]) + 1 / (1 - share[b]))
            n = int(((pairs[:, 0] == a) & (pairs[:, 1] == b)).sum())
            assert abs(n - p * trials) <= 5 * np.sqrt(p * trials) + 1e-9, (a, b)


def test_the_same_again_with_a_seed():
    row, colptr, weight = _graph()
    nodes = paddle.to_tensor([0, 1, 5, 6, 8])
    runs = []
    for seed in (1, 1, 2, 3, 4):
        paddle.seed(seed)
        runs.append(weighted_sample_neighbors(row, colptr, weight, nodes, 1)[0].tolist())
    assert runs[0] == runs[1] and any(run != runs[0] for run in runs)


def test_edges_of_no_weight_come_last():
    row, colptr = paddle.to_tensor([5, 6, 7]), paddle.to_tensor([0, 3])
    weight, node = paddle.to_tensor([0.0, 1.0, 0.0]), paddle.to_tensor([0])
    for _ in range(20):
        assert weighted_sample_neighbors(row, colptr, weight, node, 1)[0].tolist() == [6]
        assert 6 in weighted_sample_neighbors(row, colptr, weight, node, 2)[0].tolist()
    assert weighted_sample_neighbors(row, colptr, weight, node, 3)[0].tolist() == [5, 6, 7]


def test_columns_and_nothing():
    row, colptr, weight = _graph()
    nodes = paddle.to_tensor([0, 8])
    found, count = weighted_sample_neighbors(
        row.reshape([-1, 1]), colptr.reshape([-1, 1]), weight.reshape([-1, 1]), nodes, 5
    )
    assert found.tolist() == [3, 7, 9, 7] and count.tolist() == [2, 2]
    for size in (-1, 2):
        found, count = weighted_sample_neighbors(row, colptr, weight, paddle.zeros([0], "int64"), size)
        assert found.shape == count.shape == [0]


def test_what_is_wrong_is_said():
    row, colptr, weight = _graph()
    node = paddle.to_tensor([0])
    with pytest.raises(ValueError, match=r"one number for each edge; it is \[12\], and row is \[13\]"):
        weighted_sample_neighbors(row, colptr, weight[1:], node)
    for bad in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="weights must not be negative"):
            weighted_sample_neighbors(row, colptr, weight * bad, node, 1)
    with pytest.raises(ValueError, match="return_eids needs eids"):
        weighted_sample_neighbors(row, colptr, weight, node, return_eids=True)
    with pytest.raises(IndexError, match="node 10 at"):
        weighted_sample_neighbors(row, colptr, weight, node + 10, 1)
    with pytest.raises(ValueError, match="sample_size must be at least -1; it is -2"):
        weighted_sample_neighbors(row, colptr, weight, node, -2)
