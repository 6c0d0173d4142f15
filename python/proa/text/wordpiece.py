"""WordPiece: text as numbers of a vocabulary, as BERT and its kin take it."""

import errno
import os
import unicodedata

import numpy as np

from proa import _C
from proa.framework.attributes import a_list, known_int, wrong
from proa.incubate.strings import StringTensor
from proa.nn.layer.layers import Layer

__all__ = ["FasterTokenizer", "WordPieceTokenizer"]

# Code points of Chinese, Japanese and Korean characters that are words by themselves.
_IDEOGRAPHS = (
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F),
)  # fmt: skip


def _is_punctuation(character):
    """Of ASCII all that is neither a letter, a digit nor a blank; of others, the categories P*."""
    code = ord(character)
    if 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126:
        return True
    return unicodedata.category(character).startswith("P")


def _cleaned(text):
    """Without control characters, with all blanks as spaces, and with spaces around ideographs."""
    out = []
    for character in text:
        code = ord(character)
        if code in (0, 0xFFFD):
            continue
        if character in "\t\n\r" or unicodedata.category(character) == "Zs":
            out.append(" ")
        elif unicodedata.category(character).startswith("C"):
            continue
        elif code >= 0x3400 and any(low <= code <= high for low, high in _IDEOGRAPHS):
            out.append(f" {character} ")
        else:
            out.append(character)
    return "".join(out)


class WordPieceTokenizer:
    """Splits text into words and these into the longest pieces that a vocabulary has.

    Args:
        vocab (str|dict|list[str]): a file with a token a line, {token: number}, or the tokens in their order.
        do_lower_case (bool): small letters, without accents.
        unk_token, sep_token, pad_token, cls_token, mask_token (str): of the vocabulary; those in a text stay whole.
        max_characters (int): words of more are unknown.

    Raises:
        ValueError: the vocabulary lacks unk_token, or has a token twice.
        OSError: the file cannot be read.

    Examples:
        >>> tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "##able", "dog", "!"]
        >>> tokenizer = proa.text.WordPieceTokenizer(tokens)
        >>> tokenizer.tokenize("Unaffable dogs!")
        ['un', '##aff', '##able', '[UNK]', '!']
        >>> tokenizer("dog!", "unaffable")["input_ids"]
        [2, 8, 9, 3, 5, 6, 7, 3]
    """

    def __init__(self, vocab, do_lower_case=True, unk_token="[UNK]", sep_token="[SEP]", pad_token="[PAD]",
                 cls_token="[CLS]", mask_token="[MASK]", max_characters=100):  # fmt: skip
        if isinstance(vocab, str):
            if not os.path.exists(vocab):
                raise _C.located(_C.NotFoundError(errno.ENOENT, "there is no such file", vocab))
            with open(vocab, encoding="utf-8") as file:
                vocab = [line.rstrip("\r\n") for line in file]
        if not isinstance(vocab, dict):
            tokens = a_list("WordPieceTokenizer", "vocab", vocab, "a list of str, a dict or a path")
            for i, token in enumerate(tokens):
                if not isinstance(token, str):
                    raise wrong("WordPieceTokenizer", f"element {i} of vocab", "a str", token)
            vocab = {token: i for i, token in enumerate(tokens)}
            if len(vocab) != len(tokens):
                twice = next(token for i, token in enumerate(tokens) if vocab[token] != i)
                raise _C.located(ValueError(f"WordPieceTokenizer: the vocabulary has {twice!r} twice"))
        special = {"unk_token": unk_token, "sep_token": sep_token, "pad_token": pad_token, "cls_token": cls_token,
                   "mask_token": mask_token}  # fmt: skip
        for name, token in special.items():
            if not isinstance(token, str):
                raise wrong("WordPieceTokenizer", name, "a str", token)
        if unk_token not in vocab:
            raise _C.located(ValueError(f"WordPieceTokenizer: the vocabulary has no {unk_token!r}"))
        self.vocab = dict(vocab)
        self.tokens = {number: token for token, number in self.vocab.items()}
        self.do_lower_case, self.max_characters = (
            do_lower_case,
            known_int("WordPieceTokenizer", "max_characters", max_characters),
        )
        self.unk_token, self.sep_token, self.pad_token = unk_token, sep_token, pad_token
        self.cls_token, self.mask_token = cls_token, mask_token
        self._special = [token for token in special.values() if token in self.vocab]
        self._longest = max((len(token.removeprefix("##")) for token in self.vocab), default=0)

    def __len__(self):
        return len(self.vocab)

    # Text to tokens

    def tokenize(self, text):
        """The tokens of a text: list[str]."""
        if not isinstance(text, str):
            raise _C.located(TypeError(f"WordPieceTokenizer: text must be a str, not {type(text).__name__}"))
        found = []
        for part, is_special in self._parts(text):
            if is_special:
                found.append(part)
            else:
                for word in self._words(part):
                    found.extend(self._pieces(word))
        return found

    def _parts(self, text):
        """(part, whether it is a special token) of a text."""
        while text:
            places = [(text.find(token), token) for token in self._special if token in text]
            at, token = min(places, default=(len(text), ""))
            if at:
                yield text[:at], False
            if token:
                yield token, True
            text = text[at + len(token) :]

    def _words(self, text):
        text = _cleaned(text)
        if self.do_lower_case:
            text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn").lower()
        for chunk in text.split():
            word = ""
            for character in chunk:
                if _is_punctuation(character):
                    if word:
                        yield word
                    yield character
                    word = ""
                else:
                    word += character
            if word:
                yield word

    def _pieces(self, word):
        if len(word) > self.max_characters:
            return [self.unk_token]
        pieces, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                if prefix + word[start:end] in self.vocab:
                    break
            else:
                return [self.unk_token]
            pieces.append(prefix + word[start:end])
            start = end
        return pieces

    # Tokens to numbers and back

    def convert_tokens_to_ids(self, tokens):
        """The numbers of tokens; that of unk_token for those that are not there."""
        if isinstance(tokens, str):
            return self.vocab.get(tokens, self.vocab[self.unk_token])
        return [self.convert_tokens_to_ids(token) for token in tokens]

    def convert_ids_to_tokens(self, ids):
        """The tokens of numbers.

        Raises:
            ValueError: a number that no token has.
        """
        if isinstance(ids, (int, np.integer)):
            if int(ids) not in self.tokens:
                raise _C.located(ValueError(f"WordPieceTokenizer: no token has the number {ids}"))
            return self.tokens[int(ids)]
        return [self.convert_ids_to_tokens(number) for number in ids]

    def decode(self, ids, skip_special_tokens=True):
        """The text of numbers, its pieces put together and its words with a space between them."""
        tokens = self.convert_ids_to_tokens(ids)
        if skip_special_tokens:
            tokens = [token for token in tokens if token not in self._special]
        return " ".join(tokens).replace(" ##", "")

    def __call__(self, text, text_pair=None, max_seq_len=None, pad_to_max_seq_len=False):
        """One text, or a pair of them, as numbers: [CLS] text [SEP] text_pair [SEP].

        Args:
            text, text_pair (str): texts; or lists of them, for lists of results.
            max_seq_len (int, optional): the most numbers; the longer of both texts is cut, from its end.
            pad_to_max_seq_len (bool): fill up with pad_token.

        Returns:
            dict: "input_ids" and "token_type_ids" (0 for the first text, 1 for the second), lists of one length.

        Raises:
            ValueError: max_seq_len leaves no room, or lists of different lengths.
        """
        if isinstance(text, (list, tuple)):
            if text_pair is not None and len(text_pair) != len(text):
                raise _C.located(
                    ValueError(f"WordPieceTokenizer: {len(text)} texts and {len(text_pair)} to pair them with")
                )
            pairs = zip(text, [None] * len(text) if text_pair is None else text_pair)
            found = [self(one, other, max_seq_len, pad_to_max_seq_len) for one, other in pairs]
            return {key: [one[key] for one in found] for key in ("input_ids", "token_type_ids")}
        parts = [self.convert_tokens_to_ids(self.tokenize(t)) for t in (text, text_pair) if t is not None]
        if max_seq_len is not None:
            room = max_seq_len - len(parts) - 1
            if room < 0:
                raise _C.located(ValueError(f"WordPieceTokenizer: max_seq_len {max_seq_len} has no room for a token"))
            while sum(map(len, parts)) > room:
                max(reversed(parts), key=len).pop()
        cls, sep, pad = (self.vocab.get(t, 0) for t in (self.cls_token, self.sep_token, self.pad_token))
        ids, types = [cls], [0]
        for kind, part in enumerate(parts):
            ids += [*part, sep]
            types += [kind] * (len(part) + 1)
        if pad_to_max_seq_len and max_seq_len is not None:
            missing = max_seq_len - len(ids)
            ids, types = ids + [pad] * missing, types + [0] * missing
        return {"input_ids": ids, "token_type_ids": types}


class FasterTokenizer(Layer):
    """A layer from texts to what a network for language takes, to be its first one.

    Args:
        vocab (str|dict|list[str]|StringTensor): as of `WordPieceTokenizer`; texts may be a `StringTensor` too.
        do_lower_case (bool): as of `WordPieceTokenizer`.
        is_split_into_words (bool): texts are lists of words.

    Examples:
        >>> layer = proa.text.FasterTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b"])
        >>> ids, types = layer(["a b", "a"])
        >>> ids.tolist(), types.tolist()
        ([[2, 4, 5, 3], [2, 4, 3, 0]], [[0, 0, 0, 0], [0, 0, 0, 0]])
    """

    def __init__(self, vocab, do_lower_case=True, is_split_into_words=False):
        super().__init__()
        vocab = vocab.tolist() if isinstance(vocab, StringTensor) else vocab
        self._tokenizer = WordPieceTokenizer(vocab, do_lower_case)
        self._is_split = is_split_into_words

    def forward(self, text, text_pair=None, max_seq_len=0, pad_to_max_seq_len=False):
        """(input_ids, token_type_ids), int64 [texts, the longest, or max_seq_len]; 0 for max_seq_len is no limit."""
        given = (t.tolist() if isinstance(t, StringTensor) else t for t in (text, text_pair))
        texts, others = ([t] if isinstance(t, str) else t for t in given)
        if self._is_split:
            texts, others = ([" ".join(words) for words in t] if t is not None else None for t in (texts, others))
        limit = max_seq_len or None
        found = self._tokenizer(list(texts), others, limit, pad_to_max_seq_len)
        longest = max(map(len, found["input_ids"]), default=0)
        pad = self._tokenizer.vocab.get(self._tokenizer.pad_token, 0)
        results = []
        for key, fill in (("input_ids", pad), ("token_type_ids", 0)):
            rows = np.full([len(found[key]), longest], fill, np.int64)
            for row, values in zip(rows, found[key]):
                row[: len(values)] = values
            results.append(_C.to_tensor(rows))
        return tuple(results)
