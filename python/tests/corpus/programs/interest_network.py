# Click prediction: hashed fields, attention over a user's history, Dice, AUC by batches, a log of metrics.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.nn.initializer import Constant, Uniform

rng = np.random.RandomState(97)
ITEMS, CATS, T = 30, 6, 5


class Dice(nn.Layer):
    def __init__(self, dim):
        super().__init__()
        self.bn = nn.BatchNorm1D(dim, epsilon=1e-8, weight_attr=False, bias_attr=False)
        self.alpha = self.create_parameter(shape=[dim], default_initializer=Constant(0.25))

    def forward(self, x):
        p = F.sigmoid(self.bn(x))
        return p * x + (1 - p) * self.alpha * x


class Attention(nn.Layer):
    def __init__(self, dim):
        super().__init__()
        self.att = nn.Sequential(nn.Linear(4 * dim, 10), nn.Sigmoid(), nn.Linear(10, 1))

    def forward(self, query, keys, mask):
        q = paddle.expand(query.unsqueeze(1), [query.shape[0], keys.shape[1], query.shape[1]])
        score = self.att(paddle.concat([q, keys, q - keys, q * keys], axis=2))
        score = paddle.transpose(score, perm=[0, 2, 1])
        score = score + (1.0 - mask.unsqueeze(1)) * (-(2.0**31))
        weight = F.softmax(score / keys.shape[-1] ** 0.5)
        return paddle.matmul(weight, keys).squeeze(1)


class DIN(nn.Layer):
    def __init__(self, dim=4):
        super().__init__()
        self.item = nn.Embedding(
            ITEMS, dim, sparse=False, weight_attr=paddle.ParamAttr(name="item_emb", initializer=Uniform(-0.1, 0.1))
        )
        self.cat = nn.Embedding(CATS, dim)
        self.bias = nn.Embedding(ITEMS, 1, weight_attr=paddle.ParamAttr(initializer=Constant(0.0)))
        self.attention = Attention(2 * dim)
        self.top = nn.LayerList()
        sizes = [4 * dim, 12, 6]
        for i in range(2):
            self.top.append(nn.Linear(sizes[i], sizes[i + 1]))
            self.top.append(Dice(sizes[i + 1]))
        self.add_sublayer("out", nn.Linear(6, 1))

    def forward(self, hist, hist_cat, target, target_cat, mask):
        keys = paddle.concat([self.item(hist), self.cat(hist_cat)], axis=2)
        query = paddle.concat([self.item(target), self.cat(target_cat)], axis=1)
        x = paddle.concat([self.attention(query, keys, mask), query], axis=1)
        for layer in self.top:
            x = layer(x)
        return F.sigmoid(self.out(x) + self.bias(target))


def batches(n, size):
    for _ in range(n):
        hist = rng.randint(1, ITEMS, [size, T])
        length = rng.randint(1, T + 1, size)
        mask = (np.arange(T)[None] < length[:, None]).astype("float32")
        hist = hist * mask.astype("int64")
        target = rng.randint(1, ITEMS, size)
        label = ((hist % CATS == target[:, None] % CATS) & (mask > 0)).any(1).astype("float32")[:, None]
        yield [paddle.to_tensor(v) for v in (hist, hist % CATS, target, target % CATS, mask, label)]


net = DIN()
clip = nn.ClipGradByValue(max=1.0, min=-1.0)
optimizer = paddle.optimizer.SGD(learning_rate=0.5, parameters=net.parameters(), grad_clip=clip)
auc = paddle.metric.Auc("ROC", num_thresholds=200)
precision, recall = paddle.metric.Precision(), paddle.metric.Recall()
history = []
for step, (*inputs, label) in enumerate(batches(6, 16)):
    pred = net(*inputs)
    loss = F.log_loss(pred, label).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    both = paddle.concat([1 - pred, pred], axis=1)
    auc.update(preds=both.numpy(), labels=label.numpy())
    precision.update(pred.numpy(), label.numpy())
    recall.update(pred, label)
    history.append(float(loss))
    print("step %d loss %.5f" % (step, loss.item()))
print("auc %.3f precision %.3f recall %.3f" % (auc.accumulate(), precision.accumulate(), recall.accumulate()))
print("history %.4f %s" % (np.mean(history), auc.name()), net.item.weight.name, net.bias.weight.shape)
