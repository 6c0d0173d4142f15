"""A translator whose cell looks back at the source: trained step by step, decoded by beam search with what was trained."""

import numpy as np
from paddle import fluid
from paddle.fluid import layers

WORDS, SIZE, BEGIN, END = 14, 10, 0, 1


class LookingCell(layers.RNNCell):
    """A GRU that is given, besides its input, a mean of the source by how well its state fits. Its layers have no names."""

    def __init__(self):
        self.inner = layers.GRUCell(SIZE)

    def call(self, inputs, states, source, allowed):
        wish = layers.unsqueeze(layers.fc(states, SIZE, bias_attr=False), [1])
        fit = layers.fc(layers.tanh(source + wish), 1, num_flatten_dims=2, bias_attr=False)
        share = layers.softmax(layers.squeeze(fit, [2]) + allowed)
        seen = layers.reduce_sum(layers.elementwise_mul(source, share, axis=0), dim=1)
        return self.inner(layers.concat([inputs, seen], axis=1), states)

    @property
    def state_shape(self):
        return [SIZE]


def translator(training):
    """The loss in training; else the words that a beam search finds."""
    source, count = fluid.data("source", [None, None], "int64"), fluid.data("count", [None], "int64")
    table = lambda x: fluid.embedding(x, [WORDS, SIZE], param_attr="table")
    rows, state = layers.rnn(layers.GRUCell(SIZE), table(source), sequence_length=count)
    allowed = (layers.sequence_mask(count, layers.shape(source)[1], "float32") - 1.0) * 1e9
    cell = LookingCell()
    words = lambda x: layers.fc(x, WORDS, len(x.shape) - 1, param_attr="words", bias_attr="bias")
    if training:
        target = fluid.data("target", [None, 4], "int64")
        out, _ = layers.rnn(cell, table(target), state, source=rows, allowed=allowed)
        wanted = fluid.data("wanted", [None, 4, 1], "int64")
        return layers.reduce_mean(layers.softmax_with_cross_entropy(words(out), wanted))
    many = layers.BeamSearchDecoder.tile_beam_merge_with_batch
    search = layers.BeamSearchDecoder(cell, BEGIN, END, beam_size=3, embedding_fn=table, output_fn=words)
    found, _ = layers.dynamic_decode(search, state, max_step_num=5, source=many(rows, 3), allowed=many(allowed, 3))
    return found


def built(training):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        result = translator(training)
        if training:
            fluid.optimizer.Adam(0.02).minimize(result)
    return main, startup, result


exe = fluid.Executor(fluid.CPUPlace())
main, startup, loss = built(True)
exe.run(startup)
sentences = np.array([[2, 3, 4, 5], [6, 7, 8, 9], [10, 11, 12, 13]])
ends = np.concatenate([sentences[:, :3], np.full([3, 1], END)], 1)
feed = {"source": sentences, "count": np.array([4, 4, 4]), "wanted": ends[:, :, None],
        "target": np.concatenate([np.full([3, 1], BEGIN), ends[:, :3]], 1)}  # fmt: skip
losses = [exe.run(main, feed=feed, fetch_list=[loss])[0].item() for _ in range(150)]
assert losses[-1] < 0.1 < losses[0]
fluid.save(main, "translator")

decoding, _, found = built(False)
fluid.load(decoding, "translator", exe)
(read,) = exe.run(decoding, feed={name: feed[name] for name in ("source", "count")}, fetch_list=[found])
assert read[:, :4, 0].tolist() == ends.tolist()
