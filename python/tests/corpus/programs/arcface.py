# An angular margin classifier on normalized features.
import math

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class ArcMargin(nn.Layer):
    def __init__(self, embedding_size, class_num, margin=0.5, scale=16.0, easy_margin=False):
        super().__init__()
        self.margin, self.scale, self.easy_margin = margin, scale, easy_margin
        self.weight = self.create_parameter(
            shape=[embedding_size, class_num], is_bias=False, default_initializer=paddle.nn.initializer.XavierNormal()
        )

    def forward(self, input, label=None):
        input_norm = paddle.sqrt(paddle.sum(paddle.square(input), axis=1, keepdim=True))
        input = paddle.divide(input, input_norm)
        weight_norm = paddle.sqrt(paddle.sum(paddle.square(self.weight), axis=0, keepdim=True))
        weight = paddle.divide(self.weight, weight_norm)
        cos = paddle.matmul(input, weight)
        if not self.training or label is None:
            return cos
        sin = paddle.sqrt(1.0 - paddle.square(cos) + 1e-6)
        cos_m, sin_m = math.cos(self.margin), math.sin(self.margin)
        th, mm = math.cos(self.margin) * (-1), math.sin(self.margin) * self.margin
        phi = cos * cos_m - sin * sin_m
        phi = self._paddle_where_more_than(
            cos, 0 if self.easy_margin else th, phi, cos if self.easy_margin else cos - mm
        )
        one_hot = F.one_hot(label, self.weight.shape[1])
        one_hot = paddle.squeeze(one_hot, axis=[1])
        return (paddle.multiply(one_hot, phi) + paddle.multiply((1.0 - one_hot), cos)) * self.scale

    def _paddle_where_more_than(self, target, limit, x, y):
        mask = paddle.cast(x=(target > limit), dtype="float32")
        return paddle.multiply(mask, x) + paddle.multiply((1.0 - mask), y)


rng = np.random.RandomState(67)
backbone, head = nn.Linear(6, 8), ArcMargin(8, 4)
opt = paddle.optimizer.SGD(
    paddle.optimizer.lr.PiecewiseDecay([3], [0.2, 0.05]),
    parameters=backbone.parameters() + head.parameters(),
    weight_decay=5e-4,
)
x = paddle.to_tensor(rng.randn(10, 6).astype("float32"))
y = paddle.to_tensor(rng.randint(0, 4, (10, 1)))
for step in range(5):
    loss = F.cross_entropy(head(backbone(x), y), y)
    loss.backward()
    opt.step()
    opt.clear_grad()
    opt._learning_rate.step()
    print("step %d loss %.5f lr %.3f" % (step, loss.item(), opt.get_lr()))
head.eval()
print("%.5f" % head(backbone(x)).max().item())
