"""Gradients of messages between ranks, of any order, and what is said where only one side wants one."""

import numpy as np
import pytest

import proa
import proa.distributed as dist
from proa.distributed import functional
from proa.distributed.groups import run_threads
from python.tests import ranks


def _there_and_back(x0, x1):
    """What two ranks compute together, as one process does."""
    h = proa.tanh(x0 * x0)
    y = h * x1
    z = proa.sin(y) * x0
    return (z * z).sum() + (y * y * x1).sum()


def _of_rank(x0, x1):
    rank = dist.get_rank()
    if rank == 0:
        sent = functional.send(proa.tanh(x0 * x0), 1)
        y = functional.recv(x0, 1)
        z = proa.sin(y) * x0
        return (z * z).sum() + sent
    y = functional.recv(x1, 0) * x1
    return (y * y * x1).sum() + functional.send(y, 0)


def _inputs():
    rng = np.random.default_rng(5)
    return [proa.to_tensor(rng.normal(size=(2, 3)), stop_gradient=False) for _ in range(2)]


def test_first_gradients():
    wanted = _inputs()
    _there_and_back(*wanted).backward()

    def body():
        values = _inputs()
        _of_rank(*values).backward()
        return values[dist.get_rank()].grad.numpy()

    for x, found in zip(wanted, run_threads(body, 2)):
        np.testing.assert_allclose(found, x.grad.numpy(), rtol=1e-12)


@pytest.mark.parametrize("order", [2, 3])
def test_gradients_of_gradients(order):
    wanted = _inputs()
    value = _there_and_back(*wanted)
    for _ in range(order - 1):
        value = sum((g * g).sum() for g in proa.grad(value, wanted, create_graph=True))
    value.backward()

    def body():
        values = _inputs()
        own = values[dist.get_rank()]
        value = _of_rank(*values)
        for _ in range(order - 1):
            (g,) = proa.grad(value, own, create_graph=True)
            value = (g * g).sum()
        value.backward()
        return own.grad.numpy()

    for x, found in zip(wanted, run_threads(body, 2)):
        np.testing.assert_allclose(found, x.grad.numpy(), rtol=1e-10)


def test_a_gradient_that_is_constant_on_one_side():
    """The receiver's loss is linear in what came: its own gradient needs no graph, and the sender's has one."""

    def body():
        x = proa.to_tensor([2.0, 3.0], stop_gradient=False)
        if dist.get_rank() == 0:
            value = functional.send(x * x * x, 1)
        else:
            value = functional.recv(x, 0).sum()
        (g,) = proa.grad(value, x, create_graph=True)
        (g * g).sum().backward()
        return x.grad.tolist()

    first, second = run_threads(body, 2)
    assert first == [36 * 8.0, 36 * 27.0]  # of (3 x^2)^2
    assert second == [0.0, 0.0]


def test_both_send_first():
    """More than what lies between the two: nobody waits for the other to receive."""

    def body():
        x = proa.ones([1 << 20])
        x.stop_gradient = False
        sent = functional.send(x * (dist.get_rank() + 2.0), 1 - dist.get_rank())
        came = functional.recv(x, 1 - dist.get_rank())
        ((came * came).mean() + sent).backward()
        return came[0].item(), x.grad[0].item() * (1 << 20)

    assert run_threads(body, 2) == [(3.0, 2.0 * 2.0 * 2.0), (2.0, 2.0 * 3.0 * 3.0)]


@pytest.mark.parametrize("dtype, shape", [("bool", [3]), ("int64", [0, 2]), ("bfloat16", []), ("complex64", [2, 1])])
def test_without_gradients_of_all_kinds(dtype, shape):
    def body():
        x = proa.ones(shape).astype(dtype)
        if dist.get_rank() == 0:
            functional.send(x, 1)
            return None
        return functional.recv(proa.zeros(shape).astype(dtype), 0).equal_all(x).item()

    assert run_threads(body, 2)[1]


def test_strided_and_changed_afterwards():
    def body():
        x = proa.arange(12, dtype="float32").reshape([3, 4])
        if dist.get_rank() == 0:
            functional.send(x.t(), 1)
            x.zero_()
            return None
        return functional.recv(x.t(), 0).tolist()

    assert run_threads(body, 2)[1] == np.arange(12, dtype="float32").reshape(3, 4).T.tolist()


@pytest.mark.parametrize("sender", [True, False])
def test_a_gradient_that_one_side_does_not_want(sender):
    def body():
        x = proa.ones([2])
        x.stop_gradient = (dist.get_rank() == 0) != sender
        if dist.get_rank() == 0:
            functional.send(x * 1.0, 1)
            dist.barrier()
            return
        said = "here nothing requires one" if sender else "the sender's requires none"
        with pytest.raises(RuntimeError, match=said):
            functional.recv(x, 0)
        dist.barrier()

    run_threads(body, 2)


def test_in_programs():
    outputs = ranks.run(
        """
from proa.distributed import functional
dist.init_parallel_env()
proa.enable_static()
rank = dist.get_rank()
main, startup = proa.static.Program(), proa.static.Program()
with proa.static.program_guard(main, startup):
    x = proa.static.data("x", [None, 3])
    if rank == 0:
        h = proa.static.nn.fc(x, 2, weight_attr=proa.ParamAttr(name="w", initializer=proa.nn.initializer.Constant(0.5)))
        loss = functional.send(h, 1)
    else:
        w = proa.static.create_parameter([2], "float32", default_initializer=proa.nn.initializer.Constant(2.0))
        like = proa.zeros([4, 2]) + w
        loss = (functional.recv(like, 0) * w).sum()
    proa.optimizer.SGD(0.1).minimize(loss)
executor = proa.static.Executor()
executor.run(startup)
for _ in range(2):
    executor.run(main, feed={"x": np.ones([4, 3], "float32")}, fetch_list=[loss])
name = main.all_parameters()[0].name
print(np.asarray(main.state_dict()[name]).ravel().tolist())
""",
        2,
    )
    # One process: w0 = 0.5, b = 0, w1 = 2; h = 3 w0 + b, loss = 4 * sum(h w1).
    w0, b, w1 = 0.5, 0.0, 2.0
    for _ in range(2):
        h = 3 * w0 + b
        w0, b, w1 = w0 - 0.1 * 4 * w1, b - 0.1 * 4 * w1, w1 - 0.1 * 4 * h
    np.testing.assert_allclose(eval(outputs[0]), [w0] * 6, rtol=1e-5)
    np.testing.assert_allclose(eval(outputs[1]), [w1] * 2, rtol=1e-5)


def test_what_was_sent_last_arrives():
    """Nobody waits for a message; a process that ends has sent it all the same."""
    outputs = ranks.run(
        """
from proa.distributed import functional
dist.init_parallel_env()
if dist.get_rank() == 0:
    functional.send(proa.ones([4 << 20]), 1)
else:
    time.sleep(0.5)
    print(functional.recv(proa.zeros([4 << 20]), 0).sum().item())
""",
        2,
    )
    assert outputs == ["", f"{float(4 << 20)}\n"]
