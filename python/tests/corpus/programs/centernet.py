# Detection without anchors: heatmaps with Gaussian targets, focal loss, sizes and offsets, peaks by pooling and top-k.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.regularizer import L2Decay

rng = np.random.RandomState(8)
CLASSES, SIZE, STRIDE = 3, 32, 4


class ConvNormLayer(nn.Layer):
    def __init__(self, cin, cout, k, stride=1, act="relu"):
        super().__init__()
        self.conv = nn.Conv2D(
            cin,
            cout,
            k,
            stride,
            (k - 1) // 2,
            bias_attr=False,
            weight_attr=paddle.ParamAttr(initializer=nn.initializer.KaimingNormal()),
        )
        self.norm = nn.BatchNorm2D(
            cout,
            weight_attr=paddle.ParamAttr(regularizer=L2Decay(0.0)),
            bias_attr=paddle.ParamAttr(regularizer=L2Decay(0.0)),
        )
        self.act = act

    def forward(self, x):
        x = self.norm(self.conv(x))
        return getattr(F, self.act)(x) if self.act else x


class FPN(nn.Layer):
    def __init__(self, channels, out):
        super().__init__()
        self.lateral = nn.LayerList([nn.Conv2D(c, out, 1) for c in channels])
        self.smooth = nn.Conv2D(out, out, 3, padding=1)

    def forward(self, feats):
        x = self.lateral[-1](feats[-1])
        for i in range(len(feats) - 2, -1, -1):
            x = F.interpolate(x, size=paddle.shape(feats[i])[2:], mode="nearest") + self.lateral[i](feats[i])
        return self.smooth(x)


class CenterNet(nn.Layer):
    def __init__(self):
        super().__init__()
        self.stages = nn.LayerList(
            [
                ConvNormLayer(3, 4, 3, 2),
                ConvNormLayer(4, 6, 3, 2),
                ConvNormLayer(6, 8, 3, 2),
                ConvNormLayer(8, 8, 3, 2, "leaky_relu"),
            ]
        )
        self.neck = FPN([6, 8, 8], 6)
        for head, n in (("heatmap", CLASSES), ("size", 2), ("offset", 2)):
            seq = nn.Sequential(nn.Conv2D(6, 6, 3, padding=1), nn.ReLU(), nn.Conv2D(6, n, 1))
            setattr(self, head, seq)
        self.heatmap[-1].bias.set_value(np.full([CLASSES], -2.19, "float32"))

    def forward(self, x):
        feats = []
        for i, stage in enumerate(self.stages):
            x = stage(x)
            if i > 0:
                feats.append(x)
        f = self.neck(feats)
        return {k: getattr(self, k)(f) for k in ("heatmap", "size", "offset")}


def draw_gaussian(heatmap, center, radius):
    d = 2 * radius + 1
    yy, xx = np.ogrid[-radius : radius + 1, -radius : radius + 1]
    g = np.exp(-(xx * xx + yy * yy) / (2 * (d / 6) ** 2))
    x, y = center
    h, w = heatmap.shape
    l, r, t, b = min(x, radius), min(w - x, radius + 1), min(y, radius), min(h - y, radius + 1)
    part = heatmap[y - t : y + b, x - l : x + r]
    np.maximum(part, g[radius - t : radius + b, radius - l : radius + r], out=part)


def targets(boxes, labels):
    n = SIZE // STRIDE
    heat, wh, off = np.zeros((CLASSES, n, n), "float32"), np.zeros((4, 2), "float32"), np.zeros((4, 2), "float32")
    index, mask = np.zeros(4, "int64"), np.zeros(4, "int32")
    for k, (box, c) in enumerate(zip(boxes, labels)):
        x1, y1, x2, y2 = box / STRIDE
        ct = np.array([(x1 + x2) / 2, (y1 + y2) / 2], "float32")
        ci = ct.astype("int32")
        draw_gaussian(heat[c], ci, 2)
        wh[k], off[k], index[k], mask[k] = (x2 - x1, y2 - y1), ct - ci, ci[1] * n + ci[0], 1
    return heat, wh, off, index, mask


def focal(logit, target):
    pred = paddle.clip(F.sigmoid(logit), 1e-4, 1 - 1e-4)
    pos = (target == 1).astype("float32")
    neg = (target < 1).astype("float32")
    weight = paddle.pow(1 - target, 4)
    pos_loss = paddle.sum(paddle.log(pred) * paddle.pow(1 - pred, 2) * pos)
    neg_loss = paddle.sum(paddle.log(1 - pred) * paddle.pow(pred, 2) * weight * neg)
    return -(pos_loss + neg_loss) / paddle.maximum(pos.sum(), paddle.to_tensor(1.0))


def gather_feat(x, index):
    b, c = x.shape[:2]
    x = paddle.reshape(paddle.transpose(x, [0, 2, 3, 1]), [b, -1, c])
    batch = paddle.expand(paddle.arange(b).unsqueeze(-1), index.shape)
    return paddle.gather_nd(x, paddle.stack([batch, index], axis=-1))


net = CenterNet()
images = paddle.to_tensor(rng.rand(2, 3, SIZE, SIZE).astype("float32"))
boxes = [np.array([[4, 4, 14, 16], [18, 10, 30, 28]], "float32"), np.array([[8, 12, 20, 22]], "float32")]
batch = [paddle.to_tensor(np.stack(v)) for v in zip(*(targets(b, l) for b, l in zip(boxes, ([0, 2], [1]))))]
heat, wh, off, index, mask = batch
optimizer = paddle.optimizer.Momentum(
    learning_rate=paddle.optimizer.lr.PiecewiseDecay([2], [0.02, 0.002]),
    momentum=0.9,
    parameters=net.parameters(),
    weight_decay=L2Decay(5e-4),
)
for step in range(4):
    out = net(images)
    m = mask.astype("float32").unsqueeze(-1)
    losses = {
        "heatmap": focal(out["heatmap"], heat),
        "size": F.l1_loss(gather_feat(out["size"], index) * m, wh * m, reduction="sum") / (m.sum() + 1e-4),
        "offset": F.smooth_l1_loss(gather_feat(out["offset"], index) * m, off * m, reduction="sum") / (m.sum() + 1e-4),
    }
    total = losses["heatmap"] + 0.1 * losses["size"] + losses["offset"]
    total.backward()
    optimizer.step()
    optimizer.clear_grad()
    optimizer._learning_rate.step()
    print("step %d" % step, {k: "%.4f" % v.item() for k, v in losses.items()})

net.eval()
with paddle.no_grad():
    out = net(images)
    h = F.sigmoid(out["heatmap"])
    peaks = h * (F.max_pool2d(h, 3, stride=1, padding=1) == h).astype("float32")
    scores, inds = paddle.topk(peaks.flatten(2), 3)
    scores, best = paddle.topk(scores.flatten(1), 2)
    classes = best // 3
    inds = paddle.index_sample(inds.flatten(1), best)
    n = SIZE // STRIDE
    xs, ys = (inds % n).astype("float32"), (inds // n).astype("float32")
    o, s = gather_feat(out["offset"], inds), gather_feat(out["size"], inds)
    centers = paddle.stack([xs, ys], axis=-1) + o
    found = paddle.concat([centers - s / 2, centers + s / 2], axis=-1) * STRIDE
print("classes", classes.shape, "scores", np.round(scores.numpy(), 4).tolist())
print("boxes %.4f" % found.abs().sum().item(), found.shape)
