import numpy as np
import paddle
import paddle.nn.functional as F

WORDS, SIZE = 12, 4
parameters = []


def parameter(name, *shape):
    values = np.cos(np.arange(np.prod(shape)) * 2.1 + len(name)).reshape(shape) * 0.5
    parameters.append(paddle.to_tensor(values.astype("float32"), stop_gradient=False))
    return parameters[-1]


rng = np.random.RandomState(6)
sources, targets = [3, 5, 2], [4, 2, 3]
ids = [rng.randint(0, WORDS, [sum(n), 1]).astype("int64") for n in (sources, targets, targets)]
source, fc1 = parameter("source", WORDS, SIZE), parameter("fc1", SIZE, SIZE * 4)
fc1_b = paddle.zeros([SIZE * 4])
fc1_b.stop_gradient = False
parameters.append(fc1_b)
lstm, bias = parameter("lstm", SIZE, SIZE * 4), parameter("bias", 1, SIZE * 7)
target = parameter("target", WORDS, SIZE)
word, state, step_bias = parameter("word", SIZE, SIZE), parameter("state_", SIZE, SIZE), parameter("step_bias", SIZE)
score, score_bias = parameter("score", SIZE, WORDS), parameter("score_bias", WORDS)
part = lambda x, k: x[k * SIZE : (k + 1) * SIZE]


def encoded(rows):
    h = c = paddle.zeros([SIZE])
    for row in paddle.tanh(source[paddle.to_tensor(rows)] @ fc1 + fc1_b):
        g = row + (h.unsqueeze(0) @ lstm)[0] + bias[0, : 4 * SIZE]
        enter = F.sigmoid(part(g, 1) + part(bias[0], 4) * c)
        keep = F.sigmoid(part(g, 2) + part(bias[0], 5) * c)
        c = paddle.tanh(part(g, 0)) * enter + c * keep
        h = F.sigmoid(part(g, 3) + part(bias[0], 6) * c) * paddle.tanh(c)
    return h


def parts(values, lengths):
    ends = np.cumsum(lengths)
    return [values[e - n : e, 0] for e, n in zip(ends, lengths)]


for number in range(6):
    contexts, scores = [], []
    for rows, given in zip(parts(ids[0], sources), parts(ids[1], targets)):
        h = encoded(rows)
        contexts.append(h)
        for row in target[paddle.to_tensor(given)]:
            h = paddle.tanh((row.unsqueeze(0) @ word + h.unsqueeze(0) @ state)[0] + step_bias)
            scores.append(F.softmax((h.unsqueeze(0) @ score)[0] + score_bias))
    if number == 5:
        print("context", " ".join("%.4f" % v for v in paddle.stack(contexts).numpy().ravel()))
        break
    loss = -paddle.log(paddle.take_along_axis(paddle.stack(scores), paddle.to_tensor(ids[2]), 1)).mean()
    loss.backward()
    print("step %d, loss %.4f" % (number, float(loss)))
    grads = [p.grad.numpy() for p in parameters]
    norm = np.sqrt(sum((g.astype("float64") ** 2).sum() for g in grads))
    factor = np.float32(0.3 / max(norm, 0.3))
    for p, g in zip(parameters, grads):
        p.set_value(p.numpy() - np.float32(0.5) * (g * factor + np.float32(0.1) * p.numpy()))
        p.clear_gradient()
