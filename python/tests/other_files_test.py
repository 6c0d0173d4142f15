"""Files of PyTorch (torch_files/write.py), NumPy and safetensors: what is read, what is refused, and converting them."""

import io
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import proa
from proa import convert

_FOLDER = pathlib.Path(__file__).parent / "torch_files"
_EXPECTED = json.loads((_FOLDER / "expected.json").read_text())


def plain(tensor):
    found = tensor.astype("float32") if tensor.dtype in (proa.bfloat16, proa.float16) else tensor
    found = proa.as_real(found) if found.is_complex() else found
    return [tensor.dtype.name, list(tensor.shape), found.tolist()]


def test_a_state_of_torch():
    state = proa.load(str(_FOLDER / "state.pt"))
    assert {name: plain(tensor) for name, tensor in state.items()} == _EXPECTED["state"]
    net = proa.nn.Sequential(proa.nn.Linear(2, 3), proa.nn.BatchNorm1D(3))
    names = {"1.running_mean": "1._mean", "1.running_var": "1._variance"}
    ours = {names.get(n, n): t.T if n == "0.weight" else t for n, t in state.items() if "num_batches" not in n}
    assert net.set_state_dict(ours) == ([], [])


def test_nested_values_of_torch():
    value = proa.load(str(_FOLDER / "nested.pt"))
    assert {name: plain(tensor) for name, tensor in value["others"].items()} == _EXPECTED["others"]
    assert value["epoch"] == 3 and value["shape"] == (2, 3) and value["list"][1] == (None, "text")
    assert value["parameter"].stop_gradient is False and value["list"][0].stop_gradient is True
    assert value["optimizer"]["param_groups"][0]["lr"] == 0.001
    arrays = proa.load(str(_FOLDER / "nested.pt"), return_numpy=True)
    assert arrays["others"]["bfloat16"].dtype == np.float32 and isinstance(arrays["parameter"], np.ndarray)
    with open(_FOLDER / "nested.pt", "rb") as stream:
        assert proa.load(stream)["epoch"] == 3


def test_older_files_of_torch_say_so():
    with pytest.raises(ValueError, match="before 1.6"):
        proa.load(str(_FOLDER / "old.pt"))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_of_numpy(tmp_path, save):
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b.c": np.array(3), "f": np.asfortranarray(np.ones((2, 3), "int8")),
              "big": np.arange(3, dtype=">f4"), "none": np.zeros((0, 2), "float32"), "zeros": np.zeros(10000)}  # fmt: skip
    path = str(tmp_path / "arrays.npz")
    save(path, **arrays)
    found = proa.load(path)
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        assert found[name].dtype.name == array.dtype.name and np.array_equal(found[name].numpy(), array)
    np.save(tmp_path / "one.npy", arrays["a"])
    assert proa.load(str(tmp_path / "one.npy")).tolist() == arrays["a"].tolist()
    np.save(tmp_path / "text.npy", np.array(["a"]))
    with pytest.raises(ValueError, match="no tensors of"):
        proa.load(str(tmp_path / "text.npy"))
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="Python objects"):
        proa.load(str(tmp_path / "objects.npy"))


def npy(shape, descr="<f4", data=b""):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


@pytest.mark.parametrize(
    ("data", "says"),
    [(npy("(1000000000000,)"), "but only"), (npy("(2,)", data=b"1234567"), "but only|cut off"), (npy("(-1, -4)"), "not a whole"),
     (npy("(1,)", "|O", b"12345678"), "objects"), (npy("x"), "not a whole"), (b"\x93NUMPY\x09\x00", "version"),
     (b"\x93NUMPY", "not a whole"), (npy("(" * 400 + ")" * 400), "not a whole")],
)  # fmt: skip
def test_bad_arrays(data, says, tmp_path):
    path = tmp_path / "bad.npy"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=says):
        proa.load(str(path))


def archive(members, method=zipfile.ZIP_STORED):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", method) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return memory.getvalue()


def _changed(change):
    """state.pt with other bytes in its pickle."""
    with zipfile.ZipFile(_FOLDER / "state.pt") as file:
        members = {info.filename: file.read(info) for info in file.infolist()}
    name = next(n for n in members if n.endswith("data.pkl"))
    members[name] = change(members[name])
    return archive(members)


_BAD_ARCHIVES = [
        (archive({}), "empty|not a whole"),
        (archive({"a.txt": b""}), "neither of NumPy nor of PyTorch; it holds 'a.txt'"),
        (archive({"x/data.pkl": b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R."}), "names os.system, which is not read"),
        (archive({"x/data.pkl": b"\x80\x02ctorch._utils\n_rebuild_tensor\n."}), "which is not read"),
        (archive({"x/data.pkl": b"\x80\x02X\x01\x00\x00\x00aQ."}), "names something outside that is no storage"),
        (archive({"x/data.pkl": b"\x80\x02}.", "x/byteorder": b"big"}), "in an order that is not read"),
        (archive({"zeros.npy": bytes(1 << 28)}, zipfile.ZIP_DEFLATED), "times as large as the file"),
        (_changed(lambda p: p.replace(b"FloatStorage", b"LongsStorage")), "which is not read"),
        (_changed(lambda p: p.replace(b"X\x01\x00\x00\x000q\x06", b"X\x01\x00\x00\x00zq\x06")), "the archive does not hold"),
        (_changed(lambda p: p.replace(b"K\x06tq\x08", b"K\x07tq\x08")), "7 elements of float32; it has 24 bytes"),
        (_changed(lambda p: p.replace(b"QK\x00K\x03K\x02\x86", b"QK\x01K\x03K\x02\x86")), "7 elements out of a storage of 6"),
        (_changed(lambda p: p[:-40]), "cut off|not a whole"),
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(_BAD_ARCHIVES)))
def test_bad_archives(i):
    data, says = _BAD_ARCHIVES[i]
    with pytest.raises(ValueError, match=says):
        proa.load(io.BytesIO(data))


def test_several_files(tmp_path):
    for part, names in (("model-1.safetensors", ["a", "b"]), ("model-2.safetensors", ["c"])):
        proa.save({name: proa.full([2], ord(name)) for name in names}, str(tmp_path / part))
    index = tmp_path / "model.safetensors.index.json"
    table = {"b": "model-1.safetensors", "c": "model-2.safetensors"}
    index.write_text(json.dumps({"metadata": {}, "weight_map": table}))
    found = proa.load(str(index))
    assert {name: tensor.tolist() for name, tensor in found.items()} == {"b": [98.0, 98.0], "c": [99.0, 99.0]}
    for wrong, says in (
        ({"weight_map": {"x": "model-1.safetensors"}}, "does not hold 'x'"),
        ({"weight_map": {"a": "../model-1.safetensors"}}, "is no file beside it"),
        ({"weight_map": {"a": 3}}, "no weight_map"),
        ([], "no weight_map"),
    ):
        index.write_text(json.dumps(wrong))
        with pytest.raises(ValueError, match=says):
            proa.load(str(index))
    index.write_text('{"weight_map": {"a": "none.safetensors"}}')
    with pytest.raises(FileNotFoundError):
        proa.load(str(index))


def test_every_format_to_every_other(tmp_path):
    first = {"a.weight": proa.randn([2, 3]), "a.bias": proa.arange(3), "h": proa.ones([2], "float16")}
    proa.save(first, str(tmp_path / "0.pdparams"))
    source = tmp_path / "0.pdparams"
    for i, ending in enumerate(["safetensors", "npz", "pdparams", "npz", "safetensors", "pdparams"], 1):
        target = tmp_path / f"{i}.{ending}"
        assert convert.convert(str(source), str(target)) == list(first)
        source = target
        found = proa.load(str(target))
        assert all(np.array_equal(found[n].numpy(), t.numpy()) and found[n].dtype == t.dtype for n, t in first.items())


@pytest.mark.parametrize("name", ["b.xyz", "b", "b.npy", "b.pt", "b.npz.tmp"])
def test_an_ending_that_is_not_written(tmp_path, name, capsys):
    source, target = str(tmp_path / "a.pdparams"), tmp_path / name
    proa.save({"w": proa.ones([2])}, source)
    assert convert.main([source, str(target)]) == 1
    said = capsys.readouterr().err
    assert name in said and ".safetensors, .npz, .pdparams, .pdopt" in said and not target.exists()


def test_converting_what_torch_wrote(tmp_path):
    target = tmp_path / "net.pdparams"
    call = [sys.executable, "-m", "proa.convert", str(_FOLDER / "state.pt"), str(target), "--transpose", "0.weight",
            "--rename", "running_mean=_mean", "--rename", "running_var=_variance", "--drop", "*num_batches*"]  # fmt: skip
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(call, capture_output=True, text=True, env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{target}: 6 tensors\n", "")
    net = proa.nn.Sequential(proa.nn.Linear(2, 3), proa.nn.BatchNorm1D(3))
    assert net.set_state_dict(proa.load(str(target))) == ([], [])
    assert convert.main([str(_FOLDER / "nested.pt"), str(tmp_path / "others.npz"), "--take", "others"]) == 0
    assert sorted(np.load(tmp_path / "others.npz").files) == sorted(_EXPECTED["others"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["state.pt", "x.npz", "--drop", "none*"], "no name fits 'none\\*'"),
     (["state.pt", "x.npz", "--transpose", "0.bias"], "0.bias has less than two dims"),
     (["state.pt", "x.npz", "--rename", "weight=w"], None),
     (["state.pt", "x.npz", "--rename", ".+=w"], "two are named 'w'"),
     (["nested.pt", "x.npz"], "epoch is a int"),
     (["nested.pt", "x.npz", "--take", "model"], "there is no 'model' in .*; there is epoch, others"),
     (["none.pt", "x.npz"], "none.pt"),
     (["state.pt", "x.npz", "--rename", "(=a"], "unterminated|missing")],
)  # fmt: skip
def test_what_cannot_be_converted(arguments, says, tmp_path, capsys):
    source, target, *rest = arguments
    code = convert.main([str(_FOLDER / source), str(tmp_path / target), *rest])
    error = capsys.readouterr().err
    if says is None:
        assert code == 0
    else:
        assert code == 1 and error.count("\n") == 1 and not list(tmp_path.iterdir())
        assert re.search(says, error), error


def test_archives_without_names_or_members_are_refused(tmp_path):
    import zipfile

    from proa.utils import download

    with zipfile.ZipFile(tmp_path / "none.zip", "w"):
        pass
    with zipfile.ZipFile(tmp_path / "nameless.zip", "w") as archive:
        archive.writestr("a", "x")
    path = tmp_path / "nameless.zip"
    path.write_bytes(path.read_bytes().replace(b"a", b"\0"))  # a name ends at its first NUL
    for name, says in (("none", "holds nothing that can be unpacked"), ("nameless", "a member without a name")):
        with pytest.raises(ValueError, match=says):
            download._decompress(str(tmp_path / f"{name}.zip"))
