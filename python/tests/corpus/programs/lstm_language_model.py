# A language model with carried states, gradient clipping, perplexity, character sampling by argmax.
import numpy as np
import paddle
import paddle.nn as nn

text = "to be or not to be that is the question whether tis nobler in the mind to suffer "
chars = sorted(set(text))
data = np.array([chars.index(c) for c in text * 2], "int64")


class PtbModel(nn.Layer):
    def __init__(self, vocab, hidden=14, num_layers=2):
        super().__init__()
        self.simple_embedding = nn.Embedding(vocab, 9)
        self.lstm = nn.LSTM(9, hidden, num_layers, time_major=False, dropout=0.0)
        self.projection = nn.Linear(hidden, vocab)

    def forward(self, x, init=None):
        out, (h, c) = self.lstm(self.simple_embedding(x), init)
        return self.projection(out), (h, c)


model = PtbModel(len(chars))
for name, p in model.named_parameters():
    if "bias_hh" in name:
        p.set_value(paddle.zeros(p.shape))
clip = paddle.nn.ClipGradByGlobalNorm(5.0)
opt = paddle.optimizer.SGD(1.0, parameters=model.parameters(), grad_clip=clip)
batch, steps = 4, 8
stream = data[: len(data) // batch * batch].reshape(batch, -1)
state = None
for i, lo in enumerate(range(0, stream.shape[1] - steps - 1, steps)):
    x, y = stream[:, lo : lo + steps], stream[:, lo + 1 : lo + steps + 1]
    logits, state = model(paddle.to_tensor(x), state)
    state = tuple(s.detach() for s in state)
    loss = nn.functional.cross_entropy(logits, paddle.to_tensor(y).unsqueeze(-1))
    loss.backward()
    opt.step()
    opt.clear_grad()
    print("batch %d ppl %.4f" % (i, np.exp(loss.item())))
model.eval()
token, state, out = paddle.to_tensor([[chars.index("t")]]), None, "t"
for _ in range(8):
    logits, state = model(token, state)
    token = logits[:, -1].argmax(-1, keepdim=True)
    out += chars[token.item()]
print(repr(out), [list(s.shape) for s in state])
