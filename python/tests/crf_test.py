"""Conditional random fields: against all paths, one by one."""

import itertools

import numpy as np
import pytest

import proa
from proa import fluid, static
from proa.static.nn import crf

_RNG = np.random.RandomState(5)
TAGS = 3


def _score(x, tags, w):
    inner = sum(w[2 + a, b] for a, b in zip(tags, tags[1:], strict=False))
    return w[0, tags[0]] + w[1, tags[-1]] + inner + sum(row[t] for row, t in zip(x, tags, strict=True))


def _all(x, w):
    """Each path and its score."""
    return {p: _score(x, p, w) for p in itertools.product(range(TAGS), repeat=len(x))}


def _best(x, w):
    scores = _all(x, w)
    return max(scores, key=scores.get)


def _cost(x, tags, w):
    scores = _all(x, w)
    return np.log(sum(np.exp(s) for s in scores.values())) - scores[tuple(tags)]


def _data(lengths, steps=5):
    x = _RNG.randn(len(lengths), steps, TAGS)
    w = _RNG.randn(TAGS + 2, TAGS)
    return x, w, _RNG.randint(0, TAGS, [len(lengths), steps])


@pytest.mark.parametrize("lengths", [[5, 1, 3, 2], [1, 1], [4]], ids=str)
def test_the_best_path_and_the_cost_of_one(lengths):
    x, w, tags = _data(lengths)
    arguments = proa.to_tensor(x), proa.to_tensor(w)
    path = crf.best_path(*arguments, proa.to_tensor(lengths)).numpy()
    cost = crf.path_cost(*arguments, proa.to_tensor(tags), proa.to_tensor(lengths)).numpy()
    assert cost.shape == (len(lengths), 1) and path.shape == (len(lengths), 5)
    for i, n in enumerate(lengths):
        assert tuple(path[i, :n]) == _best(x[i, :n], w) and not path[i, n:].any()
        np.testing.assert_allclose(cost[i, 0], _cost(x[i, :n], tags[i, :n], w), rtol=1e-6)


def test_a_sequence_without_steps_costs_nothing():
    x, w, tags = _data([0, 2])
    lengths = proa.to_tensor([0, 2])
    cost = crf.path_cost(proa.to_tensor(x), proa.to_tensor(w), proa.to_tensor(tags), lengths)
    assert cost[0, 0].item() == 0 and cost[1, 0].item() > 0
    assert not crf.best_path(proa.to_tensor(x), proa.to_tensor(w), lengths)[0].numpy().any()


def test_the_gradient_of_the_cost():
    lengths = proa.to_tensor([3, 1, 5])
    x, w, tags = _data([3, 1, 5])
    given = [proa.to_tensor(x, stop_gradient=False), proa.to_tensor(w, stop_gradient=False)]
    cost = lambda x, w: crf.path_cost(x, w, proa.to_tensor(tags), lengths).sum()
    cost(*given).backward()
    for number in (0, 1):
        for place in [(0, 0, 1), (2, 4, 2), (1, 3, 0)] if number == 0 else [(0, 1), (1, 2), (3, 0)]:
            moved = []
            for step in (1e-6, -1e-6):
                values = [x.copy(), w.copy()]
                values[number][place] += step
                moved.append(cost(*map(proa.to_tensor, values)).item())
            assert abs(given[number].grad[place].item() - (moved[0] - moved[1]) / 2e-6) < 1e-6


def _program(build, feed):
    main, startup = static.Program(), static.Program()
    with static.scope_guard(static.Scope()), static.program_guard(main, startup):
        results = build()
        executor = static.Executor()
        executor.run(startup)
        return executor.run(main, feed=feed, fetch_list=list(results)), main


def test_programs_of_rows_and_of_padded_sequences():
    lengths = [4, 1, 2]
    x, _, tags = _data(lengths, 4)
    x = x.astype("float32")
    attr = proa.ParamAttr(name="transitions")

    def of_rows():
        rows = static.data("x", [None, TAGS], lod_level=1)
        label = static.data("label", [None, 1], "int64", lod_level=1)
        cost = fluid.layers.linear_chain_crf(rows, label, attr)
        path = static.nn.crf_decoding(rows, attr)
        assert path.lod_level == 1
        return cost, path, static.nn.crf_decoding(rows, attr, label=label)

    def padded():
        scores, length = static.data("x", [None, 4, TAGS]), static.data("length", [None, 1], "int64")
        label = static.data("label", [None, 4], "int64")
        cost = fluid.layers.linear_chain_crf(scores, label, attr, length)
        return (
            cost,
            static.nn.crf_decoding(scores, attr, length=length),
            static.nn.crf_decoding(scores, attr, label, length),
        )

    flat = np.concatenate([x[i, :n] for i, n in enumerate(lengths)])
    flat_tags = np.concatenate([tags[i, :n] for i, n in enumerate(lengths)])[:, None]
    feed = {"x": fluid.create_lod_tensor(flat, [lengths]), "label": fluid.create_lod_tensor(flat_tags, [lengths])}
    (cost, path, right), main = _program(of_rows, feed)
    w = main.state_dict()["transitions"].numpy()
    want = [_cost(x[i, :n].astype("float64"), tags[i, :n], w) for i, n in enumerate(lengths)]
    np.testing.assert_allclose(cost[:, 0], want, rtol=1e-4, atol=1e-5)
    best = [_best(x[i, :n], w) for i, n in enumerate(lengths)]
    assert path.shape == (7, 1) and path[:, 0].tolist() == [t for p in best for t in p]
    assert right.tolist() == (path == flat_tags).astype(int).tolist()

    feed = {"x": x, "label": tags, "length": np.array(lengths)[:, None]}
    (cost, path, right), main = _program(padded, feed)
    w = main.state_dict()["transitions"].numpy()
    want = [_cost(x[i, :n].astype("float64"), tags[i, :n], w) for i, n in enumerate(lengths)]
    np.testing.assert_allclose(cost[:, 0], want, rtol=1e-4, atol=1e-5)
    for i, n in enumerate(lengths):
        assert tuple(path[i, :n]) == _best(x[i, :n], w)
    assert right.tolist() == (path == tags).astype(int).tolist()


def test_training_finds_the_tags():
    """A chain whose tags are the argmax of its rows, and which never stays: cost falls, decoding is right."""
    rng = np.random.RandomState(0)
    tags = np.stack([(np.arange(4) + rng.randint(TAGS)) % TAGS for _ in range(16)])
    x = np.eye(TAGS, dtype="float32")[tags] + 0.3 * rng.randn(16, 4, TAGS).astype("float32")
    main, startup = static.Program(), static.Program()
    with static.scope_guard(static.Scope()), static.program_guard(main, startup):
        scores, length = static.data("x", [None, 4, TAGS]), static.data("length", [None], "int64")
        cost = fluid.layers.linear_chain_crf(
            scores, static.data("label", [None, 4], "int64"), proa.ParamAttr("w"), length
        )
        path = static.nn.crf_decoding(scores, proa.ParamAttr("w"), length=length)
        loss = cost.mean()
        proa.optimizer.SGD(0.2).minimize(loss)
        executor = static.Executor()
        executor.run(startup)
        feed = {"x": x, "length": np.full([16], 4), "label": tags}
        losses = [executor.run(main, feed=feed, fetch_list=[loss])[0].item() for _ in range(15)]
        assert losses[-1] < 0.3 * losses[0]
        assert (executor.run(main, feed=feed, fetch_list=[path])[0] == tags).mean() > 0.95


def test_bad_calls_are_told():
    with pytest.raises(RuntimeError, match="use paddle.text.viterbi_decode"):
        static.nn.crf_decoding(proa.ones([2, 3]), None)
    with static.program_guard(static.Program()):
        x = static.data("x", [None, 3])
        with pytest.raises(TypeError, match="crf_decoding: param_attr must not be None"):
            static.nn.crf_decoding(x, None)
        with pytest.raises(ValueError, match="nothing is known of sequences"):
            static.nn.crf_decoding(x, "transitions_of_bad_calls")
        with pytest.raises(ValueError, match="with length, input must be .sequences, steps, tags.; it is .-1, 3."):
            static.nn.crf_decoding(x, "transitions_of_bad_calls", length=static.data("n", [None], "int64"))
        with pytest.raises(ValueError, match="or give length"):
            static.nn.crf_decoding(static.data("y", [None, 4, 3]), "transitions_of_bad_calls")
