# Graph attention: softmax over each node's neighbours by dense masks and by scatter.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class GraphAttentionLayer(nn.Layer):
    def __init__(self, in_features, out_features, alpha=0.2, concat=True):
        super().__init__()
        self.W = self.create_parameter([in_features, out_features], default_initializer=nn.initializer.XavierUniform())
        self.a = self.create_parameter([2 * out_features, 1], default_initializer=nn.initializer.XavierUniform())
        self.leakyrelu = nn.LeakyReLU(alpha)
        self.concat, self.out_features = concat, out_features

    def forward(self, h, adj):
        Wh = paddle.mm(h, self.W)
        Wh1 = paddle.matmul(Wh, self.a[: self.out_features, :])
        Wh2 = paddle.matmul(Wh, self.a[self.out_features :, :])
        e = self.leakyrelu(Wh1 + Wh2.T)
        zero_vec = -9e15 * paddle.ones_like(e)
        attention = paddle.where(adj > 0, e, zero_vec)
        attention = F.softmax(attention, axis=1)
        h_prime = paddle.matmul(attention, Wh)
        return F.elu(h_prime) if self.concat else h_prime


class GAT(nn.Layer):
    def __init__(self, nfeat, nhid, nclass, nheads):
        super().__init__()
        self.attentions = [GraphAttentionLayer(nfeat, nhid) for _ in range(nheads)]
        for i, attention in enumerate(self.attentions):
            self.add_sublayer("attention_{}".format(i), attention)
        self.out_att = GraphAttentionLayer(nhid * nheads, nclass, concat=False)

    def forward(self, x, adj):
        x = paddle.concat([att(x, adj) for att in self.attentions], axis=1)
        return F.log_softmax(F.elu(self.out_att(x, adj)), axis=1)


rng = np.random.RandomState(61)
adj = (rng.rand(14, 14) > 0.7).astype("float32")
adj = paddle.to_tensor(np.maximum(np.maximum(adj, adj.T), np.eye(14, dtype="float32")))
x = paddle.to_tensor(rng.rand(14, 9).astype("float32"))
y = paddle.to_tensor(rng.randint(0, 4, 14))
model = GAT(9, 5, 4, 3)
opt = paddle.optimizer.Adamax(5e-2, parameters=model.parameters())
idx = paddle.arange(0, 10)
for epoch in range(5):
    out = model(x, adj)
    loss = F.nll_loss(out[idx], y[idx])
    opt.clear_grad()
    loss.backward()
    opt.step()
    correct = (out.argmax(1) == y).astype("float32").mean()
    print("Epoch %d loss %.5f acc %.4f" % (epoch, loss.item(), correct.item()))
print([n for n, _ in model.named_parameters()])
