# Embeddings by triplets: batch-hard mining, center loss, n-pairs, ranking, retrieval by cosine.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

rng = np.random.RandomState(61)


def pairwise(a, b):
    aa = paddle.sum(paddle.pow(a, 2), axis=1, keepdim=True).expand([a.shape[0], b.shape[0]])
    bb = b.square().sum(axis=1, keepdim=True).expand([b.shape[0], a.shape[0]]).t()
    dist = paddle.addmm(aa + bb, a, b.t(), beta=1.0, alpha=-2.0)
    return paddle.clip(dist, min=1e-12).sqrt()


class TripletLoss(nn.Layer):
    def __init__(self, margin=0.3, normalize=True):
        super(TripletLoss, self).__init__()
        self.margin, self.normalize = margin, normalize
        self.ranking = nn.MarginRankingLoss(margin=margin)

    def forward(self, x, target):
        if self.normalize:
            x = x / (paddle.norm(x, p=2, axis=-1, keepdim=True).expand_as(x) + 1e-12)
        n = x.shape[0]
        dist = pairwise(x, x)
        same = paddle.equal(target.unsqueeze(1).expand([n, n]), target.unsqueeze(1).expand([n, n]).t())
        zero = paddle.zeros_like(dist)
        ap = paddle.max(paddle.where(same, dist, zero), axis=1)
        an = paddle.min(paddle.where(same, paddle.full_like(dist, 1e6), dist), axis=1)
        return self.ranking(an, ap, paddle.ones_like(an)), (an > ap).astype("float32").mean()


class CenterLoss(nn.Layer):
    def __init__(self, classes, dim):
        super().__init__()
        self.centers = self.create_parameter(shape=[classes, dim])

    def forward(self, x, target):
        return F.pairwise_distance(x, F.embedding(target, self.centers)).pow(2).sum() / x.shape[0]


def center_loss(x, centers, target):
    diff = x - paddle.gather(centers, target)
    return (diff * diff).sum(axis=1).mean()


def n_pairs(anchor, positive, target):
    logits = paddle.matmul(anchor, positive, transpose_y=True)
    same = (target.reshape([-1, 1]) == target.reshape([1, -1])).cast("float32")
    return F.cross_entropy(logits, same / same.sum(axis=1, keepdim=True), soft_label=True)


class Embedder(nn.Layer):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(1, 4, 3, padding="SAME"),
            nn.PReLU(4, init=0.1),
            nn.MaxPool2D(2),
            nn.Conv2D(4, 6, 3),
            nn.Hardswish(),
            nn.AdaptiveMaxPool2D(2),
        )
        self.neck, self.bn = nn.Linear(24, 8), nn.BatchNorm1D(8)

    def forward(self, x):
        feat = self.neck(paddle.flatten(self.features(x), start_axis=1))
        return feat, self.bn(feat)


net, centers = Embedder(), nn.Embedding(3, 8)
triplet = TripletLoss()
optimizer = paddle.optimizer.Momentum(0.05, parameters=[*net.parameters(), *centers.parameters()], use_nesterov=True)
proto = rng.randn(3, 1, 10, 10)
labels = np.repeat(np.arange(3), 4)
images = (proto[labels] + 0.5 * rng.randn(12, 1, 10, 10)).astype("float32")
x, y = paddle.to_tensor(images), paddle.to_tensor(labels)
for step in range(4):
    feat, bn = net(x)
    t, rate = triplet(feat, y)
    c = center_loss(feat, centers.weight, y)
    n = n_pairs(bn[0::2], bn[1::2], y[::2])
    loss = t + 0.1 * c + n
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    print("step %d triplet %.5f center %.5f npairs %.5f rate %.2f" % (step, t.item(), c.item(), n.item(), rate.item()))
net.eval()
with paddle.no_grad():
    _, query = net(x[::4])
    _, gallery = net(x)
    sim = F.cosine_similarity(query.unsqueeze(1), gallery.unsqueeze(0), axis=-1)
    order = paddle.argsort(sim, axis=1, descending=True)
    hits = paddle.index_sample(y.tile([3]).reshape([3, 12]), order) == y[::4].unsqueeze(-1)
    ap = [
        float((h * (h.cumsum() / paddle.arange(1, 13).astype("float32"))).sum() / h.sum())
        for h in hits.astype("float32")
    ]
print("map %.4f" % np.mean(ap), "sim %.4f" % float(paddle.diagonal(sim[:, ::4]).mean()))
