"""Collectives of Python objects, which travel as pickles: between processes that trust each other."""

import functools
import pickle

import numpy as np

from proa import _C
from proa.distributed.calls import check_rank, is_outside, start, zeros_of
from proa.distributed.groups import resolve
from proa.distributed.messages import recv, send


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


@_beside_programs
def send_object_list(object_list, dst=None, group=None, dst_in_group=None):
    """Sends objects to process `dst`, which calls `recv_object_list` with a list of as many.

    Args:
        object_list (list): one or more objects.
        dst (int, optional): a process of the group; 0 unless given.
        group (Group, optional): all processes unless given.
        dst_in_group (int, optional): its place in the group, in place of `dst`.

    Raises:
        ValueError: no objects, `dst` and `dst_in_group`, or a process that is not of the group.
        RuntimeError: there is nobody else.

    Examples:
        >>> proa.distributed.send_object_list(["a"], 0)
        Traceback (most recent call last):
            ...
        RuntimeError: ...there is one process, and nobody else to exchange tensors with...
    """
    peer, group = _peer("send_object_list", "dst", object_list, dst, dst_in_group, group)
    if is_outside(group):
        return
    data = _to_bytes(list(object_list))
    send(_C.to_tensor(np.array([data.size], np.int64)), peer, group)
    send(data, peer, group)


@_beside_programs
def recv_object_list(object_list, src=None, group=None, src_in_group=None):
    """Receives objects from process `src`, which calls `send_object_list`, into a list of as many.

    Args:
        object_list (list): its elements are replaced.
        src (int, optional): a process of the group; 0 unless given.
        group (Group, optional): all processes unless given.
        src_in_group (int, optional): its place in the group, in place of `src`.

    Raises:
        ValueError: another number of objects came, or as in `send_object_list`.
        RuntimeError: there is nobody else.

    Examples:
        >>> proa.distributed.recv_object_list([None], 0)
        Traceback (most recent call last):
            ...
        RuntimeError: ...there is one process, and nobody else to exchange tensors with...
    """
    peer, group = _peer("recv_object_list", "src", object_list, src, src_in_group, group)
    if is_outside(group):
        return
    size = _C.to_tensor(np.zeros(1, np.int64))
    recv(size, peer, group)
    data = zeros_of([size.item()], _C.to_tensor(np.zeros(1, np.uint8)))
    recv(data, peer, group)
    found = _from_bytes(data)
    if len(found) != len(object_list):
        raise _C.located(
            ValueError(
                f"recv_object_list: process {peer} sent {len(found)} objects, and object_list has {len(object_list)}"
            )
        )
    object_list[:] = found


def _peer(what, name, object_list, number, place, group):
    """(the number of the other process, the group)."""
    if not isinstance(object_list, list):
        raise _C.located(TypeError(f"{what}: object_list must be a list, not {type(object_list).__name__}"))
    if not object_list:
        raise _C.located(ValueError(f"{what}: object_list is empty"))
    group = resolve(group)
    if place is not None:
        if number is not None:
            raise _C.located(ValueError(f"{what}: give {name} or {name}_in_group, not both"))
        if isinstance(place, bool) or not isinstance(place, int) or place not in range(group.nranks):
            raise _C.located(ValueError(f"{what}: {name}_in_group must be from 0 to {group.nranks - 1}, not {place!r}"))
        return group.ranks[place], group
    number = 0 if number is None else number
    check_rank(what, name, number, group)
    return number, group
