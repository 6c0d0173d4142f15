# Named entities with a bidirectional LSTM and a conditional random field in tensor operations.
import numpy as np
import paddle
import paddle.nn as nn


class CRF(nn.Layer):
    def __init__(self, num_tags):
        super().__init__()
        self.num_tags = num_tags
        self.transitions = self.create_parameter(
            [num_tags, num_tags], default_initializer=nn.initializer.Uniform(-0.1, 0.1)
        )
        self.start = self.create_parameter([num_tags], is_bias=True)

    def log_partition(self, emissions, mask):
        alpha = self.start + emissions[:, 0]
        for t in range(1, emissions.shape[1]):
            scores = alpha.unsqueeze(2) + self.transitions.unsqueeze(0) + emissions[:, t].unsqueeze(1)
            step = paddle.logsumexp(scores, axis=1)
            keep = mask[:, t].unsqueeze(-1)
            alpha = keep * step + (1 - keep) * alpha
        return paddle.logsumexp(alpha, axis=-1)

    def score(self, emissions, tags, mask):
        batch = paddle.arange(tags.shape[0])
        total = paddle.gather(self.start, tags[:, 0]) + emissions[batch, 0, tags[:, 0]]
        for t in range(1, tags.shape[1]):
            step = self.transitions[tags[:, t - 1], tags[:, t]] + paddle.index_sample(
                emissions[:, t], tags[:, t].unsqueeze(-1)
            ).squeeze(-1)
            total = total + step * mask[:, t]
        return total

    def decode(self, emissions, length):
        score, back = self.start + emissions[0], []
        for t in range(1, length):
            candidates = score.unsqueeze(1) + self.transitions
            back.append(candidates.argmax(axis=0))
            score = candidates.max(axis=0) + emissions[t]
        best = [int(score.argmax())]
        for pointers in reversed(back):
            best.append(int(pointers[best[-1]]))
        return best[::-1]


class Tagger(nn.Layer):
    def __init__(self, words=20, tags=4):
        super().__init__()
        self.embedding = nn.Embedding(words, 6)
        self.lstm = nn.LSTM(6, 5, direction="bidirect")
        self.fc = nn.Linear(10, tags)
        self.crf = CRF(tags)

    def emissions(self, tokens, lengths):
        out, _ = self.lstm(self.embedding(tokens), sequence_length=lengths)
        return self.fc(out)

    def forward(self, tokens, lengths, tags, mask):
        e = self.emissions(tokens, lengths)
        return (self.crf.log_partition(e, mask) - self.crf.score(e, tags, mask)).mean()


rng = np.random.RandomState(43)
tokens = paddle.to_tensor(rng.randint(0, 20, (4, 7)))
tags = paddle.to_tensor(rng.randint(0, 4, (4, 7)))
lengths = paddle.to_tensor([7, 4, 5, 6])
mask = (paddle.arange(7).unsqueeze(0) < lengths.unsqueeze(1)).astype("float32")
net = Tagger()
opt = paddle.optimizer.SGD(0.5, parameters=net.parameters(), grad_clip=nn.ClipGradByValue(0.1))
for step in range(6):
    loss = net(tokens, lengths, tags, mask)
    loss.backward()
    opt.step()
    opt.clear_grad()
    print("step %d nll %.5f" % (step, loss.item()))
e = net.emissions(tokens, lengths)
for i in range(4):
    print(net.crf.decode(e[i], int(lengths[i])))
