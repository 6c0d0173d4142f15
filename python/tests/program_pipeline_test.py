"""Static programs that workers train as stages of a pipeline: the losses and weights of one worker that has the whole batch."""

import json
import sys

import numpy as np
import pytest

import proa
from proa.distributed.fleet.meta_optimizers.pipeline_program import ProgramPipeline
from proa.distributed.fleet.meta_optimizers.program_stages import ProgramStages
from python.tests import ranks

_TRAIN = """
import json
import proa.distributed.fleet as fleet
proa.enable_static()
static = proa.static
strategy = fleet.DistributedStrategy()
if {pipeline}:
    strategy.pipeline = True
    strategy.pipeline_configs = {configs}
strategy.gradient_scale_configs = {scale}
{more}
fleet.init(is_collective=True, strategy=strategy)
rank, count = fleet.worker_index(), fleet.worker_num()
proa.seed(7 + rank)  # workers begin with parameters of their own
main, startup = static.Program(), static.Program()
with static.program_guard(main, startup):
    attr = lambda name: proa.ParamAttr(name=name)
    with static.device_guard("gpu:0"):
        x, y = static.data("x", [None, 6]), static.data("y", [None, 1])
        hidden = static.nn.fc(x, 8, activation="tanh", weight_attr=attr("w0"), bias_attr=attr("b0"))
        sizes = (x * 2.0).sum(-1, keepdim=True)
    with static.device_guard("gpu:1"):
        hidden = static.nn.fc(hidden, 8, activation="relu", weight_attr=attr("w1"), bias_attr=attr("b1"))
        hidden = static.nn.fc(hidden, 8, activation="tanh", weight_attr=attr("w2"), bias_attr=attr("b2"))
    with static.device_guard("gpu:{last}"):
        out = static.nn.fc(hidden, 1, weight_attr=attr("w3"), bias_attr=attr("b3"))
        loss = ((out - y) ** 2).mean() + 0.01 * (out * sizes).mean()
    if strategy.recompute:
        strategy.recompute_configs = {{"checkpoints": [hidden]}}
    optimizer = {optimizer}
    optimizer = fleet.distributed_optimizer(optimizer)
    optimizer.minimize(loss)
executor = static.Executor()
executor.run(startup)
rng = np.random.default_rng(3)
losses = []
ways = count // {stages} if {pipeline} else 1
way = {way} if {pipeline} else 0
for step in range({steps}):
    xs, ys = rng.normal(size=(8, 6)).astype("float32"), rng.normal(size=(8, 1)).astype("float32")
    mine = slice(way * 8 // ways, (way + 1) * 8 // ways)
    (value,) = executor.run(main, feed={{"x": xs[mine], "y": ys[mine]}}, fetch_list=[loss])
    losses.append(float(np.asarray(value).reshape(())))
if {pipeline}:
    main._pipeline.gather(static.global_scope())
state = main.state_dict()
names = ["w0", "b0", "w1", "b1", "w2", "b2", "w3", "b3"]
print(json.dumps([losses, [np.asarray(state[n]).ravel().tolist() for n in names if n in state]]))
"""

_MOMENTUM = "proa.optimizer.Momentum(0.1, grad_clip=proa.nn.ClipGradByGlobalNorm(0.5))"
_SCHEDULE = "proa.optimizer.Adam(0.01)"
_SCHEDULE_CLIPPED = "proa.optimizer.AdamW(0.01, grad_clip=proa.nn.ClipGradByGlobalNorm(0.5))"


def _train(count, stages=2, configs=None, optimizer=_MOMENTUM, pipeline=True, steps=5, scale=None, more="", sharding=1):
    configs = configs or {"accumulate_steps": 4, "micro_batch_size": 2 * stages // count}
    source = _TRAIN.format(
        configs=configs,
        optimizer=optimizer,
        pipeline=pipeline,
        steps=steps,
        stages=stages,
        last=stages - 1,
        scale=scale or {},
        more=more,
        # Workers that share states stand beside each other, then come stages.
        way=f"rank // {stages * sharding} * {sharding} + rank % {sharding}",
    )
    return [
        [np.array(losses), [np.array(w) for w in weights]]
        for losses, weights in map(json.loads, ranks.run(source, count))
    ]


@pytest.mark.parametrize(
    "count, stages, configs, optimizer",
    [
        (2, 2, None, _MOMENTUM),
        (2, 2, {"accumulate_steps": 2, "micro_batch_size": 4, "schedule_mode": "F-then-B"}, _SCHEDULE),
        (3, 3, {"accumulate_steps": 4, "micro_batch_size": 2}, _MOMENTUM),
        (4, 2, {"accumulate_steps": 4, "micro_batch_size": 1}, _SCHEDULE),
    ],
)
def test_as_one_worker(count, stages, configs, optimizer):
    ((wanted, weights),) = _train(1, stages, optimizer=optimizer, pipeline=False)
    results = _train(count, stages, configs, optimizer)
    ways = count // stages
    losses = np.mean([results[way * stages][0] for way in range(ways)], 0)
    np.testing.assert_allclose(losses, wanted, rtol=2e-5)
    for _, found in results:
        for w, want in zip(found, weights, strict=True):
            np.testing.assert_allclose(w, want, atol=2e-5)


_SWITCHES = {
    "recompute": "strategy.recompute = True",
    "gradient_merge": "strategy.gradient_merge = True; strategy.gradient_merge_configs = {'k_steps': 2, 'avg': True}",
    "amp": "strategy.amp = True; strategy.amp_configs = {'init_loss_scaling': 1024.0, 'use_fp16_guard': False}",
    "pure": "strategy.amp = True; strategy.amp_configs = {'init_loss_scaling': 1024.0, 'use_pure_fp16': True, 'use_fp16_guard': False}",
    "bf16": "strategy.amp = True; strategy.amp_configs = {'use_pure_bf16': True, 'use_fp16_guard': False}",
    "stage1": "strategy.sharding = True; strategy.sharding_configs = {'sharding_degree': 2, 'pp_degree': 2}",
    "stage2": "strategy.sharding = True; strategy.sharding_configs = {'sharding_degree': 2, 'stage': 2}",
}


@pytest.mark.parametrize(
    "names, steps, tolerance",
    [
        *((name, 5, 2e-5) for name in ("recompute", "gradient_merge", "stage1", "stage2")),
        *((name, 5, 2e-2) for name in ("amp", "pure", "bf16")),
        ("recompute gradient_merge stage1", 6, 2e-5),
        ("gradient_merge stage2", 6, 2e-5),
        ("amp recompute", 5, 2e-2),
        ("amp gradient_merge stage2 recompute", 6, 2e-2),
        ("pure stage1", 5, 2e-2),
    ],
)
def test_beside_other_switches(names, steps, tolerance):
    """What one worker does by the same switches."""
    names = names.split()
    text = lambda chosen: "\n".join(_SWITCHES[name] for name in chosen)
    sharding = 2 if any(name.startswith("stage") for name in names) else 1
    alone = [name for name in names if not name.startswith("stage") and name != "recompute"]
    ((wanted, weights),) = _train(1, pipeline=False, steps=steps, more=text(alone), optimizer=_SCHEDULE_CLIPPED)
    configs = {"accumulate_steps": 4, "micro_batch_size": 2 // sharding}
    options = {"steps": steps, "optimizer": _SCHEDULE_CLIPPED, "sharding": sharding}
    results = _train(2 * sharding, configs=configs, more=text(names), **options)
    losses = np.mean([results[way][0] for way in range(sharding)], 0)
    np.testing.assert_allclose(losses, wanted, rtol=tolerance)
    assert abs(losses[-1] - losses[0]) > 1e-3
    for _, found in results:
        for w, want in zip(found, weights, strict=True):
            np.testing.assert_allclose(w, want, atol=tolerance)
    if names == ["recompute"]:
        for (a, ours), (b, others) in zip(results, _train(2, configs=configs, **options)):
            np.testing.assert_array_equal(a, b)
            for w, other in zip(ours, others):
                np.testing.assert_array_equal(w, other)


def test_four_ways_at_once():
    """Copies of a pipeline whose workers share states, on eight workers."""
    ((wanted, weights),) = _train(1, pipeline=False, more=_SWITCHES["gradient_merge"], steps=4, optimizer=_SCHEDULE)
    more = (
        _SWITCHES["gradient_merge"]
        + "; strategy.sharding = True; strategy.sharding_configs = {'sharding_degree': 2, 'hybrid_dp': True, 'dp_degree': 2}"
    )
    configs = {"accumulate_steps": 2, "micro_batch_size": 1}
    results = _train(8, configs=configs, more=more, steps=4, optimizer=_SCHEDULE, sharding=2)
    np.testing.assert_allclose(np.mean([losses for losses, _ in results], 0), wanted, rtol=2e-5)
    for _, found in results:
        for w, want in zip(found, weights, strict=True):
            np.testing.assert_allclose(w, want, atol=2e-5)


def test_gradients_are_averaged_in_place_of_losses(monkeypatch):
    """`scale_gradient`: the same numbers, but for rounding; of a power of two of micro-batches to the last bit."""
    losses, gradients = (_train(2, scale={"scale_gradient": how}) for how in (False, True))
    for (a, weights), (b, others) in zip(losses, gradients):
        np.testing.assert_array_equal(a, b)
        for w, other in zip(weights, others):
            np.testing.assert_array_equal(w, other)
    # Of three they round otherwise: so it is known that something else was done.
    monkeypatch.setattr(sys.modules[__name__], "_TRAIN", _TRAIN.replace("(8, ", "(6, ").replace("* 8 //", "* 6 //"))
    thirds = {"accumulate_steps": 3, "micro_batch_size": 2}
    losses, gradients = (_train(2, 2, thirds, scale={"scale_gradient": how}) for how in (False, True))
    assert any((w != other).any() for (_, a), (_, b) in zip(losses, gradients) for w, other in zip(a, b))
    for (_, weights), (_, others) in zip(losses, gradients):
        for w, other in zip(weights, others):
            np.testing.assert_allclose(w, other, atol=2e-6)


_TIED = """
import json
import proa.distributed.fleet as fleet
import proa.nn.functional as F
proa.enable_static()
static = proa.static
strategy = fleet.DistributedStrategy()
if {pipeline}:
    strategy.pipeline = True
    strategy.pipeline_configs = {{"accumulate_steps": 2, "micro_batch_size": 4}}
fleet.init(is_collective=True, strategy=strategy)
rank = fleet.worker_index()
proa.seed(7)
main, startup = static.Program(), static.Program()
with static.program_guard(main, startup):
    with static.device_guard("cpu:0"):
        x = static.data("x", [None, 3], "int64")
        words = static.create_parameter([10, 4], "float32", name="words")
        h = F.embedding(x, words)
        keep = x > 2  # bool and int64 go to the next stage too
    with static.device_guard("cpu:1"):
        h = static.nn.fc(h, 4, num_flatten_dims=2, activation="tanh")
        logits = proa.matmul(h, words, transpose_y=True)
        loss = (F.cross_entropy(logits, x.unsqueeze(-1), reduction="none").squeeze(-1) * keep.astype("float32")).mean()
    optimizer = fleet.distributed_optimizer(proa.optimizer.AdamW(0.05, grad_clip=proa.nn.ClipGradByGlobalNorm(0.1)))
    optimizer.minimize(loss)
executor = static.Executor()
executor.run(startup)
rng = np.random.default_rng(3)
losses = []
for step in range(6):
    feed = {{"x": rng.integers(0, 10, (8, 3))}}
    losses.append(float(executor.run(main, feed=feed, fetch_list=[loss])[0]))
if {pipeline}:
    for wrong, says in ((dict(feed=feed, fetch_list=[h]), "inside of one stage"), (dict(feed={{}}, fetch_list=[loss]), "needs feed 'x'")):
        try:
            executor.run(main, **wrong)
        except ValueError as error:
            assert says in str(error), error
        else:
            raise AssertionError(says)
    value = executor.run(main, feed=feed, fetch_list=["words"])[0]
    assert value.shape == (10, 4)
    test = main.clone(for_test=True)
    assert test._pipeline is None
fleet.save_persistables(executor, os.environ["FOLDER"] + f"/{{rank}}", main)
print(json.dumps(losses))
"""


def test_a_parameter_of_two_stages(tmp_path):
    """Its gradient is the sum of both; what the workers save is whole and equal."""
    import os

    for name in ("one", "two"):
        os.mkdir(tmp_path / name)
    (wanted,) = map(json.loads, ranks.run(_TIED.format(pipeline=False), 1, FOLDER=str(tmp_path / "one")))
    found = list(map(json.loads, ranks.run(_TIED.format(pipeline=True), 2, FOLDER=str(tmp_path / "two"))))
    for losses in found:
        np.testing.assert_allclose(losses, wanted, rtol=1e-5)
    files = sorted(os.listdir(tmp_path / "two" / "0"))
    assert "words" in files and files == sorted(os.listdir(tmp_path / "two" / "1"))
    for name in files:
        assert (tmp_path / "two" / "0" / name).read_bytes() == (tmp_path / "two" / "1" / name).read_bytes(), name


# How a program is divided ----------------------------------------------------------------------------------------------


@pytest.fixture
def static():
    proa.enable_static()
    try:
        yield proa.static
    finally:
        proa.disable_static()


def _recorded(static, build):
    main = static.Program()
    with static.program_guard(main, static.Program()):
        return main, build(static)


def _two(static):
    before = proa.full([1], 2.0)  # outside of all guards, used in stage 1
    with static.device_guard("gpu:0"):
        x = static.data("x", [None, 4])
        a = static.nn.fc(x, 3)
        skip = a * 2.0
    b = a + 1.0  # outside: of the stage of its operand
    with static.device_guard("gpu:1"), static.device_guard("cpu:1"):
        y = static.data("y", [None, 3])
        c = (b - y) * before
    with static.device_guard("gpu:all"):
        return (c + skip).mean()


def test_operations_go_to_the_stages_that_guards_name(static):
    main, loss = _recorded(static, _two)
    stages = ProgramStages(main, [loss])
    names = [[call.op for call in calls] for calls in stages.calls]
    assert stages.count == 2 and stages.feeds == [["x"], ["y"]]
    assert "matmul" in names[0] and names[0].count("add") == 2
    assert "mean" in names[1] and "subtract" in names[1] and "full" in names[1] and "subtract" not in names[0]
    assert len(stages.cuts) == 1 and len(stages.cuts[0]) == 2  # b, and what skips it


def _one_stage(static):
    with static.device_guard("gpu:0"):
        return static.data("x", [None]).mean()


def _left_out(static):
    with static.device_guard("gpu:0"):
        x = static.data("x", [None]) * 2.0
    with static.device_guard("gpu:2"):
        return x.mean()


def _backwards(static):
    with static.device_guard("gpu:1"):
        x = static.data("x", [None]) * 2.0
    with static.device_guard("gpu:0"):
        x = x + 1.0
    with static.device_guard("gpu:1"):
        return x.mean()


def _early_loss(static):
    with static.device_guard("gpu:0"):
        x = static.data("x", [None]) * 2.0
        loss = x.mean()
    with static.device_guard("gpu:1"):
        x + 1.0
    return loss


@pytest.mark.parametrize(
    "build, says",
    [
        (_one_stage, r"two at least; it named \[0\]"),
        (_left_out, r"it named \[0, 2\]"),
        (_backwards, "stage 0 needs one of stage 1: .*add"),
        (_two, "the program has 2 stages, and the job 1 workers; give a multiple"),
        (_early_loss, "the loss must be computed in the last stage, 1"),
    ],
)
def test_programs_that_cannot_be_divided(static, build, says):
    with pytest.raises(ValueError, match=says):
        ProgramPipeline(*_recorded(static, build), None, None)


def test_what_stages_refuse(monkeypatch):
    from proa.distributed import fleet

    strategy = fleet.DistributedStrategy()
    strategy.pipeline = True
    strategy.check_static(2)
    for name in ("localsgd", "adaptive_localsgd", "dgc", "asp", "sync_batch_norm"):
        strategy = fleet.DistributedStrategy()
        strategy.pipeline = True
        setattr(strategy, name, True)
        with pytest.raises(NotImplementedError, match=f"strategy.{name} beside pipeline is not"):
            strategy.check_static(2)
    strategy = fleet.DistributedStrategy()
    strategy.pipeline = True
    strategy.gradient_scale_configs = {"scale_strategy": "sum"}
    with pytest.raises(NotImplementedError, match="'sum' beside pipeline is not .* multiply the loss"):
        strategy.check_static(2)


def test_segments_of_a_stage(static, monkeypatch):
    """A stage is computed once more in the parts that checkpoints end; what changes running statistics is done once."""
    from proa.distributed.fleet.meta_optimizers import program_stages

    seen = {}

    def build(static):
        with static.device_guard("gpu:0"):
            x = static.data("x", [None, 4])
        with static.device_guard("gpu:1"):
            seen["h"] = static.nn.fc(x * 1.0, 3, activation="tanh")
            seen["n"] = static.nn.batch_norm(seen["h"])
            return (static.nn.fc(seen["n"], 3) + seen["h"]).mean()

    def first(static):
        with static.device_guard("gpu:0"):
            return static.data("before", [None]) + 1.0

    main, loss = _recorded(static, lambda static: (first(static), build(static))[1])
    stages = ProgramStages(main, [loss])
    numbers = [main._program.value_number(seen[name]) for name in ("h", "n")]
    x = proa.to_tensor(np.random.RandomState(0).rand(5, 4).astype("float32"))
    calls, found, all_grads = [], [], []
    again = program_stages.recompute
    monkeypatch.setattr(program_stages, "recompute", lambda *args: calls.append(1) or again(*args))
    with proa._C.eager_mode():
        for checkpoints in (None, [], numbers[:1], numbers):
            stage = program_stages.ProgramStage(stages, 1, lambda tensor: tensor, checkpoints)
            calls.clear()
            stage.forward((), [x])[0].backward()
            found.append((len(stage._segments), len(calls)))
            grads = [p.grad.numpy() for p in stage.parameters()]
            all_grads.append(grads)
            for p, a, b in zip(stage.parameters(), grads, all_grads[0]):
                np.testing.assert_array_equal(a, b)
                p.clear_grad()
    assert found == [(1, 0), (1, 0), (2, 1), (3, 2)]
