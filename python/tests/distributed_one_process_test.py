"""paddle.distributed and fleet in one process: what programs ask, wrap and exchange."""

import io
import os
import subprocess
import sys

import numpy as np
import pytest

import proa
import proa.distributed as dist
from proa.distributed import fleet
from proa.distributed.state_names import divided_owner, owner_of


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    for name in ("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", "PADDLE_TRAINER_ENDPOINTS", "TRAINING_ROLE"):
        monkeypatch.delenv(name, raising=False)


def test_who_we_are():
    assert (dist.get_rank(), dist.get_world_size()) == (0, 1)
    env = dist.ParallelEnv()
    assert (env.rank, env.local_rank, env.world_size, env.nranks, env.device_id, env.dev_id) == (0, 0, 1, 1, 0, 0)
    assert env.trainer_endpoints == [] and env.current_endpoint == ""
    group = dist.init_parallel_env()
    assert dist.is_initialized() and group.nranks == 1 and group.rank == 0
    assert dist.get_rank(dist.new_group([0])) == 0
    dist.destroy_process_group()
    assert not dist.is_initialized()


def test_collectives_are_identities():
    x = proa.to_tensor([1.0, 2.0])
    for op in (dist.ReduceOp.SUM, dist.ReduceOp.MAX, dist.ReduceOp.MIN, dist.ReduceOp.PROD):
        dist.all_reduce(x, op)
        dist.reduce(x, 0, op)
    dist.broadcast(x, src=0)
    dist.barrier()
    assert x.tolist() == [1.0, 2.0]
    found = []
    dist.all_gather(found, x)
    assert len(found) == 1 and found[0].tolist() == [1.0, 2.0] and found[0] is not x
    y = proa.zeros([2])
    dist.scatter(y, [x], src=0)
    assert y.tolist() == [1.0, 2.0]
    sent = []
    dist.alltoall([x], sent)
    assert sent[0].tolist() == [1.0, 2.0]
    objects = []
    dist.all_gather_object(objects, {"a": 1})
    assert objects == [{"a": 1}]
    z = proa.zeros([2])
    dist.reduce_scatter(z, [x])
    assert z.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "call, kind, says",
    [
        (lambda: dist.all_reduce([1.0]), TypeError, "must be a Tensor"),
        (lambda: dist.all_reduce(proa.ones([1]), op="sum"), ValueError, "ReduceOp"),
        (lambda: dist.broadcast(proa.ones([1]), src=1), ValueError, "src is 1"),
        (lambda: dist.broadcast(proa.ones([1]), src="0"), TypeError, "src"),
        (lambda: dist.all_gather(None, proa.ones([1])), TypeError, "list"),
        (lambda: dist.scatter(proa.ones([1]), []), ValueError, "one tensor for each process"),
        (lambda: dist.send(proa.ones([1]), 0), RuntimeError, "nobody else"),
        (lambda: dist.new_group([0, 1]), ValueError, "names 1"),
        (lambda: dist.get_group(77), ValueError, "no group 77"),
        (lambda: dist.spawn(3), TypeError, "func"),
        (lambda: dist.spawn(print, nprocs=1, nothing=1), ValueError, "no option"),
        (lambda: proa.DataParallel(3), TypeError, "must be a Layer"),
        (lambda: fleet.init(role_maker=3), TypeError, "role maker"),
        (lambda: fleet.init_server(), NotImplementedError, "no parameter servers"),
        (lambda: fleet.distributed_optimizer(3), TypeError, "must be an Optimizer"),
    ],
)
def test_bad_input(call, kind, says):
    with pytest.raises(kind, match=says):
        call()


def test_several_processes_need_a_place_to_meet(monkeypatch):
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
    assert dist.get_world_size() == 2
    with pytest.raises(ValueError, match="not where they meet"):
        dist.init_parallel_env()
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "two")
    with pytest.raises(ValueError, match="PADDLE_TRAINERS_NUM='two'"):
        dist.get_world_size()


def test_data_parallel_is_the_layer():
    inner = proa.nn.Sequential(proa.nn.Linear(3, 4), proa.nn.BatchNorm1D(4))
    net = proa.DataParallel(inner, find_unused_parameters=True)
    x = proa.randn([5, 3])
    assert np.array_equal(net(x).numpy(), inner(x).numpy())
    assert list(net.state_dict()) == list(inner.state_dict())
    assert [id(p) for p in net.parameters()] == [id(p) for p in inner.parameters()]
    other = proa.DataParallel(proa.nn.Sequential(proa.nn.Linear(3, 4), proa.nn.BatchNorm1D(4)))
    other.set_state_dict(net.state_dict())
    net.eval(), other.eval()
    assert not inner.training and np.array_equal(net(x).numpy(), other(x).numpy())
    with net.no_sync():
        loss = net.scale_loss(net(x).sum())
        loss.backward()
    net.apply_collective_grads()
    assert inner[0].weight.grad is not None


def test_spawn_calls_here():
    seen = []
    dist.spawn(lambda a, b: seen.append((a, b, dist.get_world_size(), os.environ["PADDLE_TRAINER_ID"])), (1, 2))
    assert seen == [(1, 2, 1, "0")] and "PADDLE_TRAINER_ID" not in os.environ
    context = dist.spawn(seen.append, (3,), nprocs=1, join=False)
    assert context.join() and seen[-1] == 3


def test_fleet_trains_with_one_worker():
    strategy = fleet.DistributedStrategy()
    strategy.amp = True
    strategy.amp_configs = {"init_loss_scaling": 2.0}
    fleet.init(is_collective=True, strategy=strategy)
    assert (fleet.worker_index(), fleet.worker_num(), fleet.is_first_worker()) == (0, 1, True)
    assert fleet.is_worker() and not fleet.is_server() and fleet.server_num() == 0
    assert len(fleet.worker_endpoints()) == 1 and isinstance(fleet.worker_endpoints(to_string=True), str)
    net = fleet.distributed_model(proa.nn.Linear(2, 1))
    start = net.weight.numpy().copy()
    sgd = fleet.distributed_optimizer(proa.optimizer.SGD(0.5, parameters=net.parameters()))
    net(proa.ones([1, 2])).sum().backward()
    sgd.step()
    np.testing.assert_allclose(net.weight.numpy(), start - 0.5)
    fleet.barrier_worker(), fleet.init_worker(), fleet.stop_worker()
    assert fleet.get_lr() == 0.5
    assert fleet.util.get_file_shard(["a", "b"]) == ["a", "b"]
    assert fleet.fleet.worker_num() == 1 and "nothing" not in dir(fleet)


def test_strategy_refuses_what_it_does_not_know(tmp_path):
    strategy = fleet.DistributedStrategy()
    with pytest.raises(TypeError, match="nothing"):
        strategy.nothing = 1
    with pytest.raises(TypeError, match="amp must be a bool"):
        strategy.amp = "yes"
    with pytest.raises(ValueError, match="has no 'scale'"):
        strategy.amp_configs = {"scale": 1}
    strategy.sharding = True
    path = str(tmp_path / "strategy.prototxt")
    strategy.save_to_prototxt(path)
    other = fleet.DistributedStrategy()
    other.load_from_prototxt(path)
    assert other.sharding and not other.amp


def test_every_setting_is_an_attribute_with_its_type():
    kinds = {bool: ("yes", True), int: (True, 7), float: ("1", 2), str: (1, "a"), dict: ([], {})}
    settings = {n: v for n, v in vars(fleet.DistributedStrategy).items() if n[0] != "_" and hasattr(v, "__set__")}
    assert {"a_sync", "auto", "lars_configs", "build_strategy", "execution_strategy"} < set(settings)
    for name, setting in settings.items():
        assert setting.__doc__, name
        strategy, other = fleet.DistributedStrategy(), fleet.DistributedStrategy()
        if not hasattr(setting, "default"):
            with pytest.raises(TypeError, match=f"{name} must be a"):
                setattr(strategy, name, {})
            setattr(strategy, name, getattr(other, name))
            assert getattr(strategy, name) is getattr(other, name)
            continue
        wrong, right = kinds[type(setting.default)]
        with pytest.raises(TypeError, match=f"{name} must be a"):
            setattr(strategy, name, wrong)
        if setting.default and isinstance(setting.default, dict):
            right = {next(iter(setting.default)): "changed"}
        setattr(strategy, name, right)
        assert getattr(strategy, name) == ({**setting.default, **right} if isinstance(right, dict) else right)
        assert getattr(other, name) == setting.default == getattr(fleet.DistributedStrategy(), name)


def test_programs_that_looked_up_rows_on_servers(tmp_path):
    proa.enable_static()
    try:
        main, startup = proa.static.Program(), proa.static.Program()
        with proa.static.program_guard(main, startup):
            x = proa.static.data("x", [None, 2])
            y = proa.nn.Linear(2, 1)(x)
        infer = fleet.utils.DistributedInfer(main, startup)
        exe = proa.static.Executor()
        infer.init_distributed_infer_env(exe, y)
        out = exe.run(infer.get_dist_infer_program(), feed={"x": np.ones([3, 2], "float32")}, fetch_list=[y])
        assert out[0].shape == (3, 1)
        with pytest.raises(TypeError, match="DistributedInfer"):
            fleet.utils.DistributedInfer(3)
    finally:
        proa.disable_static()


def test_local_files(tmp_path):
    files = fleet.utils.LocalFS()
    folder = str(tmp_path / "a" / "b")
    files.mkdirs(folder)
    files.touch(folder + "/x")
    assert files.ls_dir(str(tmp_path / "a")) == (["b"], []) and files.is_file(folder + "/x")
    files.mv(folder + "/x", folder + "/y")
    assert files.is_exist(folder + "/y") and not files.is_exist(folder + "/x")
    files.delete(str(tmp_path / "a"))
    assert not files.is_exist(folder)


def test_data_generator(monkeypatch, capsys):
    class Words(fleet.MultiSlotDataGenerator):
        def generate_sample(self, line):
            def samples():
                numbers = [int(word) for word in line.split()]
                yield [("ids", numbers), ("label", [len(numbers)])]

            return samples

    monkeypatch.setattr(sys, "stdin", io.StringIO("1 2 3\n4 5\n"))
    Words().run_from_stdin()
    assert capsys.readouterr().out == "3 1 2 3 1 3\n2 4 5 1 2\n"


def test_launch_runs_the_script(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import os, sys\nprint(os.environ['PADDLE_TRAINERS_NUM'], sys.argv[1:], __name__)\n")

    def run(*arguments):
        command = [sys.executable, "-m", "proa.distributed.launch", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert run("--gpus", "0", str(script), "--lr", "1").stdout == "1 ['--lr', '1'] __main__\n"
    assert "there is no script" in run("--gpus", "0", str(tmp_path / "nothing.py")).stderr


class _TwoWorkers:
    """Stands for fleet.util of a job of two: the other worker has the same values in reverse order, plus one."""

    def all_reduce(self, input, mode="sum", comm_world="worker"):
        other = np.asarray(input)[..., ::-1] + 1 if np.ndim(input) else np.asarray(input) + 1
        return {"sum": np.add, "max": np.maximum, "min": np.minimum}[mode](input, other)


def test_metrics_over_all_workers():
    """Of one worker and, through `util`, of two: against the same over all samples."""
    from sklearn.metrics import roc_auc_score

    from proa.distributed.fleet import metrics

    rng = np.random.RandomState(0)
    positive, negative = rng.randint(0, 9, 20), rng.randint(0, 9, 20)
    for util, (pos, neg) in (
        (None, (positive, negative)),
        (_TwoWorkers(), (positive + positive[::-1] + 1, negative + negative[::-1] + 1)),
    ):
        scores, truth = np.repeat(np.arange(20).tolist() * 2, [*pos, *neg]), [1] * pos.sum() + [0] * neg.sum()
        assert metrics.auc(positive[None], proa.to_tensor(negative), util=util) == pytest.approx(
            roc_auc_score(truth, scores)
        )
        # Sums of buckets stand for errors here.
        assert metrics.mae(positive, negative, util=util) == pytest.approx(pos.sum() / neg.sum())
        assert metrics.rmse(positive, negative, util=util) == pytest.approx(
            metrics.mse(positive, negative, util=util) ** 0.5
        )
        assert metrics.acc(positive, negative, util=util) == pytest.approx(pos.sum() / neg.sum())
        assert metrics.sum(positive, util=util).tolist() == pos.tolist()
    assert metrics.max(positive, util=_TwoWorkers()).tolist() == np.maximum(positive, positive[::-1] + 1).tolist()
    assert metrics.min(positive).tolist() == positive.tolist() and metrics.sum(2.5) == 2.5
    assert metrics.auc(np.zeros(3), np.ones(3)) == 0.5
    for call, error, says in (
        (lambda: metrics.auc(np.zeros(3), np.ones(4)), ValueError, "stat_pos has 3 buckets, stat_neg 4"),
        (lambda: metrics.mae(1.0, 0), ValueError, "total_ins_num is 0"),
        (lambda: metrics.sum([1]), TypeError, "must be an array, a tensor or a variable's name, not list"),
        (lambda: metrics.sum("no_such_variable"), ValueError, "no variable 'no_such_variable'"),
    ):
        with pytest.raises(error, match=says):
            call()


def test_metrics_of_what_a_program_keeps():
    from proa.distributed.fleet import metrics

    static, main = proa.static, proa.static.Program()
    with static.program_guard(main):
        chance, label = static.data("chance", [None, 2]), static.data("label", [None, 1], "int64")
        area, _, (positive, negative, *_) = static.auc(chance, label)
    rng = np.random.RandomState(1)
    for _ in range(3):
        p = rng.rand(8, 1).astype("float32")
        feed = {"chance": np.concatenate([1 - p, p], 1), "label": rng.randint(0, 2, [8, 1])}
        (want,) = static.Executor().run(main, feed=feed, fetch_list=[area])
    assert metrics.auc(positive.name, negative.name) == pytest.approx(want.item())
    assert metrics.auc(positive, negative) == pytest.approx(want.item())


def test_whose_a_state_is():
    """The longest name wins; powers of betas are nobody's part."""
    names = {"w", "w_1"}
    assert [owner_of(n, names) for n in ("w_moment1_0", "w_1_moment1_0", "w_10_moment1_0", "v_moment1_0")] == [
        "w", "w_1", "w", None
    ]  # fmt: skip
    assert divided_owner("w_1", names) == divided_owner("w_1_moment1_0", names) == "w_1"
    assert divided_owner("w_1_beta1_pow_acc_0", names) is None and owner_of("w_1_beta1_pow_acc_0", names) == "w_1"
