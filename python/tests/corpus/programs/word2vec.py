# Skip-gram with negative sampling; the nearest words by cosine.
import numpy as np
import paddle
import paddle.nn.functional as F
from paddle.nn import Embedding

corpus = "the king and the queen rule the land the king rules and the queen sings in the land of the sun".split()
word2id = {w: i for i, w in enumerate(sorted(set(corpus)))}
ids = np.array([word2id[w] for w in corpus], "int64")
rng = np.random.RandomState(47)
pairs = []
for i, center in enumerate(ids):
    for j in range(max(0, i - 2), min(len(ids), i + 3)):
        if i != j:
            pairs.append((center, ids[j], 1))
            pairs.append((center, rng.randint(len(word2id)), 0))
pairs = np.array(pairs, "int64")


class SkipGram(paddle.nn.Layer):
    def __init__(self, vocab_size, embedding_size, init_scale=0.1):
        super(SkipGram, self).__init__()
        self.embedding = Embedding(
            vocab_size,
            embedding_size,
            weight_attr=paddle.ParamAttr(name="in", initializer=paddle.nn.initializer.Uniform(-init_scale, init_scale)),
        )
        self.embedding_out = Embedding(vocab_size, embedding_size, weight_attr=paddle.ParamAttr(name="out"))

    def forward(self, center_words, target_words, label):
        center = self.embedding(center_words)
        target = self.embedding_out(target_words)
        word_sim = paddle.multiply(center, target)
        word_sim = paddle.sum(word_sim, axis=-1)
        word_sim = paddle.reshape(word_sim, shape=[-1])
        pred = F.sigmoid(word_sim)
        loss = F.binary_cross_entropy(F.sigmoid(word_sim), label)
        return pred, paddle.mean(loss)


model = SkipGram(len(word2id), 6)
adam = paddle.optimizer.Adam(learning_rate=0.05, parameters=model.parameters())
for step in range(6):
    batch = pairs[step * 20 % len(pairs) :][:20]
    pred, loss = model(
        paddle.to_tensor(batch[:, 0]), paddle.to_tensor(batch[:, 1]), paddle.to_tensor(batch[:, 2].astype("float32"))
    )
    loss.backward()
    adam.step()
    adam.clear_grad()
    print("step %d, loss %.6f" % (step, loss))
vectors = model.embedding.weight
cos = F.cosine_similarity(vectors.unsqueeze(0), vectors[word2id["king"]].reshape([1, 1, -1]), axis=-1).squeeze(0)
values, order = paddle.topk(cos, 3)
print(order.tolist()[0] == word2id["king"], ["%.4f" % v for v in values.tolist()])
print(model.embedding.weight.name, model.embedding_out.weight.shape)
