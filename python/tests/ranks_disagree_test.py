"""Ranks that disagree on a collective: on what it is, the shape, the dtype, the reduction, the root, the order; all are named."""

import pytest

import proa
import proa.distributed as dist
from proa.distributed.groups import run_threads


def _of(shape, dtype="float32"):
    return proa.ones(shape, dtype=dtype)


_SUM, _MAX = dist.ReduceOp.SUM, dist.ReduceOp.MAX
# Each collective with (shape, dtype, reduction, root) of its tensors, as all ranks of two call it.
_COLLECTIVES = {
    "all_reduce": lambda s, d, op, root: dist.all_reduce(_of(s, d), op),
    "reduce": lambda s, d, op, root: dist.reduce(_of(s, d), root, op),
    "broadcast": lambda s, d, op, root: dist.broadcast(_of(s, d), root),
    "all_gather": lambda s, d, op, root: dist.all_gather([], _of(s, d)),
    "gather": lambda s, d, op, root: dist.gather(_of(s, d), [], root),
    "scatter": lambda s, d, op, root: dist.scatter(_of(s, d), [_of(s, d), _of(s, d)], root),
    "reduce_scatter": lambda s, d, op, root: dist.reduce_scatter(_of(s, d), [_of(s, d), _of(s, d)], op),
    "all_to_all": lambda s, d, op, root: dist.alltoall([_of(s, d), _of(s, d)], []),
    "barrier": lambda s, d, op, root: dist.barrier(),
}
_REDUCE, _ROOTED = ("all_reduce", "reduce", "reduce_scatter"), ("reduce", "broadcast", "gather", "scatter")
_RIGHT = ([2, 3], "float32", _SUM, 0)
_MANY = [1, 1, 1, 1, 1, 1, 2, 3]
_WRONG = {
    "shape": [
        ([3, 2], "float32", _SUM, 0),
        ([6], "float32", _SUM, 0),
        ([2, 3, 1], "float32", _SUM, 0),
        ([1, 6], "float32", _SUM, 0),
    ],
    "more": [([2, 4], "float32", _SUM, 0)],
    "dtype": [([2, 3], "int32", _SUM, 0)],
    "reduction": [([2, 3], "float32", _MAX, 0)],
    "root": [([2, 3], "float32", _SUM, 1)],
}


def _mismatches():
    names = list(_COLLECTIVES)
    for at, name in enumerate(names):
        yield name, _RIGHT, names[(at + 1) % len(names)], _RIGHT
        for what, others in _WRONG.items():
            if (
                name == "barrier"
                or (what == "reduction" and name not in _REDUCE)
                or (what == "root" and name not in _ROOTED)
            ):
                continue
            for other in others:
                yield name, _RIGHT, name, other
        if name != "barrier":
            yield name, (_MANY, *_RIGHT[1:]), name, (_MANY[:-2] + [3, 2], *_RIGHT[1:])


@pytest.mark.parametrize("way", ["at once", "with a gradient"])
@pytest.mark.parametrize("first, of_first, second, of_second", list(_mismatches()))
def test_every_collective_names_what_ranks_disagree_in(first, of_first, second, of_second, way, monkeypatch):
    """Also where all of it is of equally many bytes."""
    if way != "at once":
        if (
            "barrier" in (first, second)
            or _MAX in (of_first[2], of_second[2])
            or "int32" in (of_first[1], of_second[1])
        ):
            pytest.skip("no gradient")
        kept = proa.ones

        def differentiable(shape, dtype="float32"):
            x = kept(shape, dtype=dtype)
            x.stop_gradient = False
            return x * 1.0

        monkeypatch.setattr(proa, "ones", differentiable)

    def body():
        name, settings = [(first, of_first), (second, of_second)][dist.get_rank()]
        with pytest.raises(RuntimeError) as raised:
            _COLLECTIVES[name](*settings)
        return str(raised.value)

    texts = run_threads(body, 2, timeout=10.0)
    for text in texts:
        assert "ranks disagree in collective #1 of group 0: rank 0 calls " in text, text
        if first != second:
            assert f"rank 0 calls {first}" in text and f"rank 1 calls {second}" in text, text
        elif way == "at once" and of_first[0] is not _MANY:
            for rank, (shape, dtype, _, root) in enumerate((of_first, of_second)):
                shape = [2, *shape] if first == "all_to_all" else shape  # all that a rank gives
                assert f"rank {rank} calls {first}" in text and f"of {shape} {dtype}" in text, text
                assert first not in _ROOTED or f"root {root}" in text, text


@pytest.mark.parametrize("order", [0, 1])
def test_ranks_that_call_in_another_order(order):
    def body():
        calls = [lambda: dist.all_reduce(_of([4])), lambda: dist.broadcast(_of([4]), 0)]
        with pytest.raises(RuntimeError, match="ranks disagree in collective #1"):
            for call in calls[:: 1 if dist.get_rank() == order else -1]:
                call()

    run_threads(body, 2, timeout=10.0)


def test_shapes_that_may_differ():
    """Rows of uneven calls are each rank's own; a number and a vector of one element are alike."""

    def body():
        rank = dist.get_rank()
        x = proa.ones([]) if rank else proa.ones([1])
        dist.all_reduce(x)
        out = proa.zeros([3 if rank == 0 else 1, 2])
        gives, gets = ([2, 0], [2, 1]) if rank == 0 else ([1, 1], [0, 1])
        dist.alltoall_single(out, proa.ones([2, 2]), gives, gets)
        lists = [[_of([2, 3]), _of([2, 3])], [_of([2, 3]), _of([1])]][rank]
        given = [[_of([2, 3]), _of([2, 3])], [_of([2, 3]), _of([1])]][rank]
        dist.alltoall(lists, given)
        y = proa.ones([2, 3])
        y.stop_gradient = rank == 0  # an op on one rank, memory on the other
        found = []
        dist.all_gather(found, y * 1.0)
        return out.shape, [t.shape for t in found]

    assert run_threads(body, 2, timeout=10.0) == [([3, 2], [[2, 3]] * 2), ([1, 2], [[2, 3]] * 2)]


def test_a_message_of_as_many_bytes_in_another_shape():
    def body():
        if dist.get_rank() == 0:
            dist.send(_of([2, 3]), 1)
            return
        with pytest.raises(
            RuntimeError, match=r"rank 0 sends send of \[2, 3\] float32.*\[3, 2\] float32 is to be filled"
        ):
            dist.recv(_of([3, 2]), 0)

    run_threads(body, 2, timeout=10.0)
