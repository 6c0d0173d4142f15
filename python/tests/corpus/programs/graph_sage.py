# Messages along edges without a graph library: sums, means and maxima by segments, pooling of batches of graphs.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

rng = np.random.RandomState(53)


def scatter_sum(x, index, n):
    zeros = paddle.zeros([n, x.shape[1]], dtype=x.dtype)
    return paddle.scatter(zeros, index, x, overwrite=False)


def scatter_mean(x, index, n):
    count = paddle.scatter_nd(index.unsqueeze(-1), paddle.ones([index.shape[0]]), [n])
    return scatter_sum(x, index, n) / paddle.clip(count, min=1.0).unsqueeze(-1)


def scatter_max(x, index, n):
    rows = []
    for i in range(n):
        hit = paddle.masked_select(x, (index == i).unsqueeze(-1).expand_as(x)).reshape([-1, x.shape[1]])
        rows.append(hit.max(axis=0) if hit.shape[0] else paddle.zeros([x.shape[1]]))
    return paddle.stack(rows)


class SAGEConv(nn.Layer):
    def __init__(self, din, dout, aggr):
        super().__init__()
        self.aggr = {"sum": scatter_sum, "mean": scatter_mean, "max": scatter_max}[aggr]
        self.neighbours, self.own = nn.Linear(din, dout), nn.Linear(din, dout, bias_attr=False)

    def forward(self, x, edges):
        src, dst = edges[0], edges[1]
        out = self.neighbours(self.aggr(paddle.gather(x, src), dst, x.shape[0])) + self.own(x)
        return F.normalize(out, p=2, axis=-1)


class EdgeGate(nn.Layer):
    def __init__(self, dim, edge_dim):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(2 * dim + edge_dim, dim), nn.Softplus(), nn.Linear(dim, dim))
        self.gru = nn.GRUCell(dim, dim)

    def forward(self, x, edges, attr):
        m = self.mlp(paddle.concat([x[edges[0]], x[edges[1]], attr], axis=-1))
        out, _ = self.gru(scatter_sum(m, edges[1], len(x)), x)
        return out


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.convs = nn.LayerDict({"a": SAGEConv(5, 8, "mean"), "b": SAGEConv(8, 8, "max"), "c": SAGEConv(8, 8, "sum")})
        self.gate = EdgeGate(8, 2)
        self.head = nn.Linear(16, 2)

    def forward(self, x, edges, attr, batch):
        for name, conv in self.convs.items():
            x = F.relu(conv(x, edges))
        x = self.gate(x, edges, attr)
        n = int(batch.max()) + 1
        return self.head(paddle.concat([scatter_mean(x, batch, n), scatter_max(x, batch, n)], axis=1))


def graph(n, offset):
    edges = np.array([(i, (i + k) % n) for i in range(n) for k in (1, 2)]).T + offset
    return rng.randn(n, 5).astype("float32"), np.concatenate([edges, edges[::-1]], axis=1)


sizes, xs, es, offset = [4, 6, 3], [], [], 0
for n in sizes:
    x, e = graph(n, offset)
    xs.append(x), es.append(e)
    offset += n
x = paddle.to_tensor(np.concatenate(xs))
edges = paddle.to_tensor(np.concatenate(es, axis=1).astype("int64"))
attr = paddle.to_tensor(rng.rand(edges.shape[1], 2).astype("float32"))
batch = paddle.to_tensor(np.repeat(np.arange(3), sizes))
y = paddle.to_tensor([0, 1, 1])
net = Net()
optimizer = paddle.optimizer.Adagrad(0.05, parameters=net.parameters(), initial_accumulator_value=0.1)
accuracy = paddle.metric.Accuracy()
for epoch in range(4):
    logits = net(x, edges, attr, batch)
    loss = F.cross_entropy(logits, y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    accuracy.update(accuracy.compute(logits, y))
    print("epoch %d loss %.5f" % (epoch, loss.item()))
print("accuracy %.4f" % accuracy.accumulate())
degree = paddle.bincount(edges[1], minlength=len(x))
adj = paddle.zeros([13, 13])
adj = paddle.scatter_nd_add(adj, edges.t(), paddle.ones([edges.shape[1]]))
lap = paddle.diag(degree.astype("float32")) - adj
print("degree", degree.tolist(), "laplacian %.4f" % paddle.trace(lap.matmul(lap)).item())
print(paddle.unique(edges[0], return_counts=True)[1].tolist(), [n for n, _ in net.convs.named_children()])
