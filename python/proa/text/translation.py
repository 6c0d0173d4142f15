"""WMT14 and WMT16: sentences and their translations."""

import numpy as np

from proa import _C
from proa.dataset.packed import contents, open_tar
from proa.io import Dataset
from proa.text.datasets import _checked, _file

__all__ = ["WMT14", "WMT16"]


def _positive(what, name, value):
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise _C.located(ValueError(f"{what}: {name} must be a positive int, not {value!r}"))
    return value


def _reversed(words, reverse):
    return {number: word for word, number in words.items()} if reverse else words


def _pairs(lines):
    """(words, words) of the lines that hold two sentences."""
    for line in lines:
        parts = line.decode().strip().split("\t")
        if len(parts) == 2:
            yield parts[0].split(), parts[1].split()


class _Translations(Dataset):
    """Base of the two: `src_ids`, `trg_ids` and `trg_ids_next` are lists of lists of numbers of words."""

    def __getitem__(self, idx):
        return np.array(self.src_ids[idx]), np.array(self.trg_ids[idx]), np.array(self.trg_ids_next[idx])

    def __len__(self):
        return len(self.src_ids)

    def _add(self, source, target, start, end):
        self.src_ids.append(source)
        self.trg_ids.append([start, *target])
        self.trg_ids_next.append([*target, end])


class WMT14(_Translations):
    r"""Sentences in English and French.

    Args:
        data_file (str, optional): the archive wmt14.tgz; fetched if not given and `download`.
        mode (str): "train", "test" or "gen".
        dict_size (int): how many words of each language are known.
        download (bool): fetch the archive if it is not there.

    A sample is (numbers of the source's words, of the target's with the start mark, and of the target's with the end mark).
    Sentences of more than 80 words are left out.

    Raises:
        ValueError: for another mode or size, or another archive.
        RuntimeError: the archive could not be fetched.

    Examples:
        >>> import io, os, tarfile, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "wmt14.tgz")
        >>> marks = b"<s>\n<e>\n<unk>\n"
        >>> with tarfile.open(path, "w:gz") as archive:
        ...     for name, content in (
        ...         ("src.dict", marks + b"hello\n"), ("trg.dict", marks + b"bonjour\n"), ("test/test", b"hello\tbonjour\n")
        ...     ):
        ...         member = tarfile.TarInfo(f"wmt14/{name}")
        ...         member.size = len(content)
        ...         archive.addfile(member, io.BytesIO(content))
        >>> data = proa.text.WMT14(path, mode="test", dict_size=4)
        >>> [part.tolist() for part in data[0]]
        [[0, 3, 1], [0, 3], [3, 1]]
        >>> folder.cleanup()
    """

    _URL = "http://paddlemodels.bj.bcebos.com/wmt/wmt14.tgz"
    _MD5 = "0791583d57d5beb693b9414c5b36798c"
    _UNKNOWN = 2

    def __init__(self, data_file=None, mode="train", dict_size=-1, download=True):
        self.mode = _checked("WMT14", mode, ("train", "test", "gen"))
        self.dict_size = _positive("WMT14", "dict_size", dict_size)
        self.data_file = _file("WMT14", data_file, download, self._URL, self._MD5, "wmt14")
        self.src_ids, self.trg_ids, self.trg_ids_next = [], [], []
        with open_tar("WMT14", self.data_file) as archive:
            names = archive.getnames()
            self.src_dict, self.trg_dict = (
                self._words(archive, [n for n in names if n.endswith(end)], end) for end in ("src.dict", "trg.dict")
            )
            for name in names:
                if name.endswith(f"{self.mode}/{self.mode}"):
                    self._read(contents(archive, name, self.data_file))

    def _words(self, archive, names, end):
        if len(names) != 1:
            raise _C.located(ValueError(f"WMT14: {self.data_file} must have one {end}; it has {len(names)}"))
        words = {}
        for number, line in zip(range(self.dict_size), contents(archive, names[0], self.data_file)):
            words[line.strip().decode()] = number
        return words

    def _read(self, lines):
        for source, target in _pairs(lines):
            source = [self.src_dict.get(word, self._UNKNOWN) for word in ("<s>", *source, "<e>")]
            target = [self.trg_dict.get(word, self._UNKNOWN) for word in target]
            if len(source) <= 80 and len(target) <= 80:
                self._add(source, target, self.trg_dict["<s>"], self.trg_dict["<e>"])

    def get_dict(self, reverse=False):
        """The numbers of the source's and of the target's words; with `reverse` the words of the numbers."""
        return _reversed(self.src_dict, reverse), _reversed(self.trg_dict, reverse)


class WMT16(_Translations):
    r"""Descriptions of images in English and German.

    Args:
        data_file (str, optional): the archive wmt16.tar.gz; fetched if not given and `download`.
        mode (str): "train", "test" or "val".
        src_dict_size, trg_dict_size (int): how many words of each language are known, the most frequent ones and three marks.
        lang (str): the source's language, "en" or "de".
        download (bool): fetch the archive if it is not there.

    A sample is as in WMT14. Words of each language are counted in sentences of that language (the reference counts both in
    those of the source).

    Raises:
        ValueError: for another mode, language or size, or another archive.
        RuntimeError: the archive could not be fetched.

    Examples:
        >>> import io, os, tarfile, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "wmt16.tar.gz")
        >>> with tarfile.open(path, "w:gz") as archive:
        ...     for name, content in (("train", b"a dog\tein hund\n"), ("val", b"a cat\teine katze\n")):
        ...         member = tarfile.TarInfo(f"wmt16/{name}")
        ...         member.size = len(content)
        ...         archive.addfile(member, io.BytesIO(content))
        >>> data = proa.text.WMT16(path, mode="val", src_dict_size=5, trg_dict_size=5)
        >>> data.get_dict("en")
        {'<s>': 0, '<e>': 1, '<unk>': 2, 'a': 3, 'dog': 4}
        >>> [part.tolist() for part in data[0]]
        [[0, 3, 2, 1], [0, 2, 2], [2, 2, 1]]
        >>> folder.cleanup()
    """

    _URL = "http://paddlemodels.bj.bcebos.com/wmt/wmt16.tar.gz"
    _MD5 = "0c38be43600334966403524a40dcd81e"
    _MOST = {"en": 11250, "de": 19220}

    def __init__(self, data_file=None, mode="train", src_dict_size=-1, trg_dict_size=-1, lang="en", download=True):
        self.mode = _checked("WMT16", mode, ("train", "test", "val"))
        if not isinstance(lang, str) or lang not in self._MOST:
            raise _C.located(ValueError(f"WMT16: lang must be 'en' or 'de', not {lang!r}"))
        self.lang, other = lang, "de" if lang == "en" else "en"
        self.src_dict_size = min(_positive("WMT16", "src_dict_size", src_dict_size), self._MOST[lang])
        self.trg_dict_size = min(_positive("WMT16", "trg_dict_size", trg_dict_size), self._MOST[other])
        self.data_file = _file("WMT16", data_file, download, self._URL, self._MD5, "wmt16")
        self.src_ids, self.trg_ids, self.trg_ids_next = [], [], []
        with open_tar("WMT16", self.data_file) as archive:
            counts = {"en": {}, "de": {}}
            for sentences in _pairs(self._part(archive, "train")):
                for words, count in zip(sentences, counts.values()):
                    for word in words:
                        count[word] = count.get(word, 0) + 1
            self.src_dict = self._words(counts[lang], self.src_dict_size)
            self.trg_dict = self._words(counts[other], self.trg_dict_size)
            for pair in _pairs(self._part(archive, self.mode)):
                source, target = pair if lang == "en" else pair[::-1]
                source = [self.src_dict.get(word, 2) for word in source]
                self._add([0, *source, 1], [self.trg_dict.get(word, 2) for word in target], 0, 1)

    def _part(self, archive, mode):
        try:
            return contents(archive, f"wmt16/{mode}", self.data_file)
        except KeyError:
            raise _C.located(ValueError(f"WMT16: {self.data_file} has no wmt16/{mode}")) from None

    def _words(self, counts, size):
        frequent = sorted(counts, key=counts.get, reverse=True)
        return {word: number for number, word in enumerate(["<s>", "<e>", "<unk>", *frequent][: max(size, 3)])}

    def get_dict(self, lang, reverse=False):
        """The numbers of the words of a language; with `reverse` the words of the numbers."""
        if not isinstance(lang, str) or lang not in self._MOST:
            raise _C.located(ValueError(f"get_dict: lang must be 'en' or 'de', not {lang!r}"))
        return _reversed(self.src_dict if lang == self.lang else self.trg_dict, reverse)
