"""What these ops are in PaddlePaddle's format where reference.rules read backwards does not say it."""

from proa.jit.reference.rule import CODES, Long, Longs, cast, constant, op, refuse, result


def pdmodel_embedding(x, weight, padding_idx, sparse):
    return op("lookup_table_v2", {"Ids": x, "W": weight}, {"padding_idx": Long(padding_idx)}, dtype=weight.dtype)


def pdmodel_gather(x, index, axis):
    if index.rank == 1:
        return op("gather", {"X": x, "Index": index}, {"axis": axis})
    sizes = [max(d, -1) for d in result().shape]
    if sizes.count(-1) > 1:
        refuse("a gather by an index of several dims whose result has more than one open size")
    found = op("gather", {"X": x, "Index": _formed(index, [-1])}, {"axis": axis})
    return _formed(found, sizes)


def _formed(x, shape):
    return op("reshape2", {"X": x}, {"shape": shape}, outputs=("Out", "XShape"))[0]


def pdmodel_take_along_axis(x, indices, axis):
    return op("take_along_axis", {"Input": x, "Index": indices}, {"Axis": axis}, outputs=("Result",))


def pdmodel_put_along_axis(x, indices, value, axis, reduce):
    given = {"Input": x, "Index": indices, "Value": cast(value, x.dtype)}
    return op("put_along_axis", given, {"Axis": axis, "Reduce": reduce}, outputs=("Result",))


def _put(reduce):
    def rule(x, indices, value, axis):
        return pdmodel_put_along_axis(x, indices, value, axis, reduce)

    return rule


pdmodel_put_along_axis_assign, pdmodel_put_along_axis_add = _put("assign"), _put("add")
pdmodel_put_along_axis_multiply = _put("multiply")


def pdmodel_scatter_nd(index, updates, shape):
    sizes = result().shape
    if min(sizes, default=0) < 0:
        refuse("scatter_nd to a size that is open", "give it in input_spec")
    number = {"shape": Longs(sizes), "value": 0.0, "str_value": "0", "dtype": CODES[updates.dtype]}
    zeros = op("fill_constant", {}, number, dtype=updates.dtype, shape=sizes)
    return op("scatter_nd_add", {"X": zeros, "Index": index, "Updates": updates})


def pdmodel_scatter(x, index, updates, overwrite):
    return op("scatter", {"X": x, "Ids": index, "Updates": cast(updates, x.dtype)}, {"overwrite": overwrite})


def pdmodel_one_hot(x, num_classes, dtype):
    flags = {"depth": num_classes, "dtype": CODES[dtype], "allow_out_of_range": False}
    return op("one_hot_v2", {"X": x}, flags, dtype=dtype)


def pdmodel_topk(x, k, axis, largest, sorted):
    flags = {"k": k, "axis": axis, "largest": largest, "sorted": sorted}
    return op("top_k_v2", {"X": x}, flags, outputs=("Out", "Indices"))


def pdmodel_sort(x, axis, descending):
    return op("argsort", {"X": x}, {"axis": axis, "descending": descending}, outputs=("Out", "Indices"))


def pdmodel_argsort(x, axis, descending):
    return pdmodel_sort(x, axis, descending)[1]


def pdmodel_index_get(x, indices, axes, position):
    if len(indices) == 1 and indices[0].rank == 1 and indices[0].dtype != "bool":
        return op("index_select", {"X": x, "Index": _from_zero(indices[0], x, axes[0])}, {"dim": axes[0] % x.rank})
    refuse("an index of several tensors, or of tensors of several dims", "use gather_nd or take_along_axis")


def _from_zero(index, x, axis):
    """Numbers that may count from behind, counted from the front."""
    n = x.shape[axis]
    if n < 0:
        refuse("an index of a dim of open size", "give its size in input_spec, or use index_select")
    index = cast(index, "int64")
    return op("elementwise_mod", {"X": index, "Y": constant([n], "int64")}, {"axis": -1}, shape=index.shape)


def pdmodel_nonzero(x):
    return op("where_index", {"Condition": x}, dtype=result().dtype)


def pdmodel_index_select(x, index, axis):
    return op("index_select", {"X": x, "Index": index}, {"dim": axis % max(x.rank, 1)})
