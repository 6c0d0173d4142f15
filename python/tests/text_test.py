"""Decoding of tags against trying all paths and the reference's numbers; data sets from files that the test writes."""

import io
import itertools
import tarfile

import numpy as np
import pytest

import proa
from proa import text


def _best(scores, steps, length, include):
    tags = scores.shape[1]
    found = []
    for path in itertools.product(range(tags), repeat=length):
        total = sum(scores[t, tag] for t, tag in enumerate(path)) + sum(steps[a, b] for a, b in zip(path, path[1:]))
        if include:
            total += steps[tags - 1, path[0]] + steps[tags - 2, path[-1]]
        found.append((total, path))
    return max(found)


@pytest.mark.parametrize("include", [True, False])
def test_viterbi_against_all_paths(include):
    rng = np.random.RandomState(0)
    scores, steps = rng.randn(3, 5, 4).astype("float32"), rng.randn(4, 4).astype("float32")
    lengths = [5, 1, 3]
    decoder = text.ViterbiDecoder(proa.to_tensor(steps), include)
    got, paths = decoder(proa.to_tensor(scores), proa.to_tensor(lengths))
    for i, length in enumerate(lengths):
        total, path = _best(scores[i], steps, length, include)
        assert got[i].item() == pytest.approx(total, rel=1e-5)
        assert paths[i].tolist() == [*path, *[0] * (5 - length)]
    if include:  # printed by the reference 3.3
        np.testing.assert_allclose(got.numpy(), [7.26097, 1.9958684, 1.594611], rtol=1e-6)


def test_viterbi_of_bad_shapes():
    with pytest.raises(ValueError, match="must be"):
        text.viterbi_decode(proa.ones([2, 3]), proa.ones([3, 3]), proa.to_tensor([1, 2]))
    empty, paths = text.viterbi_decode(proa.zeros([0, 3, 2]), proa.zeros([2, 2]), proa.zeros([0], "int64"))
    assert empty.shape == [0] and paths.shape == [0, 0]


def test_imdb(tmp_path):
    reviews = {
        "aclImdb/train/pos/0.txt": b"Good, good film!\n", "aclImdb/train/neg/0.txt": b"bad film",
        "aclImdb/test/pos/0.txt": b"good", "aclImdb/README": b"x",
    }  # fmt: skip
    with tarfile.open(tmp_path / "imdb.tar.gz", "w:gz") as archive:
        for name, data in reviews.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    train = text.Imdb(str(tmp_path / "imdb.tar.gz"), cutoff=1)
    assert train.word_idx == {b"good": 0, b"film": 1, "<unk>": 2}
    assert [(words.tolist(), label.tolist()) for words, label in train] == [([0, 0, 1], [0]), ([2, 1], [1])]
    words = proa.dataset.imdb.build_dict(r"aclImdb/train/.*", 0, str(tmp_path / "imdb.tar.gz"))
    assert words == {b"film": 0, b"good": 1, b"bad": 2, "<unk>": 3}
    assert list(proa.dataset.imdb._reader("test", words, str(tmp_path / "imdb.tar.gz"))()) == [([1], 0)]
    assert len(text.Imdb(str(tmp_path / "imdb.tar.gz"), "test", 0)) == 1
    with pytest.raises(ValueError, match="mode must be"):
        text.Imdb(str(tmp_path / "imdb.tar.gz"), "valid")


def test_prices_of_houses(tmp_path):
    np.savetxt(tmp_path / "housing", np.random.RandomState(0).rand(10, 14))
    features, price = text.UCIHousing(str(tmp_path / "housing"), "test")[0]
    assert features.shape == (13,) and price.shape == (1,) and features.dtype == np.float32
    with pytest.raises(ValueError, match="give data_file"):
        text.UCIHousing(download=False)


@pytest.mark.parametrize("tags_at_ends", [True, False])
@pytest.mark.parametrize("open_batch", [True, False])
def test_paths_of_a_program(tags_at_ends, open_batch):
    """How long the longest path is, only the run knows."""
    rng = np.random.RandomState(0)
    decode = proa.text.ViterbiDecoder(proa.to_tensor(rng.randn(5, 5).astype("float32")), tags_at_ends)
    spec = proa.static.InputSpec
    specs = [spec([None, 6, 5]), spec([None], "int64")] if open_batch else None
    converted = proa.jit.to_static(lambda x, n: decode(x, n), input_spec=specs)
    for count in (3, 4):
        x, n = proa.to_tensor(rng.randn(count, 6, 5).astype("float32")), proa.to_tensor(rng.randint(1, 6, count))
        for got, want in zip(converted(x, n), decode(x, n), strict=True):
            np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_paths_of_open_places():
    program = proa.static.Program()
    with proa.static.program_guard(program), pytest.raises(ValueError, match="the number of places must be known"):
        x, n = proa.static.data("x", [None, None, 5]), proa.static.data("n", [None], "int64")
        proa.text.viterbi_decode(x, proa.zeros([5, 5]), n)
