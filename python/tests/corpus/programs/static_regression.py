# Static graph: data, program_guard, minimize, Executor, clone for testing.
import numpy as np
import paddle

paddle.enable_static()
main, startup = paddle.static.Program(), paddle.static.Program()
with paddle.static.program_guard(main, startup):
    x = paddle.static.data(name="x", shape=[None, 4], dtype="float32")
    y = paddle.static.data(name="y", shape=[None, 1], dtype="float32")
    weight = paddle.ParamAttr(
        name="w0", initializer=paddle.nn.initializer.Assign(np.linspace(-0.5, 0.5, 24).reshape(4, 6).astype("float32"))
    )
    hidden = paddle.static.nn.fc(x, size=6, activation="relu", weight_attr=weight)
    weight = paddle.ParamAttr(name="w1", initializer=paddle.nn.initializer.Constant(0.3))
    predict = paddle.static.nn.fc(
        hidden,
        1,
        weight_attr=weight,
        bias_attr=paddle.ParamAttr(name="b1", initializer=paddle.nn.initializer.Constant(0.1)),
    )
    loss = paddle.mean(paddle.nn.functional.square_error_cost(predict, y))
    test_program = main.clone(for_test=True)
    opt = paddle.optimizer.Momentum(learning_rate=0.05, momentum=0.9)
    opt.minimize(loss)

exe = paddle.static.Executor(paddle.CPUPlace())
exe.run(startup)
rng = np.random.RandomState(1)
for step in range(8):
    batch = rng.randn(16, 4).astype("float32")
    target = batch.sum(1, keepdims=True) * 0.5 + 1
    (value,) = exe.run(main, feed={"x": batch, "y": target}, fetch_list=[loss])
    print("step %d loss %.6f" % (step, float(np.ravel(value)[0])))
batch = np.ones((3, 4), "float32")
outs = exe.run(test_program, feed={"x": batch, "y": np.zeros((3, 1), "float32")}, fetch_list=[predict, loss.name])
print(outs[0].shape, "%.5f %.5f" % (outs[0][0, 0], float(np.ravel(outs[1])[0])))
print([v.name for v in main.all_parameters()][:1], main.global_block().has_var("w1"))
