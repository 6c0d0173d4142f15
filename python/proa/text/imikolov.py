"""Imikolov: sentences of newspapers (the Penn Treebank as Mikolov prepared it), for language models."""

import numpy as np

from proa import _C
from proa.dataset.packed import contents, open_tar
from proa.framework.attributes import known_int, known_real
from proa.io import Dataset
from proa.text.datasets import _checked, _file

__all__ = ["Imikolov"]


class Imikolov(Dataset):
    r"""Numbers of words.

    Args:
        data_file (str, optional): the archive simple-examples.tgz; fetched if not given and `download`.
        data_type (str): "NGRAM": a sample is each `window_size` words in a row. "SEQ": a sample is a sentence with the start
            mark, and with the end mark.
        window_size (int): of "NGRAM"; of "SEQ" the longest sentence that is not left out, if it is positive.
        mode (str): "train" or "test".
        min_word_freq (int): words that occur more often are known.
        download (bool): fetch the archive if it is not there.

    `word_idx` has the numbers by word, the most frequent first; words are bytes, the marks "<s>", "<e>" and "<unk>" str, as in
    the reference.

    Raises:
        ValueError: for other arguments, or another archive.
        RuntimeError: the archive could not be fetched.

    Examples:
        >>> import io, os, tarfile, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "simple-examples.tgz")
        >>> with tarfile.open(path, "w:gz") as archive:
        ...     for part in ("train", "valid"):
        ...         member = tarfile.TarInfo(f"./simple-examples/data/ptb.{part}.txt")
        ...         member.size = 6
        ...         archive.addfile(member, io.BytesIO(b"a b a\n"))
        >>> data = proa.text.Imikolov(path, "NGRAM", window_size=3, min_word_freq=1)
        >>> data.word_idx
        {b'a': 0, '<e>': 1, '<s>': 2, b'b': 3, '<unk>': 4}
        >>> [np.stack(sample).tolist() for sample in data]
        [[2, 0, 3], [0, 3, 0], [3, 0, 1]]
        >>> folder.cleanup()
    """

    _URL = "https://dataset.bj.bcebos.com/imikolov%2Fsimple-examples.tgz"
    _MD5 = "30177ea32e27c525793142b6bf2c8e2d"

    def __init__(
        self, data_file=None, data_type="NGRAM", window_size=-1, mode="train", min_word_freq=50, download=True
    ):
        self.data_type = _checked("Imikolov", data_type, ("ngram", "seq"), "data_type").upper()
        self.mode = _checked("Imikolov", mode, ("train", "test"))
        window_size = known_int("Imikolov", "window_size", window_size)
        min_word_freq = known_real("Imikolov", "min_word_freq", min_word_freq)
        if self.data_type == "NGRAM" and window_size < 1:
            raise _C.located(ValueError(f"Imikolov: window_size must be positive for 'NGRAM', not {window_size!r}"))
        self.window_size, self.min_word_freq = window_size, min_word_freq
        self.data_file = _file("Imikolov", data_file, download, self._URL, self._MD5, "imikolov")
        with open_tar("Imikolov", self.data_file) as archive:
            self.word_idx = self._words(self._lines(archive, "train") + self._lines(archive, "valid"))
            self.data = []
            for words in self._lines(archive, self.mode):
                self._add(words)

    def _lines(self, archive, part):
        names = [n for n in archive.getnames() if n.removeprefix("./") == f"simple-examples/data/ptb.{part}.txt"]
        if not names:
            raise _C.located(ValueError(f"Imikolov: {self.data_file} has no simple-examples/data/ptb.{part}.txt"))
        return [line.strip().split() for line in contents(archive, names[0], self.data_file)]

    def _words(self, sentences):
        counts = {"<s>": len(sentences), "<e>": len(sentences)}
        for words in sentences:
            for word in words:
                counts[word] = counts.get(word, 0) + 1
        frequent = [word for word, count in counts.items() if count > self.min_word_freq]
        frequent.sort(key=lambda word: (-counts[word], isinstance(word, bytes), word))
        numbers = {word: number for number, word in enumerate(frequent)}
        numbers["<unk>"] = len(numbers)
        return numbers

    def _add(self, words):
        numbers = [self.word_idx.get(word, self.word_idx["<unk>"]) for word in words]
        start, end = (self.word_idx.get(mark, self.word_idx["<unk>"]) for mark in ("<s>", "<e>"))
        if self.data_type == "NGRAM":
            numbers = [start, *numbers, end]
            size = self.window_size
            self.data += [tuple(numbers[i : i + size]) for i in range(len(numbers) - size + 1)]
        elif not 0 < self.window_size < len(numbers) + 1:
            self.data.append(([start, *numbers], [*numbers, end]))

    def __getitem__(self, idx):
        return tuple(np.array(part) for part in self.data[idx])

    def __len__(self):
        return len(self.data)
