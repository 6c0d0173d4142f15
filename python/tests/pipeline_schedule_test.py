"""Schedules of pipelines: what each stage does in which order, how long it waits, and that training follows it."""

import numpy as np
import pytest

from proa.distributed import fleet
from proa.distributed.fleet.meta_parallel.pp_utils.schedule import MODES, Step, bubble, schedule
from proa.distributed.groups import run_threads
from python.tests import parallel_models
from python.tests.parallel_models import Way


def _idle(orders, stages, chunks, forward=1.0, backward=2.0):
    """The share of the time in which a stage waits, if it does its steps in this order as soon as it can."""
    done, at, clock = {}, [0] * stages, [0.0] * stages
    last = stages * chunks - 1
    moved = True
    while moved:
        moved = False
        for stage, order in enumerate(orders):
            while at[stage] < len(order):
                step = order[at[stage]]
                part = step.chunk * stages + stage
                if step.kind == "forward":
                    needs = [("forward", step.micro, part - 1)] if part else []
                else:
                    needs = [("backward", step.micro, part + 1)] if part < last else [("forward", step.micro, part)]
                if any(need not in done for need in needs):
                    break
                begin = max([clock[stage], *(done[need] for need in needs)])
                clock[stage] = done[step.kind, step.micro, part] = begin + (
                    (forward if step.kind == "forward" else backward) / chunks
                )
                at[stage] += 1
                moved = True
    assert all(a == len(order) for a, order in zip(at, orders)), "stages wait for each other for ever"
    micro = len(orders[0]) // 2 // chunks
    return 1 - micro * (forward + backward) / max(clock)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("stages", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("chunks", [1, 2, 3])
def test_bubbles_are_those_of_the_formula(mode, stages, chunks):
    for micro in (stages, 2 * stages, 5 * stages):
        orders = [schedule(mode, stages, stage, micro, chunks) for stage in range(stages)]
        for order in orders:
            assert len(order) == len(set(order)) == 2 * micro * chunks
        np.testing.assert_allclose(_idle(orders, stages, chunks), bubble(stages, micro, chunks), rtol=1e-9, atol=1e-12)


def _kept(order):
    """The most that wait for their backward at once."""
    most = now = 0
    for step in order:
        now += 1 if step.kind == "forward" else -1
        most = max(most, now)
    return most


def test_micro_batches_that_are_kept():
    for stage in range(4):
        assert _kept(schedule("1F1B", 4, stage, 16)) == 4 - stage
        assert _kept(schedule("F-then-B", 4, stage, 16)) == 16
        assert _kept(schedule("1F1B", 4, stage, 16, chunks=2)) == 2 * (3 - stage) + 4 + 1
    # Fewer micro-batches than stages, and none too many.
    assert [_kept(schedule("1F1B", 4, stage, 2)) for stage in range(4)] == [2, 2, 2, 1]


def test_orders():
    assert schedule("1F1B", 2, 1, 2) == [
        Step("forward", 0, 0), Step("backward", 0, 0), Step("forward", 1, 0), Step("backward", 1, 0),
    ]  # fmt: skip
    text = "".join(f"{s.kind[0]}{s.micro}{s.chunk} " for s in schedule("1F1B", 2, 0, 4, chunks=2)).split()
    assert text == "f00 f10 f01 f11 f20 b01 f30 b11 f21 b00 f31 b10 b21 b31 b20 b30".split()


@pytest.mark.parametrize(
    "arguments, says",
    [
        (("2F2B", 2, 0, 2), "schedule_mode'\\] must be one of '1F1B', 'F-then-B'"),
        (("1F1B", 2, 0, 3, 2), "that the 2 stages divide evenly, not 3"),
    ],
)
def test_refused(arguments, says):
    with pytest.raises(ValueError, match=says):
        schedule(*arguments)


@pytest.fixture
def doubles():
    with parallel_models.doubles():
        yield


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", [Way(pp=2), Way(pp=2, chunks=2), Way(pp=4)])
def test_training_works_in_that_order(mode, way, doubles):
    """What stages did in a batch, recorded while they did it, waits as long as the formula says."""
    losses, before, _ = parallel_models.one_process("gpt", 2)

    def body():
        found, (net, wrapped, _) = parallel_models.train("gpt", way, before, 1)
        wrapped._mode = mode
        found += parallel_models.train("gpt", way, before, 1, first=1, model=(net, wrapped, _))[0]
        return found, wrapped.order, type(wrapped).__name__, wrapped.accumulate_steps

    results = run_threads(body, way.ranks)
    orders = [order for _, order, _, _ in results]
    micro = results[0][3]
    np.testing.assert_allclose(_idle(orders, way.pp, way.chunks), bubble(way.pp, micro, way.chunks), rtol=1e-9)
    for found, _, kind, _ in results:
        np.testing.assert_allclose(found, losses, rtol=1e-6)
        assert kind == ("PipelineParallelWithInterleave" if way.chunks > 1 else "PipelineParallel")


def test_outputs_of_interleaved_stages(doubles):
    """eval_batch: the outputs of all micro-batches in their order, and the loss."""
    losses, before, _ = parallel_models.one_process("mlp", 1)
    x, y = parallel_models.data("mlp", 0)

    def body():
        import proa

        way = Way(pp=2, chunks=2)
        hcg = parallel_models.begin(way)
        net = parallel_models.build("mlp", way, hcg)
        for name, value in parallel_models.values_for(net, before, hcg.get_model_parallel_group()).items():
            dict(net.named_parameters())[name].set_value(value)
        model = fleet.distributed_model(net)
        data = [proa.to_tensor(x), proa.to_tensor(y)]
        out = model.eval_batch(data)
        return (
            None if out is None else out.numpy(),
            model.eval_batch(data, compute_loss=True).item(),
            sorted(name for name, _ in net.named_parameters()),
        )

    first, last = run_threads(body, 2)
    assert first[0] is None and last[0].shape == (8, 2)
    np.testing.assert_allclose(((last[0] - y) ** 2).mean(), losses[0], rtol=1e-6)
    np.testing.assert_allclose([first[1], last[1]], losses[0], rtol=1e-6)
    # Parts 0 and 2 here, 1 and 3 there.
    assert {name.split(".")[0] for name in first[2]} == {"0", "2"}
    assert {name.split(".")[0] for name in last[2]} == {"1", "3"}


def test_parts_that_cannot_be():
    from proa import nn
    from proa.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer

    descs = [LayerDesc(nn.Linear, 2, 2)] * 3

    def body():
        hcg = parallel_models.begin(Way(pp=2))
        for wrong in (0, True, 1.5):
            with pytest.raises(ValueError, match="num_virtual_pipeline_stages must be a positive int"):
                PipelineLayer(descs, topology=hcg.topology(), num_virtual_pipeline_stages=wrong)
        with pytest.raises(ValueError, match="3 layers for 4 parts"):
            PipelineLayer(descs, topology=hcg.topology(), num_virtual_pipeline_stages=2)
        return True

    assert run_threads(body, 2) == [True, True]
