# The first program of the 1.8 book: fluid.layers.fc, square_error_cost, SGD, a reader, DataFeeder, an inference model.
import numpy as np
import paddle
import paddle.fluid as fluid

rng = np.random.RandomState(11)
X = rng.randn(40, 13).astype("float32")
Y = (X @ np.linspace(-1, 1, 13).reshape(13, 1) + 0.5).astype("float32")


def reader():
    for x, y in zip(X, Y):
        yield x, y


main_program = fluid.default_main_program()
startup_program = fluid.default_startup_program()
x = fluid.data(name="x", shape=[None, 13], dtype="float32")
y = fluid.data(name="y", shape=[None, 1], dtype="float32")
start = fluid.initializer.NumpyArrayInitializer(np.full([13, 1], 0.1, "float32"))
y_predict = fluid.layers.fc(input=x, size=1, act=None, param_attr=fluid.ParamAttr(name="slope", initializer=start))
cost = fluid.layers.square_error_cost(input=y_predict, label=y)
avg_loss = fluid.layers.mean(cost)
test_program = main_program.clone(for_test=True)
sgd_optimizer = fluid.optimizer.SGD(learning_rate=0.05)
sgd_optimizer.minimize(avg_loss)

place = fluid.CPUPlace()
exe = fluid.Executor(place)
feeder = fluid.DataFeeder(place=place, feed_list=[x, y])
exe.run(startup_program)
train_reader = paddle.batch(reader, batch_size=10)
for epoch in range(3):
    for data in train_reader():
        (loss,) = exe.run(main_program, feed=feeder.feed(data), fetch_list=[avg_loss])
    print("epoch %d, loss %.5f" % (epoch, float(np.asarray(loss).ravel()[0])))
(loss,) = exe.run(test_program, feed={"x": X, "y": Y}, fetch_list=[avg_loss.name])
print("test loss %.5f" % float(np.asarray(loss).ravel()[0]))
slope = np.array(fluid.global_scope().find_var("slope").get_tensor())
print("slope", " ".join("%.4f" % v for v in slope.ravel()))

fluid.io.save_inference_model("line", ["x"], [y_predict], exe)
inference_scope = fluid.core.Scope()
with fluid.scope_guard(inference_scope):
    [program, feed_names, fetch_targets] = fluid.io.load_inference_model("line", exe)
    (result,) = exe.run(program, feed={feed_names[0]: X[:3]}, fetch_list=fetch_targets)
    print(feed_names, " ".join("%.4f" % v for v in result.ravel()))
