"""Reviews of films: readers of (numbers of words, label: 0 positive, 1 negative)."""

import re

from proa.dataset import common
from proa.framework.names import missing as _missing
from proa.text.datasets import Imdb as _Imdb

__all__ = ["build_dict", "test", "train", "word_dict"]

__getattr__ = _missing(__name__)

URL = _Imdb.URL
MD5 = _Imdb.MD5


def _reviews(path=None):
    from proa.text.datasets import read_reviews

    return read_reviews(path or common.download(URL, "imdb", MD5))


def build_dict(pattern, cutoff, path=None):
    """Numbers of the words in the members of the archive that match; the most frequent first, <unk> last.

    Args:
        pattern (str|Pattern): of names of members.
        cutoff (int): words that occur less often, or as often, are left out.
        path (str, optional): the archive; fetched unless given.
    """
    counts = {}
    for name, words in _reviews(path):
        if re.match(pattern, name):
            for word in words:
                counts[word] = counts.get(word, 0) + 1
    frequent = sorted(((n, w) for w, n in counts.items() if n > cutoff), key=lambda pair: (-pair[0], pair[1]))
    numbers = {word: i for i, (_, word) in enumerate(frequent)}
    numbers["<unk>"] = len(numbers)
    return numbers


def word_dict(cutoff=150):
    """`build_dict` of all reviews."""
    return build_dict(r"aclImdb/((train)|(test))/((pos)|(neg))/.*\.txt$", cutoff)


def _reader(mode, word_idx, path=None):
    def samples():
        unknown = word_idx["<unk>"]
        for label, part in enumerate(("pos", "neg")):
            for name, words in _reviews(path):
                if re.match(rf"aclImdb/{mode}/{part}/.*\.txt$", name):
                    yield [word_idx.get(word, unknown) for word in words], label

    return samples


def train(word_idx):
    """The 25,000 reviews of training."""
    return _reader("train", word_idx)


def test(word_idx):
    """The 25,000 reviews of the test."""
    return _reader("test", word_idx)
