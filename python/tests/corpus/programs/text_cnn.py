# TextCNN: windows of several widths, max over time, a vocabulary built from text.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

sentences = [
    ("the film is good and warm", 1),
    ("a bad film with a bad end", 0),
    ("good music good story", 1),
    ("the end is slow and cold", 0),
    ("warm and good", 1),
    ("cold story", 0),
    ("a slow bad story", 0),
    ("music is warm", 1),
]
vocab = {"<pad>": 0}
for text, _ in sentences:
    for word in text.split():
        vocab.setdefault(word, len(vocab))


class TextDataset(paddle.io.Dataset):
    def __getitem__(self, i):
        ids = [vocab[w] for w in sentences[i][0].split()][:6]
        return np.array(ids + [0] * (6 - len(ids)), "int64"), np.array([sentences[i][1]], "int64")

    def __len__(self):
        return len(sentences)


class TextCNN(nn.Layer):
    def __init__(self, vocab_size, emb_dim=8, num_filter=5, ngram_filter_sizes=(2, 3, 4)):
        super().__init__()
        self.embedder = nn.Embedding(vocab_size, emb_dim, padding_idx=0)
        self.convs = nn.LayerList([nn.Conv2D(1, num_filter, (size, emb_dim)) for size in ngram_filter_sizes])
        self.fc = nn.Linear(num_filter * len(ngram_filter_sizes), 2)

    def forward(self, text):
        x = self.embedder(text).unsqueeze(1)
        convs = [F.relu(conv(x)).squeeze(3) for conv in self.convs]
        pools = [F.max_pool1d(c, kernel_size=c.shape[2]).squeeze(2) for c in convs]
        return self.fc(paddle.concat(pools, axis=1))


model = TextCNN(len(vocab))
opt = paddle.optimizer.Adam(0.01, parameters=model.parameters())
loader = paddle.io.DataLoader(
    TextDataset(), batch_sampler=paddle.io.BatchSampler(TextDataset(), batch_size=3, shuffle=False)
)
for epoch in range(3):
    for ids, label in loader:
        logits = model(ids)
        loss = F.cross_entropy(logits, label)
        loss.backward()
        opt.step()
        opt.clear_grad()
    print("epoch %d loss %.5f batch %s" % (epoch, loss.item(), ids.shape))
print(len(loader), paddle.argmax(logits, axis=-1).tolist())
