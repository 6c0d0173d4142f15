"""Every reader of files, given files that were changed: an error that says so, or a value; never another exception,
never memory beyond the class of the file's size, nothing executed, no file outside of the folder.

    python python/tests/damaged_files_test.py --mutants 1000000 [--readers "npz|cifar"]    # longer; --each: of each reader
    python python/tests/damaged_files_test.py --each 1000000 --record FILE    # goes on where it was ended, cheap ones first

READERS is the list of all of them: test_every_module_that_opens_files finds who is missing. What a program in a changed
file computes is the matter of fuzz/programs.py; pickle_reader_test.py also says what each pickle must become.
"""

import argparse
import ast
import dataclasses
import functools
import gzip
import io
import json
import os
import pathlib
import pickle
import random
import re
import resource
import signal
import struct
import sys
import tarfile
import tempfile
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable

import numpy as np
import pytest

import proa
import proa.onnx
from fuzz import wire
from proa.distributed import checkpoint, dist_model, simulate
from proa.framework import container
from proa.hugging_face import loading
from proa.utils import download
from proa.vision import datasets
from python.tests import pickle_reader_test, tree_index_test

Image = pytest.importorskip("PIL.Image")
_TORCH, _REFERENCE, _MODELS = (
    pathlib.Path(__file__).parent / folder for folder in ("torch_files", "reference_files", "reference_models")
)
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


@functools.lru_cache(10000)
def _tar_head(name, size):
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf()


def _tar(members, mode="w:gz"):
    """tarfile takes ten times as long, which counts where a million of them are made."""
    parts = [_tar_head(name, len(data)) + data + bytes(-len(data) % 512) for name, data in members.items()]
    plain = b"".join(parts) + bytes(1024)
    return gzip.compress(plain, 1, mtime=0) if mode == "w:gz" else plain


def _zip(members, method=zipfile.ZIP_DEFLATED):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", method) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return memory.getvalue()


def _unpacked(data):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def _image(kind, mode="RGB", **how):
    memory = io.BytesIO()
    channels = {"L": (), "RGB": (3,)}[mode]
    Image.fromarray(_R.randint(0, 256, (9, 12, *channels)).astype("uint8")).save(memory, kind, **how)
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


_CONLL_ARCHIVE = _tar(_MEMBERS["conll"])
_LENET = [(_MODELS / f"lenet.{ending}").read_bytes() for ending in ("pdmodel", "pdiparams")]


# Readers -------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Reader:
    read: Callable  # of a path
    file: str  # its name
    seeds: list[bytes]
    pack: Callable | None = None  # makes a file of members, so that what is inside can be changed below right checksums
    members: list[dict[str, bytes]] = dataclasses.field(default_factory=list)
    errors: tuple[type[Exception], ...] = (ValueError,)  # that its documentation names
    change: Callable | None = None  # (random numbers, seed): another way to change it


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


def _part(path):
    image = proa.vision.datasets.folder.default_loader(path)
    return proa.vision.transforms.to_tensor(proa.vision.transforms.crop(image, 2, 1, 4, 6))


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


def _text(function, *arguments):
    """Bytes that a function writes into a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        function(path, *arguments)
        found = [p for p in sorted(pathlib.Path(folder).glob("*")) if p.suffix in ("", ".pb", ".pdmodel")]
        return found[0].read_bytes()


def _folder_of_pictures(path):
    found = datasets.DatasetFolder(os.path.dirname(os.path.dirname(path)))
    flat = datasets.ImageFolder(os.path.dirname(path))
    return [_all(found), _all(flat)]


def _wordpiece(path):
    tokenizer = proa.text.WordPieceTokenizer(path)
    return tokenizer("Unaffable dogs! [MASK]", "a dog")


def _hugging_face_words(path):
    _beside(os.path.dirname(path), "vocab.txt", b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\ndog\n##s")
    return proa.hugging_face.tokenizer_of(os.path.dirname(path))(["A dog", "Dogs"])


def _hugging_face(path):
    """The configuration alone: sizes in it make the network as large as they say, whatever the weights are."""
    return loading._config(os.path.dirname(path))


def _slots(path):
    found = proa.distributed.InMemoryDataset()
    with proa.static.program_guard(proa.static.Program()):
        slots = [proa.static.data("a", [None, 1], "int64", 1), proa.static.data("b", [None, 2], "float32")]
    found.init(batch_size=2, use_var=slots)
    found.set_filelist([path])
    found.load_into_memory()
    return found.get_memory_data_size()


def _tree(path):
    tree = proa.distributed.fleet.dataset.TreeIndex("tree", path)
    return [tree.get_travel_codes(node.id()) for node in tree.get_all_leafs()]


def _strategy(path):
    strategy = proa.distributed.fleet.DistributedStrategy()
    strategy.load_from_prototxt(path)
    return repr(strategy)


def _checkpoint_files():
    """{name: bytes} of a checkpoint of a layer and its optimizer."""
    net = proa.nn.Linear(2, 3)
    adam = proa.optimizer.Adam(0.1, parameters=net.parameters())
    net(proa.ones([1, 2])).sum().backward()
    adam.step()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(checkpoint.save(folder, net, adam, 1, extra={"loss": 0.5}))
        return {file.name: file.read_bytes() for file in path.iterdir()}


_CHECKPOINT = _checkpoint_files()


def _checkpoint(path):
    """One file of it; the others are as they were written."""
    step = os.path.dirname(path)
    for name, data in _CHECKPOINT.items():
        if name != os.path.basename(path):
            _beside(step, name, data)
    net = proa.nn.Linear(2, 3)
    return checkpoint.load(os.path.dirname(step), net, proa.optimizer.Adam(0.1, parameters=net.parameters()))


def _manifest_that_lies(rng, data):
    """Changed below a right checksum."""
    manifest = json.dumps(json.loads(data)["manifest"], sort_keys=True).encode()
    try:
        changed = json.loads(_changed(rng, manifest, [manifest]))
    except (ValueError, RecursionError):
        return _changed(rng, data, [data])
    total = container.checksum(json.dumps(changed, sort_keys=True).encode())
    return json.dumps({"checksum": total, "manifest": changed}).encode()


def _header_that_lies(rng, data):
    """A file of ours that is changed below the checksums of its header and, mostly, of its tensors."""
    size = int.from_bytes(data[:8], "little")
    text, tensors = data[8 : 8 + size], data[8 + size :]
    if rng.random() < 0.3:
        tensors = _changed(rng, tensors, [tensors])
    blank = re.sub(rb'("proa.header": ")[0-9a-f]{8}', rb"\g<1>00000000", text)
    changed = _changed(rng, blank, [blank])
    if rng.random() < 0.8:
        changed = _of_tensors_as_they_are(changed, tensors)
    sealed = changed.replace(b'"proa.header": "00000000', b'"proa.header": "%s' % container.checksum(changed).encode())
    return len(sealed).to_bytes(8, "little") + sealed + tensors


def _of_tensors_as_they_are(text, tensors):
    try:
        header = json.loads(text)
        sums = json.loads(header["__metadata__"]["proa.checksums"])
        for name in sums:
            begin, end = header[name]["data_offsets"]
            sums[name] = container.checksum(tensors[begin:end])
        header["__metadata__"]["proa.checksums"] = json.dumps(sums)
        return json.dumps(header).encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return text


def _recording_that_lies(rng, data):
    """Changed in a chunk, below its checksum."""
    chunks, at = [], 12
    while at < len(data):
        kind, size, _ = struct.unpack_from("<3I", data, at)
        chunks.append([kind, data[at + 12 : at + 12 + size]])
        at += 12 + size
    for _ in range(rng.choice((1, 1, 2))):
        chunk = rng.choice(chunks)
        chunk[1] = _changed(rng, chunk[1], [payload for _, payload in chunks])
    if rng.random() < 0.1:
        chunks.insert(rng.randrange(len(chunks) + 1), rng.choice(chunks))
    return data[:12] + b"".join(struct.pack("<3I", kind, len(p), zlib.crc32(p)) + p for kind, p in chunks)


def _program_that_lies(rng, data):
    """A program, or its parameters, below the checksum or by the structure of the message."""
    how = rng.choice(("payload", "structure")) if data == _PROGRAM[0] else "payload"
    return wire.changed_file(data, how, rng.randrange(1 << 40))


@functools.lru_cache
def _fields(data):
    return pickle.dumps(wire.read(data), pickle.HIGHEST_PROTOCOL)


def _message_that_lies(rng, data):
    """A protocol buffer with other numbers and texts, and with fields taken away, doubled and moved."""
    fields = pickle.loads(_fields(data))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        wire.change(fields, rng)
    return wire.write(fields)


def _autotune(path):
    from proa.incubate import autotune

    try:
        return autotune.set_config(path)
    finally:
        autotune.set_config({"dataloader": {"enable": False}})


def _fluid_vars(path):
    static, main = proa.static, proa.static.Program()
    with static.program_guard(main):
        static.nn.fc(static.data("x", [None, 2]), 3, weight_attr=proa.ParamAttr(name="w"), bias_attr=False)
    static.load_vars(static.Executor(), os.path.dirname(path), main, vars=["w"], filename=os.path.basename(path))


def _program_state(path):
    return proa.static.load_program_state(path)


def _program():
    """The two files of a program."""
    with tempfile.TemporaryDirectory() as folder:
        proa.jit.save(proa.nn.Linear(2, 3), folder + "/m", [proa.static.InputSpec([None, 2])])
        return [pathlib.Path(folder, "m" + ending).read_bytes() for ending in (".pdmodel", ".pdiparams")]


_PROGRAM = _program()


def _own_program(path):
    _beside(os.path.dirname(path), "m.pdiparams", _PROGRAM[1])
    return proa.jit.load(path[: -len(".pdmodel")])


def _own_parameters(path):
    _beside(os.path.dirname(path), "m.pdmodel", _PROGRAM[0])
    return proa.jit.load(path[: -len(".pdiparams")])


def _bytes_of_program(path):
    program = proa.static.deserialize_program(proa.static.load_from_file(path))
    return proa.static.deserialize_persistables(program, _PROGRAM[1])


def _reference_program(path):
    _beside(os.path.dirname(path), "m.pdiparams", _LENET[1])
    return proa.jit.load(path[: -len(".pdmodel")])


def _whole_program(path):
    with proa.static.scope_guard(proa.static.Scope()):
        return proa.static.deserialize_program(pathlib.Path(path).read_bytes())


def _reference_parameters(path):
    _beside(os.path.dirname(path), "m.pdmodel", _LENET[0])
    return proa.jit.load(path[: -len(".pdiparams")])


def _conll_words(path):
    folder = os.path.dirname(path)
    archive = _beside(folder, "t.tar.gz", _CONLL_ARCHIVE)
    verbs, tags = _beside(folder, "verbs", b"sleep\n"), _beside(folder, "tags", b"B-A0\nI-A0\nB-V\nO\n")
    return _all(proa.text.Conll05st(archive, path, verbs, tags, _beside(folder, "emb", b"")))


def _conll_tags(path):
    folder = os.path.dirname(path)
    archive = _beside(folder, "t.tar.gz", _CONLL_ARCHIVE)
    words, verbs = _beside(folder, "words", b"UNK\nthe\n"), _beside(folder, "verbs", b"sleep\n")
    return _all(proa.text.Conll05st(archive, words, verbs, path, _beside(folder, "emb", b"")))


def _recorded(path):
    with proa.profiler.Profiler(on_trace_ready=lambda profiler: None) as profiler:
        proa.ones([2]) + 1
    profiler.profiler_result.save(path, format="pb")


def _good_pickles():
    """Those of pickle_reader_test that can be read; reading imports what Python imports at a first use."""
    found = []
    for data in dict.fromkeys(pickle_reader_test._seeds()):
        try:
            proa.load(io.BytesIO(data))
            found.append(data)
        except ValueError:
            pass
    return found


def _pickle(path):
    """A state dict of the reference; sees what the interpreter is asked to do meanwhile."""
    with open(path, "rb") as file:
        data = io.BytesIO(file.read())
    with pickle_reader_test._Watch() as watch:
        try:
            return proa.load(data)
        finally:
            assert not watch.events, watch.events


_OF_PROGRAMS = (ValueError, RuntimeError, NotImplementedError)  # as jit.load has them
_WHOLE = [np.load(_MODELS / "training.npz")[f"{name}/model"].tobytes() for name in ("adam", "classifier")]
_HOSTILE = [data for data, _ in pickle_reader_test._HOSTILE.values() if len(data) < 10000]
_SHARDS = json.dumps({"metadata": {"total_size": 16},
                      "weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}).encode()  # fmt: skip
_OTHERS = _safetensors({"w": ("F32", [2, 3], _R.bytes(24)), "h": ("BF16", [4], _R.bytes(8)), "e": ("I8", [0], b"")})

READERS = {
    "saved": Reader(proa.load, "x.pdparams", [
        _saved({"w": proa.randn([3, 2]), "n": [1, "two", None, {"x": proa.ones([2], "bfloat16")}], "t": (1.5, True)}),
        _saved(proa.arange(5)),
    ], change=_header_that_lies),
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
    "jpeg": Reader(_jpeg, "x.jpg", [_image("jpeg"), _image("jpeg", "L"), _image("jpeg", progressive=True)]),
    "part of a jpeg": Reader(_part, "x.jpg", [_image("jpeg"), _image("jpeg", progressive=True)]),
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
    "onnx": Reader(_read_onnx, "m.onnx", _onnx_models(), change=_message_that_lies),
    "pickle": Reader(_pickle, "x.pdparams", [
        *_good_pickles(), *[(_REFERENCE / name).read_bytes() for name in ("linear.pdparams", "adam.pdopt", "nested4.ckpt")],
    ], change=lambda rng, data: pickle_reader_test._mutant(rng, [data, *_HOSTILE])),
    "folder": Reader(_folder_of_pictures, "one/x.png", [_image("png"), _image("jpeg")]),
    "wordpiece": Reader(_wordpiece, "vocab.txt", [b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##aff\n##able\ndog\n!\n"]),
    "hugging face": Reader(_hugging_face, "config.json", [
        b'{"model_type": "gpt2", "vocab_size": 5, "n_positions": 6, "n_embd": 4, "n_layer": 1, "n_head": 2}',
    ]),
    "tokenizer config": Reader(_hugging_face_words, "tokenizer_config.json", [
        b'{"do_lower_case": true, "unk_token": "[UNK]", "pad_token": {"content": "[PAD]"}, "model_max_length": 512}',
    ]),
    "slots": Reader(_slots, "part-0", [b"1 5 2 0.5 1.5\n1 7 2 -1 2e3\n"]),
    "tree": Reader(_tree, "tree", [tree_index_test.tree_bytes(tree_index_test.nodes_of(3, 2, (0, 2, 3)), 3, 2)]),
    "strategy": Reader(_strategy, "s.prototxt", [
        _text(proa.distributed.fleet.DistributedStrategy().save_to_prototxt), b'{"amp": true}',
    ]),
    "costs": Reader(
        simulate.CostModel.load, "costs.json", [_text(simulate.CostModel(1e9, 2e9, {"": (0.0, 1.0), "add": (1e-6, 2.5)}).save)]
    ),
    "manifest of a checkpoint": Reader(
        _checkpoint, "step_1/manifest.json", [_CHECKPOINT["manifest.json"]], change=_manifest_that_lies
    ),
    "tensors of a checkpoint": Reader(_checkpoint, "step_1/rank_0.safetensors", [_CHECKPOINT["rank_0.safetensors"]],
                                      change=_header_that_lies),
    "stages": Reader(dist_model._told, "stages.json", [b'{"stages": 2, "feeds": [["x"], []], "fetches": ["y"]}']),
    "autotune": Reader(_autotune, "tune.json", [b'{"kernel": {"enable": true}, "dataloader": {"enable": false, "tuning_steps": 3}}']),
    "fluid vars": Reader(_fluid_vars, "vars", [_saved({"w": proa.ones([2, 3])})], change=_header_that_lies),
    "program state": Reader(_program_state, "net.pdparams", [_saved({"w": proa.ones([2, 3])})], change=_header_that_lies),
    "bytes of a program": Reader(_bytes_of_program, "p.bytes", _PROGRAM[:1], errors=_OF_PROGRAMS, change=_program_that_lies),
    "program": Reader(_own_program, "m.pdmodel", _PROGRAM[:1], errors=_OF_PROGRAMS, change=_program_that_lies),
    "parameters": Reader(_own_parameters, "m.pdiparams", _PROGRAM[1:], errors=_OF_PROGRAMS, change=_program_that_lies),
    "reference program": Reader(
        _reference_program, "m.pdmodel", [_LENET[0]], errors=_OF_PROGRAMS, change=_message_that_lies
    ),
    "reference parameters": Reader(_reference_parameters, "m.pdiparams", [_LENET[1]], errors=_OF_PROGRAMS),
    "whole program": Reader(
        _whole_program, "m.pdmodel", _WHOLE, errors=_OF_PROGRAMS, change=_message_that_lies
    ),
    "conll words": Reader(_conll_words, "words", [b"UNK\nthe\ncat\n"]),
    "conll tags": Reader(_conll_tags, "tags", [b"B-A0\nI-A0\nB-V\nO\n"]),
    "old housing": Reader(proa.dataset.uci_housing.load_data, "housing.data", [
        b"\n".join(b" ".join(b"%.2f" % v for v in _R.rand(14)) for _ in range(10)),
    ]),
    "old image": Reader(proa.dataset.image.load_image, "x.img", [_image("jpeg"), _image("png", "L")]),
    "recording": Reader(proa.profiler.load_profiler_result, "run.pb", [_text(_recorded)], change=_recording_that_lies),
    "unpacked tar": _packed(_unpack, "a.tar.gz", "unpacked"),
    "unpacked zip": _packed(_unpack, "a.zip", "unpacked", _zip),
}  # fmt: skip


# Where the package opens files, and the readers that lead there; or why there is none.
_MODULES = {
    "autograd/saved_tensors.py": "what this process wrote a moment ago",
    "dataset/common.py": "checksums; files for a function that is given",
    "dataset/packed.py": ["cifar", "imdb", "wmt14", "movielens", "voc"],
    "dataset/uci_housing.py": ["old housing"],
    "distributed/file_pieces.py": ["slots"],
    "distributed/dist_model.py": ["stages", "program"],
    "distributed/fleet/base/distributed_strategy.py": ["strategy"],
    "distributed/fleet/dataset/index_dataset.py": ["tree"],
    "distributed/simulate/costs.py": ["costs"],
    "distributed/launch/ranks.py": "the log of a rank, as bytes",
    "distributed/rpc/links.py": "a secret of this user, as bytes",
    "framework/archives.py": ["npz", "torch"],
    "framework/container.py": ["saved", "safetensors", "sharded", "npy", "pickle"],
    "framework/names.py": "own",
    "framework/serialization.py": ["program state"],
    "hugging_face/loading.py": ["hugging face"],
    "hugging_face/tokenizing.py": ["tokenizer config", "wordpiece"],
    "incubate/autotune.py": ["autotune"],
    "inference/loading.py": ["program", "reference program"],
    "jit/reference/inverse.py": "own",
    "jit/saving.py": ["program", "parameters", "reference program", "reference parameters"],
    "profiler/result.py": ["recording"],
    "static/saving.py": ["bytes of a program"],
    "static/states.py": ["bytes of a program", "program state", "fluid vars", "whole program"],
    "text/conll05.py": ["conll", "conll words", "conll tags"],
    "text/wordpiece.py": ["wordpiece"],
    "upgrade/__main__.py": "programs in Python: parsed, SyntaxError (upgrade_test)",
    "utils/cpp_extension/compiling.py": "what the compiler is given and left",
    "utils/cpp_extension/loading.py": "code, which is asked for",
    "utils/download.py": ["unpacked tar", "unpacked zip"],
    "utils/environment.py": "the kernel's",
    "utils/fetching.py": "checksums",
    "vision/datasets/mat_file.py": ["mat", "flowers"],
    "vision/datasets/mnist.py": ["mnist"],
    "vision/datasets/voc2012.py": ["voc"],
    "vision/image.py": ["image", "folder", "flowers", "old image"],
    "vision/ops/files.py": ["jpeg"],
    "vision/undecoded.py": ["part of a jpeg", "folder"],
}
_OPENING = {
    "open", "fdopen", "read_bytes", "read_text", "fromfile", "memmap", "loadtxt", "genfromtxt", "ZipFile", "GzipFile",
    "load_program", "load_extension",
}  # fmt: skip


def _opens(call):
    """Whether a call opens a file to read it."""
    function, arguments = call.func, [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "mode")]
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    home = ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""
    if name == "load":
        return home in ("np", "numpy", "_C.profiler", "pickle", "marshal")
    writes = any(isinstance(a, ast.Constant) and str(a.value)[:1] in "wax" for a in arguments)
    return name in _OPENING and not writes and home not in ("self", "archive", "self._archive")


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
    seed = rng.choice(reader.seeds)
    return reader.change(rng, seed) if reader.change and rng.random() < 0.8 else _changed(rng, seed, reader.seeds)


def _files_in(folder):
    return {str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*")}


# Files that live for a moment need no disk.
_IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
_SECONDS = 20  # of the processor, for one file
_GROWTH = 100 << 10  # KiB, in one run


def _hangs(*_):
    raise AssertionError(f"reads for {_SECONDS} s")


def fuzz(name, count, seed):
    """(mutants that were read, seconds of the slowest, growth of the process in KiB); raises for what must not be."""
    reader, rng = READERS[name], random.Random(f"{name} {seed}")
    accepted, slowest = 0, 0.0
    signal.signal(signal.SIGVTALRM, _hangs)
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY) as folder:
        path = os.path.join(folder, reader.file)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        for data in [*reader.seeds] + [reader.pack(m) for m in reader.members if reader.pack]:
            pathlib.Path(path).write_bytes(data)
            reader.read(path)
        inside = _files_in(folder)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for i in range(count):
            data = _mutant(rng, reader)
            os.unlink(path)
            pathlib.Path(path).write_bytes(data)
            start = time.perf_counter()
            signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)
            try:
                reader.read(path)
                accepted += 1
            except reader.errors:
                pass
            except Exception as error:
                raise AssertionError(f"mutant {i} of {name}, seed {seed}: {error!r} for {data[:300]!r}") from error
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            slowest = max(slowest, time.perf_counter() - start)
        assert _files_in(folder) == inside, f"{name} left {_files_in(folder) - inside}"
    assert not os.path.exists("/tmp/proa_evil")
    growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert growth < _GROWTH, f"{name}, seed {seed}: the process grew by {growth} KiB"
    return accepted, slowest, growth


@pytest.mark.parametrize("name", READERS)
@pytest.mark.filterwarnings("ignore")
def test_mutants(name):
    accepted, _, _ = fuzz(name, 200, seed=3)
    assert accepted < 200, "no change was noticed"


@pytest.mark.parametrize("name", ["folder", "old image"])
def test_an_image_that_is_cut_off(name, tmp_path):
    """Found by mutants: Pillow's own OSError, without the name of the file, when the pixels were converted later."""
    path = tmp_path / READERS[name].file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(_image("png", "L")[:60])
    with pytest.raises(ValueError, match=f"{path.name}: no whole image"):
        READERS[name].read(str(path))


@pytest.mark.parametrize("width", [8000, 70000])
def test_an_image_of_voc_that_says_it_is_large(width, tmp_path):
    """Found by mutants: Pillow's DecompressionBombError; below its limit, memory for pixels that are not there."""
    png = _image("png", "L")
    head = b"IHDR" + struct.pack(">2I", width, width) + png[24:29]
    png = png[:12] + head + struct.pack(">I", zlib.crc32(head)) + png[33:]
    (tmp_path / "v.tar").write_bytes(_tar({**_MEMBERS["voc"], f"{_TOP}/SegmentationClass/a.png": png}, "w"))
    with pytest.raises(ValueError, match="v.tar: .* is no image"):
        READERS["voc"].read(str(tmp_path / "v.tar"))


@pytest.mark.parametrize("text", [b"9", b"[1]", b"null", b"[" * 100000])
def test_a_strategy_that_is_no_dict(text, tmp_path):
    """Found by mutants: an AttributeError."""
    (tmp_path / "s").write_bytes(text)
    with pytest.raises(ValueError, match="not written by save_to_prototxt"):
        _strategy(str(tmp_path / "s"))


@pytest.mark.parametrize("text", [b'{"kernel": 7}', b'{"dataloader": false}'])
def test_settings_that_are_no_dict(text, tmp_path):
    """Found by mutants: an AttributeError."""
    (tmp_path / "tune.json").write_bytes(text)
    with pytest.raises(TypeError, match="set_config: (kernel|dataloader) must be a dict, not"):
        _autotune(str(tmp_path / "tune.json"))


@pytest.mark.parametrize("rows, columns", [(0, 0x4E9D3960), (0x4E9D3960, 0), (0, 0)])
def test_pictures_without_pixels(rows, columns, tmp_path):
    """Found by mutants: a MemoryError for pictures of 0 by 1,318,926,688 pixels."""
    path = tmp_path / READERS["mnist"].file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(struct.pack(">4I", 0x803, 3, rows, columns))
    with pytest.raises(ValueError, match="3 items without a byte"):
        READERS["mnist"].read(str(path))


def test_every_module_that_opens_files():
    package = pathlib.Path(proa.__file__).parent
    files = [pathlib.Path(at, name) for at, _, names in os.walk(package, followlinks=True) for name in names]
    found = {
        str(path.relative_to(package))
        for path in files
        if path.suffix == ".py"
        and any(isinstance(node, ast.Call) and _opens(node) for node in ast.walk(ast.parse(path.read_text())))
    }
    assert found == set(_MODULES), sorted(found ^ set(_MODULES))
    reached = {name for names in _MODULES.values() if not isinstance(names, str) for name in names}
    assert reached <= set(READERS), reached - set(READERS)


# Longer -------------------------------------------------------------------------------------------------------------


def _cheapest_first(names):
    """In order of what a mutant costs; and a warm-up, so that what is imported at a first use is no growth."""
    seconds = {}
    for name in names:
        start = time.process_time()
        fuzz(name, 100, seed=0)
        seconds[name] = time.process_time() - start
    return sorted(names, key=seconds.get)


def _write(path, record):
    pathlib.Path(path + ".new").write_text(json.dumps(record, indent=1))
    os.replace(path + ".new", path)


def _long(options):
    """Rounds of a chunk each; the record says how many mutants each reader had, and of which seeds."""
    chosen = [name for name in READERS if re.search(options.readers, name)]
    record = {}
    if options.record and os.path.exists(options.record):
        record = json.loads(pathlib.Path(options.record).read_text())
    status, wanted = 0, options.each or options.mutants // len(chosen)
    for name in _cheapest_first(chosen):
        had = record.setdefault(name, {"mutants": 0, "read": 0, "slowest": 0.0, "seeds": 0, "findings": []})
        while had["mutants"] < wanted:
            seed, count = f"{options.seed}.{had['seeds']}", min(options.chunk, wanted - had["mutants"])
            had["seeds"] += 1
            try:
                figures = fuzz(name, count, seed)
                had["mutants"] += count
                had["read"] += figures[0]
                had["slowest"] = max(had["slowest"], round(figures[1], 3))
                print("%-20s %d files, read %d, slowest %.3f s, grew by %d KiB" % (name, count, *figures), flush=True)
            except AssertionError as error:
                status = 1
                had["findings"].append(f"{error} {error.__cause__!r}"[:1000])
                print(error, repr(error.__cause__), flush=True)
                if not options.go_on:
                    return status
                if len(had["findings"]) % 20 == 0:
                    break  # the rest of this reader would say the same
            finally:
                if options.record:
                    _write(options.record, record)
    return status


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--mutants", type=int, default=1000000, help="of all readers together")
    parser.add_argument("--readers", default=".", help="a regular expression")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--go-on", action="store_true", help="with the next chunk after a finding")
    parser.add_argument("--each", type=int, help="mutants of each reader, instead")
    parser.add_argument("--chunk", type=int, default=20000, help="mutants between two lines of the record")
    parser.add_argument("--record", help="a file of how far each reader came, from which the next run goes on")
    parser.add_argument("--memory", type=float, help="GiB of addresses that the process may take")
    chosen_options = parser.parse_args()
    if chosen_options.memory:
        resource.setrlimit(resource.RLIMIT_AS, (int(chosen_options.memory * 2**30),) * 2)
    warnings.simplefilter("ignore")
    sys.exit(_long(chosen_options))
