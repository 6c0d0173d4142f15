"""Static programs whose backward pass computes values of forward once more: the same bits, in less memory."""

import numpy as np
import pytest

import proa
import proa.nn.functional as F
from proa import static
from proa.device import max_memory_allocated, memory_allocated, reset_max_memory_allocated


@pytest.fixture(autouse=True)
def _static():
    proa.enable_static()
    yield
    proa.disable_static()


def _dense(x):
    kept = []
    for _ in range(4):
        for _ in range(2):
            x = F.layer_norm(F.gelu(static.nn.fc(x, 16)), 16)
        kept.append(x)
    return x, kept


def _dropped(x):
    kept = []
    for _ in range(3):
        x = F.dropout(proa.tanh(static.nn.fc(F.dropout(x, 0.3), 12)), 0.2) * 1.5
        kept.append(x)
    return x, kept


def _skipped(x):
    """Values that later segments read, and a mask that all of them do."""
    first, kept = proa.exp(-x), []
    mask = (x > 0.1).astype("float32")
    for _ in range(3):
        x = proa.tanh(static.nn.fc(x, 6)) * mask + proa.sin(first)
        kept.append(x)
    return x + first, kept


def _normed(x):
    """Running statistics change in forward."""
    x, kept = x.reshape([-1, 1, 2, 3]), []
    for _ in range(3):
        x = F.relu(static.nn.batch_norm(static.nn.conv2d(x, 4, 3, padding=1)))
        kept.append(x)
    return x, kept


def _counted(x):
    """What forward reads, and changes then."""
    count = static.create_global_var([1], 1.0, "float32", persistable=True)
    x = proa.sin(static.nn.fc(x, 6) * count)
    x = proa.exp(proa.cos(x * count) * count)
    proa.increment(count, 1.0)
    kept = proa.tanh(x)
    return proa.sin(static.nn.fc(kept, 3) * count), [kept]


def _controlled(x):
    kept = []
    for _ in range(2):
        h = static.nn.fc(x, 6)
        y = static.nn.cond(h.mean() > 0, lambda: proa.tanh(h) * h, lambda: proa.sin(h))
        x = proa.exp(proa.sin(y)) + x
        kept.append(x)
    return x, kept


_NETWORKS = {"dense": _dense, "dropped": _dropped, "skipped": _skipped, "normed": _normed, "counted": _counted, "controlled": _controlled}  # fmt: skip


def _program(network, how, rows=8):
    """(program, startup program, loss, what is fetched beside it), with checkpoints or without: gradients alone, or steps."""
    proa.seed(5)
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [rows, 6])
        x.stop_gradient = False
        y, kept = network(x)
        loss = (y * y).mean()
        if how.startswith("gradients"):
            pairs = static.append_backward(loss, checkpoints=kept if how == "gradients again" else None)
            kept = [*kept, *(g for _, g in pairs)]
        else:
            adam = proa.optimizer.Adam(0.01)
            if how == "steps again":
                adam = proa.fluid.optimizer.RecomputeOptimizer(adam)
                adam._set_checkpoints(kept)
            adam.minimize(loss)
    return main, startup, loss, kept


def _run(made, steps=4):
    main, startup, loss, fetched = made
    executor, random = static.Executor(), np.random.RandomState(0)
    executor.run(startup)
    proa.seed(9)
    found = []
    for _ in range(steps):
        found += executor.run(main, {"x": random.randn(8, 6).astype("float32")}, [loss, *fetched])
    return [*found, *(main.state_dict("param")[p.name].numpy() for p in main.all_parameters())]


@pytest.mark.parametrize("what", ["gradients", "steps"])
@pytest.mark.parametrize("network", _NETWORKS)
def test_the_same_bits(network, what):
    wanted, found = (_run(_program(_NETWORKS[network], how)) for how in (what, f"{what} again"))
    assert len(wanted) == len(found)
    for a, b in zip(found, wanted):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("network", _NETWORKS)
def test_operations_are_there_twice(network):
    plain, twice = (_program(_NETWORKS[network], how)[0] for how in ("gradients", "gradients again"))
    assert twice.num_operations > plain.num_operations + 2
    once = lambda main: [
        line.split("(")[0].split()[-1] for line in str(main).splitlines() if "dropout(" in line or "store_(" in line
    ]
    assert once(twice) == once(plain)  # what draws, or changes something


def _peak(how):
    made = _program(_dense, how, rows=4096)
    main, startup, loss, _ = made
    executor = static.Executor()
    executor.run(startup)
    batch = {"x": np.ones([4096, 6], "float32")}
    executor.run(main, batch, [loss])
    reset_max_memory_allocated()
    before = memory_allocated()
    executor.run(main, batch, [loss])
    return max_memory_allocated() - before


def test_memory():
    """Of 8 layers with 3 values and 1 statistic each, one value in two layers stays, and one segment's inside."""
    plain, less = _peak("steps"), _peak("steps again")
    assert less < 0.6 * plain, (plain, less)


def _two(x):
    first = proa.tanh(static.nn.fc(x, 6, name="first"))
    return static.nn.fc(proa.exp(proa.sin(first)), 6), [first]


def test_names():
    """What was recorded before is fetched as before, by itself and by its name; gradients by theirs."""
    main, startup, loss, (first, *grads) = _program(_two, "gradients again")
    executor, batch = static.Executor(), {"x": np.ones([8, 6], "float32")}
    executor.run(startup)
    names = [loss.name, first.name, *(g.name for g in grads)]
    assert all(name.endswith("@GRAD") for name in names[2:])
    for a, b in zip(executor.run(main, batch, names), executor.run(main, batch, [loss, first, *grads])):
        np.testing.assert_array_equal(a, b)
    with static.program_guard(main, startup):  # goes on from values of before
        more = (first * 2.0).sum()
    np.testing.assert_allclose(
        executor.run(main, batch, [more])[0], 2 * executor.run(main, batch, [first])[0].sum(), rtol=1e-6
    )
    again = main.clone(for_test=True)
    np.testing.assert_array_equal(executor.run(again, batch, [loss])[0], executor.run(main, batch, [loss])[0])
    again = static.Program()
    with static.program_guard(again, static.Program()):
        loss = (_two(static.data("x", [8, 6]))[0] ** 2).mean()
        assert len(static.append_backward(loss, checkpoints=[loss.name])) == 4


def test_mistakes():
    with static.program_guard(static.Program(), static.Program()):
        x = static.data("x", [8, 6])
        loss = static.nn.fc(x, 3).mean()
        with pytest.raises(ValueError, match="the checkpoint 'nothing' is no value of the program"):
            static.append_backward(loss, checkpoints=["nothing"])
        with pytest.raises(TypeError, match="checkpoints are tensors of the program and names, not int"):
            static.append_backward(loss, checkpoints=[3])
        with pytest.raises(ValueError, match="is no value of the program"):
            static.append_backward(loss, checkpoints=[static.nn.fc(x, 3).block.program.all_parameters()[0]])
        with pytest.raises(ValueError, match="call _set_checkpoints first"):
            proa.fluid.optimizer.RecomputeOptimizer(proa.optimizer.SGD(0.1)).minimize(loss)
        with pytest.raises(TypeError, match="checkpoints must be a list, not Tensor"):
            proa.fluid.optimizer.RecomputeOptimizer(proa.optimizer.SGD(0.1))._set_checkpoints(loss)
        with static.program_guard(static.Program(), static.Program()):
            other = static.data("y", [2]) * 2.0
        with pytest.raises(ValueError, match="is no value of the program"):
            static.append_backward(loss, checkpoints=[other])
    with static.program_guard(static.Program(), static.Program()):
        h = static.nn.fc(static.data("x", [8, 6]), 6)
        _, y = static.nn.while_loop(
            lambda i, y: i < 3, lambda i, y: (i + 1, proa.tanh(y)), [proa.full([1], 0, "int64"), h]
        )
        with pytest.raises(NotImplementedError, match="backward goes through a while_loop"):
            static.append_backward(y.sum(), checkpoints=[h])


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_in_mixed_precision(level):
    def trained(again):
        proa.seed(5)
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            x = static.data("x", [8, 6])
            y, kept = _dense(x)
            loss = (y * y).mean()
            sgd = static.amp.decorate(proa.optimizer.SGD(0.1), use_pure_fp16=level == "O2", init_loss_scaling=64.0)
            if again:
                sgd = proa.fluid.optimizer.RecomputeOptimizer(sgd)
                sgd._set_checkpoints(kept)
            sgd.minimize(loss)
        if again:
            assert main.num_operations > trained.before + 10
        trained.before = main.num_operations
        return _run((main, startup, loss, kept))

    wanted, found = trained(False), trained(True)
    for a, b in zip(found, wanted):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("more", [{}, {"amp": True}, {"gradient_merge": True}])
def test_by_a_strategy_of_fleet(more):
    from proa.distributed import fleet

    def trained(again):
        proa.seed(5)
        strategy = fleet.DistributedStrategy()
        for name, value in more.items():
            setattr(strategy, name, value)
        strategy.gradient_merge_configs = {"k_steps": 2}
        fleet.init(is_collective=True, strategy=strategy)
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            y, kept = _dense(static.data("x", [8, 6]))
            loss = (y * y).mean()
            strategy.recompute, strategy.recompute_configs = again, {"checkpoints": [h.name for h in kept]}
            fleet.distributed_optimizer(proa.optimizer.SGD(0.1)).minimize(loss)
        assert str(main).count(" gelu(") == 8 + 8 * again
        return _run((main, startup, loss, kept))

    for a, b in zip(trained(True), trained(False)):
        np.testing.assert_array_equal(a, b)


def test_a_strategy_without_checkpoints():
    from proa.distributed import fleet

    strategy = fleet.DistributedStrategy()
    strategy.recompute = True
    fleet.init(is_collective=True, strategy=strategy)
    with static.program_guard(static.Program(), static.Program()):
        loss = static.nn.fc(static.data("x", [8, 6]), 3).mean()
        with pytest.raises(ValueError, match="needs recompute_configs"):
            fleet.distributed_optimizer(proa.optimizer.SGD(0.1)).minimize(loss)
        strategy.recompute_configs = {"enable_offload": True}
        with pytest.warns(UserWarning, match="enable_offload.* changes nothing"):
            fleet.distributed_optimizer(proa.optimizer.SGD(0.1))
