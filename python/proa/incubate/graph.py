"""Segments of rows, messages along edges, and samples of graphs.

A graph for sampling is given by columns: the neighbours of node v are row[colptr[v]], ..., row[colptr[v + 1] - 1].
"""

from proa import _C
from proa._generated.incubate import (  # noqa: F401
    graph_send_recv,
    segment_max,
    segment_mean,
    segment_min,
    segment_sum,
)

__all__ = [
    "graph_khop_sampler", "graph_reindex", "graph_sample_neighbors", "graph_send_recv", "segment_max", "segment_mean",
    "segment_min", "segment_sum",
]  # fmt: skip


def graph_reindex(x, neighbors, count, value_buffer=None, index_buffer=None, flag_buffer_hashtable=False, name=None):
    """New numbers for nodes and their neighbours: 0, 1, ... for x, and then for neighbours as they come.

    Args:
        x (Tensor): int32 or int64 [n], different nodes.
        neighbors (Tensor): [edges], the neighbours of the first node, of the second, and so on; of several kinds of
            edges one kind after the other.
        count (Tensor): int32 or int64 [n] or [kinds * n], how many neighbours each has.
        value_buffer, index_buffer, flag_buffer_hashtable: not used.
        name (str, optional): not used.

    Returns:
        (Tensor, Tensor, Tensor): the numbers of the neighbours, the numbers of those whose neighbours they are, and the
        nodes by number.

    Raises:
        ValueError: a node twice in x, or counts that do not sum to the number of neighbours.

    Examples:
        >>> x, count = proa.to_tensor([0, 1, 2]), proa.to_tensor([2, 3, 2], dtype="int32")
        >>> src, dst, nodes = proa.incubate.graph_reindex(x, proa.to_tensor([8, 9, 0, 4, 7, 6, 7]), count)
        >>> src.tolist(), dst.tolist(), nodes.tolist()
        ([3, 4, 0, 5, 6, 7, 6], [0, 0, 1, 1, 1, 2, 2], [0, 1, 2, 8, 9, 4, 7, 6])
    """
    return _C.ops.graph_reindex(x, neighbors, count)


def graph_sample_neighbors(row, colptr, input_nodes, eids=None, perm_buffer=None, sample_size=-1, return_eids=False,
                           flag_perm_buffer=False, name=None):  # fmt: skip
    """Some neighbours of each node, drawn without replacement; each set of so many is as likely.

    Args:
        row (Tensor): int32 or int64 [edges] or [edges, 1].
        colptr (Tensor): [nodes + 1] or [nodes + 1, 1], of the dtype of row.
        input_nodes (Tensor): [n], of the dtype of row.
        eids (Tensor, optional): [edges], names of the edges.
        sample_size (int): how many of each node; all where there are no more, or where it is -1.
        return_eids (bool): the eids of the drawn neighbours too.
        perm_buffer, flag_perm_buffer, name: not used.

    Returns:
        (Tensor, Tensor) or (Tensor, Tensor, Tensor): neighbours, int32 [n] how many of each node, and eids.

    Raises:
        IndexError: a node that the graph does not have.
        ValueError: colptr falls or leads beyond row, or return_eids without eids.

    Examples:
        >>> row, colptr = proa.to_tensor([3, 7, 0, 9]), proa.to_tensor([0, 2, 4])
        >>> found, count = proa.incubate.graph_sample_neighbors(row, colptr, proa.to_tensor([1, 0]))
        >>> found.tolist(), count.tolist()
        ([0, 9, 3, 7], [2, 2])
    """
    found = _C.ops.graph_sample_neighbors(row, colptr, input_nodes, eids, sample_size, return_eids)
    return tuple(found) if return_eids else tuple(found[:2])


def graph_khop_sampler(row, colptr, input_nodes, sample_sizes, sorted_eids=None, return_eids=False, name=None):
    """Neighbours of nodes, neighbours of those, and so on, with new numbers for all of them.

    Args:
        row, colptr, input_nodes: those of graph_sample_neighbors.
        sample_sizes (list[int]): how many neighbours of each node, for each step away from input_nodes.
        sorted_eids (Tensor, optional): [edges], names of the edges.
        return_eids (bool): the eids of the edges too.
        name (str, optional): not used.

    Returns:
        (Tensor, Tensor, Tensor, Tensor) and a Tensor with return_eids: ends of the edges by new numbers, both [edges, 1],
        the nodes by number, the numbers of input_nodes, and the eids [edges, 1].

    Raises:
        IndexError, ValueError: those of graph_sample_neighbors.

    Examples:
        >>> row, colptr = proa.to_tensor([1, 2, 0, 0]), proa.to_tensor([0, 2, 3, 4])
        >>> src, dst, nodes, numbers = proa.incubate.graph_khop_sampler(row, colptr, proa.to_tensor([0]), [2, 2])
        >>> src.flatten().tolist(), dst.flatten().tolist(), nodes.tolist(), numbers.tolist()
        ([1, 2, 0, 0], [0, 0, 1, 2], [0, 1, 2], [0])
    """
    found = _C.ops.graph_khop_sampler(row, colptr, input_nodes, sample_sizes, sorted_eids, return_eids)
    return tuple(found) if return_eids else tuple(found[:4])
