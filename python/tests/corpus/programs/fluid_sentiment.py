# Sentiment as in the 1.8 book: sequences with levels, an embedding, a stacked LSTM one of which walks back, pools, Adagrad.
import numpy as np
import paddle.fluid as fluid

WORDS, SIZE = 30, 6


def attr(name, *shape):
    values = np.cos(np.arange(np.prod(shape)) * 2.3 + len(name)).reshape(shape) * 0.4
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.NumpyArrayInitializer(values.astype("float32")))


rng = np.random.RandomState(8)
lengths = [4, 2, 7, 1, 5]
words = rng.randint(0, WORDS, [sum(lengths), 1]).astype("int64")
labels = rng.randint(0, 2, [5, 1]).astype("int64")

main, startup = fluid.Program(), fluid.Program()
with fluid.program_guard(main, startup):
    data = fluid.layers.data(name="words", shape=[1], dtype="int64", lod_level=1)
    label = fluid.layers.data(name="label", shape=[1], dtype="int64")
    emb = fluid.layers.embedding(input=data, size=[WORDS, SIZE], param_attr=attr("emb", WORDS, SIZE))
    fc1 = fluid.layers.fc(input=emb, size=4 * SIZE, param_attr=attr("fc1", SIZE, 4 * SIZE))
    lstm1, cell1 = fluid.layers.dynamic_lstm(
        input=fc1, size=4 * SIZE, param_attr=attr("lstm1", SIZE, 4 * SIZE), bias_attr=attr("b1", 1, 7 * SIZE)
    )
    fc2 = fluid.layers.fc(
        input=[fc1, lstm1],
        size=4 * SIZE,
        param_attr=[attr("fc2a", 4 * SIZE, 4 * SIZE), attr("fc2bb", SIZE, 4 * SIZE)],
    )
    lstm2, cell2 = fluid.layers.dynamic_lstm(
        input=fc2,
        size=4 * SIZE,
        is_reverse=True,
        param_attr=attr("second", SIZE, 4 * SIZE),
        bias_attr=attr("b22", 1, 7 * SIZE),
    )
    fc_last = fluid.layers.sequence_pool(input=fc2, pool_type="max")
    lstm_last = fluid.layers.sequence_pool(input=lstm2, pool_type="max")
    conv = fluid.nets.sequence_conv_pool(
        input=emb, num_filters=5, filter_size=3, act="tanh", pool_type="sqrt", param_attr=attr("conv", 3 * SIZE, 5)
    )
    prediction = fluid.layers.fc(
        input=[fc_last, lstm_last, conv],
        size=2,
        act="softmax",
        param_attr=[attr("o", 4 * SIZE, 2), attr("oo", SIZE, 2), attr("ooo", 5, 2)],
    )
    loss = fluid.layers.mean(fluid.layers.cross_entropy(input=prediction, label=label))
    fluid.optimizer.Adagrad(learning_rate=0.05).minimize(loss)

exe = fluid.Executor(fluid.CPUPlace())
exe.run(startup)
feed = {"words": fluid.create_lod_tensor(words, [lengths], fluid.CPUPlace()), "label": labels}
for step in range(5):
    value, scores = exe.run(main, feed=feed, fetch_list=[loss, prediction])
    print("step %d, loss %.4f" % (step, np.asarray(value).ravel()[0]))
print("scores", " ".join("%.4f" % v for v in scores.ravel()))
