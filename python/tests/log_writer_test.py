"""LogWriter: records by the format's rules, read field by field; Model's callback with and without visualdl."""

import io
import os
import struct
import sys

import numpy as np
import pytest

import proa
from proa.utils import LogWriter


def fields(data):
    """{number: [value]} of a protocol buffer."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            value, at = data[at : at + size], at + size
            value = struct.unpack({1: "<d", 5: "<f"}[key & 7], value)[0] if key & 7 != 2 else value
        found.setdefault(key >> 3, []).append(value)
    return found


def crc32c(data):
    """Bit by bit, by the polynomial."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 * (crc & 1))
    return crc ^ 0xFFFFFFFF


def events(path):
    with open(path, "rb") as file:
        data = file.read()
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        event = data[12 : 12 + size]
        for part, at in ((data[:8], 8), (event, 12 + size)):
            (masked,) = struct.unpack("<I", data[at : at + 4])
            crc = (masked - 0xA282EAD8) & 0xFFFFFFFF
            assert (crc << 15 | crc >> 17) & 0xFFFFFFFF == crc32c(part)
        yield fields(event)
        data = data[16 + size :]


def test_the_checksum():
    assert crc32c(b"123456789") == 0xE3069283  # as published


def test_events(tmp_path):
    with LogWriter(str(tmp_path / "new" / "folder")) as writer:
        writer.add_scalar("train/löss", proa.to_tensor([0.5]), 300, walltime=12.5)
        writer.add_scalar("none", float("nan"))
        writer.add_histogram("h", proa.arange(10, dtype="float32"), 2, buckets=5)
        writer.add_histogram("empty", [np.inf], 2)
        assert len(list(events(writer.file_name))) == 5  # each is there at once
    first, scalar, none, histogram, empty = events(writer.file_name)
    assert first[3] == [b"brain.Event:2"] and "tfevents" in writer.file_name
    (value,) = fields(scalar[5][0])[1]
    assert scalar[1] == [12.5] and scalar[2] == [300]
    assert fields(value) == {1: ["train/löss".encode()], 2: [0.5]}
    assert 2 not in none and np.isnan(fields(fields(none[5][0])[1][0])[2][0])
    data = fields(fields(fields(histogram[5][0])[1][0])[5][0])
    assert [data[i][0] for i in range(1, 6)] == [0.0, 9.0, 10.0, 45.0, 285.0]
    assert np.frombuffer(data[7][0], "<f8").tolist() == [2.0] * 5
    assert np.allclose(np.frombuffer(data[6][0], "<f8"), [1.8, 3.6, 5.4, 7.2, 9.0])
    assert fields(fields(fields(empty[5][0])[1][0])[5][0])[3] == [0.0]
    with pytest.raises(ValueError, match="closed"):
        writer.add_scalar("late", 1)


@pytest.mark.parametrize(
    ("img", "dataformats", "expected"),
    [(np.arange(18).reshape(2, 3, 3).astype("uint8"), "HWC", np.arange(18).reshape(2, 3, 3)),
     (np.array([[0.0, 0.5], [1.0, 2.0]]), "HW", [[0, 128], [255, 255]]),
     (np.ones((4, 2, 3), "float32"), "CHW", np.full((2, 3, 4), 255)),
     (np.full((1, 1, 2), np.nan), "HWC", [[[0, 0]]])],
)  # fmt: skip
def test_images(tmp_path, img, dataformats, expected):
    from PIL import Image

    with LogWriter(str(tmp_path)) as writer:
        writer.add_image("im", proa.to_tensor(img) if img.dtype != np.uint8 else img, 1, dataformats=dataformats)
    _, event = events(writer.file_name)
    image = fields(fields(fields(event[5][0])[1][0])[4][0])
    pixels = np.asarray(Image.open(io.BytesIO(image[4][0])))
    assert np.array_equal(pixels, expected) and (image[1][0], image[2][0]) == pixels.shape[:2]


def _nodes(event):
    """{name: (op, inputs, sizes of the results)} of an event's graph."""
    found = {}
    for node in fields(event[4][0])[1]:
        node = fields(node)
        shapes = [
            fields(fields(fields(a)[2][0])[1][0])[7] for a in node.get(5, []) if fields(a)[1] == [b"_output_shapes"]
        ]
        sizes = [[fields(d)[1][0] for d in fields(shape).get(2, [])] for shape in (shapes[0] if shapes else [])]
        found[node[1][0].decode()] = node[2][0].decode(), [i.decode() for i in node.get(3, [])], sizes
    return found


def test_graphs(tmp_path, capsys):
    """Read by the package tensorboard 2.21, too, when this was written."""
    net = proa.nn.Sequential(proa.nn.Linear(4, 3), proa.nn.ReLU(), proa.nn.Linear(3, 3), proa.nn.ReLU())
    with LogWriter(str(tmp_path)) as writer:
        writer.add_graph(net, [proa.static.InputSpec([None, 4], "float32", "x")], verbose=True)
        writer.add_graph(net, proa.ones([2, 4]))
        proa.enable_static()
        main = proa.static.Program()
        with proa.static.program_guard(main, proa.static.Program()):
            proa.topk(proa.static.data("in", [2, 4]), 2)[1].sum()
        proa.disable_static()
        writer.add_graph(main)
        with pytest.raises(ValueError, match="input_spec is missing"):
            writer.add_graph(net)
    _, first, second, third = events(writer.file_name)
    nodes, any_size = _nodes(first), (1 << 64) - 1
    assert nodes["x"] == ("Placeholder", [], [[any_size, 4]]) and nodes["0/weight"] == ("Parameter", [], [[4, 3]])
    assert nodes["0/linear"] == ("linear", ["x", "0/weight", "0/bias"], [[any_size, 3]])
    assert nodes["relu"][1] == ["0/linear"] and nodes["2/linear"][1][0] == "relu" and nodes["relu_1"][1] == ["2/linear"]
    assert _nodes(second)["relu_1"][2] == [[2, 3]] and "linear(%0" in capsys.readouterr().out
    nodes = _nodes(third)
    assert nodes["topk"] == ("topk", ["in"], [[2, 2], [2, 2]]) and nodes["sum"][1:] == (["topk:1"], [[]])


def test_texts(tmp_path):
    with LogWriter(str(tmp_path)) as writer:
        writer.add_text("note", "**gro\u00df**", 4)
    _, event = events(writer.file_name)
    value = fields(fields(event[5][0])[1][0])
    assert event[2] == [4] and value[1] == [b"note"] and fields(fields(value[9][0])[1][0])[1] == [b"text"]
    assert fields(value[8][0])[1] == [7] and fields(value[8][0])[8] == ["**gro\u00df**".encode()]


def test_what_is_refused(tmp_path):
    with LogWriter(str(tmp_path), "x.tfevents") as writer:
        for img, dataformats in ((np.ones(3), "HW"), (np.ones((2, 2)), "HWC"), (np.ones((2, 2)), "WH")):
            with pytest.raises(ValueError, match="dataformats"):
                writer.add_image("a", img, dataformats=dataformats)
        for shape in ((2, 2, 5), (0, 2, 3)):
            with pytest.raises(ValueError, match="1 to 4 channels"):
                writer.add_image("a", np.ones(shape))
        with pytest.raises((ValueError, TypeError)):
            writer.add_scalar("a", [1.0, 2.0])
        assert len(list(events(writer.file_name))) == 1
    with pytest.raises(FileExistsError):
        LogWriter(str(tmp_path), "x.tfevents")


def test_what_a_model_writes(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "visualdl", None)
    net = proa.nn.Linear(2, 1)
    model = proa.Model(net)
    model.prepare(proa.optimizer.SGD(0.1, parameters=net.parameters()), proa.nn.MSELoss())
    data = proa.io.TensorDataset([proa.ones([6, 2]), proa.ones([6, 1])])
    model.fit(data, data, batch_size=2, epochs=2, verbose=0, callbacks=proa.callbacks.VisualDL(str(tmp_path)))
    (name,) = os.listdir(tmp_path)
    found = [(fields(fields(e[5][0])[1][0])[1][0], e.get(2, [0])[0]) for e in list(events(tmp_path / name))[1:]]
    assert found == [(b"train/loss", step) for step in (1, 2, 3)] + [(b"eval/loss", 0)] + [
        (b"train/loss", step) for step in (4, 5, 6)
    ] + [(b"eval/loss", 1)]
