"""onnx.load: models that come back from files, what is refused, what is read from where."""

import importlib.util
import struct

import numpy as np
import pytest

import proa
from proa.onnx import imported_graph
from proa.static import InputSpec

_PACKAGES = [p for p in ("onnx", "onnxruntime") if importlib.util.find_spec(p) is None]
_needed = pytest.mark.skipif(bool(_PACKAGES), reason=f"not installed: {_PACKAGES}; requirements-dev.txt has them")
if not _PACKAGES:
    import onnx
    from onnx import TensorProto, helper

    from python.tests import onnx_run


def _array(rng, shape, dtype):
    return rng.integers(0, 5, shape) if dtype == "int64" else rng.standard_normal(shape).astype(dtype)


def _close(got, want, tolerance=1e-4):
    got, want = onnx_run.tensors(got), onnx_run.tensors(want)
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(
            a.numpy(), b.numpy(), rtol=tolerance, atol=tolerance * float(np.abs(b.numpy()).max())
        )


# There and back ----------------------------------------------------------------------------------------------------------


class _Encoder(proa.nn.Layer):
    """Words to marks: what a small BERT does, with a mask made of the ids."""

    def __init__(self):
        super().__init__()
        self.words, self.places = proa.nn.Embedding(20, 16, padding_idx=0), proa.nn.Embedding(32, 16)
        layer = proa.nn.TransformerEncoderLayer(16, 2, 32, activation="gelu")
        self.encoder, self.norm = proa.nn.TransformerEncoder(layer, 2), proa.nn.LayerNorm(16)
        self.pooler, self.heads = proa.nn.Linear(16, 16), proa.nn.Linear(16, 3)

    def forward(self, ids):
        mask = proa.unsqueeze((ids == 0).astype("float32") * -1e4, [1, 2])
        ones = proa.ones_like(ids)
        x = self.norm(self.words(ids) + self.places(proa.cumsum(ones, axis=1) - ones))
        x = self.encoder(x, mask)
        return self.heads(x), proa.tanh(self.pooler(x[:, 0]))


_MODELS = {
    "lenet": (proa.vision.models.LeNet, [InputSpec([None, 1, 28, 28])], [(2, 1, 28, 28)], [(5, 1, 28, 28)]),
    "resnet18": (
        lambda: proa.vision.models.resnet18(num_classes=10), [InputSpec([None, 3, 32, 32])], [(1, 3, 32, 32)], [(3, 3, 32, 32)],
    ),
    "mobilenet": (
        lambda: proa.vision.models.mobilenet_v2(num_classes=10), [InputSpec([None, 3, 32, 32])], [(1, 3, 32, 32)],
        [(3, 3, 32, 32)],
    ),
    "encoder": (_Encoder, [InputSpec([None, None], "int64")], [(2, 5)], [(3, 9)]),
    "lstm": (
        lambda: proa.nn.LSTM(4, 5, num_layers=2, direction="bidirect"), [InputSpec([None, None, 4])], [(2, 5, 4)], [(3, 7, 4)],
    ),
    "gru": (lambda: proa.nn.GRU(4, 5), [InputSpec([None, None, 4])], [(2, 5, 4)], [(3, 7, 4)]),
}  # fmt: skip


@_needed
@pytest.mark.parametrize("opset", [9, 13, 17, 21])
@pytest.mark.parametrize("name", _MODELS)
def test_round_trip(name, opset, tmp_path):
    """Exported and read again: equal to the model, to ONNX Runtime, and so are what is saved and exported of it."""
    proa.seed(1)
    make, specs, *shapes = _MODELS[name]
    net = make()
    net.eval()
    path = str(tmp_path / "a.onnx")
    proa.onnx.export(net, path, specs, opset_version=opset)
    back = proa.onnx.load(path)
    proa.jit.save(back, str(tmp_path / "saved"), back.input_spec)
    proa.onnx.export(back, str(tmp_path / "b.onnx"), back.input_spec, opset_version=opset)
    again, saved = proa.onnx.load(str(tmp_path / "b.onnx")), proa.jit.load(str(tmp_path / "saved"))
    rng = np.random.default_rng(0)
    for case in shapes:
        arrays = [_array(rng, shape, spec.dtype.name) for shape, spec in zip(case, specs, strict=True)]
        given = [proa.to_tensor(x) for x in arrays]
        with proa.no_grad():
            want = net(*given)
            for model in (back, again, saved):
                _close(model(*given), want)
        names = [i.name for i in onnx.load(path).graph.input]
        theirs = onnx_run.run(onnx.load(path), dict(zip(names, arrays, strict=True)))
        for a, b in zip(onnx_run.tensors(back(*given)), theirs, strict=True):
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-4, atol=1e-4 * float(np.abs(b).max()))


@_needed
@pytest.mark.parametrize("name", ["lenet", "resnet18", "encoder", "gru"])
def test_gradients(name, tmp_path):
    """Gradients of inputs and parameters are those of the original, by the parameters' names."""
    proa.seed(2)
    make, specs, shapes, _ = _MODELS[name]
    net = make()
    net.eval()
    path = str(tmp_path / "a.onnx")
    proa.onnx.export(net, path, specs)
    back = proa.onnx.load(path)
    rng = np.random.default_rng(0)
    array = _array(rng, shapes[0], specs[0].dtype.name)

    def gradients(model):
        x = proa.to_tensor(array, stop_gradient=specs[0].dtype.name == "int64")
        outputs = onnx_run.tensors(model(x))
        loss = proa.add_n([proa.sum(proa.square(t)) for t in outputs])
        loss.backward()
        found = {n: p.grad.numpy() for n, p in model.named_parameters() if p.grad is not None}
        return found, None if x.grad is None else x.grad.numpy()

    (want, of_input), (got, of_same) = gradients(net), gradients(back)
    shared = set(want) & set(got)
    assert len(shared) >= 0.7 * len(want), (sorted(want), sorted(got))
    for n in shared:
        np.testing.assert_allclose(
            got[n], want[n], rtol=2e-3, atol=1e-4 * float(np.abs(want[n]).max()) + 1e-6, err_msg=n
        )
    if of_input is not None:
        np.testing.assert_allclose(of_same, of_input, rtol=2e-3, atol=1e-4 * float(np.abs(of_input).max()))


@_needed
def test_trains(tmp_path):
    proa.seed(3)
    proa.onnx.export(proa.nn.Sequential(proa.nn.Linear(4, 8), proa.nn.ReLU(), proa.nn.Linear(8, 1)), str(tmp_path / "m"),
                     [InputSpec([None, 4])])  # fmt: skip
    net = proa.onnx.load(str(tmp_path / "m.onnx"))
    assert {n.split(".")[-1] for n, _ in net.named_parameters()} >= {"weight", "bias"}
    x, y = proa.randn([32, 4]), proa.randn([32, 1])
    optimizer = proa.optimizer.Adam(0.05, parameters=net.parameters())
    losses = []
    for _ in range(30):
        loss = proa.nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    state = net.state_dict()
    other = proa.onnx.load(str(tmp_path / "m.onnx"))
    other.set_state_dict(state)
    _close(other(x), net(x))


@_needed
def test_external_data(tmp_path):
    proa.seed(4)
    net = proa.nn.Linear(30, 40)
    proa.onnx.export(net, str(tmp_path / "m.onnx"), [InputSpec([None, 30])], external_data=True)
    x = proa.randn([2, 30])
    _close(proa.onnx.load(str(tmp_path / "m.onnx"))(x), net(x))
    with pytest.raises(ValueError, match="give its path"):
        proa.onnx.load((tmp_path / "m.onnx").read_bytes())
    (tmp_path / "m.onnx.data").unlink()
    with pytest.raises(ValueError, match="m.onnx.data"):
        proa.onnx.load(str(tmp_path / "m.onnx"))


@_needed
@pytest.mark.parametrize(
    "location", ["../secret", "/etc/passwd", "a/../../secret", "link", "", "\0", "C:secret", "..\\secret"]
)
def test_external_data_stays_in_the_folder(location, tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(bytes(8))
    (folder / "link").symlink_to(tmp_path / "secret")
    tensor = TensorProto(name="w", data_type=1, dims=[2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    model = _model([helper.make_node("Add", ["x", "w"], ["y"])], ["x"], ["y"])
    model.graph.initializer.append(tensor)
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ValueError, match="initializer 'w'"):
        proa.onnx.load(str(folder / "m.onnx"))


# Small models --------------------------------------------------------------------------------------------------------------


def _model(nodes, inputs, outputs, shape=(2,), initializers=(), functions=(), opset=17, domains=()):
    infos = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in names] for names in (inputs, outputs)]
    graph = helper.make_graph(nodes, "g", *infos, list(initializers))
    sets = [helper.make_opsetid("", opset), *[helper.make_opsetid(d, 1) for d in domains]]
    model = helper.make_model(graph, opset_imports=sets, functions=list(functions))
    return model


def _load(*args, **named):
    return proa.onnx.load(_model(*args, **named).SerializeToString())


@_needed
def test_functions():
    """A function with an attribute of its caller, that calls another."""
    inner = helper.make_function("my", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])],
                                 [helper.make_opsetid("", 17)])  # fmt: skip
    alpha = helper.make_node("LeakyRelu", ["c"], ["d"])
    alpha.attribute.add(name="alpha", ref_attr_name="slope", type=1)
    outer = helper.make_function("my", "Bent", ["a"], ["d"], [helper.make_node("Twice", ["a"], ["c"], domain="my"), alpha],
                                 [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)], ["slope"])  # fmt: skip
    node = helper.make_node("Bent", ["x"], ["y"], domain="my", slope=0.5)
    net = _load([node], ["x"], ["y"], functions=[inner, outer], domains=["my"])
    assert net(proa.to_tensor([-1.0, 1.0])).tolist() == [-1.0, 2.0]


@_needed
def test_branches_and_loops_recorded(tmp_path):
    """If and Loop that depend on the input run as they are, recorded, and exported again."""

    @proa.jit.to_static
    def f(x):
        while proa.sum(x) < 10:
            x = x * 2
        if proa.mean(x) > 3:
            x = x - 1
        else:
            x = x + 1
        return x

    spec = [InputSpec([None], "float32", "x")]
    proa.onnx.export(f, str(tmp_path / "m"), spec)
    net = proa.onnx.load(str(tmp_path / "m.onnx"))
    proa.jit.save(net, str(tmp_path / "saved"), net.input_spec)
    saved = proa.jit.load(str(tmp_path / "saved"))
    for values in ([1.0, 2.0, 3.0], [5.0], [1.0] * 12):
        x = proa.to_tensor(values)
        assert net(x).tolist() == f(x).tolist() == saved(x).tolist()


@_needed
def test_open_sizes_of_shapes(tmp_path):
    """What exporters compute shapes with stays a reshape to sizes when it is recorded."""
    ints = lambda name, values: helper.make_tensor(name, TensorProto.INT64, [len(values)], values)  # noqa: E731
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Concat", ["n", "rest"], ["t"], axis=0), helper.make_node("Reshape", ["x", "t"], ["r"]),
        helper.make_node("MatMul", ["r", "w"], ["m"]), helper.make_node("Expand", ["m", "s2"], ["y"]),
        helper.make_node("Concat", ["n", "five"], ["s2"], axis=0),
    ]  # fmt: skip
    nodes[5], nodes[6] = nodes[6], nodes[5]
    w = helper.make_tensor("w", TensorProto.FLOAT, [6, 5], np.arange(30.0))
    model = _model(nodes, ["x"], ["y"], initializers=[ints("zero", [0]), ints("rest", [-1]), ints("five", [5]), w])
    for info, sizes in ((model.graph.input[0], ["n", 2, 3]), (model.graph.output[0], ["n", 5])):
        info.CopyFrom(helper.make_tensor_value_info(info.name, TensorProto.FLOAT, sizes))
    net = proa.onnx.load(model.SerializeToString())
    proa.jit.save(net, str(tmp_path / "m"), net.input_spec)
    for n in (1, 4):
        x = proa.randn([n, 2, 3])
        want = x.numpy().reshape(n, 6) @ np.arange(30.0, dtype="f4").reshape(6, 5)
        np.testing.assert_allclose(net(x).numpy(), want, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(proa.jit.load(str(tmp_path / "m"))(x).numpy(), want, rtol=1e-4, atol=1e-4)


@_needed
def test_rests_of_known_numbers_are_known(tmp_path):
    """PyTorch's attention counts dims by rests: a slice of a shape up to one."""
    ints = lambda name, values: helper.make_tensor(name, TensorProto.INT64, [len(values)], values)  # noqa: E731
    nodes = [
        helper.make_node("Mod", ["two", "three"], ["end"]), helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Slice", ["s", "zero", "end"], ["first"]), helper.make_node("Concat", ["first", "rest"], ["t"], axis=0),
        helper.make_node("Reshape", ["x", "t"], ["y"]),
    ]  # fmt: skip
    given = [ints("zero", [0]), ints("two", [2]), ints("three", [3]), ints("rest", [3, 1])]
    model = _model(nodes, ["x"], ["y"], initializers=given)
    for info, sizes in ((model.graph.input[0], ["n", 2, 3]), (model.graph.output[0], ["n", 2, 3, 1])):
        info.CopyFrom(helper.make_tensor_value_info(info.name, TensorProto.FLOAT, sizes))
    net = proa.onnx.load(model.SerializeToString())
    proa.jit.save(net, str(tmp_path / "m"), net.input_spec)
    for n in (1, 4):
        assert proa.jit.load(str(tmp_path / "m"))(proa.ones([n, 2, 3])).shape == [n, 2, 3, 1]


@_needed
def test_quantized_as_onnx_runtime_runs_it():
    """A model with quantize and dequantize nodes runs as ONNX Runtime runs it."""
    number = lambda name, kind, value: helper.make_tensor(name, kind, [], [value])  # noqa: E731
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    model = _model(
        nodes, ["x"], ["y"], initializers=[number("s", TensorProto.FLOAT, 0.1), number("z", TensorProto.UINT8, 100)]
    )
    x = np.array([-3.33, 20.0], "float32")
    (want,) = onnx_run.run(_older(model), {"x": x})
    np.testing.assert_allclose(proa.onnx.load(model.SerializeToString())(proa.to_tensor(x)).numpy(), want, rtol=1e-6)


def _older(model):
    model.ir_version = 8
    return model


# What is refused -----------------------------------------------------------------------------------------------------------


@_needed
def test_all_that_is_unknown_is_listed():
    nodes = [
        helper.make_node("Nothing", ["x"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="second", depth=3),
        helper.make_node("Gelu", ["b"], ["c"], name="third", domain="com.someone"),
        helper.make_node("Concat", ["c", "c"], ["y"], name="fourth"),
        helper.make_node("Add", ["y", "y", "y"], ["z"], name="fifth"),
    ]
    with pytest.raises(ValueError) as raised:
        _load(nodes, ["x"], ["z"])
    text = str(raised.value)
    for part in ("4 places", "'first' (Nothing): the operator Nothing of version 17", "'second' (Relu): has attributes that are not known: depth",
                 "'third' (Gelu): no operator of the domain 'com.someone'", "'fifth' (Add): has 3 inputs, of which 2"):  # fmt: skip
        assert part in text, text


@_needed
@pytest.mark.parametrize(
    "says, nodes",
    [
        ("cyclic", [("Add", ["x", "b"], ["a"]), ("Relu", ["a"], ["b"]), ("Relu", ["b"], ["y"])]),
        ("which nothing gives", [("Add", ["x", "nothing"], ["y"])]),
        ("which is there already", [("Relu", ["x"], ["y"]), ("Abs", ["x"], ["y"])]),
        ("which is an input", [("Relu", ["x"], ["x"]), ("Abs", ["x"], ["y"])]),
        ("is made by no node", [("Relu", ["x"], ["z"])]),
    ],
)
def test_no_graphs(says, nodes):
    with pytest.raises(ValueError, match=says):
        _load([helper.make_node(*of) for of in nodes], ["x"], ["y"])


@_needed
def test_versions():
    with pytest.raises(ValueError, match="of version 99 of the operators; 1 to 23 are known"):
        _load([helper.make_node("Relu", ["x"], ["y"])], ["x"], ["y"], opset=99)


@_needed
def test_functions_that_call_themselves():
    f = helper.make_function("my", "F", ["a"], ["b"], [helper.make_node("F", ["a"], ["b"], domain="my")],
                             [helper.make_opsetid("my", 1)])  # fmt: skip
    with pytest.raises(ValueError, match="calls itself"):
        _load([helper.make_node("F", ["x"], ["y"], domain="my")], ["x"], ["y"], functions=[f], domains=["my"])


@_needed
@pytest.mark.parametrize(
    "says, tensor",
    [
        ("4 bytes for 2 elements of float", {"data_type": 1, "dims": [2], "raw_data": b"1234"}),
        ("0 elements of float for sizes", {"data_type": 1, "dims": [2**40]}),
        ("negative", {"data_type": 1, "dims": [-2]}),
        ("float8e4m3fn", {"data_type": 17, "dims": [1], "raw_data": b"1"}),
        ("no element type 77", {"data_type": 77, "dims": [1], "raw_data": b"1"}),
    ],
)
def test_weights_that_do_not_fit(says, tensor):
    model = _model([helper.make_node("Add", ["x", "w"], ["y"])], ["x"], ["y"])
    model.graph.initializer.append(TensorProto(name="w", **tensor))
    with pytest.raises(ValueError, match=f"initializer 'w'.*{says}"):
        proa.onnx.load(model.SerializeToString())


def test_no_models(tmp_path):
    for data in (b"", b"text that is no model", b"\xff" * 20, struct.pack("<Q", 1 << 60), b"\x3a" * 1000):
        (tmp_path / "m.onnx").write_bytes(data)
        with pytest.raises(ValueError, match="m.onnx"):
            proa.onnx.load(str(tmp_path / "m.onnx"))
    with pytest.raises(OSError):
        proa.onnx.load(str(tmp_path / "none.onnx"))


@_needed
def test_inputs_that_do_not_fit():
    net = _load([helper.make_node("Relu", ["x"], ["y"])], ["x"], ["y"])
    with pytest.raises(TypeError, match="input 'x' is float32, not int64"):
        net(proa.to_tensor([1, 2]))
    with pytest.raises(ValueError, match=r"input 'x' is \[2\], not \[3\]"):
        net(proa.ones([3]))
    with pytest.raises(TypeError, match="missing"):
        net()
    with pytest.raises(TypeError, match="no input"):
        net(x=proa.ones([2]), z=proa.ones([2]))
    assert net(x=proa.ones([2])).tolist() == [1.0, 1.0]


@_needed
def test_errors_name_the_node():
    net = _load([helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], ["x"], ["y"],
                initializers=[helper.make_tensor("w", TensorProto.FLOAT, [3, 3], [1.0] * 9)])  # fmt: skip
    with pytest.raises(ValueError, match="node 0 'product' \\(MatMul\\)"):
        net(proa.ones([2]))


@_needed
@pytest.mark.parametrize(
    "operator, attributes, shape",
    [
        ("Flatten", {"axis": "x"}, (2, 2)),
        ("DepthToSpace", {"blocksize": 0}, (1, 4, 2, 2)),
        ("DepthToSpace", {"blocksize": 2}, (4, 2)),
        ("Transpose", {"perm": 1}, (2, 2)),
        ("Einsum", {"equation": 0.5}, (2, 2)),
        ("ArgMax", {"axis": 1}, ()),
        ("If", {"then_branch": "x", "else_branch": [1, 2]}, ()),
    ],
)
def test_attributes_that_rules_do_not_expect(operator, attributes, shape):
    """Found by mutants: IndexError, TypeError, AttributeError and ZeroDivisionError out of the middle of a rule."""
    net = _load([helper.make_node(operator, ["x"], ["y"], name="odd", **attributes)], ["x"], ["y"], shape)
    with pytest.raises(ValueError, match=f"node 0 'odd' \\({operator}\\)"):
        net(proa.ones(list(shape)))


@_needed
@pytest.mark.parametrize(
    "says, node",
    [
        ("a constant has one output; it names 2", ("Constant", [], ["y", "z"])),
        ("lacks to", ("Cast", ["x"], ["y"])),
        ("attributes that are not known: other", ("Relu", ["x"], ["y"])),
    ],
)
def test_nodes_that_are_odd(says, node):
    given = {"Constant": {"value_int": 1}, "Relu": {"other": [1, 2]}, "Cast": {}}[node[0]]
    with pytest.raises(ValueError, match=says):
        _load([helper.make_node(*node, **given)], ["x"], ["y"])


@_needed
def test_a_cast_to_a_list():
    """Found by mutants: a TypeError while it was read."""
    net = _load([helper.make_node("Cast", ["x"], ["y"], to=[1, 2])], ["x"], ["y"])
    with pytest.raises(ValueError, match="node 0 .*do not fit the operator"):
        net(proa.ones([2]))


@_needed
@pytest.mark.parametrize("operator", ["LSTM", "Scan"])
def test_more_turns_than_are_recorded(operator):
    """Found by mutants: a file of 500 bytes that took more than 20 seconds, since it said so many steps."""
    if operator == "LSTM":
        sizes = {"w": [1, 4, 1], "r": [1, 4, 1], "b": [1, 8], "p": [1, 3]}
        nodes = [helper.make_node("LSTM", ["x", "w", "r", "b", "", "", "", "p"], ["y"], hidden_size=1)]
    else:
        sizes = {"s": [1, 1]}
        infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 1]) for n in ("h", "v", "g", "o")]
        body = helper.make_graph([helper.make_node("Add", ["h", "v"], ["g"]), helper.make_node("Relu", ["v"], ["o"])],
                                 "body", infos[:2], infos[2:])  # fmt: skip
        nodes = [helper.make_node("Scan", ["s", "x"], ["z", "y"], body=body, num_scan_inputs=1)]
    weights = [helper.make_tensor(n, TensorProto.FLOAT, s, [1.0] * int(np.prod(s))) for n, s in sizes.items()]
    for steps, works in ((3, True), (2**20, False)):
        net = _load(nodes, ["x"], ["y"], (steps, 1, 1), weights)
        program = proa._C.Program()
        x = program.add_input("x", [steps, 1, 1], "float32")
        with program.recording():
            if works:
                net(x)
                continue
            with pytest.raises(ValueError, match=r"node 0 .*1048576 turns would each be recorded"):
                net(x)


@_needed
@pytest.mark.parametrize(
    "says, scale, attributes",
    [
        ("dim 2 of 2 elements is resized to 1073741824; the most is 2097152", 2.0**29, {}),
        ("each element would be the mean of 20000; the most is 4096", 1e-4, {"mode": "linear", "antialias": 1}),
    ],
)
def test_sizes_that_are_not_resized_to(says, scale, attributes):
    """Found by mutants: a file of 300 bytes for which NumPy asked for 8 GB of places."""
    x = proa.ones([1, 1, 2 if scale > 1 else 20001, 2])
    scales = helper.make_tensor("s", TensorProto.FLOAT, [4], [1.0, 1.0, scale, 1.0])
    net = _load(
        [helper.make_node("Resize", ["x", "", "s"], ["y"], **attributes)], ["x"], ["y"], x.shape, [scales], opset=18
    )
    with pytest.raises(ValueError, match=f"node 0 .*{says}"):
        net(x)


def test_every_rule_can_be_bound():
    """Every rule has parameters as the language wants them."""
    assert len(imported_graph.rules()) > 150
    for (domain, operator), rule in imported_graph.rules().items():
        assert rule.variadic <= (len(rule.inputs) > 0), (domain, operator)
        assert set(rule.kinds.values()) <= {"numbers", "raw", "state"}, (domain, operator)


# Predictors ----------------------------------------------------------------------------------------------------------------


@_needed
@pytest.mark.parametrize("engine", [False, True])
@pytest.mark.parametrize("kind", ["program", "onnx"])
def test_predictors(kind, engine, tmp_path):
    """Programs and files of ONNX, in this package's own code and in ONNX Runtime."""
    proa.seed(5)
    net = proa.vision.models.LeNet()
    net.eval()
    specs = [InputSpec([None, 1, 28, 28], "float32", "image")]
    if kind == "program":
        proa.jit.save(net, str(tmp_path / "m"), specs)
        config = proa.inference.Config(str(tmp_path / "m.pdmodel"), str(tmp_path / "m.pdiparams"))
    else:
        proa.onnx.export(net, str(tmp_path / "m"), specs)
        config = proa.inference.Config(str(tmp_path / "m.onnx"))
    assert not config.onnxruntime_enabled()
    if engine:
        config.enable_onnxruntime()
    assert config.onnxruntime_enabled() == engine
    predictor = proa.inference.create_predictor(config)
    assert predictor.get_input_names() == ["image"]
    for n in (1, 3):
        x = proa.randn([n, 1, 28, 28])
        (y,) = predictor.run([x])
        np.testing.assert_allclose(np.asarray(y), net(x).numpy(), rtol=1e-4, atol=1e-5)
    handle = predictor.get_input_handle("image")
    handle.copy_from_cpu(x.numpy())
    predictor.clone().get_output_names()
    predictor.run()
    np.testing.assert_allclose(
        predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu(), net(x).numpy(), rtol=1e-4, atol=1e-5
    )


def test_onnxruntime_that_is_not_there(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match="pip install onnxruntime"):
        proa.inference.Config("m.onnx").enable_onnxruntime()
