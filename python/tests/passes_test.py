"""Passes over users' programs: the bits stay, convolution and normalization run as one, a test is a test."""

import glob

import numpy as np
import pytest

import proa as paddle
from proa import nn

_RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _verified():
    paddle.set_flags({"FLAGS_verify_passes": True})
    yield
    paddle.set_flags({"FLAGS_verify_passes": False})


class Block(nn.Layer):
    """A residual block as users write it."""

    def __init__(self, inside, outside, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2D(inside, outside, 3, stride=stride, padding=1, bias_attr=False)
        self.norm1 = nn.BatchNorm2D(outside)
        self.conv2 = nn.Conv2D(outside, outside, 3, padding=1)
        self.norm2 = nn.BatchNorm2D(outside)
        self.relu = nn.ReLU()
        self.short = None
        if stride != 1:
            self.short = nn.Sequential(nn.Conv2D(inside, outside, 1, stride=stride), nn.BatchNorm2D(outside))

    def forward(self, x):
        y = self.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        x = x if self.short is None else self.short(x)
        return self.relu(y + x)


def _network():
    paddle.seed(7)
    return nn.Sequential(Block(3, 3), Block(3, 6, 2), nn.Dropout(0.5), nn.Flatten(), nn.Linear(6 * 16, 5))


_X = _RNG.standard_normal([4, 3, 8, 8]).astype("float32")
_GRAD = np.random.default_rng(1).standard_normal(1000)


def _ops(text):
    return [line.split(" = ")[-1].split("(")[0].strip() for line in text.splitlines() if "(" in line]


def test_a_network_that_predicts_runs_fused_with_the_same_bits():
    net = _network()
    net.eval()
    for p in net.parameters():
        p.set_value(p + 0.1 * paddle.randn(p.shape))
    want = net(paddle.to_tensor(_X)).numpy()
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        y = net(paddle.static.data("x", [None, 3, 8, 8]))
    np.testing.assert_array_equal(paddle.static.Executor().run(main, feed={"x": _X}, fetch_list=[y])[0], want)
    ops = _ops(main._program.plan([y]))
    assert ops.count("conv2d_batch_norm_relu_inference") == 4
    assert ops.count("relu") == 0 and ops.count("dropout") == 0 and ops.count("add") == 0
    assert ops.count("batch_norm_inference") == 1  # of the shortcut, which no relu follows
    recorded = paddle.jit.to_static(net)
    np.testing.assert_array_equal(recorded(paddle.to_tensor(_X)).numpy(), want)


def test_a_saved_network_predicts_fused(tmp_path):
    net = _network()
    net.eval()
    want = net(paddle.to_tensor(_X)).numpy()
    paddle.jit.save(net, str(tmp_path / "m"), [paddle.static.InputSpec([None, 3, 8, 8], "float32", "x")])
    loaded = paddle.jit.load(str(tmp_path / "m"))
    np.testing.assert_array_equal(loaded(paddle.to_tensor(_X)).numpy(), want)

    def predicted(passes):
        config = paddle.inference.Config(str(tmp_path / "m.pdmodel"), str(tmp_path / "m.pdiparams"))
        config.switch_ir_optim(passes)
        predictor = paddle.inference.create_predictor(config)
        predictor.get_input_handle("x").copy_from_cpu(_X)
        predictor.run()
        return predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()

    np.testing.assert_array_equal(predicted(passes=False), want)
    # Normalization folded into weights rounds elsewhere.
    np.testing.assert_allclose(predicted(passes=True), want, rtol=1e-4, atol=1e-5)


def _train(steps, wrap):
    net = wrap(_network())
    optimizer = paddle.optimizer.Momentum(0.01, parameters=net.parameters())
    losses = []
    paddle.seed(1)
    for _ in range(steps):
        loss = (net(paddle.to_tensor(_X)) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.numpy())
    return losses, [b.numpy() for b in net.buffers()]


def test_training_a_replay_is_training():
    want, buffers = _train(3, lambda net: net)
    found, others = _train(3, paddle.jit.to_static)
    np.testing.assert_allclose(found, want, rtol=1e-5)
    assert found[0] == want[0]
    for a, b in zip(others, buffers, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_a_training_program_has_the_bits_of_its_text():
    def run(passes):
        net = _network()
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            loss = (net(paddle.static.data("x", [None, 3, 8, 8])) ** 2).mean()
            paddle.optimizer.SGD(0.01, parameters=net.parameters()).minimize(loss)
            # An output of the program is not fused away: asking for all of them is the program as it stands.
        kept = [] if passes else _everything(main)
        paddle.seed(1)
        exe = paddle.static.Executor()
        losses = [exe.run(main, feed={"x": _X}, fetch_list=[loss, *kept])[0] for _ in range(3)]
        return losses, [p.numpy() for p in net.parameters()], main._program.plan([loss, *kept])

    losses, parameters, text = run(True)
    want, others, plain = run(False)
    assert "batch_norm_add_relu(" in text and "batch_norm_add_relu(" not in plain
    np.testing.assert_array_equal(losses, want)
    for a, b in zip(parameters, others, strict=True):
        np.testing.assert_array_equal(a, b)


def _everything(main):
    """All results of normalizations and additions, by names that they are given."""
    program = main._program
    found = []
    for line in str(program).splitlines():
        if " = batch_norm(" in line or " = add(" in line:
            found.append(int(line.strip()[1:].split(",")[0].split(" ")[0]))
    return [program.value(n) for n in found]


def test_shared_normalization_keeps_the_order_of_its_updates():
    norm, relu = nn.BatchNorm2D(3), nn.ReLU()
    reference = nn.BatchNorm2D(3)

    def build(norm, x):
        a, b = norm(x), norm(x * 2.0 + 1.0)
        return relu(b + relu(a))

    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        y = build(norm, paddle.static.data("x", [4, 3, 8, 8]))
    found = paddle.static.Executor().run(main, feed={"x": _X}, fetch_list=[y])[0]
    np.testing.assert_array_equal(found, build(reference, paddle.to_tensor(_X)).numpy())
    np.testing.assert_array_equal(norm._mean.numpy(), reference._mean.numpy())
    np.testing.assert_array_equal(norm._variance.numpy(), reference._variance.numpy())


def test_clone_is_a_copy():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [2])
        y = x * 2.0
    copy = main.clone()
    assert str(copy) == str(main) and copy is not main
    with paddle.static.program_guard(main):
        z = y + 1.0
    assert copy.num_operations == main.num_operations - 1
    exe, feed = paddle.static.Executor(), {"x": np.ones([2], "float32")}
    assert exe.run(copy, feed=feed, fetch_list=[y])[0].tolist() == [2.0, 2.0]
    assert exe.run(main, feed=feed, fetch_list=[z])[0].tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="another program"):
        exe.run(copy, feed=feed, fetch_list=[z])
    with paddle.static.program_guard(copy):
        w = copy.var("x") + 5.0
    assert exe.run(copy, feed=feed, fetch_list=[w])[0].tolist() == [6.0, 6.0]


def test_a_clone_for_a_test_is_one():
    net = _network()
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        y = net(paddle.static.data("x", [None, 3, 8, 8]))
        loss = (y**2).mean()
        before = main.clone(for_test=True)
        _, pairs = paddle.optimizer.SGD(0.1, parameters=net.parameters()).minimize(loss)
    after = main.clone(for_test=True)
    exe = paddle.static.Executor()
    exe.run(main, feed={"x": _X}, fetch_list=[loss])
    net.eval()
    want = net(paddle.to_tensor(_X)).numpy()
    state = {k: v.numpy() for k, v in net.state_dict().items()}
    for test in (before, after, after.clone()):
        for _ in range(2):
            np.testing.assert_array_equal(exe.run(test, feed={"x": _X}, fetch_list=[y])[0], want)
        # What is left of gradients is no output's; that nothing is drawn or updated is what counts.
        assert not [line for line in str(test).splitlines() if "= dropout(" in line and "training=true" in line]
        assert "= dropout(" in str(test) and "sgd_" not in str(test) and " batch_norm(" not in str(test)
    for k, v in net.state_dict().items():
        np.testing.assert_array_equal(v.numpy(), state[k])
    with pytest.raises(ValueError, match="of training"):
        exe.run(after, feed={"x": _X}, fetch_list=[pairs[0][1]])


def test_each_op_of_training_says_what_it_is_in_a_test():
    """The parser refuses silence; here is what the schemas say."""
    from ops.schema import parser

    ops = parser.parse_files(glob.glob("ops/*/*.yaml")).values()
    speaking = {op.name for op in ops if op.inference}
    assert {"dropout", "batch_norm", "batch_norm_relu", "batch_norm_add_relu"} <= speaking
    for op in ops:
        if op.inference and set(op.inference) <= {o.name for o in op.outputs}:
            assert op.outputs[0].name in op.inference, op.name


def test_passes_are_listed_and_dumped():
    assert {"dead_code", "fuse_norm", "test_mode"} <= set(paddle._C.passes())
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [2])
        y = paddle.cast(x, "float32").exp() + x.exp()
    seen = []
    paddle._C.set_pass_checks(True, lambda name, before, after: seen.append((name, before, after)))
    try:
        paddle.static.Executor().run(main, feed={"x": np.zeros([2], "float32")}, fetch_list=[y])
    finally:
        paddle._C.set_pass_checks(True)
    assert "common_subexpressions" in [name for name, _, _ in seen]
    assert all(before != after for _, before, after in seen)


def test_nothing_is_analysed_twice():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [2])
        y = x.exp() + x.exp()
    calls = []
    paddle._C.set_pass_checks(True, lambda *texts: calls.append(texts))
    try:
        exe = paddle.static.Executor()
        for _ in range(3):
            exe.run(main, feed={"x": np.zeros([2], "float32")}, fetch_list=[y])
        assert len(calls) == 1
    finally:
        paddle._C.set_pass_checks(True)


def test_fetched_constants_are_the_callers():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        ones = paddle.ones([3])
        y = ones.reshape([3, 1])
    exe = paddle.static.Executor()
    for _ in range(2):
        out = exe.run(main, fetch_list=[y], return_numpy=False)[0]
        assert out.sum().item() == 3.0
        out.fill_(7.0)


@paddle.jit.to_static
def _chain(x, y):
    return paddle.tanh(x * y) + x


def _large():
    x = np.random.default_rng(2).standard_normal([1100, 1000]).astype("float32")
    return paddle.to_tensor(x), paddle.to_tensor(x[:, :1].copy())


def test_chains_of_pointwise_ops_are_one_with_the_same_bits(capsys):
    x, y = _large()
    with paddle.no_grad():
        found = _chain(x, y)
        assert "pointwise([" in _chain._last.module.plan
        np.testing.assert_array_equal(found.numpy(), _chain.dygraph_function(x, y).numpy())
        with paddle.profiler.Profiler() as profile:
            _chain(x, y)
    profile.summary()
    assert "pointwise: multiply, tanh, add" in capsys.readouterr().out


def test_gradients_and_checks_see_the_ops_of_a_chain():
    x, y = _large()
    x.stop_gradient = False
    _chain(x, y).sum().backward()
    replayed, x.grad = x.grad.numpy(), None
    _chain.dygraph_function(x, y).sum().backward()
    np.testing.assert_array_equal(replayed, x.grad.numpy())
    bad = paddle.to_tensor(np.full([1100, 1000], np.nan, "float32"))
    with paddle.no_grad():
        _chain(bad, y)
        paddle.set_flags({"FLAGS_check_nan_inf": True})
        try:
            with pytest.raises(RuntimeError, match="multiply"):
                _chain(bad, y)
        finally:
            paddle.set_flags({"FLAGS_check_nan_inf": False})


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_pooling_before_relu_has_the_same_bits_and_gradients(dtype):
    """Of ties, NaN and windows without a positive number, too; the sign of a zero aside."""
    x = np.round(_RNG.standard_normal([3, 5, 9, 8]) * 2)
    x[_RNG.random(x.shape) < 0.03] = np.nan
    x[_RNG.random(x.shape) < 0.03] = -np.inf
    x = (x + 0.0).astype(dtype)
    forward = lambda x: paddle.nn.functional.max_pool2d(paddle.nn.functional.relu(x), 3, 2, 1)
    converted = paddle.jit.to_static(forward)
    found = []
    for function in (forward, converted):
        given = paddle.to_tensor(x, stop_gradient=False)
        out = function(given)
        out.backward(paddle.to_tensor(_GRAD[: out.numel().item()].reshape(out.shape).astype(dtype)))
        found.append((out.numpy(), given.grad.numpy()))
    plan = converted._recordings[0].module.plan
    assert plan.index("max_pool2d(") < plan.index("relu(")
    for eager, compiled in zip(*found):
        np.testing.assert_array_equal(compiled, eager)
        assert np.abs(np.nan_to_num(eager)).max() > 0
