"""Optimizers against their formulas in NumPy float64."""

import numpy as np
import pytest

import proa
from proa import nn, optimizer

random = np.random.default_rng(3)
START = random.normal(size=(3, 4))
GRADS = random.normal(size=(6, 3, 4))


def run(make, dtype="float64", grads=GRADS, start=START):
    """The parameter after a step with each gradient."""
    p = proa.create_parameter(list(start.shape), dtype, default_initializer=nn.initializer.Assign(start.astype(dtype)))
    opt = make([p])
    for g in grads:
        (p * proa.to_tensor(g.astype(dtype))).sum().backward()
        opt.step()
        opt.clear_grad()
    return p.numpy().astype("float64")


def sgd(p, lr=0.1, l2=0.0):
    for g in GRADS:
        p = p - lr * (g + l2 * p)
    return p


def momentum(p, lr=0.1, mu=0.9, nesterov=False, l2=0.0):
    v = np.zeros_like(p)
    for g in GRADS:
        g = g + l2 * p
        v = mu * v + g
        p = p - lr * (g + mu * v if nesterov else v)
    return p


def adam(p, lr=0.1, b1=0.8, b2=0.99, eps=1e-3, l2=0.0, decay=0.0):
    m = v = np.zeros_like(p)
    for t, g in enumerate(GRADS, 1):
        p = p * (1 - lr * decay)
        g = g + l2 * p
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        # The powers are kept in float32.
        c1, c2 = 1 - b1**t, np.sqrt(1 - b2**t)
        p = p - lr * c2 / c1 * m / (np.sqrt(v) + eps * c2)
    return p


def rmsprop(p, lr=0.1, rho=0.9, eps=1e-3, mu=0.5, centered=False):
    s = v = a = np.zeros_like(p)
    for g in GRADS:
        s = rho * s + (1 - rho) * g * g
        a = rho * a + (1 - rho) * g
        v = mu * v + lr * g / np.sqrt(s - (a * a if centered else 0) + eps)
        p = p - v
    return p


def adagrad(p, lr=0.1, eps=1e-3, first=0.5):
    m = np.full_like(p, first)
    for g in GRADS:
        m = m + g * g
        p = p - lr * g / (np.sqrt(m) + eps)
    return p


def adadelta(p, lr=0.5, eps=1e-3, rho=0.9):
    s = u = np.zeros_like(p)
    for g in GRADS:
        s = rho * s + (1 - rho) * g * g
        d = np.sqrt((u + eps) / (s + eps)) * g
        u = rho * u + (1 - rho) * d * d
        p = p - lr * d
    return p


def adamax(p, lr=0.1, b1=0.8, b2=0.99, eps=1e-3):
    m = u = np.zeros_like(p)
    for t, g in enumerate(GRADS, 1):
        m, u = b1 * m + (1 - b1) * g, np.maximum(np.abs(g), b2 * u + eps)
        p = p - lr / (1 - b1**t) * m / u
    return p


def lamb(p, lr=0.1, b1=0.8, b2=0.99, eps=1e-3, decay=0.1):
    m = v = np.zeros_like(p)
    for t, g in enumerate(GRADS, 1):
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        step = m / (1 - b1**t) / (np.sqrt(v / (1 - b2**t)) + eps) + decay * p
        p = p - lr * np.linalg.norm(p) / np.linalg.norm(step) * step
    return p


O = optimizer
CASES = {
    "sgd": (lambda ps: O.SGD(0.1, ps), sgd(START)),
    "sgd l2": (lambda ps: O.SGD(0.1, ps, weight_decay=0.3), sgd(START, l2=0.3)),
    "momentum": (lambda ps: O.Momentum(0.1, 0.9, ps), momentum(START)),
    "nesterov": (lambda ps: O.Momentum(0.1, 0.9, ps, True, 0.2), momentum(START, nesterov=True, l2=0.2)),
    "adam": (lambda ps: O.Adam(0.1, 0.8, 0.99, 1e-3, ps), adam(START)),
    "adam l2": (lambda ps: O.Adam(0.1, 0.8, 0.99, 1e-3, ps, proa.regularizer.L2Decay(0.2)), adam(START, l2=0.2)),
    "adamw": (lambda ps: O.AdamW(0.1, 0.8, 0.99, 1e-3, ps, 0.2), adam(START, decay=0.2)),
    "rmsprop": (lambda ps: O.RMSProp(0.1, 0.9, 1e-3, 0.5, parameters=ps), rmsprop(START)),
    "centered": (lambda ps: O.RMSProp(0.1, 0.9, 1e-3, 0.5, True, ps), rmsprop(START, centered=True)),
    "adagrad": (lambda ps: O.Adagrad(0.1, 1e-3, ps, initial_accumulator_value=0.5), adagrad(START)),
    "adadelta": (lambda ps: O.Adadelta(0.5, 1e-3, 0.9, ps, weight_decay=None), adadelta(START)),
    "adamax": (lambda ps: O.Adamax(0.1, 0.8, 0.99, 1e-3, ps), adamax(START)),
    "lamb": (lambda ps: O.Lamb(0.1, 0.1, 0.8, 0.99, 1e-3, ps), lamb(START)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_formula(name, dtype):
    make, expected = CASES[name]
    np.testing.assert_allclose(run(make, dtype), expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", ["sgd", "nesterov", "adam", "adamw"])
@pytest.mark.parametrize("dtype, tolerance", [("float16", 2e-2), ("bfloat16", 1e-1)])
def test_half_precision(name, dtype, tolerance):
    make, expected = CASES[name]
    p = proa.create_parameter([3, 4], "float32", default_initializer=nn.initializer.Assign(START.astype("float32")))
    p = proa.framework.Parameter(p.detach().astype(dtype))
    opt = make([p])
    for g in GRADS:
        p.grad = proa.to_tensor(g).astype(dtype)
        opt.step()
    np.testing.assert_allclose(p.astype("float32").numpy(), expected, atol=tolerance)


@pytest.mark.parametrize("size", [0, 1, 7, 100_003])
def test_sizes(size):
    start, grads = random.normal(size=size), random.normal(size=(2, size))
    p = start
    for g in grads:
        p = p - 0.1 * g
    np.testing.assert_allclose(run(lambda ps: O.SGD(0.1, ps), "float64", grads, start), p, atol=1e-12)


def test_l1():
    p = START.copy()
    for g in GRADS:
        p = p - 0.1 * (g + 0.3 * np.sign(p))
    decay = proa.regularizer.L1Decay(0.3)
    np.testing.assert_allclose(run(lambda ps: O.SGD(0.1, ps, weight_decay=decay)), p)


def parameters(*values, **attrs):
    made = []
    for v in values:
        attr = proa.ParamAttr(initializer=nn.initializer.Constant(v), **attrs)
        made.append(proa.create_parameter([2], "float32", attr=attr))
    return made


def backward(params, scale=1.0):
    sum((p.sum() * scale for p in params[1:]), params[0].sum() * scale).backward()


def test_settings_of_parameters():
    (slow,) = parameters(1.0, learning_rate=0.5)
    (own,) = parameters(1.0, regularizer=proa.regularizer.L2Decay(1.0))
    (plain,) = parameters(1.0)
    opt = O.SGD(0.1, [slow, own, plain], weight_decay=0.5)
    backward([slow, own, plain])
    opt.step()
    assert slow[0].item() == pytest.approx(1 - 0.05 * 1.5)
    assert own[0].item() == pytest.approx(1 - 0.1 * 2.0)
    assert plain[0].item() == pytest.approx(1 - 0.1 * 1.5)


def test_groups():
    a, b = parameters(1.0, 1.0)
    opt = O.Momentum(0.1, 0.0, [{"params": [a], "learning_rate": 0.5}, {"params": b, "weight_decay": 1.0}])
    backward([a, b])
    opt.step()
    assert a[0].item() == pytest.approx(0.95) and b[0].item() == pytest.approx(0.8)
    with pytest.raises(ValueError, match="in more than one group"):
        O.SGD(0.1, [{"params": [a]}, {"params": [a]}])


def test_a_parameter_given_twice():
    """A shared layer's, from two lists: a warning, and one step of it."""
    a, b = parameters(1.0, 1.0)
    with pytest.warns(UserWarning, match=f"Adam: parameter {a.name} is given more than once") as warned:
        twice = O.Adam(0.1, parameters=[a, b, a])
    assert warned[0].filename == __file__
    once = O.Adam(0.1, parameters=[b])
    for _ in range(3):
        backward([a])
        twice.step()
        twice.clear_grad()
        backward([b])
        once.step()
        once.clear_grad()
    assert a.tolist() == b.tolist() and len(twice._parameter_list) == 2


@pytest.mark.parametrize("retain_graph", [False, True])
def test_backward_of_an_optimizer(retain_graph):
    """Runs backward, but not behind `loss.backward()`: a second one would raise, or count twice."""
    a, b = parameters(1.0, 1.0)
    opt = O.SGD(0.1, [a, b])
    loss = (a * 3.0).sum()
    loss.backward(retain_graph=retain_graph)
    ((p, grad),) = opt.backward(loss)
    assert p is a and grad.tolist() == [3.0, 3.0]
    opt.apply_gradients([(p, grad)])
    assert a[0].item() == pytest.approx(0.7)
    opt.clear_grad()
    for turn in range(1, 3):  # without it: adds up, as backward does
        assert opt.backward((a * b).sum())[1][1].tolist() == pytest.approx([0.7 * turn] * 2)
    plain = a + b  # saves nothing, so that a second backward would pass
    opt.clear_grad()
    other, total = plain.sum(), plain.sum()
    total.backward()
    assert [g.tolist() for _, g in opt.backward(total)] == [[1.0, 1.0]] * 2
    assert [g.tolist() for _, g in opt.backward(other)] == [[2.0, 2.0]] * 2
    assert [g.tolist() for _, g in opt.backward(total, parameters=[b])] == [[2.0, 2.0]]
    with pytest.raises(TypeError, match="loss must be a Tensor, not float"):
        opt.backward(1.0)


@pytest.mark.parametrize("kind", [O.Adam, O.AdamW, O.Adamax, O.Lamb])
def test_betas_that_are_tensors(kind):
    a, b = parameters(1.0, 1.0)
    beta = proa.to_tensor(0.7)
    opts = (
        kind(0.1, beta1=beta, beta2=proa.to_tensor([0.8]), parameters=[a]),
        kind(0.1, beta1=beta.item(), beta2=proa.to_tensor(0.8).item(), parameters=[b]),
    )
    beta.fill_(0.1)  # read when the optimizer was made
    for scale in (1.0, 3.0):
        for p, opt in zip((a, b), opts):
            (p * scale).sum().backward()
            opt.step()
            opt.clear_grad()
    assert a.tolist() == b.tolist()
    with pytest.raises(ValueError, match="beta1 must be in"):
        kind(0.1, beta1=proa.to_tensor(1.5), parameters=[a])


def test_missing_and_frozen_gradients():
    a, b, c = parameters(1.0, 1.0, 1.0)
    c.stop_gradient = True
    opt = O.Momentum(0.1, 0.9, [a, b, c])
    backward([a])
    opt.step()
    assert a[0].item() == pytest.approx(0.9) and b[0].item() == 1.0
    opt.clear_grad()
    c.stop_gradient = False
    backward([b, c])
    opt.step()
    assert b[0].item() == pytest.approx(0.9) and c[0].item() == pytest.approx(0.9)


def test_clear_grad():
    (a,) = parameters(1.0)
    opt = O.SGD(0.1, [a])
    for set_to_zero in (True, False):
        backward([a])
        opt.clear_grad(set_to_zero)
        backward([a])
        assert a.grad.tolist() == [1.0, 1.0]
        opt.clear_grad()


def test_learning_rate():
    (a,) = parameters(1.0)
    opt = O.SGD(0.1, [a])
    opt.set_lr(0.5)
    assert opt.get_lr() == 0.5
    backward([a])
    opt.step()
    assert a[0].item() == pytest.approx(0.5)
    schedule = O.lr.StepDecay(0.2, 1, 0.5)
    opt = O.SGD(schedule, [a])
    with pytest.raises(RuntimeError, match="schedule"):
        opt.set_lr(0.1)
    opt.step()
    assert a[0].item() == pytest.approx(0.3)
    schedule.step()
    opt.step()
    assert a[0].item() == pytest.approx(0.2)


@pytest.mark.parametrize("name", [n for n in CASES if n != "sgd" and n != "sgd l2"])
def test_state_resumes(name):
    make, expected = CASES[name]
    init = nn.initializer.Assign(START)
    p = proa.create_parameter([3, 4], "float64", default_initializer=init)
    opt = make([p])
    for i, g in enumerate(GRADS):
        if i == 3:
            state = {k: v.numpy() for k, v in opt.state_dict().items()}
            assert all(key.startswith(p.name) for key in state)
            opt = make([p])
            opt.set_state_dict(state)
        p.grad = proa.to_tensor(g)
        opt.step()
    np.testing.assert_allclose(p.numpy(), expected, rtol=2e-5, atol=2e-5)


def test_state_names_and_files(tmp_path):
    with proa.utils.unique_name.guard():
        layer = nn.Linear(2, 2)
    opt = O.Adam(O.lr.ExponentialDecay(0.1, 0.9), parameters=layer.parameters())
    layer(proa.ones([1, 2])).sum().backward()
    opt.step()
    opt._learning_rate.step()
    assert set(opt.state_dict()) == {"LR_Scheduler"} | {
        f"linear_0.{p}_{a}_0" for p in ("w_0", "b_0") for a in ("moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc")
    }
    path = str(tmp_path / "x.pdopt")
    proa.save(opt.state_dict(), path)
    other = O.Adam(O.lr.ExponentialDecay(0.1, 0.9), parameters=layer.parameters())
    other.set_state_dict(proa.load(path))
    assert other.get_lr() == pytest.approx(0.09)
    with pytest.raises(ValueError, match="moment1_0 is"):
        opt.set_state_dict({"linear_0.w_0_moment1_0": np.zeros(3, "float32")})


def test_adamw_options():
    a, b = parameters(1.0, 1.0)
    opt = O.AdamW(
        0.1,
        parameters=[a, b],
        weight_decay=0.5,
        apply_decay_param_fun=lambda name: name == a.name,
        lr_ratio=lambda p: 0.0 if p is b else 1.0,
    )
    backward([a, b])
    opt.step()
    assert a[0].item() == pytest.approx(1 - 0.05 - 0.1, abs=1e-5) and b[0].item() == 1.0


@pytest.mark.parametrize(
    "clip, expected",
    [
        (nn.ClipGradByValue(0.5), (0.5, -0.5, 2.0)),
        (nn.ClipGradByValue(0.5, -0.1), (0.5, -0.1, 2.0)),
        (nn.ClipGradByNorm(1.0), (2**-0.5, -(2**-0.5), 2.0)),
        (nn.ClipGradByGlobalNorm(1.0), (0.5, -0.5, 2.0)),
        (nn.ClipGradByGlobalNorm(100.0), (2.0, -2.0, 2.0)),
    ],
)
def test_clipping(clip, expected):
    a, b = parameters(0.0, 0.0)
    (c,) = parameters(0.0, need_clip=False)
    opt = O.SGD(1.0, [a, b, c], grad_clip=clip)
    (a.sum() * 2.0 - b.sum() * 2.0 + c.sum() * 2.0).backward()
    opt.step()
    assert (-a[0].item(), -b[0].item(), -c[0].item()) == pytest.approx(expected)


def test_minimize_and_apply():
    a, b = parameters(1.0, 1.0)
    opt = O.SGD(0.1, [a, b])
    loss = a.sum() + b.sum()
    loss.backward()
    _, pairs = opt.minimize(loss, parameters=[a])
    assert len(pairs) == 1 and a[0].item() == pytest.approx(0.9) and b[0].item() == 1.0
    opt.apply_gradients([(b, proa.ones([2]))])
    assert b[0].item() == pytest.approx(0.9)


def test_own_optimizer():
    class Sign(O.Optimizer):
        def _create_accumulators(self, block, parameters):
            for p in parameters:
                self._add_accumulator("count", p, fill_value=0.0, shape=[1])

        def _append_optimize_op(self, block, param_and_grad):
            p, g = param_and_grad
            count = self._get_accumulator("count", p)
            count.set_value(count + 1.0)
            p.set_value(p - g.sign() * self._create_param_lr(param_and_grad))

    a, b = parameters(1.0, 2.0)
    opt = Sign(0.5, parameters=[a, b])
    backward([a, b], 3.0)
    opt.step()
    assert a.tolist() == [0.5, 0.5] and b.tolist() == [1.5, 1.5]
    assert opt.state_dict()[f"{a.name}_count_0"].item() == 1.0


@pytest.mark.parametrize(
    "make, error, says",
    [
        (lambda p: O.SGD("fast", [p]), TypeError, "learning_rate"),
        (lambda p: O.SGD(0.1), ValueError, "parameters is missing"),
        (lambda p: O.SGD(0.1, p), TypeError, "list of parameters"),
        (lambda p: O.SGD(0.1, [3]), TypeError, "must be tensors"),
        (lambda p: O.SGD(0.1, [p], weight_decay="big"), TypeError, "weight_decay"),
        (lambda p: O.SGD(0.1, [p], grad_clip=3.0), TypeError, "grad_clip"),
        (lambda p: O.Adam(0.1, beta1=1.0, parameters=[p]), ValueError, "beta1"),
        (lambda p: O.AdamW(0.1, parameters=[p], weight_decay="x"), TypeError, "weight_decay"),
        (lambda p: O.RMSProp(0.1, rho=-1.0, parameters=[p]), ValueError, "rho"),
    ],
)
def test_bad_arguments(make, error, says):
    (p,) = parameters(1.0)
    with pytest.raises(error, match=says):
        make(p)


def test_fused_ops_check_their_lists():
    ops, x, y = proa._C.ops, proa.ones([2]), proa.ones([3])
    lr = proa.to_tensor(0.1, dtype="float64")
    for call, says in (
        (lambda: ops.sgd_([x, x], [x], lr), "params has 2 tensors but grads has 1"),
        (lambda: ops.sgd_([x], [y], lr), r"grads\[0\] is \[3\] float32, but params\[0\] is \[2\] float32"),
        (lambda: ops.sgd_([x], [x.astype("float64")], lr), "float64"),
        (lambda: ops.sgd_([x], [x], proa.ones([2])), "lr must have one element"),
        (lambda: ops.momentum_([x], [x], [y], lr, 0.9), r"velocities\[0\]"),
        (
            lambda: ops.adam_([x], [x], [x], [x], [x], [proa.ones([1])], lr, 0.9, 0.9, 1e-8),
            r"beta1_pows\[0\] must be one",
        ),
        (lambda: ops.sgd_([proa.ones([2, 2]).T], [proa.ones([2, 2])], lr), "contiguous"),
    ):
        with pytest.raises(ValueError, match=says):
            call()
    ops.sgd_([], [], lr)
    leaf = proa.create_parameter([2], "float32")
    with pytest.raises(RuntimeError):
        ops.sgd_([leaf], [x], lr)  # outside of no_grad


def test_one_thread_or_many_same_bits():
    size = 200_001
    start, grads = random.normal(size=size), random.normal(size=(2, size))
    out = []
    threads = proa._C.get_num_threads()
    try:
        for n in (1, 2, 3):
            proa._C.set_num_threads(n)
            out.append(run(lambda ps: O.AdamW(0.1, parameters=ps), "float32", grads, start))
    finally:
        proa._C.set_num_threads(threads)
    assert np.array_equal(out[0], out[1]) and np.array_equal(out[0], out[2])


@pytest.mark.parametrize("regularizer", [proa.regularizer.L2Decay(0.1), proa.regularizer.L1Decay(0.1)])
@pytest.mark.parametrize("clip", [None, proa.nn.ClipGradByGlobalNorm(0.01)])
def test_adamw_adds_what_a_parameter_asks_for_to_its_decay(regularizer, clip):
    """The regularizer of a ParamAttr comes besides the decay of AdamW, after clipping, as in PaddlePaddle."""
    attr = proa.ParamAttr(regularizer=regularizer, initializer=proa.nn.initializer.Constant(1.0))
    p = proa.create_parameter([2], "float32", attr=attr)
    adamw = proa.optimizer.AdamW(0.1, parameters=[p], weight_decay=0.1, grad_clip=clip)
    expected, m, v = np.ones(2), np.zeros(2), np.zeros(2)
    for step in range(1, 4):
        slope = np.array([0.1 * step - 0.15, -0.05])
        (p * proa.to_tensor(slope.astype("float32"))).sum().backward()
        adamw.step()
        adamw.clear_grad()
        if clip is not None:
            slope = slope * min(1, 0.01 / np.linalg.norm(slope))
        g = slope + 0.1 * (np.sign(expected) if isinstance(regularizer, proa.regularizer.L1Decay) else expected)
        expected = expected * (1 - 0.1 * 0.1)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        rate = 0.1 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        expected = expected - rate * m / (np.sqrt(v) + 1e-8 * np.sqrt(1 - 0.999**step))
    np.testing.assert_allclose(p.numpy(), expected, rtol=1e-4)


@pytest.mark.parametrize("kind", [O.Adam, O.AdamW, O.Adamax, O.Lamb])
def test_a_group_with_its_own_betas_steps_as_an_optimizer_with_them(kind):
    def trained(make):
        p = parameters(1.0)[0]
        opt = make(p)
        for _ in range(3):
            p.clear_grad()
            (p * p).sum().backward()
            opt.step()
        return p.numpy()

    own = trained(lambda p: kind(0.1, beta1=0.5, beta2=0.6, parameters=[p]))
    in_group = trained(lambda p: kind(0.1, parameters=[{"params": [p], "beta1": 0.5, "beta2": 0.6}]))
    np.testing.assert_array_equal(in_group, own)


def test_groups_are_clipped_by_themselves():
    clip = proa.nn.ClipGradByGlobalNorm(1.0)
    a, b, c, d = parameters(1.0, 1.0, 1.0, 1.0)
    opt = O.SGD(
        1.0,
        [
            {"params": [a, b]},
            {"params": [c], "grad_clip": proa.nn.ClipGradByValue(0.25)},
            {"params": [d], "grad_clip": None},
        ],
        grad_clip=clip,
    )
    (3.0 * a.sum() + 4.0 * b.sum() + 5.0 * c.sum() + 6.0 * d.sum()).backward()
    opt.step()
    norm = np.sqrt(9.0 * a.size + 16.0 * b.size)
    np.testing.assert_allclose(a.numpy(), 1 - 3 / norm, rtol=1e-6)
    np.testing.assert_allclose(b.numpy(), 1 - 4 / norm, rtol=1e-6)
    np.testing.assert_allclose(c.numpy(), 0.75, rtol=1e-6)
    np.testing.assert_allclose(d.numpy(), -5.0, rtol=1e-6)
    with pytest.raises(TypeError, match="grad_clip must be a ClipGradBy"):
        O.SGD(0.1, [{"params": [a], "grad_clip": 1.0}])


@pytest.mark.parametrize("kind", [O.Adam, O.AdamW, O.Adamax, O.Lamb])
def test_float64_parameters_step_exactly(kind):
    """Powers of betas in float32 made steps wrong by a few millionths."""
    b1, b2, eps, rate = 0.9, 0.999, 1e-8, 0.1
    x = np.random.RandomState(0).rand(5) + 0.5
    p = proa.to_tensor(x, stop_gradient=False)
    decay = {"lamb_weight_decay": 0.0} if kind is O.Lamb else {"weight_decay": 0.0}
    opt = kind(rate, beta1=b1, beta2=b2, epsilon=eps, parameters=[p], **decay)
    m, v = np.zeros(5), np.zeros(5)
    for t in range(1, 6):
        p.clear_grad()
        (p * p * p).sum().backward()
        opt.step()
        if t == 2:  # a state that was saved goes on as exactly
            loaded = kind(rate, beta1=b1, beta2=b2, epsilon=eps, parameters=[p], **decay)
            loaded.set_state_dict({name: s.numpy() for name, s in opt.state_dict().items()})
            opt = loaded
        g = 3 * x * x
        m = b1 * m + (1 - b1) * g
        v = np.maximum(np.abs(g), b2 * v + eps) if kind is O.Adamax else b2 * v + (1 - b2) * g * g
        first = m / (1 - b1**t)
        step = first / v if kind is O.Adamax else first / (np.sqrt(v / (1 - b2**t)) + eps)
        if kind is O.Lamb:
            step *= np.linalg.norm(x) / np.linalg.norm(step)
        x = x - rate * step
        np.testing.assert_allclose(p.numpy(), x, rtol=1e-13)


def test_what_a_group_says_goes_before_what_a_parameter_says():
    attr = proa.ParamAttr(
        learning_rate=0.5, regularizer=proa.regularizer.L1Decay(0.1), initializer=nn.initializer.Constant(0.5)
    )

    def stepped(group):
        layer = nn.Linear(1, 1, weight_attr=attr, bias_attr=False)
        layer(proa.ones([1, 1])).sum().backward()
        O.SGD(0.1, [{"params": layer.parameters(), **group}]).step()
        return layer.weight.item()

    assert stepped({}) == pytest.approx(0.5 - 0.1 * 0.5 * (1 + 0.1))
    assert stepped({"learning_rate": 0.1}) == pytest.approx(0.5 - 0.1 * 0.1 * (1 + 0.1))
    assert stepped({"weight_decay": 0.3}) == pytest.approx(0.5 - 0.1 * 0.5 * (1 + 0.3 * 0.5))


@pytest.mark.parametrize("kind", ["Adam", "AdamW", "Adamax", "Adagrad", "RMSProp", "Adadelta"])
def test_a_negative_epsilon(kind):
    with pytest.raises(ValueError, match=f"{kind}: epsilon must not be negative"):
        getattr(proa.optimizer, kind)(0.1, epsilon=-1e-8, parameters=proa.nn.Linear(1, 1).parameters())


def test_a_clip_that_a_program_defines_by_the_name_of_the_reference():
    class Half(nn.ClipGradByGlobalNorm):
        def _dygraph_clip(self, params_grads):
            return [(p, g * 0.5) for p, g in super()._dygraph_clip(params_grads)]

    class Whole(type(nn.ClipGradByValue(1.0)).__base__):
        def _dygraph_clip(self, params_grads):
            return [(p, g.sign()) for p, g in params_grads]

    a, b = parameters(1.0, 1.0)
    (3.0 * a.sum()).backward()
    O.SGD(1.0, [a], grad_clip=Half(1.0)).step()
    np.testing.assert_allclose(a.numpy(), 1 - 0.5 / np.sqrt(a.size), rtol=1e-6)
    (3.0 * b.sum()).backward()
    O.SGD(1.0, [b], grad_clip=Whole()).step()
    np.testing.assert_allclose(b.numpy(), 0.0, atol=1e-7)
