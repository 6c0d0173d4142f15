"""Small files of every format that the package reads, as they should be."""

import functools
import gzip
import io
import json
import pathlib
import pickle
import struct
import tarfile
import zipfile

import numpy as np
import pytest

import proa

Image = pytest.importorskip("PIL.Image")
TORCH, REFERENCE, _MODELS = (
    pathlib.Path(__file__).parent / folder for folder in ("torch_files", "reference_files", "reference_models")
)
R = np.random.RandomState(0)


def saved(value):
    memory = io.BytesIO()
    proa.save(value, memory)
    return memory.getvalue()


def safetensors(tensors):
    """As others write them: without a skeleton and without checksums."""
    header, data = {}, b""
    for name, (kind, shape, content) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def numpy_file(write, *args, **arrays):
    memory = io.BytesIO()
    write(memory, *args, **arrays)
    return memory.getvalue()


@functools.lru_cache(10000)
def _tar_head(name, size):
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf()


def tarred(members, mode="w:gz"):
    """tarfile takes ten times as long, which counts where a million of them are made."""
    parts = [_tar_head(name, len(data)) + data + bytes(-len(data) % 512) for name, data in members.items()]
    plain = b"".join(parts) + bytes(1024)
    return gzip.compress(plain, 1, mtime=0) if mode == "w:gz" else plain


def zipped(members, method=zipfile.ZIP_DEFLATED):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", method) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return memory.getvalue()


def unpacked(data):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def image(kind, mode="RGB", **how):
    memory = io.BytesIO()
    channels = {"L": (), "RGB": (3,)}[mode]
    Image.fromarray(R.randint(0, 256, (9, 12, *channels)).astype("uint8")).save(memory, kind, **how)
    return memory.getvalue()


def idx(array):
    return struct.pack(f">I{array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes()


def mat(name, numbers):
    def part(kind, data):
        return struct.pack("<2I", kind, len(data)) + data + bytes(-len(data) % 8)

    head = part(6, struct.pack("<2I", 9, 0)) + part(5, struct.pack("<2i", 1, len(numbers)))
    matrix = part(14, head + part(1, name) + part(2, bytes(numbers)))
    return b"MATLAB 5.0".ljust(124) + struct.pack("<H2s", 0x100, b"IM") + matrix


VOC = "VOCdevkit/VOC2012"
_CONLL = "conll05st-release/test.wsj"
_CIFAR = pickle.dumps({b"data": np.zeros([2, 3072], "uint8"), b"labels": [1, 2]}, 2)

# Members of archives; of each reader, what it takes.
MEMBERS: dict[str, dict[str, bytes]] = {
    "cifar": {"c/data_batch_1": _CIFAR, "c/readme": b"text"},
    "voc": {
        f"{VOC}/ImageSets/Segmentation/trainval.txt": b"a\n",
        f"{VOC}/JPEGImages/a.jpg": image("jpeg"),
        f"{VOC}/SegmentationClass/a.png": image("png", "L"),
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


CONLL_ARCHIVE = tarred(MEMBERS["conll"])
LENET = [(_MODELS / f"lenet.{ending}").read_bytes() for ending in ("pdmodel", "pdiparams")]
# Programs as they were built, which train.
WHOLE = [np.load(_MODELS / "training.npz")[f"{name}/model"].tobytes() for name in ("adam", "classifier")]
