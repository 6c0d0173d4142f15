# Speech recognition: subsampling, conformer blocks with relative positions, joint CTC and attention losses, greedy decoding.
import math

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.nn import initializer as I

rng = np.random.RandomState(29)
VOCAB, BLANK, SOS = 9, 0, 8


class ConvSubsampling(nn.Layer):
    def __init__(self, idim, odim):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2D(1, odim, 3, 2), nn.ReLU(), nn.Conv2D(odim, odim, 3, stride=2), nn.ReLU())
        self.out = nn.Linear(odim * (((idim - 1) // 2 - 1) // 2), odim)

    def forward(self, x, mask):
        x = self.conv(x.unsqueeze(1))
        b, c, t, f = paddle.shape(x)
        x = self.out(x.transpose([0, 2, 1, 3]).reshape([b, t, c * f]))
        return x * math.sqrt(x.shape[-1]), mask[:, :, :-2:2][:, :, :-2:2]


class RelPositionAttention(nn.Layer):
    def __init__(self, heads, dim):
        super().__init__()
        self.h, self.d = heads, dim // heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.pos = nn.Linear(dim, dim, bias_attr=False)
        self.out = nn.Linear(dim, dim)
        self.bias_u = self.create_parameter([heads, self.d], default_initializer=I.XavierUniform())
        self.bias_v = paddle.create_parameter([heads, self.d], "float32", default_initializer=I.Constant(0.1))

    def forward(self, x, pos, mask):
        b, t, c = x.shape
        q, k, v = self.qkv(x).reshape([b, t, 3, self.h, self.d]).transpose([2, 0, 3, 1, 4]).unbind(0)
        p = self.pos(pos).reshape([1, t, self.h, self.d]).transpose([0, 2, 1, 3])
        q = q.transpose([0, 2, 1, 3])
        ac = paddle.matmul((q + self.bias_u).transpose([0, 2, 1, 3]), k, transpose_y=True)
        bd = paddle.matmul((q + self.bias_v).transpose([0, 2, 1, 3]), p.transpose([0, 1, 3, 2]))
        scores = (ac + bd) / math.sqrt(self.d)
        blocked = mask.unsqueeze(1) == 0
        scores = paddle.where(blocked.expand(scores.shape), paddle.full_like(scores, -float("inf")), scores)
        attn = F.softmax(scores, axis=-1)
        attn = paddle.where(blocked.expand(scores.shape), paddle.zeros_like(attn), attn)
        return self.out(paddle.matmul(attn, v).transpose([0, 2, 1, 3]).reshape([b, -1, c]))


class ConvolutionModule(nn.Layer):
    def __init__(self, channels, kernel=5):
        super().__init__()
        self.pointwise1 = nn.Conv1D(channels, 2 * channels, 1)
        self.depthwise = nn.Conv1D(channels, channels, kernel, padding=(kernel - 1) // 2, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.pointwise2 = nn.Conv1D(channels, channels, kernel_size=1)

    def forward(self, x, mask):
        x = x.transpose([0, 2, 1]) * mask
        x = F.glu(self.pointwise1(x), axis=1)
        x = self.depthwise(x).transpose([0, 2, 1])
        x = F.swish(self.norm(x)).transpose([0, 2, 1])
        return (self.pointwise2(x) * mask).transpose([0, 2, 1])


class ConformerBlock(nn.Layer):
    def __init__(self, dim):
        super().__init__()
        ff = lambda: nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.Swish(), nn.Linear(2 * dim, dim))
        self.ff1, self.ff2 = ff(), ff()
        self.norm_mha, self.mha = nn.LayerNorm(dim), RelPositionAttention(2, dim)
        self.norm_conv, self.conv = nn.LayerNorm(dim), ConvolutionModule(dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, pos, mask):
        x = x + 0.5 * self.ff1(x)
        x = x + self.mha(self.norm_mha(x), pos, mask)
        x = x + self.conv(self.norm_conv(x), mask.astype(x.dtype))
        return self.norm(x + 0.5 * self.ff2(x))


def positions(t, dim):
    pe = np.zeros((t, dim), "float32")
    place = np.arange(t, dtype="float32")[:, None]
    div = np.exp(np.arange(0, dim, 2, dtype="float32") * -(math.log(10000.0) / dim))
    pe[:, 0::2], pe[:, 1::2] = np.sin(place * div), np.cos(place * div)
    return paddle.to_tensor(pe).unsqueeze(0)


class Model(nn.Layer):
    def __init__(self, idim=14, dim=8):
        super().__init__()
        self.embed = ConvSubsampling(idim, dim)
        self.encoders = nn.LayerList([ConformerBlock(dim) for _ in range(2)])
        self.after_norm = nn.LayerNorm(dim)
        self.ctc_lo = nn.Linear(dim, VOCAB)
        self.word = nn.Embedding(VOCAB, dim)
        layer = nn.TransformerDecoderLayer(dim, 2, 16, dropout=0.0, normalize_before=True)
        self.decoder = nn.TransformerDecoder(layer, 1, nn.LayerNorm(dim))
        self.output = nn.Linear(dim, VOCAB)

    def forward(self, xs, xs_lens, ys, ys_lens):
        mask = (paddle.arange(xs.shape[1]).unsqueeze(0) < xs_lens.unsqueeze(1)).unsqueeze(1)
        x, mask = self.embed(xs, mask)
        pos = positions(x.shape[1], x.shape[2])
        for layer in self.encoders:
            x = layer(x, pos, mask)
        x = self.after_norm(x)
        lens = mask.squeeze(1).astype("int64").sum(axis=1)
        logits = self.ctc_lo(x)
        ctc = (
            F.ctc_loss(logits.transpose([1, 0, 2]), ys.astype("int32"), lens, ys_lens, blank=BLANK, reduction="sum")
            / xs.shape[0]
        )
        ys_in = F.pad(ys, [0, 0, 1, 0], value=SOS)
        ys_out = paddle.concat([ys, paddle.full([ys.shape[0], 1], -1, dtype="int64")], axis=1)
        for i in range(ys.shape[0]):
            ys_out[i, int(ys_lens[i])] = SOS
            ys_out[i, int(ys_lens[i]) + 1 :] = -1
        t = ys_in.shape[1]
        causal = paddle.tensor.triu(paddle.full([t, t], -1e9), 1)
        out = self.decoder(
            self.word(ys_in), x, tgt_mask=causal, memory_mask=(mask.unsqueeze(1).astype("float32") - 1) * 1e9
        )
        att = F.cross_entropy(self.output(out).reshape([-1, VOCAB]), ys_out.reshape([-1]), ignore_index=-1)
        return 0.3 * ctc + 0.7 * att, ctc, att, logits, lens


model = Model()
xs = paddle.to_tensor(rng.randn(2, 30, 14).astype("float32"))
xs_lens = paddle.to_tensor([30, 24])
ys, ys_lens = paddle.to_tensor([[2, 3, 3], [5, 1, 1]]), paddle.to_tensor([3, 2])
optimizer = paddle.optimizer.SGD(0.02, parameters=model.parameters())
for step in range(3):
    loss, ctc, att, logits, lens = model(xs, xs_lens, ys, ys_lens)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    print("step %d loss %.5f ctc %.5f att %.5f" % (step, loss.item(), ctc.item(), att.item()))
best = logits.argmax(axis=-1).numpy()
for i in range(2):
    path = [int(v) for k, v in enumerate(best[i][: int(lens[i])]) if v != BLANK and (k == 0 or v != best[i][k - 1])]
    print("path", path, lens.numpy().tolist())
