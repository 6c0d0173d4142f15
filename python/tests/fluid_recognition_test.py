"""Lines of text in 1.x programs: windows as steps, CTC, edit distance, chunks of tags; against loops of Python."""

import numpy as np
import pytest

import proa
from proa import fluid
from proa.fluid import layers
from proa.nn import functional as F

_RNG = np.random.RandomState(3)


def _run(build, **feed):
    main = fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, fluid.Program()):
        return fluid.Executor().run(main, feed=feed, fetch_list=build(), return_numpy=False)


def _sequences(rows, lengths):
    return fluid.create_lod_tensor(rows, [lengths])


def test_im2sequence():
    x = _RNG.randn(2, 3, 5, 7).astype("float32")
    build = lambda: [layers.im2sequence(fluid.data("x", [None, 3, 5, None]), [2, 3], [1, 2], [1, 0, 0, 1])]
    (found,) = _run(build, x=x)
    padded = np.pad(x, [(0, 0), (0, 0), (1, 0), (0, 1)])
    rows = [padded[n, :, i : i + 2, j : j + 3].ravel() for n in range(2) for i in range(5) for j in range(0, 6, 2)]
    np.testing.assert_array_equal(np.asarray(found), rows)
    assert found.recursive_sequence_lengths() == [[15, 15]]


def test_warpctc_of_sequences():
    """A recognizer as OCR has it: the loss of sequences is that of padded ones, and it trains."""
    lengths, label_lengths = [4, 6], [2, 3]
    scores = _RNG.randn(10, 5).astype("float32")
    labels = np.int32([[1], [2], [3], [3], [4]])

    def build():
        x, y = (
            fluid.layers.data("x", [5], lod_level=1, stop_gradient=False),
            fluid.data("y", [None, 1], "int32", lod_level=1),
        )
        loss = layers.warpctc(x, y, blank=0)
        return [loss, *proa.static.gradients([layers.reduce_sum(loss)], [x])]

    loss, slope = _run(build, x=_sequences(scores, lengths), y=_sequences(labels, label_lengths))
    padded = np.zeros([6, 2, 5], "float32")
    padded[:4, 0], padded[:, 1] = scores[:4], scores[4:]
    given = proa.to_tensor(padded, stop_gradient=False)
    wanted = F.ctc_loss(given, proa.to_tensor(np.int32([[1, 2, 0], [3, 3, 4]])), proa.to_tensor(lengths), proa.to_tensor(label_lengths),
                        0, "none")  # fmt: skip
    wanted.sum().backward()
    np.testing.assert_allclose(np.asarray(loss).ravel(), wanted.numpy().ravel(), rtol=1e-5)
    grad = given.grad.numpy()
    np.testing.assert_allclose(np.asarray(slope), np.concatenate([grad[:4, 0], grad[:, 1]]), rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match="give both of input_length and label_length"):
        layers.warpctc(given, given, input_length=given)


def _collapsed(classes, blank):
    kept = [c for i, c in enumerate(classes) if i == 0 or c != classes[i - 1]]
    return [c for c in kept if c != blank]


@pytest.mark.parametrize("blank", [0, 2])
def test_ctc_greedy_decoder(blank):
    classes = [[1, 1, 2, 2, 1, 0], [2, 2], [0, 0, 1, 0], [1]]
    rows = np.eye(3, dtype="float32")[np.concatenate(classes)]
    lengths = [len(c) for c in classes]
    build = lambda: [layers.ctc_greedy_decoder(fluid.data("x", [None, 3], lod_level=1), blank)]
    (found,) = _run(build, x=_sequences(rows, lengths))
    wanted = [_collapsed(c, blank) for c in classes]
    assert np.asarray(found).ravel().tolist() == sum(wanted, [])
    assert found.recursive_sequence_lengths() == [[len(w) for w in wanted]]
    padded = np.zeros([4, 6, 3], "float32")
    for i, c in enumerate(classes):
        padded[i, : len(c)] = np.eye(3)[c]
    out, counts = layers.ctc_greedy_decoder(proa.to_tensor(padded), blank, proa.to_tensor(lengths), padding_value=-1)
    assert counts.numpy().ravel().tolist() == [len(w) for w in wanted]
    assert out.tolist() == [w + [-1] * (6 - len(w)) for w in wanted]


def _distance(a, b):
    table = np.zeros([len(a) + 1, len(b) + 1])
    table[:, 0], table[0] = range(len(a) + 1), range(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            change = table[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, change)
    return table[-1, -1]


@pytest.mark.parametrize(("normalized", "ignored"), [(False, None), (True, None), (False, [1, 3])])
def test_edit_distance(normalized, ignored):
    texts = [_RNG.randint(0, 4, n).tolist() for n in (5, 1, 0, 7, 3)]
    others = [_RNG.randint(0, 4, n).tolist() for n in (4, 3, 2, 7, 1)]
    rows = [np.int64(sum(t, [])).reshape(-1, 1) for t in (texts, others)]
    lengths = [[len(t) for t in ts] for ts in (texts, others)]

    def build():
        x, y = (fluid.data(name, [None, 1], "int64", lod_level=1) for name in ("x", "y"))
        return layers.edit_distance(x, y, normalized, ignored)

    distance, count = _run(build, x=_sequences(rows[0], lengths[0]), y=_sequences(rows[1], lengths[1]))
    left = lambda text: [c for c in text if c not in (ignored or ())]
    wanted = [
        _distance(left(a), left(b)) / (len(left(b)) if normalized else 1) for a, b in zip(texts, others, strict=True)
    ]
    np.testing.assert_allclose(np.asarray(distance), np.float32(wanted)[:, None], rtol=1e-6)
    assert np.asarray(count).tolist() == [5]
    padded = [np.zeros([5, 7], "int64") for _ in range(2)]
    for array, ts in zip(padded, (texts, others), strict=True):
        for row, text in zip(array, ts, strict=True):
            row[: len(text)] = text
    given = [proa.to_tensor(v) for v in (*padded, *map(np.int64, lengths))]
    again, _ = layers.edit_distance(given[0], given[1], normalized, ignored, given[2], given[3])
    np.testing.assert_allclose(again.numpy(), np.asarray(distance))


def _chunks(tags, scheme, types):
    """{(first, last, type)} by a loop that knows when a chunk is open."""
    count = {"plain": 1, "IOBES": 4}.get(scheme, 2)
    names = {"IOB": "BI", "IOE": "IE", "IOBES": "BIES", "plain": "P"}[scheme]
    found, begin = set(), None
    parts = [(None, None) if t == types * count else (names[t % count], t // count) for t in tags]
    for i, (name, kind) in enumerate(parts):
        before, kind_before = parts[i - 1] if i else (None, None)
        opens = name is not None and (before is None or kind != kind_before or name in "BS" or before in "ES")
        closes = begin is not None and (name is None or opens)
        if closes:
            found.add((begin, i - 1, kind_before))
            begin = None
        if opens:
            begin = i
    if begin is not None:
        found.add((begin, len(tags) - 1, parts[-1][1]))
    return found


@pytest.mark.parametrize("scheme", ["IOB", "IOE", "IOBES", "plain"])
@pytest.mark.parametrize("excluded", [None, [1]])
def test_chunk_eval(scheme, excluded):
    types, count = 3, {"plain": 1, "IOBES": 4}.get(scheme, 2)
    lengths = [6, 1, 9, 4]
    label = [_RNG.randint(0, types * count + 1, n) for n in lengths]
    guess = [np.where(_RNG.rand(len(a)) < 0.3, _RNG.randint(0, types * count + 1, len(a)), a) for a in label]
    rows = [np.concatenate(x).reshape(-1, 1).astype("int64") for x in (guess, label)]

    def build():
        x, y = (fluid.data(name, [None, 1], "int64", lod_level=1) for name in ("x", "y"))
        return layers.chunk_eval(x, y, scheme, types, excluded)

    found = _run(build, x=_sequences(rows[0], lengths), y=_sequences(rows[1], lengths))
    sets = [
        {
            (i, *chunk)
            for i, tags in enumerate(ts)
            for chunk in _chunks(tags, scheme, types)
            if chunk[2] not in (excluded or ())
        }
        for ts in (guess, label)
    ]
    wanted = len(sets[0]), len(sets[1]), len(sets[0] & sets[1])
    assert [np.asarray(v).item() for v in found[3:]] == list(wanted) and wanted[2] > 0
    precision, recall = wanted[2] / wanted[0], wanted[2] / wanted[1]
    ratios = [precision, recall, 2 * precision * recall / (precision + recall)]
    np.testing.assert_allclose([np.asarray(v).item() for v in found[:3]], ratios, rtol=1e-6)


def test_nothing_is_found():
    tags = proa.to_tensor([[2, 2]])
    found = layers.chunk_eval(tags, proa.to_tensor([[0, 2]]), "IOB", 1, None, proa.to_tensor([2]))
    assert [v.item() for v in found] == [0.0, 0.0, 0.0, 0, 1, 0]
    with pytest.raises(ValueError, match="chunk_scheme must be one of IOB, IOE, IOBES, plain, not 'BIO'"):
        layers.chunk_eval(tags, tags, "BIO", 1, None, proa.to_tensor([2]))
