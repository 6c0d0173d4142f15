"""Layer: members, state, hooks, modes, names; containers."""

import copy
import pickle
import warnings
import weakref

import numpy as np
import pytest

import proa
from proa import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 2, bias_attr=False)
        self.register_buffer("count", proa.zeros([1]))
        self.register_buffer("scratch", proa.zeros([2]), persistable=False)
        self.number = 5

    def forward(self, x):
        return self.second(nn.functional.relu(self.first(x)))


def test_walks():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == ["first.weight", "first.bias", "second.weight"]
    assert [n for n, _ in net.named_sublayers()] == ["first", "second"]
    assert [n for n, _ in net.named_sublayers(include_self=True)] == ["", "first", "second"]
    assert [n for n, _ in net.named_buffers()] == ["count", "scratch"]
    assert [n for n, _ in net.named_children()] == ["first", "second"]
    assert list(net.state_dict()) == ["count", "first.weight", "first.bias", "second.weight"]
    assert "scratch" in net.to_static_state_dict()
    assert net.second.bias is None
    assert len(net.parameters(include_sublayers=False)) == 0


def test_names_are_unique():
    with proa.utils.unique_name.guard():
        a, b = nn.Linear(2, 2), nn.Linear(2, 2)
        assert a.full_name() == "linear_0" and b.full_name() == "linear_1"
        assert a.weight.name == "linear_0.w_0" and a.bias.name == "linear_0.b_0"
        assert nn.Conv2D(1, 1, 1).weight.name == "conv2d_0.w_0"
        assert nn.BatchNorm2D(1)._mean.name == "batch_norm2d_0.w_1"


def test_shared_parameters_are_walked_once():
    net = Net()
    net.third = nn.Linear(3, 4)
    net.third.weight = net.first.weight
    assert len(net.parameters()) == 4
    assert len(net.state_dict()) == 6


def test_attributes():
    net = Net()
    with pytest.raises(TypeError, match="is a parameter"):
        net.first.weight = proa.ones([3, 4])
    with pytest.raises(TypeError, match="is a buffer"):
        net.count = 3
    net.count = proa.ones([1])
    assert net.state_dict()["count"].item() == 1.0
    net.first.bias = None
    assert [n for n, _ in net.named_parameters()] == ["first.weight", "second.weight"]
    del net.first
    assert [n for n, _ in net.named_children()] == ["second"]
    assert not hasattr(net, "first")
    net.second = nn.Linear(1, 1)
    assert net.second.weight.shape == [1, 1]
    with pytest.raises(KeyError, match="without dots"):
        net.add_parameter("a.b", None)
    with pytest.raises(KeyError, match="exists already"):
        net.add_sublayer("forward", nn.ReLU())
    with pytest.raises(KeyError, match="exists already"):
        net.add_parameter("forward", None)
    with pytest.raises(TypeError, match="must be a Parameter"):
        net.add_parameter("w", proa.ones([1]))


def test_before_init():
    class Bad(nn.Layer):
        def __init__(self):
            self.layer = nn.ReLU()

    with pytest.raises(RuntimeError, match="super"):
        Bad()


def test_state_round_trip():
    a, b = Net(), Net()
    a.count.set_value(proa.full([1], 7.0))
    missing, unexpected = b.set_state_dict(a.state_dict())
    assert missing == [] and unexpected == []
    for (_, x), (_, y) in zip(a.state_dict().items(), b.state_dict().items()):
        assert np.array_equal(x.numpy(), y.numpy())
    x = proa.randn([2, 3])
    assert np.array_equal(a(x).numpy(), b(x).numpy())
    by_name = {t.name: t.numpy() for t in a.state_dict().values()}
    assert a.set_state_dict(by_name, use_structured_name=False) == ([], [])
    missing, unexpected = b.set_state_dict({"first.weight": a.first.weight, "more": a.count})
    assert missing == ["count", "first.bias", "second.weight"] and unexpected == ["more"]


def test_names_of_sublayers():
    """Names with dots, empty ones and numbers are keys of the state as any other."""
    net = nn.Layer()
    for name in ("a.b", "", 3):
        net.add_sublayer(name, nn.Linear(2, 2, bias_attr=False))
    assert list(net.state_dict()) == ["a.b.weight", ".weight", "3.weight"]
    assert len(net.parameters()) == 3
    assert nn.Sequential(("a.b", nn.Linear(2, 3)), ("c.d", nn.ReLU()))(proa.ones([1, 2])).shape == [1, 3]


def test_tensors_as_attributes():
    """A tensor that is set as an attribute is a buffer that is not saved, until it is registered."""
    net = nn.Layer()
    net.x, net.y, net.number = proa.ones([2]), None, 3
    assert [n for n, _ in net.named_buffers()] == ["x"] and list(net.state_dict()) == []
    assert net.to(dtype="float64").x.dtype == proa.float64
    net.register_buffer("x", proa.zeros([2]))
    net.register_buffer("y", proa.zeros([2]))
    assert list(net.state_dict()) == ["x", "y"]
    net.z = proa.ones([2])
    net.z = "text"
    assert net.z == "text" and [n for n, _ in net.named_buffers()] == ["x", "y"]
    with pytest.raises(KeyError, match="exists already"):
        net.register_buffer("number", proa.zeros([2]))


def test_a_parameter_in_the_place_of_a_tensor_is_saved():
    net = nn.Layer()
    net.x = proa.zeros([2])
    net.below = proa.zeros([2])
    net.x = net.create_parameter([2])
    net.below = nn.Linear(2, 1)
    assert list(net.state_dict()) == ["x", "below.weight", "below.bias"] and list(net.named_buffers()) == []
    net.set_state_dict({"x": proa.ones([2])})
    assert net.x.tolist() == [1.0, 1.0]
    net.register_buffer("kept", proa.ones([1]), persistable=False)
    assert "kept" not in net.state_dict()


_REGISTERED = {
    "add_parameter": lambda: nn.Layer().create_parameter([2]),
    "register_buffer": lambda: proa.zeros([2]),
    "add_sublayer": lambda: nn.Linear(2, 3),
}


@pytest.mark.parametrize("first", _REGISTERED)
@pytest.mark.parametrize("second", _REGISTERED)
@pytest.mark.parametrize("empty", [False, True])
def test_registering_keeps_what_another_kind_registered(first, second, empty):
    """It is an error to register another kind under the same name, even while nothing stands there."""
    net = nn.Layer()
    held, other = None if empty else _REGISTERED[first](), _REGISTERED[second]()
    getattr(net, first)("x", held)
    state = list(net.state_dict())
    if first == second:
        getattr(net, second)("x", other)
        assert net.x is other
        return
    with pytest.raises(KeyError, match="'x' is a .* already; del it before it becomes a "):
        getattr(net, second)("x", other)
    assert net.x is held and list(net.state_dict()) == state
    del net.x
    getattr(net, second)("x", other)
    assert net.x is other and net.state_dict()


def test_assigning_keeps_parameters_and_sublayers():
    """None, or a del, makes room first; a parameter may take the place of a layer, as in the reference."""
    net = nn.Linear(2, 3)
    with pytest.raises(TypeError, match="'weight' is a parameter; del it before it becomes a sublayer"):
        net.weight = nn.ReLU()
    net.below = nn.ReLU()
    with pytest.raises(TypeError, match="'below' is a sublayer; assign a Layer or None, not a Tensor"):
        net.below = proa.ones([2])
    net.below = net.create_parameter([2])
    assert list(net.state_dict()) == ["weight", "bias", "below"]


def test_values_of_programs_are_no_buffers():
    net = nn.Layer()
    with proa.static.program_guard(proa.static.Program()):
        net.x = proa.static.data("x", [2])
    assert net.buffers() == [] and net.x.shape == [2]


def test_a_value_of_another_shape_is_skipped():
    """As when a head for other classes is loaded: with a warning, and in both lists."""
    net = Net()
    bias = net.first.bias.numpy()
    with pytest.warns(UserWarning, match=r"set_state_dict: Net leaves as they are: 'first.bias' is \[4\], but \[5\]"):
        missing, unexpected = net.set_state_dict(
            {"first.weight": np.full([3, 4], 7, "float32"), "first.bias": np.ones([5], "float32")}
        )
    assert missing == ["count", "first.bias", "second.weight"] and unexpected == ["first.bias"]
    assert np.array_equal(net.first.bias.numpy(), bias) and (net.first.weight.numpy() == 7).all()


def test_a_state_that_matches_nothing_says_so():
    net = nn.Linear(2, 3)
    with pytest.warns(UserWarning, match="no name of the given state is one of Linear's; it has 'weight', 'bias', the"):
        assert net.set_state_dict({"linear.weight": np.ones([2, 3])}) == (["weight", "bias"], ["linear.weight"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert net.set_state_dict({}) == (["weight", "bias"], [])


def test_names_that_look_alike_are_shown():
    """What has no value, what looks like it, and what is left over; nothing is said of values that are left over alone."""
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))
    state = {name: value.numpy() for name, value in net.state_dict().items()}
    state["0.weigth"], state["epoch"] = state.pop("0.weight"), np.ones([1])
    says = "Sequential leaves as they are: '0.weight', for which the given state has nothing .but '0.weigth'.; left over: '0.weigth', 'epoch'"
    with pytest.warns(UserWarning, match=says):
        assert net.set_state_dict(state) == (["0.weight"], ["0.weigth", "epoch"])
    state["0.weight"] = state.pop("0.weigth")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert net.set_state_dict(state) == ([], ["epoch"])
    with pytest.warns(UserWarning, match="'bias', for which the given state has nothing$"):
        nn.Linear(2, 2).set_state_dict({"weight": np.ones([2, 2])})


def test_modes():
    net = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.Dropout(0.5)))
    assert net.eval() is net
    assert not any(layer.training for layer in net.sublayers(include_self=True))
    net.train()
    assert net[1][0].training


def test_hooks():
    layer = nn.Linear(2, 2)
    seen = []
    pre = layer.register_forward_pre_hook(lambda l, i: (i[0] * 2.0,))
    post = layer.register_forward_post_hook(lambda l, i, o: seen.append(i[0].tolist()) or o + 1.0)
    x = proa.ones([1, 2])
    plain = nn.functional.linear(x * 2.0, layer.weight, layer.bias) + 1.0
    assert np.allclose(layer(x).numpy(), plain.numpy()) and seen == [[[2.0, 2.0]]]
    pre.remove()
    post.remove()
    post.remove()
    assert np.allclose(layer(x).numpy(), nn.functional.linear(x, layer.weight, layer.bias).numpy())


def test_apply_order():
    net, seen = Net(), []
    net.apply(lambda layer: seen.append(type(layer).__name__))
    assert seen == ["Linear", "Linear", "Net"]


def test_to_dtype():
    net = Net()
    weight = net.first.weight
    net.to(dtype="float64")
    assert net.first.weight.dtype == proa.float64 and net.count.dtype == proa.float64
    assert net.first.weight is weight and not weight.stop_gradient and weight.persistable
    assert net(proa.ones([1, 3], "float64")).dtype == proa.float64
    assert net.to(device="cpu") is net
    for kind in ("half", "bfloat16", "double", "float"):
        assert getattr(net, kind)() is net
        assert (
            net.first.weight.dtype
            == net.count.dtype
            == getattr(proa, {"half": "float16", "double": "float64", "float": "float32"}.get(kind, kind))
        )


@pytest.mark.parametrize("kind", ["float64", "bfloat16"])
def test_an_optimizer_trains_what_a_network_becomes(kind):
    """Found beside PaddlePaddle 3.3: parameters were replaced, and the optimizer went on with those of before."""
    net, frozen = Net(), nn.Linear(2, 2)
    frozen.weight.stop_gradient = True
    sgd = proa.optimizer.SGD(0.5, parameters=net.parameters() + frozen.parameters())
    net(proa.ones([1, 3])).sum().backward()
    assert net.to(dtype=kind).first.weight.grad.dtype == getattr(proa, kind)
    assert frozen.to(dtype=kind).weight.stop_gradient and not frozen.bias.stop_gradient
    sgd.clear_grad()
    for _ in range(2):
        before = net.second.weight.clone()
        net(proa.to_tensor([[1, 2, 3], [-1, -2, -3]], kind)).sum().backward()
        sgd.step()
        sgd.clear_grad()
        assert not before.equal_all(net.second.weight)


@pytest.mark.parametrize("kinds", [["float64"], ["bfloat16"], ["float64", "float32"]])
def test_a_graph_from_before_gives_its_gradients_to_what_a_network_becomes(kinds):
    """In its dtype of then, beside what came before and what comes later."""
    net = nn.Linear(2, 1)
    loss = (net(proa.to_tensor([[1.0, 3.0]])) * 2).sum()
    loss.backward(retain_graph=True)
    for kind in kinds:
        net.to(dtype=kind)
    loss.backward()
    assert net.weight.grad.dtype == net.weight.dtype == getattr(proa, kinds[-1])
    assert net.weight.grad.flatten().tolist() == [4, 12] and net.bias.grad.tolist() == [4]
    net(proa.ones([1, 2], kinds[-1])).sum().backward()
    assert net.weight.grad.flatten().tolist() == [5, 13]


def test_hooks_stay_with_parameters_that_move():
    net, calls = nn.Linear(2, 1, bias_attr=False), []
    handle = net.weight.register_hook(lambda grad: calls.append(grad.dtype) or grad * 3)
    loss = net(proa.to_tensor([[1.0, 3.0]])).sum()
    net.to(dtype="float64")
    loss.backward()
    net(proa.ones([1, 2], "float64")).sum().backward()
    assert calls == [proa.float32, proa.float64]
    assert net.weight.grad.flatten().tolist() == [6, 12]
    handle.remove()
    net(proa.ones([1, 2], "float64")).sum().backward()
    assert len(calls) == 2


def test_a_graph_keeps_no_network_that_was_moved():
    net = nn.Linear(2, 1)
    loss, weight = net(proa.ones([1, 2])).sum(), weakref.ref(net.weight)
    net.to(dtype="float64")
    del net
    assert weight() is None
    loss.backward()


def test_deepcopy():
    net = Net()
    other = copy.deepcopy(net)
    assert np.array_equal(other.first.weight.numpy(), net.first.weight.numpy())
    other.first.weight.set_value(proa.zeros([3, 4]))
    assert net.first.weight.abs().sum().item() > 0
    assert other.first.weight.name != net.first.weight.name


@pytest.mark.parametrize("normed", [nn.utils.weight_norm, nn.utils.spectral_norm], ids=lambda f: f.__name__)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))], ids=["copy", "pickle"])
@pytest.mark.parametrize("called", [False, True])
def test_copies_of_layers_whose_weight_is_computed(normed, copied, called):
    net = nn.Sequential(normed(nn.Linear(3, 4)), normed(nn.Conv1D(4, 2, 1)))
    x = proa.randn([2, 3])

    def run(net):
        y = net[1](net[0](x).unsqueeze(-1))
        return (y * y).sum()

    if called:
        run(net)
    other = copied(net)
    for a, b in zip(net, other):
        assert np.array_equal(a.weight.numpy(), b.weight.numpy())
        assert not b.weight.stop_gradient and b.weight is not a.weight
    names = [name for name, _ in net.named_parameters()]
    assert names == [name for name, _ in other.named_parameters()]
    assert list(net.state_dict()) == list(other.state_dict())
    loss, same = run(net), run(other)
    same.backward()
    assert all(p.grad is None for p in net.parameters()) and all(p.grad is not None for p in other.parameters())
    loss.backward()
    assert loss.item() == same.item()
    for a, b in zip(net.parameters(), other.parameters()):
        assert np.array_equal(a.grad.numpy(), b.grad.numpy())
    proa.optimizer.SGD(1.0, parameters=other.parameters()).step()
    assert run(net).item() != run(other).item()
    if normed is nn.utils.weight_norm:
        nn.utils.remove_weight_norm(other[0])
        assert "weight" in copied(other[0]).state_dict() and "weight" not in net[0].state_dict()


def test_a_reader_of_the_copied_weight_reaches_the_copy():
    net = nn.utils.weight_norm(nn.Linear(2, 2))
    other = copy.copy(net)  # shares the parameters
    assert other.weight_g is net.weight_g
    other.weight.sum().backward()
    assert net.weight_g.grad is not None


def test_parameter_attr():
    init = nn.initializer
    attr = proa.ParamAttr(name="mine", initializer=init.Constant(2.0), learning_rate=0.5, trainable=False)
    layer = nn.Linear(1, 2, weight_attr=attr, bias_attr=init.Constant(3.0))
    assert layer.weight.name == "mine" and layer.weight.tolist() == [[2.0, 2.0]]
    assert layer.weight.stop_gradient and not layer.weight.trainable
    assert layer.weight.optimize_attr == {"learning_rate": 0.5}
    assert layer.bias.tolist() == [3.0, 3.0]
    with pytest.raises(TypeError, match="describes no parameter"):
        nn.Linear(1, 2, weight_attr=3)
    with pytest.raises(ValueError, match="name"):
        proa.ParamAttr(name="")


def test_global_initializer():
    nn.initializer.set_global_initializer(nn.initializer.Constant(1.5), nn.initializer.Constant(2.5))
    try:
        layer = nn.Linear(1, 1)
        assert layer.weight.item() == 1.5 and layer.bias.item() == 2.5
        assert nn.Linear(1, 1, weight_attr=nn.initializer.Constant(0.5)).weight.item() == 0.5
    finally:
        nn.initializer.set_global_initializer(None)
    assert nn.Linear(1, 1).bias.item() == 0.0


def test_custom_initializer_fills_in_place():
    class Ramp(nn.initializer.Initializer):
        def __call__(self, param, block=None):
            param.set_value(np.arange(param.size, dtype="float32").reshape(param.shape))
            return param

    assert nn.Linear(2, 2, weight_attr=Ramp()).weight.tolist() == [[0.0, 1.0], [2.0, 3.0]]


def test_sequential():
    net = nn.Sequential(("a", nn.Linear(2, 3)), ("b", nn.ReLU()))
    assert isinstance(net["b"], nn.ReLU) and isinstance(net[-1], nn.ReLU) and len(net) == 2
    assert [type(layer).__name__ for layer in net] == ["Linear", "ReLU"]
    assert len(nn.Sequential(*[nn.ReLU() for _ in range(3)])[1:]) == 2
    assert len(nn.Sequential([nn.ReLU(), nn.ReLU()])) == 2
    net[1] = nn.Tanh()
    assert isinstance(net[1], nn.Tanh)
    with pytest.raises(IndexError):
        net[2]


def test_layer_list():
    layers = nn.LayerList([nn.Linear(1, 1), nn.ReLU()])
    layers.append(nn.Tanh())
    layers.insert(0, nn.Sigmoid())
    layers.extend([nn.Softmax()])
    assert [type(layer).__name__ for layer in layers] == ["Sigmoid", "Linear", "ReLU", "Tanh", "Softmax"]
    del layers[0]
    assert [n for n, _ in layers.named_parameters()] == ["0.weight", "0.bias"]
    layers[-1] = nn.ReLU()
    assert isinstance(layers[3], nn.ReLU) and len(layers[1:3]) == 2
    with pytest.raises(IndexError):
        layers[4]


def test_layer_dict():
    layers = nn.LayerDict({"a": nn.Linear(1, 1)})
    layers["b"] = nn.ReLU()
    layers.update([("c", nn.Tanh())])
    assert list(layers.keys()) == ["a", "b", "c"] and len(layers) == 3 and "b" in layers
    assert isinstance(layers.pop("b"), nn.ReLU) and [k for k, _ in layers.items()] == ["a", "c"]
    assert len(list(layers.values())) == 2
    with pytest.raises(KeyError):
        layers["b"]
    layers.clear()
    assert len(layers) == 0


def test_parameter_list():
    parameters = nn.ParameterList([proa.create_parameter([2], "float32") for _ in range(2)])
    parameters.append(proa.create_parameter([3], "float32"))
    assert [p.shape for p in parameters] == [[2], [2], [3]] and len(parameters.parameters()) == 3
    parameters[0] = proa.create_parameter([5], "float32")
    assert parameters[0].shape == [5]


def test_lists_of_members_with_names_of_their_own():
    """Subclasses name what they hold by add_sublayer and add_parameter; it was a KeyError to go through them."""

    class Dense(nn.LayerList):
        def __init__(self):
            super().__init__()
            for name in ("first", "second"):
                self.add_sublayer(name, nn.Linear(2, 2))

        def forward(self, x):
            for layer in self:
                x = layer(x)
            return x

    dense = Dense()
    assert list(dense.state_dict()) == ["first.weight", "first.bias", "second.weight", "second.bias"]
    x = proa.ones([1, 2])
    assert dense(x).tolist() == dense.second(dense.first(x)).tolist()
    assert dense[1] is dense.second and dense[-2] is dense.first
    dense[0] = nn.ReLU()
    assert isinstance(dense.first, nn.ReLU) and len(dense) == 2
    dense.append(nn.Tanh())
    assert [type(layer).__name__ for layer in dense] == ["ReLU", "Linear", "Tanh"]

    parameters = nn.ParameterList()
    parameters.add_parameter("scale", proa.create_parameter([2], "float32"))
    assert parameters[0] is parameters.scale and list(parameters) == [parameters.scale]
    parameters[0] = proa.create_parameter([3], "float32")
    assert parameters.scale.shape == [3]
    assert nn.Sequential().add_module("a", nn.ReLU()) is not None


def test_text():
    text = repr(Net())
    assert text.splitlines()[0] == "Net("
    assert "(first): Linear(in_features=3, out_features=4, dtype=float32)" in text


def test_gradients_are_cleared():
    net = Net()
    net(proa.ones([1, 3])).sum().backward()
    assert net.first.weight.grad is not None
    net.clear_gradients()
    assert net.first.weight.grad is None or net.first.weight.grad.abs().sum().item() == 0


def test_parameters_made_at_the_first_call():
    """What layers of 1.x do in _build_once, by the sizes of their first input."""

    class Lazy(nn.Layer):
        built = 0

        def _build_once(self, x):
            self.built += 1
            self.weight = self.create_parameter([x.shape[1], 2])

        def forward(self, x):
            return proa.matmul(x, self.weight)

    layer = Lazy()
    assert not layer._built and layer.parameters() == []
    assert layer(proa.ones([3, 4])).shape == [3, 2] and layer._built
    assert [list(p.shape) for p in layer.parameters()] == [[4, 2]]
    copy.deepcopy(layer)(layer(proa.ones([1, 4])).reshape([1, 2]).tile([1, 2]))
    assert layer.built == 1
    with pytest.raises(TypeError):  # forward is not reached, and the next call builds again
        Lazy()()


def test_steps_by_the_inner_name():
    w = proa.create_parameter([2], "float32", default_initializer=nn.initializer.Constant(1.0))
    proa.optimizer.SGD(0.5, parameters=[w])._apply_optimize(None, None, [(w, proa.ones([2]))])
    assert w.tolist() == [0.5, 0.5]
