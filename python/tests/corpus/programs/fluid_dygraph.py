# The style of 1.8 that 2.x still ran: fluid, guard, to_variable, minimize, save_dygraph.
import numpy as np
import paddle.fluid as fluid
from paddle.fluid.dygraph import Linear, to_variable


class MNIST(fluid.dygraph.Layer):
    def __init__(self):
        super(MNIST, self).__init__()
        self.fc1 = Linear(6, 8, act="relu", param_attr=fluid.ParamAttr(initializer=fluid.initializer.Constant(0.1)))
        self.fc2 = Linear(
            8,
            3,
            param_attr=fluid.ParamAttr(
                initializer=fluid.initializer.NumpyArrayInitializer(
                    np.linspace(-1, 1, 24).reshape(8, 3).astype("float32")
                )
            ),
        )

    def forward(self, x, label=None):
        x = fluid.layers.reshape(x, [-1, 6])
        y = fluid.layers.softmax(self.fc2(self.fc1(x)))
        if label is None:
            return y
        return y, fluid.layers.accuracy(input=y, label=label)


rng = np.random.RandomState(157)
with fluid.dygraph.guard(fluid.CPUPlace()):
    model = MNIST()
    optimizer = fluid.optimizer.AdamOptimizer(
        learning_rate=0.05, parameter_list=model.parameters(), regularization=fluid.regularizer.L2Decay(0.001)
    )
    for step in range(4):
        x = to_variable(rng.randn(10, 2, 3).astype("float32"))
        label = to_variable(rng.randint(0, 3, (10, 1)).astype("int64"))
        label.stop_gradient = True
        predict, acc = model(x, label)
        loss = fluid.layers.cross_entropy(predict, label)
        avg_loss = fluid.layers.mean(loss)
        avg_loss.backward()
        optimizer.minimize(avg_loss)
        model.clear_gradients()
        print("step {} loss {:.5f} acc {:.3f}".format(step, float(avg_loss.numpy()), float(acc.numpy())))
    total = fluid.layers.reduce_sum(fluid.layers.concat([predict, predict], axis=1), dim=1)
    print("%.5f" % float(fluid.layers.reduce_mean(total).numpy()))
    fluid.save_dygraph(model.state_dict(), "mnist")
    state, _ = fluid.load_dygraph("mnist")
    print(sorted(state))
