"""Labels of words by LSTMs in both directions and a CRF: sequences from a DataFeeder, evaluated by chunks, saved and loaded."""

import numpy as np
import paddle
from paddle import fluid

WORDS, LABELS, SIZE = 40, 5, 12


def sentences():
    drawn = np.random.RandomState(0)
    for _ in range(32):
        words = drawn.randint(0, WORDS, drawn.randint(2, 8))
        yield words.tolist(), (words % LABELS).tolist()


words = fluid.data(name="words", shape=[None, 1], dtype="int64", lod_level=1)
labels = fluid.layers.data(name="labels", shape=[1], dtype="int64", lod_level=1)
rows = fluid.layers.embedding(words, size=[WORDS, SIZE], is_sparse=True)
states = []
for backwards in (False, True):
    gates = fluid.layers.fc(rows, size=4 * SIZE)
    state, _ = fluid.layers.dynamic_lstm(gates, size=4 * SIZE, is_reverse=backwards)
    states.append(fluid.layers.fc(state, size=LABELS))
scores = fluid.layers.sums(states)
cost = fluid.layers.mean(fluid.layers.linear_chain_crf(scores, labels, param_attr=fluid.ParamAttr(name="moves")))
best = fluid.layers.crf_decoding(scores, param_attr=fluid.ParamAttr(name="moves"))
chunks = fluid.layers.chunk_eval(best, labels, chunk_scheme="IOB", num_chunk_types=2)
rate = fluid.layers.exponential_decay(0.05, decay_steps=10, decay_rate=0.9, staircase=True)
fluid.optimizer.Adam(learning_rate=rate).minimize(cost)

place = fluid.CPUPlace()
exe = fluid.Executor(place)
exe.run(fluid.default_startup_program())
feeder = fluid.DataFeeder(feed_list=[words, labels], place=place)
evaluator = fluid.metrics.ChunkEvaluator()
costs = []
for _ in range(8):
    evaluator.reset()
    for batch in paddle.batch(paddle.reader.shuffle(sentences, 32), batch_size=8)():
        found = exe.run(feed=feeder.feed(batch), fetch_list=[cost, *chunks[3:], rate])
        costs.append(found[0].item())
        evaluator.update(*found[1:4])
assert costs[-1] < costs[0] / 2 and found[4].item() < 0.05
assert evaluator.eval()[2] > 0.5

fluid.io.save_inference_model("labeler", ["words"], [best], exe)
with fluid.scope_guard(fluid.core.Scope()):
    program, names, targets = fluid.io.load_inference_model("labeler", exe)
    given = fluid.create_lod_tensor(np.arange(6).reshape(6, 1).astype("int64"), [[4, 2]], place)
    (path,) = exe.run(program, feed={names[0]: given}, fetch_list=targets, return_numpy=False)
assert path.lod() == [[0, 4, 6]] and np.array(path).shape == (6, 1)
