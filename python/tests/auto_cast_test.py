"""proa.amp.auto_cast: dtypes, gradients, nesting, threads, programs, and with the other features of eager mode."""

import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import proa as paddle
import proa.nn.functional as F

LOW = paddle.bfloat16
KEPT = paddle._C.amp.num_kept_casts


def cast(**options):
    return paddle.amp.auto_cast(dtype="bfloat16", **options)


def tensor(*shape, seed=0):
    return paddle.to_tensor(np.random.RandomState(seed).randn(*shape).astype("float32"), stop_gradient=False)


def rounded(x):
    return x.detach().astype("bfloat16").astype("float32").numpy()


def test_a_product_of_rounded_numbers():
    x, y = tensor(3, 4), tensor(4, 5, seed=1)
    with cast():
        z = paddle.matmul(x, y)
    assert z.dtype == LOW
    expected = rounded(paddle.to_tensor(rounded(x) @ rounded(y)))
    np.testing.assert_allclose(z.astype("float32").numpy(), expected, rtol=2**-7)


def test_gradients_have_the_dtype_of_the_parameter():
    x, w = tensor(3, 4), tensor(4, 5, seed=1)
    with cast():
        loss = paddle.matmul(x, w).sum()
    assert loss.dtype == paddle.float32
    loss.backward()
    assert w.grad.dtype == x.grad.dtype == paddle.float32
    expected = np.broadcast_to(rounded(x).sum(0)[:, None], (4, 5))
    np.testing.assert_allclose(w.grad.numpy(), expected, rtol=2**-6, atol=2**-6)


def test_backward_is_not_cast():
    x = tensor(2, 2)
    y = paddle.matmul(x, x)
    with cast():
        (g,) = paddle.grad(y.sum(), x, create_graph=True)
    assert g.dtype == paddle.float32


def test_double_grad():
    x = tensor(3, 3)
    with cast():
        y = paddle.matmul(x, x).sum()
    (g,) = paddle.grad(y, x, create_graph=True)
    (gg,) = paddle.grad(g.sum(), x)
    # d/dx of sum(x x) twice along ones: each element meets each row and column once.
    np.testing.assert_allclose(gg.numpy(), np.full((3, 3), 6.0), rtol=2**-6)


def test_levels_and_switches():
    x = tensor(2, 2)
    relu = paddle.nn.functional.relu
    with cast(level="O2"):
        assert relu(x).dtype == LOW
        assert paddle.nn.functional.softmax(x).dtype == paddle.float32
        with cast(enable=False):
            assert paddle.matmul(x, x).dtype == paddle.float32
        with cast(level="O0"):
            assert paddle.matmul(x, x).dtype == paddle.float32
        assert relu(x).dtype == LOW
    assert relu(x).dtype == paddle.float32
    with paddle.amp.auto_cast():
        assert paddle.matmul(x, x).dtype == paddle.float16


def test_lists():
    x = tensor(2, 2)
    with cast(custom_white_list={"elementwise_add"}, custom_black_list=["matmul_v2"]):
        assert (x + x).dtype == LOW
        assert paddle.matmul(x, x).dtype == paddle.float32


def test_lists_take_every_op_of_the_reference():
    """Those that are several ops here, or parts of ops, stand for what does their work; a name of nobody is an error still."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with paddle.amp.auto_cast(custom_black_list=paddle._C.reference_op_types(), dtype="bfloat16"):
            assert paddle.matmul(paddle.ones([2, 2]), paddle.ones([2, 2])).dtype == paddle.float32
    assert any("bilinear_interp_v2 is made of" in str(w.message) for w in said)
    assert not any("pool2d" in str(w.message) or "conv2d" in str(w.message) for w in said)
    x = paddle.randn([1, 4, 6, 6])
    pools = {
        "max": lambda: F.max_pool2d(x, 2),
        "average": lambda: F.avg_pool2d(x, 2),
        "adaptive": lambda: F.adaptive_avg_pool2d(x, 3),
        "adaptive max": lambda: F.adaptive_max_pool2d(x, 3),
    }
    for name, pool in pools.items():
        with paddle.amp.auto_cast(level="O2", dtype="bfloat16"):
            assert pool().dtype == paddle.bfloat16, name
        with paddle.amp.auto_cast(level="O2", dtype="bfloat16", custom_black_list={"pool2d"}):
            assert pool().dtype == paddle.float32, name
            assert F.relu(x).dtype == (x + x).dtype == paddle.bfloat16  # others go on as they did
    with paddle.amp.auto_cast(dtype="bfloat16", custom_black_list=["depthwise_conv2d_transpose"]):
        assert F.conv2d_transpose(x, paddle.ones([4, 1, 3, 3]), groups=4).dtype == paddle.float32
    with pytest.raises(ValueError, match="pool2d is in the list|max_pool2d is in the list"):
        with paddle.amp.auto_cast(custom_black_list={"pool2d"}, custom_white_list={"max_pool2d"}):
            pass


def test_it_ends_with_an_exception():
    x = tensor(2, 2)
    with pytest.raises(ZeroDivisionError), cast():
        raise ZeroDivisionError
    assert paddle.matmul(x, x).dtype == paddle.float32


def test_a_decorated_function():
    @cast()
    def f(x):
        return paddle.matmul(x, x)

    x = tensor(2, 2)
    assert f(x).dtype == f(x).dtype == LOW
    assert paddle.matmul(x, x).dtype == paddle.float32


def test_in_place_keeps_the_dtype():
    x = paddle.ones([2, 2])
    with cast(level="O2"):
        x.add_(paddle.ones([2, 2], "bfloat16"))
        x[0] = paddle.ones([2], "bfloat16")
    assert x.dtype == paddle.float32
    assert x.tolist() == [[1, 1], [2, 2]]


def test_hooks_see_the_dtype_of_their_tensor():
    x = tensor(2, 2)
    seen = []
    with cast():
        y = paddle.matmul(x, x)
        y.register_hook(lambda g: seen.append(g.dtype))
        x.register_hook(lambda g: seen.append(g.dtype))
    y.astype("float32").sum().backward()
    assert seen == [LOW, paddle.float32]


def _product(seen):
    class Product(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            out = paddle.matmul(x, y)
            seen.append(out.dtype)
            return out

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensor()
            dx = paddle.matmul(g, y, transpose_y=True)
            seen.append(dx.dtype)
            return dx, paddle.matmul(x, g, transpose_x=True)

    return Product


def test_a_py_layer_is_cast_forward_and_backward_alike():
    """Its gradients get the dtypes of what they are gradients of."""
    for inside in (True, False):  # where backward is called does not matter
        x, y, seen = tensor(2, 2), tensor(2, 2, seed=1), []
        with cast():
            loss = _product(seen).apply(x, y).sum()
            if inside:
                loss.backward()
        if not inside:
            with paddle.amp.auto_cast(dtype="float16"):
                loss.backward()
        assert seen == [LOW, LOW]
        assert x.grad.dtype == y.grad.dtype == paddle.float32
        np.testing.assert_allclose(x.grad.numpy(), np.ones((2, 2)) @ y.numpy().T, rtol=2**-6, atol=2**-6)


def test_a_py_layer_outside_of_autocast_is_not_cast():
    x, y, seen = tensor(2, 2), tensor(2, 2, seed=1), []
    loss = _product(seen).apply(x, y).sum()
    with cast():
        loss.backward()
    assert seen == [paddle.float32] * 2


def test_a_py_layer_in_a_recomputed_segment_and_in_a_program():
    for wrap in (lambda f: lambda *a: paddle.autograd.recompute(f, *a), paddle.jit.to_static):
        x, y, seen = tensor(2, 2), tensor(2, 2, seed=1), []
        layer = _product(seen)
        function = wrap(lambda a, b: layer.apply(a, b).sum())
        with cast():
            loss = function(x, y)
        loss.backward()
        assert set(seen) == {LOW}
        assert x.grad.dtype == paddle.float32
        np.testing.assert_allclose(x.grad.numpy(), np.ones((2, 2)) @ y.numpy().T, rtol=2**-6, atol=2**-6)


def test_gradients_of_a_py_layer_of_another_kind_are_refused():
    class Wrong(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            return g.astype("float64")

    with pytest.raises(ValueError, match="does not fit its input"):
        Wrong.apply(tensor(2)).sum().backward()


def test_recompute_casts_again_as_it_was():
    x, seen = tensor(2, 2), []

    def f(t):
        y = paddle.matmul(t, t)
        seen.append(y.dtype)
        return y.sum()

    with cast():
        y = paddle.autograd.recompute(f, x)
    with paddle.amp.auto_cast(dtype="float16"):
        y.backward()
    assert seen == [LOW, LOW]


def test_settings_are_of_a_thread():
    x = tensor(2, 2)
    inside, done, seen = threading.Event(), threading.Event(), []

    def other():
        inside.wait()
        seen.append(paddle.matmul(x, x).dtype)
        with paddle.amp.auto_cast(dtype="float16"):
            seen.append(paddle.matmul(x, x).dtype)
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    with cast():
        inside.set()
        done.wait()
        assert paddle.matmul(x, x).dtype == LOW
    thread.join()
    assert seen == [paddle.float32, paddle.float16]


def test_train_and_eval_of_one_model_leave_another_alone():
    first, second = paddle.nn.Dropout(0.5), paddle.nn.Dropout(0.5)
    first.eval()
    assert second.training and not first.training
    x = paddle.ones([1000])
    assert first(x).tolist() == x.tolist()
    assert (second(x) == 0).any()


def test_a_recorded_program_keeps_its_casts():
    x = tensor(2, 2)

    @paddle.jit.to_static
    def f(t):
        with cast():
            return paddle.matmul(t, t)

    eager = paddle.matmul(x.astype("bfloat16"), x.astype("bfloat16"))
    y = f(x)
    assert y.dtype == LOW
    assert y.astype("float32").tolist() == eager.astype("float32").tolist()


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_a_small_network_learns(level):
    paddle.seed(0)
    x = paddle.to_tensor(np.random.RandomState(0).randn(64, 8).astype("float32"))
    target = (x.sum(1, keepdim=True) > 0).astype("float32")
    net = paddle.nn.Sequential(
        paddle.nn.Linear(8, 16), paddle.nn.BatchNorm1D(16), paddle.nn.ReLU(), paddle.nn.Linear(16, 1)
    )
    adam = paddle.optimizer.Adam(0.05, parameters=net.parameters())
    losses = []
    for _ in range(30):
        with cast(level=level):
            loss = paddle.nn.functional.binary_cross_entropy_with_logits(net(x).astype("float32"), target)
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]
    assert {p.dtype for p in net.parameters()} == {paddle.float32}


@pytest.mark.parametrize(
    "options, error, text",
    [
        ({"level": "O3"}, ValueError, "'O0', 'O1' or 'O2', not 'O3'"),
        ({"dtype": "float32"}, ValueError, "must be float16 or bfloat16, not float32"),
        ({"dtype": "floaty"}, ValueError, "must be float16 or bfloat16, not 'floaty'"),
        ({"dtype": ["float16"]}, ValueError, "must be float16 or bfloat16, not ."),
        ({"custom_white_list": "relu"}, TypeError, "names of ops, not 'relu'"),
        ({"custom_white_list": ["nosuch"]}, ValueError, "no op called 'nosuch'"),
        ({"custom_white_list": ["relu"], "custom_black_list": ["relu"]}, ValueError, "relu is in the list"),
    ],
)
def test_bad_arguments(options, error, text):
    with pytest.raises(error, match=text), paddle.amp.auto_cast(**options):
        pass


def test_what_ran_in_which_type(capsys):
    net = paddle.nn.Sequential(paddle.nn.Conv2D(3, 4, 3), paddle.nn.BatchNorm2D(4), paddle.nn.ReLU())
    with paddle.amp.debugging.collect_operator_stats() as stats:
        assert stats.calls == {}
        with cast():
            out = net(tensor(2, 3, 5, 5)).sum()
        out.backward()
    empty = dict.fromkeys(("float16", "bfloat16", "float32", "other", "casts"), 0)
    assert stats.calls["conv2d"] == {**empty, "bfloat16": 1, "casts": 3}
    assert stats.calls["relu"] == {**empty, "bfloat16": 2}  # backward makes it again
    assert stats.calls["sum"]["float32"] >= 1 and stats.calls["sum"]["casts"] >= 1
    assert stats.calls["conv_weight_grad"]["bfloat16"] == 1
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == len(stats.calls) + 1 and shown[0].split() == ["op", *empty]
    debugging = paddle.amp.debugging
    debugging.enable_operator_stats_collection()
    with pytest.raises(RuntimeError, match="enabled already; disable it first"):
        debugging.enable_operator_stats_collection()
    tensor(2).exp()
    debugging.disable_operator_stats_collection()
    assert "exp  " in capsys.readouterr().out
    with pytest.raises(RuntimeError, match="not enabled; enable it first"):
        debugging.disable_operator_stats_collection()


@pytest.mark.parametrize("frozen", [False, True])
def test_casts_that_ran_are_counted_and_profiled(frozen):
    """Twice of what came in, once of each parameter, though calls took six arguments of another dtype."""
    net, x = paddle.nn.Linear(4, 3), paddle.ones([2, 4])
    for p in net.parameters():
        p.stop_gradient = frozen
    with paddle.amp.debugging.collect_operator_stats(show=False) as stats, cast():
        net(x)
        net(x)
    assert stats.calls["linear"]["bfloat16"] == 2 and stats.calls["linear"]["casts"] == 6
    assert sum(stats.calls["cast"].values()) == stats.calls["cast"]["float32"] == 4
    profiler = paddle.profiler.Profiler(on_trace_ready=lambda profiler: None)
    profiler.start()
    with cast():
        net(x)
    profiler.stop()
    events = [e for e in profiler.profiler_result.events() if e["category"] == "op"]
    (around,) = (e for e in events if e["name"] == "linear")
    inside = [e for e in events if e["name"] == "cast"]
    assert len(inside) == 3
    assert all(around["start_ns"] <= e["start_ns"] and e["end_ns"] <= around["end_ns"] for e in inside)


def test_a_cast_that_overflows_is_named():
    x = paddle.full([2, 2], 1e5)
    with paddle.amp.auto_cast(dtype="float16"):
        told = paddle.amp.GradScaler().first_op(lambda: paddle.matmul(x, paddle.ones([2, 2])))
    assert told.startswith("cast: made 4 Inf in out")


@pytest.mark.parametrize("recorded", [False, True])
def test_data_made_inside_keep_the_dtype_that_was_asked_for(recorded):
    def made():
        x = paddle.to_tensor([1.0, 2.0**-30], dtype="float32")
        return x, paddle.to_tensor(x), paddle.to_tensor(x, dtype="float64"), paddle.to_tensor(np.ones(2, "float32"))

    if recorded:
        main = paddle.static.Program()
        with paddle.static.program_guard(main, paddle.static.Program()), cast(level="O2"):
            outputs = made()
    else:
        with cast(level="O2"):
            outputs = made()
    assert [t.dtype.name for t in outputs] == ["float32", "float32", "float64", "float32"]


def test_what_a_program_is_fed_inside_of_autocast():
    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        y = paddle.static.data("x", [2]) * 2.0
    with cast(level="O2"):
        found = paddle.static.Executor().run(main, {"x": paddle.full([2], 1.0 + 2.0**-20)}, [y])[0]
    assert found.dtype == np.float32 and found.tolist() == [2.0 + 2.0**-19] * 2


def test_frozen_parameters_are_cast_once():
    attr = paddle.ParamAttr(trainable=False)
    layers = [paddle.nn.Linear(3, 3, weight_attr=attr, bias_attr=False), paddle.nn.Linear(3, 3, bias_attr=False)]
    layers[1].weight.stop_gradient = True
    x = paddle.ones([1, 3])
    for layer in layers:
        with cast():
            want = paddle.matmul(x.astype("bfloat16"), layer.weight.detach().astype("bfloat16"))
            for _ in range(3):
                found = layer(x)
                assert found.stop_gradient and (found == want).all()
            assert KEPT() == 1
            layer.weight.set_value(layer.weight * 3.0)
            assert not (layer(x) == want).all()
            # What is set free again gets its gradient.
            layer.weight.stop_gradient = False
            layer(x).sum().backward()
            assert KEPT() == 1 and layer.weight.grad is not None
        assert KEPT() == 0


def test_casts_of_a_program_that_runs_are_counted():
    function = paddle.jit.to_static(lambda x: paddle.matmul(x, x))
    with cast():
        function(tensor(2, 2))
        with paddle.amp.debugging.collect_operator_stats(show=False) as stats:
            function(tensor(2, 2))
    assert stats.calls["matmul"]["bfloat16"] == 1 and stats.calls["matmul"]["float32"] == 0
    assert stats.calls["cast"]["float32"] >= 1


def test_checks_of_chosen_ops_and_of_one_layer():
    debugging = paddle.amp.debugging

    class Log(paddle.nn.Layer):
        @debugging.check_layer_numerics
        def forward(self, x):
            return (x - 1.0).log()

    zero = paddle.zeros([1])
    for choose, raises in ((debugging.set_skipped_op_list, False), (debugging.set_checked_op_list, True)):
        choose(["log"])
        if raises:
            with pytest.raises(RuntimeError, match="log: made 1 NaN"):
                Log()(zero)
        else:
            assert Log()(zero).isnan().all()
        choose(None)
    with pytest.raises(ValueError, match="set_checked_op_list: .* no op 'lgo'"):
        debugging.set_checked_op_list(["lgo"])
    assert zero.log().isinf().all()  # off again


@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_converted_training_is_that_at_once(level, dtype):
    """dy2static-12: with norms, a loss scaler and float32 copies; gradients have the dtypes of parameters."""
    nn = paddle.nn
    x, y = paddle.randn([16, 8]), paddle.randint(0, 3, [16])
    results = []
    for way in range(3):
        paddle.seed(0)
        net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1D(16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 3))
        adam = paddle.optimizer.Adam(0.01, parameters=net.parameters())
        if level == "O2":
            net, adam = paddle.amp.decorate(net, adam, level, dtype)
        run = paddle.jit.to_static(net) if way == 1 else net
        step = lambda: nn.functional.cross_entropy(run(x), y)  # noqa: E731
        step = paddle.jit.to_static(step) if way == 2 else step
        scaler, losses = paddle.amp.GradScaler(enable=dtype == "float16"), []
        for _ in range(6):
            with paddle.amp.auto_cast(level=level, dtype=dtype):
                loss = step()
            scaler.scale(loss).backward()
            assert all(p.grad is None or p.grad.dtype == p.dtype for p in net.parameters())
            scaler.step(adam)
            scaler.update()
            adam.clear_grad()
            losses.append(loss.item())
        assert losses[-1] < losses[0] and net[0].weight.dtype.name == (dtype if level == "O2" else "float32")
        results.append(losses)
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_layer_norm_casts_nothing(level):
    """16-bit data goes through beside float32 parameters, which get gradients of float32 (amp-11)."""
    norm, x = paddle.nn.LayerNorm(8), tensor(4, 8).detach().astype("bfloat16")
    x.stop_gradient = False
    with cast(level=level), paddle.amp.debugging.collect_operator_stats(show=False) as stats:
        y = norm(x)
    assert y.dtype == LOW and KEPT() == 0
    assert stats.calls["layer_norm"]["casts"] == 0
    exact = paddle.nn.functional.layer_norm(x.detach().astype("float32"), 8, norm.weight, norm.bias)
    np.testing.assert_allclose(y.astype("float32").numpy(), exact.numpy(), rtol=2**-8, atol=2**-9)
    y.astype("float32").square().sum().backward()
    assert x.grad.dtype == LOW and norm.weight.grad.dtype == norm.bias.grad.dtype == paddle.float32


@pytest.mark.parametrize("dtype", ["int32", "int64", "float64", "complex64"])
def test_other_arguments_are_left_alone(dtype):
    x = paddle.ones([2, 2]).astype(dtype)
    for level in ("O1", "O2"):
        with cast(level=level):
            assert paddle.matmul(x, x).dtype == (x + x).dtype == x.dtype


@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_ops_of_float32_only_take_what_was_cast(level, dtype):
    """Each op without a class that has no 16-bit type: after a product its argument is one."""
    x, boxes = tensor(1, 1, 4, 4), paddle.to_tensor([[0.0, 0.0, 2.0, 2.0]])
    with paddle.amp.auto_cast(level=level, dtype=dtype):
        features = paddle.matmul(x, x)
        assert features.dtype.name == dtype
        pooled = paddle.vision.ops.roi_align(features, boxes, paddle.to_tensor([1], dtype="int32"), 2)
        whole = paddle.as_complex(paddle.matmul(tensor(3, 2), tensor(2, 2)))
    assert pooled.dtype == paddle.float32 and whole.dtype == paddle.complex64
    pooled.sum().backward()
    assert x.grad.dtype == paddle.float32


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_values_written_into_a_tensor(level):
    def written(h):
        m = paddle.scatter(paddle.zeros([2, 3]), paddle.to_tensor([0, 1]), h)
        return paddle.scatter_nd_add(m, paddle.to_tensor([[0]]), h[1:])

    h = tensor(2, 3).detach()
    expected = np.stack([h.numpy().sum(0), h.numpy()[1]])
    for function in (written, paddle.jit.to_static(written)):
        with cast(level=level):
            found = function(h)
        assert found.dtype == (LOW if level == "O2" else paddle.float32)
        np.testing.assert_allclose(found.astype("float32").numpy(), expected, rtol=2**-6, atol=2**-6)


@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("recorded", [False, True], ids=["eager", "converted"])
def test_what_is_written_in_place_gets_the_dtype_of_the_place(level, recorded):
    def function(x, w):
        y = x * 1.0
        y[0] = x.matmul(w)[0]
        y[:, 1:] = x.matmul(w)[:, 1:]
        y.add_(x.matmul(w))
        return y

    x, w = paddle.ones([2, 2]), paddle.ones([2, 2])
    if recorded:
        function = paddle.jit.to_static(function)
    with paddle.amp.auto_cast(level=level, dtype="bfloat16"):
        y = function(x, w)
    assert y.dtype == (paddle.bfloat16 if level == "O2" else paddle.float32)
    np.testing.assert_array_equal(y.astype("float32").numpy(), [[4.0, 4.0], [3.0, 4.0]])


def test_float16_on_a_cpu_says_that_it_is_slow_once():
    program = """
import warnings
import proa
from proa.utils import environment

environment.has_cpu_flag = lambda name: False
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    with proa.amp.auto_cast(dtype="bfloat16"), proa.amp.auto_cast(enable=False), proa.amp.auto_cast(level="O0"):
        pass
    assert not seen, seen
    for _ in range(3):
        with proa.amp.auto_cast():
            pass
    (one,) = seen
    assert "float16 is computed through float32" in str(one.message) and one.filename == "<string>", one
"""
    subprocess.run([sys.executable, "-c", program], check=True)
