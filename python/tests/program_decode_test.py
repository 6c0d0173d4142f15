"""Cells along sequences whose length only the run knows, and decoding step by step, in programs: against eager calls and NumPy."""

import numpy as np
import pytest

import proa
from proa import fluid, nn
from proa.fluid import layers

_RNG = np.random.RandomState(5)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.fixture
def program():
    main, startup = fluid.Program(), fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, startup), proa.utils.unique_name.guard():
        yield main


def _values(names):
    scope = fluid.global_scope()
    return {name: np.array(scope.find_var(name).get_tensor()) for name in names}


def _gru(x, lengths, weights, reverse):
    """GRUCell of fluid by a loop: outputs [N, T, size], zeros behind the end, and last states."""
    (wg, bg), (wc, bc) = weights
    size = wc.shape[1]
    out, last = np.zeros([*x.shape[:2], size]), np.zeros([len(x), size])
    for n in range(len(x)):
        h = np.zeros(size)
        for t in reversed(range(x.shape[1])) if reverse else range(x.shape[1]):
            if t >= lengths[n]:
                continue
            gates = _sigmoid(np.concatenate([x[n, t], h]) @ wg + bg)
            r, u = gates[:size], gates[size:]
            c = np.tanh(np.concatenate([x[n, t], r * h]) @ wc + bc)
            h = u * h + (1 - u) * c
            out[n, t] = h
        last[n] = h
    return out, last


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("steps", [None, 4])
def test_a_cell_along_unknown_steps(program, steps, reverse):
    x, n = fluid.data("x", [None, steps, 3]), fluid.data("n", [None], "int64")
    out, last = layers.rnn(layers.GRUCell(2, param_attr="w", bias_attr="b"), x, sequence_length=n, is_reverse=reverse)
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    held = _values(["w_gate", "b_gate", "w_candidate", "b_candidate"])
    assert len(program.all_parameters()) == 4
    for count in (4,) if steps else (4, 1, 6):
        value = _RNG.randn(2, count, 3).astype("float32")
        lengths = np.array([count, max(1, count - 2)])
        found = executor.run(program, feed={"x": value, "n": lengths}, fetch_list=[out, last])
        weights = (held["w_gate"], held["b_gate"]), (held["w_candidate"], held["b_candidate"])
        for got, want in zip(found, _gru(value, lengths, weights, reverse), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


class _Cell(layers.RNNCell):
    """A cell that makes the parameters of its layers when it is called, without names."""

    def __init__(self, size):
        self.size = size

    def call(self, inputs, states, context=None):
        mixed = layers.fc(inputs, self.size, bias_attr=False) + layers.fc(states, self.size)
        state = layers.tanh(mixed if context is None else mixed + context)
        return state, state

    @property
    def state_shape(self):
        return [self.size]


@pytest.mark.parametrize("steps", [None, 5])
def test_a_cell_has_one_set_of_parameters(program, steps):
    """Steps share what `call` makes, known or not how many they are; gradients are those of one another."""
    x = fluid.data("x", [None, steps, 3])
    out, _ = layers.rnn(_Cell(2), x, context=layers.fc(x[:, 0], 2, bias_attr=False))
    loss = layers.reduce_mean(layers.square(out))
    parameters = program.all_parameters()
    assert sorted(list(p.shape) for p in parameters) == [[2], [2, 2], [3, 2], [3, 2]]
    grads = proa.static.gradients([loss], parameters)
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    feed = {"x": _RNG.randn(2, 5, 3).astype("float32")}
    slopes = executor.run(program, feed=feed, fetch_list=list(grads))
    for p, slope in zip(parameters, slopes, strict=True):
        held = fluid.global_scope().find_var(p.name).get_tensor()
        value = np.array(held)
        for place in list(np.ndindex(value.shape))[::2]:
            found = []
            for step in (1e-2, -1e-2):
                moved = value.copy()
                moved[place] += step
                held.set(moved)
                found.append(executor.run(program, feed=feed, fetch_list=[loss])[0].item())
            held.set(value)
            assert abs(slope[place] - (found[0] - found[1]) / 2e-2) < 2e-3


def _decoder(words=9, beams=3):
    proa.seed(4)
    table = nn.Embedding(words, 4)
    scores = nn.Linear(4, words)
    scores.weight.set_value(scores.weight * 3.0)
    return nn.BeamSearchDecoder(nn.GRUCell(4, 4), 0, 1, beams, table, scores)


@pytest.mark.parametrize("most", [6, 0, None])
def test_a_beam_search_in_a_program(most):
    """The program gives what eager decoding gives, for batches of several sizes; it ends by itself, or at a bound."""
    decoder = _decoder()
    most_eager = most if most is not None else 60
    if most is None:
        decoder.output_fn.bias.set_value(proa.to_tensor([0.0, 4.0, *[0.0] * 7]))  # the end comes soon
    states = [_RNG.randn(n, 4).astype("float32") for n in (2, 1, 3)]
    wanted = [
        nn.dynamic_decode(decoder, proa.to_tensor(s), max_step_num=most_eager, return_length=True) for s in states
    ]
    main = proa.static.Program()
    with proa.static.program_guard(main):
        start = proa.static.data("start", [None, 4])
        ids, last, lengths = nn.dynamic_decode(decoder, start, max_step_num=most, return_length=True)
        fetches = [ids, last.log_probs, lengths]
    for state, (ids, last, lengths) in zip(states, wanted, strict=True):
        found = proa.static.Executor().run(main, feed={"start": state}, fetch_list=fetches)
        assert found[0].tolist() == ids.tolist() and found[2].tolist() == lengths.tolist()
        np.testing.assert_allclose(found[1], last.log_probs.numpy(), rtol=1e-5)
    assert most is not None or all(ids.shape[1] < 60 for ids, *_ in wanted)


def test_a_beam_search_is_converted(tmp_path):
    """By to_static, with values and after jit.save."""
    decoder = _decoder()
    layer = nn.LayerList([decoder.cell, decoder.embedding_fn, decoder.output_fn])

    def decode(start):
        ids, _ = nn.dynamic_decode(decoder, start, max_step_num=5)
        return ids

    state = proa.to_tensor(_RNG.randn(2, 4).astype("float32"))
    want = decode(state).tolist()
    converted = proa.jit.to_static(decode, input_spec=[proa.static.InputSpec([None, 4])])
    assert converted(state).tolist() == want and len(layer) == 3
    proa.jit.save(converted, str(tmp_path / "decoder"))
    assert proa.jit.load(str(tmp_path / "decoder"))(state).tolist() == want


def test_a_decoder_of_ones_own(program):
    """Finished entries keep their states, and lengths are counted."""

    class Counting(nn.Decoder):
        def initialize(self, inits):
            return inits, inits, layers.less_than(inits, inits)

        def step(self, time, inputs, states):
            new = states + 1.0
            return new, new, new, new >= 3.0

    start = fluid.data("start", [None])
    out, last, lengths = layers.dynamic_decode(
        Counting(), start, impute_finished=True, return_length=True, output_time_major=True
    )
    found = fluid.Executor().run(program, feed={"start": np.float32([0, 1.5])}, fetch_list=[out, last, lengths])
    assert found[0].tolist() == [[1.0, 2.5], [2.0, 3.5], [3.0, 4.5]]
    assert found[1].tolist() == [3.0, 3.5] and found[2].tolist() == [3, 2]


@pytest.mark.parametrize("dim", [None, 0, 1, -1])
def test_weight_norm(program, dim):
    """A weight as direction and length: its value, its slopes, and a step that trains both."""
    x = fluid.data("x", [None, 3])
    attr = fluid.WeightNormParamAttr(dim=dim, name="w", initializer=fluid.initializer.Normal())
    loss = layers.reduce_sum(layers.square(layers.fc(x, 2, param_attr=attr, bias_attr=False)))
    parameters = {p.name: p for p in program.all_parameters()}
    grads = proa.static.gradients([loss], [parameters["w_v"], parameters["w_g"]])
    fluid.optimizer.SGD(0.01).minimize(loss)
    executor = fluid.Executor()
    executor.run(fluid.default_startup_program())
    held = _values(["w_v", "w_g"])
    value = _RNG.randn(4, 3).astype("float32")
    with proa._C.eager_mode():
        given = v, g = [proa.to_tensor(held[name], stop_gradient=False) for name in ("w_v", "w_g")]
        axis = None if dim is None else 1 - dim % 2
        norm = (v * v).sum(axis=axis, keepdim=True).sqrt()
        np.testing.assert_allclose(
            norm.numpy().ravel(), held["w_g"], rtol=1e-5
        )  # the weight begins as its initializer says
        scale = g.reshape([1, 1] if dim is None else [-1 if i == dim % 2 else 1 for i in range(2)])
        wanted = ((proa.to_tensor(value) @ (v / norm * scale)) ** 2).sum()
        wanted.backward()
        wanted, slopes = wanted.numpy().ravel(), [p.grad.numpy() for p in given]
    found = executor.run(program, feed={"x": value}, fetch_list=[loss, *grads])
    np.testing.assert_allclose(found[0], wanted, rtol=1e-4)
    for slope, want in zip(found[1:], slopes, strict=True):
        np.testing.assert_allclose(slope, want, rtol=1e-3, atol=1e-4)
    for name, before, slope in zip(("w_v", "w_g"), held.values(), found[1:], strict=True):
        np.testing.assert_allclose(_values([name])[name], before - 0.01 * slope, rtol=1e-4, atol=1e-6)


def test_weight_norm_of_a_layer_is_a_function(program):
    attr = fluid.WeightNormParamAttr(dim=1)
    for make in (
        lambda: proa.nn.Linear(3, 2, weight_attr=attr),
        lambda: proa.create_parameter([2], "float32", attr=attr),
    ):
        with pytest.raises(TypeError, match=r"nn.utils.weight_norm\(layer\) does the same"):
            make()


def test_weight_norm_of_a_wrong_dim(program):
    with pytest.raises(ValueError, match=r"dim 2 is none of \[3, 2\]"):
        layers.fc(fluid.data("x", [None, 3]), 2, param_attr=fluid.WeightNormParamAttr(dim=2))
    with pytest.raises(TypeError, match="dim must be an int or None, not '1'"):
        fluid.WeightNormParamAttr(dim="1")


def _helpers(kind, table, scores, program):
    """A BasicDecoder with each helper; the words of training are rows of numbers."""
    cell = nn.GRUCell(4, 4)
    if kind == "training":
        words = _RNG.randint(0, 9, (2, 5))
        helper = layers.TrainingHelper(table(proa.to_tensor(words)), proa.to_tensor(np.int64([5, 3])))
        return cell, words, layers.BasicDecoder(cell, helper, scores)
    kinds = {"greedy": layers.GreedyEmbeddingHelper, "drawn": layers.SampleEmbeddingHelper}
    return cell, None, layers.BasicDecoder(cell, kinds[kind](table, proa.zeros([2], "int64"), 1), scores)


@pytest.mark.parametrize("kind", ["training", "greedy", "drawn"])
def test_helpers_say_what_comes_next(kind):
    """Against a loop by hand; the same in a program, but for what is drawn."""
    proa.seed(11)
    table, scores = nn.Embedding(9, 4), nn.Linear(4, 9)
    cell, words, decoder = _helpers(kind, table, scores, None)
    start = proa.to_tensor(_RNG.randn(2, 4).astype("float32"))
    outputs, last, lengths = nn.dynamic_decode(decoder, start, max_step_num=6, return_length=True)
    ids = outputs.sample_ids.numpy()
    h, before, steps = start, np.zeros(2, "int64"), outputs.cell_outputs.shape[1]
    for t in range(steps):
        inputs = words[:, t] if kind == "training" else before
        x = table(proa.to_tensor(inputs))
        if kind == "training":
            x = x * float(1.0)
        y, h = cell(x, h)
        wanted = scores(y).numpy()
        np.testing.assert_allclose(outputs.cell_outputs.numpy()[:, t], wanted, rtol=1e-4, atol=1e-5)
        if kind != "drawn":
            assert ids[:, t].tolist() == wanted.argmax(1).tolist()
        before = ids[:, t]
    if kind == "training":
        assert steps == 5 and lengths.tolist() == [5, 3]
    main = proa.static.Program()
    with proa.static.program_guard(main):
        given = proa.static.data("start", [None, 4])
        again, _ = nn.dynamic_decode(decoder, given, max_step_num=6)
        fetches = [again.cell_outputs, again.sample_ids]
    found = proa.static.Executor().run(main, feed={"start": start.numpy()}, fetch_list=fetches)
    if kind == "drawn":
        assert found[1].min() >= 0 and found[1].max() < 9
    else:
        np.testing.assert_allclose(found[0], outputs.cell_outputs.numpy(), rtol=1e-4, atol=1e-5)
        assert found[1].tolist() == ids.tolist()


def test_a_helper_without_methods():
    helper = layers.DecodeHelper()
    for call in (helper.initialize, lambda: helper.sample(0, 0, 0), lambda: helper.next_inputs(0, 0, 0, 0)):
        with pytest.raises(NotImplementedError, match="DecodeHelper does not define"):
            call()
