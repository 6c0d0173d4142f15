# An LSTM encoder and an attention decoder built as an RNNCell run by paddle.nn.RNN.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class AttentionLayer(nn.Layer):
    def __init__(self, hidden_size):
        super().__init__()
        self.input_proj = nn.Linear(hidden_size, hidden_size, bias_attr=False)
        self.output_proj = nn.Linear(2 * hidden_size, hidden_size)

    def forward(self, hidden, encoder_output, mask):
        encoder_output = self.input_proj(encoder_output)
        score = paddle.matmul(hidden.unsqueeze(1), encoder_output, transpose_y=True) + mask
        attn = F.softmax(score)
        context = paddle.matmul(attn, encoder_output).squeeze(1)
        return self.output_proj(paddle.concat([context, hidden], 1))


class DecoderCell(nn.RNNCellBase):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.cell = nn.LSTMCell(input_size + hidden_size, hidden_size)
        self.attention = AttentionLayer(hidden_size)
        self.hidden_size = hidden_size

    @property
    def state_shape(self):
        return ((self.hidden_size,), (self.hidden_size,)), (self.hidden_size,)

    def forward(self, step_input, states, encoder_output, mask=None):
        lstm_states, input_feed = states
        out, new_states = self.cell(paddle.concat([step_input, input_feed], 1), lstm_states)
        out = self.attention(out, encoder_output, mask)
        return out, [new_states, out]


class Seq2Seq(nn.Layer):
    def __init__(self, vocab=15, embed=6, hidden=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, embed)
        self.encoder = nn.LSTM(embed, hidden, num_layers=1)
        self.decoder = nn.RNN(DecoderCell(embed, hidden), is_reverse=False, time_major=False)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, src, src_length, trg):
        encoder_output, (h, c) = self.encoder(self.embed(src), sequence_length=src_length)
        states = [(h[0], c[0]), paddle.zeros_like(h[0])]
        mask = (paddle.arange(src.shape[1]).unsqueeze(0) < src_length.unsqueeze(1)).astype("float32")
        mask = ((mask - 1.0) * 1e9).unsqueeze(1)
        output, _ = self.decoder(self.embed(trg), initial_states=states, encoder_output=encoder_output, mask=mask)
        return self.out(output)


rng = np.random.RandomState(53)
src, trg = paddle.to_tensor(rng.randint(2, 15, (4, 6))), paddle.to_tensor(rng.randint(2, 15, (4, 5)))
length = paddle.to_tensor(np.array([6, 4, 3, 5]))
model = Seq2Seq()
opt = paddle.optimizer.Adam(0.02, parameters=model.parameters())
for step in range(4):
    logits = model(src, length, trg[:, :-1])
    loss = F.cross_entropy(logits, trg[:, 1:].unsqueeze(2), reduction="none").squeeze(-1)
    loss = loss.mean(axis=[0]).sum()
    loss.backward()
    opt.step()
    opt.clear_grad()
    print("step %d loss %.5f" % (step, loss.item()))
print(logits.shape, "%.5f" % logits.std().item())
