# Graph convolution on a small citation-like graph, with degree normalization by scatter.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class GCNConv(nn.Layer):
    def __init__(self, input_size, output_size, activation=None):
        super().__init__()
        self.linear = nn.Linear(input_size, output_size, bias_attr=False)
        self.bias = self.create_parameter(shape=[output_size], is_bias=True)
        self.activation = getattr(F, activation) if isinstance(activation, str) else activation

    def forward(self, src, dst, num_nodes, feature):
        ones = paddle.ones([dst.shape[0]], dtype="float32")
        degree = paddle.scatter(paddle.zeros([num_nodes]), dst, ones, overwrite=False)
        norm = paddle.pow(paddle.clip(degree, min=1.0), -0.5).unsqueeze(-1)
        feature = self.linear(feature) * norm
        message = paddle.gather(feature, src, axis=0)
        output = paddle.scatter_nd_add(paddle.zeros([num_nodes, message.shape[-1]]), dst.unsqueeze(-1), message)
        output = output * norm + self.bias
        return output if self.activation is None else self.activation(output)


class GCN(nn.Layer):
    def __init__(self, features, classes, hidden=8):
        super().__init__()
        self.gcns = nn.LayerList()
        for i in range(2):
            self.gcns.append(GCNConv(features if i == 0 else hidden, hidden, activation="relu"))
        self.gcns.append(GCNConv(hidden, classes))

    def forward(self, src, dst, n, x):
        for m in self.gcns:
            x = m(src, dst, n, x)
        return x


rng = np.random.RandomState(51)
n = 30
edges = np.stack([rng.randint(0, n, 90), rng.randint(0, n, 90)])
edges = np.concatenate([edges, edges[::-1], np.tile(np.arange(n), (2, 1))], axis=1).astype("int64")
src, dst = paddle.to_tensor(edges[0]), paddle.to_tensor(edges[1])
x = paddle.to_tensor(rng.randn(n, 6).astype("float32"))
y = paddle.to_tensor(rng.randint(0, 3, n).astype("int64"))
train_index = paddle.to_tensor(np.arange(0, n, 2))
model = GCN(6, 3)
optim = paddle.optimizer.Adam(learning_rate=0.01, parameters=model.parameters(), weight_decay=5e-4)
for epoch in range(6):
    model.train()
    pred = model(src, dst, n, x)
    loss = F.cross_entropy(paddle.gather(pred, train_index), paddle.index_select(y, train_index))
    loss.backward()
    optim.step()
    optim.clear_grad()
    print("epoch %d loss %.6f" % (epoch, loss.item()))
print(paddle.metric.accuracy(F.softmax(pred), y.unsqueeze(-1)).item() <= 1.0, pred.shape)
