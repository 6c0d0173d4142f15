"""Optimizers around others against their definitions, and minimizers against known minima."""

import numpy as np
import pytest

import proa
from proa.incubate import LookAhead, ModelAverage
from proa.incubate.optimizer import functional as F


def net_and_sgd(start=1.0, rate=0.1):
    net = proa.nn.Linear(2, 1)
    for p in net.parameters():
        p.set_value(proa.full_like(p, start))
    return net, proa.optimizer.SGD(rate, parameters=net.parameters())


def descend(net, *steps):
    net(proa.ones([3, 2])).mean().backward()
    for step in steps:
        step()
    net.clear_gradients()


def test_lookahead():
    """Each step of SGD goes down by 0.1; slow ones start after the first, and follow half of the way each third step."""
    net, sgd = net_and_sgd()
    ahead = LookAhead(sgd, alpha=0.5, k=3)
    fast, slow = 1.0, None
    for i in range(1, 8):
        descend(net, ahead.step)
        fast -= 0.1
        slow = fast if i == 1 else slow
        if i % 3 == 0:
            slow = fast = 0.5 * fast + 0.5 * slow
        np.testing.assert_allclose(net.weight.numpy(), fast, rtol=1e-5)
    other = LookAhead(sgd, alpha=0.5, k=3)
    other.set_state_dict({k: v if isinstance(v, int) else v.numpy() for k, v in ahead.state_dict().items()})
    for _ in range(2):
        descend(net, other.step)
        fast -= 0.1
    np.testing.assert_allclose(net.weight.numpy(), 0.5 * fast + 0.5 * slow, rtol=1e-5)
    loss = net(proa.ones([3, 2])).mean()
    loss.backward()
    assert len(other.minimize(loss)[1]) == 2


def test_model_average():
    net, sgd = net_and_sgd()
    average = ModelAverage(0.5, net.parameters(), min_average_window=2, max_average_window=3)
    seen, old = [], []
    for i in range(1, 12):
        descend(net, sgd.step, average.step)
        seen.append(net.weight.numpy().copy())
        if len(seen) >= 2 and len(seen) >= min(3, i * 0.5):
            old, seen = seen, []
        before = net.weight.numpy()
        with average.apply():
            np.testing.assert_allclose(net.weight.numpy(), np.mean(old + seen, 0), rtol=1e-5)
        assert (net.weight.numpy() == before).all()
    with average.apply(need_restore=False):
        pass
    assert (net.weight.numpy() != before).all()
    average.restore()
    assert (net.weight.numpy() == before).all()
    with pytest.raises(KeyError), average.apply():
        raise KeyError
    assert (net.weight.numpy() == before).all()
    fresh = ModelAverage(0.5, net.parameters())
    with fresh.apply():  # nothing was added up
        assert (net.weight.numpy() == before).all()


def rosenbrock(x):
    return ((1.0 - x[:-1]) ** 2 + 100.0 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11.0) ** 2 + (x[0] + x[1] ** 2 - 7.0) ** 2


_SKEW = np.array([[3.0, 1.0, 0.0], [1.0, 200.0, 2.0], [0.0, 2.0, 1.0]])


@pytest.mark.parametrize("minimize", [F.minimize_bfgs, F.minimize_lbfgs])
def test_minima(minimize):
    a, b = proa.to_tensor(_SKEW), proa.to_tensor([1.0, 2.0, -3.0], dtype="float64")
    for function, start, expected, value in (
        (rosenbrock, [-1.2, 1.0], [1.0, 1.0], 0.0),
        (rosenbrock, [-1.0, 2.0, 0.5, 1.0], [1.0] * 4, 0.0),
        (himmelblau, [3.5, 1.5], [3.0, 2.0], 0.0),
        (lambda x: 0.5 * (x * a.matmul(x)).sum() - (b * x).sum(), [0.0] * 3, np.linalg.solve(_SKEW, b.numpy()), None),
        (lambda x: (x**4 - 2.0 * x).sum(), [2.0], [0.5 ** (1 / 3)], None),
    ):
        found = minimize(function, proa.to_tensor(start, dtype="float64"), dtype="float64", max_iters=200)
        assert found[0].item() is True and found[1].item() < 300, (function, found[:2])
        np.testing.assert_allclose(found[2].numpy(), expected, atol=1e-6)
        assert abs(found[4].numpy()).max() < 1e-6 and (value is None or abs(found[3].item() - value) < 1e-10)


def test_inverse_hessian():
    """Of a quadratic function BFGS learns it exactly, in as many steps as there are dims."""
    a = proa.to_tensor(_SKEW)
    found = F.minimize_bfgs(lambda x: 0.5 * (x * a.matmul(x)).sum(), proa.to_tensor([1.0, 1.0, 1.0], dtype="float64"),
                            dtype="float64")  # fmt: skip
    inverse = found[5].numpy()
    np.testing.assert_allclose(inverse, inverse.T, atol=1e-12)
    np.testing.assert_allclose(inverse @ _SKEW, np.eye(3), atol=0.05)
    start = proa.to_tensor(np.linalg.inv(_SKEW))
    for minimize in (F.minimize_bfgs, F.minimize_lbfgs):
        known = minimize(lambda x: 0.5 * (x * a.matmul(x)).sum(), proa.to_tensor([1.0, 1.0, 1.0], dtype="float64"),
                         initial_inverse_hessian_estimate=start, dtype="float64")  # fmt: skip
        assert known[0].item() and known[1].item() <= 4


def test_what_has_no_minimum():
    found = F.minimize_bfgs(lambda x: x.sum(), proa.zeros([2]), max_iters=5)
    assert found[0].item() is False and found[3].item() < 0
    for function in (lambda x: (x * float("nan")).sum(), lambda x: -(x * x).sum()):
        converged, calls, *_ = F.minimize_lbfgs(function, proa.ones([2]), max_iters=3, max_line_search_iters=5)
        assert not converged.item() and calls.item() <= 16
    assert F.minimize_bfgs(lambda x: (x * x).sum(), proa.zeros([2]))[0].item()  # there already


@pytest.mark.parametrize("minimize", [F.minimize_bfgs, F.minimize_lbfgs])
@pytest.mark.parametrize("given", ["float16", "bfloat16", "float64", "int32"])
def test_a_start_of_another_dtype(minimize, given):
    """Not rounded without a word; nor is the estimate."""
    with pytest.raises(ValueError, match=f"initial_position is {given}, but dtype says float32"):
        minimize(lambda x: (x * x).sum(), proa.ones([2]).astype(given))
    with pytest.raises(ValueError, match=f"initial_inverse_hessian_estimate is {given}, but dtype says float32"):
        minimize(lambda x: (x * x).sum(), proa.ones([2]), initial_inverse_hessian_estimate=proa.eye(2).astype(given))


def test_bad_input():
    net, sgd = net_and_sgd()
    x, f = proa.zeros([2]), (lambda x: x.sum())
    for call, kind, says in (
        (lambda: LookAhead(None), TypeError, "inner_optimizer must be an Optimizer, not NoneType"),
        (lambda: LookAhead(sgd, alpha=1.5), ValueError, "alpha must be from 0 to 1"),
        (lambda: LookAhead(sgd, k=0), ValueError, "k must be a positive int"),
        (lambda: ModelAverage(0.1), ValueError, "parameters is missing"),
        (lambda: F.minimize_bfgs(f, [0.0]), TypeError, "initial_position must be a Tensor, not list"),
        (lambda: F.minimize_bfgs(f, proa.zeros([2, 2])), ValueError, "must have one dim"),
        (lambda: F.minimize_bfgs(f, x, dtype="int32"), ValueError, "dtype must be"),
        (lambda: F.minimize_lbfgs(f, x, line_search_fn="other"), NotImplementedError, "line_search_fn must be"),
        (lambda: F.minimize_lbfgs(f, x, history_size=0), ValueError, "history_size must be"),
        (lambda: F.minimize_bfgs(f, x, initial_inverse_hessian_estimate=proa.to_tensor([[1.0, 2.0], [0.0, 1.0]])),
         ValueError, "must be symmetric"),
        (lambda: F.minimize_bfgs(f, x, initial_inverse_hessian_estimate=-proa.eye(2)), ValueError, "positive definite"),
    ):  # fmt: skip
        with pytest.raises(kind, match=says):
            call()
    proa.enable_static()
    try:
        with pytest.raises(NotImplementedError, match="eager mode"):
            LookAhead(sgd)
    finally:
        proa.disable_static()


def test_fused_lamb_of_one_worker_is_lamb():
    weights = []
    for kind in (proa.optimizer.Lamb, proa.incubate.optimizer.DistributedFusedLamb):
        net, _ = net_and_sgd()
        lamb = kind(0.1, 0.02, parameters=net.parameters(), exclude_from_weight_decay_fn=lambda p: p.shape == [1])
        for _ in range(3):
            descend(net, lamb.step)
        weights.append([p.numpy() for p in net.parameters()])
    assert all(np.array_equal(a, b) for a, b in zip(*weights)) and not np.array_equal(weights[0][0], np.ones([2, 1]))
    with pytest.raises(NotImplementedError, match="gradient_accumulation_steps must be 1, not 4"):
        proa.incubate.optimizer.DistributedFusedLamb(parameters=net.parameters(), gradient_accumulation_steps=4)


@pytest.mark.parametrize("objective", [lambda x: 3.0, lambda x: x * x])
def test_an_objective_that_gives_no_number_is_named(objective):
    minimize = proa.incubate.optimizer.functional.minimize_lbfgs
    with pytest.raises(TypeError, match="minimize_lbfgs: objective_func must be a function that gives a Tensor of one"):
        minimize(objective, proa.to_tensor([0.0, 1.0]))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("wrapped", [False, True])
def test_look_ahead_of_16_bit_parameters_moves_their_float32_copies(dtype, wrapped):
    """`decorate` of the optimizer or of what wraps it: slow parameters are of the copies, as those of float32 training."""
    found = []
    for level in ("O1", "O2"):
        net = proa.nn.Linear(4, 3)
        start = np.linspace(-1, 1, 12).reshape(4, 3).astype("float32")
        net.weight.set_value(proa.to_tensor(start).astype(dtype).astype("float32"))
        sgd = proa.optimizer.SGD(1e-3, parameters=net.parameters())
        ahead = LookAhead(sgd, alpha=0.5, k=2)
        if level == "O2":
            proa.amp.decorate(net, ahead if wrapped else sgd, level="O2", dtype=dtype)
            if not wrapped:
                ahead = LookAhead(sgd, alpha=0.5, k=2)
        for _ in range(6):
            for p in net.parameters():
                p.grad = proa.ones(p.shape, p.dtype)
            ahead.step()
        exact = sgd._master_weights.get(net.weight.name, net.weight)
        assert exact.dtype == proa.float32
        assert net.weight.dtype == (proa.float32 if level == "O1" else getattr(proa, dtype))
        np.testing.assert_array_equal(
            net.weight.astype("float32").numpy(), exact.astype(net.weight.dtype).astype("float32").numpy()
        )
        found.append(exact.numpy())
    np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-7)
    assert (found[0] != start).all()


def test_the_mean_of_16_bit_parameters_is_summed_in_float32():
    """A bfloat16 sum of ones stays at 256."""
    p = proa.create_parameter([2], "bfloat16")
    p.set_value(proa.ones([2], "bfloat16"))
    average = ModelAverage(0.15, parameters=[p], min_average_window=1000, max_average_window=1000)
    p.grad = proa.zeros([2], "bfloat16")
    for _ in range(600):
        average.step()
    with average.apply():
        assert p.dtype == proa.bfloat16 and p.astype("float32").numpy().tolist() == [1.0, 1.0]


@pytest.mark.parametrize("stopped", [1, 2, 3, 4])
def test_lookahead_goes_on_from_its_state(stopped):
    """With the inner optimizer's accumulators and schedule, which the state has too."""

    def started(values=None):
        with proa.utils.unique_name.guard():
            net = proa.nn.Linear(3, 2)
        schedule = proa.optimizer.lr.StepDecay(0.1, 2)
        ahead = LookAhead(proa.optimizer.Momentum(schedule, parameters=net.parameters()), alpha=0.5, k=3)
        net.set_state_dict(values or {"weight": np.ones([3, 2], "float32"), "bias": np.zeros([2], "float32")})
        return net, schedule, ahead

    def trained(net, schedule, ahead, steps):
        for _ in range(steps):
            net(proa.ones([4, 3])).square().mean().backward()
            ahead.step()
            ahead.clear_grad()
            schedule.step()
        return {name: value.numpy() for name, value in net.state_dict().items()}

    wanted = trained(*started(), 7)
    first = started()
    values = trained(*first, stopped)
    net, schedule, ahead = started(values)
    ahead.set_state_dict(first[2].state_dict())
    found = trained(net, schedule, ahead, 7 - stopped)
    for name, want in wanted.items():
        np.testing.assert_array_equal(found[name], want)
    # A state without the inner optimizer's, as it was once, is taken for the slow parameters alone.
    old = {k: v for k, v in ahead.state_dict().items() if "_slow_" in k or k == "lookahead_steps"}
    started(values)[2].set_state_dict(old)
