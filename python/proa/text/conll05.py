"""Conll05st: sentences, and which part each word plays for a verb (the shared task of CoNLL 2005; its test set)."""

import gzip

import numpy as np

from proa import _C
from proa.dataset.packed import contents, open_tar
from proa.framework.damage import most_unpacked
from proa.io import Dataset
from proa.text.datasets import _file

__all__ = ["Conll05st"]

_URL = "http://paddlemodels.bj.bcebos.com/conll05st/conll05st-tests.tar.gz"
_URL_OF = "http://paddlemodels.bj.bcebos.com/conll05st%2F"
# Argument, URL, md5 sum.
_FILES = (
    ("data_file", _URL, "387719152ae52d60422c016e92a742fc"),
    ("word_dict_file", _URL_OF + "wordDict.txt", "ea7fb7d4c75cc6254716f0177a506baa"),
    ("verb_dict_file", _URL_OF + "verbDict.txt", "0d2977293bbb6cbefab5b0f97db1e77c"),
    ("target_dict_file", _URL_OF + "targetDict.txt", "d8c7f03ceb5fc2e5a0fa7503a4353751"),
    ("emb_file", _URL_OF + "emb", "bf436eb0faa1f6f9103017f8be57cdb7"),
)


class Conll05st(Dataset):
    r"""Words, and their parts in what a verb tells.

    Args:
        data_file (str, optional): the archive conll05st-tests.tar.gz.
        word_dict_file, verb_dict_file, target_dict_file (str, optional): a word, verb or tag a line.
        emb_file (str, optional): what `get_embedding` gives.
        download (bool): fetch what is not given.

    A sample is nine arrays of a sentence's length: words; the words two before, one before, at, one after and two after the
    verb (each repeated); the verb (repeated); 1 for these five places; and tags. There is a sample for each verb.

    Raises:
        ValueError: other files.
        RuntimeError: a file could not be fetched.

    Examples:
        >>> import gzip, io, os, tarfile, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> def written(name, content):
        ...     path = os.path.join(folder.name, name)
        ...     with open(path, "w") as file:
        ...         _ = file.write(content)
        ...     return path
        >>> path = os.path.join(folder.name, "tests.tar.gz")
        >>> with tarfile.open(path, "w:gz") as archive:
        ...     for part, content in (("words", b"cats\nsleep\n\n"), ("props", b"- (A0*)\nsleep (V*)\n\n")):
        ...         content = gzip.compress(content)
        ...         member = tarfile.TarInfo(f"conll05st-release/test.wsj/{part}/test.wsj.{part}.gz")
        ...         member.size = len(content)
        ...         archive.addfile(member, io.BytesIO(content))
        >>> words, verbs = written("words", "UNK\ncats\nsleep\nbos\neos\n"), written("verbs", "sleep\n")
        >>> tags, vectors = written("tags", "B-A0\nI-A0\nB-V\nI-V\nO\n"), written("vectors", "")
        >>> data = proa.text.Conll05st(path, words, verbs, tags, vectors)
        >>> data[0][0].tolist(), data[0][-1].tolist()
        ([1, 2], [0, 2])
        >>> folder.cleanup()
    """

    def __init__(self, data_file=None, word_dict_file=None, verb_dict_file=None, target_dict_file=None, emb_file=None,
                 download=True):  # fmt: skip
        given = (data_file, word_dict_file, verb_dict_file, target_dict_file, emb_file)
        paths = [
            _file("Conll05st", path, download, url, md5, "conll05st", name)
            for (name, url, md5), path in zip(_FILES, given)
        ]
        self.data_file, self.word_dict_file, self.verb_dict_file, self.target_dict_file, self.emb_file = paths
        self.word_dict, self.predicate_dict = self._numbers(self.word_dict_file), self._numbers(self.verb_dict_file)
        self.label_dict = self._tags(self.target_dict_file)
        self.sentences, self.predicates, self.labels = [], [], []
        words, props = (self._lines(part) for part in ("words", "props"))
        if len(words) != len(props):
            raise _C.located(ValueError(f"Conll05st: {len(words)} lines of words, and {len(props)} of their parts"))
        sentence, rows = [], []
        for word, row in zip([*words, ""], [*(line.split() for line in props), []]):
            if row:
                sentence.append(word)
                rows.append(row)
            elif rows:
                self._add(sentence, rows)
                sentence, rows = [], []

    def _numbers(self, path):
        with open(path, encoding="utf-8") as file:
            return {line.strip(): number for number, line in enumerate(file)}

    def _tags(self, path):
        with open(path, encoding="utf-8") as file:
            tags = dict.fromkeys(line.strip()[2:] for line in file if line.startswith(("B-", "I-")))
        names = [f"{place}-{tag}" for tag in tags for place in "BI"]
        return {name: number for number, name in enumerate([*names, "O"])}

    def _lines(self, part):
        name = f"conll05st-release/test.wsj/{part}/test.wsj.{part}.gz"
        with open_tar("Conll05st", self.data_file) as archive:
            try:
                packed = contents(archive, name, self.data_file)
            except KeyError:
                raise _C.located(ValueError(f"Conll05st: {self.data_file} has no {name}")) from None
            with gzip.GzipFile(fileobj=packed) as file:
                most = most_unpacked(len(packed.getbuffer()))
                return [line.strip().decode() for line in file.read(most).splitlines()]

    def _add(self, sentence, rows):
        """A sample for each verb of a sentence: the first column names verbs, the others are of one verb each."""
        verbs = [row[0] for row in rows if row[0] != "-"]
        for verb, column in zip(verbs, list(zip(*rows))[1:]):
            labels, tag = [], None
            for text in column:
                if "(" in text:
                    tag = text[1 : text.index("*")]
                    labels.append(f"B-{tag}")
                elif text in ("*", "*)"):
                    labels.append("O" if tag is None else f"I-{tag}")
                else:
                    raise _C.located(ValueError(f"Conll05st: {text!r} is no part of a sentence"))
                tag = None if ")" in text else tag
            self.sentences.append(sentence)
            self.predicates.append(verb)
            self.labels.append(labels)

    def __getitem__(self, idx):
        sentence, labels = self.sentences[idx], self.labels[idx]
        at, count = labels.index("B-V"), len(sentence)
        near = range(at - 2, at + 3)
        context = ["bos" if i < 0 else "eos" if i >= count else sentence[i] for i in near]
        columns = [[self.word_dict.get(word, 0) for word in sentence]]
        columns += [[self.word_dict.get(word, 0)] * count for word in context]
        columns.append([self.predicate_dict.get(self.predicates[idx])] * count)
        columns.append([int(i in near) for i in range(count)])
        columns.append([self.label_dict.get(label) for label in labels])
        return tuple(np.array(column) for column in columns)

    def __len__(self):
        return len(self.sentences)

    def get_dict(self):
        """The numbers of words, verbs and tags."""
        return self.word_dict, self.predicate_dict, self.label_dict

    def get_embedding(self):
        """The path of the file of embeddings."""
        return self.emb_file
