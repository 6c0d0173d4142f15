# A small GPT: causal attention by hand, tied embeddings, generation with a cache.
import math

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class CausalSelfAttention(nn.Layer):
    def __init__(self, n_embd, n_head, block_size):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.register_buffer(
            "mask", paddle.tril(paddle.ones([block_size, block_size])).reshape([1, 1, block_size, block_size])
        )
        self.n_head = n_head

    def forward(self, x, cache=None):
        B, T, C = x.shape
        q, k, v = self.c_attn(x).chunk(3, axis=-1)
        q, k, v = [t.reshape([B, T, self.n_head, C // self.n_head]).transpose([0, 2, 1, 3]) for t in (q, k, v)]
        if cache is not None:
            if len(cache):
                k, v = paddle.concat([cache[0], k], axis=2), paddle.concat([cache[1], v], axis=2)
            cache[:] = [k, v]
        S = k.shape[2]
        att = paddle.matmul(q, k, transpose_y=True) * (1.0 / math.sqrt(k.shape[-1]))
        att = paddle.where(self.mask[:, :, S - T : S, :S] == 0, paddle.full([1], float("-inf")), att)
        y = paddle.matmul(F.softmax(att, axis=-1), v)
        return self.c_proj(y.transpose([0, 2, 1, 3]).reshape([B, T, C]))


class Block(nn.Layer):
    def __init__(self, n_embd, n_head, block_size):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head, block_size)
        self.mlp = nn.Sequential(
            nn.Linear(n_embd, 4 * n_embd), nn.GELU(approximate=True), nn.Linear(4 * n_embd, n_embd)
        )

    def forward(self, x, cache=None):
        x = x + self.attn(self.ln1(x), cache)
        return x + self.mlp(self.ln2(x))


class GPT(nn.Layer):
    def __init__(self, vocab_size=20, block_size=12, n_layer=2, n_head=2, n_embd=12):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, n_embd)
        self.pos_emb = self.create_parameter(
            [1, block_size, n_embd], default_initializer=nn.initializer.TruncatedNormal(std=0.02)
        )
        self.blocks = nn.LayerList([Block(n_embd, n_head, block_size) for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd)

    def forward(self, idx, caches=None, past=0):
        x = self.tok_emb(idx) + self.pos_emb[:, past : past + idx.shape[1], :]
        for i, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[i])
        return F.linear(self.ln_f(x), self.tok_emb.weight.t())


rng = np.random.RandomState(6)
text = rng.randint(0, 20, 200)
text[1::2] = (text[::2] + 3) % 20
model = GPT()
optim = paddle.optimizer.AdamW(learning_rate=3e-3, beta2=0.95, parameters=model.parameters(), weight_decay=0.1)
for it in range(6):
    starts = rng.randint(0, 180, 4)
    x = paddle.to_tensor(np.stack([text[s : s + 12] for s in starts]).astype("int64"))
    y = paddle.to_tensor(np.stack([text[s + 1 : s + 13] for s in starts]).astype("int64"))
    loss = F.cross_entropy(model(x).reshape([-1, 20]), y.flatten())
    optim.clear_grad()
    loss.backward()
    optim.step()
    print("iter %d loss %.5f perplexity %.4f" % (it, loss.item(), paddle.exp(loss).item()))
model.eval()
with paddle.no_grad():
    tokens, caches, feed = paddle.to_tensor([[3, 6, 9]], dtype="int64"), [[], []], None
    feed, past = tokens, 0
    for _ in range(6):
        logits = model(feed, caches, past)[:, -1, :]
        past += feed.shape[1]
        feed = paddle.topk(logits, 1)[1]
        tokens = paddle.concat((tokens, feed), axis=1)
    full = model(tokens[:, :-1])[:, -1, :]
print(tokens.numpy().tolist(), "cache differs by %.3f" % (full - logits).abs().max().item())
