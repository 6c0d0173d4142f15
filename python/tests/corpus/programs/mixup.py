# Augmentation in tensors: mixup, cutmix, random erasing by fixed numbers, label mixing.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

rng = np.random.RandomState(127)
net = nn.Sequential(
    nn.Conv2D(3, 6, 3), nn.BatchNorm2D(6), nn.ReLU(), nn.AdaptiveMaxPool2D(2), nn.Flatten(), nn.Linear(24, 4)
)
opt = paddle.optimizer.Momentum(0.1, parameters=net.parameters())
images = paddle.to_tensor(rng.rand(6, 3, 12, 12).astype("float32"))
labels = paddle.to_tensor(rng.randint(0, 4, 6).astype("int64"))


def mixup(x, y, lam):
    index = paddle.to_tensor(rng.permutation(x.shape[0]))
    return lam * x + (1 - lam) * paddle.index_select(x, index), y, paddle.gather(y, index)


def cutmix(x, y, box):
    index = paddle.to_tensor(rng.permutation(x.shape[0]))
    x = x.clone()
    y0, x0, y1, x1 = box
    x[:, :, y0:y1, x0:x1] = x[index][:, :, y0:y1, x0:x1]
    lam = 1 - (y1 - y0) * (x1 - x0) / (12 * 12)
    return x, y, y[index], lam


for step in range(4):
    if step % 2 == 0:
        lam = float(rng.beta(0.4, 0.4))
        x, ya, yb = mixup(images, labels, lam)
    else:
        x, ya, yb, lam = cutmix(images, labels, (2, 3, 8, 9))
    x[0, :, 1:4, 1:4] = 0.0
    logits = net(x)
    loss = lam * F.cross_entropy(logits, ya) + (1 - lam) * F.cross_entropy(logits, yb)
    loss.backward()
    opt.step()
    opt.clear_grad()
    print("step %d lam %.4f loss %.5f" % (step, lam, loss.item()))
flipped = paddle.flip(images, axis=[3])
print("%.5f" % (paddle.flip(flipped, [-1]) - images).abs().max().item(), paddle.rot90(images, 1, [2, 3]).shape)
rolled = paddle.roll(images, shifts=[1, -2], axis=[2, 3])
print("%.5f" % rolled[0, 0, 0, 0].item(), "%.5f" % images[0, 0, -1, 2].item())
padded = F.pad(images, [1, 2, 3, 0], mode="reflect")
print(padded.shape, "%.5f" % padded.mean().item())
