"""Texts as the networks of Hugging Face's folders take them."""

import importlib
import json
import os

import numpy as np

from proa import _C

__all__ = ["tokenizer_of"]


def tokenizer_of(folder):
    """The tokenizer of a folder: a function of texts.

    With a tokenizer.json it is the `tokenizers` package's, if that is installed; otherwise, of a vocab.txt, our own WordPiece
    (`text.WordPieceTokenizer`), with the same numbers.

    Args:
        folder (str): holds tokenizer.json, or vocab.txt and perhaps tokenizer_config.json.

    Returns:
        Callable: of a text or a list of them, `pairs` (the same number of texts that follow them) and `max_length`; gives a dict
        of int64 tensors [texts, longest]: input_ids, token_type_ids (1 for the second of a pair) and attention_mask (0 where a
        text is filled up).

    Raises:
        FileNotFoundError: the folder has neither.
        ModuleNotFoundError: it needs the tokenizers package.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> with open(os.path.join(folder.name, "vocab.txt"), "w") as file:
        ...     _ = file.write("[PAD]\\n[UNK]\\n[CLS]\\n[SEP]\\n[MASK]\\na\\ndog\\n##s")
        >>> given = proa.hugging_face.tokenizer_of(folder.name)(["A dog", "Dogs"])
        >>> given["input_ids"].tolist(), given["attention_mask"].tolist()
        ([[2, 5, 6, 3], [2, 6, 7, 3]], [[1, 1, 1, 1], [1, 1, 1, 1]])
        >>> folder.cleanup()
    """
    folder = os.path.expanduser(os.fspath(folder))
    whole, words = (os.path.join(folder, name) for name in ("tokenizer.json", "vocab.txt"))
    if os.path.exists(whole):
        try:
            tokenizers = importlib.import_module("tokenizers")
        except ModuleNotFoundError:
            if not os.path.exists(words):
                raise _C.located(
                    ModuleNotFoundError(f"tokenizer_of: {whole} needs the package tokenizers; pip install tokenizers")
                ) from None
        else:
            return _Tokenizer(_of_package(tokenizers, whole, _settings(folder)))
    if not os.path.exists(words):
        raise _C.located(FileNotFoundError(f"tokenizer_of: {folder} has neither tokenizer.json nor vocab.txt"))
    return _Tokenizer(_of_words(words, _settings(folder)))


def _settings(folder):
    path = os.path.join(folder, "tokenizer_config.json")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        try:
            found = json.load(file)
        except ValueError as error:
            raise _C.located(ValueError(f"{path}: {error}")) from None
    return found if isinstance(found, dict) else {}


def _of_package(tokenizers, path, settings):
    """(a function of (text, pair or None, most numbers) that gives (numbers, kinds), the number to fill up with)."""
    tokenizer = tokenizers.Tokenizer.from_file(path)
    tokenizer.no_padding()

    def encode(text, pair, most):
        if most is None:
            tokenizer.no_truncation()
        else:
            tokenizer.enable_truncation(most)
        found = tokenizer.encode(text, pair)
        return found.ids, found.type_ids

    pad = settings.get("pad_token")
    pad = pad.get("content") if isinstance(pad, dict) else pad
    return encode, (tokenizer.token_to_id(pad) if isinstance(pad, str) else None) or 0


def _of_words(path, settings):
    """As `_of_package`, of a file with a token a line."""
    from proa.text import WordPieceTokenizer

    tokenizer = WordPieceTokenizer(path, bool(settings.get("do_lower_case", True)))

    def encode(text, pair, most):
        found = tokenizer(text, pair, most)
        return found["input_ids"], found["token_type_ids"]

    return encode, tokenizer.vocab.get(tokenizer.pad_token, 0)


class _Tokenizer:
    """What `tokenizer_of` gives."""

    def __init__(self, way):
        self._encode, self._pad = way

    def __call__(self, texts, pairs=None, max_length=None):
        texts, pairs = ([t] if isinstance(t, str) else t for t in (texts, pairs))
        pairs = [None] * len(texts) if pairs is None else pairs
        if len(pairs) != len(texts):
            raise _C.located(ValueError(f"tokenizer: {len(texts)} texts and {len(pairs)} to pair them with"))
        rows = [self._encode(text, pair, max_length) for text, pair in zip(texts, pairs)]
        shape = [len(rows), max((len(ids) for ids, _ in rows), default=0)]
        ids, kinds, mask = np.full(shape, self._pad, "int64"), np.zeros(shape, "int64"), np.zeros(shape, "int64")
        for i, (numbers, types) in enumerate(rows):
            ids[i, : len(numbers)], kinds[i, : len(numbers)], mask[i, : len(numbers)] = numbers, types, 1
        names = ("input_ids", "token_type_ids", "attention_mask")
        return {name: _C.to_tensor(array) for name, array in zip(names, (ids, kinds, mask))}
