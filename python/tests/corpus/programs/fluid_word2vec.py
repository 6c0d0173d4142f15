# Word vectors as in the 1.8 book: four words share one table, concat, fc, softmax, piecewise_decay, gradient clipping.
import numpy as np
import paddle.fluid as fluid

WORDS, SIZE = 20, 5


def attr(name, *shape):
    values = np.sin(np.arange(np.prod(shape)) * 0.9 + len(name)).reshape(shape) * 0.5
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.NumpyArrayInitializer(values.astype("float32")))


rng = np.random.RandomState(6)
DATA = rng.randint(0, WORDS, [16, 5, 1]).astype("int64")

words = [fluid.layers.data(name=n, shape=[1], dtype="int64") for n in ("first", "second", "third", "fourth", "next")]
embeddings = [
    fluid.layers.embedding(
        input=word, size=[WORDS, SIZE], dtype="float32", is_sparse=False, param_attr=attr("shared_w", WORDS, SIZE)
    )
    for word in words[:4]
]
concat_embed = fluid.layers.concat(input=embeddings, axis=1)
hidden1 = fluid.layers.fc(input=concat_embed, size=8, act="sigmoid", param_attr=attr("hidden", 4 * SIZE, 8))
predict_word = fluid.layers.fc(input=hidden1, size=WORDS, act="softmax", param_attr=attr("out", 8, WORDS))
cost = fluid.layers.cross_entropy(input=predict_word, label=words[4])
avg_cost = fluid.layers.mean(cost)
fluid.clip.set_gradient_clip(fluid.clip.GradientClipByGlobalNorm(clip_norm=0.5))
rate = fluid.layers.piecewise_decay(boundaries=[3, 5], values=[1.0, 0.5, 0.1])
fluid.optimizer.SGD(learning_rate=rate).minimize(avg_cost)

exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
for step in range(7):
    feed = {word.name: DATA[:, i] for i, word in enumerate(words)}
    (value,) = exe.run(fluid.default_main_program(), feed=feed, fetch_list=[avg_cost])
    print("step %d, cost %.5f" % (step, np.asarray(value).ravel()[0]))
table = np.array(fluid.global_scope().find_var("shared_w").get_tensor())
print("table", " ".join("%.4f" % v for v in table[3]))
