"""GradScaler: the factor's rule against a few lines of Python, steps that are left out, errors, states."""

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
