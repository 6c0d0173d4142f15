"""proa.save and proa.load: what comes back, and what a damaged file says."""

import json
import os
import pickle
import stat

import numpy as np
import pytest

import proa
from proa.framework import container


@pytest.fixture(name="path")
def _path(tmp_path):
    return str(tmp_path / "file.pdparams")


DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [[], [0, 3], [2, 3]])
def test_every_dtype_comes_back(path, dtype, shape):
    count = int(np.prod(shape))
    x = proa.to_tensor(np.arange(count).reshape(shape) % 2 if dtype == "bool" else np.arange(count).reshape(shape))
    x = x.astype(dtype)
    proa.save({"x": x}, path)
    y = proa.load(path)["x"]
    assert y.dtype == x.dtype and y.shape == x.shape
    assert np.array_equal(y.astype("complex128").numpy(), x.astype("complex128").numpy())


def test_nested_values_come_back(path):
    shared = proa.to_tensor([1.0, 2.0])
    value = {
        "a": [1, 2.5, None, True, "text", float("inf"), 1 + 2j, b"bytes"],
        "b": (shared, {"c": shared, 7: np.arange(3)}),
        "d": {},
        "a.0": proa.zeros([1]),
    }
    proa.save(value, path)
    loaded = proa.load(path)
    assert loaded["a"] == value["a"] and loaded["d"] == {}
    assert isinstance(loaded["b"], tuple)
    assert loaded["b"][0] is loaded["b"][1]["c"]
    assert loaded["b"][1][7].tolist() == [0, 1, 2] and isinstance(loaded["b"][1][7], np.ndarray)
    assert loaded["a.0"].tolist() == [0.0]


def test_nan_stays_nan(path):
    proa.save([float("nan"), float("-inf")], path)
    loaded = proa.load(path)
    assert np.isnan(loaded[0]) and loaded[1] == float("-inf")


def test_names_and_gradients_come_back(path):
    layer = proa.nn.Linear(2, 3)
    proa.save(layer.state_dict(), path)
    loaded = proa.load(path)
    assert loaded["weight"].name == layer.weight.name
    assert not loaded["weight"].stop_gradient
    arrays = proa.load(path, return_numpy=True)
    assert isinstance(arrays["weight"], np.ndarray)


def test_where_a_program_is_recorded(path):
    """What a file holds are values in static mode, too."""
    pickled = {"a": np.ones([2, 3], "float32"), "b": np.zeros([2], "float32")}
    with open(path + ".old", "wb") as file:
        pickle.dump(pickled, file, 2)
    proa.enable_static()
    try:
        layer = proa.nn.Linear(2, 3)
        layer.weight.set_value(np.ones([2, 3], "float32"))
        proa.save({"a": layer.weight, "b": proa.nn.Linear(2, 3).to(dtype="bfloat16").weight}, path)
        for name in (path, path + ".old"):
            found = proa.load(name)["a"]
            assert found.numpy().tolist() == [[1.0] * 3] * 2
            layer.weight.set_value(np.zeros([2, 3], "float32"))
            layer.set_state_dict({"weight": found, "bias": layer.bias})
            assert layer.weight.numpy().sum() == 6
        assert proa.load(path)["b"].dtype == proa.bfloat16
    finally:
        proa.disable_static()


def test_what_cannot_be_saved_is_named(path):
    with pytest.raises(TypeError, match=r"save: the value at model\.1 is a Linear"):
        proa.save({"model": [1, proa.nn.Linear(1, 1)]}, path)
    with pytest.raises(TypeError, match="a key"):
        proa.save({1.5: 2}, path)
    assert not os.path.exists(path)
    with pytest.raises(ValueError, match="folder"):
        proa.save({}, path + "/")
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="contains itself"):
        proa.save(loop, path)


def test_missing_file(path):
    with pytest.raises(FileNotFoundError):
        proa.load(path)


def test_a_prefix(path):
    net = proa.nn.Linear(2, 3)
    proa.jit.save(net, path, [proa.static.InputSpec([None, 2])])
    loaded = proa.load(path)
    found = {str(t.tolist()) for t in loaded.values()}
    assert found == {str(p.tolist()) for p in net.parameters()}
    assert all(isinstance(a, np.ndarray) for a in proa.load(path, return_numpy=True).values())
    proa.save({}, path + "x.pdparams")
    with pytest.raises(FileNotFoundError, match="whole name, .*x.pdparams") as caught:
        proa.load(path + "x")
    assert caught.value.filename == path + "x"


def test_file_is_safetensors(path):
    proa.save({"w": proa.to_tensor([[1.0, 2.0]])}, path)
    data = open(path, "rb").read()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    assert header["w"] == {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}
    assert all(isinstance(v, str) for v in header["__metadata__"].values())
    assert np.frombuffer(data[8 + length :], "<f4").tolist() == [1.0, 2.0]


def test_files_of_other_programs_load(path):
    header = json.dumps({"b": {"dtype": "I32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    with open(path, "wb") as stream:
        stream.write(len(header).to_bytes(8, "little") + header + np.array([3, 4], "<i4").tobytes())
    assert proa.load(path)["b"].tolist() == [3, 4]


def _saved(path):
    proa.save({"weight": proa.to_tensor(np.arange(4, dtype="float32")), "n": [1, 2]}, path)
    with open(path, "rb") as stream:
        return stream.read()


def test_cut_anywhere_says_so(path):
    data = _saved(path)
    for end in range(len(data)):
        with open(path, "wb") as stream:
            stream.write(data[:end])
        with pytest.raises(ValueError, match="file.pdparams"):
            proa.load(path)


def test_any_altered_byte_is_noticed(path):
    data = _saved(path)
    for i in range(len(data)):
        with open(path, "wb") as stream:
            stream.write(data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :])
        with pytest.raises(ValueError, match="file.pdparams"):
            proa.load(path)


def _write(path, header, body=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    with open(path, "wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text + body)


def _entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    "header, says",
    [
        ({"a": _entry(shape=[2**62, 4])}, "takes"),
        ({"a": _entry(offsets=[0, 2**62])}, "takes"),
        ({"a": _entry(shape=[-2])}, "not a list of sizes"),
        ({"a": _entry(shape=[True, 2])}, "not a list of sizes"),
        ({"a": _entry(shape="ab")}, "not a list of sizes"),
        ({"a": _entry(dtype="F99")}, "no element type"),
        ({"a": _entry(dtype=["F32"])}, "no element type"),
        ({"a": _entry(offsets=[4, 12])}, "cut off or was altered"),
        ({"a": _entry(shape=[1], offsets=[4, 8])}, "starts at 4"),
        ({"a": _entry(shape=[1], offsets=[0, 4])}, "end at 4"),
        ({"a": _entry(), "b": _entry()}, "starts at 0"),
        ({"a": {**_entry(), "more": 1}}, "exactly"),
        ({"a": 3}, "exactly"),
        ({"__metadata__": {"a": 1}}, "strings"),
        ({"__metadata__": {"proa.format": "9"}}, "newer"),
        ({"__metadata__": {"proa.format": "1"}}, "checksum"),
        (b'{"a": {}, "a": {}}', "twice"),
        (b'{"a": NaN}', "NaN"),
        (b"{" * 5000, "not valid"),
        (b'{"a": ' + b"[" * 100000 + b"]" * 100000 + b"}", "not valid"),
        (b'{"\xff": 1}', "not valid"),
        (b"[1]", "should start"),
    ],
)
def test_malformed_files(path, header, says):
    _write(path, header, b"\0" * 8)
    with pytest.raises(ValueError, match=says) as caught:
        proa.load(path)
    assert "file.pdparams" in str(caught.value)


def test_huge_header_takes_no_memory(path):
    with open(path, "wb") as stream:
        stream.write((2**63 - 1).to_bytes(8, "little") + b"{}")
    with pytest.raises(ValueError, match="header should take"):
        proa.load(path)


def test_bad_bools_are_refused(path):
    _write(path, {"a": _entry("BOOL", [1], [0, 1])}, b"\2")
    with pytest.raises(ValueError, match="neither 0 nor 1"):
        proa.load(path)


def test_unknown_tree_nodes_are_refused(path):
    for tree in (["run", "x"], [[]], ["tensor"], ["array", "missing"], {"a": 1}, ["float", "abc"]):
        container.write(path, {}, tree)
        with pytest.raises(ValueError, match="proa.tree"):
            proa.load(path)


def test_mode_is_that_of_a_new_file(path):
    old = os.umask(0o022)
    try:
        proa.save([1], path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o644


def test_saves_without_gradients(tmp_path):
    net = proa.nn.Linear(2, 3)
    with proa.no_grad():
        proa.jit.save(net, str(tmp_path / "net"), [proa.static.InputSpec([None, 2])])
    x = proa.ones([1, 2])
    assert proa.jit.load(str(tmp_path / "net"))(x).numpy().tolist() == net(x).numpy().tolist()


@pytest.mark.parametrize(
    "array", [np.arange(3), np.ones([2, 0]), np.array(2.5, "float32"), np.array([True]), np.array([1 + 2j])]
)
def test_an_array_alone_is_read_as_a_tensor(array, tmp_path):
    """As PaddlePaddle 3.3 reads it; in a list it stays an array."""
    proa.save(array, tmp_path / "x")
    loaded = proa.load(tmp_path / "x")
    assert isinstance(loaded, proa.Tensor) and loaded.numpy().dtype == array.dtype
    np.testing.assert_array_equal(loaded.numpy(), array)
    np.testing.assert_array_equal(proa.load(tmp_path / "x", return_numpy=True), array)
    proa.save([array], tmp_path / "x")
    assert isinstance(proa.load(tmp_path / "x")[0], np.ndarray)


def test_none_and_arrays_that_are_no_tensors(tmp_path):
    proa.save(None, tmp_path / "x")
    assert proa.load(tmp_path / "x") is None
    proa.save(np.array([1, 2], "uint32"), tmp_path / "x")
    assert proa.load(tmp_path / "x").dtype == np.uint32
