# PointNet: shared layers over points, learned transforms, max over the cloud.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class TNet(nn.Layer):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.conv = nn.Sequential(
            nn.Conv1D(k, 8, 1, bias_attr=False), nn.BatchNorm1D(8), nn.ReLU(), nn.Conv1D(8, 12, 1), nn.ReLU()
        )
        self.fc = nn.Linear(12, k * k, weight_attr=nn.initializer.Constant(0.01))

    def forward(self, x):
        x = paddle.max(self.conv(x), axis=-1)
        iden = paddle.eye(self.k, dtype=x.dtype).reshape([1, self.k * self.k])
        return (self.fc(x) + iden).reshape([-1, self.k, self.k])


class PointNet(nn.Layer):
    def __init__(self, classes=4):
        super().__init__()
        self.input_transform = TNet(3)
        self.mlp = nn.Sequential(nn.Conv1D(3, 10, 1), nn.ReLU(), nn.Conv1D(10, 14, 1), nn.ReLU())
        self.fc = nn.Sequential(nn.Linear(14, 9), nn.ReLU(), nn.Linear(9, classes))

    def forward(self, x):
        t = self.input_transform(x)
        x = paddle.bmm(x.transpose((0, 2, 1)), t).transpose((0, 2, 1))
        x = self.mlp(x)
        x = paddle.max(x, axis=-1, keepdim=True).squeeze(-1)
        return F.log_softmax(self.fc(x), axis=-1), t


def regularizer(t):
    eye = paddle.eye(t.shape[1]).unsqueeze(0)
    return paddle.norm(eye - paddle.bmm(t, t.transpose([0, 2, 1])), axis=[1, 2]).mean()


def farthest_points(points, count):
    chosen, distance = [0], paddle.full([points.shape[0]], 1e10)
    for _ in range(count - 1):
        distance = paddle.minimum(distance, (points - points[chosen[-1]]).square().sum(-1))
        chosen.append(int(distance.argmax()))
    return chosen


rng = np.random.RandomState(103)
clouds = paddle.to_tensor(rng.randn(6, 3, 20).astype("float32"))
labels = paddle.to_tensor(rng.randint(0, 4, 6))
net = PointNet()
opt = paddle.optimizer.Adam(5e-3, parameters=net.parameters())
for step in range(4):
    out, t = net(clouds)
    loss = F.nll_loss(out, labels) + 0.001 * regularizer(t)
    loss.backward()
    opt.step()
    opt.clear_grad()
    print("step %d loss %.5f" % (step, loss.item()))
print(farthest_points(clouds[0].t(), 6))
