"""Beam search of 1.x: a step, and whole searches by While with arrays, against a loop of NumPy."""

import numpy as np
import pytest

from proa import fluid
from proa.fluid import layers
from python.tests import beam_searches
from python.tests.beam_searches import BEAM, BEGIN, END, MOST, SIZE, WORDS


def _run(build, steps=1, **feed):
    main, start = fluid.Program(), fluid.Program()
    main.random_seed = start.random_seed = 7
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, start), fluid.unique_name.guard():
        fetches = build()
        exe = fluid.Executor()
        exe.run(start)
        return exe.run(main, feed=feed, fetch_list=fetches, return_numpy=False)


@pytest.mark.parametrize("accumulated", [True, False])
@pytest.mark.parametrize("beam", [1, 2, 5])
def test_a_step(accumulated, beam):
    rng = np.random.RandomState(beam)
    sources = [[(4, -0.5), (END, -0.1)], [(2, -0.3)], [(END, -2.0)]]
    words = np.array([w for s in sources for w, _ in s]).reshape(-1, 1)
    before = np.array([v for s in sources for _, v in s], "float32").reshape(-1, 1)
    ids = rng.randint(2, 9, [4, 3])
    share = -np.sort(-rng.rand(4, 3).astype("float32"), 1)
    scores = np.log(share) + before

    def build():
        pre = [fluid.data(n, [None, 1], d, lod_level=2) for n, d in (("words", "int64"), ("before", "float32"))]
        given = fluid.data("ids", [None, 3], "int64"), fluid.data("scores", [None, 3])
        return list(layers.beam_search(*pre, *given, beam, END, 0, accumulated, return_parent_idx=True))

    lengths = [[2, 1, 1], [1, 1, 1, 1]]
    feed = {"words": fluid.create_lod_tensor(words, lengths), "before": fluid.create_lod_tensor(before, lengths)}
    found = _run(build, ids=ids, scores=scores if accumulated else share, **feed)
    wanted = beam_searches.step(sources, ids, scores, beam, END)
    flat = [item for source in wanted for item in source]
    assert flat and not wanted[2]
    np.testing.assert_array_equal(np.array(found[0])[:, 0], [w for w, _, _ in flat])
    np.testing.assert_allclose(np.array(found[1])[:, 0], [s for _, s, _ in flat], rtol=1e-5)
    first = np.cumsum([0, 2, 1])
    np.testing.assert_array_equal(np.array(found[2]), [first[i] + k for i in range(3) for _, _, k in wanted[i]])
    counts = [sum(k == j for _, _, k in wanted[i]) for i in range(3) for j in range(len(sources[i]))]
    assert found[0].recursive_sequence_lengths() == [[2, 1, 1], counts]


def _decoder(by_while, many=None):
    """Translates as scripts of 1.8 do: the loop is a While, or written out."""
    context = fluid.data("context", [None, SIZE])
    init_ids = fluid.data("init_ids", [None, 1], "int64", lod_level=2)
    init_scores = fluid.data("init_scores", [None, 1], "float32", lod_level=2)
    counter = layers.zeros([1], "int64")
    state_array = layers.create_array("float32")
    layers.array_write(context, counter, state_array)
    ids_array, scores_array = layers.create_array("int64"), layers.create_array("float32")
    layers.array_write(init_ids, counter, ids_array)
    layers.array_write(init_scores, counter, scores_array)

    def turn(counter):
        pre_ids = layers.array_read(ids_array, counter)
        pre_state = layers.array_read(state_array, counter)
        pre_score = layers.array_read(scores_array, counter)
        expanded = layers.sequence_expand(pre_state, pre_score)
        embedded = layers.embedding(pre_ids, [WORDS, SIZE], param_attr="table")
        state = layers.fc([expanded, embedded], SIZE, act="tanh", param_attr=["a", "b"], bias_attr="c")
        share = layers.fc(layers.lod_reset(state, pre_score), WORDS, act="softmax", param_attr="d", bias_attr="e")
        best, words = layers.topk(share, BEAM + 1)
        total = layers.elementwise_add(layers.log(best), layers.reshape(pre_score, [-1]), axis=0)
        return state, layers.beam_search(pre_ids, pre_score, words, total, BEAM, END, level=0)

    if by_while:
        limit = layers.fill_constant([1], "int64", MOST)
        goes_on = layers.less_than(counter, limit)
        loop = layers.While(goes_on)
        with loop.block():
            state, (ids, scores) = turn(counter)
            layers.increment(counter, 1, in_place=True)
            layers.array_write(state, counter, state_array)
            layers.array_write(ids, counter, ids_array)
            layers.array_write(scores, counter, scores_array)
            layers.logical_and(layers.less_than(counter, limit), layers.logical_not(layers.is_empty(ids)), out=goes_on)
    else:
        for _ in range(MOST):
            state, (ids, scores) = turn(counter)
            counter = layers.increment(counter, 1, in_place=False)
            layers.array_write(state, counter, state_array)
            layers.array_write(ids, counter, ids_array)
            layers.array_write(scores, counter, scores_array)
    return list(layers.beam_search_decode(ids_array, scores_array, BEAM, END))


@pytest.mark.parametrize("by_while", [False, True])
@pytest.mark.parametrize("count", [1, 4])
def test_a_search(by_while, count):
    weights = beam_searches.weights()
    context = np.random.RandomState(count).randn(count, SIZE).astype("float32") * 2
    main, start = fluid.Program(), fluid.Program()
    lengths = [[1] * count] * 2
    feed = {
        "context": context,
        "init_ids": fluid.create_lod_tensor(np.full([count, 1], BEGIN), lengths),
        "init_scores": fluid.create_lod_tensor(np.zeros([count, 1], "float32"), lengths),
    }
    with fluid.scope_guard(fluid.Scope()) as _, fluid.program_guard(main, start), fluid.unique_name.guard():
        fetches = _decoder(by_while)
        exe = fluid.Executor()
        exe.run(start)
        for name, value in weights.items():
            fluid.global_scope().find_var(name).get_tensor().set(value, fluid.CPUPlace())
        words, scores = exe.run(main, feed=feed, fetch_list=fetches, return_numpy=False)
    wanted = beam_searches.searched(context, weights)
    flat = [sentence for source in wanted for sentence in source]
    assert words.recursive_sequence_lengths() == [[len(s) for s in wanted], [len(s) for _, s, _ in flat]]
    assert np.array(words).reshape(-1).tolist() == [w for _, s, _ in flat for w in s]
    np.testing.assert_allclose(np.array(scores).reshape(-1), [v for *_, s in flat for v in s], rtol=1e-4, atol=1e-5)
    assert len({len(s) for _, s, _ in flat}) > 1  # some end before others
