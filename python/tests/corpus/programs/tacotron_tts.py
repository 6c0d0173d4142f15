# Text to speech: encoder, location-sensitive attention, autoregressive decoder with teacher forcing, postnet, stop tokens.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

rng = np.random.RandomState(5)
N_MEL, R = 6, 2


def sequence_mask(lengths, max_len=None, dtype="float32"):
    max_len = int(lengths.max()) if max_len is None else max_len
    return (paddle.arange(0, max_len).unsqueeze(0) < lengths.unsqueeze(1)).astype(dtype)


class LocationAttention(nn.Layer):
    def __init__(self, d_query, d_key, d_attn, filters=3, kernel=5):
        super().__init__()
        self.query_layer = nn.Linear(d_query, d_attn, bias_attr=False)
        self.key_layer = nn.Linear(d_key, d_attn, bias_attr=False)
        self.location_conv = nn.Conv1D(
            2, filters, kernel, padding=int((kernel - 1) / 2), bias_attr=False, data_format="NLC"
        )
        self.location_layer = nn.Linear(filters, d_attn, bias_attr=False)
        self.value = nn.Linear(d_attn, 1)

    def forward(self, query, keys, values, weights, cumulative, mask=None):
        location = self.location_layer(self.location_conv(paddle.stack([weights, cumulative], axis=-1)))
        energy = self.value(
            paddle.tanh(self.query_layer(query.unsqueeze(1)) + self.key_layer(keys) + location)
        ).squeeze(-1)
        if mask is not None:
            energy += (1.0 - mask) * -1e9
        weights = F.softmax(energy, axis=-1)
        context = paddle.bmm(weights.unsqueeze(1), values).squeeze([1])
        return context, weights


class PostNet(nn.Layer):
    def __init__(self, d_mel, d_hidden, layers=3):
        super().__init__()
        self.convs = nn.LayerList()
        for i in range(layers):
            cin, cout = d_mel if i == 0 else d_hidden, d_mel if i == layers - 1 else d_hidden
            self.convs.append(nn.Sequential(nn.Conv1D(cin, cout, 5, padding=2, bias_attr=False), nn.BatchNorm1D(cout)))

    def forward(self, x):
        for i, conv in enumerate(self.convs):
            x = conv(x) if i == len(self.convs) - 1 else F.tanh(conv(x))
        return x


class Tacotron(nn.Layer):
    def __init__(self, vocab=15, d=8):
        super().__init__()
        self.embedding = nn.Embedding(vocab, d, padding_idx=0)
        self.encoder = nn.LSTM(d, d // 2, direction="bidirectional")
        self.prenet = nn.Sequential(nn.Linear(N_MEL * R, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU())
        self.attention_rnn, self.decoder_rnn = nn.LSTMCell(d + d, d), nn.LSTMCell(d + d, d)
        self.attention = LocationAttention(d, d, d)
        self.linear, self.stop = nn.Linear(2 * d, N_MEL * R), nn.Linear(2 * d, 1)
        self.postnet = PostNet(N_MEL, d)

    def forward(self, text, text_lens, mels):
        keys, _ = self.encoder(self.embedding(text), sequence_length=text_lens)
        b, t = text.shape
        frames = mels.reshape([b, mels.shape[1] // R, N_MEL * R])
        inputs = paddle.concat([paddle.zeros([b, 1, N_MEL * R]), frames], axis=1)[:, :-1, :]
        inputs = self.prenet(inputs)
        mask = sequence_mask(text_lens, t)
        state_a = state_d = None
        context, weights, cumulative = paddle.zeros([b, keys.shape[-1]]), paddle.zeros([b, t]), paddle.zeros([b, t])
        outputs, stops, alignments = [], [], []
        for i in range(inputs.shape[1]):
            query, state_a = self.attention_rnn(paddle.concat([inputs[:, i], context], axis=-1), state_a)
            context, weights = self.attention(query, keys, keys, weights, cumulative, mask)
            cumulative = cumulative + weights
            h, state_d = self.decoder_rnn(paddle.concat([query, context], -1), state_d)
            h = paddle.concat([h, context], axis=-1)
            outputs.append(self.linear(h))
            stops.append(self.stop(h))
            alignments.append(weights)
        mel = paddle.stack(outputs, axis=1).reshape([b, -1, N_MEL])
        post = mel + self.postnet(mel.transpose([0, 2, 1])).transpose((0, 2, 1))
        return mel, post, paddle.concat(stops, axis=1), paddle.stack(alignments, axis=1)


def guided_attention(alignments, text_lens, mel_lens, sigma=0.4):
    loss, b = 0.0, alignments.shape[0]
    for i in range(b):
        n, t = int(mel_lens[i]) // R, int(text_lens[i])
        grid_t, grid_n = paddle.meshgrid(paddle.arange(n, dtype="float32") / n, paddle.arange(t, dtype="float32") / t)
        w = 1.0 - paddle.exp(-((grid_t - grid_n) ** 2) / (2 * sigma**2))
        loss += (alignments[i, :n, :t] * w).mean()
    return loss / b


model = Tacotron()
text = paddle.to_tensor(np.array([[3, 5, 9, 2, 7], [4, 4, 1, 0, 0]]))
text_lens, mel_lens = paddle.to_tensor([5, 3]), paddle.to_tensor([8, 6])
mels = paddle.to_tensor(rng.randn(2, 8, N_MEL).astype("float32"))
scheduler = paddle.optimizer.lr.NoamDecay(d_model=8, warmup_steps=3, learning_rate=0.3)
optimizer = paddle.optimizer.SGD(
    scheduler, parameters=model.parameters(), grad_clip=nn.ClipGradByNorm(1.0), weight_decay=1e-4
)
mask = sequence_mask(mel_lens).unsqueeze(-1)
stop_target = 1.0 - sequence_mask(mel_lens // R - 1, 4)
for epoch in range(3):
    mel, post, stop, alignments = model(text, text_lens, mels)
    l1 = (F.l1_loss(post, mels, reduction="none") * mask).sum() / mask.sum() / N_MEL
    mse = paddle.sum(F.mse_loss(mel, mels, "none") * mask) / mask.sum() / N_MEL
    bce = F.binary_cross_entropy_with_logits(stop, stop_target, pos_weight=paddle.to_tensor([2.0]))
    guide = guided_attention(alignments, text_lens, mel_lens)
    loss = l1 + mse + bce + guide
    optimizer.clear_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    print("epoch %d l1 %.5f mse %.5f stop %.5f guide %.5f lr %.5f" % (epoch, l1, mse, bce, guide, scheduler()))
model.eval()
with paddle.no_grad():
    _, post, stop, alignments = model(text, text_lens, mels)
print("stops", [["%.4f" % v for v in row] for row in F.sigmoid(stop).tolist()])
print("alignment", np.round(alignments[1, -1].numpy(), 4).tolist())
