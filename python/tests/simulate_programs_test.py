"""What the simulator takes from recorded programs, and how it divides that."""

import numpy as np
import pytest

import proa
from proa.distributed import simulate
from proa.distributed.simulate.parts import cut
from python.tests.simulated_work import network, recorded


def test_a_program_is_taken_apart():
    work = recorded(optimizer=True)
    assert [op.name for op in work.forward] == ["linear"] * 3 + ["mean"]
    # 2 m n k for the product, m n for the bias; backward has a product for each of x and the weight.
    assert [op.flops for op in work.forward[:3]] == [2 * 32 * 64 * 64 + 32 * 64] * 3
    products = [op for op in work.operations if op.phase == "backward" and op.name == "matmul"]
    assert [op.position for op in products] == [2, 2, 1, 1, 0] and {op.flops for op in products} == {2.0 * 32 * 64 * 64}
    assert work.parameter_bytes == 3 * 4 * (64 * 64 + 64)
    assert 2 * work.parameter_bytes <= work.states <= 2 * work.parameter_bytes + 100  # two moments, and a few numbers
    assert work.marks == [0, 1, 2]
    assert work.kept_in(0, work.positions) == 3 * 4 * 32 * 64  # x of each product
    assert work.crossing[:2] == [4.0 * 32 * 64] * 2


def test_backward_is_recorded_where_there_is_none():
    net = network()
    alone, trained = recorded(net), recorded(net, optimizer=True)
    assert [op for op in alone.operations if op.phase != "update"] == [
        op for op in trained.operations if op.phase != "update"
    ]
    assert alone.states == 0


@pytest.mark.parametrize("optimizer", [False, True])
def test_sizes_that_were_open(optimizer):
    net = network()
    main = proa.static.Program()
    with proa.static.program_guard(main):
        x = proa.static.data("x", [None, 64])
        loss = net[2](net[1](net[0](x))).mean()
        if optimizer:
            proa.optimizer.Adam(0.1, parameters=[p for layer in net for p in layer.parameters()]).minimize(loss)
    before = str(main)
    with pytest.raises(ValueError, match="known only when the program runs; give the sizes of its inputs"):
        simulate.read(main, loss)
    work = simulate.read(main, loss, sizes={"x": [32, 64]})
    fixed = recorded(net, optimizer=optimizer)
    assert [op.flops for op in work.forward] == [op.flops for op in fixed.forward]
    assert work.kept_in(0, work.positions) == fixed.kept_in(0, fixed.positions)
    assert work.states == fixed.states
    assert str(main) == before


def test_a_tied_parameter_is_counted_once():
    words = proa.nn.Embedding(16, 8)
    main = proa.static.Program()
    with proa.static.program_guard(main):
        x = proa.static.data("x", [4, 5], "int64")
        loss = proa.matmul(words(x), words.weight, transpose_y=True).mean()
    work = simulate.read(main, loss)
    assert [p.bytes for p in work.parameters] == [16 * 8 * 4] and work.parameters[0].position == 0


def test_layers_that_are_divided():
    """As ColumnParallelLinear and RowParallelLinear do it: two sums of activations a block."""
    net = [proa.nn.LayerNorm(64), proa.nn.Linear(64, 256), proa.nn.GELU(), proa.nn.Linear(256, 64)]
    work = recorded(net, width=64)
    half = simulate.divide(work, 2)
    size = 32 * 64 * 4
    assert [(e.phase, e.kind, e.bytes) for e in half.exchanges] == [
        ("backward", "all_reduce", size), ("forward", "all_reduce", size),
    ]  # fmt: skip
    whole = {op.position: op for op in work.forward}
    shares = [op.flops / whole[op.position].flops for op in half.forward if whole[op.position].flops]
    assert shares == [0.5, 0.5, 0.5, 1.0]  # the mean is of whole values
    # Both matrices and the bias of the columns; not the norm, nor the bias of the rows.
    assert work.parameter_bytes - half.parameter_bytes == 4 * (64 * 256 + 256 + 256 * 64) / 2
    assert simulate.divide(work, 1) is work
    sequence = simulate.divide(work, 2, sequence=True)
    assert [e.kind for e in sequence.exchanges] == ["reduce_scatter", "all_gather"] * 2
    assert sequence.kept_in(0, 5) < half.kept_in(0, 5) < work.kept_in(0, 5)
    wrong = [proa.nn.Linear(64, 256), proa.nn.LayerNorm(256)]
    assert [e.kind for e in simulate.divide(recorded(wrong), 2).exchanges] == ["all_reduce", "all_gather"]


def test_parts_of_equal_time():
    assert cut([1.0] * 8, 4) == [0, 2, 4, 6]
    assert cut([5, 1, 1, 1, 1, 1], 2) == [0, 1]
    assert cut([1, 1, 1, 5], 2) == [0, 3]
    assert cut([1, 1, 1, 1], 4) == [0, 1, 2, 3]
    assert cut([0, 0, 0, 1], 3) == [0, *cut([0, 0, 0, 1], 3)[1:]] and len(cut([0, 0, 0, 1], 3)) == 3
    assert cut([1.0] * 9, 3, marks=[0, 2, 6, 8]) == [0, 2, 6]
    random = np.random.default_rng(3)
    for _ in range(50):
        seconds, count = random.random(7), int(random.integers(1, 6))
        starts = cut(seconds, count)
        ends = [*starts[1:], 7]
        assert len(starts) == count and starts == sorted(set(starts))
        longest = max(seconds[a:b].sum() for a, b in zip(starts, ends))
        best = min(
            max(seconds[a:b].sum() for a, b in zip((0, *inner), (*inner, 7)))
            for inner in __import__("itertools").combinations(range(1, 7), count - 1)
        )
        assert longest == pytest.approx(best)
