"""What converted and saved functions must do as eager ones do: random numbers, state, tensors made on the way, modes."""

import os

import numpy as np
import pytest

import proa as paddle

F, nn = paddle.nn.functional, paddle.nn
X = paddle.ones([4, 3, 8, 8])

# Draws of every kind; of those that are no function of x, x is added so that they belong to the program.
DRAWS = {
    "randn": lambda x: x + paddle.randn(x.shape),
    "rand": lambda x: x + paddle.rand(x.shape),
    "standard_normal": lambda x: x + paddle.standard_normal(x.shape),
    "normal": lambda x: x + paddle.normal(0.0, 1.0, x.shape),
    "normal of tensors": lambda x: paddle.normal(x, x),
    "uniform": lambda x: x + paddle.uniform(x.shape),
    "randint": lambda x: x + paddle.randint(0, 1000, x.shape).astype("float32"),
    "randint_like": lambda x: paddle.randint_like(x, 0, 1000),
    "randperm": lambda x: x.flatten()[:64] + paddle.randperm(64).astype("float32"),
    "bernoulli": lambda x: paddle.bernoulli(x * 0.5),
    "multinomial": lambda x: paddle.multinomial(x.flatten()[:60], 30),
    "poisson": lambda x: paddle.poisson(x * 10),
    "gumbel_softmax": lambda x: F.gumbel_softmax(x),
    "dropout": lambda x: F.dropout(x, 0.5),
    "dropout with axis": lambda x: F.dropout(x, 0.5, axis=[0, 1]),
    "dropout2d": lambda x: F.dropout2d(x),
    "dropout3d": lambda x: F.dropout3d(x.unsqueeze(2)),
    "alpha_dropout": lambda x: F.alpha_dropout(x),
    "uniform_ of a value": lambda x: (x * 1).uniform_(),
    "exponential_ of a value": lambda x: (x * 1).exponential_(),
    "uniform_ of a fresh tensor": lambda x: x + paddle.zeros(x.shape).uniform_(),
    "exponential_ of data": lambda x: x + paddle.to_tensor(np.zeros([8], "float32")).exponential_(),
    "initializer of a fresh tensor": lambda x: x + nn.initializer.Normal()(paddle.zeros([8])),
}


def _saved(function, path, spec):
    prefix = os.path.join(path, "model")
    paddle.jit.save(function, prefix, [spec])
    return paddle.jit.load(prefix)


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_are_drawn_anew_in_each_run(name, tmp_path):
    draw = DRAWS[name]
    batch = paddle.static.InputSpec([4, 3, 8, 8])
    for function in (paddle.jit.to_static(draw), _saved(draw, tmp_path, batch)):
        first, second = function(X).numpy(), function(X).numpy()
        assert first.shape == second.shape and not np.array_equal(first, second)
        paddle.seed(7)
        want = draw(X).numpy()
        paddle.seed(7)
        np.testing.assert_array_equal(function(X).numpy(), want)  # from the same generator, in the same order


@pytest.mark.parametrize("name", sorted(set(DRAWS) - {"randperm", "multinomial"}))
def test_random_numbers_of_an_open_batch(name, tmp_path):
    loaded = _saved(DRAWS[name], tmp_path, paddle.static.InputSpec([None, 3, 8, 8]))
    for n in (1, 5):
        x = paddle.ones([n, 3, 8, 8])
        paddle.seed(7)
        want = DRAWS[name](x).numpy()
        paddle.seed(7)
        np.testing.assert_array_equal(loaded(x).numpy(), want)


def test_a_static_program_draws_anew_in_each_run():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        out = paddle.static.data("x", [3]) + paddle.randn([3])
    exe = paddle.static.Executor()
    runs = [exe.run(main, {"x": np.zeros(3, "float32")}, [out])[0] for _ in range(2)]
    assert not np.array_equal(*runs)


def test_layers_made_inside_of_a_recorded_function_start_once():
    class Lazy(nn.Layer):
        def forward(self, x):
            if not hasattr(self, "inner"):
                self.inner = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1D(3))
            return self.inner(x)

    net = paddle.jit.to_static(Lazy())
    net.eval()
    x = paddle.ones([2, 3])
    first = net(x).numpy()
    np.testing.assert_array_equal(net(x).numpy(), first)
    assert all(not paddle._C.is_symbolic(t) for t in (*net.parameters(), *net.buffers()))
    np.testing.assert_allclose(first, net.inner(x).numpy(), rtol=1e-6)


def test_what_is_computed_of_parameters_follows_them(tmp_path):
    weight = paddle.create_parameter([2], "float32")
    linear = nn.Linear(2, 2)

    @paddle.jit.to_static
    def function(x):
        with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
            return x * (weight * 2), linear(x.reshape([1, 2]))

    x = paddle.ones([2])
    function(x)
    weight.set_value(np.array([5, 6], "float32"))
    linear.weight.set_value(np.zeros([2, 2], "float32"))
    linear.bias.set_value(np.array([1, 2], "float32"))
    product, out = function(x)
    assert product.tolist() == [10, 12] and out.tolist() == [[1, 2]]
    product.sum().backward()
    assert weight.grad.tolist() == [2, 2]


def test_tensors_made_and_changed_in_a_run_are_of_that_run(tmp_path):
    def function(x):
        made = paddle.zeros([2])
        data = paddle.to_tensor(np.zeros(2, "float32"))
        made[0] = x.sum()
        data[1] = x.max()
        made.add_(data)
        return made

    spec = paddle.static.InputSpec([2])
    for recorded in (paddle.jit.to_static(function), _saved(function, tmp_path, spec)):
        first, second = recorded(paddle.ones([2])), recorded(paddle.ones([2]) * 3)
        assert first.tolist() == [2, 1] and second.tolist() == [6, 3]


@pytest.mark.parametrize("way", ["in place", "assigned", "set_value"])
def test_buffers_that_forward_changes(way, tmp_path):
    class Counter(nn.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", paddle.zeros([1]))

        def forward(self, x):
            if way == "in place":
                self.count.add_(paddle.ones([1]))
            elif way == "assigned":
                self.count = self.count + 1
            else:
                self.count.set_value(self.count + 1)
            return x * self.count

    x = paddle.ones([2])
    spec = paddle.static.InputSpec([2])
    for net in (Counter(), paddle.jit.to_static(Counter()), _saved(Counter(), tmp_path, spec)):
        assert [net(x).tolist() for _ in range(3)] == [[1, 1], [2, 2], [3, 3]]


def test_attributes_that_remember_the_last_call():
    class Net(nn.Layer):
        def forward(self, x):
            self.seen = x * 2
            return x + self.seen

    net = Net()
    assert net(paddle.ones([3])).tolist() == [3, 3, 3]
    recorded = paddle.jit.to_static(net)
    for n in (2, 3, 4):
        assert recorded(paddle.ones([n])).tolist() == [3] * n


def test_constants_can_be_read_while_a_program_is_recorded():
    @paddle.jit.to_static
    def function(x):
        sizes = paddle.arange(3) + 1
        total = sum(int(n) for n in sizes)
        for n in sizes.numpy():
            x = x + float(n)
        return x.reshape(sizes[:2] * paddle.to_tensor([1, 1])) * total, sizes.tolist()

    out, read = function(paddle.zeros([2]))
    assert out.tolist() == [[36, 36]] and read == [1, 2, 3]


def test_a_constant_leaves_its_program():
    """A cache that is filled while a program is recorded serves eager calls and other programs."""
    cache = []

    def function(x):
        if not cache:
            cache.append(paddle.arange(3, dtype="float32") * 2)
        return x + cache[0]

    recorded = paddle.jit.to_static(function)
    for n in (1, 2):
        assert recorded(paddle.zeros([n, 3])).tolist() == [[0, 2, 4]] * n
    assert function(paddle.zeros([3])).tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    "value",
    [lambda x, w: x.sum(), lambda x, w: w.sum(), lambda x, w: paddle.rand([])],
    ids=["an input", "a parameter", "a draw"],
)
def test_what_is_known_only_in_the_run_cannot_be_read(value):
    weight = paddle.create_parameter([1], "float32")
    for read in (
        lambda t: t.tolist(),
        lambda t: t.numpy(),
        paddle.jit.not_to_static(lambda t: t.item()),
        paddle.jit.not_to_static(lambda t: float(t)),
    ):
        with pytest.raises(RuntimeError, match="no elements until the program runs"):
            paddle.jit.to_static(lambda x, read=read: x * read(value(x, weight)))(paddle.ones([2]))


def test_modes_of_layers_in_sight_choose_the_recording():
    dropout, linear = nn.Dropout(0.5), nn.Linear(64, 64)
    x = paddle.ones([4, 64])
    as_function = paddle.jit.to_static(lambda x: dropout(linear(x)))
    net = nn.Sequential(linear, dropout)
    as_layer = paddle.jit.to_static(net)
    for function in (as_function, as_layer):
        net.train()
        assert not np.array_equal(function(x).numpy(), function(x).numpy())
        dropout.eval()  # a part alone
        np.testing.assert_array_equal(function(x).numpy(), linear(x).numpy())
        net.train()
        assert not np.array_equal(function(x).numpy(), linear(x).numpy())


def test_autocast_and_default_dtype_choose_the_recording():
    linear = nn.Linear(2, 2)
    function = paddle.jit.to_static(lambda x: (linear(x), paddle.ones([1])))
    x = paddle.ones([1, 2])
    for _ in range(2):
        assert function(x)[0].dtype == paddle.float32
        with paddle.amp.auto_cast(dtype="bfloat16"):
            assert function(x)[0].dtype == paddle.bfloat16
        paddle.set_default_dtype("float64")
        try:
            assert function(x)[1].dtype == paddle.float64
        finally:
            paddle.set_default_dtype("float32")


# Names, hooks, specs


def test_parameters_of_similar_names_stay_apart(tmp_path):
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(2, 2)
            self.a_weight = self.create_parameter([2, 2])
            self.register_buffer("a_bias", paddle.ones([2]))

        def forward(self, x):
            return self.a(x) @ self.a_weight + self.a_bias

    net = Net()
    loaded = _saved(net, tmp_path, paddle.static.InputSpec([None, 2]))
    assert len(loaded.parameters()) == 3 and len(loaded.buffers()) == 1
    x = paddle.rand([3, 2])
    np.testing.assert_array_equal(loaded(x).numpy(), net(x).numpy())
    loaded(x).sum().backward()
    assert all(p.grad is not None for p in loaded.parameters())


def test_hooks_are_part_of_what_is_saved(tmp_path):
    net = nn.Linear(2, 2)
    net.register_forward_post_hook(lambda layer, inputs, output: output * 2)
    net.register_forward_pre_hook(lambda layer, inputs: (inputs[0] + 1,))
    x = paddle.rand([3, 2])
    want = net(x).numpy()
    np.testing.assert_array_equal(_saved(net, tmp_path, paddle.static.InputSpec([None, 2]))(x).numpy(), want)
    np.testing.assert_array_equal(_saved(paddle.jit.to_static(net), tmp_path, None or x)(x).numpy(), want)


def test_saving_after_a_call_needs_no_spec(tmp_path):
    net = paddle.jit.to_static(nn.Linear(2, 3))
    with pytest.raises(ValueError, match="input_spec is missing"):
        paddle.jit.save(net, str(tmp_path / "m"))
    x = paddle.rand([4, 2])
    want = net(x).numpy()
    paddle.jit.save(net, str(tmp_path / "m"))
    np.testing.assert_array_equal(paddle.jit.load(str(tmp_path / "m"))(x).numpy(), want)


def test_a_declared_spec_is_checked():
    function = paddle.jit.to_static(lambda x: x * 2, input_spec=[paddle.static.InputSpec([None, 3])])
    assert function(paddle.ones([2, 3])).shape == [2, 3]
    with pytest.raises(ValueError, match=r"argument 0 is \[2, 4\] int64; its InputSpec says \[-1, 3\] float32"):
        function(paddle.ones([2, 4], "int64"))
    with pytest.raises(TypeError, match=r"argument 0 is \[2, 3\] int64"):
        function(paddle.ones([2, 3], "int64"))


# Static mode


def test_mode_switches_in_any_order():
    try:
        paddle.enable_static()
        with paddle.static.program_guard(paddle.static.Program()):
            paddle.disable_static()
            assert paddle.in_dynamic_mode()
        assert paddle.in_dynamic_mode()
        with paddle.static.program_guard(paddle.static.Program()):
            assert not paddle.in_dynamic_mode()
            paddle.enable_static()
        assert not paddle.in_dynamic_mode()
        assert paddle._C.is_symbolic(paddle.ones([1]))
        with paddle.static.program_guard(paddle.static.Program()):
            pass
        assert not paddle.in_dynamic_mode()
    finally:
        paddle.disable_static()
    with paddle.static.program_guard(paddle.static.Program()):
        pass
    assert paddle.in_dynamic_mode()


def test_one_input_declared_twice():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [2])
        y = x + paddle.static.data("x", [2])
        with pytest.raises(ValueError, match=r"already has an input 'x' \[2\] float32, not \[3\] float32"):
            paddle.static.data("x", [3])
    assert paddle.static.Executor().run(main, {"x": np.ones(2, "float32")}, [y])[0].tolist() == [2, 2]


def test_feeds_and_fetches_as_programs_write_them():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [2])
        y = x * 2
        z = (y + 1).sum()
        z.name = "loss"
    exe = paddle.static.Executor()
    feed = {"x": np.ones(2, "float32"), "unused": np.zeros(5)}
    a, b, c, d = exe.run(main, feed, [y, [z, ["loss"]], (y.name,)])
    assert a.tolist() == d.tolist() == [2, 2] and b == c == 6
    assert exe.run(main, feed, z)[0] == 6
    with pytest.raises(ValueError, match="no tensor of the program is named 'nothing'"):
        exe.run(main, feed, ["nothing"])


def test_schedules_reach_recorded_steps():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        w = paddle.create_parameter([1], "float32", default_initializer=nn.initializer.Constant(0.0))
        rate = paddle.optimizer.lr.StepDecay(1.0, 1, 0.5)
        paddle.optimizer.SGD(rate, parameters=[w]).minimize((w * paddle.static.data("x", [1])).sum())
    exe = paddle.static.Executor()
    seen = []
    for _ in range(3):
        exe.run(main, {"x": np.ones(1, "float32")}, [])
        rate.step()
        seen.append(float(w))
    assert seen == [-1.0, -1.5, -1.75]


def test_buffers_of_layers_of_a_static_program_keep_their_values():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        norm = nn.BatchNorm1D(3)
        out = norm(paddle.static.data("x", [None, 3]))
    paddle.static.Executor().run(main, {"x": np.ones([4, 3], "float32")}, [out])
    np.testing.assert_allclose(norm._mean.numpy(), [0.1] * 3, rtol=1e-6)


# Open sizes

OPEN = {
    "attribute": lambda x: paddle.topk(x, x.shape[0], axis=0)[0],
    "reshape": lambda x: x.reshape([x.shape[0], -1]),
    "reshape with arithmetic": lambda x: x.reshape([x.shape[0] * x.shape[1], 2, -1]),
    "division": lambda x: x / x.shape[0],
    "from the left": lambda x: x.shape[0] - x,
    "number": lambda x: x * (1.0 / x.shape[0] + x.shape[0] // 2),
    "size": lambda x: x.sum() / x.size,
    "zeros": lambda x: x + paddle.zeros([x.shape[0], 1, 1]),
    "expand": lambda x: paddle.ones([1, 3, 4]).expand([x.shape[0], -1, -1]) + x,
    "expand_as": lambda x: paddle.ones([3, 4]).expand_as(x) * x,
    "tile": lambda x: paddle.tile(paddle.ones([3, 4]), [x.shape[0], 1, 1]) + x,
    "maximum": lambda x: paddle.maximum(x, x.shape[0]),
    "arange": lambda x: x + paddle.arange(x.shape[0], dtype="float32").reshape([-1, 1, 1]),
    "arange backwards": lambda x: x.sum() + paddle.arange(2 * x.shape[0], 0, -3),
    "arange of floats": lambda x: x.sum() + paddle.arange(0.5, x.shape[0] * 1.0, 0.25),
    "full of a sum": lambda x: x + paddle.full([x.shape[0], 1, 1], x.sum()),
    "full_like of an integer": lambda x: paddle.full_like(x, x.argmax(), "int64"),
    "sequence_mask": lambda x: F.sequence_mask((x.sum([1, 2]) * 2).astype("int64")),
    "kl_div": lambda x: F.kl_div(x, x + 1, "batchmean"),
    "diff": lambda x: paddle.diff(x, axis=0),
    "gcd": lambda x: paddle.gcd((x * 9).astype("int32"), paddle.to_tensor(6, "int32")),
    "slice": lambda x: x[: x.shape[0] - 1].sum() + x[x.shape[0] - 1 :],
    "fresh shape": lambda x: paddle.full([x.shape[0], 2], 3.0).sum() + x,
}


@pytest.mark.parametrize("name", OPEN)
def test_open_sizes_compute_in_the_run(name, tmp_path):
    loaded = _saved(OPEN[name], tmp_path, paddle.static.InputSpec([None, 3, 4]))
    for n in (1, 2, 5):
        x = paddle.rand([n, 3, 4])
        np.testing.assert_allclose(loaded(x).numpy(), OPEN[name](x).numpy(), rtol=1e-6)


REFUSED = {
    "range": lambda x: [x for _ in range(x.shape[0])],
    "int": lambda x: x * int(x.shape[0]),
    "float": lambda x: x * float(x.shape[0]),
    "comparison": lambda x: x if x.shape[0] == 1 else -x,
    "max": lambda x: x / max(x.shape[0], 1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_the_number_is_refused(name):
    main = paddle.static.Program()
    with paddle.static.program_guard(main), pytest.raises(RuntimeError, match="known only when") as e:
        REFUSED[name](paddle.static.data("x", [None, 3]))
    assert "InputSpec" in str(e.value)


def test_open_sizes_are_known_by_minus_one():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [None, 3])
        n = x.shape[0]
        assert x.shape == [-1, 3] and n == -1 and n < 0 and not n > 0 and n != 0 and -1 in x.shape
        assert str(x.shape) == "[-1, 3]" and f"{n}" == "-1"
        with pytest.warns(UserWarning, match="open sizes of the inputs 'x' .* and 'y' .* are taken for equal"):
            assert x.shape == paddle.static.data("y", [None, 3]).shape
        assert x.reshape([n, 3, 1]).shape == [-1, 3, 1]  # what is known stays known
        assert paddle.static.data("z", [n, 2]).shape == [-1, 2]


def test_open_sizes_are_what_they_are():
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x, y = paddle.static.data("x", [None, None]), paddle.static.data("y", [None])
        n, m = x.shape
        assert n == x.shape[0] and not n != x.shape[0] and n == (n + n) - n
        assert 2 * n + 1 == n + (n + 1) and n != n + 1 and n < n + 1 and n + 1 > n and not n - 1 >= n
        assert 3 * (n + m) - 3 * m == 3 * n and -n + n == 0 and (n + 2) - n == 2
        assert n // 2 == n // 2 and n % 3 + 1 != n % 3
        assert str(2 * n + 1) == "2*%0.shape[0] + 1" and str(n // 2 - m) == "(%0.shape[0])//(2) - %0.shape[1]"
        for compare in (lambda: n + 1 == m, lambda: n < m, lambda: 2 * n == y.shape[0], lambda: n + 1 == 4):
            with pytest.raises(RuntimeError, match="known only when the program runs"):
                compare()
        with pytest.warns(UserWarning, match="taken for equal"):
            assert n == y.shape[0]
