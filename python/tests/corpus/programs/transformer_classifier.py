# Text classification with nn.TransformerEncoder, positions by sine, padding masks.
import math

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class PositionalEncoding(nn.Layer):
    def __init__(self, d_model, max_len=50):
        super().__init__()
        position = np.arange(max_len)[:, None]
        div_term = np.exp(np.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = np.zeros((max_len, d_model), dtype="float32")
        pe[:, 0::2], pe[:, 1::2] = np.sin(position * div_term), np.cos(position * div_term)
        self.register_buffer("pe", paddle.to_tensor(pe).unsqueeze(0), persistable=False)

    def forward(self, x):
        return x + self.pe[:, : x.shape[1]]


class Classifier(nn.Layer):
    def __init__(self, vocab_size=30, d_model=16, nhead=4, num_layers=2, classes=3):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model, padding_idx=0)
        self.position = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(
            d_model, nhead, dim_feedforward=32, dropout=0.0, activation="gelu", normalize_before=True
        )
        self.encoder = nn.TransformerEncoder(layer, num_layers, nn.LayerNorm(d_model))
        self.classifier = nn.Linear(d_model, classes)
        self.scale = d_model**0.5

    def forward(self, tokens):
        keep = (tokens != 0).astype("float32")
        mask = (1.0 - keep).unsqueeze([1, 2]) * -1e9
        x = self.position(self.embedding(tokens) * self.scale)
        x = self.encoder(x, mask)
        x = (x * keep.unsqueeze(-1)).sum(1) / keep.sum(1, keepdim=True)
        return self.classifier(x)


rng = np.random.RandomState(13)
tokens = rng.randint(1, 30, (8, 9)).astype("int64")
for row, length in enumerate([9, 5, 7, 3, 9, 8, 4, 6]):
    tokens[row, length:] = 0
labels = paddle.to_tensor((tokens.sum(1) % 3).astype("int64"))
tokens = paddle.to_tensor(tokens)
net = Classifier()
# The layers of a TransformerEncoder are copies of the one given to it.
for layer in net.encoder.layers[1:]:
    layer.set_state_dict(net.encoder.layers[0].state_dict())
opt = paddle.optimizer.AdamW(1e-2, parameters=net.parameters(), grad_clip=nn.ClipGradByNorm(1.0))
for step in range(5):
    loss = F.cross_entropy(net(tokens), labels)
    loss.backward()
    opt.step()
    opt.clear_grad()
    print("step %d loss %.5f" % (step, loss.item()))
net.eval()
print(net(tokens).argmax(-1).tolist(), labels.tolist())
print("padding row %.4f" % net.embedding.weight[0].abs().sum().item())
print([name for name in net.state_dict()][:8])
