# Recognition by attention: a GRU cell that looks at the picture for each character.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class AttentionGRUCell(nn.Layer):
    def __init__(self, input_size, hidden_size, num_embeddings, use_gru=True):
        super().__init__()
        self.i2h = nn.Linear(input_size, hidden_size, bias_attr=False)
        self.h2h = nn.Linear(hidden_size, hidden_size)
        self.score = nn.Linear(hidden_size, 1, bias_attr=False)
        self.rnn = nn.GRUCell(input_size=input_size + num_embeddings, hidden_size=hidden_size)
        self.hidden_size = hidden_size

    def forward(self, prev_hidden, batch_H, char_onehots):
        batch_H_proj = self.i2h(batch_H)
        prev_hidden_proj = paddle.unsqueeze(self.h2h(prev_hidden), axis=1)
        res = paddle.add(batch_H_proj, prev_hidden_proj)
        res = paddle.tanh(res)
        e = self.score(res)
        alpha = F.softmax(e, axis=1)
        alpha = paddle.transpose(alpha, [0, 2, 1])
        context = paddle.squeeze(paddle.mm(alpha, batch_H), axis=1)
        concat_context = paddle.concat([context, char_onehots], 1)
        cur_hidden = self.rnn(concat_context, prev_hidden)
        return cur_hidden, alpha


class AttentionHead(nn.Layer):
    def __init__(self, in_channels, out_channels, hidden_size):
        super().__init__()
        self.num_classes = out_channels
        self.hidden_size = hidden_size
        self.attention_cell = AttentionGRUCell(in_channels, hidden_size, out_channels)
        self.generator = nn.Linear(hidden_size, out_channels)

    def _char_to_onehot(self, input_char, onehot_dim):
        return F.one_hot(input_char, onehot_dim)

    def forward(self, inputs, targets=None, batch_max_length=5):
        batch_size = inputs.shape[0]
        hidden = paddle.zeros((batch_size, self.hidden_size))
        if targets is not None:
            output_hiddens = []
            for i in range(batch_max_length):
                onehots = self._char_to_onehot(targets[:, i], self.num_classes)
                (outputs, hidden), alpha = self.attention_cell(hidden, inputs, onehots)
                output_hiddens.append(paddle.unsqueeze(outputs, axis=1))
            return self.generator(paddle.concat(output_hiddens, axis=1))
        targets = paddle.zeros(shape=[batch_size], dtype="int32")
        probs = None
        for i in range(batch_max_length):
            onehots = self._char_to_onehot(targets, self.num_classes)
            (outputs, hidden), alpha = self.attention_cell(hidden, inputs, onehots)
            step = self.generator(outputs)
            if probs is None:
                probs = paddle.unsqueeze(step, axis=1)
            else:
                probs = paddle.concat([probs, paddle.unsqueeze(step, axis=1)], axis=1)
            targets = step.argmax(axis=1)
        return probs


rng = np.random.RandomState(2)
features = paddle.to_tensor(rng.randn(4, 7, 10).astype("float32"))
targets = paddle.to_tensor(rng.randint(0, 9, (4, 6)).astype("int64"))
head = AttentionHead(10, 9, 8)
opt = paddle.optimizer.Adadelta(learning_rate=1.0, parameters=head.parameters())
for i in range(4):
    logits = head(features, targets)
    loss = nn.CrossEntropyLoss(reduction="mean")(logits.reshape([-1, 9]), targets[:, 1:].reshape([-1]))
    loss.backward()
    opt.step()
    opt.clear_grad()
    print("%.6f" % loss.item())
head.eval()
out = head(features)
print(out.shape, out.argmax(-1).numpy().tolist(), "%.5f" % F.softmax(out, -1).max().item())
