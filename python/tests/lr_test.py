"""Learning rate schedules against their formulas."""

import math

import pytest

import proa

lr = proa.optimizer.lr


def run(schedule, steps):
    rates = []
    for _ in range(steps):
        rates.append(schedule())
        schedule.step()
    return rates


@pytest.mark.parametrize(
    "make, formula",
    [
        (lambda: lr.ExponentialDecay(0.5, 0.9), lambda e: 0.5 * 0.9**e),
        (lambda: lr.NaturalExpDecay(0.5, 0.1), lambda e: 0.5 * math.exp(-0.1 * e)),
        (lambda: lr.InverseTimeDecay(0.5, 0.1), lambda e: 0.5 / (1 + 0.1 * e)),
        (lambda: lr.StepDecay(0.5, 3, 0.1), lambda e: 0.5 * 0.1 ** (e // 3)),
        (lambda: lr.MultiStepDecay(0.5, [2, 5], 0.1), lambda e: 0.5 * 0.1 ** ((e >= 2) + (e >= 5))),
        (lambda: lr.LambdaDecay(0.5, lambda e: 0.95**e), lambda e: 0.5 * 0.95**e),
        (lambda: lr.MultiplicativeDecay(0.5, lambda e: 0.95), lambda e: 0.5 * 0.95**e),
        (lambda: lr.PolynomialDecay(0.5, 4, 0.1, 2.0), lambda e: 0.4 * (1 - min(e, 4) / 4) ** 2 + 0.1),
        (
            lambda: lr.PolynomialDecay(0.5, 4, 0.1, cycle=True),
            lambda e: 0.4 * (1 - e / (4 * max(1, math.ceil(e / 4)))) + 0.1,
        ),
        (lambda: lr.CosineAnnealingDecay(0.5, 7, 0.1), lambda e: 0.1 + 0.2 * (1 + math.cos(math.pi * e / 7))),
        (
            lambda: lr.NoamDecay(16, 4, 2.0),
            lambda e: 2 * 16**-0.5 * min(1.0 if e == 0 else e**-0.5, e * 4**-1.5),
        ),
        (lambda: lr.LinearWarmup(0.5, 4, 0.0, 0.5), lambda e: 0.5 * min(e, 4) / 4),
        (
            lambda: lr.LinearWarmup(lr.StepDecay(0.5, 2, 0.1), 3, 0.0, 0.5),
            lambda e: 0.5 * e / 3 if e < 3 else 0.5 * 0.1 ** ((e - 3) // 2),
        ),
        (lambda: lr.CyclicLR(0.1, 0.5, 2, 4), lambda e: 0.1 + 0.4 * [0, 0.5, 1, 0.75, 0.5, 0.25][e % 6]),
    ],
)
def test_formulas(make, formula):
    schedule = make()
    assert run(schedule, 16) == pytest.approx([formula(e) for e in range(16)], abs=1e-12)


def test_piecewise():
    assert run(lr.PiecewiseDecay([2, 4], [3.0, 2.0, 1.0]), 6) == [3.0, 3.0, 2.0, 2.0, 1.0, 1.0]


def test_one_cycle():
    rates = run(lr.OneCycleLR(1.0, 10, divide_factor=10, end_learning_rate=0.01, anneal_strategy="linear"), 10)
    assert rates[0] == pytest.approx(0.1) and max(rates) == pytest.approx(1.0) and rates[2] == max(rates)
    assert rates[-1] == pytest.approx(0.01)
    assert all(a > b for a, b in zip(rates[2:], rates[3:]))


def test_reduce_on_plateau():
    schedule = lr.ReduceOnPlateau(1.0, patience=1, factor=0.5, cooldown=1)
    rates = []
    for loss in [3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0]:
        schedule.step(loss)
        rates.append(schedule())
    assert rates == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25]
    schedule = lr.ReduceOnPlateau(1.0, mode="max", patience=0, factor=0.5, min_lr=0.4)
    for _ in range(4):
        schedule.step(proa.to_tensor([1.0]))
    assert schedule() == 0.4


def test_state_resumes():
    first = lr.CosineAnnealingDecay(0.5, 10)
    run(first, 4)
    second = lr.CosineAnnealingDecay(0.5, 10)
    second.set_state_dict(first.state_dict())
    assert run(second, 5) == run(first, 5)
    with pytest.raises(ValueError, match="last_lr"):
        second.set_state_dict({"last_epoch": 1})


def test_step_to_an_epoch():
    schedule = lr.ExponentialDecay(1.0, 0.5)
    schedule.step(3)
    assert schedule() == 0.125
    cosine = lr.CosineAnnealingDecay(1.0, 10)
    cosine.step(10)
    assert cosine() == pytest.approx(0.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: lr.ExponentialDecay(0.5, 1.5),
        lambda: lr.StepDecay(0.5, 0),
        lambda: lr.MultiStepDecay(0.5, [5, 2]),
        lambda: lr.PiecewiseDecay([1], [0.1]),
        lambda: lr.PolynomialDecay(0.5, -1),
        lambda: lr.LinearWarmup(0.5, 3, 0.5, 0.1),
        lambda: lr.ReduceOnPlateau(0.5, mode="up"),
        lambda: lr.NoamDecay(0, 3),
        lambda: lr.LRScheduler(-1.0),
    ],
)
def test_bad_arguments(make):
    with pytest.raises(ValueError):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: lr.StepDecay(0.5, 2.0),
        lambda: lr.CosineAnnealingDecay(0.5, "5"),
        lambda: lr.OneCycleLR(0.5, True),
        lambda: lr.PolynomialDecay(0.5, None),
        lambda: lr.LinearWarmup(0.5, 3.0, 0.1, 0.5),
        lambda: lr.CyclicLR("0.1", 1.0, 4),
        lambda: lr.ReduceOnPlateau(0.5).step("0.5"),
    ],
)
def test_arguments_of_other_kinds(make):
    """TypeErrors in PaddlePaddle 3.3 too; half of them were ValueErrors only."""
    with pytest.raises(TypeError, match="must be"):
        make()


def test_a_metric_that_is_none_leaves_the_schedule_as_it_was():
    rate = lr.ReduceOnPlateau(0.5)
    with pytest.raises(ValueError):
        rate.step("0.5")
    assert rate.last_epoch == 0


@pytest.mark.parametrize(
    "mode, scale_mode", [("triangular", "cycle"), ("triangular2", "cycle"), ("exp_range", "iterations")]
)
def test_attributes_of_a_cycle(mode, scale_mode):
    """What subclasses in programs read, by the names of PaddlePaddle 3.3."""
    rate = lr.CyclicLR(0.1, 1.0, 4, 3, mode, 0.9)
    found = rate.cycle_size, rate.step_up_pct, rate.max_lr, rate.amplitude, rate.mode, rate.gamma, rate.scale_mode
    assert found == (7, 4 / 7, 1.0, 0.9, mode, 0.9, scale_mode)
    assert rate.scale_fn(3) == {"triangular": 1.0, "triangular2": 0.25, "exp_range": 0.9**3}[mode]


def test_verbose(capsys):
    lr.StepDecay(0.5, 1, verbose=True)
    assert "StepDecay set learning rate to 0.5" in capsys.readouterr().out
