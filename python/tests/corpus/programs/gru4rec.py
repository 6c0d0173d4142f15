# Session-based recommendation: embeddings, a GRU, the TOP1 loss, recall and MRR.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class GRU4Rec(nn.Layer):
    def __init__(self, n_items, embedding_size=10, hidden_size=14):
        super().__init__()
        self.item_embedding = nn.Embedding(
            n_items, embedding_size, weight_attr=paddle.ParamAttr(initializer=nn.initializer.XavierNormal())
        )
        self.emb_dropout = nn.Dropout(0.0)
        self.gru_layers = nn.GRU(embedding_size, hidden_size, num_layers=1)
        self.dense = nn.Linear(hidden_size, embedding_size)

    def gather_indexes(self, output, index):
        batch = paddle.arange(output.shape[0], dtype="int64")
        return paddle.gather_nd(output, paddle.stack([batch, index], axis=-1))

    def forward(self, item_seq, item_seq_len):
        emb = self.emb_dropout(self.item_embedding(item_seq))
        output, _ = self.gru_layers(emb)
        return self.gather_indexes(self.dense(output), item_seq_len - 1)


def top1_loss(scores, negative):
    return (F.sigmoid(negative - scores.unsqueeze(1)) + F.sigmoid(negative**2)).mean()


rng = np.random.RandomState(31)
n_items = 25
model = GRU4Rec(n_items)
optimizer = paddle.optimizer.Adagrad(learning_rate=0.1, parameters=model.parameters(), initial_accumulator_value=0.1)
for epoch in range(5):
    seq = rng.randint(1, n_items, (8, 6)).astype("int64")
    length = rng.randint(2, 7, 8).astype("int64")
    target = (seq[np.arange(8), length - 1] % (n_items - 1)) + 1
    out = model(paddle.to_tensor(seq), paddle.to_tensor(length))
    pos = (out * model.item_embedding(paddle.to_tensor(target))).sum(axis=-1)
    neg = paddle.matmul(out, model.item_embedding.weight[1:], transpose_y=True)
    loss = top1_loss(pos, neg)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    scores = paddle.matmul(out, model.item_embedding.weight, transpose_y=True)
    rank = (scores > pos.unsqueeze(-1)).astype("int64").sum(-1) + 1
    print("epoch %d loss %.5f mrr %.4f" % (epoch, loss.item(), (1.0 / rank.astype("float32")).mean().item()))
    print("recall@5 %.3f" % (rank <= 5).astype("float32").mean().item())
print("states", [tuple(p.shape) for p in model.gru_layers.parameters()])
