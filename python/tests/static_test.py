"""Static mode: programs train as eager code does, and are saved."""

import concurrent.futures
import threading

import numpy as np
import pytest

import proa as paddle


def _data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=[16, 3]).astype("float32")
    return x, (x @ np.array([[1.0], [-2.0], [0.5]], "float32") + 0.3).astype("float32")


def _optimizer(kind, **kwargs):
    return {
        "sgd": lambda: paddle.optimizer.SGD(0.1, **kwargs),
        "momentum": lambda: paddle.optimizer.Momentum(0.05, 0.9, **kwargs),
        "adam": lambda: paddle.optimizer.Adam(0.05, **kwargs),
    }[kind]()


@pytest.mark.parametrize("kind", ["sgd", "momentum", "adam"])
def test_training_in_a_program_equals_eager_training(kind):
    xs, ys = _data()
    start = np.array([[0.1], [0.2], [0.3]], "float32")

    eager = paddle.nn.Linear(3, 1)
    eager.weight.set_value(start)
    optimizer = _optimizer(kind, parameters=eager.parameters())
    for _ in range(5):
        loss = ((eager(paddle.to_tensor(xs)) - paddle.to_tensor(ys)) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()

    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [None, 3], "float32")
        y = paddle.static.data("y", [None, 1], "float32")
        net = paddle.nn.Linear(3, 1)
        net.weight.set_value(start)
        cost = ((net(x) - y) ** 2).mean()
        _optimizer(kind).minimize(cost)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    losses = [float(exe.run(main, {"x": xs, "y": ys}, [cost])[0]) for _ in range(5)]
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(net.weight.numpy(), eager.weight.numpy(), rtol=1e-5)
    np.testing.assert_allclose(net.bias.numpy(), eager.bias.numpy(), rtol=1e-5)


def test_enable_static_and_back():
    assert paddle.in_dynamic_mode()
    paddle.enable_static()
    try:
        assert not paddle.in_dynamic_mode()
        x = paddle.static.data("enable_x", [2], "float32")
        y = x + paddle.ones([2])
        out = paddle.static.Executor().run(feed={"enable_x": np.zeros(2, "float32")}, fetch_list=[y])
    finally:
        paddle.disable_static()
    assert paddle.in_dynamic_mode() and out[0].tolist() == [1.0, 1.0]
    assert (paddle.ones([2]) * 2).tolist() == [2.0, 2.0]


def test_inference_model_leaves_training_out(tmp_path):
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [None, 3], "float32")
        y = paddle.static.data("y", [None, 1], "float32")
        out = paddle.nn.Linear(3, 1)(x)
        _optimizer("sgd").minimize(((out - y) ** 2).mean())
    exe = paddle.static.Executor()
    xs, ys = _data()
    exe.run(main, {"x": xs, "y": ys}, [])
    prefix = str(tmp_path / "model")
    paddle.static.save_inference_model(prefix, [x], [out], exe)
    program, feeds, fetches = paddle.static.load_inference_model(prefix, exe)
    assert feeds == ["x"] and "sgd_" not in str(program)
    want = exe.run(main, {"x": xs}, [out], use_prune=True)[0]
    np.testing.assert_array_equal(exe.run(program, {"x": xs}, fetches)[0], want)


@pytest.mark.parametrize(
    "feed, says",
    [
        ({}, "'x' is not fed"),
        ({"x": np.zeros([2, 4], "float32")}, "expected shape"),
        pytest.param(
            {"z": np.zeros(1)}, "'x' is not fed", marks=pytest.mark.filterwarnings("ignore:.*no input 'z'")
        ),  # what the program does not know is not used
    ],
)
def test_bad_feeds_are_named(feed, says):
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [None, 3], "float32")
        y = x * 2.0
    with pytest.raises((ValueError, TypeError), match=says):
        paddle.static.Executor().run(main, feed, [y])


def test_wrong_dtype_is_a_type_error():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [2], "float32")
        y = x * 2.0
    with pytest.raises(TypeError, match="expected float32"):
        paddle.static.Executor().run(main, {"x": np.zeros(2, "int64")}, [y])


def test_a_penalty_of_parameters_alone_follows_them():
    """What depends on no input of the program is computed in each run, not when its gradient is recorded."""

    def loss_of(x, w, v):
        return (w * w).sum() + (w * v).sum() + (x * w).sum() * 0.5

    def made():
        one = paddle.nn.initializer.Constant(1.0)
        attributes = [
            paddle.ParamAttr(initializer=paddle.nn.initializer.Assign([1.0, -2.0])),
            paddle.ParamAttr(initializer=one),
        ]
        return [paddle.create_parameter([2], "float32", attr=attr) for attr in attributes]

    value = np.array([0.3, 0.7], "float32")
    w, v = made()
    sgd = paddle.optimizer.SGD(0.1, parameters=[w, v])
    for _ in range(4):
        loss_of(paddle.to_tensor(value), w, v).backward()
        sgd.step()
        sgd.clear_grad()
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main, paddle.static.Program()):
            others = made()
            loss = loss_of(paddle.static.data("x", [2]), *others)
            (dw,) = paddle.static.gradients(loss, others[0])
            paddle.optimizer.SGD(0.1).minimize(loss)
        for _ in range(4):
            before = [p.numpy() for p in others]
            found = paddle.static.Executor().run(main, {"x": value}, [dw])[0]
            np.testing.assert_allclose(found, 2 * before[0] + before[1] + 0.5 * value, rtol=1e-5)
    finally:
        paddle.disable_static()
    for one, other in zip([w, v], others):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5)


def test_a_gradient_that_is_a_parameter_is_not_the_same_memory():
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main, paddle.static.Program()):
            x = paddle.static.data("x", [2])
            w, v = (paddle.create_parameter([2], "float32") for _ in range(2))
            w.set_value(np.array([1.0, 2.0], "float32"))
            v.set_value(np.array([3.0, 5.0], "float32"))
            loss = (w * v).sum() + x.sum() * 0.0
            paddle.optimizer.SGD(1.0).minimize(loss)
        paddle.static.Executor().run(main, {"x": np.zeros([2], "float32")})
    finally:
        paddle.disable_static()
    assert w.numpy().tolist() == [-2.0, -3.0] and v.numpy().tolist() == [2.0, 3.0]


@pytest.mark.parametrize("standalone", [True, False])
def test_there_is_one_executor_whatever_the_flag_says(standalone):
    before = paddle.get_flags(["FLAGS_USE_STANDALONE_EXECUTOR"])
    try:
        paddle.set_flags({"FLAGS_USE_STANDALONE_EXECUTOR": standalone})
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            y = paddle.exp(paddle.static.data("x", [2], "float32"))
        (found,) = paddle.static.Executor().run(main, feed={"x": np.float32([0, 1])}, fetch_list=[y])
        np.testing.assert_allclose(found, np.exp([0, 1]), rtol=1e-6)
    finally:
        paddle.set_flags(before)


def test_threads_record_into_programs_of_their_own():
    """A guard of one thread is none of another's business."""
    both = threading.Barrier(2, timeout=60)

    def build(factor):
        program, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(program, startup):
            both.wait()
            x = paddle.static.data("x", [2])
            assert (
                paddle.static.default_main_program() is program and paddle.static.default_startup_program() is startup
            )
            both.wait()
            y = x * factor
            both.wait()
        return paddle.static.Executor().run(program, {"x": np.ones(2, "float32")}, [y])[0].tolist()

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        assert list(threads.map(build, (2.0, 3.0))) == [[2.0, 2.0], [3.0, 3.0]]


def test_threads_have_scopes_of_their_own():
    """A scope_guard of one thread is none of another's business; a new thread begins in the first scope."""
    static = paddle.static
    both, first = threading.Barrier(2, timeout=60), static.global_scope()

    def build(value):
        assert static.global_scope() is first
        scope, main, startup = static.Scope(), static.Program(), static.Program()
        with static.scope_guard(scope), static.program_guard(main, startup):
            both.wait()
            assert static.global_scope() is scope
            y = static.nn.fc(static.data("x", [1, 2]), 1, weight_attr="weight_of_thread", bias_attr=False)
            both.wait()
            scope.find_var("weight_of_thread").get_tensor().set(np.full([2, 1], value, "float32"))
            both.wait()
            (found,) = static.Executor().run(main, feed={"x": np.ones([1, 2], "float32")}, fetch_list=[y])
            both.wait()
        assert static.global_scope() is first
        return found.item()

    with static.scope_guard(static.Scope()), concurrent.futures.ThreadPoolExecutor(2) as threads:
        assert list(threads.map(build, (2.0, 3.0))) == [4.0, 6.0]
