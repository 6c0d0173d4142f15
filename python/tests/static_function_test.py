"""Recordings of to_static hold for what they were made for: context, layers, arguments, sizes; gradients go where they went."""

import collections
import copy
import dataclasses
import functools
import operator

import numpy as np
import pytest

import proa as paddle
from proa import nn
from proa.jit.static_function import MAX_RECORDINGS

F = nn.functional


def _x(*shape, gradient=True):
    x = paddle.to_tensor(np.random.default_rng(0).normal(size=shape).astype("float32"))
    x.stop_gradient = not gradient
    return x


def _result_and_gradient(function, x, *args):
    x = x.detach()
    x.stop_gradient = False
    y = function(x, *args)
    if not y.stop_gradient:
        y.sum().backward()
    return y.numpy(), None if x.grad is None else x.grad.numpy()


def _same(function, x, *args):
    recorded = function if hasattr(function, "dygraph_function") else paddle.jit.to_static(function)
    want, got = _result_and_gradient(recorded.dygraph_function, x, *args), _result_and_gradient(recorded, x, *args)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-6)
    assert (want[1] is None) == (got[1] is None)
    if want[1] is not None:
        np.testing.assert_allclose(got[1], want[1], rtol=1e-6)


# Gradients -------------------------------------------------------------------


def _frozen(x):
    y = x * 3
    y.stop_gradient = True
    return y


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x * 2).detach() * x,
        lambda x: x.detach() * x,
        lambda x: _without_gradient(lambda: x * x) + x,
        lambda x: _without_gradient(lambda: x * x),
        lambda x: _frozen(x) * x,
        lambda x: (x * 2).detach(),
        lambda x: (x * 2).detach()[0] * x[1],
        lambda x: F.relu((x * 2).detach()).reshape([-1]) * x.reshape([-1]),
        lambda x: paddle.concat([x.detach(), x * x]),
        lambda x: paddle.grad((x**3).sum(), x, create_graph=True)[0],
        lambda x: paddle.where(x > 0, x, x.detach() * 2),
    ],
)
def test_gradients_stop_where_the_function_stops_them(function):
    _same(function, _x(3, 2))


_cond = paddle.static.nn.cond


@pytest.mark.parametrize(
    "function",
    [
        lambda x: _cond(x.sum() > -99, lambda: x * x, lambda: x * 3),
        lambda x: _cond(x.sum() > -99, lambda: x.detach() * x, lambda: x * 3),
        lambda x: _cond(x.sum() > -99, lambda: _cond(x.sum() > -99, lambda: x * x, lambda: x), lambda: x * 3),
        lambda x: _cond(x.sum() > -99, lambda: _nested(x * x), lambda: x * 3),
        lambda x: _cond(x.sum() > -99, lambda: x * x, lambda: x * 3).detach() * x,
        lambda x: _without_gradient(lambda: _cond(x.sum() > -99, lambda: x * x, lambda: x * 3)) * x,
    ],
)
def test_gradients_of_regions(function):
    _same(function, _x(3, 2))


def _nested(y):
    return _cond(y.sum() > -99, lambda: y * 2, lambda: y)


def _without_gradient(function):
    with paddle.no_grad():
        return function()


def test_a_saved_program_stops_them_too(tmp_path):
    w = paddle.create_parameter([2], "float32", default_initializer=nn.initializer.Constant(2.0))

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.w = w

        def forward(self, x):
            return (x * self.w).detach() * self.w

    prefix = str(tmp_path / "net")
    paddle.jit.save(Net(), prefix, [paddle.static.InputSpec([None, 2])])
    loaded = paddle.jit.load(prefix)
    x = _x(3, 2)
    loaded(x).sum().backward()
    assert x.grad is None
    np.testing.assert_allclose(loaded.parameters()[0].grad.numpy(), (2 * x.detach()).sum(0).numpy(), rtol=1e-6)


def test_frozen_parameters_may_be_trained_later():
    linear = nn.Linear(2, 2)
    linear.weight.stop_gradient = True
    function = paddle.jit.to_static(lambda x: linear(x).detach() * linear(x))
    x = _x(3, 2)
    function(x).sum().backward()
    assert linear.weight.grad is None and linear.bias.grad is not None
    linear.weight.stop_gradient = False
    linear.clear_gradients()
    function(x).sum().backward()
    got = linear.weight.grad.numpy()
    linear.clear_gradients()
    function.dygraph_function(x).sum().backward()
    np.testing.assert_allclose(got, linear.weight.grad.numpy(), rtol=1e-5)
    assert "stop_gradient" in function.explain()


def test_stop_gradient_of_arguments_is_seen():
    @paddle.jit.to_static
    def function(x):
        return x * (2 if x.stop_gradient else 3)

    for _ in range(2):
        assert function(paddle.ones([1])).item() == 2
        assert function(_x(1)).item() == pytest.approx(3 * _x(1).item())
    with paddle.no_grad():
        assert function(_x(1)).item() == pytest.approx(3 * _x(1).item())


def test_an_argument_that_is_changed_in_place():
    @paddle.jit.to_static
    def function(x, y):
        x.add_(y)
        x[0] = 7.0
        return x * 2

    for _ in range(2):
        x, y = paddle.ones([2]), paddle.ones([2])
        assert function(x, y).tolist() == [14, 4]
        assert x.tolist() == [7, 2] and y.tolist() == [1, 1]
    y = _x(2)
    x = paddle.ones([2])
    function(x, y).sum().backward()
    assert x.tolist() == pytest.approx([7, 1 + y[1].item()]) and not x.stop_gradient
    assert y.grad.tolist() == [0, 2]


# Context ---------------------------------------------------------------------


def test_autocast_of_a_recording_stays_inside():
    linear = nn.Linear(4, 4)
    function = paddle.jit.to_static(lambda x: linear(x))
    x = _x(2, 4)
    with paddle.amp.auto_cast(dtype="bfloat16"):
        assert function(x).dtype == paddle.bfloat16
    assert function(x).dtype == paddle.float32
    with paddle.amp.auto_cast(dtype="bfloat16", custom_black_list=["linear"]):
        assert function(x).dtype == paddle.float32
    with paddle.amp.auto_cast(dtype="bfloat16"):
        assert function(x).dtype == paddle.bfloat16
    assert function.explain().count("autocast") == 2


def test_a_function_that_turns_autocast_off():
    @paddle.jit.to_static
    def function(x):
        with paddle.amp.auto_cast(enable=False):
            return paddle.matmul(x, x)

    for _ in range(2):
        with paddle.amp.auto_cast(dtype="bfloat16"):
            assert function(_x(4, 4)).dtype == paddle.float32


def test_a_loaded_program_computes_in_the_dtypes_that_were_recorded(tmp_path):
    paddle.jit.save(nn.Linear(4, 4), str(tmp_path / "net"), [paddle.static.InputSpec([None, 4])])
    loaded = paddle.jit.load(str(tmp_path / "net"))
    with paddle.amp.auto_cast(dtype="bfloat16"):
        assert loaded(_x(2, 4)).dtype == paddle.float32
    assert dict(loaded._module.context)["training"] == "false"
    with paddle.amp.auto_cast(dtype="bfloat16"):
        paddle.jit.save(nn.Linear(4, 4), str(tmp_path / "cast"), [paddle.static.InputSpec([None, 4])])
    loaded = paddle.jit.load(str(tmp_path / "cast"))
    assert loaded(_x(2, 4)).dtype == paddle.bfloat16
    assert dict(loaded._module.context)["autocast"] == "O1 bfloat16"


def test_flags_that_decide_what_is_computed():
    function = paddle.jit.to_static(
        lambda x: x.sum()[0] if paddle.get_flags("FLAGS_set_to_1d")["FLAGS_set_to_1d"] else x
    )
    x = _x(3)
    assert function(x).shape == [3]
    paddle.set_flags({"FLAGS_set_to_1d": True})
    try:
        assert function(x).shape == []
    finally:
        paddle.set_flags({"FLAGS_set_to_1d": False})
    assert function(x).shape == [3]


def test_gradients_on_or_off():
    function = paddle.jit.to_static(lambda x: x * (2 if paddle.is_grad_enabled() else 3))
    x = paddle.ones([1])
    for _ in range(2):
        assert function(x).item() == 2
        with paddle.no_grad():
            assert function(x).item() == 3


# Layers ----------------------------------------------------------------------


class _Holder:
    """Not a layer; what a function reaches through it is not among what it names."""

    def __init__(self, *layers):
        self.layers = list(layers)


def test_modes_of_layers_however_they_are_reached():
    dropout = nn.Dropout(0.5)
    holder = _Holder(nn.Linear(32, 32), dropout)

    @paddle.jit.to_static
    def function(x):
        for layer in holder.layers:
            x = layer(x)
        return x

    x = _x(4, 32)
    for _ in range(2):
        dropout.train()
        assert not np.array_equal(function(x).numpy(), function(x).numpy())
        dropout.eval()
        np.testing.assert_array_equal(function(x).numpy(), holder.layers[0](x).numpy())
    assert len(function._recordings) == 2 and "in training" in function.explain()


def test_a_layer_that_sets_its_own_mode():
    class Frozen(nn.Layer):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1D(3)

        def forward(self, x):
            self.norm.eval()
            return self.norm(x)

    net = paddle.jit.to_static(Frozen())
    for _ in range(4):
        net.train()
        net(_x(4, 3))
    assert len(net.forward._recordings) == 1


def test_hooks_come_and_go():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    function = paddle.jit.to_static(net)
    x = _x(3, 2)
    plain = function(x).numpy()
    post = net[0].register_forward_post_hook(lambda layer, inputs, output: output * 2)
    np.testing.assert_allclose(function(x).numpy(), 2 * plain, rtol=1e-6)
    pre = net[0].register_forward_pre_hook(lambda layer, inputs: (inputs[0] * 0,))
    want = np.maximum(2 * net[0].bias.numpy(), 0) * np.ones((3, 1), "float32")
    np.testing.assert_allclose(function(x).numpy(), want, rtol=1e-6)
    pre.remove()
    np.testing.assert_allclose(function(x).numpy(), 2 * plain, rtol=1e-6)
    post.remove()
    np.testing.assert_array_equal(function(x).numpy(), plain)


def test_parameters_sublayers_and_dtypes_that_are_exchanged():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    function = paddle.jit.to_static(lambda x: net(x))
    x = _x(3, 2)
    function(x)
    net[0].weight = paddle.create_parameter([2, 2], "float32")
    np.testing.assert_allclose(function(x).numpy(), net(x).numpy(), rtol=1e-6)
    net[1] = nn.Linear(2, 5)
    assert function(x).shape == [3, 5]
    net[0].register_buffer("extra", paddle.ones([1]))
    function(x)
    net.to(dtype="float64")
    assert function(x.astype("float64")).dtype == paddle.float64


def test_a_copy_of_a_converted_layer_has_its_own_parameters():
    net = paddle.jit.to_static(nn.Linear(2, 2))
    x = _x(3, 2)
    before = net(x).numpy()
    other = copy.deepcopy(net)
    other.weight.set_value(paddle.zeros([2, 2]))
    assert not np.array_equal(other(x).numpy(), before)
    np.testing.assert_array_equal(net(x).numpy(), before)
    assert net.forward.rollback()(x).shape == [3, 2] and "forward" not in net.__dict__


# Arguments and results -------------------------------------------------------

Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Batch:
    image: object
    label: object
    scale: float = 2.0


class Output(dict):
    pass


def test_structures_go_in_and_out():
    @paddle.jit.to_static
    def function(batch, pairs, *, gain=1.0, names):
        p = pairs["p"]
        y = batch.image * batch.scale + batch.label
        return Output(y=y, n=None), Pair([p.a + p.b, names], p.a * gain), Batch(y, p.b), (), 3, "text"

    for scale, gain in ((2.0, 1.0), (3.0, 5.0)):
        batch = Batch(_x(2), paddle.ones([2]), scale)
        pairs = {"p": Pair(paddle.ones([1]), paddle.full([1], 4.0))}
        out, pair, made, empty, number, text = function(batch, pairs, names=["a", "b"], gain=gain)
        assert type(out) is Output and out["n"] is None and empty == () and (number, text) == (3, "text")
        np.testing.assert_allclose(out["y"].numpy(), _x(2).numpy() * scale + 1, rtol=1e-6)
        assert type(pair) is Pair and pair.a[0].tolist() == [5] and pair.a[1] == ["a", "b"]
        assert pair.b.tolist() == [gain] and type(made) is Batch and made.label.tolist() == [4]


def test_no_tensors_at_all():
    state = paddle.zeros([1])

    @paddle.jit.to_static
    def function(x):
        paddle.assign(state + x, state)

    assert function(paddle.ones([1])) is None
    assert function(paddle.ones([1])) is None
    assert state.tolist() == [2]


def test_values_are_told_apart():
    function = paddle.jit.to_static(lambda x, v: x * 0 + (2 if v is True else 3 if isinstance(v, int) else 1 / v))
    x = paddle.ones([1])
    assert [function(x, v).item() for v in (True, 1, 1.0, np.float64(2.0))] == [2, 3, 1, 0.5]
    signs = paddle.jit.to_static(lambda x, v: x * (-1 if str(v)[0] == "-" else 1))
    assert [signs(x, v).item() for v in (0.0, -0.0, 0.0)] == [1, -1, 1]
    nan = float("nan")
    signs(x, nan), signs(x, float("nan"))
    assert len(signs._recordings) == 3


def test_arrays_are_tensors():
    function = paddle.jit.to_static(lambda x: x * 2)
    for values in ([1.0, 2.0], [3.0, 4.0]):
        assert function(np.array(values, "float32")).tolist() == [2 * v for v in values]
    assert len(function._recordings) == 1


def test_results_that_cannot_be_made_again_are_refused():
    class Box:
        def __init__(self, value):
            self.value = value

    with pytest.raises(TypeError, match="Box, whose value holds values of the program"):
        paddle.jit.to_static(lambda x: Box(x * 2))(_x(2))


def test_names_of_tensors_in_structures():
    function = paddle.jit.to_static(lambda a, b: a["x"][1] + b)
    function({"x": [_x(2), _x(2)]}, b=_x(2))
    assert function.main_program.input_names == ["x0_x_0", "x0_x_1", "x1"]


# Sizes -----------------------------------------------------------------------


def test_a_second_size_opens_the_dim():
    net = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3))
    function = paddle.jit.to_static(net).forward
    for n in (5, 2, 9, 7, 5, 100):
        _same(function, _x(n, 4))
    assert len(function._recordings) == 2, function.explain()
    for n in (0, 1):
        _same(function, _x(n, 4))
    assert len(function._recordings) == 4
    _same(function, _x(3, 6, 4))  # another rank
    _same(function, _x(3, 7, 4))
    _same(function, _x(2, 8, 4))
    assert len(function._recordings) == 7, function.explain()
    net.eval()
    _same(function, _x(12, 4))
    _same(function, _x(13, 4))
    assert "[?, 4]" in function.explain()


def test_a_training_step_opens_its_batch():
    net = nn.Sequential(nn.Conv2D(1, 2, 3), nn.BatchNorm2D(2), nn.Flatten(), nn.Linear(72, 5))

    @paddle.jit.to_static
    def loss_of(x, label):
        return F.cross_entropy(net(x), label)

    for n in (4, 3, 6, 9):
        x, label = _x(n, 1, 8, 8), paddle.to_tensor(np.arange(n) % 5)
        losses, gradients = [], []
        for function in (loss_of, loss_of.dygraph_function):
            net.clear_gradients()
            losses.append(function(x, label))
            losses[-1].backward()
            gradients.append(net[0].weight.grad.numpy())
        assert losses[0].item() == pytest.approx(losses[1].item(), rel=1e-5)
        np.testing.assert_allclose(*gradients, rtol=1e-4, atol=1e-6)
    assert len(loss_of._recordings) == 2, loss_of.explain()


def test_one_of_two_dims_that_needs_its_number():
    function = paddle.jit.to_static(lambda x: functools.reduce(operator.add, (x[:, i] for i in range(x.shape[1]))))
    for shape in ((4, 3), (5, 3), (6, 3), (6, 2), (7, 2), (8, 2), (9, 3)):
        _same(function, _x(*shape))
    text = function.explain()
    assert "[?, 3]" in text and "[?, 2]" in text and "refused" in text
    assert len(function._recordings) == 3, text


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if x.shape[0] == 3 else -x,
        lambda x: x if x.shape[0] > 3 else -x,
        lambda x: x * {3: 1.0, 4: 2.0}.get(x.shape[0], 5.0),
        lambda x: x if x.shape[0] % 2 == 0 else -x,
        lambda x: x if x.shape[0] in (3, 5) else -x,
        lambda x: x if tuple(x.shape) == (4, 2) else -x,
        lambda x: x if x.shape[0] == x.shape[1] else -x,
        lambda x: x if str(x.shape[0]) == "3" else -x,
        lambda x: x * float(x.shape[0]),
        lambda x: x * np.sqrt(x.shape[0]),
        lambda x: x * len(x),
    ],
)
def test_what_depends_on_the_number_is_recorded_for_each(function):
    function = paddle.jit.to_static(function)
    for n in (3, 4, 5, 6, 2, 3):
        _same(function, _x(n, 2))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if x.shape[0] > 0 else -x,
        lambda x: x if x.shape[0] != 1 and x.shape[0] >= 2 and not x.shape[0] < 2 else -x,
        lambda x: x if x.shape[0] != -1 else -x,
        lambda x: x if x.shape[0] == (x * 2).shape[0] or True else -x,
        lambda x: x if 2 * x.shape[0] + 1 > x.shape[0] - x.shape[0] + 3 and x.shape[0] else -x,
        lambda x: x if x.shape[0] == x.shape[0] and x.shape[0] + 1 != x.shape[0] else -x,
    ],
)
def test_what_is_true_of_all_sizes_is_recorded_once(function):
    function = paddle.jit.to_static(function)
    for n in (3, 4, 5, 6, 2, 3):
        _same(function, _x(n, 7))
    if "%" not in function.explain() and "refused" not in function.explain():
        assert len(function._recordings) == 2


def test_results_of_open_sizes_are_numbers():
    function = paddle.jit.to_static(lambda x: (x.shape, x.shape[0] * 2, x.sum()))
    for n in (3, 4, 5):
        shape, twice, _ = function(_x(n, 2))
        assert shape == [n, 2] and twice == 2 * n and type(twice) is int


def test_declared_sizes_are_open_from_the_start():
    function = paddle.jit.to_static(lambda x: x * 2, input_spec=[paddle.static.InputSpec([None, 3])])
    for n in (3, 4, 1, 0):
        assert function(_x(n, 3)).shape == [n, 3]
    assert len(function._recordings) == 1 and "[?, 3]" in function.explain()


def test_a_declared_spec_is_refused_by_name_and_line():
    class Net(nn.Layer):
        @paddle.jit.to_static(input_spec=[{"image": paddle.static.InputSpec([None, 3])}, paddle.static.InputSpec([2])])
        def forward(self, inputs, scale):
            return inputs["image"] * 2 + scale.sum()

    net = Net()
    assert net({"image": _x(2, 3)}, _x(2)).shape == [2, 3]
    with pytest.raises(
        ValueError, match=r"Net\.forward \(.*static_function_test\.py:\d+\): argument 0\['image'\] is \[2, 4\]"
    ):
        net({"image": _x(2, 4)}, _x(2))
    with pytest.raises(TypeError, match=r"argument 1 is \[2\] int64; its InputSpec says \[2\] float32"):
        net({"image": _x(2, 3)}, paddle.ones([2], "int64"))


# The cache -------------------------------------------------------------------


def test_the_cache_is_bounded_and_tells_why():
    function = paddle.jit.to_static(lambda x, k: x * k)
    x = _x(2)
    for k in range(MAX_RECORDINGS + 10):
        assert function(x, k).tolist() == (x * k).tolist()
    assert len(function._recordings) == MAX_RECORDINGS
    assert len(function._known) <= MAX_RECORDINGS
    text = function.explain()
    assert "10 dropped" in text and "the first call" not in text and "recorded for" in text
    assert function(x, 0).tolist() == [0, 0]  # made again


def test_each_recording_is_told_of(capsys):
    function = paddle.jit.to_static(lambda x: x * 2)
    paddle.jit.set_verbosity(1)
    paddle.jit.set_code_level(1)
    try:
        function(_x(2))
        function(_x(2))
        function(_x(3))
        function(_x(2).astype("float64"))
    finally:
        paddle.jit.set_verbosity(0)
        paddle.jit.set_code_level(0)
    text = capsys.readouterr().err
    assert text.count("was recorded") == 3 and "the first call" in text and "static_function_test.py" in text
    assert "other sizes: [3], recorded for [2]" in text and "tensor 0 is float64, recorded for float32" in text
    assert "multiply(%0" in text
    function(_x(2, 2))
    assert not capsys.readouterr().err


def test_the_cache_of_a_function_knows_what_was_used_last():
    function = paddle.jit.to_static(lambda x: x + x)
    with pytest.raises(RuntimeError, match="nothing is recorded yet"):
        function.program_cache.last()
    function(_x(2, 3))
    function(_x(2, 3).astype("float64"))
    assert len(function.program_cache) == 2 and function.program_cache.last()[1][0].specs[0].dtype == paddle.float64
    function(_x(2, 3))
    key, (concrete, module) = function.program_cache.last()
    assert concrete.specs[0].dtype == paddle.float32 and concrete is function.concrete_program
    assert module is not None and key in [r.key for r in function._recordings]


def test_flops_of_a_converted_layer():
    plain, converted = nn.Linear(4, 8), paddle.jit.to_static(nn.Linear(4, 8))
    assert paddle.flops(converted, [2, 4]) == paddle.flops(plain, [2, 4]) > 0


def test_the_program_of_a_spec_needs_no_call():
    function = paddle.jit.to_static(lambda x: x * 2, input_spec=[paddle.static.InputSpec([None, 3], "float32", "rows")])
    assert 'input "rows" : [?, 3] float32' in str(function.main_program)
    assert [t.shape[1] for t in (*function.inputs, *function.outputs)] == [3, 3]
    assert function.concrete_program is function.concrete_program  # whose inputs are those of its program
    with pytest.raises(RuntimeError, match="nothing is recorded yet"):
        paddle.jit.to_static(lambda x: x * 2).main_program  # noqa: B018


def test_concrete_programs_by_specs():
    """The names of specs belong to what a recording is for."""
    spec = paddle.static.InputSpec
    function = paddle.jit.to_static(lambda x, scale=1.0: x * scale)
    first, call = function.get_concrete_program(spec([None, 3], "float32", "a"))
    assert first.input_names == ["a"] and len(function.program_cache) == 1
    assert function.get_concrete_program(spec([None, 3], "float32", "a"))[0] is first
    assert function.get_concrete_program(spec([None, 3], "float32", "b"))[0] is not first
    assert function.get_concrete_program(spec([None, 3], "float32", "a"), scale=2.0)[0] is not first
    assert len(function.program_cache) == 3
    by_example, call = function.get_concrete_program(np.ones((2, 3), "float32"), 2.0)
    np.testing.assert_array_equal(call.call([paddle.ones([2, 3])])[0].numpy(), np.full((2, 3), 2.0))
    assert function.program_cache.last()[1][0] is by_example


class _Output(collections.OrderedDict):
    """As libraries of models give results: a data class and a dict, which only its items change."""

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if (value := getattr(self, field.name)) is not None:
                self[field.name] = value

    def update(self, *args, **kwargs):
        raise TypeError("no update")

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)


@dataclasses.dataclass
class _Pair(_Output):
    first: object = None
    second: object = None
    third: object = None


def test_results_that_are_dicts_of_their_own():
    function = paddle.jit.to_static(lambda x: _Pair(x * 2, third=(x, x + 1)))
    for value in (1.0, 2.0):
        out = function(paddle.to_tensor([value]))
        assert type(out) is _Pair and list(out) == ["first", "third"] and out.second is None
        assert out.first.item() == out["first"].item() == 2 * value and out.third[1].item() == value + 1
