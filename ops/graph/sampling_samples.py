"""References of sampling: all neighbours are determined; of some, their properties."""

import numpy as np

from ops.conformance.samples import Sample

_ROW = np.array([3, 7, 0, 9, 1, 4, 2, 9, 3, 9, 1, 9, 7])
_COLPTR = np.array([0, 2, 4, 5, 6, 7, 9, 11, 11, 13, 13])


def _numbers(nodes):
    numbers = {}
    for v in nodes:
        numbers.setdefault(int(v), len(numbers))
    return numbers


def reference_graph_reindex(x, neighbors, count):
    x, neighbors = np.ravel(x), np.ravel(neighbors)
    numbers = _numbers([*x, *neighbors])
    owners = np.repeat(np.arange(len(count)) % max(len(x), 1), count)
    return (
        np.array([numbers[int(v)] for v in neighbors], np.int64),
        owners.astype(np.int64),
        np.array(list(numbers), np.int64),
    )


def samples_graph_reindex():
    x, count = np.array([0, 1, 2]), np.array([2, 3, 2], np.int32)
    yield Sample((x, np.array([8, 9, 0, 4, 7, 6, 7]), count), {}, "three nodes")
    both = np.array([8, 9, 0, 4, 7, 6, 7, 0, 2, 3, 5, 1])
    yield Sample((x, both, np.array([2, 3, 2, 1, 3, 1], np.int32)), {}, "two kinds of edges")


def check_graph_sample_neighbors(ops):
    """Different neighbours in the order of row, as many as asked for; each as often as the others."""
    import proa

    row, colptr = proa.to_tensor(_ROW), proa.to_tensor(_COLPTR)
    nodes = proa.to_tensor(np.array([5, 0, 7, 8]))
    all_of, counts, eids = ops.graph_sample_neighbors(row, colptr, nodes, proa.arange(13) * 10, -1, True, 1)
    assert all_of.tolist() == [9, 3, 3, 7, 9, 7] and counts.tolist() == [2, 2, 0, 2]
    assert eids.tolist() == [70, 80, 0, 10, 110, 120] and counts.dtype == proa.int32
    wide = proa.arange(100)
    seen = np.zeros(100)
    for seed in range(1, 301):
        drawn = ops.graph_sample_neighbors(wide, proa.to_tensor([0, 100]), proa.to_tensor([0]), None, 10, False, seed)
        drawn = drawn[0].numpy()
        assert len(drawn) == 10 and (np.diff(drawn) > 0).all()
        seen[drawn] += 1
    # 300 draws of 10 in 100: 30 of each, with a deviation of 5.2.
    assert abs(seen - 30).max() < 26 and abs(seen.std() - 5.2) < 2


def check_graph_khop_sampler(ops):
    """Every edge is one of the graph; with sizes that take all, the edges are those of a search by layers."""
    import proa

    row, colptr = proa.to_tensor(_ROW), proa.to_tensor(_COLPTR)
    nodes = proa.to_tensor(np.array([0, 8, 1, 2]))
    edges = {(int(_ROW[k]), v) for v in range(10) for k in range(_COLPTR[v], _COLPTR[v + 1])}
    for sizes in ([2], [9, 9], [1, 2, 1]):
        src, dst, index, numbers, eids = ops.graph_khop_sampler(row, colptr, nodes, sizes, proa.arange(13), True, 3)
        ids = index.numpy()
        assert ids[numbers.numpy()].tolist() == nodes.tolist() and len(set(ids)) == len(ids)
        pairs = list(zip(ids[src.numpy()[:, 0]].tolist(), ids[dst.numpy()[:, 0]].tolist()))
        assert set(pairs) <= edges and len(pairs) == len(set(pairs))
        assert [(int(_ROW[e]), v) for e, (_, v) in zip(eids.numpy()[:, 0], pairs)] == pairs
        if sizes == [9, 9]:
            reached, frontier, want = set(nodes.tolist()), nodes.tolist(), set()
            for _ in range(2):
                new = {e for e in edges if e[1] in frontier}
                want |= new
                frontier = {a for a, _ in new} - reached
                reached |= frontier
            assert set(pairs) == want
