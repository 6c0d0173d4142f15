"""GradScaler: the factor's rule against a few lines of Python, steps that are left out, errors, states."""

import warnings

import numpy as np
import pytest

import proa


def _net(optimizer=proa.optimizer.SGD, **kwargs):
    net = proa.nn.Linear(2, 1)
    return net, optimizer(0.1, parameters=net.parameters(), **kwargs)


def test_steps_are_those_without_a_scaler():
    net, sgd = _net()
    other, plain = _net()
    other.set_state_dict(net.state_dict())
    scaler = proa.amp.GradScaler(init_loss_scaling=1024.0)
    x = proa.randn([4, 2])
    for step in range(4):
        scaler.scale(net(x).mean()).backward()
        assert net.weight.grad.abs().max().item() > 10
        if step % 2:
            scaler.minimize(sgd, None) if False else (scaler.step(sgd), scaler.update())
        else:
            scaler.unscale_(sgd)
            scaler.step(sgd)
            scaler.update()
        sgd.clear_grad()
        other(x).mean().backward()
        plain.step()
        plain.clear_grad()
        np.testing.assert_allclose(net.weight.numpy(), other.weight.numpy(), rtol=1e-6)


def test_the_rule_of_the_factor():
    net, sgd = _net()
    scaler = proa.amp.GradScaler(
        init_loss_scaling=8.0, incr_ratio=3.0, decr_ratio=0.5, incr_every_n_steps=2, decr_every_n_nan_or_inf=2
    )
    scale, good, bad = 8.0, 0, 0
    rng = np.random.RandomState(0)
    for fails in rng.rand(40) < 0.5:
        before = net.weight.numpy().copy()
        scaler.scale(net(proa.full([1, 2], float("inf") if fails else 1.0)).sum()).backward()
        scaler.step(sgd)
        scaler.update()
        sgd.clear_grad()
        assert np.array_equal(before, net.weight.numpy()) == bool(fails)
        good, bad = (0, bad + 1) if fails else (good + 1, 0)
        if bad == 2:
            scale, bad = max(scale * 0.5, 1.0), 0
        if good == 2:
            scale, good = scale * 3.0, 0
        state = scaler.state_dict()
        assert (state["scale"][0], state["incr_count"], state["decr_count"]) == (np.float32(scale), good, bad)


def test_minimize_and_clipping():
    net, adam = _net(proa.optimizer.Adam)
    scaler = proa.amp.GradScaler(init_loss_scaling=4.0, decr_every_n_nan_or_inf=1)
    scaled = scaler.scale(net(proa.ones([1, 2])).sum())
    scaled.backward()
    scaler.unscale_(adam)
    assert net.weight.grad.numpy().tolist() == [[1.0], [1.0]]
    scaler.minimize(adam, scaled)
    adam.clear_grad()
    scaled = scaler.scale(net(proa.full([1, 2], np.nan)).sum())
    scaled.backward()
    assert scaler.minimize(adam, scaled) == (None, None)
    assert scaler.state_dict()["scale"][0] == 2.0


def test_sparse_gradients():
    table = proa.nn.Embedding(6, 2, sparse=True)
    start = table.weight.numpy().copy()
    sgd = proa.optimizer.SGD(1.0, parameters=table.parameters())
    scaler = proa.amp.GradScaler(init_loss_scaling=16.0)
    scaler.scale(table(proa.to_tensor([1, 1, 4])).sum()).backward()
    scaler.step(sgd)
    np.testing.assert_allclose((start - table.weight.numpy())[:, 0], [0, 2, 0, 0, 1, 0], atol=1e-6)


def test_order_of_calls():
    net, sgd = _net()
    scaler = proa.amp.GradScaler()
    scaler.scale(net(proa.ones([1, 2])).sum()).backward()
    scaler.unscale_(sgd)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) has been called"):
        scaler.unscale_(sgd)
    scaler.step(sgd)
    for call in (scaler.step, scaler.unscale_):
        with pytest.raises(RuntimeError, match=r"step\(\) has been called"):
            call(sgd)
    scaler.update()
    scaler.step(sgd)


def test_switched_off():
    net, sgd = _net()
    scaler = proa.amp.GradScaler(enable=False)
    loss = net(proa.ones([1, 2])).sum()
    assert scaler.scale(loss) is loss and not scaler.is_enable() and scaler.state_dict() == {}
    loss.backward()
    start = net.weight.numpy().copy()
    scaler.unscale_(sgd)
    scaler.step(sgd)
    scaler.update()
    np.testing.assert_allclose(net.weight.numpy(), start - 0.1, rtol=1e-6)
    _, pairs = scaler.minimize(sgd, loss)
    assert len(pairs) == 2


def test_states_and_settings():
    scaler = proa.amp.GradScaler(init_loss_scaling=64.0, incr_every_n_steps=7)
    other = proa.amp.GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    assert (other.get_init_loss_scaling(), other.get_incr_every_n_steps()) == (64.0, 7)
    with pytest.raises(RuntimeError, match="empty"):
        other.load_state_dict({})
    before = other.state_dict()
    with pytest.raises(KeyError, match="the state has no incr_ratio, .*; is it that of a GradScaler"):
        other.load_state_dict({"scale": 2.0})
    with pytest.raises(TypeError, match="state_dict must be a dict, not int"):
        other.load_state_dict(3)
    assert other.state_dict() == before
    for wrong in ({"incr_ratio": 1.0}, {"decr_ratio": 1.0}, {"incr_every_n_steps": 0}, {"init_loss_scaling": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            proa.amp.GradScaler(**wrong)
    with pytest.raises(TypeError, match="var must be a Tensor"):
        scaler.scale(3.0)


def test_decorate():
    net = proa.nn.Sequential(proa.nn.Linear(2, 3), proa.nn.BatchNorm1D(3), proa.nn.Linear(3, 1))
    sgd = proa.optimizer.SGD(0.1, parameters=net.parameters())
    same, both = proa.amp.decorate(net, sgd, level="O2", dtype="bfloat16", save_dtype="float32")
    assert same is net and both is sgd
    assert net[0].weight.dtype == proa.bfloat16 and net[1].weight.dtype == proa.float32
    assert all(value.dtype == proa.float32 for value in net.state_dict().values())
    assert any(p is net[0].weight for p in sgd._parameter_list)
    with proa.amp.auto_cast(level="O2", dtype="bfloat16"):
        net(proa.ones([4, 2])).sum().backward()
    sgd.step()
    assert proa.amp.decorate(net) is net
    for call in (lambda: proa.amp.decorate(net, level="O3"), lambda: proa.amp.decorate(net, dtype="int8")):
        with pytest.raises(ValueError, match="decorate"):
            call()
    with pytest.raises(TypeError, match="Layer"):
        proa.amp.decorate(3)


def test_decorate_in_the_order_of_2_3():
    net = proa.nn.Linear(2, 3)
    adam = proa.optimizer.Adam(parameters=net.parameters())
    proa.amp.decorate(net, adam, "O2", None, "float32")
    assert net.weight.dtype == proa.float16 and net.state_dict()["weight"].dtype == proa.float32
    net = proa.nn.Linear(2, 3)
    sgd = proa.optimizer.SGD(parameters=net.parameters())
    proa.amp.decorate(net, sgd, "O2", False)
    net.weight.grad = proa.ones([2, 3], "float16")
    sgd.step()
    assert "master_weights" not in sgd.state_dict()


def test_decorate_twice_and_parameters_that_changed_between():
    net = proa.nn.Linear(2, 3)
    sgd = proa.optimizer.SGD(0.1, parameters=net.parameters())
    net.to(dtype="float32")
    net.weight = proa.create_parameter([2, 3], "float32", name=net.weight.name)
    with pytest.raises(RuntimeError, match="holds another .* make the optimizer from net.parameters"):
        proa.amp.decorate(net, sgd, level="O2")
    net = proa.nn.Linear(2, 3)
    proa.amp.decorate(net, level="O2")
    for dtype in ("float16", "bfloat16"):
        with pytest.raises(RuntimeError, match="in 16 bits already .* is float16.; decorate a float32 network, once"):
            proa.amp.decorate(net, level="O2", dtype=dtype)


@pytest.mark.parametrize("name", ["SGD", "Momentum", "Adam", "Lamb"])
@pytest.mark.parametrize("low", [False, True])
def test_a_network_that_is_converted_between_steps(name, low):
    if name == "SGD" and not low:
        return  # has no state
    net = proa.nn.Linear(4, 4)
    optimizer = getattr(proa.optimizer, name)(0.1, parameters=net.parameters())
    if low:
        net, optimizer = proa.amp.decorate(net, optimizer, level="O2", dtype="bfloat16")

    def step(by):
        net(proa.ones([1, 4], net.weight.dtype)).astype("float32").sum().backward()
        by.step()
        by.clear_grad()

    step(optimizer)
    (net.float if low else net.bfloat16)()
    with pytest.raises(
        RuntimeError, match=rf"{name}.step: .* was (b?float\d+) when state for it was made; .* new optimizer"
    ):
        step(optimizer)
    # What it says.
    optimizer.clear_grad()
    other = getattr(proa.optimizer, name)(
        0.1, parameters=net.parameters(), **({} if low else {"multi_precision": True})
    )
    other.set_state_dict(optimizer.state_dict())
    before = net.weight.numpy().copy()
    step(other)
    assert (net.weight.numpy() != before).all()


def test_decorate_says_that_a_parameter_was_replaced():
    net = proa.nn.Linear(2, 3)
    sgd = proa.optimizer.SGD(0.1, parameters=net.parameters())
    other = proa.nn.Linear(4, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # An optimizer of two networks, of which one is decorated; one that leaves a part alone.
        both = proa.optimizer.SGD(0.1, parameters=[*proa.nn.Linear(2, 3).parameters(), *other.parameters()])
        proa.amp.decorate(other, both, level="O2", dtype="bfloat16")
        part = proa.nn.Sequential(proa.nn.Linear(2, 2), proa.nn.Linear(2, 2))
        proa.amp.decorate(part, proa.optimizer.SGD(0.1, parameters=part[0].parameters()), level="O2", dtype="bfloat16")
    net.weight = proa.create_parameter([2, 3], "float32", name="a_new_weight")
    with pytest.warns(UserWarning, match=r"none holds a_new_weight \[2, 3\]; .* from net.parameters\(\) after that"):
        proa.amp.decorate(net, sgd, level="O2", dtype="bfloat16")


def test_layers_shared_by_models_are_cast_once():
    shared = proa.nn.Linear(2, 2)
    first, second = (
        proa.nn.Sequential(shared, proa.nn.Linear(2, 1)),
        proa.nn.Sequential(shared, proa.nn.GroupNorm(1, 2)),
    )
    optimizers = [proa.optimizer.Adam(0.1, parameters=m.parameters()) for m in (first, second)]
    models, same = proa.amp.decorate([first, second], optimizers, level="O2", dtype="bfloat16")
    assert models == [first, second] and same == optimizers
    assert first[0].weight is second[0].weight and shared.weight.dtype == proa.bfloat16
    assert all(any(p is shared.weight for p in o._parameter_list) for o in optimizers)
    assert second[1].weight.dtype == proa.float32
    with proa.amp.auto_cast(level="O2", dtype="bfloat16"):
        (first(proa.ones([4, 2])).sum() + second(proa.ones([4, 2])).square().sum()).backward()
    assert shared.weight.grad.dtype == proa.bfloat16 and second[1].weight.grad.dtype == proa.float32


def test_two_optimizers_of_which_one_overflows():
    nets = [proa.nn.Linear(2, 1) for _ in range(2)]
    optimizers = [proa.optimizer.SGD(0.1, parameters=net.parameters()) for net in nets]
    scaler = proa.amp.GradScaler(init_loss_scaling=4.0, decr_every_n_nan_or_inf=1)
    before = [net.weight.numpy().copy() for net in nets]
    for net, value in zip(nets, (np.inf, 1.0)):
        scaler.scale(net(proa.full([1, 2], value)).sum()).backward()
    for optimizer in optimizers:
        scaler.unscale_(optimizer)
    for optimizer in optimizers:
        scaler.step(optimizer)
    scaler.update()
    assert np.array_equal(before[0], nets[0].weight.numpy())
    np.testing.assert_allclose(before[1] - 0.1, nets[1].weight.numpy(), rtol=1e-6)
    assert scaler.state_dict()["scale"][0] == 2.0


def test_accumulation_clipping_and_recompute():
    values = [proa.randn([4, 2]) for _ in range(3)]
    results = []
    for scale in (None, 1024.0):
        proa.seed(1)
        net = proa.nn.Linear(2, 2)
        sgd = proa.optimizer.SGD(1.0, parameters=net.parameters())
        scaler = proa.amp.GradScaler(enable=scale is not None, init_loss_scaling=scale or 1.0)
        for x in values:
            scaler.scale(proa.autograd.recompute(net, x).square().sum()).backward()
        scaler.unscale_(sgd)
        clip = proa.nn.ClipGradByGlobalNorm(0.5)
        for p, g in clip([(p, p.grad) for p in net.parameters()]):
            p.grad.set_value(g)
        scaler.step(sgd)
        scaler.update()
        results.append(net.weight.numpy())
    np.testing.assert_allclose(*results, rtol=1e-5)


def test_a_scaled_loss_inside_of_o2_is_float32():
    scaler = proa.amp.GradScaler()
    with proa.amp.auto_cast(level="O2"):
        scaled = scaler.scale(proa.to_tensor([4.0]))
        half = scaler.scale(proa.to_tensor([4.0], dtype="float16"))
    assert scaled.dtype == half.dtype == proa.float32
    assert scaled.item() == half.item() == 4.0 * 2**15


def test_small_gradients_reach_float32_copies():
    net = proa.nn.Linear(1, 1, weight_attr=proa.nn.initializer.Constant(0.0), bias_attr=False)
    sgd = proa.optimizer.SGD(1.0, parameters=net.parameters())
    net, sgd = proa.amp.decorate(net, sgd, level="O2")
    scaler = proa.amp.GradScaler(init_loss_scaling=2.0**15)
    # 1e-9 is nothing in float16; times the factor it is 3.3e-5.
    scaler.scale((net(proa.ones([1, 1], "float16")).astype("float32") * 1e-9).sum()).backward()
    scaler.step(sgd)
    scaler.update()
    master = sgd.state_dict()["master_weights"][net.weight.name]
    assert master.item() == pytest.approx(-1e-9, rel=1e-2) and net.weight.dtype == proa.float16


def test_many_steps_left_out_name_the_parameter():
    net, sgd = _net()
    scaler = proa.amp.GradScaler()
    with pytest.warns(UserWarning) as caught:
        for _ in range(10):
            net.bias.grad = None
            scaler.scale((net.weight * float("inf")).sum()).backward()
            scaler.step(sgd)
            scaler.update()
            if _ < 9:
                sgd.clear_grad()
    said = [str(w.message) for w in caught if "GradScaler" in str(w.message)]
    assert len(said) == 1
    assert "GradScaler.first_op(run) says which op" in said[0]
    assert (
        f"10 steps in a row were left out; the factor is 2048. Not finite: the gradient of {net.weight.name} ([2, 1] float32)"
        in said[0]
    )


@pytest.mark.parametrize("value", ["3", True, None, float("nan"), float("inf")])
def test_settings_that_are_no_numbers(value):
    scaler = proa.amp.GradScaler()
    for name in ("init_loss_scaling", "incr_ratio", "decr_ratio", "incr_every_n_steps", "decr_every_n_nan_or_inf"):
        with pytest.raises((TypeError, ValueError), match=name):
            getattr(scaler, f"set_{name}")(value)


def test_losses_that_are_none():
    scaler = proa.amp.GradScaler()
    for value in (proa.ones([2], "int64"), proa.ones([2], "complex64")):
        with pytest.raises(TypeError, match="must be of a floating point dtype"):
            scaler.scale(value)
    for method in ("step", "unscale_"):
        with pytest.raises(TypeError, match="optimizer must be an Optimizer, not int"):
            getattr(scaler, method)(3)


def test_float64_gradients_whose_squares_overflow_are_finite():
    weight = proa.create_parameter([2], "float64")
    sgd = proa.optimizer.SGD(1e-200, parameters=[weight])
    scaler = proa.amp.GradScaler(init_loss_scaling=2.0)
    before = weight.numpy().copy()
    scaler.scale((weight * 1e200).sum()).backward()
    scaler.step(sgd)
    np.testing.assert_allclose(before - weight.numpy(), [1.0, 1.0])


def test_save_dtype_is_of_what_is_saved():
    net = proa.nn.Linear(2, 3)
    around = proa.nn.Sequential(net, proa.nn.Linear(3, 3))
    proa.amp.decorate(net, level="O2", save_dtype="float32")
    state = {name: value + 1.0 for name, value in net.state_dict().items()}
    assert {value.dtype for value in state.values()} == {proa.float32}
    assert net.set_state_dict(state) == ([], [])
    assert net.weight.dtype == proa.float16
    np.testing.assert_allclose(net.weight.astype("float32").numpy(), state["weight"].numpy(), atol=1e-3)
    assert [value.dtype.name for value in around.state_dict().values()] == ["float32"] * 4
    assert list(around.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    with pytest.raises(ValueError, match="decorate: save_dtype must be a floating point dtype, not 'int8'"):
        proa.amp.decorate(proa.nn.Linear(2, 3), level="O2", save_dtype="int8")


def _kernels(run):
    with proa.amp.debugging.collect_operator_stats(show=False) as stats:
        run()
    return {name: sum(n for dtype, n in row.items() if dtype != "casts") for name, row in stats.calls.items()}


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_unscaling_is_one_op_for_all_gradients(dtype):
    params = [proa.create_parameter([n], dtype) for n in (1, 7, 70000, 0)]
    sgd = proa.optimizer.SGD(1.0, parameters=params)
    scaler = proa.amp.GradScaler(init_loss_scaling=4.0)
    for p in params:
        p.grad = proa.full(p.shape, 8.0, dtype)
    calls = _kernels(lambda: scaler.unscale_(sgd))
    assert calls.pop("full", 0) <= 1 and calls == {"check_finite_and_unscale_": 1}
    assert all((p.grad == 2.0).all() for p in params)
    scaler.step(sgd)
    scaler.update()
    assert scaler.state_dict()["incr_count"] == 1


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_what_is_not_finite_is_found_wherever_it_is(value, dtype):
    for size in (1, 17, 40000):
        for at in (0, size // 2, size - 1):
            grads = [proa.ones([3], dtype), proa.ones([size], dtype), proa.ones([5], dtype)]
            assert bool(proa._C.ops.all_finite(grads))
            grads[1][at] = value
            assert not proa._C.ops.all_finite(grads)
            found = proa.to_tensor([False])
            proa._C.ops.check_finite_and_unscale_([grads[0], grads[2]], found, 0.5)
            assert not found.item()
            proa._C.ops.check_finite_and_unscale_(grads, found, 0.5)
            assert found.item() and grads[0].tolist() == [0.25] * 3
            proa._C.ops.check_finite_and_unscale_([grads[0]], found, 0.5)
            assert found.item()  # stays


def test_gradients_of_any_layout():
    p = proa.create_parameter([3, 4], "float32")
    table = proa.nn.Embedding(6, 2, sparse=True)
    sgd = proa.optimizer.SGD(1.0, parameters=[p, table.weight])
    scaler = proa.amp.GradScaler(init_loss_scaling=16.0, decr_every_n_nan_or_inf=1)
    for bad in (None, "table", "view"):
        p.grad = (proa.arange(12, dtype="float32").reshape([4, 3]) * 16.0).t()
        assert not p.grad.is_contiguous()
        scaler.scale(table(proa.to_tensor([1, 1, 4])).sum() * (float("inf") if bad == "table" else 1.0)).backward()
        if bad == "view":
            p.grad[1, 1] = float("nan")
        before = p.numpy().copy(), table.weight.numpy().copy()
        scaler.unscale_(sgd)
        scaler.step(sgd)
        scaler.update()
        sgd.clear_grad()
        stays = [np.array_equal(b, a.numpy()) for b, a in zip(before, (p, table.weight))]
        assert stays == [bad is not None] * 2
        if bad is None:
            np.testing.assert_allclose(before[0] - p.numpy(), np.arange(12.0).reshape(4, 3).T, atol=1e-6)
            np.testing.assert_allclose((before[1] - table.weight.numpy())[:, 0], [0, 2, 0, 0, 1, 0], atol=1e-6)
    assert scaler.state_dict()["scale"][0] == 4.0


def test_a_gradient_that_two_parameters_were_given_is_divided_once():
    params = [proa.create_parameter([2], "float32") for _ in range(2)]
    params[0].grad = params[1].grad = proa.full([2], 8.0)
    scaler = proa.amp.GradScaler(init_loss_scaling=4.0)
    scaler.unscale_(proa.optimizer.SGD(0.1, parameters=params))
    assert [p.grad.tolist() for p in params] == [[2.0, 2.0]] * 2


def test_equal_rows_whose_sum_is_too_large_for_float16():
    table = proa.nn.Embedding(6, 2, sparse=True)
    sgd = proa.optimizer.SGD(1.0, parameters=table.parameters())
    table, sgd = proa.amp.decorate(table, sgd, level="O2")
    before = table.weight.astype("float32").numpy()
    scaler = proa.amp.GradScaler(init_loss_scaling=1.0)
    scaler.scale((table(proa.to_tensor([1, 1])).astype("float32") * 60000.0).sum()).backward()
    scaler.step(sgd)
    assert np.array_equal(before, table.weight.astype("float32").numpy())  # 120000 is none of float16


@pytest.mark.parametrize(
    "kind", ["SGD", "Momentum", "Adam", "AdamW", "Adagrad", "Lamb", "RMSProp", "Adamax", "Adadelta"]
)
@pytest.mark.parametrize("clipped", [False, True])
def test_scaled_steps_of_float32_copies_are_those_without_a_scaler(kind, clipped):
    results = []
    for scaled in (False, True):
        proa.seed(0)
        clip = {"grad_clip": proa.nn.ClipGradByGlobalNorm(0.5)} if clipped else {}
        net = proa.nn.Sequential(proa.nn.Linear(4, 8), proa.nn.LayerNorm(8), proa.nn.Linear(8, 2))
        optimizer = getattr(proa.optimizer, kind)(learning_rate=0.01, parameters=net.parameters(), **clip)
        net, optimizer = proa.amp.decorate(net, optimizer, level="O2", dtype="bfloat16")
        scaler = proa.amp.GradScaler(enable=scaled, init_loss_scaling=2.0**10)
        for number in range(4):
            x = proa.to_tensor(np.random.RandomState(number).randn(8, 4).astype("float32"))
            with proa.amp.auto_cast(level="O2", dtype="bfloat16"):
                loss = net(x).astype("float32").square().mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.clear_grad()
        results.append([m.numpy() for m in optimizer.state_dict()["master_weights"].values()])
    for one, other in zip(*results):  # a power of two scales without rounding, and so does clipping in the step
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("level, dtype", [("O1", "bfloat16"), ("O2", "bfloat16"), ("O2", "float16")])
@pytest.mark.parametrize("bad", [False, True])
def test_gradients_are_unscaled_after_a_step(level, dtype, bad):
    """As those of `unscale_`, which programs look at: step is documented to unscale, here and in the reference."""
    net = proa.nn.Linear(2, 1, weight_attr=proa.nn.initializer.Constant(0.5))
    sgd = proa.optimizer.SGD(0.1, parameters=net.parameters())
    net, sgd = proa.amp.decorate(net, sgd, level=level, dtype=dtype)
    scaler = proa.amp.GradScaler(init_loss_scaling=1024)
    with proa.amp.auto_cast(level=level, dtype=dtype):
        loss = net(proa.to_tensor([[1.0, float("inf") if bad else 3.0]])).astype("float32").sum()
    scaler.scale(loss).backward()
    before = net.weight.astype("float32").numpy()
    scaler.step(sgd)
    found = net.weight.grad
    assert found.dtype == net.weight.dtype
    np.testing.assert_array_equal(found.astype("float32").numpy(), [[1.0], [np.inf if bad else 3.0]])
    assert net.bias.grad.astype("float32").item() == 1.0
    assert np.array_equal(net.weight.astype("float32").numpy(), before) == bad
    scaler.update()


def test_which_op_was_first():
    x = proa.to_tensor([-1.0, 4.0], stop_gradient=False)
    scaler = proa.amp.GradScaler()
    said = scaler.first_op(lambda: scaler.scale(((x * 2.0).sqrt() + 1.0).sum()).backward())
    assert said.startswith("sqrt: made 1 NaN in out")
    # In backward: the root has no slope at zero.
    y = proa.to_tensor([0.0], stop_gradient=False)
    assert "Inf" in scaler.first_op(lambda: scaler.scale(y.sqrt().sum()).backward())
    assert scaler.first_op(lambda: scaler.scale((x * x).sum()).backward()) is None
    assert proa.to_tensor([-1.0]).sqrt().isnan().all()  # off again

    def broken():
        raise RuntimeError("a bug of the user")

    with pytest.raises(RuntimeError, match="a bug of the user"):
        scaler.first_op(broken)
    with pytest.raises(TypeError, match="first_op: run must be callable, not int"):
        scaler.first_op(3)


def test_a_scaler_with_layers_of_the_user():
    class Double(proa.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2.0

        @staticmethod
        def backward(ctx, grad):
            return grad * 2.0

    weight = proa.create_parameter([2], "float32")
    before = weight.numpy().copy()
    sgd = proa.optimizer.SGD(1.0, parameters=[weight])
    scaler = proa.amp.GradScaler(init_loss_scaling=1024.0)
    with proa.amp.auto_cast(custom_white_list=["multiply"]):
        loss = proa.autograd.recompute(Double.apply, weight).sum()
    scaler.scale(loss).backward()
    scaler.step(sgd)
    scaler.update()
    np.testing.assert_allclose(before - weight.numpy(), [2.0, 2.0])
