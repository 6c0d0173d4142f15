"""Every optimizer, with every schedule, clipping and regularizer, inside a program: the parameters of eager training."""

import itertools

import numpy as np
import pytest

import proa as paddle
from proa import nn, static

lr = paddle.optimizer.lr
_RNG = np.random.RandomState(0)
X, Y = _RNG.randn(5, 8, 4).astype("float32"), _RNG.randn(5, 8, 1).astype("float32")
WEIGHTS = _RNG.randn(4, 3).astype("float32"), _RNG.randn(3).astype("float32"), _RNG.randn(3, 1).astype("float32")

SCHEDULES = {
    "CosineAnnealingDecay": lambda: lr.CosineAnnealingDecay(0.1, 3),
    "CyclicLR": lambda: lr.CyclicLR(0.01, 0.1, 2),
    "ExponentialDecay": lambda: lr.ExponentialDecay(0.1, 0.5),
    "InverseTimeDecay": lambda: lr.InverseTimeDecay(0.1, 0.5),
    "LambdaDecay": lambda: lr.LambdaDecay(0.1, lambda n: 1.0 / (n + 1)),
    "LinearWarmup": lambda: lr.LinearWarmup(lr.ExponentialDecay(0.1, 0.5), 2, 0.01, 0.1),
    "MultiStepDecay": lambda: lr.MultiStepDecay(0.1, [1, 3]),
    "MultiplicativeDecay": lambda: lr.MultiplicativeDecay(0.1, lambda n: 0.7),
    "NaturalExpDecay": lambda: lr.NaturalExpDecay(0.1, 0.5),
    "NoamDecay": lambda: lr.NoamDecay(64, 3),
    "OneCycleLR": lambda: lr.OneCycleLR(0.1, 5),
    "PiecewiseDecay": lambda: lr.PiecewiseDecay([1, 3], [0.1, 0.05, 0.01]),
    "PolynomialDecay": lambda: lr.PolynomialDecay(0.1, 4),
    "ReduceOnPlateau": lambda: lr.ReduceOnPlateau(0.1, patience=0, threshold=10.0),
    "StepDecay": lambda: lr.StepDecay(0.1, 2),
    "a number": lambda: 0.05,
}
CLIPS = {
    "none": lambda: None,
    "value": lambda: nn.ClipGradByValue(0.05),
    "norm": lambda: nn.ClipGradByNorm(0.1),
    "global norm": lambda: nn.ClipGradByGlobalNorm(0.2),
}
DECAYS = {
    "none": lambda: None,
    "a number": lambda: 0.1,
    "L1": lambda: paddle.regularizer.L1Decay(0.05),
    "L2": lambda: paddle.regularizer.L2Decay(0.05),
}
NAMES = sorted(
    name
    for name in dir(paddle.optimizer)
    if isinstance(getattr(paddle.optimizer, name), type)
    and issubclass(getattr(paddle.optimizer, name), paddle.optimizer.Optimizer)
    and name != "Optimizer"
)


def _make(name, rate, clip, decay, parameters=None):
    settings = {"rho": 0.9} if name == "RMSProp" else {}
    if name == "Lamb":
        settings["lamb_weight_decay"] = 0.02
    elif name == "AdamW":
        settings["weight_decay"] = 0.02
    else:
        settings["weight_decay"] = decay
    return getattr(paddle.optimizer, name)(learning_rate=rate, parameters=parameters, grad_clip=clip, **settings)


def _loss(x, y, parameters):
    w, b, v = parameters
    return ((paddle.tanh(x @ w + b) @ v - y) ** 2).mean()


def _parameters():
    made = []
    for k, value in enumerate(WEIGHTS):
        attr = paddle.ParamAttr(
            initializer=nn.initializer.Assign(value),
            learning_rate=2.0 if k == 1 else 1.0,
            regularizer=paddle.regularizer.L2Decay(0.3) if k == 2 else None,
        )
        made.append(static.create_parameter(list(value.shape), "float32", attr=attr))
    return made


def _advance(rate, loss):
    if isinstance(rate, lr.ReduceOnPlateau):
        rate.step(float(loss))
    elif isinstance(rate, lr.LRScheduler):
        rate.step()


def _eager(name, schedule, clip, decay):
    parameters = [
        paddle.create_parameter(
            list(v.shape),
            "float32",
            attr=paddle.ParamAttr(
                initializer=nn.initializer.Assign(v),
                learning_rate=2.0 if k == 1 else 1.0,
                regularizer=paddle.regularizer.L2Decay(0.3) if k == 2 else None,
            ),
        )
        for k, v in enumerate(WEIGHTS)
    ]
    rate = schedule()
    optimizer = _make(name, rate, clip(), decay(), parameters)
    losses = []
    for x, y in zip(X, Y, strict=True):
        loss = _loss(paddle.to_tensor(x), paddle.to_tensor(y), parameters)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
        _advance(rate, loss)
    return losses, [p.numpy() for p in parameters]


def _static(name, schedule, clip, decay):
    paddle.enable_static()
    try:
        main, startup = static.Program(), static.Program()
        with static.scope_guard(static.Scope()), static.program_guard(main, startup):
            x, y = static.data("x", [None, 4]), static.data("y", [None, 1])
            parameters = _parameters()
            loss = _loss(x, y, parameters)
            rate = schedule()
            _make(name, rate, clip(), decay()).minimize(loss)
            executor = static.Executor()
            executor.run(startup)
            losses = []
            for a, b in zip(X, Y, strict=True):
                losses.append(executor.run(main, feed={"x": a, "y": b}, fetch_list=[loss])[0].item())
                _advance(rate, losses[-1])
            values = [np.array(static.global_scope().find_var(p.name).get_tensor()) for p in parameters]
            return losses, values
    finally:
        paddle.disable_static()


def _compare(*how):
    (losses, values), (want_losses, want) = _static(*how), _eager(*how)
    np.testing.assert_allclose(losses, want_losses, rtol=2e-5)
    for got, wanted, first in zip(values, want, WEIGHTS, strict=True):
        assert not np.array_equal(wanted, first)
        np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("clip", CLIPS)
def test_optimizers_with_clipping_and_regularizers(name, clip):
    decays = itertools.cycle(DECAYS.values())
    schedules = list(SCHEDULES.values())
    for k, decay in enumerate(itertools.islice(decays, len(DECAYS))):
        _compare(name, schedules[(NAMES.index(name) * 4 + k) % len(schedules)], CLIPS[clip], decay)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules(schedule):
    for name in ("SGD", "Adam"):
        _compare(name, SCHEDULES[schedule], CLIPS["none"], DECAYS["none"])


def test_all_are_here():
    public = {name for name in dir(lr) if isinstance(getattr(lr, name), type)} - {"LRScheduler"}
    assert public == set(SCHEDULES) - {"a number"}
    assert {name for name in dir(nn) if name.startswith("ClipGradBy")} == {
        type(c()).__name__ for c in CLIPS.values() if c()
    }
