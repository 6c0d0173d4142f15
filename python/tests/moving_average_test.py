"""ExponentialMovingAverage: the formula, with a constant decay and with one that grows with the steps, eager and in programs."""

import numpy as np
import pytest

import proa as paddle
from proa import static


def _formula(values, decay, steps):
    average, power = 0.0, 1.0
    for number, value in enumerate(values):
        now = decay if steps is None else min(decay, (1 + steps[number]) / (10 + steps[number]))
        average, power = now * average + (1 - now) * value, power * now
    return average / (1 - power)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("by_steps", [False, True])
def test_a_program(by_steps, dtype):
    paddle.enable_static()
    try:
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            x = static.data("x", [], dtype)
            step = static.data("step", [1], "int64")
            w = static.create_parameter([2], dtype, default_initializer=paddle.nn.initializer.Constant(1.0))
            loss = (w * x).sum()
            paddle.optimizer.SGD(0.5).minimize(loss)
            average = static.ExponentialMovingAverage(0.9, thres_steps=step if by_steps else None)
            average.update()
        executor = static.Executor()
        executor.run(startup)
        steps, values, value = [0, 3, 100], [], 1.0
        for number in steps:
            feed = {"x": np.array(number + 1.0, dtype), "step": np.array([number])}
            executor.run(main, feed=feed, fetch_list=[loss])
            value -= 0.5 * (number + 1.0)
            values.append(value)
        with average.apply(executor):
            np.testing.assert_allclose(w.numpy(), _formula(values, 0.9, steps if by_steps else None), rtol=1e-5)
        np.testing.assert_allclose(w.numpy(), value, rtol=1e-6)
    finally:
        paddle.disable_static()


@pytest.mark.parametrize("by_steps", [False, True])
def test_eager(by_steps):
    net = paddle.nn.Linear(1, 1)
    step = paddle.to_tensor(0)
    average = static.ExponentialMovingAverage(0.5, step if by_steps else None, parameters=net.parameters())
    values = []
    for number in range(4):
        net.weight.set_value(np.float32([[number * 2.0]]))
        step.set_value(np.array(number))
        average.update()
        values.append(number * 2.0)
    with average.apply():
        want = _formula(values, 0.5, list(range(4)) if by_steps else None)
        np.testing.assert_allclose(net.weight.numpy(), [[want]], rtol=1e-5)


def test_a_step_must_be_a_tensor():
    with pytest.raises(TypeError, match="thres_steps"):
        static.ExponentialMovingAverage(0.9, thres_steps=3)
