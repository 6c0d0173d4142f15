"""Programs of PaddlePaddle 1.x whose variables are sequences (lod_level): their lengths are inputs and results beside the rows."""

import itertools

import numpy as np
import pytest

import proa
from proa import static
from proa.jit.reference import wire
from proa.static import nn
from python.tests import reference_program

_R = np.random.RandomState(3)
_N = np.array([2, 0, 3, 1], "int64")
_M = np.array([1, 2, 0, 2], "int64")
_X = _R.randn(6, 4).astype("float32")
_Y = _R.randn(5, 4).astype("float32")


def run(kind, inputs, outputs=("Out",), level=1, attributes=None, lengths=(_N,), levels=None, weights=(), **options):
    levels = {"X": 1, "Input": 1} if levels is None else levels
    return reference_program.run(kind, inputs, outputs, level, attributes, lengths, levels, weights, **options)


def sequences(rows, lengths):
    return np.split(rows, np.cumsum(lengths)[:-1])


@pytest.mark.parametrize("kind", ["average", "sum", "sqrt", "max", "first", "last"])
def test_pool(kind):
    for pad in (0.0, -2.5):
        attributes = {"pooltype": kind.upper(), "pad_value": pad}
        (found,), lengths = run("sequence_pool", {"X": _X}, level=0, attributes=attributes)
        np.testing.assert_allclose(
            found, nn.sequence_pool(proa.to_tensor(_X), kind, pad_value=pad, lengths=_N), rtol=1e-5
        )
        assert lengths is None


@pytest.mark.parametrize("name", ["sequence_softmax", "sequence_reverse"])
def test_same_rows(name):
    x = _X[:, :1].copy() if name == "sequence_softmax" else _X
    slot = "Y" if name == "sequence_reverse" else "Out"
    (found,), lengths = run(name, {"X": x}, [slot])
    wanted = getattr(nn, name)(proa.to_tensor(x), lengths=_N)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    np.testing.assert_array_equal(lengths, _N)


def test_expand():
    x = _R.randn(4, 3).astype("float32")
    (found,), lengths = run("sequence_expand", {"X": x, "Y": _X}, levels={"Y": 1})
    np.testing.assert_array_equal(found, np.repeat(x, _N, axis=0))
    np.testing.assert_array_equal(lengths, _N)
    (found,), lengths = run("sequence_expand", {"X": _Y, "Y": _X}, levels={"X": 1, "Y": 1}, lengths=(_M, _N))
    parts = [part for part, n in zip(sequences(_Y, _M), _N, strict=True) for _ in range(n)]
    np.testing.assert_array_equal(found, np.concatenate(parts))
    np.testing.assert_array_equal(lengths, np.repeat(_M, _N))
    (found,), lengths = run("sequence_expand_as", {"X": x, "Y": _X}, levels={"Y": 1})
    np.testing.assert_array_equal(found, np.repeat(x, _N, axis=0))


@pytest.mark.parametrize("start", [-1, 0, -2])
def test_conv(start):
    weight = _R.randn(12, 5).astype("float32")
    attributes = {"contextStart": start, "contextLength": 3, "contextStride": 1}
    (found,), lengths = run("sequence_conv", {"X": _X, "Filter": weight}, attributes=attributes, weights=("Filter",))
    wanted = []
    for part in sequences(_X, _N):
        row = lambda i, part=part: part[i] if 0 <= i < len(part) else np.zeros(4, "float32")
        wanted += [np.concatenate([row(i + start + k) for k in range(3)]) @ weight for i in range(len(part))]
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(lengths, _N)


def test_concat():
    (found,), lengths = run("sequence_concat", {"X": [_X, _Y]}, lengths=(_N, _M))
    parts = [p for pair in zip(sequences(_X, _N), sequences(_Y, _M), strict=True) for p in pair]
    np.testing.assert_array_equal(found, np.concatenate(parts))
    np.testing.assert_array_equal(lengths, _N + _M)


def test_reshape():
    (found,), lengths = run("sequence_reshape", {"X": _X}, attributes={"new_dim": 2})
    np.testing.assert_array_equal(found, _X.reshape(-1, 2))
    np.testing.assert_array_equal(lengths, _N * 2)


@pytest.mark.parametrize("length", [-1, 5])
def test_pad_and_unpad(length):
    for value in (np.float32([2.5]), _R.randn(4).astype("float32")):
        inputs = {"X": _X, "PadValue": value}
        (found, lengths), _ = run(
            "sequence_pad", inputs, ["Out", "Length"], 0, {"padded_length": length}, weights=("PadValue",)
        )
        wanted = np.tile(np.broadcast_to(value, [4]), [4, 3 if length == -1 else length, 1]).astype("float32")
        for i, part in enumerate(sequences(_X, _N)):
            wanted[i, : len(part)] = part
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(lengths, _N)
    (found,), lengths = run("sequence_unpad", {"X": wanted, "Length": _N}, levels={}, lengths=())
    np.testing.assert_array_equal(found, _X)
    np.testing.assert_array_equal(lengths, _N)


def test_slice_enumerate_erase():
    inputs = {"X": _X, "Offset": np.int64([[0], [0], [1], [0]]), "Length": np.int64([[1], [0], [2], [1]])}
    (found,), lengths = run("sequence_slice", inputs)
    np.testing.assert_array_equal(found, _X[[0, 3, 4, 5]])
    np.testing.assert_array_equal(lengths, [1, 0, 2, 1])
    words = np.int64([[3], [5], [3], [7], [5], [1]])
    (found,), lengths = run(
        "sequence_enumerate", {"X": words}, attributes={"win_size": 2, "pad_value": 9}, dtype="int64"
    )
    np.testing.assert_array_equal(found, [[3, 5], [5, 9], [3, 7], [7, 5], [5, 9], [1, 9]])
    (found,), lengths = run("sequence_erase", {"X": words}, attributes={"tokens": [5, 1]}, dtype="int64")
    np.testing.assert_array_equal(found.reshape(-1), [3, 3, 7])
    np.testing.assert_array_equal(lengths, [1, 0, 2, 0])


def test_lengths_are_set_anew():
    (found,), lengths = run("lod_reset", {"X": _X}, attributes={"target_lod": [0, 4, 6]}, lengths=())
    np.testing.assert_array_equal(found, _X)
    np.testing.assert_array_equal(lengths, [4, 2])
    (found,), lengths = run("lod_reset", {"X": _X[:5], "Y": _Y}, levels={"Y": 1}, lengths=(_M,))
    np.testing.assert_array_equal(lengths, _M)


def test_im2sequence_gives_sequences():
    x = _R.randn(2, 3, 4, 5).astype("float32")
    attributes = {"kernels": [2, 2], "strides": [2, 1], "paddings": [0, 0, 0, 0]}
    (found,), lengths = run("im2sequence", {"X": x}, attributes=attributes, lengths=())
    assert found.shape == (2 * 2 * 4, 12)
    np.testing.assert_array_equal(lengths, [8, 8])


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _lstm(x, h, c, weight, bias, peeps):
    out = []
    for row in x:
        a, i, f, o = np.split(row + h @ weight + bias[:16], 4)
        wi, wf, wo = np.split(bias[16:], 3) if peeps else np.zeros([3, 4])
        i, f = _sigmoid(i + c * wi), _sigmoid(f + c * wf)
        c = np.tanh(a) * i + c * f
        h = _sigmoid(o + c * wo) * np.tanh(c)
        out.append((h, c))
    return out


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("peeps", [False, True])
@pytest.mark.parametrize("begun", [False, True])
def test_lstm(reverse, peeps, begun):
    x, weight = _R.randn(6, 16).astype("float32"), _R.randn(4, 16).astype("float32") * 0.5
    bias = _R.randn(1, 28 if peeps else 16).astype("float32")
    start = {"H0": _R.randn(4, 4).astype("float32"), "C0": _R.randn(4, 4).astype("float32")} if begun else {}
    attributes = {"use_peepholes": peeps, "is_reverse": reverse}
    (h, c), lengths = run("lstm", {"Input": x, **start, "Weight": weight, "Bias": bias}, ["Hidden", "Cell"],
                          attributes=attributes, weights=("Weight", "Bias"))  # fmt: skip
    wanted = []
    for k, part in enumerate(sequences(x, _N)):
        h0, c0 = (start["H0"][k], start["C0"][k]) if begun else (np.zeros(4), np.zeros(4))
        one = _lstm(part[::-1] if reverse else part, h0, c0, weight, bias[0], peeps)
        wanted += one[::-1] if reverse else one
    np.testing.assert_allclose(h, [v[0] for v in wanted], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(c, [v[1] for v in wanted], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(lengths, _N)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("origin", [False, True])
def test_gru(reverse, origin):
    x, weight = _R.randn(6, 12).astype("float32"), _R.randn(4, 12).astype("float32") * 0.5
    bias = _R.randn(1, 12).astype("float32")
    attributes = {"is_reverse": reverse, "origin_mode": origin}
    (found,), lengths = run("gru", {"Input": x, "Weight": weight, "Bias": bias}, ["Hidden"], attributes=attributes,
                            weights=("Weight", "Bias"))  # fmt: skip
    gates, last = weight.reshape(-1)[:32].reshape(4, 8), weight.reshape(-1)[32:].reshape(4, 4)
    wanted = []
    for part in sequences(x, _N):
        h, out = np.zeros(4), []
        for row in (part[::-1] if reverse else part) + bias:
            u, r = np.split(_sigmoid(row[:8] + h @ gates), 2)
            c = np.tanh(row[8:] + (r * h) @ last)
            h = u * h + (1 - u) * c if origin else u * c + (1 - u) * h
            out.append(h)
        wanted += out[::-1] if reverse else out
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(lengths, _N)


def test_fused_ops_are_what_they_are_made_of():
    """What passes of the reference put together: each beside the ops that it stands for."""
    x, wide = _R.randn(6, 3).astype("float32"), _R.randn(3, 12).astype("float32")
    inner, bias = _R.randn(4, 12).astype("float32"), _R.randn(1, 12).astype("float32")
    weights = {"WeightX": wide, "WeightH": inner, "Bias": bias}
    (found,), lengths = run("fusion_gru", {"X": x, **weights}, ["Hidden"], weights=weights)
    (wanted,), _ = run(
        "gru", {"Input": x @ wide, "Weight": inner, "Bias": bias}, ["Hidden"], weights=("Weight", "Bias")
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(lengths, _N)
    inner, bias = _R.randn(3, 12).astype("float32"), _R.randn(1, 21).astype("float32")
    weights = {"WeightX": wide, "WeightH": inner, "Bias": bias}
    found, _ = run("fusion_lstm", {"X": x, **weights}, ["Hidden", "Cell"], weights=weights)
    wanted, _ = run(
        "lstm", {"Input": x @ wide, "Weight": inner, "Bias": bias}, ["Hidden", "Cell"], weights=("Weight", "Bias")
    )
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    (found,), _ = run(
        "fusion_seqpool_concat", {"X": [_X, _Y]}, lengths=(_N, _M), level=0, attributes={"pooltype": "SUM"}
    )
    sums = [nn.sequence_pool(proa.to_tensor(v), "sum", lengths=n).numpy() for v, n in ((_X, _N), (_Y, _M))]
    np.testing.assert_allclose(found, np.concatenate(sums, 1), rtol=1e-5, atol=1e-6)
    weight, shift = _R.randn(12, 5).astype("float32"), _R.randn(5).astype("float32")
    attributes = {"contextStart": -1, "contextLength": 3, "contextStride": 1}
    inputs = {"X": _X, "Filter": weight}
    (wanted,), _ = run("sequence_conv", inputs, attributes=attributes, weights=("Filter",))
    (found,), _ = run(
        "fusion_seqconv_eltadd_relu", {**inputs, "Bias": shift}, attributes=attributes, weights=("Filter", "Bias")
    )
    np.testing.assert_allclose(found, np.maximum(wanted + shift, 0), rtol=1e-4, atol=1e-5)


def test_labels_of_sequences():
    moves = _R.randn(6, 4).astype("float32")
    (found,), lengths = run("crf_decoding", {"Emission": _X, "Transition": moves}, ["ViterbiPath"], dtype="int64",
                            levels={"Emission": 1}, weights=("Transition",))  # fmt: skip
    wanted = []
    for part in sequences(_X, _N):
        paths = (
            np.stack(np.meshgrid(*[range(4)] * len(part), indexing="ij"), -1).reshape(-1, len(part))
            if len(part)
            else []
        )
        score = lambda p, part=part: (
            moves[0, p[0]]
            + moves[1, p[-1]]
            + part[range(len(p)), p].sum()
            + sum(moves[2 + a, b] for a, b in zip(p, p[1:]))
        )
        wanted += list(max(paths, key=score)) if len(part) else []
    np.testing.assert_array_equal(found.reshape(-1), wanted)
    np.testing.assert_array_equal(lengths, _N)


def test_rows_ahead_and_collapsed_labels():
    weight = _R.randn(2, 4).astype("float32")
    (found,), _ = run("row_conv", {"X": _X, "Filter": weight}, weights=("Filter",))
    wanted = []
    for part in sequences(_X, _N):
        longer = np.concatenate([part, np.zeros([1, 4], "float32")])
        wanted += [longer[i] * weight[0] + longer[i + 1] * weight[1] for i in range(len(part))]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    labels = np.int64([[2], [2], [0], [3], [3], [0]])
    (found,), lengths = run("ctc_align", {"Input": labels}, ["Output"], dtype="int64", attributes={"blank": 0})
    np.testing.assert_array_equal(found.reshape(-1), [2, 3])
    np.testing.assert_array_equal(lengths, [1, 0, 1, 0])


def test_rows_without_lengths_are_refused():
    with pytest.raises(ValueError, match="block 0, op 1 'sequence_pool': .*nothing is known of the sequences in X"):
        run("sequence_pool", {"X": _X}, levels={}, lengths=())


def _tagger(tmp_path):
    """Words of sentences, their vectors, a projection, a GRU, and a pool: the files of a model of 1.x."""
    table, weight = _R.randn(9, 4).astype("float32"), _R.randn(4, 12).astype("float32")
    recurrent = _R.randn(4, 12).astype("float32")
    tensor = lambda name, dims, level=0, dtype="float32", **more: {
        "name": name, "dtype": dtype, "dims": dims, "lod_level": level, **more
    }  # fmt: skip
    kept = {"table": table, "u_weight": weight, "v_recurrent": recurrent}
    variables = [tensor(n, list(a.shape), persistable=True) for n, a in kept.items()]
    variables += [{"name": "feed", "kind": 9, "persistable": True}, {"name": "fetch", "kind": 10, "persistable": True},
                  tensor("words", [-1, 1], 1, "int64", need_check_feed=True), tensor("rows", [-1, 4], 1),
                  tensor("wide", [-1, 12], 1), tensor("states", [-1, 4], 1), tensor("pooled", [-1, 4])]  # fmt: skip
    op = lambda kind, inputs, outputs, **attributes: {
        "type": kind, "inputs": inputs, "outputs": outputs, "attributes": attributes
    }  # fmt: skip
    ops = [
        op("feed", {"X": ["feed"]}, {"Out": ["words"]}, col=0),
        op("lookup_table", {"W": ["table"], "Ids": ["words"]}, {"Out": ["rows"]}),
        op("mul", {"X": ["rows"], "Y": ["u_weight"]}, {"Out": ["wide"]}),
        op("gru", {"Input": ["wide"], "Weight": ["v_recurrent"]}, {"Hidden": ["states"]}),
        op("sequence_pool", {"X": ["states"]}, {"Out": ["pooled"]}, pooltype="LAST"),
        op("fetch", {"X": ["pooled"]}, {"Out": ["fetch"]}, col=0),
        op("fetch", {"X": ["states"]}, {"Out": ["fetch"]}, col=1),
    ]
    (tmp_path / "__model__").write_bytes(wire.program([{"parent": -1, "vars": variables, "ops": ops}], 1_008_000, {}))
    stream = b"".join(wire.tensor_head("float32", kept[n].shape) + kept[n].tobytes() for n in sorted(kept))
    (tmp_path / "__params__").write_bytes(stream)


def test_a_model_of_sentences(tmp_path):
    """An Executor is fed what `fluid.create_lod_tensor` makes and gives sequences; a layer takes the lengths as an input."""
    _tagger(tmp_path)
    words = np.int64([[1], [4], [8], [2], [2], [0]])
    program, names, targets = static.load_inference_model(str(tmp_path), static.Executor())
    assert names == ["words"] and len(targets) == 2
    feed = {"words": proa.fluid.create_lod_tensor(words, [[2, 3, 1]], None)}
    pooled, states = static.Executor().run(program, feed=feed, fetch_list=targets, return_numpy=False)
    assert states.lod() == [[0, 2, 5, 6]]
    np.testing.assert_array_equal(pooled.numpy(), np.array(states)[[1, 4, 5]])
    layer = proa.jit.load(str(tmp_path))
    again = layer(proa.to_tensor(words), proa.to_tensor([2, 3, 1], dtype="int64"))
    np.testing.assert_array_equal(again[0].numpy(), pooled.numpy())
    for other in ([6], [1, 1, 1, 1, 1, 1]):
        both = layer(proa.to_tensor(words), proa.to_tensor(other, dtype="int64"))
        assert both[0].shape == [len(other), 4]


def test_a_predictor_says_sequences_by_lod(tmp_path):
    _tagger(tmp_path)
    words = np.int64([[1], [4], [8], [2], [2], [0]])
    predictor = proa.inference.create_predictor(proa.inference.Config(str(tmp_path)))
    assert predictor.get_input_names() == ["words"] and predictor.get_output_names() == ["pooled", "states"]
    handle = predictor.get_input_handle("words")
    handle.copy_from_cpu(words)
    with pytest.raises(ValueError, match="input 'words' is of sequences; set_lod says"):
        predictor.run()
    layer = proa.jit.load(str(tmp_path))
    for ends in ([0, 2, 5, 6], [0, 6], [0, 1, 1, 6]):
        handle.set_lod([ends])
        predictor.run()
        pooled, states = (predictor.get_output_handle(name) for name in predictor.get_output_names())
        assert states.lod() == [ends] and pooled.lod() == []
        wanted = layer(proa.to_tensor(words), proa.to_tensor(np.diff(ends)))
        np.testing.assert_allclose(pooled.copy_to_cpu(), wanted[0].numpy(), rtol=1e-6)
        np.testing.assert_allclose(states.copy_to_cpu(), wanted[1].numpy(), rtol=1e-6)
    both = predictor.run([words, np.int64([1, 5])])
    np.testing.assert_allclose(
        both[0].numpy(), layer(proa.to_tensor(words), proa.to_tensor([1, 5]))[0].numpy(), rtol=1e-6
    )


def test_scatter():
    x, ids = _R.randn(4, 9).astype("float32"), np.array([[0], [3], [8], [8], [1], [2]], "int64")
    updates = _R.randn(6, 1).astype("float32")
    given = {"X": x, "Ids": ids, "Updates": updates}
    (found,), _ = run("sequence_scatter", given, level=0, levels={"Ids": 1, "Updates": 1})
    wanted, row = x.copy(), np.repeat(np.arange(4), _N)
    np.add.at(wanted, (row, ids[:, 0]), updates[:, 0])
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_topk_avg_pooling():
    rows, columns, channels, topks = np.array([2, 1, 3]), np.array([4, 2, 1]), 2, [1, 3, 5]
    lengths = rows * columns * channels
    x = _R.randn(lengths.sum(), 1).astype("float32")
    given = {"X": x, "ROW": _R.randn(6, 1).astype("float32"), "COLUMN": _R.randn(7, 1).astype("float32")}
    (found,), after = run("sequence_topk_avg_pooling", given, levels={"X": 1, "ROW": 1, "COLUMN": 1},
                          lengths=(lengths, rows, columns), attributes={"topks": topks, "channel_num": channels})  # fmt: skip
    wanted = []
    for part, n, m in zip(sequences(x[:, 0], lengths), rows, columns, strict=True):
        image = -np.sort(-part.reshape(channels, n, m), axis=2)
        for r in range(n):
            wanted.append([image[c, r, :k].sum() / k for c in range(channels) for k in topks])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(after, rows)


def test_crf_cost():
    emission, transition = _R.randn(6, 3).astype("float32"), _R.randn(5, 3).astype("float32")
    label = np.array([[0], [2], [1], [1], [0], [2]], "int64")
    given = {"Emission": emission, "Transition": transition, "Label": label}
    (found,), _ = run("linear_chain_crf", given, ["LogLikelihood"], levels={"Emission": 1, "Label": 1}, level=0,
                      weights=("Transition",), lengths=(_N,))  # fmt: skip
    begin, end, moves = transition[0], transition[1], transition[2:]

    def score(rows, tags):
        inner = sum(moves[a, b] for a, b in itertools.pairwise(tags))
        return begin[tags[0]] + end[tags[-1]] + inner + sum(row[t] for row, t in zip(rows, tags, strict=True))

    wanted = []
    for rows, tags in zip(sequences(emission, _N), sequences(label[:, 0], _N), strict=True):
        every = [np.exp(score(rows, t)) for t in itertools.product(range(3), repeat=len(rows)) if len(rows)]
        wanted.append([np.log(sum(every)) - score(rows, tags) if len(rows) else 0.0])
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    side = np.zeros([4, 3, 3], "float32")
    tags = np.zeros([4, 3], "int64")
    for k, (rows, own) in enumerate(zip(sequences(emission, _N), sequences(label[:, 0], _N), strict=True)):
        side[k, : len(rows)], tags[k, : len(rows)] = rows, own
    given = {"Emission": side, "Transition": transition, "Label": tags, "Length": _N[:, None]}
    (found,), _ = run(
        "linear_chain_crf", given, ["LogLikelihood"], levels={}, level=0, weights=("Transition",), lengths=()
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_mean_iou():
    found, wanted = np.array([[0], [1], [2], [1], [3], [3]], "int64"), np.array([[0], [1], [1], [2], [3], [1]], "int64")
    (iou, wrong, correct), _ = run("mean_iou", {"Predictions": found, "Labels": wanted}, ["OutMeanIou", "OutWrong", "OutCorrect"],
                                   levels={}, level=0, lengths=(), attributes={"num_classes": 5})  # fmt: skip
    np.testing.assert_array_equal(wrong, [0, 3, 2, 1, 0])
    np.testing.assert_array_equal(correct, [1, 1, 0, 1, 0])
    np.testing.assert_allclose(iou.reshape(()), np.mean([1.0, 0.25, 0.0, 0.5]), rtol=1e-6)


def _distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        new = [i + 1]
        for j, y in enumerate(b):
            new.append(min(new[j] + 1, row[j + 1] + 1, row[j] + (x != y)))
        row = new
    return row[-1]


@pytest.mark.parametrize("normalized", [False, True])
def test_edit_distance(normalized):
    a, b = _R.randint(0, 4, [6, 1]), _R.randint(0, 4, [9, 1])
    others = np.int64([3, 1, 1, 4])
    (found, count), _ = run("edit_distance", {"Hyps": a, "Refs": b}, {"Out": "float32", "SequenceNum": "int64"}, 0,
                            {"normalized": normalized}, (_N, others), {"Hyps": 1, "Refs": 1})  # fmt: skip
    wanted = [_distance(x[:, 0], y[:, 0]) / (len(y) if normalized else 1)
              for x, y in zip(sequences(a, _N), sequences(b, others), strict=True)]  # fmt: skip
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-6)
    assert count.tolist() == [4]


def _chunks(tags, types):
    """{(first, last, type)} by IOB: a chunk goes on as long as its inside tags do."""
    found, start = set(), None
    for i, tag in enumerate([*tags, 2 * types]):
        goes_on = start is not None and tag == 2 * start[1] + 1
        if start is not None and not goes_on:
            found.add((start[0], i, start[1]))
        if not goes_on:
            start = (i, tag // 2) if tag < 2 * types else None
    return found


def test_chunks():
    n = np.int64([5, 1, 0, 14])
    tags, labels = _R.randint(0, 5, [20, 1]), _R.randint(0, 5, [20, 1])
    labels[8:] = np.where(_R.rand(12, 1) < 0.7, tags[8:], labels[8:])
    floats, counts = ["Precision", "Recall", "F1-Score"], ["NumInferChunks", "NumLabelChunks", "NumCorrectChunks"]
    outputs = {**dict.fromkeys(floats, "float32"), **dict.fromkeys(counts, "int64")}
    found, _ = run("chunk_eval", {"Inference": tags, "Label": labels}, outputs, 0,
                   {"chunk_scheme": "IOB", "num_chunk_types": 2}, (n,), {"Inference": 1})  # fmt: skip
    mine, right = (
        {(k, *c) for k, part in enumerate(sequences(v[:, 0], n)) for c in _chunks(part, 2)} for v in (tags, labels)
    )
    both = len(mine & right)
    assert both > 2
    np.testing.assert_array_equal(found[3:], [[len(mine)], [len(right)], [both]])
    precision, recall = both / len(mine), both / len(right)
    np.testing.assert_allclose(
        np.ravel(found[:3]), [precision, recall, 2 * precision * recall / (precision + recall)], rtol=1e-6
    )


def _activated(x, kind):
    return {"sigmoid": _sigmoid, "tanh": np.tanh, "identity": lambda v: v}[kind](x)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("cell_clip", "proj_clip", "kind"), [(0.0, 0.0, "tanh"), (0.4, 0.1, "identity")])
def test_lstm_with_projection(reverse, cell_clip, proj_clip, kind):
    x, weight = _R.randn(6, 16).astype("float32"), _R.randn(3, 16).astype("float32")
    down, bias = _R.randn(4, 3).astype("float32"), _R.randn(1, 28).astype("float32")
    attributes = {"use_peepholes": True, "is_reverse": reverse, "cell_clip": cell_clip, "proj_clip": proj_clip, "proj_activation": kind}  # fmt: skip
    (r, c), lengths = run("lstmp", {"Input": x, "Weight": weight, "ProjWeight": down, "Bias": bias}, ["Projection", "Cell"],
                          attributes=attributes, weights=("Weight", "ProjWeight", "Bias"))  # fmt: skip
    limited = lambda v, most: np.clip(v, -most, most) if most else v
    wanted = []
    for part in sequences(x, _N):
        state, cell, out = np.zeros(3), np.zeros(4), []
        for row in part[::-1] if reverse else part:
            a, i, f, o = np.split(row + state @ weight + bias[0, :16], 4)
            wi, wf, wo = np.split(bias[0, 16:], 3)
            cell = limited(np.tanh(a) * _sigmoid(i + cell * wi) + cell * _sigmoid(f + cell * wf), cell_clip)
            h = _sigmoid(o + cell * wo) * np.tanh(cell)
            state = limited(_activated(h @ down, kind), proj_clip)
            out.append((state, cell))
        wanted += out[::-1] if reverse else out
    np.testing.assert_allclose(r, [v[0] for v in wanted], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(c, [v[1] for v in wanted], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(lengths, _N)


@pytest.mark.parametrize("sampler", [0, 1, 2])
def test_nce(sampler):
    """The formula gives what PaddlePaddle 3.3 gives for classes that are given in the place of drawn ones."""
    x, weight, bias = (_R.randn(*s).astype("float32") for s in ((3, 4), (7, 4), (7, 1)))
    label, drawn = np.int64([[1, 3], [0, 6], [2, 2]]), [2, 0, 6]
    chances = _R.dirichlet(np.ones(7)).astype("float32")
    inputs = {"Input": x, "Label": label, "Weight": weight, "Bias": bias, "SampleWeight": np.float32([[1], [0.5], [2]])}
    inputs |= {"CustomDistProbs": chances} if sampler == 2 else {}
    attributes = {"num_total_classes": 7, "num_neg_samples": 3, "sampler": sampler, "custom_neg_classes": drawn}
    outputs = {"Cost": "float32", "SampleLogits": "float32", "SampleLabels": "int64"}
    (cost, share, labels), _ = run("nce", inputs, outputs, 0, attributes, (), {}, ("Weight", "Bias"))
    classes = np.concatenate([label, np.tile(drawn, [3, 1])], 1)
    np.testing.assert_array_equal(labels, classes)
    o = _sigmoid(np.einsum("nd,nkd->nk", x, weight[classes]) + bias[classes, 0])
    np.testing.assert_allclose(share, o, rtol=1e-4)
    b = 3 * (np.full([3, 5], 1 / 7), np.log((classes + 2) / (classes + 1)) / np.log(7), chances[classes])[sampler]
    each = np.where(np.arange(5) < 2, -np.log(o / (o + b)), -np.log(b / (o + b)))
    np.testing.assert_allclose(cost[:, 0], each.sum(1) * [1, 0.5, 2], rtol=1e-4)


@pytest.mark.parametrize("sampler", [0, 1, 2])
def test_nce_draws_anew(sampler):
    x, weight = _R.randn(200, 4).astype("float32"), _R.randn(7, 4).astype("float32")
    inputs = {"Input": x, "Label": np.zeros([200, 1], "int64"), "Weight": weight}
    inputs |= {"CustomDistProbs": np.float32([0, 0.5, 0, 0, 0.25, 0.25, 0])} if sampler == 2 else {}
    attributes = {"num_total_classes": 7, "num_neg_samples": 20, "sampler": sampler}
    (_, labels), _ = run(
        "nce", inputs, {"Cost": "float32", "SampleLabels": "int64"}, 0, attributes, (), {}, ("Weight",)
    )
    share = np.bincount(labels[:, 1:].reshape(-1), minlength=7) / 4000
    wanted = (np.full(7, 1 / 7), np.log(np.arange(2, 9) / np.arange(1, 8)) / np.log(7), np.float32([0, 0.5, 0, 0, 0.25, 0.25, 0]))[sampler]  # fmt: skip
    np.testing.assert_allclose(share[:-1], wanted[:-1], atol=0.04)


def test_rows_of_a_mask():
    """split_lod_tensor and merge_lod_tensor, which IfElse of 1.x writes."""
    mask = np.array([[True], [False], [False], [True], [True], [False]])
    (yes, no), _ = run("split_lod_tensor", {"X": _X, "Mask": mask}, ["OutTrue", "OutFalse"], 0, {"level": 0}, (), {})
    np.testing.assert_array_equal(yes, _X[mask[:, 0]])
    np.testing.assert_array_equal(no, _X[~mask[:, 0]])
    given = {"X": _X, "Mask": mask, "InTrue": yes * 2, "InFalse": no * 3}
    (found,), _ = run("merge_lod_tensor", given, ["Out"], 0, {"level": 0}, (), {})
    np.testing.assert_array_equal(found, np.where(mask, _X * 2, _X * 3))
    (found,), _ = run("merge_lod_tensor", {**given, "Mask": mask | True, "InTrue": _X, "InFalse": no[:0]}, ["Out"], 0, {}, (), {})  # fmt: skip
    np.testing.assert_array_equal(found, _X)
