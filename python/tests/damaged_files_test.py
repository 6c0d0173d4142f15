"""Every reader of files, given files that were changed: an error that says so, or a value; never another exception,
never memory beyond the class of the file's size, nothing executed, no file outside of the folder.

    python python/tests/damaged_files_test.py --mutants 1000000 [--readers "npz|cifar"]    # longer

Pickles have a fuzzer of their own (pickle_reader_test.py), and so have files of programs (fuzz/programs.py).
"""

import argparse
import dataclasses
import gzip
import io
import json
import os
import pathlib
import pickle
import random
import re
import resource
import struct
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable

import numpy as np
import pytest

import proa
import proa.onnx
from proa.utils import download
from proa.vision import datasets

Image = pytest.importorskip("PIL.Image")
_TORCH = pathlib.Path(__file__).parent / "torch_files"
_R = np.random.RandomState(0)


# Right files ---------------------------------------------------------------------------------------------------------


def _saved(value):
    memory = io.BytesIO()
    proa.save(value, memory)
    return memory.getvalue()


def _safetensors(tensors):
    """As others write them: without a skeleton and without checksums."""
    header, data = {}, b""
    for name, (kind, shape, content) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def _numpy(write, *args, **arrays):
    memory = io.BytesIO()
    write(memory, *args, **arrays)
    return memory.getvalue()


def _tar(members, mode="w:gz"):
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode=mode) as file:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    return memory.getvalue()


def _zip(members, method=zipfile.ZIP_DEFLATED):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", method) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return memory.getvalue()


def _unpacked(data):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def _image(kind, mode="RGB"):
    memory = io.BytesIO()
    channels = {"L": (), "RGB": (3,)}[mode]
    Image.fromarray(_R.randint(0, 256, (9, 12, *channels)).astype("uint8")).save(memory, kind)
    return memory.getvalue()


def _idx(array):
    return struct.pack(f">I{array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes()


def _mat(name, numbers):
    def part(kind, data):
        return struct.pack("<2I", kind, len(data)) + data + bytes(-len(data) % 8)

    head = part(6, struct.pack("<2I", 9, 0)) + part(5, struct.pack("<2i", 1, len(numbers)))
    matrix = part(14, head + part(1, name) + part(2, bytes(numbers)))
    return b"MATLAB 5.0".ljust(124) + struct.pack("<H2s", 0x100, b"IM") + matrix


_TOP = "VOCdevkit/VOC2012"
_CONLL = "conll05st-release/test.wsj"
_CIFAR = pickle.dumps({b"data": np.zeros([2, 3072], "uint8"), b"labels": [1, 2]}, 2)

# Members of archives; of each reader, what it takes.
_MEMBERS: dict[str, dict[str, bytes]] = {
    "cifar": {"c/data_batch_1": _CIFAR, "c/readme": b"text"},
    "voc": {
        f"{_TOP}/ImageSets/Segmentation/trainval.txt": b"a\n",
        f"{_TOP}/JPEGImages/a.jpg": _image("jpeg"),
        f"{_TOP}/SegmentationClass/a.png": _image("png", "L"),
    },
    "imdb": {"aclImdb/train/pos/0.txt": b"a good, good film", "aclImdb/train/neg/0.txt": b"a bad film"},
    "imikolov": {f"./simple-examples/data/ptb.{part}.txt": b"a b a c\nb a\n" for part in ("train", "valid", "test")},
    "movielens": {
        "ml-1m/movies.dat": b"1::Toy Story (1995)::Animation|Comedy\n2::Am\xe9lie (2001)::Comedy\n",
        "ml-1m/users.dat": b"1::F::1::10::48067\n2::M::56::16::70072\n",
        "ml-1m/ratings.dat": b"1::1::5::978300760\n2::2::1::978302109\n",
    },
    "wmt14": {
        "wmt14/src.dict": b"<s>\n<e>\n<unk>\nhello\n", "wmt14/trg.dict": b"<s>\n<e>\n<unk>\nmonde\n",
        "wmt14/train/train": b"hello world\tbonjour monde\nno pair\n",
    },
    "wmt16": {"wmt16/train": b"a dog\tein hund\n", "wmt16/test": b"a\tein\n", "wmt16/val": b"a\tein\n"},
    "conll": {
        f"{_CONLL}/words/test.wsj.words.gz": gzip.compress(b"The\ncat\nslept\n\n", mtime=0),
        f"{_CONLL}/props/test.wsj.props.gz": gzip.compress(b"-  (A0*\n-  *)\nsleep  (V*)\n\n", mtime=0),
    },
    "unpacked": {"top/a.txt": b"1", "top/b/c.txt": b"2" * 50},
}  # fmt: skip


# Readers -------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Reader:
    read: Callable  # of a path
    file: str  # its name
    seeds: list[bytes]
    pack: Callable | None = None  # makes a file of members, so that what is inside can be changed below right checksums
    members: list[dict[str, bytes]] = dataclasses.field(default_factory=list)


def _packed(read, file, name, pack=_tar):
    members = _MEMBERS[name]
    return Reader(read, file, [pack(members)], pack, [members])


def _all(dataset):
    return [dataset[i] for i in range(min(len(dataset), 3))]


def _beside(folder, name, data):
    path = pathlib.Path(folder, name)
    if not path.exists():
        path.write_bytes(data)
    return str(path)


def _mnist(path):
    return _all(datasets.MNIST(path, _beside(os.path.dirname(path), "labels", _idx(np.arange(3, dtype="uint8")))))


def _flowers(path):
    folder = os.path.dirname(path)
    labels, parts = _beside(folder, "l.mat", _mat(b"labels", [3, 5])), _beside(folder, "s.mat", _mat(b"tstid", [1, 2]))
    with tempfile.TemporaryDirectory(dir=folder) as inner:
        archive = os.path.join(inner, "f.tgz")
        os.link(path, archive)
        try:
            found = datasets.Flowers(archive, labels, parts, backend="cv2")
        except ValueError:
            assert os.listdir(inner) == ["f.tgz"], "left a folder behind"
            raise
        try:
            return _all(found)
        except FileNotFoundError as error:  # an image that the archive does not have, by its name
            raise ValueError(error) from None


def _labels(path):
    return datasets.mat_file.read_mat(path)


def _conll(path):
    words = {"UNK": 0}
    lists = [_beside(os.path.dirname(path), name, text.encode())
             for name, text in (("words", "\n".join(words)), ("verbs", "sleep\n"), ("tags", "B-A0\nI-A0\nB-V\nO\n"))]  # fmt: skip
    return _all(proa.text.Conll05st(path, *lists, _beside(os.path.dirname(path), "emb", b"")))


def _unpack(path):
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as outer:
        inner = os.path.join(outer, "a", "b")
        os.makedirs(inner)
        os.link(path, os.path.join(inner, os.path.basename(path)))
        try:
            download._decompress(os.path.join(inner, os.path.basename(path)))
        finally:
            assert os.listdir(outer) == ["a"] and os.listdir(os.path.join(outer, "a")) == ["b"], "left its folder"


def _sharded(path):
    folder = os.path.dirname(path)
    _beside(folder, "one.safetensors", _safetensors({"a": ("F32", [2], bytes(8))}))
    _beside(folder, "two.safetensors", _safetensors({"b": ("I64", [1], bytes(8))}))
    return proa.load(path)


def _picture(path):
    for backend in ("tensor", "cv2"):
        proa.vision.image_load(path, backend=backend)


def _jpeg(path):
    return proa.vision.ops.decode_jpeg(proa.vision.ops.read_file(path))


def _tag(number, *parts):
    """A field of a protocol buffer: numbers, texts and messages by their type."""
    made = b""
    for part in parts:
        if isinstance(part, int):
            made += _varint(number << 3) + _varint(part)
        else:
            part = part.encode() if isinstance(part, str) else part
            made += _varint(number << 3 | 2) + _varint(len(part)) + part
    return made


def _varint(n):
    made = bytearray()
    while n > 127:
        made.append(n & 127 | 128)
        n >>= 7
    return bytes([*made, n])


def _onnx(nodes, tensors):
    """A model of ONNX from the input x to the output y, each [2, 3]."""
    info = [_tag(1, n) + _tag(2, _tag(1, _tag(1, 1) + _tag(2, _tag(1, _tag(1, 2), _tag(1, 3))))) for n in "xy"]
    graph = _tag(1, *nodes) + _tag(2, "graph") + _tag(5, *tensors) + _tag(11, info[0]) + _tag(12, info[1])
    return _tag(1, 8) + _tag(8, _tag(2, 17)) + _tag(7, graph)


def _onnx_node(kind, inputs, outputs, *attributes):
    return _tag(1, *inputs) + _tag(2, *outputs) + _tag(3, f"the {kind}") + _tag(4, kind) + _tag(5, *attributes)


def _onnx_models():
    weight = _tag(1, 3, 4) + _tag(2, 1) + _tag(8, "w") + _tag(9, _R.rand(3, 4).astype("f4").tobytes())
    shape = _tag(1, 2) + _tag(2, 7) + _tag(7, _varint(4) + _varint(2)) + _tag(8, "s")
    outside = _tag(1, 2) + _tag(2, 1) + _tag(8, "o") + _tag(13, _tag(1, "location") + _tag(2, "m.bin")) + _tag(14, 1)
    axis = _tag(1, "axis") + _tag(3, 1) + _tag(20, 2)
    body = _tag(1, _onnx_node("Relu", ["x"], ["b"])) + _tag(2, "body") + _tag(12, _tag(1, "b"))
    branches = [_tag(1, name) + _tag(6, body) + _tag(20, 5) for name in ("then_branch", "else_branch")]
    true = _tag(2, 9) + _tag(8, "c") + _tag(9, b"\1")
    return [
        _onnx([_onnx_node("MatMul", "xw", "a"), _onnx_node("Reshape", "as", "b"), _onnx_node("Softmax", "b", "y", axis)],
              [weight, shape]),
        _onnx([_onnx_node("If", "c", "a", *branches), _onnx_node("Add", "ao", "y")], [true, outside]),
        _onnx([_onnx_node("MatMul", "xw", "y")], [weight]) + _tag(25, _tag(1, "F") + _tag(4, "a") + _tag(5, "b")
              + _tag(7, _onnx_node("Neg", "a", "b")) + _tag(9, _tag(2, 17)) + _tag(10, "my")),
    ]  # fmt: skip


def _read_onnx(path):
    _beside(os.path.dirname(path), "m.bin", np.ones(2, "f4").tobytes())
    return proa.onnx.load(path)


_SHARDS = json.dumps({"metadata": {"total_size": 16},
                      "weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}).encode()  # fmt: skip
_OTHERS = _safetensors({"w": ("F32", [2, 3], _R.bytes(24)), "h": ("BF16", [4], _R.bytes(8)), "e": ("I8", [0], b"")})

READERS = {
    "saved": Reader(proa.load, "x.pdparams", [
        _saved({"w": proa.randn([3, 2]), "n": [1, "two", None, {"x": proa.ones([2], "bfloat16")}], "t": (1.5, True)}),
        _saved(proa.arange(5)),
    ]),
    "safetensors": Reader(proa.load, "x.safetensors", [_OTHERS]),
    "sharded": Reader(_sharded, "model.safetensors.index.json", [_SHARDS]),
    "npy": Reader(proa.load, "x.npy", [
        _numpy(np.save, np.arange(6.0).reshape(2, 3)), _numpy(np.save, np.asfortranarray(np.ones([2, 3], ">i4"))),
    ]),
    "npz": Reader(proa.load, "x.npz", [_numpy(np.savez, a=np.arange(3), b=np.ones((2, 2), "f4")),
                                       _numpy(np.savez_compressed, a=np.arange(3))], _zip,
                  [_unpacked(_numpy(np.savez, a=np.arange(3), b=np.ones((2, 2), "f4")))]),
    "torch": Reader(proa.load, "x.pt", [path.read_bytes() for path in sorted(_TORCH.glob("*.pt")) if path.name != "old.pt"],
                    lambda members: _zip(members, zipfile.ZIP_STORED),
                    [_unpacked(path.read_bytes()) for path in sorted(_TORCH.glob("*.pt")) if zipfile.is_zipfile(path)]),
    "image": Reader(_picture, "x.img", [_image("jpeg"), _image("png"), _image("png", "L"), _image("bmp"), _image("gif", "L")]),
    "jpeg": Reader(_jpeg, "x.jpg", [_image("jpeg"), _image("jpeg", "L")]),
    "mnist": Reader(_mnist, "images", [_idx(_R.randint(0, 256, [3, 4, 4]).astype("uint8"))],
                    lambda members: gzip.compress(members["idx"], mtime=0),
                    [{"idx": _idx(_R.randint(0, 256, [3, 4, 4]).astype("uint8"))}]),
    "cifar": _packed(lambda p: _all(datasets.Cifar10(p)), "c.tar.gz", "cifar"),
    "flowers": Reader(_flowers, "f0.tgz", [_tar({f"jpg/image_0000{i}.jpg": _image("jpeg") for i in (1, 2)})]),
    "mat": Reader(_labels, "x.mat", [_mat(b"labels", [1, 2, 3])]),
    "voc": _packed(lambda p: _all(datasets.VOC2012(p, backend="cv2")), "v.tar", "voc", lambda m: _tar(m, "w")),
    "imdb": _packed(lambda p: _all(proa.text.Imdb(p, cutoff=0)), "i.tar.gz", "imdb"),
    "imikolov": _packed(lambda p: _all(proa.text.Imikolov(p, "NGRAM", 2, min_word_freq=0)), "s.tgz", "imikolov"),
    "movielens": _packed(lambda p: _all(proa.text.Movielens(p)), "m.zip", "movielens", _zip),
    "wmt14": _packed(lambda p: _all(proa.text.WMT14(p, "train", 4)), "w.tgz", "wmt14"),
    "wmt16": _packed(lambda p: _all(proa.text.WMT16(p, "train", 5, 5)), "w.tar.gz", "wmt16"),
    "conll": _packed(_conll, "t.tar.gz", "conll"),
    "housing": Reader(lambda p: _all(proa.text.UCIHousing(p)), "housing.data", [
        b"\n".join(b" ".join(b"%.2f" % v for v in _R.rand(14)) for _ in range(10)),
    ]),
    "onnx": Reader(_read_onnx, "m.onnx", _onnx_models()),
    "unpacked tar": _packed(_unpack, "a.tar.gz", "unpacked"),
    "unpacked zip": _packed(_unpack, "a.zip", "unpacked", _zip),
}  # fmt: skip


# What is changed -----------------------------------------------------------------------------------------------------

_PIECES = [
    b"\0",
    b"\xff" * 8,
    b"\xff\xff\xff\x7f",
    b"-1",
    b"99999999999999999999",
    b"../",
    b"::",
    b"{",
    b"\x80\x04",
    b"\n",
]


def _changed(rng, data, others):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, kind = rng.randrange(len(data) + 1), rng.randrange(6)
        if kind == 0 and data:
            data[at % len(data)] = rng.randrange(256)
        elif kind == 1:
            data[at:at] = rng.choice(_PIECES)
        elif kind == 2:
            del data[at : at + rng.choice((1, 1, 2, 8, 100000))]
        elif kind == 3:
            other = rng.choice(others)
            data[at:] = other[rng.randrange(len(other) + 1) :]
        elif kind == 4:
            piece = rng.choice(_PIECES)
            data[at : at + len(piece)] = piece
        elif data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
    return bytes(data)


def _mutant(rng, reader):
    if reader.pack and rng.random() < 0.6:
        members = dict(rng.choice(reader.members))
        if len(members) > 1 and rng.random() < 0.1:
            del members[rng.choice(sorted(members))]
        if len(members) > 1 and rng.random() < 0.1:
            members[rng.choice(("../../evil", "/tmp/proa_evil", "a/../../b", ".", "x" * 300))] = b"evil"
        if members:
            name = rng.choice(sorted(members))
            members[name] = _changed(rng, members[name], list(members.values()))
        return reader.pack(members)
    return _changed(rng, rng.choice(reader.seeds), reader.seeds)


def fuzz(name, count, seed):
    """(mutants that were read, seconds of the slowest, growth of the process in KiB); raises for what must not be."""
    reader, rng = READERS[name], random.Random(f"{name} {seed}")
    accepted, slowest = 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, reader.file)
        for data in reader.seeds + [reader.pack(m) for m in reader.members if reader.pack]:
            pathlib.Path(path).write_bytes(data)
            reader.read(path)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for i in range(count):
            data = _mutant(rng, reader)
            os.unlink(path)
            pathlib.Path(path).write_bytes(data)
            start = time.perf_counter()
            try:
                reader.read(path)
                accepted += 1
            except ValueError:
                pass
            except Exception as error:
                raise AssertionError(f"mutant {i} of {name}, seed {seed}: {error!r} for {data[:300]!r}") from error
            slowest = max(slowest, time.perf_counter() - start)
    assert not os.path.exists("/tmp/proa_evil")
    return accepted, slowest, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before


@pytest.mark.parametrize("name", READERS)
@pytest.mark.filterwarnings("ignore")
def test_mutants(name):
    accepted, _, growth = fuzz(name, 120, seed=3)
    assert accepted < 120, "no change was noticed"
    assert growth < 100 << 10


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--mutants", type=int, default=1000000, help="of all readers together")
    parser.add_argument("--readers", default=".", help="a regular expression")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--go-on", action="store_true", help="to the next reader after a finding")
    options = parser.parse_args()
    chosen = [name for name in READERS if re.search(options.readers, name)]
    status = 0
    for name in chosen:
        try:
            figures = fuzz(name, options.mutants // len(chosen), options.seed)
            print("%-14s read %d, slowest %.3f s, grew by %d KiB" % (name, *figures), flush=True)
        except AssertionError as error:
            status = 1
            print(error, repr(error.__cause__), flush=True)
            if not options.go_on:
                break
    sys.exit(status)
