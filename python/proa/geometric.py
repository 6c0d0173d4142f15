"""Messages along the edges of graphs, segments of rows, and samples of graphs: what `incubate` has under other names.

An edge leads from a node of `src_index` to the one of `dst_index` at its place.
"""

from proa import _C
from proa.framework.attributes import an_int, is_late, number, word
from proa.framework.requirements import require, require_sizes
from proa.incubate.graph import (
    graph_reindex,
    graph_sample_neighbors,
    graph_send_recv,
    segment_max,
    segment_mean,
    segment_min,
    segment_sum,
)
from proa.tensor.attribute import tensor_list
from proa.tensor.creation import arange

__all__ = [
    "reindex_graph", "reindex_heter_graph", "sample_neighbors", "segment_max", "segment_mean", "segment_min", "segment_sum", "send_u_recv",
    "send_ue_recv", "send_uv", "weighted_sample_neighbors",
]  # fmt: skip

_REDUCTIONS = ("sum", "mean", "max", "min")
_MESSAGES = {"add": _C.ops.add, "sub": _C.ops.subtract, "mul": _C.ops.multiply, "div": _C.ops.divide}


def _tensors(op, **given):
    return [_C.tensor_argument(value, op, name) for name, value in given.items()]


def _message(x, y, message_op):
    """message_op of rows: dims of one are put behind the first, and numbers are rows of one."""
    rank = max(len(x.shape), len(y.shape), 2)
    x, y = (_C.ops.reshape(v, [0, *[1] * (rank - max(len(v.shape), 2)), *(v.shape[1:] or [1])]) for v in (x, y))
    return _MESSAGES[message_op](x, y)


def send_u_recv(x, src_index, dst_index, reduce_op="sum", out_size=None, name=None):
    """For each node the sum, mean, max or min of the rows of x at the other ends of the edges that lead to it; zero without.

    Args:
        x (Tensor): [n, ...].
        src_index, dst_index (Tensor): int32 or int64 [edges].
        reduce_op (str): "sum", "mean", "max" or "min".
        out_size (int|Tensor, optional): how many rows the result has; n if it is not given or not positive.
        name (str, optional): not used.

    Raises:
        ValueError: another reduce_op.
        IndexError: a node that there is not.

    Examples:
        >>> x = proa.to_tensor([[0.0, 2, 3], [1, 4, 5], [2, 6, 7]])
        >>> proa.geometric.send_u_recv(x, proa.to_tensor([0, 1, 2, 0]), proa.to_tensor([1, 2, 1, 0])).tolist()
        [[0.0, 2.0, 3.0], [2.0, 8.0, 10.0], [1.0, 4.0, 5.0]]
    """
    word("send_u_recv", "reduce_op", reduce_op, _REDUCTIONS)
    return graph_send_recv(x, src_index, dst_index, reduce_op, out_size)


def send_ue_recv(x, y, src_index, dst_index, message_op="add", reduce_op="sum", out_size=None, name=None):
    """send_u_recv of message_op of the node's row of x and the edge's row of y.

    Args:
        x (Tensor): [n, ...], of nodes.
        y (Tensor): [edges, ...], of edges; behind the first dim it broadcasts with x.
        src_index, dst_index (Tensor): int32 or int64 [edges].
        message_op (str): "add", "sub", "mul" or "div".
        reduce_op (str): "sum", "mean", "max" or "min".
        out_size (int|Tensor, optional): how many rows the result has; n if it is not given or not positive.
        name (str, optional): not used.

    Raises:
        ValueError: another message_op or reduce_op, or shapes that do not broadcast.
        IndexError: a node that there is not.

    Examples:
        >>> x, y = proa.to_tensor([[0.0, 2], [1, 4], [2, 6]]), proa.to_tensor([1.0, 10, 100, 1000])
        >>> edges = proa.to_tensor([0, 1, 2, 0]), proa.to_tensor([1, 2, 1, 0])
        >>> proa.geometric.send_ue_recv(x, y, *edges, message_op="mul").tolist()
        [[0.0, 2000.0], [200.0, 602.0], [10.0, 40.0]]
    """
    word("send_ue_recv", "message_op", message_op, tuple(_MESSAGES))
    word("send_ue_recv", "reduce_op", reduce_op, _REDUCTIONS)
    x, y, src_index, dst_index = _tensors("send_ue_recv", x=x, y=y, src_index=src_index, dst_index=dst_index)
    messages = _message(_C.ops.gather(x, src_index), y, message_op)  # refuses what has no rows
    out_size = number(out_size)
    if out_size is None or (not is_late(out_size) and an_int("send_ue_recv", "out_size", out_size) <= 0):
        out_size = x.shape[0]
    return graph_send_recv(messages, arange(messages.shape[0]), dst_index, reduce_op, out_size)


def send_uv(x, y, src_index, dst_index, message_op="add", name=None):
    """For each edge message_op of the row of x where it begins and the row of y where it ends.

    Args:
        x, y (Tensor): [n, ...], of nodes; behind the first dim they broadcast.
        src_index, dst_index (Tensor): int32 or int64 [edges].
        message_op (str): "add", "sub", "mul" or "div".
        name (str, optional): not used.

    Raises:
        ValueError: another message_op, or shapes that do not broadcast.
        IndexError: a node that there is not.

    Examples:
        >>> x, y = proa.to_tensor([[0.0, 2], [1, 4]]), proa.to_tensor([[10.0, 20], [30, 40]])
        >>> proa.geometric.send_uv(x, y, proa.to_tensor([0, 1]), proa.to_tensor([1, 1])).tolist()
        [[30.0, 42.0], [31.0, 44.0]]
    """
    word("send_uv", "message_op", message_op, tuple(_MESSAGES))
    x, y, src_index, dst_index = _tensors("send_uv", x=x, y=y, src_index=src_index, dst_index=dst_index)
    return _message(_C.ops.gather(x, src_index), _C.ops.gather(y, dst_index), message_op)


def reindex_graph(x, neighbors, count, value_buffer=None, index_buffer=None, name=None):
    """incubate.graph_reindex: new numbers for nodes and their neighbours.

    Args:
        x (Tensor): int32 or int64 [n], different nodes.
        neighbors (Tensor): [edges], the neighbours of the first node, of the second, and so on.
        count (Tensor): [n], how many neighbours each has.
        value_buffer, index_buffer, name: not used.

    Returns:
        (Tensor, Tensor, Tensor): the numbers of the neighbours, the numbers of those whose neighbours they are, and the
        nodes by number.

    Examples:
        >>> x, count = proa.to_tensor([0, 1]), proa.to_tensor([2, 1], dtype="int32")
        >>> [v.tolist() for v in proa.geometric.reindex_graph(x, proa.to_tensor([8, 0, 8]), count)]
        [[2, 0, 2], [0, 0, 1], [0, 1, 8]]
    """
    return graph_reindex(x, neighbors, count)


def reindex_heter_graph(x, neighbors, count, value_buffer=None, index_buffer=None, name=None):
    """reindex_graph of several kinds of edges among the same nodes.

    Args:
        x (Tensor): int32 or int64 [n], different nodes.
        neighbors (list[Tensor]): of each kind of edges the neighbours of the first node, of the second, and so on.
        count (list[Tensor]): [n] of each kind, how many neighbours each node has.
        value_buffer, index_buffer, name: not used.

    Returns:
        (Tensor, Tensor, Tensor): as reindex_graph, the edges one kind after the other.

    Examples:
        >>> kinds = [proa.to_tensor([8, 0, 8]), proa.to_tensor([9])]
        >>> counts = [proa.to_tensor([2, 1], dtype="int32"), proa.to_tensor([0, 1], dtype="int32")]
        >>> [v.tolist() for v in proa.geometric.reindex_heter_graph(proa.to_tensor([0, 1]), kinds, counts)]
        [[2, 0, 2, 3], [0, 0, 1, 1], [0, 1, 8, 9]]
    """
    neighbors = tensor_list(neighbors, "reindex_heter_graph", "neighbors")
    count = tensor_list(count, "reindex_heter_graph", "count")
    return graph_reindex(x, _C.ops.concat(neighbors, 0), _C.ops.concat(count, 0))


def sample_neighbors(
    row, colptr, input_nodes, sample_size=-1, eids=None, return_eids=False, perm_buffer=None, name=None
):
    """incubate.graph_sample_neighbors: some neighbours of each node, drawn without replacement.

    Args:
        row (Tensor): int32 or int64 [edges]; the neighbours of node v are row[colptr[v]], ..., row[colptr[v + 1] - 1].
        colptr (Tensor): [nodes + 1], of the dtype of row.
        input_nodes (Tensor): [n], of the dtype of row.
        sample_size (int): how many of each node; all where there are no more, or where it is -1.
        eids (Tensor, optional): [edges], names of the edges.
        return_eids (bool): the eids of the drawn neighbours too.
        perm_buffer, name: not used.

    Returns:
        (Tensor, Tensor) or (Tensor, Tensor, Tensor): neighbours, int32 [n] how many of each node, and eids.

    Examples:
        >>> row, colptr = proa.to_tensor([3, 7, 0, 9]), proa.to_tensor([0, 2, 4])
        >>> [v.tolist() for v in proa.geometric.sample_neighbors(row, colptr, proa.to_tensor([1, 0]))]
        [[0, 9, 3, 7], [2, 2]]
    """
    return graph_sample_neighbors(row, colptr, input_nodes, eids, sample_size=sample_size, return_eids=return_eids)


def weighted_sample_neighbors(
    row, colptr, edge_weight, input_nodes, sample_size=-1, eids=None, return_eids=False, name=None
):
    """Some neighbours of each node, drawn without replacement: each time the next is one by the share of its edge's weight.

    Args:
        row (Tensor): int32 or int64 [edges]; the neighbours of node v are row[colptr[v]], ..., row[colptr[v + 1] - 1].
        colptr (Tensor): [nodes + 1], of the dtype of row.
        edge_weight (Tensor): float32 or float64 [edges], not negative. Edges of weight 0 are drawn when no others are left.
        input_nodes (Tensor): [n], of the dtype of row.
        sample_size (int): how many of each node; all where there are no more, or where it is -1.
        eids (Tensor, optional): [edges], names of the edges.
        return_eids (bool): the eids of the drawn neighbours too.
        name (str, optional): not used.

    Returns:
        (Tensor, Tensor) or (Tensor, Tensor, Tensor): neighbours in the order of row, int32 [n] how many of each node, and eids.

    Raises:
        IndexError: a node that the graph does not have.
        ValueError: colptr falls or leads beyond row, not one weight for each edge, a weight that is negative or no number, a
            sample_size below -1, or return_eids without eids.

    Examples:
        >>> row, colptr, weight = proa.to_tensor([3, 7, 0, 9]), proa.to_tensor([0, 2, 4]), proa.to_tensor([1.0, 0, 0, 2])
        >>> nodes = proa.to_tensor([1, 0])
        >>> [v.tolist() for v in proa.geometric.weighted_sample_neighbors(row, colptr, weight, nodes, 1)]
        [[9, 3], [1, 1]]
    """
    op = "weighted_sample_neighbors"
    row, weight = _tensors(op, row=row, edge_weight=edge_weight)
    if return_eids and eids is None:
        raise _C.located(ValueError(f"{op}: return_eids needs eids"))
    row, weight = (_C.ops.reshape(v, [-1]) for v in (row, weight))
    says = f"{op}: edge_weight must be one number for each edge; it is {{}}, and row is {{}}"
    # Of row, which all results are of, whether weights decide or not.
    row = require_sizes(row, weight.shape, row.shape, says, weight, row)
    row = require(row, weight >= 0, f"{op}: weights must not be negative; they are {{}}", weight)
    names = arange(row.shape[0], dtype=row.dtype)
    _, count, edges = graph_sample_neighbors(row, colptr, input_nodes, names, return_eids=True)
    sample_size = an_int(op, "sample_size", sample_size)
    if not is_late(sample_size) and sample_size < -1:
        raise _C.located(ValueError(f"{op}: sample_size must be at least -1; it is {sample_size}"))
    if sample_size != -1:
        edges, count = _drawn(edges, count, _C.ops.gather(weight, edges, 0), sample_size)
    found = [_C.ops.gather(row, edges, 0), count]
    return (*found, _C.ops.gather(_C.ops.reshape(eids, [-1]), edges, 0)) if return_eids else tuple(found)


def _drawn(edges, count, weight, most):
    """Those of the edges, count[i] of each node, that come first if each comes after an exponential time of rate `weight`."""
    time = _C.ops.exponential(_C.ops.full_like(weight, 0.0)) / weight
    node = _C.ops.repeat_interleave(arange(count.shape[0]), count)
    order = _C.ops.argsort(time)
    order = _C.ops.gather(order, _C.ops.argsort(_C.ops.gather(node, order, 0)), 0)
    # Nodes stand in their order as before, so that is where the edges of each begin.
    begin = _C.ops.cumsum(count, 0) - count
    place = arange(order.shape[0]) - _C.ops.gather(begin, node, 0)
    kept = _C.ops.sort(_C.ops.masked_select(order, place < most))[0]
    return _C.ops.gather(edges, kept, 0), _C.ops.minimum(count, _C.ops.full_like(count, most))
