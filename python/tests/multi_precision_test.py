"""Every optimizer with float32 copies of 16-bit parameters: its updates, its state, checkpoints that change between the two."""

import inspect
import itertools

import numpy as np
import pytest

import proa as paddle

KINDS = sorted(
    name
    for name, kind in vars(paddle.optimizer).items()
    if inspect.isclass(kind) and issubclass(kind, paddle.optimizer.Optimizer) and kind is not paddle.optimizer.Optimizer
)
EVERY = pytest.mark.parametrize("name", KINDS)
BOTH = pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
START = np.linspace(-1, 1, 6).reshape(2, 3).astype("float32")


def _made(name, dtype, called, **options):
    """A parameter and its optimizer."""
    p = paddle.create_parameter([2, 3], dtype, name=called)
    p.set_value(paddle.to_tensor(START).astype(dtype))
    kind = getattr(paddle.optimizer, name)
    return p, kind(learning_rate=0.01, parameters=[p], multi_precision=dtype != "float32", **options)


def _step(p, optimizer, number, low):
    """A step with a gradient that is a 16-bit number in either dtype."""
    grad = paddle.to_tensor(np.cos(START + number) * 0.1).astype(low)
    p.grad = grad.astype(p.dtype)
    optimizer.step()


def test_there_are_all_of_them():
    assert len(KINDS) == 9


@EVERY
@BOTH
def test_updates_are_those_in_float32(name, dtype):
    clip = {} if name == "Lamb" else {"weight_decay": 0.01}
    clip["grad_clip"] = paddle.nn.ClipGradByGlobalNorm(0.1)
    p, optimizer = _made(name, dtype, f"multi_{name}_{dtype}", **clip)
    q, plain = _made(name, "float32", f"single_{name}_{dtype}", **clip)
    q.set_value(p.astype("float32"))
    for number in range(12):
        with paddle.amp.auto_cast(level="O2", dtype=dtype):  # a step is no business of autocast
            _step(p, optimizer, number, dtype)
        _step(q, plain, number, dtype)
    master = optimizer.state_dict()["master_weights"][p.name]
    # The clipped gradient is rounded to the dtype of the gradient.
    np.testing.assert_allclose(master.numpy(), q.numpy(), atol=2e-4 if dtype == "float16" else 2e-3)
    assert np.array_equal(p.astype("float32").numpy(), master.astype(dtype).astype("float32").numpy())
    assert all(t.dtype == paddle.float32 for n, t in optimizer.state_dict().items() if isinstance(t, paddle.Tensor))


@EVERY
def test_a_checkpoint_of_float32_goes_on_with_copies_and_back(name):
    called = f"checkpoint_{name}"
    q, plain = _made(name, "float32", called)
    for number in range(3):
        _step(q, plain, number, "bfloat16")
    weights, state = q.numpy(), {k: v.numpy() for k, v in plain.state_dict().items()}

    p, optimizer = _made(name, "bfloat16", called)
    p.set_value(paddle.to_tensor(weights).astype("bfloat16"))
    optimizer.set_state_dict(state)
    rounded, other = _made(name, "float32", called)
    rounded.set_value(p.astype("float32"))
    other.set_state_dict(state)
    for number in range(3, 6):
        _step(p, optimizer, number, "bfloat16")
        _step(rounded, other, number, "bfloat16")
    np.testing.assert_allclose(optimizer._master_weights[called].numpy(), rounded.numpy(), rtol=1e-5, atol=1e-7)

    # Back: parameters that are rounded master weights become them, and moments are found by their other names.
    back, last = _made(name, "float32", called)
    back.set_value(p.astype("float32"))
    last.set_state_dict(optimizer.state_dict())
    np.testing.assert_allclose(back.numpy(), rounded.numpy(), rtol=1e-5, atol=1e-7)
    _step(back, last, 6, "bfloat16")
    _step(rounded, other, 6, "bfloat16")
    np.testing.assert_allclose(back.numpy(), rounded.numpy(), rtol=1e-5, atol=1e-7)


@EVERY
def test_a_state_is_restored(name):
    called = f"restored_{name}"
    p, first = _made(name, "bfloat16", called)
    _step(p, first, 0, "bfloat16")
    q, second = _made(name, "bfloat16", called)
    q.set_value(p)
    state = first.state_dict()
    masters = {k: v.clone() for k, v in state.pop("master_weights").items()}
    second.set_state_dict({"master_weights": masters, **{k: v.clone() for k, v in state.items()}})
    _step(p, first, 1, "bfloat16")
    _step(q, second, 1, "bfloat16")
    masters = [o.state_dict()["master_weights"][called].numpy() for o in (first, second)]
    assert np.array_equal(*masters) and first.state_dict().keys() == second.state_dict().keys()


def test_parameters_that_are_loaded_go_before_their_copies():
    p, sgd = _made("SGD", "bfloat16", "loaded_under_copies")
    _step(p, sgd, 0, "bfloat16")
    p.set_value(paddle.full([2, 3], 4.0, "bfloat16"))
    p.grad = paddle.zeros([2, 3], "bfloat16")
    sgd.step()
    assert p.tolist() == [[4.0] * 3] * 2


def test_decorate_keeps_the_float32_values_as_copies():
    net = paddle.nn.Linear(3, 4)
    exact = net.weight.numpy().copy()
    adam = paddle.optimizer.Adam(0.0, parameters=net.parameters())
    net, adam = paddle.amp.decorate(net, adam, level="O2", dtype="bfloat16")
    net(paddle.ones([1, 3], "bfloat16")).sum().backward()
    adam.step()
    assert np.array_equal(adam.state_dict()["master_weights"][net.weight.name].numpy(), exact)


def test_the_functions_of_a_user_see_the_parameters_of_the_network():
    seen = []

    def decays(p):
        seen.append(getattr(p, "name", p))
        return False

    for kind, option in (("AdamW", "apply_decay_param_fun"), ("Lamb", "exclude_from_weight_decay_fn")):
        p, optimizer = _made(kind, "bfloat16", f"seen_{kind}", **{option: decays})
        _step(p, optimizer, 0, "bfloat16")
    assert set(seen) == {"seen_AdamW", "seen_Lamb"}


@pytest.mark.parametrize("name", ["Adamax", "Lamb", "RMSProp", "Adadelta", "Adam", "Momentum"])
def test_steps_that_a_program_records(name):
    """As at once, also where rate and powers move on."""
    x = np.linspace(-1, 1, 12).reshape(4, 3).astype("float32")
    results = []
    for recorded in (False, True):
        net = paddle.nn.Linear(3, 1, weight_attr=paddle.nn.initializer.Constant(0.5))
        rate = paddle.optimizer.lr.StepDecay(0.1, step_size=2)
        if not recorded:
            optimizer = getattr(paddle.optimizer, name)(rate, parameters=net.parameters())
            for _ in range(5):
                net(paddle.to_tensor(x)).square().mean().backward()
                optimizer.step()
                optimizer.clear_grad()
                rate.step()
        else:
            paddle.enable_static()
            try:
                main = paddle.static.Program()
                with paddle.static.program_guard(main, paddle.static.Program()):
                    loss = net(paddle.static.data("x", [None, 3])).square().mean()
                    getattr(paddle.optimizer, name)(rate).minimize(loss)
                for _ in range(5):
                    paddle.static.Executor().run(main, {"x": x})
                    rate.step()
            finally:
                paddle.disable_static()
        results.append(net.weight.numpy())
    np.testing.assert_allclose(*results, rtol=1e-5)


@EVERY
@BOTH
def test_a_recorded_step_is_one_op(name, dtype):
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main, paddle.static.Program()):
            p = paddle.create_parameter([3, 2], dtype)
            loss = paddle.matmul(paddle.static.data("x", [2, 3], dtype), p).astype("float32").sum()
            before = len(main.ops)
            pairs = paddle.static.append_backward(loss, [p])
            gradients = len(main.ops)
            getattr(paddle.optimizer, name)(learning_rate=0.1, parameters=[p], multi_precision=True).apply_gradients(
                pairs
            )
            assert before < gradients and [op.type for op in main.ops][gradients:] == [f"{name.lower()}_"]
    finally:
        paddle.disable_static()


_CLIPS = {
    "": None,
    "ClipGradByGlobalNorm": paddle.nn.ClipGradByGlobalNorm(0.5),
    "ClipGradByNorm": paddle.nn.ClipGradByNorm(0.5),
    "ClipGradByValue": paddle.nn.ClipGradByValue(0.02),
}


def _trained(kind, dtype, recorded, **options):
    """(parameters, their float32 copies) after four steps of a layer, at once or in a program."""
    random = np.random.RandomState(0)
    start, batches = random.randn(6, 5).astype("float32"), random.randn(4, 8, 6).astype("float32") * 4
    params = [paddle.create_parameter(shape, dtype) for shape in ([6, 5], [5])]
    for p, value in zip(params, (start, np.zeros([5], "float32"))):
        p.set_value(paddle.to_tensor(value).astype(dtype))
    optimizer = getattr(paddle.optimizer, kind)(learning_rate=0.1, parameters=params, **options)

    def loss_of(x):
        return ((paddle.matmul(x.astype(dtype), params[0]) + params[1]).astype("float32") ** 2).mean()

    if recorded:
        paddle.enable_static()
        try:
            main = paddle.static.Program()
            with paddle.static.program_guard(main, paddle.static.Program()):
                optimizer.minimize(loss_of(paddle.static.data("x", [8, 6])))
            for x in batches:
                paddle.static.Executor().run(main, {"x": x})
        finally:
            paddle.disable_static()
    else:
        for x in batches:
            loss_of(paddle.to_tensor(x)).backward()
            optimizer.step()
            optimizer.clear_grad()
    copies = [optimizer._master_weights[p.name] for p in params if p.name in optimizer._master_weights]
    return [p.astype("float32").numpy() for p in params], [p.numpy() for p in copies]


@pytest.mark.parametrize("multi_precision", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@EVERY
def test_recorded_steps_are_those_at_once(name, dtype, multi_precision):
    """Bit for bit: L1 and L2 decay, clipping, the casts between, in the same order."""
    decays = {"": {}, "L1": {"weight_decay": paddle.regularizer.L1Decay(0.05)}, "L2": {"weight_decay": 0.05}}
    for decay, clip in itertools.product(decays if name != "Lamb" else [""], _CLIPS):
        if name == "AdamW" and decay == "L1":
            continue  # its decay is a number
        options = {**decays[decay], "grad_clip": _CLIPS[clip], "multi_precision": multi_precision}
        one, other = (_trained(name, dtype, recorded, **options) for recorded in (False, True))
        assert len(one[1]) == (2 if multi_precision and dtype != "float32" else 0)
        for a, b in zip(sum(one, []), sum(other, [])):
            np.testing.assert_array_equal(a, b, err_msg=f"{decay} {clip}")


@BOTH
@pytest.mark.parametrize("clip", ["ClipGradByNorm", "ClipGradByGlobalNorm"])
def test_clipping_accumulates_in_float32(clip, dtype):
    """90,000 elements, whose squares no 16-bit sum holds; and of zeros no NaN."""
    p = paddle.create_parameter([300, 300], dtype)
    for value, most in ((60.0, 1 / 300), (0.0, 0.0), (2.0**-20, 2.0**-20)):
        ((_, found),) = getattr(paddle.nn, clip)(1.0)([(p, paddle.full([300, 300], value, dtype))])
        assert found.dtype == p.dtype
        np.testing.assert_allclose(found.astype("float32").numpy(), most, rtol=2**-8)


@BOTH
@pytest.mark.parametrize("name", ["SGD", "Adam", "Lamb"])
def test_rows_of_an_embedding(name, dtype):
    """Gradients of some rows, in 16 bits, with a scaler: as those in float32."""
    found = []
    for level in ("O0", "O2"):
        paddle.seed(0)
        table = paddle.nn.Embedding(6, 2, sparse=True)
        optimizer = getattr(paddle.optimizer, name)(learning_rate=0.1, parameters=table.parameters())
        if level == "O2":
            table, optimizer = paddle.amp.decorate(table, optimizer, level, dtype)
        scaler = paddle.amp.GradScaler(init_loss_scaling=1024.0)  # a row that occurs twice has twice that
        for explicit in (False, True):
            scaler.scale(table(paddle.to_tensor([1, 1, 4])).sum()).backward()
            assert table.weight.grad.is_selected_rows()
            if explicit:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            optimizer.clear_grad()
        found.append(optimizer.state_dict().get("master_weights", {}).get(table.weight.name, table.weight).numpy())
    np.testing.assert_allclose(*found, rtol=1e-5)
