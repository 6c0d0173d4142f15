"""Passes over programs that are trained do what the switches of fleet do, and what training by hand does."""

import json

import numpy as np
import pytest

import proa
from proa.distributed.passes import PassBase, PassContext, PassManager, new_pass, register_pass
from python.tests import ranks

_DATA = np.random.RandomState(0).randn(6, 8, 5).astype("float32")


@pytest.fixture(autouse=True)
def _static():
    proa.enable_static()
    yield
    proa.disable_static()


def _weights(seed):
    return proa.ParamAttr(
        initializer=proa.nn.initializer.Assign(np.random.RandomState(seed).randn(5, 5).astype("float32") * 0.4)
    )


def _trained(make, change, feeds=_DATA, dropout=0.0):
    """(losses, weights, the program) of a network whose program `change(optimizer, loss, y, main, startup)` completes."""
    proa.seed(3)
    main, startup = proa.static.Program(), proa.static.Program()
    with proa.static.program_guard(main, startup):
        x = proa.static.data("x", [None, 5])
        h = proa.static.nn.fc(x, 5, activation="tanh", weight_attr=_weights(1))
        kept = proa.nn.functional.dropout(h, dropout) if dropout else h
        y = proa.static.nn.fc(kept, 5, activation="tanh", weight_attr=_weights(2))
        loss = (proa.static.nn.fc(y, 5, weight_attr=_weights(3)) ** 2).mean()
        change(make(), loss, y, main, startup)
    executor = proa.static.Executor()
    executor.run(startup)
    losses = [executor.run(main, feed={"x": feed}, fetch_list=[loss])[0].item() for feed in feeds]
    return losses, [np.asarray(main.state_dict()[p.name]) for p in main.all_parameters()], main


def _plain(optimizer, loss, y, main, startup):
    optimizer.minimize(loss)


@pytest.mark.parametrize("avg", [True, False])
@pytest.mark.parametrize(
    "make",
    [
        lambda: proa.optimizer.Adam(0.05, grad_clip=proa.nn.ClipGradByGlobalNorm(0.1)),
        lambda: proa.optimizer.Momentum(0.05),
    ],
)
def test_gradients_of_several_runs(make, avg):
    def merged(optimizer, loss, y, main, startup):
        _, pairs = optimizer.minimize(loss)
        new_pass("auto_parallel_gradient_merge_pass", {"params_grads": pairs, "k_steps": 3, "avg": avg}).apply(
            [main], [startup]
        )

    _, found, _ = _trained(make, merged)

    def whole(optimizer, loss, y, main, startup):
        optimizer.minimize(loss if avg else loss * 3.0)

    _, wanted, _ = _trained(make, whole, feeds=_DATA.reshape(2, 24, 5))
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    losses, _, _ = _trained(make, merged)
    first, _, _ = _trained(make, _plain, feeds=_DATA[:1])
    assert losses[0] == first[0]


@pytest.mark.parametrize("place", ["before updates", "after updates", "after append_backward"])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_recomputed(dropout, place):
    """Gradients that were made before the pass stand for those that the pass has made."""

    def again(optimizer, loss, y, main, startup):
        one = new_pass("recompute", {"loss": loss, "checkpoints": [y]})
        if place == "after updates":
            optimizer.minimize(loss)
            one.apply([main], [startup])
            return
        pairs = optimizer.backward(loss) if place == "before updates" else proa.static.append_backward(loss)
        one.apply([main], [startup])
        optimizer.apply_gradients(pairs)

    make = lambda: proa.optimizer.Momentum(0.05)
    losses, weights, main = _trained(make, again, dropout=dropout)
    wanted, plain, before = _trained(make, _plain, dropout=dropout)
    assert losses == wanted and losses[0] != losses[-1]
    for a, b in zip(weights, plain):
        np.testing.assert_array_equal(a, b)
    assert str(main._program).count(" = matmul(") > str(before._program).count(" = matmul(")


def test_recomputed_in_mixed_precision_and_after_merging():
    """After updates that lie in a branch, too."""

    def all_of_them(optimizer, loss, y, main, startup):
        mixed = proa.static.amp.decorate(optimizer, init_loss_scaling=8.0, use_dynamic_loss_scaling=True)
        mixed.minimize(loss)
        new_pass("recompute", {"loss": loss, "checkpoints": [y]}).apply([main], [startup])

    def plain(optimizer, loss, y, main, startup):
        proa.static.amp.decorate(optimizer, init_loss_scaling=8.0, use_dynamic_loss_scaling=True).minimize(loss)

    make = lambda: proa.optimizer.Momentum(0.05)
    losses, weights, _ = _trained(make, all_of_them)
    wanted, others, _ = _trained(make, plain)
    assert losses == wanted and losses[0] != losses[-1]
    for a, b in zip(weights, others):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("switch", [True, False])
def test_a_gradient_that_is_infinite_is_forgotten_after_its_step(switch):
    """Gradients that add up over runs begin at 0 again, whatever they were: NaN stays for ever."""

    def merged(optimizer, loss, y, main, startup):
        if switch:
            from proa.distributed import fleet

            strategy = fleet.DistributedStrategy()
            strategy.amp = strategy.gradient_merge = True
            strategy.amp_configs = {"init_loss_scaling": 2.0**60, "decr_every_n_nan_or_inf": 1, "decr_ratio": 2.0**-56}
            strategy.gradient_merge_configs = {"k_steps": 2, "avg": True}
            fleet.init(is_collective=True, strategy=strategy)
            fleet.distributed_optimizer(optimizer, strategy).minimize(loss)
            return
        mixed = proa.static.amp.decorate(
            optimizer, init_loss_scaling=2.0**60, decr_every_n_nan_or_inf=1, decr_ratio=2.0**-56
        )
        _, pairs = mixed.minimize(loss)
        new_pass("gradient_merge", {"params_grads": pairs, "k_steps": 2}).apply([main], [startup])

    losses, weights, _ = _trained(lambda: proa.optimizer.Momentum(0.05), merged, feeds=np.stack([_DATA[0]] * 6))
    assert losses[0] == losses[1] == losses[2] == losses[3], "the first step is left out"
    assert losses[4] == losses[5] < losses[0]
    assert all(np.isfinite(w).all() for w in weights)


def test_one_after_the_other():
    """Mixed precision, recomputation and merging, each in its place."""

    def all_of_them(optimizer, loss, y, main, startup):
        context = PassContext()
        new_pass("auto_parallel_amp", {"dtype": "bfloat16"}).apply(main, startup, context)
        pairs = optimizer.backward(main.current(loss))
        PassManager([new_pass("recompute", {"loss": loss, "checkpoints": [y]})], context).apply([main], [startup])
        pairs = [(p, main.current(g)) for p, g in pairs]
        optimizer.apply_gradients(pairs)
        new_pass("gradient_merge", {"params_grads": pairs, "k_steps": 2}).apply([main], [startup], context)
        assert [p.name for p in context.passes] == ["amp", "recompute", "gradient_merge"]

    make = lambda: proa.optimizer.Momentum(0.05)
    losses, weights, main = _trained(make, all_of_them)
    wanted, plain, _ = _trained(make, lambda o, loss, *rest: o.minimize(loss), feeds=_DATA.reshape(3, 16, 5))
    assert "bfloat16" in str(main._program)
    np.testing.assert_allclose(np.reshape(losses, (3, 2)).mean(1), wanted, rtol=2e-2)
    for a, b in zip(weights, plain):
        np.testing.assert_allclose(a, b, atol=2e-2)


def test_mistakes():
    main, startup = proa.static.Program(), proa.static.Program()
    with pytest.raises(ValueError, match="there is no pass 'fuse_all'; there are: .*gradient_merge"):
        new_pass("fuse_all")
    with pytest.raises(ValueError, match="pass gradient_merge: it needs params_grads and k_steps"):
        new_pass("gradient_merge").apply([main], [startup])
    with pytest.raises(ValueError, match="k_steps is 0"):
        new_pass("gradient_merge", {"params_grads": [], "k_steps": 0}).apply([main], [startup])
    with pytest.raises(ValueError, match="1 programs and 2 startup programs"):
        new_pass("amp").apply([main], [startup, startup])
    with pytest.raises(ValueError, match="is named 'amp' already"):
        register_pass("amp")(type("Other", (PassBase,), {}))
    with pytest.raises(NotImplementedError, match="Empty does not define _apply_single_impl"):
        register_pass("empty of a test")(type("Empty", (PassBase,), {}))().apply(main, startup)


@pytest.mark.parametrize("pairs", ["backward", "append_backward"])
def test_gradients_and_updates_apart(pairs):
    """An optimizer that was given no parameters has those of the program, or those whose gradients it gets."""

    def apart(optimizer, loss, y, main, startup):
        made = optimizer.backward(loss) if pairs == "backward" else proa.static.append_backward(loss)
        optimizer.apply_gradients(made)

    make = lambda: proa.optimizer.Adam(proa.optimizer.lr.ExponentialDecay(0.05, 0.5), weight_decay=0.01)
    losses, weights, _ = _trained(make, apart)
    wanted, plain, _ = _trained(make, _plain)
    assert losses == wanted and losses[0] != losses[-1]
    for a, b in zip(weights, plain):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("level", ["O1", "O2"])
def test_casts_where_parameters_are_updated(dtype, level):
    """The same numbers; also after somebody has written to the parameters."""

    def trained(cast):
        def change(optimizer, loss, y, main, startup):
            mixed = proa.static.amp.decorate(
                optimizer, init_loss_scaling=8.0, use_pure_fp16=level == "O2", use_fp16_guard=False, **low
            )
            mixed.minimize(loss)
            if cast:
                new_pass("optimize_cast").apply([main], [startup])

        return change

    low = {"use_bf16": True} if dtype == "bfloat16" else {}
    make = lambda: proa.optimizer.Momentum(0.05)
    losses, _, main = _trained(make, trained(True))
    wanted, _, plain = _trained(make, trained(False))
    assert losses == wanted and losses[0] != losses[-1]

    def weights(program):
        names = sorted((p.name for p in program.all_parameters()), key=lambda name: (len(name), name))
        return {name: np.asarray(program.state_dict()[name]) for name in names}

    for a, b in zip(weights(main).values(), weights(plain).values(), strict=True):
        np.testing.assert_array_equal(a, b)
    kept = [t for _, t in main._program.captured if t.name.endswith("." + dtype)]
    assert len(kept) >= 3 and all(t.dtype == getattr(proa, dtype) for t in kept)
    text = str(main._program)
    assert text.rindex("momentum_(") < text.rindex(" = cast(") < text.rindex("store_(")
    # Whoever writes to a parameter need not know of its copy.
    for program in (main, plain):
        program.set_state_dict({name: value * 0.5 for name, value in weights(program).items()})
        proa.static.Executor().run(program, feed={"x": _DATA[0]})
    for a, b in zip(weights(main).values(), weights(plain).values(), strict=True):
        np.testing.assert_array_equal(a, b)


_SHARDED = """
import json
import proa.distributed.fleet as fleet
from proa.distributed import io
from proa.distributed.passes import new_pass
proa.enable_static()
fleet.init(is_collective=True)
rank, count = fleet.worker_index(), fleet.worker_num()
proa.seed(7 + rank)
main, startup = proa.static.Program(), proa.static.Program()
with proa.static.program_guard(main, startup):
    x = proa.static.data("x", [None, 5])
    attr = lambda name: proa.ParamAttr(name=name)
    h = proa.static.nn.fc(x, 7, activation="tanh", weight_attr=attr("w"), bias_attr=attr("b"))
    loss = (proa.static.nn.fc(h, 3, weight_attr=attr("v"), bias_attr=False) ** 2).mean()
    adam = proa.optimizer.Adam(0.05, grad_clip=proa.nn.ClipGradByGlobalNorm(0.1))
    if {amp}:
        adam = proa.static.amp.decorate(adam, init_loss_scaling=8.0)
    if {how} == "pass":
        pairs = adam.backward(loss, startup)
        divided = new_pass("auto_parallel_sharding", {{"optimizer": adam, "params_grads": pairs, "optimize_cast": {early}}})
        divided.apply([main], [startup])
        assert count == 1 or any(name.endswith("@part") for name in (v.name for v in main.list_vars()))
        try:
            divided.apply([main], [startup])
        except ValueError as error:
            assert "updates" in str(error) and "already" in str(error)
        else:
            raise AssertionError("twice")
    else:
        strategy = fleet.DistributedStrategy()
        strategy.sharding, strategy.sharding_configs = True, {{"optimize_cast": {early}}}
        fleet.distributed_optimizer(adam, strategy).minimize(loss, startup)
executor = proa.static.Executor()
executor.run(startup)
losses = []
for step in range(6):
    feed = np.random.RandomState(step).randn(8, 5).astype("float32")
    losses.append(float(np.ravel(executor.run(main, feed={{"x": feed}}, fetch_list=[loss])[0])[0]))
values = {{name: value.ravel().tolist() for name, value in io.whole_values("test", main).items() if name in "wbv"}}
print(json.dumps([losses, values]))
"""


@pytest.mark.parametrize("amp, early", [(False, False), (True, False), (True, True)])
def test_divided_states(amp, early):
    """As the switch of fleet does it, and with casts where parameters are updated."""
    run = lambda how, early: list(map(json.loads, ranks.run(_SHARDED.format(how=repr(how), amp=amp, early=early), 2)))
    found, wanted = run("pass", early), run("switch", False)
    assert found == wanted and found[0][0][0] != found[0][0][-1] and found[0][1] == found[1][1]
    if early:
        assert run("switch", True) == wanted
