# Decoding and loss of a YOLO head written with tensor operations.
import numpy as np
import paddle
import paddle.nn.functional as F

anchors = paddle.to_tensor([[10.0, 13.0], [16.0, 30.0], [33.0, 23.0]])
num_classes, stride = 5, 8


def decode(feature):
    b, c, h, w = feature.shape
    feature = feature.reshape((b, 3, num_classes + 5, h, w)).transpose((0, 3, 4, 1, 2))
    grid = paddle.stack(paddle.meshgrid(paddle.arange(h), paddle.arange(w))[::-1], axis=-1).astype("float32")
    grid = paddle.unsqueeze(grid, axis=[0, 3])
    xy = (F.sigmoid(feature[..., 0:2]) + grid) * stride
    wh = paddle.exp(feature[..., 2:4].clip(-4, 4)) * anchors.reshape([1, 1, 1, 3, 2])
    objectness = F.sigmoid(feature[..., 4:5])
    classes = F.sigmoid(feature[..., 5:])
    return paddle.concat([xy, wh, objectness, classes], axis=-1)


def giou(a, b):
    ax1, ay1, ax2, ay2 = (a[..., :2] - a[..., 2:] / 2).unbind(-1) + (a[..., :2] + a[..., 2:] / 2).unbind(-1)
    bx1, by1, bx2, by2 = paddle.unbind(b[..., :2] - b[..., 2:] / 2, -1) + paddle.unbind(b[..., :2] + b[..., 2:] / 2, -1)
    iw = F.relu(paddle.minimum(ax2, bx2) - paddle.maximum(ax1, bx1))
    ih = F.relu(paddle.minimum(ay2, by2) - paddle.maximum(ay1, by1))
    inter = iw * ih
    union = (ax2 - ax1) * (ay2 - ay1) + (bx2 - bx1) * (by2 - by1) - inter + 1e-9
    cw = paddle.maximum(ax2, bx2) - paddle.minimum(ax1, bx1)
    ch = paddle.maximum(ay2, by2) - paddle.minimum(ay1, by1)
    hull = cw * ch + 1e-9
    return inter / union - (hull - union) / hull


rng = np.random.RandomState(0)
raw = paddle.to_tensor(rng.randn(2, 3 * (num_classes + 5), 4, 5).astype("float32"), stop_gradient=False)
out = decode(raw)
target = paddle.to_tensor(rng.rand(2, 4, 5, 3, 4).astype("float32") * 30 + 1)
has = paddle.to_tensor(rng.rand(2, 4, 5, 3) > 0.8)
print(out.shape, "%.4f" % out.mean().item(), int(has.astype("int32").sum()))
picked = paddle.masked_select(giou(out[..., :4], target), has)
box_loss = (1.0 - picked).mean()
obj_loss = F.binary_cross_entropy(out[..., 4], has.astype("float32"), reduction="mean")
label = paddle.to_tensor(rng.randint(0, num_classes, (2, 4, 5, 3)))
cls_loss = (
    F.binary_cross_entropy(out[..., 5:], F.one_hot(label, num_classes), reduction="none").mean(-1)
    * has.astype("float32")
).sum()
loss = box_loss + obj_loss + cls_loss
loss.backward()
print("losses %.5f %.5f %.5f" % (box_loss, obj_loss, cls_loss))
print("grad %.6f %.6f" % (float(raw.grad.abs().sum()), float(raw.grad.max())))

index = paddle.nonzero(out[..., 4] > 0.8)
print("confident", index.shape[0], index[0].numpy().tolist())
boxes = paddle.gather_nd(out[..., :4], index)
print("boxes %.3f" % boxes.sum().item())
score, best = paddle.topk(out[..., 4].flatten(), k=5)
print(["%.5f" % s for s in score.numpy()], best.numpy().tolist())
