"""Optimizers of the old namespace, with their schedules, against their formulas."""

import numpy as np
import pytest

import proa
from proa import fluid
from proa.fluid import dygraph, layers

_R = np.random.RandomState(0)


def t(array):
    return proa.to_tensor(np.asarray(array))


def test_schedules_against_their_formulas():
    def rates(schedule, count=12):
        found = []
        for _ in range(count):
            found.append(schedule())
            schedule.step()
        return found

    steps = np.arange(12)
    F = layers
    cases = [
        (F.exponential_decay(0.1, 4, 0.5), 0.1 * 0.5 ** (steps / 4)),
        (F.exponential_decay(0.1, 4, 0.5, True), 0.1 * 0.5 ** (steps // 4)),
        (F.natural_exp_decay(0.1, 4, 0.5), 0.1 * np.exp(-0.5 * steps / 4)),
        (F.inverse_time_decay(0.1, 4, 0.5), 0.1 / (1 + 0.5 * steps / 4)),
        (F.polynomial_decay(0.1, 5, 0.01, 2.0), 0.09 * (1 - np.minimum(steps, 5) / 5) ** 2 + 0.01),
        (F.piecewise_decay([3, 6], [1.0, 0.5, 0.1]), np.where(steps < 3, 1, np.where(steps < 6, 0.5, 0.1))),
        (F.noam_decay(16, 4), 0.25 * np.minimum((steps + 1) ** -0.5, (steps + 1) * 4**-1.5)),
        (F.cosine_decay(0.1, 2, 6), 0.05 * (np.cos(steps // 2 * np.pi / 6) + 1)),
        (F.linear_lr_warmup(0.5, 4, 0.1, 0.3), np.where(steps < 4, 0.1 + 0.2 * steps / 4, 0.5)),
        (dygraph.NoamDecay(16, 4), 0.25 * np.minimum((steps + 1) ** -0.5, (steps + 1) * 4**-1.5)),
        (dygraph.PiecewiseDecay([3, 6], [1.0, 0.5, 0.1], 2), np.where(steps < 1, 1, np.where(steps < 4, 0.5, 0.1))),
        (dygraph.CosineDecay(0.1, 2, 6), 0.05 * (np.cos(steps // 2 * np.pi / 6) + 1)),
    ]
    for schedule, want in cases:
        np.testing.assert_allclose(rates(schedule), want, rtol=1e-6)


def test_optimizers_step_their_schedules_and_are_the_new_ones():
    kinds = {
        fluid.optimizer.SGD: (proa.optimizer.SGD, {}),
        fluid.optimizer.MomentumOptimizer: (proa.optimizer.Momentum, {"momentum": 0.9}),
        fluid.optimizer.Adam: (proa.optimizer.Adam, {}),
        fluid.optimizer.Adamax: (proa.optimizer.Adamax, {}),
        fluid.optimizer.Adagrad: (proa.optimizer.Adagrad, {}),
        fluid.optimizer.Adadelta: (proa.optimizer.Adadelta, {}),
        fluid.optimizer.RMSProp: (proa.optimizer.RMSProp, {}),
        fluid.optimizer.Lamb: (proa.optimizer.Lamb, {}),
    }
    for old, (new, own) in kinds.items():
        epsilon = {"epsilon": 1e-6} if new in (proa.optimizer.Adagrad, proa.optimizer.Adadelta) else {}
        a, b = dygraph.Linear(2, 1), proa.nn.Linear(2, 1)
        b.set_state_dict(a.state_dict())
        decay = {} if new is proa.optimizer.Lamb else {"regularization": fluid.regularizer.L2Decay(0.1)}
        first = old(0.1, parameter_list=a.parameters(), **own, **decay)
        weight = {} if new is proa.optimizer.Lamb else {"weight_decay": 0.1}
        second = new(0.1, parameters=b.parameters(), **own, **weight, **epsilon)
        for _ in range(3):
            loss = layers.mean(a(proa.ones([3, 2])))
            loss.backward()
            first.minimize(loss)
            a.clear_gradients()
            b(proa.ones([3, 2])).mean().backward()
            second.step()
            second.clear_grad()
        np.testing.assert_allclose(a.weight.numpy(), b.weight.numpy(), rtol=1e-6, err_msg=str(old))
    net = dygraph.Linear(1, 1)
    sgd = fluid.optimizer.SGD(dygraph.ExponentialDecay(1.0, 1, 0.5), parameter_list=net.parameters())
    for want in (1.0, 0.5, 0.25):
        assert sgd.current_step_lr() == want
        loss = net(proa.ones([1, 1])).sum()
        loss.backward()
        sgd.minimize(loss)
        net.clear_gradients()


def test_schedules_of_the_program():
    class Third(dygraph.learning_rate_scheduler.LearningRateDecay):
        def step(self):
            return 1.0 / (self.step_num + 1)

    net = dygraph.Linear(1, 1)
    sgd = fluid.optimizer.SGD(Third(), parameter_list=net.parameters())
    found = []
    for _ in range(3):
        loss = net(proa.ones([1, 1])).sum()
        loss.backward()
        found.append(sgd.current_step_lr())
        sgd.minimize(loss)
        net.clear_gradients()
    assert found == [1.0, 0.5, 1.0 / 3.0]


def _lars(p, g, state, lr, decay=0.0005, momentum=0.9, coeff=0.001):
    p_norm, g_norm = np.sqrt((p * p).sum()), np.sqrt((g * g).sum())
    rate = lr * coeff * p_norm / (g_norm + decay * p_norm) if decay > 0 and p_norm > 0 and g_norm > 0 else lr
    state["v"] = momentum * state.get("v", 0) + rate * (g + decay * p)
    return p - state["v"]


def _ftrl(p, g, state, lr, l1=0.0, l2=0.0, power=-0.5):
    old = state.get("n", np.zeros_like(p))
    state["n"] = old + g * g
    new, old = state["n"] ** -power, old**-power
    state["z"] = state.get("z", 0) + g - (new - old) / lr * p
    z = state["z"]
    return np.where(np.abs(z) > l1, (np.sign(z) * l1 - z) / (new / lr + 2 * l2), 0)


def _decayed(p, g, state, lr, decay=0.95, epsilon=1e-6):
    state["m"] = decay * state.get("m", 0) + (1 - decay) * g * g
    return p - lr * g / (np.sqrt(state["m"]) + epsilon)


@pytest.mark.parametrize("kind, settings, formula, own", [
    ("LarsMomentum", {"momentum": 0.9}, _lars, {}),
    ("LarsMomentum", {"momentum": 0.5, "lars_weight_decay": 0.0}, _lars, {"momentum": 0.5, "decay": 0.0}),
    ("LarsMomentum", {"momentum": 0.9, "lars_coeff": 0.1, "exclude_from_weight_decay": ["w_of"]}, _lars, {"decay": 0.0}),
    ("LarsMomentum", {"momentum": 0.9, "lars_coeff": 0.1, "rescale_grad": 1.0}, _lars, {"coeff": 0.1}),
    ("Ftrl", {}, _ftrl, {}),
    ("Ftrl", {"l1": 0.3, "l2": 0.2, "lr_power": -0.7}, _ftrl, {"l1": 0.3, "l2": 0.2, "power": -0.7}),
    ("DecayedAdagrad", {"decay": 0.8}, _decayed, {"decay": 0.8}),
])  # fmt: skip
@pytest.mark.parametrize("static", [False, True])
def test_rules_of_optimizers_that_2_does_not_have(kind, settings, formula, own, static):
    start, data = _R.randn(4, 2).astype("float32"), _R.randn(3, 5, 4).astype("float32")
    weight, state = start.astype("float64"), {}
    for x in data:
        weight = formula(weight, np.repeat(x.astype("float64").mean(0)[:, None] / 2, 2, 1), state, 0.1, **own)
    attr = fluid.ParamAttr(
        name=f"w_of_{kind}_{len(own)}_{static}", initializer=fluid.initializer.NumpyArrayInitializer(start)
    )
    optimizer = getattr(fluid.optimizer, kind)
    if static:
        main, startup = proa.static.Program(), proa.static.Program()
        proa.enable_static()
        try:
            with proa.static.program_guard(main, startup):
                loss = layers.mean(layers.fc(proa.static.data("x", [None, 4]), 2, param_attr=attr, bias_attr=False))
                optimizer(0.1, **settings).minimize(loss)
            executor = proa.static.Executor()
            executor.run(startup)
            for x in data:
                executor.run(main, feed={"x": x}, fetch_list=[loss])
            got = np.array(proa.static.global_scope().find_var(attr.name).get_tensor())
        finally:
            proa.disable_static()
    else:
        net = proa.nn.Linear(4, 2, attr, False)
        made = optimizer(0.1, parameter_list=net.parameters(), **settings)
        for x in data:
            loss = net(t(x)).mean()
            loss.backward()
            made.minimize(loss)
            made.clear_grad()
        got = net.weight.numpy()
    np.testing.assert_allclose(got, weight, rtol=2e-5, atol=2e-6)
