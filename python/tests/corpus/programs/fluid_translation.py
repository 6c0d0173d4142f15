# Translation as in the 1.8 book: an LSTM reads the source, a DynamicRNN writes the target.
import numpy as np
import paddle.fluid as fluid

WORDS, SIZE = 12, 4


def attr(name, *shape):
    values = np.cos(np.arange(np.prod(shape)) * 2.1 + len(name)).reshape(shape) * 0.5
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.NumpyArrayInitializer(values.astype("float32")))


def encoder(source):
    emb = fluid.layers.embedding(input=source, size=[WORDS, SIZE], param_attr=attr("source", WORDS, SIZE))
    fc1 = fluid.layers.fc(input=emb, size=SIZE * 4, act="tanh", param_attr=attr("fc1", SIZE, SIZE * 4))
    hidden, _ = fluid.layers.dynamic_lstm(
        input=fc1, size=SIZE * 4, param_attr=attr("lstm", SIZE, SIZE * 4), bias_attr=attr("bias", 1, SIZE * 7)
    )
    return fluid.layers.sequence_last_step(input=hidden)


def step(word, state):
    now = fluid.layers.fc(
        input=[word, state], size=SIZE, act="tanh", param_attr=[attr("word", SIZE, SIZE), attr("state_", SIZE, SIZE)],
        bias_attr=attr("step_bias", SIZE),
    )  # fmt: skip
    score = fluid.layers.fc(
        input=now, size=WORDS, act="softmax", param_attr=attr("score", SIZE, WORDS), bias_attr=attr("score_bias", WORDS)
    )
    return now, score


rng = np.random.RandomState(6)
sources, targets = [3, 5, 2], [4, 2, 3]
ids = [rng.randint(0, WORDS, [sum(n), 1]).astype("int64") for n in (sources, targets, targets)]

main, startup = fluid.Program(), fluid.Program()
with fluid.program_guard(main, startup):
    source = fluid.layers.data(name="source_ids", shape=[1], dtype="int64", lod_level=1)
    target = fluid.layers.data(name="target_ids", shape=[1], dtype="int64", lod_level=1)
    following = fluid.layers.data(name="next_ids", shape=[1], dtype="int64", lod_level=1)
    context = encoder(source)
    emb = fluid.layers.embedding(input=target, size=[WORDS, SIZE], param_attr=attr("target", WORDS, SIZE))
    rnn = fluid.layers.DynamicRNN()
    with rnn.block():
        word = rnn.step_input(emb)
        state = rnn.memory(init=context, need_reorder=True)
        now, score = step(word, state)
        rnn.update_memory(state, now)
        rnn.output(score)
    loss = fluid.layers.mean(fluid.layers.cross_entropy(input=rnn(), label=following))
    decoded = fluid.default_main_program().clone(for_test=True)
    clip = fluid.clip.GradientClipByGlobalNorm(clip_norm=0.3)
    decay = fluid.regularizer.L2DecayRegularizer(regularization_coeff=0.1)
    fluid.optimizer.SGD(learning_rate=0.5, regularization=decay, grad_clip=clip).minimize(loss)

exe = fluid.Executor(fluid.CPUPlace())
exe.run(startup)
lod = lambda values, lengths: fluid.create_lod_tensor(values, [lengths], fluid.CPUPlace())
feed = {"source_ids": lod(ids[0], sources), "target_ids": lod(ids[1], targets), "next_ids": lod(ids[2], targets)}
for number in range(5):
    print("step %d, loss %.4f" % (number, np.asarray(exe.run(main, feed=feed, fetch_list=[loss])[0]).ravel()[0]))
(end,) = exe.run(decoded, feed=feed, fetch_list=[context])
print("context", " ".join("%.4f" % v for v in end.ravel()))
