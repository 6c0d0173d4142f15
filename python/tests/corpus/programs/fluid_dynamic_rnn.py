# Sentiment as in the 1.8 book, with an LSTM that is written as a DynamicRNN and a rate that a Switch warms up.
import numpy as np
import paddle.fluid as fluid

WORDS, SIZE = 20, 5


def attr(name, *shape):
    values = np.cos(np.arange(np.prod(shape)) * 1.7 + len(name)).reshape(shape) * 0.5
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.NumpyArrayInitializer(values.astype("float32")))


def gate(word, hidden, name):
    return fluid.layers.fc(
        input=[word, hidden],
        size=SIZE,
        param_attr=[attr(name + "_x", SIZE, SIZE), attr(name + "_hh", SIZE, SIZE)],
        bias_attr=attr(name + "_bias", SIZE),
    )


rng = np.random.RandomState(4)
lengths = [3, 1, 6, 4]
words = rng.randint(0, WORDS, [sum(lengths), 1]).astype("int64")
labels = rng.randint(0, 2, [4, 1]).astype("int64")

main, startup = fluid.Program(), fluid.Program()
with fluid.program_guard(main, startup):
    data = fluid.layers.data(name="words", shape=[1], dtype="int64", lod_level=1)
    label = fluid.layers.data(name="label", shape=[1], dtype="int64")
    sentence = fluid.layers.embedding(input=data, size=[WORDS, SIZE], param_attr=attr("emb", WORDS, SIZE))
    rnn = fluid.layers.DynamicRNN()
    with rnn.block():
        word = rnn.step_input(sentence)
        hidden = rnn.memory(value=0.0, shape=[SIZE])
        cell = rnn.memory(value=0.0, shape=[SIZE])
        forget = fluid.layers.sigmoid(gate(word, hidden, "f"))
        enter = fluid.layers.sigmoid(gate(word, hidden, "in"))
        leave = fluid.layers.sigmoid(gate(word, hidden, "out"))
        new = fluid.layers.tanh(gate(word, hidden, "cell"))
        cell_now = fluid.layers.elementwise_add(
            fluid.layers.elementwise_mul(forget, cell), fluid.layers.elementwise_mul(enter, new)
        )
        hidden_now = fluid.layers.elementwise_mul(leave, fluid.layers.tanh(cell_now))
        rnn.update_memory(cell, cell_now)
        rnn.update_memory(hidden, hidden_now)
        rnn.output(hidden_now)
    last = fluid.layers.sequence_last_step(rnn())
    prediction = fluid.layers.fc(input=last, size=2, act="softmax", param_attr=attr("o", SIZE, 2))
    loss = fluid.layers.mean(fluid.layers.cross_entropy(input=prediction, label=label))

    step = fluid.layers.create_global_var([1], 0.0, "float32", persistable=True, name="step")
    rate = fluid.layers.create_global_var([1], 0.0, "float32", persistable=True, name="rate")
    with fluid.layers.Switch() as switch:
        with switch.case(step < 3.0):
            fluid.layers.assign(step * 0.2 + 0.1, rate)
        with switch.default():
            fluid.layers.assign(fluid.layers.fill_constant([1], "float32", 0.5), rate)
    fluid.layers.increment(step)
    fluid.optimizer.SGD(learning_rate=rate).minimize(loss)

exe = fluid.Executor(fluid.CPUPlace())
exe.run(startup)
feed = {"words": fluid.create_lod_tensor(words, [lengths], fluid.CPUPlace()), "label": labels}
for number in range(6):
    value, now = exe.run(main, feed=feed, fetch_list=[loss, rate])
    print("step %d, rate %.2f, loss %.4f" % (number, now.ravel()[0], np.asarray(value).ravel()[0]))
