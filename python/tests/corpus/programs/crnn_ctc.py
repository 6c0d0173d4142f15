# Text recognition: convolutions, a bidirectional LSTM, CTC and greedy decoding.
import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn


class CRNN(nn.Layer):
    def __init__(self, num_classes, hidden=12):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2D(1, 6, 3, 1, 1, bias_attr=False),
            nn.BatchNorm2D(6),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
            nn.Conv2D(6, 10, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2D((2, 1), (2, 1)),
            nn.Conv2D(10, 10, (4, 1)),
            nn.ReLU(),
        )
        self.rnn = nn.LSTM(10, hidden, num_layers=2, direction="bidirectional")
        self.fc = nn.Linear(hidden * 2, num_classes)

    def forward(self, x):
        x = self.cnn(x)
        b, c, h, w = x.shape
        assert h == 1
        x = x.squeeze(axis=2)
        x = x.transpose([0, 2, 1])
        x, _ = self.rnn(x)
        return self.fc(x)


class CTCLoss(nn.Layer):
    def __init__(self):
        super().__init__()
        self.loss_func = nn.CTCLoss(blank=0, reduction="none")

    def forward(self, predicts, label, label_lengths):
        predicts = predicts.transpose((1, 0, 2))
        n, b, _ = predicts.shape
        preds_lengths = paddle.to_tensor([n] * b, dtype="int64")
        return self.loss_func(predicts, label, preds_lengths, label_lengths).mean()


def decode(indices, blank=0):
    texts = []
    for row in indices:
        text, last = [], blank
        for token in row:
            if token != last and token != blank:
                text.append(int(token))
            last = token
        texts.append(text)
    return texts


rng = np.random.RandomState(5)
images = paddle.to_tensor(rng.rand(3, 1, 16, 24).astype("float32"))
labels = paddle.to_tensor(np.array([[1, 2, 3, 0], [4, 4, 0, 0], [5, 1, 2, 2]], "int32"))
lengths = paddle.to_tensor(np.array([3, 2, 4], "int64"))
net = CRNN(6)
criterion = CTCLoss()
opt = paddle.optimizer.Adam(learning_rate=0.01, beta1=0.5, parameters=net.parameters())
for step in range(5):
    logits = net(images)
    loss = criterion(logits, labels, lengths)
    loss.backward()
    opt.step()
    opt.clear_grad()
    print("step %d loss %.5f" % (step, loss.item()))
net.eval()
probs = F.softmax(net(images), axis=2)
idx = probs.argmax(axis=2).numpy()
print(decode(idx), "%.4f" % probs.max().item())
