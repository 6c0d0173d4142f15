# Triplet, contrastive and margin ranking losses; retrieval by distance.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class TripletLoss(nn.Layer):
    def __init__(self, margin=0.5):
        super().__init__()
        self.ranking_loss = nn.MarginRankingLoss(margin=margin)

    def forward(self, inputs, target):
        bs = inputs.shape[0]
        inputs = 1.0 * inputs / (paddle.expand_as(paddle.norm(inputs, p=2, axis=-1, keepdim=True), inputs) + 1e-12)
        dist = paddle.pow(inputs, 2).sum(axis=1, keepdim=True).expand([bs, bs])
        dist = dist + dist.t()
        dist = paddle.addmm(input=dist, x=inputs, y=inputs.t(), alpha=-2.0, beta=1.0)
        dist = paddle.clip(dist, min=1e-12).sqrt()
        is_pos = paddle.expand(target, (bs, bs)).equal(paddle.expand(target, (bs, bs)).t())
        is_neg = paddle.expand(target, (bs, bs)).not_equal(paddle.expand(target, (bs, bs)).t())
        dist_ap = paddle.max(paddle.reshape(paddle.masked_select(dist, is_pos), (bs, -1)), axis=1, keepdim=True)
        dist_an = paddle.min(paddle.reshape(paddle.masked_select(dist, is_neg), (bs, -1)), axis=1, keepdim=True)
        dist_ap, dist_an = paddle.squeeze(dist_ap, axis=1), paddle.squeeze(dist_an, axis=1)
        y = paddle.ones_like(dist_an)
        return self.ranking_loss(dist_an, dist_ap, y)


rng = np.random.RandomState(59)
net = nn.Sequential(nn.Linear(7, 12), nn.PReLU(), nn.Linear(12, 5))
opt = paddle.optimizer.Momentum(0.1, parameters=net.parameters(), use_nesterov=True)
label = paddle.to_tensor(np.repeat(np.arange(3), 3).astype("int64"))
x = paddle.to_tensor((rng.randn(9, 7) + np.repeat(rng.randn(3, 7), 3, 0)).astype("float32"))
loss_fn = TripletLoss()
for step in range(4):
    feature = net(x)
    triplet = loss_fn(feature, label)
    a, b = feature[::3], feature[1::3]
    same = nn.PairwiseDistance()(a, b)
    cosine = nn.CosineSimilarity(axis=1)(a, feature[2::3])
    loss = triplet + 0.1 * same.mean() + (1 - cosine).mean() * 0.1
    loss.backward()
    opt.step()
    opt.clear_grad()
    print(
        "step %d triplet %.5f pair %.5f cosine %.5f" % (step, triplet.item(), same.mean().item(), cosine.mean().item())
    )
feature = F.normalize(net(x), axis=1)
similarity = paddle.matmul(feature, feature, transpose_y=True) - 2 * paddle.eye(9)
print(similarity.argmax(1).tolist(), "%.4f" % net[1]._weight.item())
