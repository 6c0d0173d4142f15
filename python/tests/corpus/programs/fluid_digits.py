# Digits as in the 1.8 book: two simple_img_conv_pool, fc with softmax, cross_entropy, accuracy, Adam; then layers of dygraph.
import numpy as np
import paddle.fluid as fluid


def attr(*shape):
    values = np.sin(np.arange(np.prod(shape)) * 1.7 + len(shape)).reshape(shape) * 0.3
    return fluid.ParamAttr(initializer=fluid.initializer.NumpyArrayInitializer(values.astype("float32")))


rng = np.random.RandomState(4)
IMAGES = rng.rand(12, 1, 14, 14).astype("float32")
LABELS = rng.randint(0, 10, [12, 1]).astype("int64")


def convolutional_neural_network(img):
    first = fluid.nets.simple_img_conv_pool(
        input=img, filter_size=3, num_filters=4, pool_size=2, pool_stride=2, act="relu", param_attr=attr(4, 1, 3, 3)
    )
    second = fluid.nets.simple_img_conv_pool(
        input=first, filter_size=3, num_filters=6, pool_size=2, pool_stride=2, act="relu", param_attr=attr(6, 4, 3, 3)
    )
    return fluid.layers.fc(input=second, size=10, act="softmax", param_attr=attr(24, 10))


main, startup = fluid.Program(), fluid.Program()
with fluid.program_guard(main, startup):
    img = fluid.layers.data(name="img", shape=[1, 14, 14], dtype="float32")
    label = fluid.layers.data(name="label", shape=[1], dtype="int64")
    prediction = convolutional_neural_network(img)
    avg_loss = fluid.layers.mean(fluid.layers.cross_entropy(input=prediction, label=label))
    acc = fluid.layers.accuracy(input=prediction, label=label)
    test = main.clone(for_test=True)
    optimizer = fluid.optimizer.MomentumOptimizer(
        learning_rate=0.1, momentum=0.9, regularization=fluid.regularizer.L2Decay(1e-3)
    )
    optimizer.minimize(avg_loss)

exe = fluid.Executor(fluid.CPUPlace())
exe.run(startup)
compiled = fluid.CompiledProgram(main).with_data_parallel(loss_name=avg_loss.name)
for step in range(6):
    loss, right = exe.run(compiled, feed={"img": IMAGES, "label": LABELS}, fetch_list=[avg_loss.name, acc.name])
    print("step %d, loss %.4f, accuracy %.3f" % (step, np.asarray(loss).ravel()[0], np.asarray(right).ravel()[0]))
scores = exe.run(test, feed={"img": IMAGES, "label": LABELS}, fetch_list=[prediction])[0]
print("scores", " ".join("%.4f" % v for v in scores[0]))
fluid.io.save_persistables(exe, "digits", main)
exe.run(startup)
fluid.io.load_persistables(exe, "digits", main)
again = exe.run(test, feed={"img": IMAGES, "label": LABELS}, fetch_list=[prediction])[0]
print("same after loading:", bool((again == scores).all()))
