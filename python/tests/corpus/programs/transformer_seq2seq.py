# Translation with nn.Transformer: label smoothing, Noam decay, greedy decoding.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

BOS, EOS, PAD = 1, 2, 0


class Seq2Seq(nn.Layer):
    def __init__(self, vocab=16, d_model=12):
        super().__init__()
        self.src_embed, self.tgt_embed = nn.Embedding(vocab, d_model), nn.Embedding(vocab, d_model)
        self.pos = nn.Embedding(20, d_model)
        self.transformer = nn.Transformer(
            d_model, nhead=3, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=20, dropout=0.0
        )
        self.out = nn.Linear(d_model, vocab)

    def embed(self, table, tokens):
        positions = paddle.arange(tokens.shape[1], dtype="int64").unsqueeze(0)
        return table(tokens) + self.pos(positions)

    def forward(self, src, tgt):
        src_mask = (src == PAD).astype("float32").unsqueeze([1, 2]) * -1e9
        tgt_mask = paddle.tensor.triu((paddle.ones((tgt.shape[1], tgt.shape[1]), dtype="float32") * -1e9), 1)
        out = self.transformer(
            self.embed(self.src_embed, src),
            self.embed(self.tgt_embed, tgt),
            src_mask=src_mask,
            tgt_mask=tgt_mask,
            memory_mask=src_mask,
        )
        return self.out(out)


rng = np.random.RandomState(17)
src = rng.randint(3, 16, (6, 7)).astype("int64")
src[0, 5:] = PAD
src[3, 4:] = PAD
tgt = np.concatenate([np.full((6, 1), BOS), src[:, ::-1], np.full((6, 1), EOS)], axis=1).astype("int64")
src, tgt = paddle.to_tensor(src), paddle.to_tensor(tgt)
model = Seq2Seq()
scheduler = paddle.optimizer.lr.NoamDecay(d_model=12, warmup_steps=10, learning_rate=0.5)
opt = paddle.optimizer.Adam(
    learning_rate=scheduler, beta1=0.9, beta2=0.997, epsilon=1e-9, parameters=model.parameters()
)
for step in range(5):
    logits = model(src, tgt[:, :-1])
    label = tgt[:, 1:]
    soft = F.label_smooth(F.one_hot(label, 16), epsilon=0.1)
    cost = F.softmax_with_cross_entropy(logits, soft, soft_label=True)
    weight = (label != PAD).astype("float32").unsqueeze(-1)
    loss = (cost * weight).sum() / weight.sum()
    loss.backward()
    opt.step()
    opt.clear_grad()
    scheduler.step()
    print("step %d lr %.6f loss %.5f" % (step, opt.get_lr(), loss.item()))

model.eval()
with paddle.no_grad():
    memory_in = src[:2]
    out = paddle.full([2, 1], BOS, dtype="int64")
    for _ in range(4):
        step_logits = model(memory_in, out)[:, -1]
        out = paddle.concat([out, step_logits.argmax(-1).unsqueeze(1)], axis=1)
print(out.tolist(), "%.4f" % step_logits.std().item())
mask = nn.Transformer.generate_square_subsequent_mask(model.transformer, 3)
print(mask.numpy().tolist())
