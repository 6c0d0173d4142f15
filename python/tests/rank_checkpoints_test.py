"""Checkpoints of several ranks: read again by other ranks, divided in other ways; killed while they are written; altered."""

import glob
import json
import os
import random
import time

import numpy as np
import pytest

import proa
import proa.distributed as dist
from proa import nn
from proa.distributed import checkpoint, fleet
from proa.distributed.groups import run_threads
from python.tests import parallel_models, ranks
from python.tests.parallel_models import Way

STEPS = 3


@pytest.fixture
def doubles():
    with parallel_models.doubles():
        yield


def _train(kind, way, before, folder, save_at=None, optimizer="AdamW"):
    """Losses of `STEPS` steps after the last checkpoint, if there is one; a checkpoint of what came of them."""

    def body():
        losses, made = parallel_models.train(kind, way, before, 0, optimizer=optimizer)
        _, model, adam = made
        restored = checkpoint.load(folder, model, adam)
        first = restored.step if restored else 0
        losses, _ = parallel_models.train(kind, way, before, STEPS, first, optimizer, made)
        if save_at is not None:
            checkpoint.save(folder, model, adam, save_at, extra={"losses": losses})
        return losses, restored

    return run_threads(body, way.ranks)


_WAYS = [
    Way(dp=2),
    Way(mp=2),
    Way(pp=2),
    Way(pp=2, chunks=2),
    Way(sharding=2),
    Way(sharding=2, stage=2),
    Way(sharding=2, stage=3),
    Way(mp=2, sharding=2, stage=3),
    Way(pp=2, sharding=2, stage=2),
    Way(mp=2, pp=2),
    Way(mp=4),
    Way(sharding=4, stage=3),
]


def _id(way):
    return (
        "-".join(f"{name}{value}" for name, value in way._asdict().items() if value != Way._field_defaults[name]) or "1"
    )


@pytest.mark.parametrize("writer", _WAYS, ids=_id)
def test_another_way_goes_on(writer, tmp_path, doubles):
    """Losses go on as those of one process, whoever reads; the readers follow the writer in the list."""
    wanted, before, _ = parallel_models.one_process("gpt", 2 * STEPS)
    folder = str(tmp_path)
    for losses, restored in _train("gpt", writer, before, folder, STEPS):
        assert restored is None
        np.testing.assert_allclose(losses, wanted[:STEPS], rtol=1e-6)
    at = _WAYS.index(writer)
    for reader in (Way(), _WAYS[(at + 1) % len(_WAYS)], _WAYS[(at + 5) % len(_WAYS)]):
        wrong = {name: value * 3.0 + 1.0 for name, value in before.items()}
        for losses, restored in _train("gpt", reader, wrong, folder):
            assert restored.step == STEPS and len(restored.extra["losses"]) == STEPS
            np.testing.assert_allclose(losses, wanted[STEPS:], rtol=1e-6, err_msg=_id(reader))


@pytest.mark.parametrize("optimizer", ["SGD", "Momentum", "Adagrad", "RMSProp", "Adamax"])
def test_states_of_every_kind(optimizer, tmp_path, doubles):
    wanted, before, _ = parallel_models.one_process("mlp", 2 * STEPS, optimizer)
    _train("mlp", Way(mp=2, sharding=2), before, str(tmp_path), STEPS, optimizer)
    for reader in (Way(), Way(sharding=3, stage=3) if parallel_models.BATCH % 3 == 0 else Way(sharding=4, stage=3)):
        for losses, _ in _train("mlp", reader, before, str(tmp_path), None, optimizer):
            np.testing.assert_allclose(losses, wanted[STEPS:], rtol=1e-6)


def _states(net, adam):
    return {n: t.numpy() for n, t in net.state_dict().items()}, {
        n: np.asarray(t) for n, t in adam.state_dict().items() if hasattr(t, "shape")
    }


def test_small_parameters_in_more_parts_than_elements(tmp_path):
    """Parts that are padding alone, 0-d buffers, and states of one number beside parameters of one element."""
    folder = str(tmp_path)

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.norm, self.out = nn.BatchNorm1D(3), nn.Linear(3, 1)
            self.register_buffer("count", proa.to_tensor(0.0))

        def forward(self, x):
            return self.out(self.norm(x))

    def step(net, adam):
        (net(proa.to_tensor(np.arange(12, dtype="float32").reshape(4, 3) ** 2)) ** 2).mean().backward()
        adam.step(), adam.clear_grad()

    def write():
        proa.seed(3)
        net = Net()
        for t in net.state_dict().values():
            dist.broadcast(t, 0)
        adam = proa.optimizer.Adam(0.1, parameters=net.parameters())
        model, adam, _ = dist.sharding.group_sharded_parallel(net, adam, "p_g_os")
        step(model, adam), step(model, adam)
        net.count.set_value(np.float32(7.0))
        checkpoint.save(folder, model, adam, 1)
        return {n: t.numpy() for n, t in model.state_dict().items()}, {
            n.partition(".")[2]: np.asarray(t) for n, t in adam.state_dict().items() if hasattr(t, "shape")
        }

    want, wanted_states = run_threads(write, 4)[0]
    net = Net()
    adam = proa.optimizer.Adam(0.1, parameters=net.parameters())
    assert checkpoint.load(folder, net, adam).step == 1
    found = {n: t.numpy() for n, t in net.state_dict().items()}
    assert found["count"] == 7.0 and found["count"].shape == ()
    for name in want:
        np.testing.assert_array_equal(found[name], want[name], err_msg=name)
    step(net, adam)  # makes the states
    manifest = json.load(open(glob.glob(f"{folder}/step_1/manifest.json")[0]))["manifest"]
    shapes = {n: e["shape"] for n, e in manifest["tensors"].items()}
    assert shapes["optimizer/out.bias/beta1_pow_acc_0"] == [1] and shapes["optimizer/out.bias/moment1_0"] == [1]
    assert shapes["optimizer/out.weight/moment1_0"] == [3, 1]
    powers = [t for n, t in adam.state_dict().items() if n.endswith("beta1_pow_acc_0")]
    for power in powers:
        np.testing.assert_allclose(power.numpy(), 0.9**4, rtol=1e-5)  # beta^(t + 1) after three steps


def test_16_bit_parameters_with_their_float32_copies(tmp_path):
    folder = str(tmp_path)

    def make():
        net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
        for i, p in enumerate(net.parameters()):
            p.set_value(np.random.RandomState(i).randn(*p.shape).astype("float32"))
        adam = proa.optimizer.AdamW(0.01, parameters=net.parameters(), multi_precision=True)
        return proa.amp.decorate(net, adam, level="O2", dtype="bfloat16")

    def steps(net, adam, first, count):
        losses = []
        for i in range(first, first + count):
            x = proa.to_tensor(np.random.RandomState(100 + i).randn(4, 4).astype("float32"))
            with proa.amp.auto_cast(level="O2", dtype="bfloat16"):
                loss = (net(x) ** 2).mean()
            loss.backward()
            adam.step(), adam.clear_grad()
            losses.append(loss.item())
        return losses

    one, adam = make()
    wanted = steps(one, adam, 0, 6)

    def write():
        net, adam = make()
        model, adam, _ = dist.sharding.group_sharded_parallel(net, adam, "os_g")
        losses = steps(model, adam, 0, 3)  # all ranks have the whole batch
        checkpoint.save(folder, model, adam, 3)
        return losses

    for losses in run_threads(write, 2):
        np.testing.assert_allclose(losses, wanted[:3], rtol=1e-6)
    net, adam = make()
    assert checkpoint.load(folder, net, adam).step == 3
    np.testing.assert_array_equal(steps(net, adam, 3, 3), wanted[3:])

    def read():
        net, adam = make()
        model, adam, _ = dist.sharding.group_sharded_parallel(net, adam, "p_g_os")
        checkpoint.load(folder, model, adam)
        return steps(model, adam, 3, 3)

    for losses in run_threads(read, 3):
        np.testing.assert_allclose(losses, wanted[3:], rtol=1e-6)


def test_weights_that_stages_share(tmp_path):
    """One weight in the checkpoint, whichever stages have copies of it."""
    from proa.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer, SharedLayerDesc

    tied = lambda: [
        SharedLayerDesc("words", nn.Embedding, None, "weight", 8, 4),
        LayerDesc(nn.Linear, 4, 4),
        LayerDesc(nn.Linear, 4, 4),
        SharedLayerDesc("words", nn.Embedding, lambda layer, x: x @ layer.weight.t(), "weight", 8, 4),
    ]

    def body(write, way):
        hcg = parallel_models.begin(way)
        net = PipelineLayer(tied(), loss_fn=lambda y, t: ((y - t) ** 2).mean(), topology=hcg.topology())
        model = fleet.distributed_model(net)
        adam = fleet.distributed_optimizer(proa.optimizer.Adam(0.01, parameters=net.parameters()))
        x, t = proa.to_tensor(np.arange(8).reshape(8, 1)), proa.ones([8, 1, 8])
        if write:
            model.train_batch([x, t], adam)
            checkpoint.save(str(tmp_path), model, adam, 1)
        else:
            checkpoint.load(str(tmp_path), model, adam)
        return {n: p.numpy() for n, p in net.named_parameters()}

    first, last = run_threads(lambda: body(True, Way(pp=2)), 2)
    np.testing.assert_array_equal(first["0.weight"], last["3.weight"])
    manifest = json.load(open(tmp_path / "step_1" / "manifest.json"))["manifest"]
    models = sorted(n for n in manifest["tensors"] if n.startswith("model/"))
    assert models == [f"model/{n}" for n in ("0.weight", "1.bias", "1.weight", "2.bias", "2.weight")]
    one = run_threads(lambda: body(False, Way()), 1)[0]
    np.testing.assert_array_equal(one["0.weight"], first["0.weight"])
    again = run_threads(lambda: body(False, Way(pp=2, chunks=2)), 2)
    np.testing.assert_array_equal(again[1]["3.weight"], first["0.weight"])


def test_experts_of_all_ranks(tmp_path):
    from proa.incubate.distributed.models.moe import MoELayer

    make = lambda count, group=None: MoELayer(
        4, nn.LayerList([nn.Linear(4, 4) for _ in range(count)]), {"type": "naive"}, moe_group=group
    )

    def write():
        net = make(2, dist.get_group())
        for t in net.gate.state_dict().values():
            dist.broadcast(t, 0)
        checkpoint.save(str(tmp_path), net, step=2)
        return [e.weight.numpy() for e in net.experts]

    experts = [e for mine in run_threads(write, 2) for e in mine]
    one = make(4)
    checkpoint.load(str(tmp_path), one)
    for found, want in zip(one.experts, experts):
        np.testing.assert_array_equal(found.weight.numpy(), want)

    def read():
        net = make(1, dist.get_group())
        checkpoint.load(str(tmp_path), net)
        return net.experts[0].weight.numpy()

    for found, want in zip(run_threads(read, 4), experts):
        np.testing.assert_array_equal(found, want)


def test_what_all_have_is_written_once_and_by_all(tmp_path):
    def write():
        net = nn.Sequential(*[nn.Linear(16, 16) for _ in range(8)])
        model = proa.DataParallel(net)
        return checkpoint.save(str(tmp_path), model, step=1)

    (path, *_) = run_threads(write, 4)
    sizes = [os.path.getsize(f) for f in sorted(glob.glob(f"{path}/rank_*"))]
    assert len(sizes) == 4 and max(sizes) < 1.5 * min(sizes)
    values = 8 * (16 * 16 + 16) * 4
    assert values <= sum(sizes) < 1.8 * values
    state = proa.load(glob.glob(f"{path}/rank_0.*")[0])  # plain safetensors
    assert all(name.startswith("model/") for name in state)


# Which checkpoints stay -----------------------------------------------------------------------------------------------


def _saved(folder, steps, **more):
    net = nn.Linear(2, 2)
    for step in steps:
        net.weight.set_value(np.full([2, 2], float(step), np.float32))
        checkpoint.save(folder, net, step=step, **more)
    return net


def test_the_last_ones_stay(tmp_path):
    folder = str(tmp_path / "deep" / "folder")
    net = _saved(folder, [1, 2, 3, 10], keep=3)
    assert [step for step, _ in checkpoint.complete(folder)] == [2, 3, 10]
    os.makedirs(f"{folder}/step_11")  # begun, and not completed
    os.makedirs(f"{folder}/steps")  # somebody else's
    assert checkpoint.load(folder, net).step == 10
    assert checkpoint.load(folder, net, step=3).step == 3 and net.weight.numpy()[0, 0] == 3
    with pytest.raises(FileNotFoundError, match="no complete checkpoint of step 4; it has 2, 3, 10"):
        checkpoint.load(folder, net, step=4)
    _saved(folder, [10])  # again, after going on from step 3
    assert sorted(os.listdir(folder)) == ["step_10", "step_10_1", "steps"]
    assert checkpoint.load(folder, net).path.endswith("step_10_1")


@pytest.mark.parametrize("name", ["manifest.json", "rank_0.safetensors", "plain.safetensors"])
@pytest.mark.parametrize("how", ["cut", "altered", "gone"])
def test_damaged_files_are_named(name, how, tmp_path):
    net = _saved(str(tmp_path), [1])
    at = tmp_path / "step_1" / name
    data = bytearray(at.read_bytes())
    if how == "gone":
        at.unlink()
    else:
        data[len(data) * 3 // 4] ^= 1
        at.write_bytes(data[:-5] if how == "cut" else data)
    if (name, how) == ("manifest.json", "gone"):
        assert checkpoint.load(str(tmp_path), net) is None
        return
    with pytest.raises(ValueError, match=name.replace(".", r"\.")):
        checkpoint.load(str(tmp_path), net)


def test_manifests_that_lie(tmp_path):
    """With a right checksum: paths that lead out, sizes that are none, pieces that are not there."""
    from proa.distributed.checkpoint import folders

    net = _saved(str(tmp_path), [1])
    path = str(tmp_path / "step_1")
    good = folders.read_manifest(path)
    del good["format"]

    def lie(change):
        manifest = json.loads(json.dumps(good))
        change(manifest)
        folders.write_manifest(path, manifest)
        with pytest.raises(ValueError, match="step_1") as caught:
            checkpoint.load(str(tmp_path), net)
        return str(caught.value)

    weight = "model/weight"
    assert "is no file" in lie(lambda m: m["files"].update({"../x": 3}))
    assert "is no file" in lie(lambda m: m["files"].update({"rank_0.safetensors": -1}))
    assert "missing" in lie(lambda m: m.pop("step"))
    for bad in ([9, 9], [2], [2, -2], [2, 2.0], "x"):
        assert "not valid" in lie(lambda m, bad=bad: m["tensors"][weight]["pieces"][0].__setitem__(3, bad))
    assert "not valid" in lie(lambda m: m["tensors"][weight].update(dtype="F8"))
    assert "parts of tensor 'model/weight' are missing" in lie(lambda m: m["tensors"][weight]["pieces"].clear())
    assert "no tensor 'other'" in lie(lambda m: m["tensors"][weight]["pieces"][0].__setitem__(1, "other"))
    assert "not what the manifest says" in lie(lambda m: m["tensors"][weight].update(dtype="F64"))
    lie(lambda m: m["tensors"].pop(weight))
    folders.write_manifest(path, good)
    assert checkpoint.load(str(tmp_path), net).step == 1


def test_other_models(tmp_path):
    _saved(str(tmp_path), [1])
    with pytest.raises(
        ValueError, match=r"of another model: it has no 0\.bias, 0\.weight; the model has no bias, weight"
    ):
        checkpoint.load(str(tmp_path), nn.Sequential(nn.Linear(2, 2)))
    assert checkpoint.load(str(tmp_path), nn.Sequential(nn.Linear(2, 2)), strict=False).step == 1
    with pytest.raises(ValueError, match=r"model/weight is \[2, 3\] here, and \[2, 2\] in"):
        checkpoint.load(str(tmp_path), nn.Linear(2, 3))
    sgd = proa.optimizer.SGD(0.1, parameters=nn.Linear(1, 1).parameters())
    with pytest.raises(ValueError, match="is none of the model's"):
        checkpoint.save(str(tmp_path), nn.Linear(2, 2), sgd)
    for wrong in ({"step": -1}, {"step": 1.5}, {"keep": 0}):
        with pytest.raises(ValueError, match="must be an int of at least"):
            checkpoint.save(str(tmp_path), nn.Linear(2, 2), **wrong)


def test_a_rank_that_cannot_write(tmp_path, monkeypatch):
    """Nobody has a checkpoint then, all are told why, and the next one comes out well."""
    from proa.framework import container

    write = container.write

    def fails(path, *rest):
        if path.endswith("rank_1.safetensors"):
            raise OSError(28, "No space left on device", path)
        return write(path, *rest)

    def body(expected):
        net = proa.DataParallel(nn.Linear(64, 64))
        try:
            checkpoint.save(str(tmp_path), net, step=1)
        except expected:
            return True
        return False

    monkeypatch.setattr(container, "write", fails)
    assert run_threads(lambda: body((OSError, RuntimeError)), 2) == [True, True]
    assert checkpoint.complete(str(tmp_path)) == []
    monkeypatch.undo()
    assert run_threads(lambda: body(()), 2) == [False, False]
    assert [step for step, _ in checkpoint.complete(str(tmp_path))] == [1]


class _Killed(BaseException):
    """As if the process were gone: nobody handles it."""


def test_killed_between_any_two_changes_of_the_disk(tmp_path, monkeypatch):
    """After each number of changes, what is loaded is the old checkpoint or the new one, and the next save tidies up."""
    from proa.distributed.checkpoint import saving
    from proa.framework import container

    left = [0]

    def counted(module, name):
        function = getattr(module, name)

        def call(*args, **kwargs):
            if left[0] == 0:
                raise _Killed
            left[0] -= 1
            return function(*args, **kwargs)

        monkeypatch.setattr(module, name, call)

    for module, name in ((os, "mkdir"), (os, "unlink"), (os, "rmdir"), (container, "write"), (container, "write_bytes"),
                         (saving, "save_plain")):  # fmt: skip
        counted(module, name)
    seen, done, changes = set(), False, 0
    while not done:
        folder = str(tmp_path / f"after_{changes}")
        left[0] = 10**6
        net = _saved(folder, [1, 2])
        left[0] = changes
        try:
            _saved(folder, [3])
            done = True
        except _Killed:
            pass
        left[0] = 10**6
        restored = checkpoint.load(folder, net)
        assert restored.step in (2, 3)
        np.testing.assert_array_equal(net.weight.numpy(), restored.step)
        seen.add(restored.step)
        _saved(folder, [4])
        assert len(os.listdir(folder)) == 2 == len(checkpoint.complete(folder))
        changes += 1
    assert seen == {2, 3} and changes > 6


_SAVES = """
from proa import nn
from proa.distributed import checkpoint
dist.init_parallel_env()
net = nn.Sequential(*[nn.Linear(120, 120) for _ in range(6)])
sgd = proa.optimizer.Momentum(0.1, parameters=net.parameters())
model, sgd, _ = dist.sharding.group_sharded_parallel(net, sgd, "os")
for step in range(1, 1000):
    for p in net.parameters():
        p.set_value(np.full(p.shape, step, np.float32))
    checkpoint.save(os.environ["FOLDER"], model, sgd, step)
    print(step, flush=True)
"""


@pytest.mark.parametrize("seed", range(3))
def test_killed_at_any_moment(seed, tmp_path):
    """What is loaded afterwards is one whole checkpoint, and the last that was reported or a later one."""
    rng = random.Random(seed)
    processes = ranks.start(_SAVES, 2, FOLDER=str(tmp_path))
    try:
        for _ in range(rng.randint(1, 6)):
            line = processes[0].stdout.readline()
        time.sleep(rng.random() * 0.05)
        victim = rng.choice([[0], [1], [0, 1]])
        for rank in victim:
            processes[rank].kill()
        time.sleep(rng.random() * 0.2)  # what the other makes of it
    finally:
        for p in processes:
            p.kill()
            p.communicate()
    assert line.strip().isdigit()
    net = nn.Sequential(*[nn.Linear(120, 120) for _ in range(6)])
    restored = checkpoint.load(str(tmp_path), net)
    assert restored.step >= int(line)
    for p in net.parameters():
        np.testing.assert_array_equal(p.numpy(), restored.step)
    checkpoint.save(str(tmp_path), net, step=restored.step + 1)
    left = sorted(os.listdir(tmp_path))
    assert left == sorted(os.path.basename(path) for _, path in checkpoint.complete(str(tmp_path)))
