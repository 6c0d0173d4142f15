"""The learning rate as a variable of a program: its name, and what sets it."""

import numpy as np
import pytest

import proa
from proa import static
from proa.utils import unique_name

_FEED = {"x": np.ones((2, 3), "float32")}


@pytest.fixture(autouse=True)
def _static():
    proa.enable_static()
    with static.scope_guard(static.Scope()), unique_name.guard():
        yield
    proa.disable_static()


def _build(rate, kind="SGD"):
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        attr = proa.ParamAttr(name="w", initializer=proa.nn.initializer.Constant(0.0))
        y = proa.mean(static.nn.fc(static.data("x", [2, 3]), 1, weight_attr=attr, bias_attr=False))
        getattr(proa.optimizer, kind)(rate).minimize(y)
    exe = static.Executor()
    exe.run(startup)

    def rate_of_run():
        """The rate that is fetched, which is that of the step."""
        weight = static.global_scope().find_var("w").get_tensor()
        before = np.array(weight)[0, 0]
        (found,) = exe.run(main, feed=_FEED, fetch_list=["learning_rate_0"])
        if kind == "SGD":  # the gradient is 1
            assert before - np.array(weight)[0, 0] == pytest.approx(found.item(), rel=1e-4)
        return round(found.item(), 6)

    return main, startup, exe, rate_of_run


@pytest.mark.parametrize(
    "kind", ["SGD", "Momentum", "Adam", "AdamW", "Lamb", "RMSProp", "Adagrad", "Adadelta", "Adamax"]
)
def test_every_optimizer_names_it(kind):
    main, _, _, rate_of_run = _build(0.1, kind)
    assert [n for n in main.state_dict("opt") if "learning" in n or "generated" in n] == ["learning_rate_0"]
    assert "learning_rate_0" not in main.state_dict("param") and rate_of_run() == 0.1
    second = _build(0.2, kind)[0]
    assert "learning_rate_1" in second.state_dict("opt")


def test_a_number_stays_as_it_is_set_until_the_startup_program_runs(tmp_path):
    main, startup, exe, rate_of_run = _build(0.1)
    assert rate_of_run() == 0.1
    static.set_program_state(main, {"learning_rate_0": np.float32(0.5)})
    assert rate_of_run() == rate_of_run() == 0.5
    static.save(main, str(tmp_path / "net"))
    assert static.load_program_state(str(tmp_path / "net"))["learning_rate_0"] == 0.5
    for ending in (".pdparams", ".pdopt", ".pdmodel"):  # each means all files
        assert static.load_program_state(str(tmp_path / f"net{ending}"))["learning_rate_0"] == 0.5
    exe.run(startup)
    assert rate_of_run() == 0.1
    static.load(main, str(tmp_path / "net"))
    assert rate_of_run() == 0.5
    static.global_scope().find_var("learning_rate_0").get_tensor().set(np.float32(0.25))
    assert rate_of_run() == 0.25


def test_a_schedule_goes_before_what_is_set(tmp_path):
    schedule = proa.optimizer.lr.StepDecay(0.1, 1)
    main, startup, exe, rate_of_run = _build(schedule)
    static.save(main, str(tmp_path / "net"))
    static.set_program_state(main, {"learning_rate_0": np.float32(0.5)})
    assert rate_of_run() == 0.1
    schedule.step()
    assert rate_of_run() == 0.01
    static.load(main, str(tmp_path / "net"))
    assert rate_of_run() == 0.01
    exe.run(startup)
    assert rate_of_run() == 0.01


def test_it_is_read_as_one_number_of_float32():
    """By its name, and as what `_global_learning_rate` gives; in each run that of now."""
    schedule = proa.optimizer.lr.StepDecay(0.1, 1)
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        y = proa.mean(static.nn.fc(static.data("x", [2, 3]), 1))
        optimizer = proa.optimizer.Momentum(schedule)
        optimizer.minimize(y)
    exe = static.Executor()
    exe.run(startup)
    rate = optimizer._global_learning_rate()
    assert rate.name == "learning_rate_0"
    for expected in (0.1, 0.01):
        for fetches, place in (([rate], 0), ([y, rate.name], 1), ([rate, y], 0)):
            found = exe.run(main, feed=_FEED, fetch_list=fetches)[place]
            assert found.shape == (1,) and found.dtype == np.float32 and found[0] == np.float32(expected)
        schedule.step()


def test_it_is_one_for_all_scopes():
    schedule = proa.optimizer.lr.StepDecay(0.1, 1)
    main, startup, exe, _ = _build(schedule)
    with static.scope_guard(static.Scope()):
        exe.run(startup)
        schedule.step()
        assert exe.run(main, feed=_FEED, fetch_list=["learning_rate_0"])[0] == pytest.approx(0.01)


def test_a_step_that_was_not_recorded_has_no_rate_in_the_scope():
    """Only its gradients were, or an error ended it: a run gives the scope no variable for it."""
    from proa.framework import recorded_rates

    optimizer = proa.optimizer.SGD(0.5)
    recorded_rates.note(optimizer)
    _, _, _, rate_of_run = _build(0.1)
    assert rate_of_run() == 0.1
    assert [name for name in static.global_scope().local_var_names() if "rate" in name] == ["learning_rate_0"]
