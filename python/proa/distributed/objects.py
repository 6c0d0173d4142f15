"""Collectives of Python objects, which travel as pickles: between processes that trust each other."""

import functools
import pickle

import numpy as np

from proa import _C
from proa.distributed.calls import check_rank, is_outside, start, zeros_of
from proa.distributed.groups import resolve


def _beside_programs(function):
    """What it does leaves no trace in a program that is being recorded."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        with _C.eager_mode():
            return function(*args, **kwargs)

    return call


def _to_bytes(obj):
    return _C.to_tensor(np.frombuffer(pickle.dumps(obj), np.uint8).copy())


def _from_bytes(tensor):
    return pickle.loads(tensor.numpy().tobytes())


@_beside_programs
def all_gather_object(object_list, obj, group=None):
    """Appends the objects of all processes to `object_list`. They are pickled: between processes that trust each other.

    Examples:
        >>> found = []
        >>> proa.distributed.all_gather_object(found, {"a": 1})
        >>> found
        [{'a': 1}]
    """
    if not isinstance(object_list, list):
        raise _C.located(TypeError(f"all_gather_object: object_list must be a list, not {type(object_list).__name__}"))
    group = resolve(group)
    if is_outside(group):
        return
    if group.nranks == 1:
        object_list.append(obj)
        return
    own = _to_bytes(obj)
    sizes = gather_sizes(own.size, group)
    flat = zeros_of([sum(sizes)], own)
    start(group, True, "all_gather", own, flat, out_splits=sizes)
    at = 0
    for size in sizes:
        object_list.append(_from_bytes(flat[at : at + size]))
        at += size


@_beside_programs
def gather_sizes(size, group):
    """The numbers that all processes give, by rank."""
    sizes = _C.to_tensor(np.zeros(group.nranks, np.int64))
    start(group, True, "all_gather", _C.to_tensor(np.array([size], np.int64)), sizes)
    return sizes.tolist()


@_beside_programs
def broadcast_object_list(object_list, src, group=None):
    """Copies the objects of process `src` into the lists of all others.

    Examples:
        >>> objects = [{"a": 1}]
        >>> proa.distributed.broadcast_object_list(objects, src=0)
        >>> objects
        [{'a': 1}]
    """
    root, group = check_rank("broadcast_object_list", "src", src, group), resolve(group)
    if group.nranks == 1 or is_outside(group):
        return
    mine = group.rank == root
    data = _to_bytes(object_list) if mine else None
    size = _C.to_tensor(np.array([data.size if mine else 0], np.int64))
    start(group, True, "broadcast", size, size, peer=root)
    if not mine:
        data = zeros_of([size.item()], _C.to_tensor(np.zeros(1, np.uint8)))
    start(group, True, "broadcast", data, data, peer=root)
    if not mine:
        object_list[:] = _from_bytes(data)


def scatter_object_list(out_object_list, in_object_list=None, src=0, group=None):
    """Gives each process one of the objects that process `src` has, into `out_object_list`.

    Examples:
        >>> found = []
        >>> proa.distributed.scatter_object_list(found, [{"a": 1}], src=0)
        >>> found
        [{'a': 1}]
    """
    root, group = check_rank("scatter_object_list", "src", src, group), resolve(group)
    mine = group.rank == root
    if mine and (not isinstance(in_object_list, list) or len(in_object_list) != group.nranks):
        raise _C.located(
            ValueError(f"scatter_object_list: in_object_list must be a list of one object a process, {group.nranks}")
        )
    if is_outside(group):
        return
    if group.nranks == 1:
        out_object_list[:] = in_object_list
        return
    found = [in_object_list if mine else None]
    broadcast_object_list(found, group.ranks[root], group)
    out_object_list[:] = [found[0][group.rank]]
