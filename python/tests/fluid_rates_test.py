"""Optimizers of 1.x whose rate is a variable of the program: every one, as with the numbers that the variable goes through."""

import inspect

import numpy as np
import pytest

from proa import fluid

KINDS = sorted(
    name
    for name, kind in vars(fluid.optimizer).items()
    if inspect.isclass(kind)
    and name.endswith("Optimizer")
    and name != "Optimizer"
    and "learning_rate" in inspect.signature(kind).parameters
)
_RNG = np.random.RandomState(0)
X, W = _RNG.randn(6, 3).astype("float32"), _RNG.randn(3, 2).astype("float32")


def _trained(kind, rates, by_variable):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup):
        x = fluid.data("x", [None, 3])
        attr = fluid.ParamAttr(name="w", initializer=fluid.initializer.NumpyArrayInitializer(W))
        loss = fluid.layers.reduce_mean(fluid.layers.square(fluid.layers.fc(x, 2, param_attr=attr, bias_attr=False)))
        settings = {"momentum": 0.9} if "momentum" in inspect.signature(kind).parameters else {}
        rate = rates[0]
        if by_variable:
            given = fluid.data("rate", [1])
            rate = fluid.layers.create_global_var([1], 0.0, "float32", persistable=True, name="the_rate")
            fluid.layers.assign(given, rate)
        optimizer = kind(learning_rate=rate, **settings)
        optimizer.minimize(loss)
        executor = fluid.Executor()
        executor.run(startup)
        for number in rates:
            if not by_variable:
                optimizer.set_lr(number)
            executor.run(main, feed={"x": X, "rate": np.float32([number])}, fetch_list=[loss])
            assert optimizer.current_step_lr() == pytest.approx(number)
        return np.array(fluid.global_scope().find_var("w").get_tensor())


@pytest.mark.parametrize("name", KINDS)
def test_a_variable_is_as_its_numbers(name):
    kind = getattr(fluid.optimizer, name)
    want = _trained(kind, [0.1, 0.02, 0.3], False)
    assert not np.array_equal(want, W)
    np.testing.assert_allclose(_trained(kind, [0.1, 0.02, 0.3], True), want, rtol=1e-5, atol=1e-7)


def test_there_are_all():
    assert len(KINDS) >= 11
