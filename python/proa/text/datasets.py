"""Data sets of text and tables, read from files that are there, or fetched once."""

import errno
import os
import re
import string

import numpy as np

from proa import _C
from proa.dataset.packed import contents, open_tar
from proa.framework.attributes import known_real, wrong
from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy
from proa.io import Dataset

_HOMES = _invert({
    "proa.text.conll05": "Conll05st",
    "proa.text.imikolov": "Imikolov",
    "proa.text.movielens": "Movielens",
    "proa.text.translation": "WMT14 WMT16",
})  # fmt: skip

__all__ = [*_HOMES, "Imdb", "UCIHousing"]

__getattr__, __dir__ = _lazy(__name__, _HOMES)


def _checked(what, mode, modes, name="mode"):
    if not isinstance(mode, str) or mode.lower() not in modes:
        raise _C.located(ValueError(f"{what}: {name} must be {' or '.join(map(repr, modes))}, not {mode!r}"))
    return mode.lower()


def _file(what, path, download, url, md5, folder, name="data_file"):
    if path is not None:
        if isinstance(path, int) or not isinstance(path, (str, bytes, os.PathLike)):
            raise wrong(what, name, "the path of a file", path)
        if not os.path.exists(path):
            raise _C.located(_C.NotFoundError(errno.ENOENT, f"{what}: {name} is no file", os.fspath(path)))
        return path
    if not download:
        raise _C.located(ValueError(f"{what}: give {name}, or download=True"))
    from proa.dataset import common

    return common.download(url, folder, md5)


class UCIHousing(Dataset):
    """Prices of houses.

    Args:
        data_file (str, optional): rows of 14 numbers; fetched if not given and `download`.
        mode (str): "train" (the first four fifths) or "test".
        download (bool): fetch the file if it is not there.

    A sample is (13 features, price), arrays of the default dtype.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "housing.data")
        >>> np.savetxt(path, np.arange(10 * 14).reshape(10, 14))
        >>> data = proa.text.UCIHousing(path, mode="test")
        >>> features, price = data[0]
        >>> len(data), features.shape, price.tolist()
        (2, (13,), [125.0])
        >>> folder.cleanup()
    """

    def __init__(self, data_file=None, mode="train", download=True):
        from proa.dataset import uci_housing

        self.mode = _checked("UCIHousing", mode, ("train", "test"))
        path = _file("UCIHousing", data_file, download, uci_housing.URL, uci_housing.MD5, "uci_housing")
        self.dtype = _C.get_default_dtype().name
        self.data = uci_housing.load_data(path)[0 if self.mode == "train" else 1]

    def __getitem__(self, idx):
        row = self.data[idx].astype(self.dtype)
        return row[:-1], row[-1:]

    def __len__(self):
        return len(self.data)


def read_reviews(path):
    """(name, words) of each review in an archive aclImdb: in small letters, without punctuation."""
    drop = string.punctuation.encode()
    found = []
    with open_tar("Imdb", path) as archive:
        for member in archive:
            if re.match(r"aclImdb/(train|test)/(pos|neg)/.*\.txt$", member.name):
                text = contents(archive, member, path).read().rstrip(b"\n\r")
                found.append((member.name, text.translate(None, drop).lower().split()))
    return found


class Imdb(Dataset):
    """Reviews of films.

    Args:
        data_file (str, optional): the archive aclImdb; fetched if not given and `download`.
        mode (str): "train" or "test".
        cutoff (int): words that occur less often, or as often, are unknown ones.
        download (bool): fetch the archive if it is not there.

    A sample is (numbers of words, label [1]: 0 positive, 1 negative). `word_idx` has the numbers by word, bytes, the most
    frequent first; unknown ones are "<unk>", a str.

    Examples:
        >>> import io, os, tarfile, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "aclImdb.tar.gz")
        >>> with tarfile.open(path, "w:gz") as archive:
        ...     for name, text in (("pos/0", b"A good, good film!"), ("neg/0", b"A bad film.")):
        ...         member = tarfile.TarInfo(f"aclImdb/train/{name}.txt")
        ...         member.size = len(text)
        ...         archive.addfile(member, io.BytesIO(text))
        >>> data = proa.text.Imdb(path, cutoff=1)
        >>> data.word_idx
        {b'a': 0, b'film': 1, b'good': 2, '<unk>': 3}
        >>> words, label = data[1]
        >>> words.tolist(), label.tolist()
        ([0, 3, 1], [1])
        >>> folder.cleanup()
    """

    URL = "https://dataset.bj.bcebos.com/imdb%2FaclImdb_v1.tar.gz"
    MD5 = "7c2ac02c03563afcf9b574c7e56c153a"

    def __init__(self, data_file=None, mode="train", cutoff=150, download=True):
        self.mode = _checked("Imdb", mode, ("train", "test"))
        cutoff = known_real("Imdb", "cutoff", cutoff)
        self.data_file = _file("Imdb", data_file, download, self.URL, self.MD5, "imdb")
        texts = read_reviews(self.data_file)
        counts = {}
        for _, words in texts:
            for word in words:
                counts[word] = counts.get(word, 0) + 1
        frequent = sorted(((n, w) for w, n in counts.items() if n > cutoff), key=lambda pair: (-pair[0], pair[1]))
        self.word_idx = {word: i for i, (_, word) in enumerate(frequent)}
        unknown = self.word_idx["<unk>"] = len(self.word_idx)
        self.docs, self.labels = [], []
        for label, part in enumerate(("pos", "neg")):
            for name, words in texts:
                if re.match(rf"aclImdb/{self.mode}/{part}/.*\.txt$", name):
                    self.docs.append([self.word_idx.get(word, unknown) for word in words])
                    self.labels.append(label)
        if not self.docs:
            raise _C.located(ValueError(f"Imdb: {self.data_file} holds no reviews"))

    def __getitem__(self, idx):
        return np.array(self.docs[idx]), np.array([self.labels[idx]])

    def __len__(self):
        return len(self.docs)
