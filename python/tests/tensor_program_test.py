"""Static programs with layers that neighbouring workers divide: losses, weights and files are those of one worker."""

import json
import os
import warnings

import numpy as np
import pytest

import proa
import proa.distributed as dist
from proa.distributed.groups import run_threads
from python.tests import ranks

_TRAIN = """
import json
import proa.distributed.fleet as fleet
from proa.distributed import io
from proa.distributed.fleet.meta_parallel import ColumnParallelLinear, RowParallelLinear, VocabParallelEmbedding
proa.enable_static()
static = proa.static
strategy = fleet.DistributedStrategy()
{switches}
if {mp} > 1:
    {way}
fleet.init(is_collective=True, strategy=strategy)
rank, count = fleet.worker_index(), fleet.worker_num()
proa.seed(7 + rank)
main, startup = static.Program(), static.Program()
with static.program_guard(main, startup):
    x, y = static.data("x", [None, 3], "int64"), static.data("y", [None, 1])
    attr = lambda name: proa.ParamAttr(name=name)
    words = VocabParallelEmbedding(10, 8, attr("words"))(x).mean(1)
    hidden = proa.tanh(ColumnParallelLinear(8, 12, attr("up"), has_bias=True, gather_output=False)(words))
    hidden = RowParallelLinear(12, 8, attr("down"), input_is_parallel=True)(hidden) + words
    hidden = static.nn.fc(hidden, 4, activation="relu", weight_attr=attr("narrow"), bias_attr=attr("narrow_bias"))
    if {mp} > 1:
        out = proa.distributed.split(hidden, (4, 2), "linear", axis=1, num_partitions={mp}, weight_attr=attr("last"), bias_attr=False)
    else:
        out = static.nn.fc(hidden, 2, weight_attr=attr("last"), bias_attr=False)
    loss = ((out.sum(-1, keepdim=True) - y) ** 2).mean()
    if strategy.recompute:
        strategy.recompute_configs = {{"checkpoints": [hidden]}}
    fleet.distributed_optimizer(proa.optimizer.Adam(0.02, grad_clip=proa.nn.ClipGradByGlobalNorm(0.3)), strategy).minimize(loss)
executor = static.Executor()
executor.run(startup)
folder = os.environ["FOLDER"]
if os.path.isdir(folder + "/start"):
    io.load_persistables(executor, folder + "/start", main)
else:
    io.save_persistables(executor, folder + "/start", main)
losses, rng = [], np.random.default_rng(3)
way, ways = rank // {mp}, count // {mp}
for step in range(8):
    xs, ys = rng.integers(0, 10, (8, 3)), rng.normal(size=(8, 1)).astype("float32")
    mine = slice(way * 8 // ways, (way + 1) * 8 // ways)
    losses.append(float(np.ravel(executor.run(main, feed={{"x": xs[mine], "y": ys[mine]}}, fetch_list=[loss])[0])[0]))
io.save_persistables(executor, folder + f"/{{count}}", main)
values = {{name: value.astype("float64").ravel().tolist() for name, value in io.whole_values("test", main).items()}}
print(json.dumps([losses, {{p.name: list(p.shape) for p in main.all_parameters()}}, values]))
"""

_FIRST, _LAST = _TRAIN.index("    words = "), _TRAIN.index("    loss = ((out")
_SEQUENCES = (
    _TRAIN[:_FIRST]
    + """
    from proa.distributed.fleet.utils.sequence_parallel_utils import (
        ColumnSequenceParallelLinear, GatherOp, RowSequenceParallelLinear, ScatterOp, mark_as_sequence_parallel_parameter)
    norm = proa.nn.LayerNorm(8)
    for parameter in norm.parameters():
        mark_as_sequence_parallel_parameter(parameter)
    h = ScatterOp.apply(proa.nn.Embedding(10, 8, weight_attr=attr("words"))(proa.concat([x, x[:, :1]], 1)).transpose([1, 0, 2]))
    up = ColumnSequenceParallelLinear(8, 12, attr("up"), has_bias=True, gather_output=False)
    down = RowSequenceParallelLinear(12, 8, attr("down"), input_is_parallel=True)
    out = GatherOp.apply(h + down(proa.tanh(up(norm(h))))).mean(0)
"""
    + _TRAIN[_LAST:]
)

_DEGREE = "strategy.hybrid_configs = {'mp_degree': 2}"
_SWITCH = "strategy.tensor_parallel = True; strategy.tensor_parallel_configs = {'tensor_parallel_degree': 2}"
_SWITCHES = {
    "": "",
    "merge": "strategy.gradient_merge = True; strategy.gradient_merge_configs = {'k_steps': 2, 'avg': True}",
    "recompute": "strategy.recompute = True",
    "amp": "strategy.amp = True; strategy.amp_configs = {'init_loss_scaling': 256.0, 'use_fp16_guard': False}",
    "all": "strategy.gradient_merge = strategy.recompute = strategy.amp = True\n"
    "strategy.gradient_merge_configs = {'k_steps': 2, 'avg': True}; strategy.amp_configs = {'use_pure_bf16': True}",
}


def _run(count, folder, mp, switches, way=_DEGREE, train=_TRAIN):
    source = train.format(mp=mp, switches=switches, way=way)
    return list(map(json.loads, ranks.run(source, count, FOLDER=str(folder))))


@pytest.mark.parametrize(
    "count, switches, way",
    [(2, name, _DEGREE) for name in ("", "merge", "recompute", "amp")]
    + [(4, "", _SWITCH), (4, "all", _DEGREE), (4, "amp", _SWITCH)],
)
def test_as_one_worker(tmp_path, count, switches, way):
    tolerance = 3e-2 if switches in ("amp", "all") else 2e-5
    alone = _SWITCHES[switches].replace("= strategy.recompute", "").replace("strategy.recompute = True", "")
    ((wanted, shapes, values),) = _run(1, tmp_path, 1, alone)
    results = _run(count, tmp_path, 2, _SWITCHES[switches], way)
    ways = count // 2
    losses = np.mean([results[2 * at][0] for at in range(ways)], 0)
    np.testing.assert_allclose(losses, wanted, rtol=tolerance, atol=tolerance)
    assert abs(losses[-1] - losses[0]) > 1e-3
    for found, parts, others in results:
        assert found in [r[0] for r in results[::2]]  # those that share a batch see one loss
        assert (
            parts["words"] == [5, 8] and parts["up"] == [8, 6] and parts["down"] == [6, 8] and parts["last"] == [4, 1]
        )
        assert others.keys() == values.keys()
        for name, value in values.items():
            np.testing.assert_allclose(others[name], value, atol=tolerance, rtol=tolerance, err_msg=name)
    assert shapes["words"] == [10, 8]
    whole, found = (sorted(os.listdir(tmp_path / str(n))) for n in (1, count))
    assert whole == found and any("words_moment" in name for name in whole)
    for name in whole:
        a, b = ((tmp_path / str(n) / name).read_bytes() for n in (1, count))
        assert len(a) == len(b), name


@pytest.mark.parametrize("count", [2, 4])
def test_sequences_as_one_worker(tmp_path, count):
    """Gradients of parameters that see a part of the sequence each are added up."""
    ((wanted, _, values),) = _run(1, tmp_path, 1, "", train=_SEQUENCES)
    results = _run(count, tmp_path, 2, "", train=_SEQUENCES)
    np.testing.assert_allclose(np.mean([r[0] for r in results], 0), wanted, rtol=2e-5, atol=2e-5)
    assert abs(wanted[-1] - wanted[0]) > 1e-3
    for _, parts, others in results:
        assert parts["up"] == [8, 6] and parts["down"] == [6, 8]
        for name, value in values.items():
            np.testing.assert_allclose(others[name], value, atol=2e-5, rtol=2e-5, err_msg=name)


def test_converted_layers():
    """Under `jit.to_static` they are recorded, with gradients of gradients, and compute what they do at once."""
    x = np.random.RandomState(0).randn(4, 8)

    def body():
        from proa.distributed.fleet.meta_parallel import ColumnParallelLinear, RowParallelLinear

        group = dist.new_group([0, 1])
        column, row, gathering = (
            ColumnParallelLinear(8, 12, has_bias=True, gather_output=False, mp_group=group),
            RowParallelLinear(12, 8, input_is_parallel=True, mp_group=group),
            ColumnParallelLinear(8, 4, has_bias=False, mp_group=group),
        )
        net = proa.nn.Sequential(column, proa.nn.Tanh(), row, gathering)
        weights = net.parameters()

        def gradients(call):
            at = proa.to_tensor(x, stop_gradient=False)
            y = call(at)
            (slope,) = proa.grad((y**2).sum(), [at], create_graph=True)
            (slope**2).sum().backward()
            found = [
                y.numpy(),
                slope.numpy(),
                at.grad.numpy(),
                *(p.grad.numpy() for p in weights if p.grad is not None),
            ]
            for p in weights:
                p.clear_grad()
            return found

        found = gradients(proa.jit.to_static(net.forward))
        for a, b in zip(gradients(net), found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9)
        return len(found)

    before = proa.get_default_dtype()
    proa.set_default_dtype("float64")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert run_threads(body, 2) == [8, 8]
    finally:
        proa.set_default_dtype(before)


def test_converted_sequences_and_vocabularies():
    """Layers that divide the length between blocks, and classes of a loss."""
    from proa.distributed.fleet.meta_parallel import ColumnParallelLinear, ParallelCrossEntropy, VocabParallelEmbedding
    from proa.distributed.fleet.utils import sequence_parallel_utils as sequence

    class Blocks(proa.nn.Layer):
        def __init__(self, group):
            super().__init__()
            self.words = VocabParallelEmbedding(16, 8, mp_group=group)
            self.up = sequence.ColumnSequenceParallelLinear(8, 12, has_bias=True, gather_output=False, mp_group=group)
            self.down = sequence.RowSequenceParallelLinear(12, 8, input_is_parallel=True, mp_group=group)
            self.out = ColumnParallelLinear(8, 16, has_bias=False, gather_output=False, mp_group=group)
            self.loss = ParallelCrossEntropy(mp_group=group)

        def forward(self, x):
            h = sequence.ScatterOp.apply(self.words(x), self.up.group)
            h = sequence.GatherOp.apply(self.down(proa.tanh(self.up(h))), self.up.group)
            return self.loss(self.out(h), x.unsqueeze(-1)).mean()

    x = proa.to_tensor(np.random.RandomState(0).randint(0, 16, (4, 3)))

    def body():
        net = Blocks(dist.new_group([0, 1]))
        found = []
        for call in (net, proa.jit.to_static(net.forward)):
            loss = call(x)
            loss.backward()
            found.append([loss.numpy(), *(p.grad.numpy() for p in net.parameters())])
            for p in net.parameters():
                p.clear_grad()
        for a, b in zip(*found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
        return len(found[0])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run_threads(body, 2) == [7, 7]


_UNSAID = """
import proa.distributed.fleet as fleet
proa.enable_static()
fleet.init(is_collective=True)
main, startup = proa.static.Program(), proa.static.Program()
with proa.static.program_guard(main, startup):
    x = proa.static.data("x", [4, 6])
    loss = dist.split(x, (6, 8), "linear", axis=1, num_partitions=2).mean()
    sgd = proa.optimizer.SGD(0.1) if {alone} else fleet.distributed_optimizer(proa.optimizer.SGD(0.1))
    sgd.minimize(loss)
executor = proa.static.Executor()
executor.run(startup)
feed = {{"x": np.ones([4, 6], "float32")}}
print([float(executor.run(main, feed=feed, fetch_list=[loss])[0]) for _ in range(3)])
"""


def test_split_over_all_workers():
    """With an optimizer of one's own; fleet's has to be told."""
    first, second = ranks.run(_UNSAID.format(alone=True), 2)
    assert first == second and len(set(json.loads(first))) == 3
    with pytest.raises(AssertionError, match="workers divide parameter .* all data parallel; set .*mp_degree"):
        ranks.run(_UNSAID.format(alone=False), 2)


def test_what_is_refused():
    from proa.distributed import fleet

    for name in ("pipeline", "sharding", "localsgd", "dgc", "sync_batch_norm", "lamb"):
        strategy = fleet.DistributedStrategy()
        strategy.tensor_parallel = True
        strategy.tensor_parallel_configs = {"tensor_parallel_degree": 2}
        setattr(strategy, name, True)
        with pytest.raises(NotImplementedError, match=f"strategy.{name} beside tensor_parallel is not"):
            strategy.check_static(2)
