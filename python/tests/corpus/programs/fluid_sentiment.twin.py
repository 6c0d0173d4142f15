import numpy as np
import paddle
import paddle.nn.functional as F

WORDS, SIZE = 30, 6
parameters = []


def parameter(name, *shape):
    values = np.cos(np.arange(np.prod(shape)) * 2.3 + len(name)).reshape(shape) * 0.4
    parameters.append(paddle.to_tensor(values.astype("float32"), stop_gradient=False))
    return parameters[-1]


def zeros(size):
    parameters.append(paddle.zeros([size]))
    parameters[-1].stop_gradient = False
    return parameters[-1]


rng = np.random.RandomState(8)
lengths = [4, 2, 7, 1, 5]
words = rng.randint(0, WORDS, [sum(lengths), 1]).astype("int64")
labels = paddle.to_tensor(rng.randint(0, 2, [5, 1]).astype("int64"))
emb = parameter("emb", WORDS, SIZE)
fc1, fc1_b = parameter("fc1", SIZE, 4 * SIZE), zeros(4 * SIZE)
lstm1, b1 = parameter("lstm1", SIZE, 4 * SIZE), parameter("b1", 1, 7 * SIZE)
fc2a, fc2b, fc2_b = parameter("fc2a", 4 * SIZE, 4 * SIZE), parameter("fc2bb", SIZE, 4 * SIZE), zeros(4 * SIZE)
lstm2, b2 = parameter("second", SIZE, 4 * SIZE), parameter("b22", 1, 7 * SIZE)
conv, conv_b = parameter("conv", 3 * SIZE, 5), zeros(5)
o1, o2, o3, o_b = parameter("o", 4 * SIZE, 2), parameter("oo", SIZE, 2), parameter("ooo", 5, 2), zeros(2)


def lstm(rows, w, b):
    h = c = paddle.zeros([SIZE])
    out = []
    part = lambda x, k: x[k * SIZE : (k + 1) * SIZE]
    for i in range(rows.shape[0]):
        g = rows[i] + (h.unsqueeze(0) @ w)[0] + b[0, : 4 * SIZE]
        enter = F.sigmoid(part(g, 1) + part(b[0], 4) * c)
        keep = F.sigmoid(part(g, 2) + part(b[0], 5) * c)
        c = paddle.tanh(part(g, 0)) * enter + c * keep
        h = F.sigmoid(part(g, 3) + part(b[0], 6) * c) * paddle.tanh(c)
        out.append(h)
    return paddle.stack(out)


def score(ids):
    e = emb[paddle.to_tensor(ids)]
    a = e @ fc1 + fc1_b
    b = a @ fc2a + lstm(a, lstm1, b1) @ fc2b + fc2_b
    back = lstm(b.flip([0]), lstm2, b2)
    padded = paddle.concat([paddle.zeros([1, SIZE]), e, paddle.zeros([1, SIZE])])
    windows = paddle.stack([padded[i : i + 3].flatten() for i in range(len(ids))])
    pooled = paddle.tanh(windows @ conv + conv_b).sum(0) / len(ids) ** 0.5
    return b.max(0) @ o1 + back.max(0) @ o2 + pooled @ o3 + o_b


sums = [np.zeros(p.shape, "float32") for p in parameters]
for step in range(5):
    ends = np.cumsum(lengths)
    scores = F.softmax(paddle.stack([score(words[e - n : e, 0]) for e, n in zip(ends, lengths)]))
    loss = -paddle.log(paddle.take_along_axis(scores, labels, 1)).mean()
    loss.backward()
    print("step %d, loss %.4f" % (step, float(loss)))
    for i, p in enumerate(parameters):
        g = p.grad.numpy()
        sums[i] = sums[i] + g * g
        p.set_value(p.numpy() - np.float32(0.05) * g / (np.sqrt(sums[i]) + np.float32(1e-6)))
        p.clear_gradient()
print("scores", " ".join("%.4f" % v for v in scores.numpy().ravel()))
