"""WordPiece against what the package `tokenizers` gives (wordpiece.json), pairs, lengths, and the layer."""

import json
import pathlib

import pytest

import proa
from proa.text import FasterTokenizer, WordPieceTokenizer

_FOUND = json.loads((pathlib.Path(__file__).parent / "wordpiece.json").read_text())


@pytest.mark.parametrize("lower", [True, False])
def test_texts_of_many_kinds(lower):
    tokenizer = WordPieceTokenizer(_FOUND["vocab"], lower)
    cases = [(text, ids) for small, text, ids in _FOUND["cases"] if small == lower]
    assert len(cases) > 150
    for text, ids in cases:
        assert tokenizer(text)["input_ids"] == ids, text


_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "##a", "##b"]


def test_pairs_and_lengths():
    tokenizer = WordPieceTokenizer(_TOKENS)
    assert len(tokenizer) == 10
    assert tokenizer("ab c", "a") == {"input_ids": [2, 5, 9, 7, 3, 5, 3], "token_type_ids": [0, 0, 0, 0, 0, 1, 1]}
    # The longer loses its last; of equal ones, the second.
    assert tokenizer("a b c", "c b a", max_seq_len=7)["input_ids"] == [2, 5, 6, 3, 7, 6, 3]
    assert tokenizer("a b c", "c b a", max_seq_len=6)["input_ids"] == [2, 5, 6, 3, 7, 3]
    assert tokenizer("a b c", max_seq_len=2)["input_ids"] == [2, 3]
    padded = tokenizer(["a", "b c"], ["c", ""], max_seq_len=6, pad_to_max_seq_len=True)
    assert padded == {
        "input_ids": [[2, 5, 3, 7, 3, 0], [2, 6, 7, 3, 3, 0]],
        "token_type_ids": [[0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 1, 0]],
    }
    assert tokenizer([])["input_ids"] == []


def test_back_to_text():
    tokenizer = WordPieceTokenizer(_TOKENS)
    ids = tokenizer("abba c")["input_ids"]
    assert tokenizer.decode(ids) == "abba c" and tokenizer.decode(ids, False) == "[CLS] abba c [SEP]"
    assert tokenizer.convert_ids_to_tokens([5, 8]) == ["a", "##a"]
    assert tokenizer.convert_tokens_to_ids(["a", "z"]) == [5, 1]


def test_vocabularies(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(_TOKENS) + "\n", encoding="utf-8")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    for vocab in (str(path), {token: i for i, token in enumerate(_TOKENS)}):
        assert WordPieceTokenizer(vocab)("abc")["input_ids"] == [2, 1, 3]
    with pytest.raises(ValueError, match="'a' twice"):
        WordPieceTokenizer(["[UNK]", "a", "a"])
    with pytest.raises(ValueError, match=r"no '\[UNK\]'"):
        WordPieceTokenizer(["a"])
    with pytest.raises(FileNotFoundError):
        WordPieceTokenizer(str(tmp_path / "none"))


def test_what_is_refused():
    tokenizer = WordPieceTokenizer(_TOKENS)
    with pytest.raises(TypeError, match="must be a str, not bytes"):
        tokenizer.tokenize(b"a")
    with pytest.raises(ValueError, match="no room"):
        tokenizer("a", "b", max_seq_len=2)
    with pytest.raises(ValueError, match="2 texts and 1"):
        tokenizer(["a", "b"], ["c"])
    with pytest.raises(ValueError, match="no token has the number 10"):
        tokenizer.decode([10])


def test_the_layer():
    layer = FasterTokenizer(_TOKENS)
    ids, types = layer(["ab", "c"], ["c", "a b"])
    assert ids.dtype == types.dtype == proa.int64
    assert ids.tolist() == [[2, 5, 9, 3, 7, 3], [2, 7, 3, 5, 6, 3]]
    assert types.tolist() == [[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1]]
    assert layer("a", max_seq_len=5, pad_to_max_seq_len=True)[0].tolist() == [[2, 5, 3, 0, 0]]
    assert layer([])[0].shape == [0, 0]
    words = FasterTokenizer(_TOKENS, is_split_into_words=True)
    assert words([["a", "b"]])[0].tolist() == layer(["a b"])[0].tolist()
    embedded = proa.nn.Embedding(10, 4)(ids)
    assert embedded.shape == [2, 6, 4]


def test_tensors_of_strings_are_texts_and_vocabularies():
    strings = proa.incubate.strings.StringTensor
    layer = FasterTokenizer(strings(_TOKENS))
    texts = ["a", "b aab c"]
    for found, want in zip(layer(strings(texts), strings(texts)), FasterTokenizer(_TOKENS)(texts, texts)):
        assert found.tolist() == want.tolist()
    assert layer(strings("x"))[0].shape[0] == 1
