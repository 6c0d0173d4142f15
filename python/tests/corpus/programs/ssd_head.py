# A single-shot detector's head: prior boxes, matching, smooth L1 and hard negatives.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


def prior_boxes(height, width, scales=(0.2, 0.4), ratios=(1.0, 2.0)):
    ys, xs = paddle.meshgrid(
        (paddle.arange(height, dtype="float32") + 0.5) / height, (paddle.arange(width, dtype="float32") + 0.5) / width
    )
    boxes = []
    for scale in scales:
        for ratio in ratios:
            w, h = scale * ratio**0.5, scale / ratio**0.5
            boxes.append(paddle.stack([xs, ys, paddle.full_like(xs, w), paddle.full_like(xs, h)], axis=-1))
    return paddle.stack(boxes, axis=2).reshape([-1, 4])


def corners(boxes):
    cx, cy, w, h = paddle.split(boxes, 4, axis=-1)
    return paddle.concat([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], axis=-1)


def iou_matrix(a, b):
    a, b = a.unsqueeze(1), b.unsqueeze(0)
    lt = paddle.maximum(a[..., :2], b[..., :2])
    rb = paddle.minimum(a[..., 2:], b[..., 2:])
    wh = paddle.clip(rb - lt, min=0.0)
    inter = wh[..., 0] * wh[..., 1]
    area_a = (a[..., 2] - a[..., 0]) * (a[..., 3] - a[..., 1])
    area_b = (b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1])
    return inter / (area_a + area_b - inter)


class SSDHead(nn.Layer):
    def __init__(self, num_classes=4, channels=8, priors=4):
        super().__init__()
        self.num_classes = num_classes
        self.backbone = nn.Sequential(nn.Conv2D(3, channels, 3, stride=2, padding=1), nn.ReLU())
        self.box = nn.Conv2D(channels, priors * 4, 3, padding=1)
        self.score = nn.Conv2D(channels, priors * num_classes, 3, padding=1)

    def forward(self, x):
        x = self.backbone(x)
        n = x.shape[0]
        box = self.box(x).transpose([0, 2, 3, 1]).reshape([n, -1, 4])
        score = paddle.reshape(paddle.transpose(self.score(x), perm=[0, 2, 3, 1]), [n, -1, self.num_classes])
        return box, score


def multibox_loss(box, score, gt_box, gt_label, priors):
    ious = iou_matrix(corners(priors), gt_box)
    best, index = ious.max(axis=1), ious.argmax(axis=1)
    label = paddle.gather(gt_label, index)
    label = paddle.where(best > 0.3, label, paddle.zeros_like(label))
    matched = paddle.gather(gt_box, index)
    cxcy = (matched[:, :2] + matched[:, 2:]) / 2
    wh = matched[:, 2:] - matched[:, :2]
    target = paddle.concat([(cxcy - priors[:, :2]) / priors[:, 2:] / 0.1, paddle.log(wh / priors[:, 2:]) / 0.2], axis=1)
    positive = (label > 0).astype("float32")
    num_pos = positive.sum()
    loc = (F.smooth_l1_loss(box, target, reduction="none").sum(-1) * positive).sum() / num_pos
    ce = F.cross_entropy(score, label, reduction="none").squeeze()
    negative = ce.detach() * (1 - positive)
    k = int(min(3 * num_pos.item(), negative.shape[0]))
    _, hardest = paddle.topk(negative, k)
    mask = paddle.zeros_like(ce)
    mask = paddle.scatter(mask, hardest, paddle.ones([k], dtype="float32"))
    conf = (ce * paddle.clip(mask + positive, max=1.0)).sum() / num_pos
    return loc, conf, num_pos


rng = np.random.RandomState(4)
images = paddle.to_tensor(rng.rand(2, 3, 12, 12).astype("float32"))
gt_boxes = [
    np.array([[0.1, 0.1, 0.5, 0.5], [0.5, 0.4, 0.9, 0.8]], "float32"),
    np.array([[0.3, 0.3, 0.7, 0.6]], "float32"),
]
gt_labels = [np.array([1, 3], "int64"), np.array([2], "int64")]
priors = prior_boxes(6, 6)
net = SSDHead()
opt = paddle.optimizer.Momentum(0.01, 0.9, parameters=net.parameters())
for step in range(3):
    boxes, scores = net(images)
    total = 0.0
    for i in range(2):
        loc, conf, n = multibox_loss(
            boxes[i], scores[i], paddle.to_tensor(gt_boxes[i]), paddle.to_tensor(gt_labels[i]), priors
        )
        total += loc + conf
    total.backward()
    opt.step()
    opt.clear_grad()
    print("step", step, "loss %.5f positives %d" % (total.item(), int(n)))
print("prior", priors.shape, "%.5f" % float(priors.sum()))
order = paddle.argsort(F.softmax(scores[0], -1)[:, 1], descending=True)[:3]
print("best", ["%.4f" % v for v in paddle.gather(boxes[0], order).detach().numpy().ravel()])
