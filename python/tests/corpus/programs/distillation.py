# Knowledge distillation: soft labels at a temperature, attention transfer, frozen teacher.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


def cnn(width):
    return nn.Sequential(
        nn.Conv2D(2, width, 3, padding=1), nn.ReLU(), nn.AvgPool2D(2), nn.Conv2D(width, width, 3, stride=2), nn.Swish()
    )


class Net(nn.Layer):
    def __init__(self, width):
        super().__init__()
        self.features = cnn(width)
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        f = self.features(x)
        return self.head(F.adaptive_avg_pool2d(f, 1).flatten(1)), f


def attention(f):
    return F.normalize(f.pow(2).mean(1).flatten(1))


rng = np.random.RandomState(73)
teacher, student = Net(12), Net(6)
teacher.eval()
for p in teacher.parameters():
    p.stop_gradient = True
opt = paddle.optimizer.Adam(1e-2, parameters=student.parameters())
T = 4.0
x, y = paddle.to_tensor(rng.randn(8, 2, 10, 10).astype("float32")), paddle.to_tensor(rng.randint(0, 4, 8))
for step in range(4):
    with paddle.no_grad():
        t_logits, t_feature = teacher(x)
    s_logits, s_feature = student(x)
    kd = F.kl_div(F.log_softmax(s_logits / T, axis=1), F.softmax(t_logits / T, axis=1), reduction="batchmean") * T * T
    at = F.mse_loss(attention(s_feature), attention(t_feature))
    ce = F.cross_entropy(s_logits, y)
    loss = 0.7 * kd + 0.3 * ce + 10 * at
    loss.backward()
    opt.step()
    opt.clear_grad()
    print("kd %.6f at %.6f ce %.5f" % (kd.item(), at.item(), ce.item()))
print(all(p.grad is None for p in teacher.parameters()), s_feature.shape)
