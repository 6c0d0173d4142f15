import numpy as np
import paddle
import paddle.nn.functional as F

WORDS, SIZE = 20, 5
parameters = []


def parameter(name, *shape):
    values = np.cos(np.arange(np.prod(shape)) * 1.7 + len(name)).reshape(shape) * 0.5
    parameters.append(paddle.to_tensor(values.astype("float32"), stop_gradient=False))
    return parameters[-1]


rng = np.random.RandomState(4)
lengths = [3, 1, 6, 4]
words = rng.randint(0, WORDS, [sum(lengths), 1]).astype("int64")
labels = paddle.to_tensor(rng.randint(0, 2, [4, 1]).astype("int64"))
emb = parameter("emb", WORDS, SIZE)
gates = {
    name: (parameter(name + "_x", SIZE, SIZE), parameter(name + "_hh", SIZE, SIZE), parameter(name + "_bias", SIZE))
    for name in ("f", "in", "out", "cell")
}
o, b = parameter("o", SIZE, 2), paddle.zeros([2])
b.stop_gradient = False
parameters.append(b)


def score(ids):
    h = c = paddle.zeros([1, SIZE])
    for row in emb[paddle.to_tensor(ids)]:
        g = {name: row.unsqueeze(0) @ x + h @ u + bias for name, (x, u, bias) in gates.items()}
        c = F.sigmoid(g["f"]) * c + F.sigmoid(g["in"]) * paddle.tanh(g["cell"])
        h = F.sigmoid(g["out"]) * paddle.tanh(c)
    return (h @ o + b)[0]


for step in range(6):
    ends = np.cumsum(lengths)
    scores = F.softmax(paddle.stack([score(words[e - n : e, 0]) for e, n in zip(ends, lengths)]))
    loss = -paddle.log(paddle.take_along_axis(scores, labels, 1)).mean()
    loss.backward()
    rate = step * 0.2 + 0.1 if step < 3 else 0.5
    print("step %d, rate %.2f, loss %.4f" % (step, rate, float(loss)))
    for p in parameters:
        p.set_value(p.numpy() - np.float32(rate) * p.grad.numpy())
        p.clear_gradient()
