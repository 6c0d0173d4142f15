"""Runs of a program after the first one: what they skip, and that what changes meanwhile is seen."""

import numpy as np
import pytest

import proa as paddle
from proa import static
from proa.static import executor as module

_X = np.array([1.0, 2.0], "float32")


@pytest.fixture
def main():
    """A program that is recorded into, with x and y = 2 x."""
    paddle.enable_static()
    program = static.Program()
    with static.scope_guard(static.Scope()), static.program_guard(program, static.Program()):
        program.x = static.data("x", [None], "float32")
        program.y = program.x * 2.0
        yield program
    paddle.disable_static()


@pytest.fixture
def slow(monkeypatch):
    """The runs that looked everything up."""
    runs = []
    flat = module._flat
    monkeypatch.setattr(module, "_flat", lambda given: (runs.append(given), flat(given))[1])
    return runs


def _run(main, feed=_X, fetch=None, **kwargs):
    return static.Executor().run(main, feed={"x": feed}, fetch_list=[main.y if fetch is None else fetch], **kwargs)[0]


@pytest.mark.parametrize("return_numpy", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, paddle.to_tensor], ids=["array", "tensor"])
def test_later_runs_look_nothing_up(main, slow, kind, return_numpy):
    with paddle.static.program_guard(static.Program()):
        paddle.disable_static()
        values = [kind(_X * k) for k in range(4)]
        paddle.enable_static()
    for k, value in enumerate(values):
        found = _run(main, value, return_numpy=return_numpy)
        assert isinstance(found, np.ndarray) is return_numpy
        np.testing.assert_array_equal(np.asarray(found), _X * k * 2)
        if k == 0:
            looked_up = len(slow)
    assert looked_up > 0 and len(slow) == looked_up


@pytest.mark.parametrize("way", ["name", "test", "prune", "compiled", "scope"])
def test_later_runs_of_other_kinds_look_nothing_up(main, slow, way):
    """By names, of programs for tests, pruned, compiled, and in a scope of its own."""
    startup, executor = static.Program(), static.Executor()
    with static.program_guard(main, startup):
        weight = static.create_parameter([1], "float32", default_initializer=paddle.nn.initializer.Constant(3.0))
        z = main.x * weight
    program = {"test": main.clone(for_test=True), "compiled": static.CompiledProgram(main)}.get(way, main)
    fetches = [z.name if way == "name" else z]
    scope = static.Scope() if way == "scope" else None
    if scope is not None:
        executor.run(startup, scope=scope)
    for k in range(4):
        (found,) = executor.run(program, feed={"x": _X * k}, fetch_list=fetches, scope=scope, use_prune=way == "prune")
        np.testing.assert_allclose(found, _X * k * 3)
        if k == 0:
            looked_up = len(slow)
    assert looked_up > 0 and len(slow) == looked_up


def test_values_of_scopes_are_those_of_now(main):
    """What a scope of its own holds changes, goes away and is started anew between runs."""
    startup, executor, scopes = static.Program(), static.Executor(), [static.Scope(), static.Scope()]
    with static.program_guard(main, startup):
        weight = static.create_parameter([1], "float32", default_initializer=paddle.nn.initializer.Constant(3.0))
        z = main.x * weight
    run = lambda scope: executor.run(main, feed={"x": _X}, fetch_list=[z], scope=scope)[0]
    for scope in scopes:
        executor.run(startup, scope=scope)
    for k in range(3):
        for number, scope in enumerate(scopes):
            value = np.array([10.0 * number + k], "float32")
            scope.find_var(weight.name).get_tensor().set(value, paddle.CPUPlace())
            np.testing.assert_allclose(run(scope), _X * value)
    executor.run(startup, scope=scopes[0])
    np.testing.assert_allclose(run(scopes[0]), _X * 3)
    scopes[0].erase([weight.name])
    np.testing.assert_allclose(run(scopes[0]), _X * 3)
    np.testing.assert_allclose(run(scopes[1]), _X * 12)


def test_a_program_that_grows_or_changes_in_place_is_seen(main):
    z = main.y + 1.0
    for _ in range(2):
        np.testing.assert_array_equal(_run(main, fetch=z), _X * 2 + 1)
    z.add_(paddle.full([1], 10.0))
    for _ in range(2):
        np.testing.assert_array_equal(_run(main, fetch=z), _X * 2 + 11)


def test_what_is_fed_wrongly_is_an_error_of_each_run(main):
    _run(main)
    for _ in range(2):
        with pytest.raises(ValueError, match="x"):
            _run(main, np.ones([2, 2], "float32"))
        with pytest.raises(ValueError, match="x"):
            static.Executor().run(main, feed={}, fetch_list=[main.y])
        with pytest.raises(TypeError, match="scope must be a Scope"):
            _run(main, scope=5)
        np.testing.assert_array_equal(_run(main, [1.0, 2.0]), _X * 2)  # a list is taken, as before
        with pytest.warns(UserWarning, match="the program has no input 'other'"):
            found = static.Executor().run(main, feed={"x": _X, "other": _X}, fetch_list=[main.y])
        np.testing.assert_array_equal(found[0], _X * 2)


def test_prints_that_come_later_are_seen(main, capfd):
    for _ in range(2):
        _run(main)
    static.Print(main.y, message="twice")
    capfd.readouterr()
    for _ in range(2):
        _run(main)
        assert "twice" in "".join(capfd.readouterr())


def test_parameters_of_other_scopes_are_those_of_the_run(main):
    startup = static.Program()
    with static.program_guard(main, startup):
        out = static.nn.fc(main.x.reshape([1, 2]), 1, weight_attr="w", bias_attr=False)
    executor, other = static.Executor(), static.Scope()
    executor.run(startup)
    first = [_run(main, fetch=out) for _ in range(2)]
    executor.run(startup, scope=other)
    other.find_var("w").get_tensor().set(np.ones([2, 1], "float32"))
    for _ in range(2):
        np.testing.assert_array_equal(_run(main, fetch=out, scope=other), [[3.0]])
        np.testing.assert_array_equal(_run(main, fetch=out), first[0])


def test_schedules_move_on(main):
    w = paddle.create_parameter([2], "float32", default_initializer=paddle.nn.initializer.Constant(0.0))
    loss = (w * main.x).sum()
    rate = paddle.optimizer.lr.StepDecay(1.0, 1, 0.5)
    paddle.optimizer.SGD(rate).minimize(loss)
    static.Executor().run(static.default_startup_program())
    found = []
    for _ in range(4):
        _run(main, np.ones([2], "float32"), fetch=loss)
        rate.step()
        found.append(float(w.numpy()[0]))
    np.testing.assert_allclose(found, [-1, -1.5, -1.75, -1.875])


def test_fetch_lists_are_kept_up_to_a_number(main):
    values = [main.y * float(k) for k in range(80)]
    for value in values:
        _run(main, fetch=value)
    assert len(main._ready) <= 32
    np.testing.assert_array_equal(_run(main, fetch=values[7]), _X * 14)
