import numpy as np
import paddle
import paddle.nn.functional as F

WORDS, SIZE = 20, 5


def parameter(name, *shape):
    values = np.sin(np.arange(np.prod(shape)) * 0.9 + len(name)).reshape(shape) * 0.5
    return paddle.to_tensor(values.astype("float32"), stop_gradient=False)


rng = np.random.RandomState(6)
data = paddle.to_tensor(rng.randint(0, WORDS, [16, 5, 1]).astype("int64"))
table, hidden, out = parameter("shared_w", WORDS, SIZE), parameter("hidden", 4 * SIZE, 8), parameter("out", 8, WORDS)
b1, b2 = paddle.zeros([8]), paddle.zeros([WORDS])
parameters = [table, hidden, out, b1, b2]
for p in parameters:
    p.stop_gradient = False
for step in range(7):
    x = table[data[:, :4, 0]].reshape([16, 4 * SIZE])
    scores = F.softmax(F.sigmoid(x @ hidden + b1) @ out + b2)
    cost = -paddle.log(paddle.take_along_axis(scores, data[:, 4], 1)).mean()
    cost.backward()
    print("step %d, cost %.5f" % (step, float(cost)))
    norm = np.sqrt(sum((p.grad.numpy().astype("float64") ** 2).sum() for p in parameters))
    rate = (1.0 if step < 3 else 0.5 if step < 5 else 0.1) * 0.5 / max(norm, 0.5)
    for p in parameters:
        p.set_value(p.numpy() - np.float32(rate) * p.grad.numpy())
        p.clear_gradient()
print("table", " ".join("%.4f" % v for v in table.numpy()[3]))
