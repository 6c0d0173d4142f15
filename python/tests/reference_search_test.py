"""Programs of PaddlePaddle 1.x that search for the best sentences: beam_search in a While with arrays of steps, which differ in their
rows, and beam_search_decode. They run alike by an Executor, as a layer and in a predictor."""

import numpy as np
import pytest

import proa
from proa import fluid, static
from proa.jit.reference import wire
from python.tests import beam_searches
from python.tests.beam_searches import BEAM, BEGIN, END, MOST, SIZE, WORDS
from python.tests.reference_program import Program, run

_OUT = {"selected_ids": "int64", "selected_scores": "float32", "parent_idx": "int32"}


def _step(words, before, ids, scores, lengths, **attributes):
    """([ids, scores, parents] of a step, lengths of both levels)."""
    inputs = {"pre_ids": np.int64(words).reshape(-1, 1), "pre_scores": np.float32(before).reshape(-1, 1),
              "scores": np.float32(scores)}  # fmt: skip
    inputs |= {} if ids is None else {"ids": np.int64(ids)}
    attributes = {"level": 0, "end_id": END, "is_accumulated": True, **attributes}
    return run("beam_search", inputs, _OUT, 2, attributes, [np.int64(n) for n in lengths], {"pre_scores": 2})


@pytest.mark.parametrize("accumulated", [True, False])
@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("numbered", [True, False])
def test_a_step(accumulated, beam, numbered):
    rng = np.random.RandomState(beam)
    sources = [[(4, -0.5), (END, -0.1)], [(2, -0.3)], [(END, -2.0)], [(3, -0.2), (5, -0.4), (6, -0.1)]]
    flat = [row for source in sources for row in source]
    ids = np.tile(np.arange(3), [7, 1]) if numbered else rng.randint(2, 9, [7, 3])
    share = rng.rand(7, 3).astype("float32")
    scores = np.log(share) + np.float32([[v] for _, v in flat])
    found, levels = _step([w for w, _ in flat], [v for _, v in flat], None if numbered else ids,
                          scores if accumulated else share, [[2, 1, 1, 3], [1] * 7], beam_size=beam,
                          is_accumulated=accumulated)  # fmt: skip
    wanted = beam_searches.step(sources, ids, scores, beam, END)
    rows = [row for source in wanted for row in source]
    np.testing.assert_array_equal(found[0][:, 0], [w for w, _, _ in rows])
    np.testing.assert_allclose(found[1][:, 0], [s for _, s, _ in rows], rtol=1e-5)
    first = np.cumsum([0, *map(len, sources)])
    np.testing.assert_array_equal(found[2], [first[i] + k for i, source in enumerate(wanted) for _, _, k in source])
    np.testing.assert_array_equal(levels[0], [2, 1, 1, 3])
    np.testing.assert_array_equal(
        levels[1], [sum(k == j for *_, k in wanted[i]) for i in range(4) for j in range(len(sources[i]))]
    )


@pytest.mark.parametrize(
    ("scores", "beam", "ids", "parents"),
    [  # what PaddlePaddle 3.3 gives
        ([[0.1, 0.5, 0.2], [0.5, 0.6, 0.4], [0.9, 0.8, 0.7]], 2, [9, 2, 6, 1], [1, 1, 2, 2]),
        ([[0.1, 0.5, 0.2], [0.5, 0.4, 0.3], [0.7, 0.8, 0.9]], 1, [2, 8], [1, 2]),
        ([[0.1, 0.2, 0.3], [0.05, 0.02, 0.01], [0.9, 0.1, 0.8]], 5, [7, 3, 5, 2, 9, 6, 8, 1], [0, 0, 0, 1, 1, 2, 2, 2]),
        ([[-np.inf] * 3, [-np.inf, 0, -np.inf], [0.9, 0.1, 0.8]], 3, [9, 2, 4, 6, 8, 1], [1, 1, 1, 2, 2, 2]),
    ],
)
def test_the_order_of_a_step(scores, beam, ids, parents):
    given = [[5, 3, 7], [2, 9, 4], [6, 1, 8]]
    found, _ = _step([2, 3, 4], [0, 0, 0], given, scores, [[2, 1], [1, 1, 1]], beam_size=beam)
    assert found[0][:, 0].tolist() == ids and found[2].tolist() == parents


def test_a_step_of_nothing():
    found, levels = _step([], [], np.zeros([0, 3]), np.zeros([0, 3]), [[0, 0], []], beam_size=2)
    assert [f.shape[0] for f in found] == [0, 0, 0]
    assert levels[0].tolist() == [0, 0] and levels[1].tolist() == []


def test_a_step_needs_two_levels():
    inputs = {"pre_ids": np.int64([[2]]), "pre_scores": np.float32([[0]]), "scores": np.float32([[0.5, 0.2]])}
    with pytest.raises(ValueError, match="scores must have two levels of sequences"):
        run(
            "beam_search",
            inputs,
            _OUT,
            2,
            {"level": 0, "beam_size": 2, "end_id": 1},
            [np.int64([1])],
            {"pre_scores": 1},
        )
    with pytest.raises(ValueError, match="level must be 0"):
        run("beam_search", inputs, _OUT, 2, {"level": 1, "beam_size": 2, "end_id": 1}, [], {"pre_scores": 2})


def _number(p, name, dtype, value):
    code = {"int64": 3, "bool": 0}[dtype]
    p.op("fill_constant", {}, {"Out": p.var(name, [1], dtype)}, shape=[1], value=float(value), dtype=code)


def _network(p, before, level):
    """The probabilities of words after rows with states `before`, whose words are `pre_ids`: the best of them, and their scores."""
    v = lambda name, dims, dtype="float32", lod=0: p.var(name, dims, dtype, lod_level=lod if level else 0)
    p.op("lookup_table", {"W": "table", "Ids": "pre_ids"}, {"Out": v("emb", [-1, SIZE], lod=2)}, padding_idx=-1)
    p.op("mul", {"X": before, "Y": "a"}, {"Out": v("ea", [-1, SIZE])}, x_num_col_dims=1, y_num_col_dims=1)
    p.op("mul", {"X": "emb", "Y": "b"}, {"Out": v("eb", [-1, SIZE], lod=2)}, x_num_col_dims=1, y_num_col_dims=1)
    p.op("sum", {"X": ["ea", "eb"]}, {"Out": v("eab", [-1, SIZE])})
    p.op("elementwise_add", {"X": "eab", "Y": "c"}, {"Out": v("eabc", [-1, SIZE])}, axis=1)
    p.op("tanh", {"X": "eabc"}, {"Out": v("state", [-1, SIZE])})
    p.op("lod_reset", {"X": "state", "Y": "pre_score"}, {"Out": v("rows", [-1, SIZE], lod=2)}, target_lod=[])
    p.op("mul", {"X": "rows", "Y": "d"}, {"Out": v("wide", [-1, WORDS], lod=2)}, x_num_col_dims=1, y_num_col_dims=1)
    p.op("elementwise_add", {"X": "wide", "Y": "e"}, {"Out": v("logits", [-1, WORDS], lod=2)}, axis=1)
    p.op("softmax", {"X": "logits"}, {"Out": v("share", [-1, WORDS], lod=2)}, axis=-1)
    p.op("top_k", {"X": "share"}, {"Out": v("best", [-1, BEAM + 1], lod=2), "Indices": v("words", [-1, BEAM + 1], "int64", 2)},
         k=BEAM + 1)  # fmt: skip
    p.op("log", {"X": "best"}, {"Out": v("logs", [-1, BEAM + 1], lod=2)})
    p.op("reshape2", {"X": "pre_score"}, {"Out": v("flat", [-1]), "XShape": v("flat_shape", [0, -1, 1])}, shape=[-1])
    p.op("elementwise_add", {"X": "logs", "Y": "flat"}, {"Out": v("total", [-1, BEAM + 1], lod=2)}, axis=0)
    p.op("beam_search", {"pre_ids": "pre_ids", "pre_scores": "pre_score", "ids": "words", "scores": "total"},
         {"selected_ids": v("ids", [-1, 1], "int64", 2), "selected_scores": v("scores", [-1, 1], lod=2),
          "parent_idx": v("parents", [-1], "int32")},
         level=0, beam_size=BEAM, end_id=END, is_accumulated=True)  # fmt: skip


def _array(p, name, dims, dtype="float32"):
    return p.var(name, dims, dtype, kind=wire.TENSOR_ARRAY)


def _write(p, x, array):
    p.op("write_to_array", {"X": x, "I": "counter"}, {"Out": array})


def _read(p, array, name, dims, dtype="float32", lod=0):
    p.op("read_from_array", {"X": array, "I": "counter"}, {"Out": p.var(name, dims, dtype, lod_level=lod)})


def _goes_on(p):
    p.op("less_than", {"X": "counter", "Y": "limit"}, {"Out": p.var("is_short", [1], "bool")}, axis=-1)
    p.op("is_empty", {"X": "ids"}, {"Out": p.var("is_done", [1], "bool")})
    p.op("logical_not", {"X": "is_done"}, {"Out": p.var("is_not_done", [1], "bool")})
    p.op("logical_and", {"X": "is_short", "Y": "is_not_done"}, {"Out": "goes_on"})


def _search(level, by_parents, whole=False):
    """A decoder as books of 1.x write it: its states in an array, and what a step keeps written by a Switch; or a state that is
    gathered by the rows that were gone on from, as Transformers do."""
    p = Program()
    for name, kind in (("feed", 9), ("fetch", 10)):
        p.var(name, kind=kind, persistable=True)
    for name, value in beam_searches.weights().items():
        p.parameter(name, list(value.shape))
    p.fed("context", [-1, SIZE])
    p.fed("init_ids", [-1, 1], "int64", lod_level=2), p.fed("init_scores", [-1, 1], lod_level=2)
    if not whole:
        for k, name in enumerate(("context", "init_ids", "init_scores")):
            p.op("feed", {"X": "feed"}, {"Out": name}, col=k)
    _number(p, "counter", "int64", 0), _number(p, "limit", "int64", MOST)
    arrays = [_array(p, "all_ids", [-1, 1], "int64"), _array(p, "all_scores", [-1, 1])]
    if by_parents:
        p.op("assign", {"X": "context"}, {"Out": p.var("carried", [-1, SIZE])})
    else:
        arrays.append(_array(p, "states", [-1, SIZE]))
        _write(p, "context", "states")
    _write(p, "init_ids", "all_ids"), _write(p, "init_scores", "all_scores")
    p.op("less_than", {"X": "counter", "Y": "limit"}, {"Out": p.var("goes_on", [1], "bool")}, axis=-1)
    p.at = inside = p.block()
    lod = 2 if level else 0
    _read(p, "all_ids", "pre_ids", [-1, 1], "int64", lod), _read(p, "all_scores", "pre_score", [-1, 1], lod=lod)
    if by_parents:
        _network(p, "carried", level)
        p.op("increment", {"X": "counter"}, {"Out": "counter"}, step=1.0)
        _write(p, "ids", "all_ids"), _write(p, "scores", "all_scores")
        p.op("gather", {"X": "state", "Index": "parents"}, {"Out": p.var("gathered", [-1, SIZE])}, overwrite=True)
        p.op("assign", {"X": "gathered"}, {"Out": "carried"})
        _goes_on(p)
    else:
        _read(p, "states", "pre_state", [-1, SIZE])
        p.op("sequence_expand", {"X": "pre_state", "Y": "pre_score"}, {"Out": p.var("expanded", [-1, SIZE], lod_level=lod)}, ref_level=-1)  # fmt: skip
        _network(p, "expanded", level)
        p.op("is_empty", {"X": "ids"}, {"Out": p.var("none_left", [1], "bool")})
        p.op("logical_not", {"X": "none_left"}, {"Out": p.var("some_left", [1], "bool")})
        written = {"none_left": ["goes_on"], "some_left": ["counter", *arrays, "goes_on"]}
        for condition, names in written.items():
            p.at = inside
            branch = p.block()
            read = [] if condition == "none_left" else [*names, "limit", "state", "ids", "scores"]
            scope = p.var(f"{condition}.scope", kind=wire.STEP_SCOPES)
            p.op("conditional_block", {"Cond": condition, "Input": read}, {"Out": names, "Scope": [scope]},
                 sub_block=wire.Block(branch), is_scalar_condition=True)  # fmt: skip
            p.at = branch
            if condition == "none_left":
                p.op("fill_constant", {}, {"Out": "goes_on"}, shape=[1], value=0.0, dtype=0)
                continue
            p.op("increment", {"X": "counter"}, {"Out": "counter"}, step=1.0)
            _write(p, "state", "states"), _write(p, "ids", "all_ids"), _write(p, "scores", "all_scores")
            _goes_on(p)
    p.at = 0
    carried = [*arrays, *(["carried"] if by_parents else []), "counter"]
    p.op("while", {"X": [*carried, "limit", *beam_searches.weights()], "Condition": "goes_on"},
         {"Out": [*carried, "goes_on"], "StepScopes": [p.var("step_scopes", kind=wire.STEP_SCOPES)]},
         sub_block=wire.Block(inside), is_test=True)  # fmt: skip
    p.op("beam_search_decode", {"Ids": "all_ids", "Scores": "all_scores"},
         {"SentenceIds": p.var("said", [-1], "int64", lod_level=2), "SentenceScores": p.var("worth", [-1], lod_level=2)},
         beam_size=BEAM, end_id=END)  # fmt: skip
    p.op("lod_array_length", {"X": "all_ids"}, {"Out": p.var("steps", [1], "int64")})
    for k, name in enumerate(() if whole else ("said", "worth", "steps")):
        p.op("fetch", {"X": name}, {"Out": "fetch"}, col=k)
    return p


def _saved(p, folder):
    weights = beam_searches.weights()
    (folder / "__model__").write_bytes(wire.program(p.blocks, 1_008_000, {}))
    (folder / "__params__").write_bytes(
        b"".join(wire.tensor_head("float32", weights[n].shape) + weights[n].tobytes() for n in sorted(weights))
    )
    return str(folder)


def _fed(count, seed):
    context = np.random.RandomState(seed).randn(count, SIZE).astype("float32") * 2
    return context, np.full([count, 1], BEGIN), np.zeros([count, 1], "float32"), [[1] * count] * 2


def _predicted(predictor, names, values):
    """The handles of the results; every input but the first is of sequences of one row."""
    ends = list(range(len(values[0]) + 1))
    for name, value in zip(names, values, strict=True):
        handle = predictor.get_input_handle(name)
        handle.copy_from_cpu(value)
        if name != "context":
            handle.set_lod([ends, ends])
    predictor.run()
    return [predictor.get_output_handle(name) for name in predictor.get_output_names()]


@pytest.mark.parametrize("level", [False, True])
@pytest.mark.parametrize("by_parents", [False, True])
def test_a_search(tmp_path, level, by_parents):
    """Sentences and scores are those of a search with lists, and have the same bits in every way that a file is run. PaddlePaddle 3.3
    gives the same sentences and steps for these files."""
    path = _saved(_search(level, by_parents), tmp_path)
    program, names, targets = static.load_inference_model(path, static.Executor())
    assert names == ["context", "init_ids", "init_scores"]
    layer = proa.jit.load(path)
    plain = proa.inference.Config(path)
    plain.switch_ir_optim(False)
    predictors = [proa.inference.create_predictor(config) for config in (plain, proa.inference.Config(path))]
    many = set()
    for (count, seed), most in zip(((1, 1), (4, 4), (2, 7), (3, 9)), (6, 6, 5, 6), strict=True):
        context, ids, scores, lengths = _fed(count, seed)
        feed = {"context": context, "init_ids": fluid.create_lod_tensor(ids, lengths),
                "init_scores": fluid.create_lod_tensor(scores, lengths)}  # fmt: skip
        said, worth, steps = static.Executor().run(program, feed=feed, fetch_list=targets, return_numpy=False)
        wanted = beam_searches.searched(context, beam_searches.weights())
        flat = [sentence for source in wanted for sentence in source]
        levels = [[len(s) for s in wanted], [len(s) for _, s, _ in flat]]
        assert said.recursive_sequence_lengths() == worth.recursive_sequence_lengths() == levels
        assert np.array(said).reshape(-1).tolist() == [w for _, s, _ in flat for w in s]
        np.testing.assert_allclose(np.array(worth).reshape(-1), [v for *_, s in flat for v in s], rtol=1e-4, atol=1e-5)
        assert int(np.array(steps)[0]) == most + by_parents  # a Switch leaves out the last step, which has no rows
        many.update(map(len, (s for _, s, _ in flat)))

        ones = proa.to_tensor(np.ones(count, "int64"))
        again = layer(*map(proa.to_tensor, (context, ids, scores)), ones, ones, ones, ones)
        np.testing.assert_array_equal(again[0].numpy(), np.array(said))
        np.testing.assert_array_equal(again[1].numpy(), np.array(worth))

        for predictor, exact in zip(predictors, (True, False), strict=True):
            results = _predicted(predictor, names, (context, ids, scores))
            np.testing.assert_array_equal(results[0].copy_to_cpu(), np.array(said))
            far = 0 if exact else 1e-5  # what is fused rounds otherwise
            np.testing.assert_allclose(results[1].copy_to_cpu(), np.array(worth), rtol=far, atol=far)
            assert [np.diff(ends).tolist() for ends in results[0].lod()] == levels
    assert len(many) > 1  # some sentences end before others


def test_a_search_as_it_was_built():
    """The program of `static.save`, which fetches nothing: values by their names."""
    with static.scope_guard(static.Scope()):
        program = _search(True, False, whole=True).read(beam_searches.weights())
        context, ids, scores, lengths = _fed(2, 7)
        feed = {"context": context, "init_ids": fluid.create_lod_tensor(ids, lengths),
                "init_scores": fluid.create_lod_tensor(scores, lengths)}  # fmt: skip
        said, steps = static.Executor().run(program, feed=feed, fetch_list=["said", "steps"])
        wanted = beam_searches.searched(context, beam_searches.weights())
        assert said.reshape(-1).tolist() == [w for source in wanted for _, s, _ in source for w in s]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda ops: ops["beam_search_decode"]["inputs"].update(Ids=["context"]), "two levels of sequences"),
        (lambda ops: ops["write_to_array"]["inputs"].update(X=["context"]), "nothing is known of the sequences in Y"),
        (lambda ops: ops["beam_search_decode"]["inputs"].pop("Scores"), "Scores is missing"),
    ],
)
def test_a_search_that_is_none(tmp_path, change, says):
    p = _search(True, False)
    change({op["type"]: op for op in p.blocks[0]["ops"]})
    with pytest.raises((RuntimeError, ValueError), match=says):
        static.load_inference_model(_saved(p, tmp_path), static.Executor())


def test_searches_that_are_spoiled_are_errors(tmp_path):
    """Ops that are left out, or read and write other variables: an error that says which, or another program; never a crash."""
    rng = np.random.RandomState(2)
    ended = 0
    for k in range(300):
        p = _search(bool(k % 2), bool(k // 2 % 2))
        block = p.blocks[rng.randint(len(p.blocks))]
        at = rng.randint(len(block["ops"]))
        op = block["ops"][at]
        slots = [s for s in (*op["inputs"].values(), *op["outputs"].values()) if s]
        if k % 5 == 0 or not slots:
            del block["ops"][at]
        else:
            slot = slots[rng.randint(len(slots))]
            names = [v["name"] for b in p.blocks for v in b["vars"]]
            slot[rng.randint(len(slot))] = names[rng.randint(len(names))]
        try:
            proa.jit.load(_saved(p, tmp_path))
        except (ValueError, RuntimeError, TypeError, IndexError, NotImplementedError) as error:
            assert "block" in str(error) or "variable" in str(error) or "fetches nothing" in str(error), error
            ended += 1
    assert 100 < ended < 300
