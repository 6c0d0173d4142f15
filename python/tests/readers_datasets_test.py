"""Readers, files by URL, and data sets read from files that the test writes."""

import gzip
import io
import os
import pickle
import random
import resource
import struct
import tarfile
import zipfile

import numpy as np
import pytest
from PIL import Image

import proa
from proa import dataset, reader
from proa.utils import download
from proa.vision import datasets

_R = np.random.RandomState(0)


def _numbers(n=5):
    return lambda: iter(range(n))


def test_readers():
    assert list(reader.cache(_numbers())()) == [0, 1, 2, 3, 4]
    assert list(reader.map_readers(lambda a, b: a + b, _numbers(), _numbers())()) == [0, 2, 4, 6, 8]
    random.seed(0)
    assert sorted(reader.shuffle(_numbers(9), 4)()) == list(range(9))
    assert list(reader.chain(_numbers(2), _numbers(2))()) == [0, 1, 0, 1]
    assert list(reader.compose(_numbers(2), lambda: iter([(5, 6), (7, 8)]))()) == [(0, 5, 6), (1, 7, 8)]
    with pytest.raises(reader.ComposeNotAligned):
        list(reader.compose(_numbers(2), _numbers(3))())
    assert list(reader.compose(_numbers(2), _numbers(3), check_alignment=False)()) == [(0, 0), (1, 1)]
    assert list(reader.firstn(_numbers(), 2)()) == [0, 1]
    assert list(reader.buffered(_numbers(), 2)()) == [0, 1, 2, 3, 4]
    assert list(reader.xmap_readers(lambda v: v * v, _numbers(9), 3, 4, order=True)()) == [v * v for v in range(9)]
    assert sorted(reader.xmap_readers(lambda v: v * v, _numbers(9), 3, 4)()) == [v * v for v in range(9)]
    assert sorted(reader.multiprocess_reader([_numbers(2), _numbers(3)])()) == [0, 0, 1, 1, 2]
    assert list(proa.batch(_numbers(), 2)()) == [[0, 1], [2, 3], [4]]


def test_errors_of_readers_come_through():
    def broken():
        yield 1
        raise OSError("the disk")

    for read in (reader.buffered(broken, 3), reader.multiprocess_reader([broken])):
        with pytest.raises(OSError, match="the disk"):
            list(read())


def _archive(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def test_files_by_url(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "weights.pdparams").write_bytes(b"abc")
    root = str(tmp_path / "cache")
    md5 = dataset.common.md5file(str(source / "weights.pdparams"))
    assert md5 == "900150983cd24fb0d6963f7d28e17f72"
    path = download.get_path_from_url(f"file://{source}/weights.pdparams", root, md5)
    assert path == root + "/weights.pdparams" and open(path, "rb").read() == b"abc"
    (source / "weights.pdparams").unlink()
    assert download.get_path_from_url(f"file://{source}/weights.pdparams", root, md5) == path
    _archive(source / "data.tar.gz", {"data/a": b"1", "data/b": b"2"})
    folder = download.get_path_from_url(f"file://{source}/data.tar.gz", root)
    assert sorted(os.listdir(folder)) == ["a", "b"]
    with zipfile.ZipFile(source / "loose.zip", "w") as archive:
        archive.writestr("a", "1"), archive.writestr("b", "2")
    folder = download.get_path_from_url(f"file://{source}/loose.zip", root)
    assert os.path.basename(folder) == "loose" and sorted(os.listdir(folder)) == ["a", "b"]
    assert download._get_unique_endpoints(["a:1", "a:2", "b:1"]) == {"a:1", "b:1"}


def test_bad_urls_and_archives(tmp_path):
    with pytest.raises(ValueError, match="is no URL"):
        download.get_path_from_url("ftp://x/y", str(tmp_path))
    with pytest.raises(RuntimeError, match="could not be fetched"):
        download.get_path_from_url(f"file://{tmp_path}/nothing", str(tmp_path / "cache"))
    (tmp_path / "w").write_bytes(b"abc")
    with pytest.raises(RuntimeError, match="its md5 sum is another"):
        download.get_path_from_url(f"file://{tmp_path}/w", str(tmp_path / "cache"), "0" * 32)
    assert os.listdir(tmp_path / "cache") == []
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.writestr("../../outside", "1")
    with pytest.raises(ValueError, match="outside of its folder"):
        download._decompress(str(tmp_path / "evil.zip"))
    _archive(tmp_path / "evil.tar.gz", {"../../outside": b"1"})
    with pytest.raises(ValueError, match="outside of its folder"):
        download._decompress(str(tmp_path / "evil.tar.gz"))


def test_archives_unpack_as_a_whole_or_not_at_all(tmp_path):
    """What was unpacked halfway was taken for the whole at the next time."""
    _archive(tmp_path / "cut.tar.gz", {"cut/a": b"1" * 10, "cut/b": os.urandom(20000)})
    data = (tmp_path / "cut.tar.gz").read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(data[:-8000])
    for _ in range(2):
        with pytest.raises(ValueError, match="no whole archive"):
            download._decompress(str(tmp_path / "cut.tar.gz"))
        assert os.listdir(tmp_path) == ["cut.tar.gz"]
    (tmp_path / "cut.tar.gz").write_bytes(data)
    assert sorted(os.listdir(download._decompress(str(tmp_path / "cut.tar.gz")))) == ["a", "b"]


def test_what_is_packed_too_well_to_be_data_takes_no_memory(tmp_path):
    """A kilobyte that says it is gigabytes, and a tenth of a megabyte that is a hundred."""
    (tmp_path / "huge.gz").write_bytes(
        gzip.compress(struct.pack(">4I", 0x803, 1 << 20, 1 << 10, 1 << 10) + bytes(1000))
    )
    _archive(tmp_path / "bomb.tar.gz", {"aclImdb/train/pos/0.txt": bytes(100 << 20)})
    labels = _idx(tmp_path / "labels", np.arange(5).astype("uint8"), False)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match="too much for a file of its size"):
        datasets.MNIST(str(tmp_path / "huge.gz"), labels)
    with pytest.raises(ValueError, match=f"says it has {100 << 20} bytes"):
        proa.text.Imdb(str(tmp_path / "bomb.tar.gz"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40 << 10


def _idx(path, array, packed):
    data = struct.pack(f">I{array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes()
    path.write_bytes(gzip.compress(data) if packed else data)
    return str(path)


@pytest.mark.parametrize("kind", [datasets.MNIST, datasets.FashionMNIST])
@pytest.mark.parametrize("packed", [True, False])
def test_mnist(tmp_path, kind, packed):
    images, labels = _R.randint(0, 256, [5, 28, 28]).astype("uint8"), np.arange(5).astype("uint8")
    paths = _idx(tmp_path / "images", images, packed), _idx(tmp_path / "labels", labels, packed)
    found = kind(*paths, mode="test")
    image, label = found[3]
    assert len(found) == 5 and np.array_equal(np.asarray(image), images[3])
    assert label.tolist() == [3] and label.dtype == np.int64
    image, _ = kind(*paths, backend="cv2")[1]
    assert image.shape == (28, 28, 1) and image.dtype == np.float32
    transformed = kind(*paths, transform=proa.vision.transforms.ToTensor())
    ((x, y),) = proa.io.DataLoader(transformed, batch_size=5)
    assert x.shape == [5, 1, 28, 28] and y.shape == [5, 1]
    np.testing.assert_allclose(x.numpy()[:, 0], images / 255, rtol=1e-6)
    rows = list(dataset.mnist.reader_creator(*paths)())
    np.testing.assert_allclose(rows[2][0], images[2].reshape(-1) / 127.5 - 1, atol=1e-6)
    assert rows[2][1] == 2


def test_broken_idx_files(tmp_path):
    images = _R.randint(0, 256, [5, 28, 28]).astype("uint8")
    good = _idx(tmp_path / "images", images, False)
    for what, data in (("no idx", b"something"), ("holds", struct.pack(">IIII", 0x803, 9, 28, 28) + b"1")):
        (tmp_path / "bad").write_bytes(data)
        with pytest.raises(ValueError, match=what):
            datasets.MNIST(str(tmp_path / "bad"), good)
    with pytest.raises(ValueError, match="do not belong together"):
        datasets.MNIST(good, good)
    for arguments in ({"mode": "valid"}, {"backend": "tensor"}, {"download": False}):
        with pytest.raises(ValueError, match="MNIST: "):
            datasets.MNIST(**arguments)


def _cifar(path, names, key):
    members = {}
    for i, name in enumerate(names):
        data = _R.randint(0, 256, [2, 3072]).astype("uint8")
        members[f"cifar/{name}"] = pickle.dumps({b"data": data, key: [2 * i, 2 * i + 1]}, protocol=2)
    _archive(path, members)
    return str(path)


def test_cifar(tmp_path):
    path = _cifar(tmp_path / "c10.tar.gz", ["data_batch_1", "data_batch_2", "test_batch"], b"labels")
    train, test = datasets.Cifar10(path), datasets.Cifar10(path, mode="test", backend="cv2")
    assert len(train) == 4 and len(test) == 2 and [int(label) for _, label in train] == [0, 1, 2, 3]
    assert train[0][0].size == (32, 32) and test[0][0].shape == (32, 32, 3)
    assert np.array_equal(np.asarray(train[0][0]), train.data[0][0].reshape(3, 32, 32).transpose(1, 2, 0))
    row, label = next(iter(dataset.cifar.reader_creator(path, "data_batch")()))
    assert row.shape == (3072,) and row.max() <= 1 and label == 0
    path = _cifar(tmp_path / "c100.tar.gz", ["train", "test"], b"fine_labels")
    assert len(datasets.Cifar100(path)) == 2


def test_cifar_archives_as_they_are_fetched(tmp_path):
    """The archives that are fetched: text of Python 2 for keys and for the bytes of the array."""
    data = np.arange(2 * 3072, dtype=np.uint8).reshape(2, 3072)
    file = (
        b"\x80\x02}q\x00(U\x04dataq\x01cnumpy.core.multiarray\n_reconstruct\nq\x02cnumpy\nndarray\nq\x03K\x00\x85"
        b"U\x01b\x87Rq\x04(K\x01K\x02M\x00\x0c\x86cnumpy\ndtype\nq\x05U\x02u1K\x00K\x01\x87Rq\x06(K\x03U\x01|NNN"
        b"J\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T" + struct.pack("<i", data.size) + data.tobytes()
    ) + b"tbU\x06labels](K\x05K\x06eu."
    assert set(pickle.loads(file, encoding="bytes")) == {b"data", b"labels"}
    _archive(tmp_path / "c10.tar.gz", {"cifar/data_batch_1": file})
    images, labels = zip(*datasets.Cifar10(str(tmp_path / "c10.tar.gz"), backend="cv2"))
    np.testing.assert_array_equal(np.stack(images), data.reshape(2, 3, 32, 32).transpose(0, 2, 3, 1))
    assert [int(label) for label in labels] == [5, 6]


def test_cifar_archives_execute_nothing(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path}/executed",)

    _archive(tmp_path / "evil.tar.gz", {"data_batch_1": pickle.dumps({b"data": Evil(), b"labels": [1]})})
    with pytest.raises(ValueError, match="system"):
        datasets.Cifar10(str(tmp_path / "evil.tar.gz"))
    assert not (tmp_path / "executed").exists()
    _archive(tmp_path / "other.tar.gz", {"readme": b"text"})
    with pytest.raises(ValueError, match="no member"):
        datasets.Cifar10(str(tmp_path / "other.tar.gz"))


def test_cifar_as_python_2_wrote_it(tmp_path):
    """Its text is bytes and its arrays are text, as in the archives that are out there."""
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\nq\x05cnumpy\nndarray\nq\x06K\x00\x85U\x01b\x87Rq\x07(K\x01K\x01M\x00\x0c\x86"
        b"cnumpy\ndtype\nq\x08U\x02u1K\x00K\x01\x87Rq\t(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T\x00\x0c\x00\x00"
        + bytes(range(256)) * 12
        + b"tb"
    )
    data = b"\x80\x02}q\x01(U\x06labelsq\x04]q\nK\x06aU\x04data" + array + b"U\tfilenames]q\x0bU\x05a.pngau."
    assert set(pickle.loads(data, encoding="bytes")) == {b"labels", b"data", b"filenames"}
    _archive(tmp_path / "old.tar.gz", {"cifar/data_batch_1": data})
    image, label = datasets.Cifar10(str(tmp_path / "old.tar.gz"), backend="cv2")[0]
    assert label == 6 and image.transpose(2, 0, 1).reshape(-1).tolist() == list(range(256)) * 12
    for content, says in (
        (pickle.dumps([1]), "holds a list, not a dict"),
        (pickle.dumps({"data": np.zeros([1, 3072], "uint8")}), "no data or no labels"),
        (pickle.dumps({"data": np.zeros([1, 3072], "uint8"), "labels": [1, 2]}), "1 images, 2 labels"),
    ):
        _archive(tmp_path / "other.tar.gz", {"cifar/data_batch_1": content})
        with pytest.raises(ValueError, match=says):
            datasets.Cifar10(str(tmp_path / "other.tar.gz"))


def test_folders(tmp_path):
    for name in ("dog", "cat"):
        (tmp_path / name).mkdir()
        for i in range(2):
            Image.fromarray(np.full([4, 5, 3], 50 * i, "uint8")).save(tmp_path / name / f"{i}.png")
    (tmp_path / "cat" / "notes.txt").write_text("no image")
    found = datasets.DatasetFolder(str(tmp_path), transform=np.asarray)
    assert (
        found.classes == ["cat", "dog"] and found.class_to_idx == {"cat": 0, "dog": 1} and found.targets == [0, 0, 1, 1]
    )
    image, target = found[3]
    assert image.shape == (4, 5, 3) and image[0, 0, 0] == 50 and target == 1
    flat = datasets.ImageFolder(str(tmp_path))
    assert len(flat) == 4 and len(flat[0]) == 1
    assert len(datasets.ImageFolder(str(tmp_path), is_valid_file=lambda p: p.endswith("txt"), loader=str)) == 1
    with pytest.raises(RuntimeError, match="no files"):
        datasets.DatasetFolder(str(tmp_path), extensions=[".gif"])
    with pytest.raises(ValueError, match="either extensions or is_valid_file"):
        datasets.DatasetFolder(str(tmp_path), extensions=[".png"], is_valid_file=bool)


def test_images_of_the_old_data_sets(tmp_path):
    array = _R.randint(0, 256, [20, 30, 3]).astype("uint8")
    Image.fromarray(array).save(tmp_path / "a.png")
    assert np.array_equal(dataset.image.load_image(str(tmp_path / "a.png")), array[:, :, ::-1])
    assert dataset.image.load_and_transform(str(tmp_path / "a.png"), 10, 8, True, mean=[1, 2, 3]).shape == (3, 8, 8)
    assert dataset.image.resize_short(array, 10).shape == (10, 15, 3)


def test_prices_of_houses(tmp_path):
    values = _R.rand(10, 14)
    np.savetxt(tmp_path / "housing.data", values)
    train, test = dataset.uci_housing.load_data(str(tmp_path / "housing.data"))
    assert train.shape == (8, 14) and test.shape == (2, 14)
    want = (values[:8, 0] - values[:, 0].mean()) / (values[:, 0].max() - values[:, 0].min())
    np.testing.assert_allclose(train[:, 0], want)
