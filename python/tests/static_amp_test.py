"""proa.static.amp: programs in mixed precision against the same training where ops run at once, and what is refused."""

import numpy as np
import pytest

import proa as paddle
from proa import static

_VALUE = paddle.to_tensor(1.0)
BOTH = pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
LEVELS = pytest.mark.parametrize("level", ["O1", "O2"])


@pytest.fixture(autouse=True)
def _programs():
    paddle.enable_static()
    with static.program_guard(static.Program(), static.Program()), static.scope_guard(static.Scope()):
        yield
    paddle.disable_static()


def _data(rows=8):
    rng = np.random.RandomState(0)
    return rng.randn(rows, 3, 6, 6).astype("float32"), rng.randint(0, 4, [rows, 1])


def _net():
    paddle.seed(3)
    nn = paddle.nn
    return nn.Sequential(nn.Conv2D(3, 4, 3), nn.BatchNorm2D(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 4))


def _loss(net, x, y):
    out = net(x) * 2.0
    out = out + out.detach() * 0.5
    return paddle.nn.functional.cross_entropy(out, y)


def _recorded(net, decorated, steps, **options):
    """The losses of a program's training, and the parameters after it."""
    x, y = static.data("x", [None, 3, 6, 6]), static.data("y", [None, 1], "int64")
    loss = _loss(net, x, y)
    optimizer = paddle.optimizer.Momentum(0.1)
    if decorated:
        optimizer = static.amp.decorate(optimizer, **options)
    optimizer.minimize(loss)
    exe, (xs, ys) = static.Executor(), _data()
    exe.run(static.default_startup_program())
    losses = [exe.run(feed={"x": xs, "y": ys}, fetch_list=[loss])[0].item() for _ in range(steps)]
    return losses, [p.numpy() for p in net.parameters()]


def _at_once(level, dtype, steps):
    paddle.disable_static()
    net, (xs, ys) = _net(), map(paddle.to_tensor, _data())
    optimizer = paddle.optimizer.Momentum(0.1, parameters=net.parameters())
    if level == "O2":
        paddle.amp.decorate(net, optimizer, level, dtype)
    scaler, losses = paddle.amp.GradScaler(enable=dtype == "float16"), []
    for _ in range(steps):
        with paddle.amp.auto_cast(level=level, dtype=dtype):
            loss = _loss(net, xs, ys)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
        losses.append(loss.item())
    paddle.enable_static()
    masters = optimizer.state_dict().get("master_weights", {})
    return losses, [masters.get(p.name, p).numpy() for p in net.parameters()]


@LEVELS
@BOTH
def test_a_program_trains_as_where_ops_run_at_once(level, dtype):
    losses, values = _recorded(_net(), True, 6, level=level, dtype=dtype)
    expected, parameters = _at_once(level, dtype, 6)
    assert losses[-1] < 0.5 * losses[0]
    np.testing.assert_allclose(losses, expected, rtol=2e-3 if dtype == "float16" else 2e-2)
    for value, parameter in zip(values, parameters):
        np.testing.assert_allclose(value, parameter, atol=2e-3 if dtype == "float16" else 2e-2)


def test_level_o0_changes_nothing():
    plain = _recorded(_net(), False, 4)
    with static.program_guard(static.Program(), static.Program()):
        assert _recorded(_net(), True, 4, level="O0")[0] == plain[0]


@BOTH
def test_dtypes_fetches_and_names(dtype):
    x = static.data("x", [None, 4])
    hidden = static.nn.fc(x, 3, bias_attr=False)
    hidden.name = "hidden"
    loss = paddle.nn.functional.softmax(hidden).sum()
    before = static.default_main_program().clone(for_test=True)
    optimizer = static.amp.decorate(paddle.optimizer.SGD(0.1), dtype=dtype, init_loss_scaling=64.0)
    assert optimizer.get_loss_scaling() is None and optimizer.get_scaled_loss() is None
    operations, pairs = optimizer.minimize(loss)
    assert operations == [] and [p.dtype for p, _ in pairs] == [g.dtype for _, g in pairs] == [paddle.float32]
    exe, feed = static.Executor(), {"x": np.ones([2, 4], "float32")}
    optimizer.amp_init(paddle.CPUPlace(), test_program=before, use_fp16_test=True)
    after = static.default_main_program().clone(for_test=True)
    for program in (None, before, after):
        by_handle, by_name = exe.run(program, feed, [hidden, "hidden"], return_numpy=False)
        assert by_handle.dtype.name == by_name.dtype.name == dtype
    scaled, factor = exe.run(None, feed, [optimizer.get_scaled_loss(), optimizer.get_loss_scaling()])
    assert factor.tolist() == ([64.0] if dtype == "float16" else [1.0])
    assert scaled == pytest.approx(2.0 * factor.item(), rel=1e-3)
    assert optimizer.get_lr() == 0.1


def test_the_rule_of_the_factor_and_steps_left_out():
    x = static.data("x", [1, 2])
    loss = static.nn.fc(x, 1).sum()
    adam = paddle.optimizer.Adam(0.1, weight_decay=0.1)
    optimizer = static.amp.decorate(
        adam, init_loss_scaling=8.0, incr_ratio=3.0, decr_ratio=0.5, incr_every_n_steps=2, decr_every_n_nan_or_inf=2
    )
    optimizer.minimize(loss)
    exe, weight = static.Executor(), static.default_main_program().all_parameters()[0]
    moment = adam._accumulators["moment1"][weight.name]
    factor, good, bad = 8.0, 0, 0
    for fails in np.random.RandomState(0).rand(24) < 0.5:
        before = weight.numpy(), moment.numpy()
        found = exe.run(feed={"x": np.full([1, 2], np.inf if fails else 1.0, "float32")},
                        fetch_list=[optimizer.get_loss_scaling()])[0].item()  # fmt: skip
        after = weight.numpy(), moment.numpy()
        assert all(np.array_equal(a, b) for a, b in zip(before, after)) == bool(fails)
        good, bad = (0, bad + 1) if fails else (good + 1, 0)
        if bad == 2:
            factor, bad = max(factor * 0.5, 1.0), 0
        if good == 2:
            factor, good = factor * 3.0, 0
        assert found == np.float32(factor)


def test_gradients_that_are_one_value():
    """Of a sum both parameters have the factor itself as their gradient."""
    x = static.data("x", [1])
    one = paddle.nn.initializer.Constant(1.0)
    w, v = (static.create_parameter([], "float32", default_initializer=one) for _ in range(2))
    optimizer = static.amp.decorate(paddle.optimizer.SGD(0.125), init_loss_scaling=8.0, incr_every_n_steps=2)
    optimizer.minimize(w + v + x.sum() * 0.0)
    factors = []
    for step in range(1, 5):
        factors += static.Executor().run(feed={"x": np.ones([1], "float32")}, fetch_list=[optimizer.get_loss_scaling()])
        assert w.item() == v.item() == 1.0 - step / 8
    assert [f.item() for f in factors] == [8.0, 16.0, 16.0, 32.0]


def test_one_op_looks_at_all_gradients():
    x = static.data("x", [None, 4])
    hidden = x
    for _ in range(3):
        hidden = static.nn.fc(hidden, 4)
    static.amp.decorate(paddle.optimizer.Adam(0.1)).minimize(hidden.sum())
    ops = [op.type for op in static.default_main_program().ops]
    assert ops.count("all_finite") == 1 and "squared_norm" not in ops


def test_a_fixed_factor_and_clipping_of_divided_gradients():
    x = static.data("x", [1, 2])
    loss = (static.nn.fc(x, 1, bias_attr=False) * 3.0).sum()
    sgd = paddle.optimizer.SGD(1.0, grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0))
    optimizer = static.amp.decorate(sgd, init_loss_scaling=256.0, use_dynamic_loss_scaling=False)
    optimizer.minimize(loss)
    weight = static.default_main_program().all_parameters()[0]
    before = weight.numpy()
    static.Executor().run(feed={"x": np.array([[3.0, 4.0]], "float32")})
    np.testing.assert_allclose(before - weight.numpy(), [[0.6], [0.8]], rtol=2e-3)


def _kinds(program, op):
    """The dtypes of what the calls of an op give."""
    return [str(line).rpartition("] ")[2] for line in program.ops if line.type == op]


def test_only_what_is_guarded():
    x = static.data("x", [2, 4])
    first = paddle.matmul(x, paddle.ones([4, 4]))
    with static.amp.fp16_guard():
        second = paddle.matmul(first, paddle.ones([4, 4]))
    third = paddle.matmul(second, paddle.ones([4, 4]))
    main = static.default_main_program()
    assert _kinds(main, "matmul") == ["float32"] * 3  # the guard is a mark
    other = main.clone()
    static.amp.cast_model_to_fp16(main, use_fp16_guard=True)
    assert _kinds(main, "matmul") == ["float32", "float16", "float32"]
    assert static.Executor().run(main, {"x": np.ones([2, 4], "float32")}, [third])[0].tolist() == [[64.0] * 4] * 2
    static.amp.cast_model_to_fp16(other, use_fp16_guard=False)
    assert _kinds(other, "matmul") == ["float16"] * 3


def test_lists_and_names_of_values():
    x = static.data("x", [2, 4])
    weights = [static.create_parameter([4, 4], "float32", name=f"static_amp_w{i}") for i in range(2)]
    y = paddle.matmul(paddle.matmul(x, weights[0]), weights[1])
    paddle.nn.functional.relu(y) + paddle.exp(x)
    main = static.default_main_program()
    lists = static.amp.CustomOpLists(["exp"], ["relu"], ["static_amp_w1"])
    static.amp.cast_model_to_fp16(main, lists, level="O1")
    assert _kinds(main, "matmul") == ["float16", "float32"]
    assert _kinds(main, "relu") == ["float32"] and _kinds(main, "exp") == ["float16"]


def test_regions_keep_the_dtypes_that_they_agree_on():
    x = static.data("x", [2, 2])
    y = static.nn.cond(x.sum() > 0, lambda: paddle.matmul(x, x), lambda: x * 3.0)
    _, z = static.nn.while_loop(
        lambda i, v: i < 3, lambda i, v: [i + 1, paddle.matmul(v, v)], [paddle.zeros([1], "int64"), y]
    )
    loss = z.sum()
    sgd = static.amp.decorate(paddle.optimizer.SGD(0.1), dtype="bfloat16")
    weight = static.create_parameter([2, 2], "float32", name="static_amp_region")
    loss = loss + paddle.matmul(x, weight).sum()
    sgd.minimize(loss)
    for sign in (1.0, -1.0):
        value = np.array([[0.5, 0.25], [0.25, 1.0]], "float32") * sign
        branch = value @ value if sign > 0 else value * 3.0
        expected = np.linalg.matrix_power(branch, 8)
        found = static.Executor().run(feed={"x": value}, fetch_list=[z])[0]
        np.testing.assert_allclose(found, expected, rtol=0.1, atol=0.02)


def test_parameters_in_sixteen_bits():
    net, (xs, _) = _net(), _data()
    net.eval()
    x = static.data("x", [None, 3, 6, 6])
    y = net(x)
    main, exe = static.default_main_program(), static.Executor()
    expected = exe.run(main, {"x": xs}, [y])[0]
    names = static.amp.cast_model_to_fp16(main)
    assert names == {p.name for p in (*net[0].parameters(), *net[4].parameters())}
    static.amp.cast_parameters_to_fp16(paddle.CPUPlace(), main, to_fp16_var_names=names)
    held = {t.name: t.dtype.name for t in main.list_vars()}
    assert {held[name] for name in names} == {"float16"} and held[net[1].weight.name] == "float32"
    found = exe.run(main, {"x": xs}, [y])[0]
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, expected, atol=5e-3)


def test_files_with_the_casts_and_without(tmp_path):
    x = static.data("x", [None, 4])
    y = static.nn.fc(x, 3, bias_attr=False)
    main = static.default_main_program()
    before = main.clone(for_test=True)
    static.amp.decorate(paddle.optimizer.SGD(0.1), dtype="bfloat16").minimize(y.mean())
    exe, feed = static.Executor(), {"x": np.full([2, 4], 0.3, "float32")}
    exe.run(feed=feed)
    for program, kinds in ((None, ["bfloat16"]), (main, ["bfloat16"]), (before, ["float32"])):
        more = {} if program is None else {"program": program}
        static.save_inference_model(str(tmp_path / "net"), [x], [y], exe, **more)
        loaded, names, targets = static.load_inference_model(str(tmp_path / "net"), exe)
        assert _kinds(loaded, "matmul") == kinds
        found = exe.run(loaded, feed, targets, return_numpy=False)[0]
        assert found.dtype.name == kinds[0]
        np.testing.assert_allclose(found.astype("float32").numpy(), exe.run(before, feed, [y])[0], rtol=0.02)


def test_what_is_recorded_of_tensors_from_before():
    x = static.data("x", [None, 4])
    y = paddle.matmul(x, paddle.ones([4, 2]))
    static.amp.cast_model_to_fp16(static.default_main_program())
    later = paddle.matmul(y, paddle.ones([2, 2])) + 1.0
    for _ in range(2):
        found = static.Executor().run(feed={"x": np.ones([1, 4], "float32")}, fetch_list=[later, y])
        assert found[0].tolist() == [[9.0, 9.0]] and found[0].dtype == found[1].dtype == np.float16
    static.amp.cast_parameters_to_fp16()
    assert static.Executor().run(feed={"x": np.ones([1, 4], "float32")}, fetch_list=[later])[0].tolist() == [[9.0, 9.0]]


def test_the_package_bf16():
    bf16 = static.amp.bf16
    with bf16.bf16_guard():
        y = paddle.matmul(static.data("x", [2, 2]), paddle.ones([2, 2]))
    main = static.default_main_program()
    copies = [main.clone() for _ in range(2)]
    bf16.rewrite_program_bf16(copies[0], bf16.AutoMixedPrecisionListsBF16(custom_fp32_list=["matmul"]))
    assert _kinds(copies[0], "matmul") == ["float32"]
    bf16.cast_model_to_bf16(copies[1], use_bf16_guard=True)
    bf16.cast_parameters_to_bf16(paddle.CPUPlace(), copies[1])
    assert _kinds(copies[1], "matmul") == ["bfloat16"]
    weight = static.create_parameter([2, 2], "float32", name="static_amp_bf16")
    optimizer = bf16.decorate_bf16(paddle.optimizer.SGD(0.1), use_pure_bf16=True, use_bf16_guard=False)
    optimizer.minimize(paddle.matmul(y, weight).sum())
    assert set(_kinds(main, "matmul")) == {"bfloat16"}
    bits = bf16.convert_float_to_uint16([1.0, 1.00390625, 1.01171875, -0.0, np.inf])
    assert [hex(b) for b in bits] == ["0x3f80", "0x3f80", "0x3f82", "0x8000", "0x7f80"]  # ties to even


@pytest.mark.parametrize("configs, dtype", [({}, "float16"), ({"use_pure_fp16": True}, "float16"),
                                            ({"use_pure_bf16": True}, "bfloat16"), ({"custom_black_list": ["matmul"]}, "float32")])  # fmt: skip
def test_a_strategy_of_fleet(configs, dtype):
    fleet = paddle.distributed.fleet
    strategy = fleet.DistributedStrategy()
    strategy.amp, strategy.amp_configs = True, {"init_loss_scaling": 64.0, **configs}
    fleet.init(is_collective=True, strategy=strategy)
    try:
        loss = static.nn.fc(static.data("x", [None, 2]), 1).mean()
        optimizer = fleet.distributed_optimizer(paddle.optimizer.SGD(0.1))
        fleet.minimize(loss)
    finally:
        fleet.init(is_collective=True, strategy=fleet.DistributedStrategy())
    assert fleet.distributed_optimizer(optimizer) is optimizer
    assert _kinds(static.default_main_program(), "matmul")[0] == dtype
    factor = static.Executor().run(feed={"x": np.ones([1, 2], "float32")}, fetch_list=[optimizer.get_loss_scaling()])[0]
    assert factor.item() == (1.0 if dtype == "bfloat16" else 64.0)


def test_another_scope_and_a_second_start():
    x = static.data("x", [1, 2])
    loss = static.nn.fc(x, 1).sum()
    optimizer = static.amp.decorate(paddle.optimizer.Momentum(0.1), init_loss_scaling=4.0, incr_every_n_steps=1)
    optimizer.minimize(loss)
    exe, feed, factor = static.Executor(), {"x": np.ones([1, 2], "float32")}, optimizer.get_loss_scaling()
    for scope in (None, static.Scope(), None):
        exe.run(static.default_startup_program(), scope=scope)
        found = [exe.run(feed=feed, fetch_list=[factor], scope=scope)[0].item() for _ in range(2)]
        assert found == [8.0, 16.0]


def test_a_new_optimizer_holds_two_losses():
    x = static.data("x", [1, 2])
    losses = [static.nn.fc(x, 1).sum(), static.nn.fc(x, 1).sum()]
    parameters = static.default_main_program().all_parameters()
    for i in range(2):
        static.amp.decorate(paddle.optimizer.SGD(0.1, parameters=parameters[2 * i : 2 * i + 2])).minimize(losses[i])
    before = [p.numpy() for p in parameters]
    static.Executor().run(feed={"x": np.ones([1, 2], "float32")})
    for old, new in zip(before, parameters):
        np.testing.assert_allclose(old - new.numpy(), np.full(new.shape, 0.1), rtol=1e-2)


@pytest.mark.parametrize(
    "options, error, text",
    [
        ({"level": "O3"}, ValueError, "'O0', 'O1' or 'O2', not 'O3'"),
        ({"dtype": "int8"}, ValueError, "'float16' or 'bfloat16', not 'int8'"),
        ({"dtype": "floaty"}, TypeError, "'floaty' is not an element type"),
        ({"amp_lists": ["matmul"]}, TypeError, "amp_lists must be AutoMixedPrecisionLists .* not list"),
        ({"decr_ratio": 2.0}, ValueError, "decr_ratio must be between 0 and 1, not 2.0"),
        ({"incr_every_n_steps": 1.5}, ValueError, "must be a whole number, not 1.5"),
    ],
)
def test_bad_options(options, error, text):
    with pytest.raises(error, match=text):
        static.amp.decorate(paddle.optimizer.SGD(0.1), **options)


def test_what_is_refused():
    with pytest.raises(TypeError, match="must be an Optimizer, not int"):
        static.amp.decorate(3)
    optimizer = static.amp.decorate(paddle.optimizer.SGD(0.1))
    with pytest.raises(TypeError, match="decorated already"):
        static.amp.decorate(optimizer)
    with pytest.raises(RuntimeError, match="call minimize before"):
        optimizer.amp_init()
    with pytest.raises(TypeError, match="not a tensor with values"):
        optimizer.minimize(_VALUE)
    with pytest.raises(ValueError, match="relu is in the list"):
        static.amp.CustomOpLists(["relu"], ["relu"])
    with pytest.raises(TypeError, match="custom_black_varnames must be a list"):
        static.amp.CustomOpLists(custom_black_varnames="x")
    with pytest.raises(RuntimeError, match="the program is float32"):
        static.amp.cast_parameters_to_fp16()
    loss = static.nn.fc(static.data("x", [1, 2]), 1).sum()
    paddle.optimizer.SGD(0.1).minimize(loss)
    with pytest.raises(RuntimeError, match=r"updates .* by sgd_ already; decorate"):
        optimizer.minimize(loss)
    with static.program_guard(static.Program(), static.Program()):
        static.amp.cast_model_to_fp16(static.default_main_program())
        with pytest.raises(RuntimeError, match="mixed precision already .O2 float16.; decorate it once"):
            static.amp.cast_model_to_fp16(static.default_main_program())


@LEVELS
@BOTH
def test_a_py_layer(level, dtype):
    class Scaled(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return paddle.matmul(x, y), x + 1.0

        @staticmethod
        def backward(ctx, g, h):
            x, y = ctx.saved_tensor()
            g = g.astype("float32")
            dx = 5.0 * paddle.matmul(g, y, transpose_y=True) + h.astype("float32")
            return dx.astype(x.dtype), paddle.matmul(x.astype("float32"), g, transpose_x=True)

    def loss_of(layer, x, y):
        product, more = Scaled.apply(layer(x), y)
        return (product.astype("float32") * more.astype("float32").sum()).mean()

    values = np.linspace(-1, 1, 6).reshape(2, 3).astype("float32"), np.eye(4, dtype="float32")
    paddle.disable_static()
    paddle.seed(0)
    layer = paddle.nn.Linear(3, 4)
    with paddle.amp.auto_cast(level=level, dtype=dtype):
        loss = loss_of(layer, *map(paddle.to_tensor, values))
    loss.backward()
    paddle.enable_static()
    x, y = static.data("x", [2, 3]), static.data("y", [4, 4])
    optimizer = static.amp.decorate(paddle.optimizer.SGD(0.1), level=level, dtype=dtype, init_loss_scaling=1.0,
                                    use_dynamic_loss_scaling=False)  # fmt: skip
    _, pairs = optimizer.minimize(loss_of(layer, x, y))
    feed = dict(zip("xy", values))
    found = dict(zip([p.name for p, _ in pairs], static.Executor().run(feed=feed, fetch_list=[g for _, g in pairs])))
    for p in layer.parameters():
        np.testing.assert_allclose(found[p.name], p.grad.numpy(), rtol=2e-2, atol=2e-2)


def test_guards_do_nothing_where_ops_run_at_once():
    """Networks have them in their forward, and are trained eagerly in float32."""
    paddle.disable_static()
    x = paddle.randn([4, 8])
    exact = paddle.matmul(x, x, transpose_y=True)
    for guard in (static.amp.fp16_guard, static.amp.bf16.bf16_guard):
        with guard():
            out = paddle.matmul(x, x, transpose_y=True)
        assert out.dtype == paddle.float32 and (out.numpy() == exact.numpy()).all()


def test_what_a_program_keeps_is_no_mark_of_an_operation():
    """An optimizer that it already has, whose schedule moves its rate, is there before and after the mixing."""
    main, start = static.Program(), static.Program()
    with static.program_guard(main, start):
        x = static.data("x", [2, 3])
        held = object()
        main.keep(held)
        loss = static.nn.fc(x, 2).mean()
        static.amp.decorate(paddle.optimizer.SGD(0.1), init_loss_scaling=1.0).minimize(loss)
    assert any(thing is held for thing in main._kept)
    exe = static.Executor()
    exe.run(start)
    (value,) = exe.run(main, {"x": np.ones([2, 3], "float32")}, [loss])
    assert np.isfinite(value).all()
