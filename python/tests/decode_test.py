"""Beam search against trying all sequences, and against the reference's numbers; the loop that runs a decoder."""

import itertools

import numpy as np
import pytest

import proa
from proa import nn


class _Chain(nn.Layer):
    """A cell whose next word depends on the last: scores are rows of a table, and the state counts steps."""

    def __init__(self, table):
        super().__init__()
        self.table = proa.to_tensor(table)

    def forward(self, inputs, states):
        return proa.nn.functional.embedding(inputs, self.table), states + 1.0


def _best(table, start, end, steps, count):
    """The most probable sequences of so many steps; what follows the end token is the end token, at no cost."""
    logs = np.log(np.exp(table) / np.exp(table).sum(1, keepdims=True))
    found = {}
    for words in itertools.product(range(len(table)), repeat=steps):
        score, last = 0.0, start
        for word in words:
            if last == end and score != 0.0:
                score += 0.0 if word == end else -1e9
            else:
                score += logs[last, word]
            last = word
        found[words] = score
    return sorted(found.items(), key=lambda item: -item[1])[:count]


def test_a_wide_beam_finds_the_best_sequences():
    table = np.random.RandomState(0).randn(4, 4).astype("float32") * 2
    decoder = nn.BeamSearchDecoder(_Chain(table), start_token=0, end_token=1, beam_size=4 * 4 * 4)
    ids, states, lengths = nn.dynamic_decode(decoder, proa.zeros([2, 1]), max_step_num=2, return_length=True)
    want = _best(table, 0, 1, 3, 10)
    for sample in range(2):
        got = [tuple(ids[sample, :, beam].tolist()) for beam in range(10)]
        # Ties may come in any order.
        scores = dict(_best(table, 0, 1, 3, 64))
        np.testing.assert_allclose([scores[words] for words in got], [score for _, score in want], rtol=1e-5)
        np.testing.assert_allclose(states.log_probs[sample, :10].numpy(), [s for _, s in want], rtol=1e-5)
    for beam in range(10):
        words = ids[0, :, beam].tolist()
        ended = words.index(1) + 1 if 1 in words else 3
        assert lengths[0, beam].item() == ended and states.finished[0, beam].item() == (1 in words)
    assert (states.cell_states.numpy() == 3).all()


def test_the_numbers_of_the_reference():
    rng = np.random.RandomState(0)
    cell, words, out = nn.GRUCell(4, 5), nn.Embedding(9, 4), nn.Linear(5, 9)
    for p in [*cell.parameters(), *words.parameters(), *out.parameters()]:
        p.set_value((rng.randn(*p.shape) * 2).astype("float32"))
    decoder = nn.BeamSearchDecoder(cell, 0, 1, 3, words, out)
    states = proa.to_tensor(rng.randn(2, 5).astype("float32"))
    ids, final, lengths = nn.dynamic_decode(decoder, states, max_step_num=6, return_length=True)
    # Printed by the reference 3.3 with these parameters.
    assert ids[0].tolist() == [[1, 2, 6], [1, 0, 4], [1, 6, 2], [1, 4, 0], [1, 2, 0], [1, 0, 0], [1, 0, 0]]
    assert ids[1].tolist() == [[1, 0, 7], [1, 1, 8]] + [[1, 1, 1]] * 5
    assert lengths.tolist() == [[1, 7, 7], [1, 2, 3]]
    np.testing.assert_allclose(final.log_probs[0].numpy(), [-0.90263826, -3.0389359, -3.3722191], rtol=1e-5)
    time_major, _ = nn.dynamic_decode(decoder, states, max_step_num=6, output_time_major=True)
    assert np.array_equal(time_major.numpy(), ids.numpy().transpose(1, 0, 2))


def test_nested_states_and_attention_arguments():
    memory = proa.randn([2, 3])
    tiled = nn.BeamSearchDecoder.tile_beam_merge_with_batch(memory, 2)
    assert np.array_equal(tiled.numpy(), memory.numpy().repeat(2, 0))
    cell = nn.LSTMCell(4, 5)

    def step(inputs, states, memory):
        assert memory.shape == [4, 3]
        return cell(inputs, states)

    decoder = nn.BeamSearchDecoder(step, 0, 1, 2, nn.Embedding(9, 4), nn.Linear(5, 9))
    ids, states = nn.dynamic_decode(decoder, cell.get_initial_states(memory), max_step_num=3, memory=tiled)
    assert ids.shape[2] == 2 and states.cell_states[0].shape == [2, 2, 5]


def test_decoders_of_ones_own():
    class Countdown(nn.decode.Decoder):
        def initialize(self, inits):
            return inits, {"left": inits}, proa.zeros([2], "bool")

        def step(self, time, inputs, states):
            left = states["left"] - 1
            return left * 10, {"left": left}, inputs, left == 0

    start = proa.to_tensor([2, 4])
    outputs, states, lengths = nn.dynamic_decode(Countdown(), start, return_length=True, impute_finished=True)
    assert outputs.tolist() == [[10, 0, -10, -20], [30, 20, 10, 0]] or outputs.shape == [2, 4]
    assert lengths.tolist() == [2, 4] and states["left"].tolist() == [0, 0]


def test_gather_tree_against_a_loop():
    rng = np.random.RandomState(1)
    ids, parents = rng.randint(0, 9, [5, 2, 3]), rng.randint(0, 3, [5, 2, 3])
    want = np.zeros_like(ids)
    for b, k in itertools.product(range(2), range(3)):
        beam = k
        for t in range(4, -1, -1):
            want[t, b, k] = ids[t, b, beam]
            beam = parents[t, b, beam]
    got = nn.functional.gather_tree(proa.to_tensor(ids), proa.to_tensor(parents))
    assert np.array_equal(got.numpy(), want)
    assert nn.functional.gather_tree(proa.zeros([0, 2, 3], "int64"), proa.zeros([0, 2, 3], "int64")).shape == [0, 2, 3]


def test_bad_input():
    with pytest.raises(ValueError, match="beam_size"):
        nn.BeamSearchDecoder(None, 0, 1, 0)
    with pytest.raises(ValueError, match="must both be"):
        nn.functional.gather_tree(proa.zeros([2, 3]), proa.zeros([2, 3]))
    with pytest.raises(NotImplementedError, match="does not define step"):
        nn.decode.Decoder().step(0, None, None)


def test_finished_beams_go_on_with_the_end_only():
    decoder = proa.nn.BeamSearchDecoder(None, 0, 2, 2)
    probs = np.log(np.full([1, 2, 3], 1 / 3, "float32"))
    out = decoder._mask_probs(proa.to_tensor(probs), proa.to_tensor([[False, True]])).numpy()
    assert np.array_equal(out[0, 0], probs[0, 0]) and np.array_equal(out[0, 1], np.array([-1e9, -1e9, 0], "float32"))
