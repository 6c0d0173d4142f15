"""Data sets of text and of images, read from files of their original formats that the test writes."""

import gzip
import io
import os
import tarfile
import zipfile

import numpy as np
import pytest
import scipy.io
from PIL import Image

import proa
from proa import text
from proa.vision import datasets
from proa.vision.datasets.mat_file import read_mat


def archive(path, members, mode="w:gz"):
    with tarfile.open(path, mode) as file:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    return str(path)


def image(size, value, mode="RGB", kind="png"):
    file = io.BytesIO()
    Image.new(mode, size, value).save(file, kind)
    return file.getvalue()


def lists(sample):
    return [np.asarray(part).tolist() for part in sample]


# Text ----------------------------------------------------------------------------------------------------------------


def test_imikolov(tmp_path):
    sentences = {"train": "a b a c\nb a\n", "valid": "a <unk>\n", "test": "c a d\nb\n"}
    path = archive(tmp_path / "simple.tgz",
                   {f"./simple-examples/data/ptb.{part}.txt": s.encode() for part, s in sentences.items()})  # fmt: skip
    grams = text.Imikolov(path, "NGRAM", 2, "train", min_word_freq=0)
    assert grams.word_idx == {b"a": 0, "<e>": 1, "<s>": 2, b"b": 3, b"<unk>": 4, b"c": 5, "<unk>": 6}
    assert [lists(s) for s in grams] == [[2, 0], [0, 3], [3, 0], [0, 5], [5, 1], [2, 3], [3, 0], [0, 1]]
    sequences = text.Imikolov(path, "seq", mode="test", min_word_freq=0)
    assert [lists(s) for s in sequences] == [[[2, 5, 0, 6], [5, 0, 6, 1]], [[2, 3], [3, 1]]]
    assert len(text.Imikolov(path, "SEQ", 3, "test", min_word_freq=0)) == 1  # the shorter one
    with pytest.raises(ValueError, match="window_size must be positive for 'NGRAM'"):
        text.Imikolov(path)
    with pytest.raises(ValueError, match="data_type must be 'ngram' or 'seq'"):
        text.Imikolov(path, "words")
    with pytest.raises(ValueError, match="has no simple-examples"):
        text.Imikolov(archive(tmp_path / "other.tgz", {"a": b""}), "SEQ")


def test_movielens(tmp_path):
    path = tmp_path / "ml-1m.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(
            "ml-1m/movies.dat",
            "1::Toy Story (1995)::Animation|Comedy\n2::Am\u00e9lie Story (2001)::Comedy\n".encode("latin1"),
        )
        file.writestr("ml-1m/users.dat", "1::F::1::10::48067\n2::M::56::16::70072\n")
        file.writestr("ml-1m/ratings.dat", "1::1::5::978300760\n2::2::1::978302109\n" * 10)
    train, test = (text.Movielens(str(path), mode, test_ratio=0.3, rand_seed=1) for mode in ("train", "test"))
    rows = [[[1], [1], [0], [10], [1], [0, 1], [2, 1], [5.0]], [[2], [0], [6], [16], [2], [1], [0, 1], [-3.0]]]
    assert len(train) + len(test) == 20 and all(lists(s) in rows for s in train) and len(test) > 0
    # As NumPy's generator of this seed decides.
    chosen = np.random.RandomState(1).random_sample(20) < 0.3
    assert [lists(s) for s in test] == [rows[i % 2] for i in np.flatnonzero(chosen)]
    assert repr(train.movie_info[1]) == "<MovieInfo id(1), title(Toy Story ), categories(['Animation', 'Comedy'])>"
    assert repr(train.user_info[2]) == "<UserInfo id(2), gender(M), age(56), job(16)>"
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("ml-1m/other", "")
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    with pytest.raises(ValueError, match="has no ml-1m/movies.dat"):
        text.Movielens(str(tmp_path / "empty.zip"))


def test_wmt14(tmp_path):
    words = b"<s>\n<e>\n<unk>\nhello\nworld\n"
    lines = b"hello world\tbonjour monde\nno pair\nhello\tmonde " + b"x " * 90 + b"\nworld new\tmonde nouveau\n"
    path = archive(tmp_path / "wmt14.tgz", {
        "wmt14/src.dict": words, "wmt14/trg.dict": b"<s>\n<e>\n<unk>\nbonjour\nmonde\n",
        "wmt14/train/train": lines, "wmt14/test/test": b"hello\tbonjour\n", "wmt14/gen/gen": b"",
    })  # fmt: skip
    data = text.WMT14(path, "train", 5)
    assert [lists(s) for s in data] == [
        [[0, 3, 4, 1], [0, 3, 4], [3, 4, 1]],
        [[0, 4, 2, 1], [0, 4, 2], [4, 2, 1]],
    ]
    assert data.get_dict()[0]["world"] == 4 and data.get_dict(reverse=True)[1][3] == "bonjour"
    assert lists(text.WMT14(path, "test", 4)[0]) == [[0, 3, 1], [0, 3], [3, 1]] and len(text.WMT14(path, "gen", 5)) == 0
    with pytest.raises(ValueError, match="dict_size must be a positive int, not -1"):
        text.WMT14(path)
    with pytest.raises(ValueError, match="must have one src.dict; it has 0"):
        text.WMT14(archive(tmp_path / "other.tgz", {"a": b""}), "train", 5)


def test_wmt16(tmp_path):
    lines = b"a dog runs\tein hund rennt\na dog\tein hund\nbroken\n"
    path = archive(tmp_path / "wmt16.tar.gz", {
        "wmt16/train": lines, "wmt16/test": b"a cat\teine katze\n", "wmt16/val": b"dog\thund\n"
    })  # fmt: skip
    english = text.WMT16(path, "train", 5, 6)
    assert english.get_dict("en") == {"<s>": 0, "<e>": 1, "<unk>": 2, "a": 3, "dog": 4}
    assert english.get_dict("de", reverse=True) == dict(enumerate(["<s>", "<e>", "<unk>", "ein", "hund", "rennt"]))
    assert [lists(s) for s in english] == [
        [[0, 3, 4, 2, 1], [0, 3, 4, 5], [3, 4, 5, 1]],
        [[0, 3, 4, 1], [0, 3, 4], [3, 4, 1]],
    ]
    german = text.WMT16(path, "test", 6, 5, lang="de")
    assert [lists(s) for s in german] == [[[0, 2, 2, 1], [0, 3, 2], [3, 2, 1]]]
    assert len(text.WMT16(path, "val", 10**6, 10**6)) == 1
    for arguments, says in (
        (("train", 5, 5, "fr"), "lang must be 'en' or 'de', not 'fr'"),
        (("train", 0, 5), "src_dict_size must be a positive int"),
        (("dev", 5, 5), "mode must be 'train' or 'test' or 'val'"),
    ):
        with pytest.raises(ValueError, match=says):
            text.WMT16(path, *arguments)


_WORDS = "The\ncat\nchased\na\nmouse\n\nIt\nslept\n\n"
_PROPS = "-  (A0*\n-  *)\nchase  (V*)\n-  (A1*\n-  *)\n\n-  (A0*)\nsleep  (V*)\n\n"


def conll(tmp_path, props=_PROPS):
    folder = "conll05st-release/test.wsj"
    path = archive(tmp_path / "tests.tar.gz", {
        f"{folder}/words/test.wsj.words.gz": gzip.compress(_WORDS.encode()),
        f"{folder}/props/test.wsj.props.gz": gzip.compress(props.encode()),
    })  # fmt: skip
    files = {"word_dict_file": "UNK\nThe\ncat\nchased\nbos\neos\nslept\nIt\n", "verb_dict_file": "chase\nsleep\n",
             "target_dict_file": "B-A0\nI-A0\nB-A1\nI-A1\nB-V\nI-V\nO\n", "emb_file": ""}  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    return path, {name: str(tmp_path / name) for name in files}


def test_conll05(tmp_path):
    path, files = conll(tmp_path)
    data = text.Conll05st(path, **files)
    assert len(data) == 2 and data.get_embedding() == files["emb_file"]
    words, verbs, tags = data.get_dict()
    assert tags == {"B-A0": 0, "I-A0": 1, "B-A1": 2, "I-A1": 3, "B-V": 4, "I-V": 5, "O": 6} and verbs["sleep"] == 1
    assert lists(data[0]) == [
        [1, 2, 3, 0, 0], [1] * 5, [2] * 5, [3] * 5, [0] * 5, [0] * 5, [0] * 5, [1] * 5, [0, 1, 4, 2, 3],
    ]  # fmt: skip
    assert lists(data[1]) == [[7, 6], [4, 4], [7, 7], [6, 6], [5, 5], [5, 5], [1, 1], [1, 1], [0, 4]]
    with pytest.raises(ValueError, match="'<A0' is no part"):
        text.Conll05st(conll(tmp_path, _PROPS.replace("(A0*)", "<A0"))[0], **files)
    with pytest.raises(ValueError, match="give emb_file, or download=True"):
        text.Conll05st(path, **{**files, "emb_file": None}, download=False)


@pytest.mark.parametrize("name", ["Conll05st", "Imdb", "Imikolov", "Movielens", "UCIHousing", "WMT14", "WMT16"])
def test_nothing_is_fetched_unasked(name):
    assert getattr(text, name) is getattr(text.datasets, name)
    arguments = {
        "WMT14": {"dict_size": 5},
        "WMT16": {"src_dict_size": 5, "trg_dict_size": 5},
        "Imikolov": {"window_size": 2},
    }
    with pytest.raises(ValueError, match=f"{name}: give data_file, or download=True"):
        getattr(text, name)(download=False, **arguments.get(name, {}))


# Images --------------------------------------------------------------------------------------------------------------


def flowers(tmp_path):
    labels, parts = np.array([[5, 102, 7, 1]]), {"trnid": [[1]], "valid": [[2]], "tstid": [[3, 4]]}
    scipy.io.savemat(tmp_path / "labels.mat", {"labels": labels.astype("uint8")})
    scipy.io.savemat(tmp_path / "setid.mat", {k: np.array(v) for k, v in parts.items()}, do_compression=True)
    path = archive(
        tmp_path / "102flowers.tgz",
        {"jpg/": b"", "../evil.jpg": b"x", "jpg/../../evil.jpg": b"x",
         **{f"jpg/image_{i:05}.jpg": image((4, 6), (10 * i, 0, 0), kind="jpeg") for i in range(1, 5)}},
    )  # fmt: skip
    return path, str(tmp_path / "labels.mat"), str(tmp_path / "setid.mat")


def test_flowers(tmp_path):
    files = flowers(tmp_path / "a" if (tmp_path / "a").mkdir() is None else tmp_path)
    train = datasets.Flowers(*files, backend="pil")
    assert len(train) == 2 and len(datasets.Flowers(*files, mode="test")) == 1
    photograph, label = train[1]
    assert photograph.size == (4, 6) and label.tolist() == [1] and label.dtype == np.int64
    photograph, label = datasets.Flowers(*files, mode="valid", backend="cv2", transform=lambda x: x[:2])[0]
    assert photograph.shape == (2, 4, 3) and photograph.dtype == np.float32 and label.tolist() == [102]
    assert sorted(os.listdir(tmp_path)) == ["a"]  # nothing left its folder
    assert sorted(os.listdir(tmp_path / "a")) == ["102flowers", "102flowers.tgz", "labels.mat", "setid.mat"]
    for arguments, kind, says in (
        ({"mode": "all"}, ValueError, "mode must be"),
        ({"backend": "tensor"}, ValueError, "backend must be 'pil' or 'cv2'"),
        ({"label_file": files[2]}, ValueError, "has no array 'labels'; it has trnid, valid, tstid"),
        ({"data_file": None, "download": False}, ValueError, "give data_file, or download=True"),
    ):
        with pytest.raises(kind, match=says):
            datasets.Flowers(**{**dict(zip(("data_file", "label_file", "setid_file"), files)), **arguments})


def test_voc2012(tmp_path):
    top = "VOCdevkit/VOC2012"
    members = {f"{top}/ImageSets/Segmentation/{part}.txt": names for part, names in
               (("train", b"a\n"), ("val", b"b\n"), ("trainval", b"a\nb\n"))}  # fmt: skip
    for i, name in enumerate("ab"):
        members[f"{top}/JPEGImages/{name}.jpg"] = image((5, 3), (20 * i, 0, 0), kind="jpeg")
        members[f"{top}/SegmentationClass/{name}.png"] = image((5, 3), i + 1, "L")
    path = archive(tmp_path / "voc.tar", members, "w")
    data = datasets.VOC2012(path, backend="cv2")
    assert len(data) == 2 and len(datasets.VOC2012(path, "valid")) == len(datasets.VOC2012(path, "test")) == 1
    assert data[1][0].shape == (3, 5, 3) and data[1][1].tolist() == [[2.0] * 5] * 3 and data[1][1].dtype == np.float32
    photograph, classes = datasets.VOC2012(path, backend="pil")[0]
    assert photograph.size == classes.size == (5, 3)
    # Workers read the one file that they share.
    loaded = [b[1][0, 0, 0].item() for b in proa.io.DataLoader(proa.io.Subset(data, [0, 1] * 20), num_workers=2)]
    assert loaded == [1.0, 2.0] * 20
    with pytest.raises(ValueError, match="no tar archive, or a packed one"):
        datasets.VOC2012(archive(tmp_path / "voc.tgz", members))
    with pytest.raises(ValueError, match="has no VOCdevkit/VOC2012/ImageSets"):
        datasets.VOC2012(archive(tmp_path / "empty.tar", {}, "w"))


def test_mat_files(tmp_path):
    """What SciPy writes of numbers is read the same; what is damaged is refused, wherever it is."""
    rng = np.random.RandomState(0)
    arrays = {f"a{i}": (rng.rand(2, 3) * 100).astype(kind) for i, kind in
              enumerate("i1 u1 i2 u2 i4 u4 i8 u8 f4 f8".split())}  # fmt: skip
    arrays.update(empty=np.zeros([0, 3]), one=np.array([[7]], "u1"), cube=rng.rand(2, 3, 4))
    others = {"text": "hello", "complex": np.array([1j]), "cell": np.array([1, "a"], object), "flag": np.array([True])}
    for packed in (False, True):
        path = tmp_path / f"{packed}.mat"
        scipy.io.savemat(path, {**arrays, **others}, do_compression=packed)
        found = read_mat(path)
        for name, array in arrays.items():
            assert found[name].dtype == array.dtype and (found[name] == array).all(), name
        assert not {"text", "complex", "cell"} & set(found)
        whole = path.read_bytes()
        for size in range(0, len(whole), 37):
            damaged = tmp_path / "damaged.mat"
            changed = bytearray(whole)
            changed[size] ^= 0xFF
            for content in (whole[:size], bytes(changed)):
                damaged.write_bytes(content)
                try:
                    read_mat(damaged)
                except ValueError as error:
                    assert "damaged" in str(error) or "no file of MATLAB" in str(error)
