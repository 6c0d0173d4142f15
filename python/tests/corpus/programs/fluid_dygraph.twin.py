# fluid_dygraph.py in today's names.
import numpy as np
import paddle
import paddle.nn as nn

rng = np.random.RandomState(157)
fc1 = nn.Linear(6, 8, weight_attr=nn.initializer.Constant(0.1))
fc2 = nn.Linear(8, 3, weight_attr=nn.initializer.Assign(np.linspace(-1, 1, 24).reshape(8, 3).astype("float32")))
optimizer = paddle.optimizer.Adam(
    0.05, parameters=fc1.parameters() + fc2.parameters(), weight_decay=paddle.regularizer.L2Decay(0.001)
)
for step in range(4):
    x = paddle.to_tensor(rng.randn(10, 2, 3).astype("float32")).reshape([-1, 6])
    label = paddle.to_tensor(rng.randint(0, 3, (10, 1)).astype("int64"))
    predict = nn.functional.softmax(fc2(nn.functional.relu(fc1(x))))
    loss = -paddle.log(paddle.take_along_axis(predict, label, 1)).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    print("step {} loss {:.5f} acc {:.3f}".format(step, float(loss), float(paddle.metric.accuracy(predict, label))))
print("%.5f" % float(paddle.concat([predict, predict], axis=1).sum(1).mean()))
print(["fc1.bias", "fc1.weight", "fc2.bias", "fc2.weight"])
