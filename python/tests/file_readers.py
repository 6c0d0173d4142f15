"""READERS: each reader of files of the package, with right files for it, and what may come of wrong ones."""

import dataclasses
import functools
import gzip
import io
import json
import os
import pathlib
import tempfile
import zipfile
from collections.abc import Callable

import numpy as np

import proa
import proa.onnx
from fuzz import wire
from proa.distributed import checkpoint, dist_model, simulate
from proa.hugging_face import loading
from proa.utils import download
from proa.vision import datasets
from python.tests import onnx_node_cases, pickle_reader_test, tree_index_test
from python.tests.file_changes import (
    changed,
    header_that_lies,
    manifest_that_lies,
    message_that_lies,
    recording_that_lies,
)
from python.tests.right_files import (
    CONLL_ARCHIVE,
    LENET,
    MEMBERS,
    REFERENCE,
    TORCH,
    WHOLE,
    R,
    idx,
    image,
    mat,
    numpy_file,
    safetensors,
    saved,
    tarred,
    unpacked,
    zipped,
)


@dataclasses.dataclass
class Reader:
    read: Callable  # of a path
    file: str  # its name
    seeds: list[bytes]
    pack: Callable | None = None  # makes a file of members, so that what is inside can be changed below right checksums
    members: list[dict[str, bytes]] = dataclasses.field(default_factory=list)
    errors: tuple[type[Exception], ...] = (ValueError,)  # that its documentation names
    change: Callable | None = None  # (random numbers, seed): another way to change it


def _packed(read, file, name, pack=tarred):
    members = MEMBERS[name]
    return Reader(read, file, [pack(members)], pack, [members])


def _all(dataset):
    return [dataset[i] for i in range(min(len(dataset), 3))]


def _beside(folder, name, data):
    path = pathlib.Path(folder, name)
    if not path.exists():
        path.write_bytes(data)
    return str(path)


def _mnist(path):
    return _all(datasets.MNIST(path, _beside(os.path.dirname(path), "labels", idx(np.arange(3, dtype="uint8")))))


def _flowers(path):
    folder = os.path.dirname(path)
    labels, parts = _beside(folder, "l.mat", mat(b"labels", [3, 5])), _beside(folder, "s.mat", mat(b"tstid", [1, 2]))
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
    _beside(folder, "one.safetensors", safetensors({"a": ("F32", [2], bytes(8))}))
    _beside(folder, "two.safetensors", safetensors({"b": ("I64", [1], bytes(8))}))
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
    weight = _tag(1, 3, 4) + _tag(2, 1) + _tag(8, "w") + _tag(9, R.rand(3, 4).astype("f4").tobytes())
    shape = _tag(1, 2) + _tag(2, 7) + _tag(7, _varint(4) + _varint(2)) + _tag(8, "s")
    outside = _tag(1, 3) + _tag(2, 1) + _tag(8, "o") + _tag(13, _tag(1, "location") + _tag(2, "m.bin")) + _tag(14, 1)
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
    _beside(os.path.dirname(path), "m.bin", np.ones(3, "f4").tobytes())
    return proa.onnx.load(path)


def _recorded_onnx(path):
    """The rules of its operators too, which see what their attributes are."""
    layer = _read_onnx(path)
    program = proa._C.Program()
    inputs = [spec and program.add_input(spec.name, [-1 if d is None else d for d in spec.shape], spec.dtype)
              for spec in layer.input_spec]  # fmt: skip
    with program.recording():
        layer(*inputs)


# Of the node tests of ONNX, where they are installed: each kind of attribute, known numbers, graphs in nodes.
_NODES = (
    "argmax_keepdims_example", "basic_conv_with_padding", "batchnorm_epsilon", "cast_FLOAT_to_BFLOAT16", "concat_2d_axis_0",
    "convtranspose_pads", "cumsum_1d", "depthtospace_example", "einsum_transpose", "expand_dim_changed",
    "gather_0", "gathernd_example_float32", "gemm_all_attributes", "gru_defaults", "if", "lstm_with_peepholes", "maxpool_2d_ceil",
    "onehot_with_axis", "constant_pad", "reduce_sum_keepdims_random", "resize_upsample_scales_nearest",
    "scatter_elements_with_axis", "shape_clip_start", "slice", "split_variable_parts_1d", "squeeze", "tile", "top_k", "where_example",
)  # fmt: skip


def _onnx_nodes():
    folders = [onnx_node_cases.FOLDER / "node" / f"test_{name}" for name in _NODES]
    return [_with_numbers(folder) for folder in folders if folder.exists()]


def _with_numbers(folder):
    """The model with its inputs but the first as initializers: a recorded program must know sizes and axes."""
    model = wire.read((folder / "model.onnx").read_bytes())
    graph = next(value for number, _, value in model if number == 7)
    names = [value[0][2] for number, _, value in graph if number == 11]
    for k, name in enumerate(names[1:], 1):
        tensor = wire.read((folder / "test_data_set_0" / f"input_{k}.pb").read_bytes())
        graph.append([5, 2, [f for f in tensor if f[0] != 8] + [[8, 2, name]]])
    return wire.write(model)


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
    return checkpoint.load(os.path.dirname(step), *_trained())


@functools.cache
def _trained():
    """A layer and its optimizer, which take any number of checkpoints."""
    net = proa.nn.Linear(2, 3)
    return net, proa.optimizer.Adam(0.1, parameters=net.parameters())


def _program_that_lies(rng, data):
    """A program, or its parameters, below the checksum or by the structure of the message."""
    how = rng.choice(("payload", "structure")) if data == _PROGRAM[0] else "payload"
    return wire.changed_file(data, how, rng.randrange(1 << 40))


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
    _beside(os.path.dirname(path), "m.pdiparams", LENET[1])
    return proa.jit.load(path[: -len(".pdmodel")])


def _whole_program(path):
    with proa.static.scope_guard(proa.static.Scope()):
        return proa.static.deserialize_program(pathlib.Path(path).read_bytes())


def _reference_parameters(path):
    _beside(os.path.dirname(path), "m.pdmodel", LENET[0])
    return proa.jit.load(path[: -len(".pdiparams")])


def _conll_words(path):
    folder = os.path.dirname(path)
    archive = _beside(folder, "t.tar.gz", CONLL_ARCHIVE)
    verbs, tags = _beside(folder, "verbs", b"sleep\n"), _beside(folder, "tags", b"B-A0\nI-A0\nB-V\nO\n")
    return _all(proa.text.Conll05st(archive, path, verbs, tags, _beside(folder, "emb", b"")))


def _conll_tags(path):
    folder = os.path.dirname(path)
    archive = _beside(folder, "t.tar.gz", CONLL_ARCHIVE)
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
_HOSTILE = [data for data, _ in pickle_reader_test._HOSTILE.values() if len(data) < 10000]
_SHARDS = json.dumps({"metadata": {"total_size": 16},
                      "weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}).encode()  # fmt: skip
_OTHERS = safetensors({"w": ("F32", [2, 3], R.bytes(24)), "h": ("BF16", [4], R.bytes(8)), "e": ("I8", [0], b"")})

READERS = {
    "saved": Reader(proa.load, "x.pdparams", [
        saved({"w": proa.randn([3, 2]), "n": [1, "two", None, {"x": proa.ones([2], "bfloat16")}], "t": (1.5, True)}),
        saved(proa.arange(5)),
    ], change=header_that_lies),
    "safetensors": Reader(proa.load, "x.safetensors", [_OTHERS]),
    "sharded": Reader(_sharded, "model.safetensors.index.json", [_SHARDS]),
    "npy": Reader(proa.load, "x.npy", [
        numpy_file(np.save, np.arange(6.0).reshape(2, 3)), numpy_file(np.save, np.asfortranarray(np.ones([2, 3], ">i4"))),
    ]),
    "npz": Reader(proa.load, "x.npz", [numpy_file(np.savez, a=np.arange(3), b=np.ones((2, 2), "f4")),
                                       numpy_file(np.savez_compressed, a=np.arange(3))], zipped,
                  [unpacked(numpy_file(np.savez, a=np.arange(3), b=np.ones((2, 2), "f4")))]),
    "torch": Reader(proa.load, "x.pt", [path.read_bytes() for path in sorted(TORCH.glob("*.pt")) if path.name != "old.pt"],
                    lambda members: zipped(members, zipfile.ZIP_STORED),
                    [unpacked(path.read_bytes()) for path in sorted(TORCH.glob("*.pt")) if zipfile.is_zipfile(path)]),
    "image": Reader(_picture, "x.img", [image("jpeg"), image("png"), image("png", "L"), image("bmp"), image("gif", "L")]),
    "jpeg": Reader(_jpeg, "x.jpg", [image("jpeg"), image("jpeg", "L"), image("jpeg", progressive=True)]),
    "part of a jpeg": Reader(_part, "x.jpg", [image("jpeg"), image("jpeg", progressive=True)]),
    "mnist": Reader(_mnist, "images", [idx(R.randint(0, 256, [3, 4, 4]).astype("uint8"))],
                    lambda members: gzip.compress(members["idx"], mtime=0),
                    [{"idx": idx(R.randint(0, 256, [3, 4, 4]).astype("uint8"))}]),
    "cifar": _packed(lambda p: _all(datasets.Cifar10(p)), "c.tar.gz", "cifar"),
    "flowers": Reader(_flowers, "f0.tgz", [tarred({f"jpg/image_0000{i}.jpg": image("jpeg") for i in (1, 2)})]),
    "mat": Reader(_labels, "x.mat", [mat(b"labels", [1, 2, 3])]),
    "voc": _packed(lambda p: _all(datasets.VOC2012(p, backend="cv2")), "v.tar", "voc", lambda m: tarred(m, "w")),
    "imdb": _packed(lambda p: _all(proa.text.Imdb(p, cutoff=0)), "i.tar.gz", "imdb"),
    "imikolov": _packed(lambda p: _all(proa.text.Imikolov(p, "NGRAM", 2, min_word_freq=0)), "s.tgz", "imikolov"),
    "movielens": _packed(lambda p: _all(proa.text.Movielens(p)), "m.zip", "movielens", zipped),
    "wmt14": _packed(lambda p: _all(proa.text.WMT14(p, "train", 4)), "w.tgz", "wmt14"),
    "wmt16": _packed(lambda p: _all(proa.text.WMT16(p, "train", 5, 5)), "w.tar.gz", "wmt16"),
    "conll": _packed(_conll, "t.tar.gz", "conll"),
    "housing": Reader(lambda p: _all(proa.text.UCIHousing(p)), "housing.data", [
        b"\n".join(b" ".join(b"%.2f" % v for v in R.rand(14)) for _ in range(10)),
    ]),
    "onnx": Reader(_read_onnx, "m.onnx", _onnx_models(), change=message_that_lies),
    "recorded onnx": Reader(
        _recorded_onnx, "m.onnx", _onnx_models() + _onnx_nodes(), errors=(*_OF_PROGRAMS, MemoryError), change=message_that_lies
    ),
    "pickle": Reader(_pickle, "x.pdparams", [
        *_good_pickles(), *[(REFERENCE / name).read_bytes() for name in ("linear.pdparams", "adam.pdopt", "nested4.ckpt")],
    ], change=lambda rng, data: pickle_reader_test._mutant(rng, [data, *_HOSTILE])),
    "folder": Reader(_folder_of_pictures, "one/x.png", [image("png"), image("jpeg")]),
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
        _checkpoint, "step_1/manifest.json", [_CHECKPOINT["manifest.json"]], change=manifest_that_lies
    ),
    "tensors of a checkpoint": Reader(_checkpoint, "step_1/rank_0.safetensors", [_CHECKPOINT["rank_0.safetensors"]],
                                      change=header_that_lies),
    "stages": Reader(dist_model._told, "stages.json", [b'{"stages": 2, "feeds": [["x"], []], "fetches": ["y"]}']),
    "autotune": Reader(_autotune, "tune.json", [b'{"kernel": {"enable": true}, "dataloader": {"enable": false, "tuning_steps": 3}}']),
    "fluid vars": Reader(_fluid_vars, "vars", [saved({"w": proa.ones([2, 3])})], change=header_that_lies),
    "program state": Reader(_program_state, "net.pdparams", [saved({"w": proa.ones([2, 3])})], change=header_that_lies),
    "bytes of a program": Reader(_bytes_of_program, "p.bytes", _PROGRAM[:1], errors=_OF_PROGRAMS, change=_program_that_lies),
    "program": Reader(_own_program, "m.pdmodel", _PROGRAM[:1], errors=_OF_PROGRAMS, change=_program_that_lies),
    "parameters": Reader(_own_parameters, "m.pdiparams", _PROGRAM[1:], errors=_OF_PROGRAMS, change=_program_that_lies),
    "reference program": Reader(
        _reference_program, "m.pdmodel", [LENET[0]], errors=_OF_PROGRAMS, change=message_that_lies
    ),
    "whole program": Reader(_whole_program, "m.pdmodel", WHOLE, errors=_OF_PROGRAMS, change=message_that_lies),
    "reference parameters": Reader(_reference_parameters, "m.pdiparams", [LENET[1]], errors=_OF_PROGRAMS),
    "conll words": Reader(_conll_words, "words", [b"UNK\nthe\ncat\n"]),
    "conll tags": Reader(_conll_tags, "tags", [b"B-A0\nI-A0\nB-V\nO\n"]),
    "old housing": Reader(proa.dataset.uci_housing.load_data, "housing.data", [
        b"\n".join(b" ".join(b"%.2f" % v for v in R.rand(14)) for _ in range(10)),
    ]),
    "old image": Reader(proa.dataset.image.load_image, "x.img", [image("jpeg"), image("png", "L")]),
    "recording": Reader(proa.profiler.load_profiler_result, "run.pb", [_text(_recorded)], change=recording_that_lies),
    "unpacked tar": _packed(_unpack, "a.tar.gz", "unpacked"),
    "unpacked zip": _packed(_unpack, "a.zip", "unpacked", zipped),
}  # fmt: skip


def mutant(rng, reader):
    if reader.pack and rng.random() < 0.6:
        members = dict(rng.choice(reader.members))
        if len(members) > 1 and rng.random() < 0.1:
            del members[rng.choice(sorted(members))]
        if len(members) > 1 and rng.random() < 0.1:
            members[rng.choice(("../../evil", "/tmp/proa_evil", "a/../../b", ".", "x" * 300))] = b"evil"
        if members:
            name = rng.choice(sorted(members))
            members[name] = changed(rng, members[name], list(members.values()))
        return reader.pack(members)
    seed = rng.choice(reader.seeds)
    return reader.change(rng, seed) if reader.change and rng.random() < 0.8 else changed(rng, seed, reader.seeds)
