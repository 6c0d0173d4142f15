# A layer of experts: top-2 gates, tokens sent with index and scatter functions, a loss for balance.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

rng = np.random.RandomState(11)


class Expert(nn.Layer):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(dim, hidden), nn.Linear(hidden, dim), nn.Linear(dim, hidden)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class MoE(nn.Layer):
    def __init__(self, dim, hidden, num_experts, top_k=2):
        super().__init__()
        self.gate = nn.Linear(dim, num_experts, bias_attr=False)
        self.experts = nn.LayerList([Expert(dim, hidden) for _ in range(num_experts)])
        self.top_k = top_k

    def forward(self, x):
        shape = x.shape
        tokens = x.reshape([-1, shape[-1]])
        probs = F.softmax(self.gate(tokens), axis=-1)
        weights, chosen = paddle.topk(probs, self.top_k, axis=-1)
        weights = weights / weights.sum(axis=-1, keepdim=True)
        out = paddle.zeros_like(tokens)
        load = []
        for e, expert in enumerate(self.experts):
            hit = chosen == e
            rows = paddle.nonzero(hit.any(axis=-1)).flatten()
            load.append(int(rows.shape[0]))
            if rows.shape[0] == 0:
                continue
            share = (weights * hit.astype(weights.dtype)).sum(axis=-1)
            part = expert(paddle.gather(tokens, rows)) * paddle.gather(share, rows).unsqueeze(-1)
            out = paddle.scatter_nd_add(out, rows.unsqueeze(-1), part)
        density = F.one_hot(chosen[:, 0], len(self.experts)).mean(axis=0)
        self.aux_loss = (density * probs.mean(axis=0)).sum() * len(self.experts)
        self.load = load
        return out.reshape(shape)


class Block(nn.Layer):
    def __init__(self, dim):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim, epsilon=1e-6)
        self.attn = nn.MultiHeadAttention(dim, 2)
        self.moe = MoE(dim, 12, 4)

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attn(y, y, y)
        return x + self.moe(self.norm2(x))


net = nn.Sequential(Block(8), Block(8), nn.LayerNorm(8), nn.Linear(8, 5))
x = paddle.to_tensor(rng.randn(3, 6, 8).astype("float32"))
y = paddle.to_tensor(rng.randint(0, 5, [3, 6]))
optimizer = paddle.optimizer.SGD(learning_rate=0.2, parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(1.0))
for step in range(4):
    logits = net(x)
    aux = paddle.add_n([net[0].moe.aux_loss, net[1].moe.aux_loss])
    loss = F.cross_entropy(logits.reshape([-1, 5]), y.reshape([-1])) + 0.01 * aux
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    print("loss %.5f aux %.5f" % (loss.item(), aux.item()), net[0].moe.load, net[1].moe.load)
print("logits", np.round(net(x)[0, 0].numpy(), 4).tolist())
