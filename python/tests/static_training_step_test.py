"""Steps of training inside of functions that `to_static` records: refused, with the line and what to write."""

import re

import numpy as np
import pytest

import proa as paddle

_INSTEAD = "convert the layer or the function of the loss, not the step"


def _net_and_optimizer(kind=paddle.optimizer.SGD):
    paddle.seed(3)
    net = paddle.nn.Linear(4, 2)
    return net, kind(0.1, parameters=net.parameters())


def _refused(step, what, line, *args):
    with pytest.raises(RuntimeError, match=re.escape(_INSTEAD)) as caught:
        paddle.jit.to_static(step)(*args)
    text = str(caught.value)
    assert text.removeprefix("(PreconditionNotMet) ").startswith(f"{what}: "), text
    lines = "\n".join([text, *getattr(caught.value, "__notes__", ())])
    assert re.search(rf"at static_training_step_test\.py:\d+, in {step.__name__}: {re.escape(line)}", lines), lines


@pytest.mark.parametrize("kind", [paddle.optimizer.SGD, paddle.optimizer.AdamW])
def test_a_whole_step(kind):
    net, optimizer = _net_and_optimizer(kind)

    def step(x):
        loss = net(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    x = paddle.ones([3, 4])
    _refused(step, "Tensor.backward", "loss.backward()", x)
    # Nothing was changed: the step as it is written runs, and so does the rewrite, with the same result.
    assert net.weight.grad is None
    before = net.weight.numpy()
    step(x)
    changed = net.weight.numpy()
    assert not np.array_equal(before, changed)
    other, its_optimizer = _net_and_optimizer(kind)
    loss = paddle.jit.to_static(lambda x: other(x).mean())(x)
    loss.backward()
    its_optimizer.step()
    np.testing.assert_allclose(other.weight.numpy(), changed, rtol=1e-6)


def test_a_whole_step_with_a_scaler():
    net, optimizer = _net_and_optimizer()
    scaler = paddle.amp.GradScaler()

    def step(x):
        with paddle.amp.auto_cast(dtype="bfloat16"):
            loss = net(x).mean()
        scaled = scaler.scale(loss)
        scaled.backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    _refused(step, "GradScaler.scale", "scaled = scaler.scale(loss)", paddle.ones([3, 4]))


def test_parts_of_a_step():
    net, optimizer = _net_and_optimizer()
    scaler = paddle.amp.GradScaler()
    x = paddle.ones([3, 4])
    net(x).mean().backward()

    def backward_of_a_function(x):
        paddle.autograd.backward([net(x).mean()])
        return x

    def stepping(x):
        optimizer.step()
        return x * 2

    def clearing(x):
        optimizer.clear_grad()
        return net(x).mean()

    def clearing_a_layer(x):
        net.clear_gradients()
        return net(x).mean()

    def clearing_a_tensor(x):
        net.weight.clear_gradient()
        return net(x).mean()

    def minimizing(x):
        optimizer.minimize(net(x).mean())
        return x

    def asking(x):
        return optimizer.backward(net(x).mean())[0][1]

    def applying(x):
        optimizer.apply_gradients([(p, p.grad) for p in net.parameters()])
        return x * 2

    def scaled_step(x):
        scaler.step(optimizer)
        return x * 2

    def unscaling(x):
        scaler.unscale_(optimizer)
        return x * 2

    def updating(x):
        scaler.update()
        return x * 2

    grad = net.weight.grad.numpy()
    _refused(backward_of_a_function, "Tensor.backward", "paddle.autograd.backward([net(x).mean()])", x)
    _refused(stepping, "SGD.step", "optimizer.step()", x)
    _refused(clearing, "SGD.clear_grad", "optimizer.clear_grad()", x)
    _refused(clearing_a_layer, "Linear.clear_gradients", "net.clear_gradients()", x)
    _refused(clearing_a_tensor, "Tensor.clear_gradient", "net.weight.clear_gradient()", x)
    _refused(minimizing, "SGD.minimize", "optimizer.minimize(net(x).mean())", x)
    _refused(asking, "SGD.backward", "return optimizer.backward(net(x).mean())[0][1]", x)
    _refused(applying, "SGD.apply_gradients", "optimizer.apply_gradients(", x)
    _refused(scaled_step, "GradScaler.step", "scaler.step(optimizer)", x)
    _refused(unscaling, "GradScaler.unscale_", "scaler.unscale_(optimizer)", x)
    _refused(updating, "GradScaler.update", "scaler.update()", x)
    np.testing.assert_array_equal(net.weight.grad.numpy(), grad)


def test_schedules():
    schedule = paddle.optimizer.lr.StepDecay(0.1, 2)
    plateau = paddle.optimizer.lr.ReduceOnPlateau(0.1)
    warmup = paddle.optimizer.lr.LinearWarmup(schedule, 2, 0.0, 0.1)

    def next_epoch(x):
        schedule.step()
        return x * schedule()

    def next_by_loss(x):
        plateau.step(x.mean())
        return x * plateau()

    def next_warm(x):
        warmup.step(3)
        return x * warmup()

    x = paddle.ones([3, 4])
    _refused(next_epoch, "StepDecay.step", "schedule.step()", x)
    _refused(next_by_loss, "ReduceOnPlateau.step", "plateau.step(x.mean())", x)
    _refused(next_warm, "LinearWarmup.step", "warmup.step(3)", x)
    assert (schedule.last_epoch, plateau.last_epoch, warmup.last_epoch) == (0, 0, 0)
    # A rate is a number where it is asked for, and a schedule may be made anywhere.
    y = paddle.jit.to_static(lambda x: x * schedule() * paddle.optimizer.lr.StepDecay(0.5, 2)())(x)
    np.testing.assert_allclose(y.numpy(), np.full((3, 4), 0.05), rtol=1e-6)


def test_gradients_of_a_recorded_function_are_no_step():
    net, _ = _net_and_optimizer()

    @paddle.jit.to_static
    def penalty(x):
        return paddle.grad(net(x).sum(), net.weight)[0]

    np.testing.assert_allclose(penalty(paddle.ones([3, 4])).numpy(), np.full((4, 2), 3.0))
    scaler = paddle.amp.GradScaler(enable=False)
    scaled = paddle.jit.to_static(lambda x: scaler.scale(net(x).mean()))(paddle.ones([3, 4]))
    scaled.backward()
    np.testing.assert_allclose(net.bias.grad.numpy(), [0.5, 0.5], rtol=1e-6)
