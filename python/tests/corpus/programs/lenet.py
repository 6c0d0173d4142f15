# LeNet on small pictures, trained with a DataLoader.
import numpy as np
import paddle
import paddle.nn.functional as F
from paddle.io import DataLoader, Dataset
from paddle.metric import Accuracy
from paddle.nn import Conv2D, Linear, MaxPool2D


class Digits(Dataset):
    def __init__(self, mode="train", transform=None):
        super().__init__()
        rng = np.random.RandomState(1 if mode == "train" else 2)
        self.labels = rng.randint(0, 10, (64, 1)).astype("int64")
        self.images = rng.rand(64, 1, 28, 28).astype("float32") * 0.3
        for image, label in zip(self.images, self.labels[:, 0]):
            image[0, 2 * label : 2 * label + 4] += 1
        self.transform = transform

    def __getitem__(self, idx):
        image = self.images[idx]
        if self.transform is not None:
            image = self.transform(image)
        return image, self.labels[idx]

    def __len__(self):
        return len(self.images)


class LeNet(paddle.nn.Layer):
    def __init__(self, num_classes=10):
        super(LeNet, self).__init__()
        self.conv1 = Conv2D(in_channels=1, out_channels=6, kernel_size=5, stride=1, padding=2)
        self.max_pool1 = MaxPool2D(kernel_size=2, stride=2)
        self.conv2 = Conv2D(6, 16, 5)
        self.max_pool2 = MaxPool2D(2, 2)
        self.linear1 = Linear(16 * 5 * 5, 120)
        self.linear2 = Linear(120, 84)
        self.linear3 = Linear(84, num_classes)

    def forward(self, x, label=None):
        x = self.max_pool1(F.relu(self.conv1(x)))
        x = self.max_pool2(F.relu(self.conv2(x)))
        x = paddle.flatten(x, start_axis=1, stop_axis=-1)
        x = F.relu(self.linear1(x))
        x = F.relu(self.linear2(x))
        x = self.linear3(x)
        if label is not None:
            return x, paddle.metric.accuracy(input=F.softmax(x), label=label)
        return x


train_loader = DataLoader(
    Digits(transform=lambda image: (image - 0.5) / 0.5), batch_size=16, shuffle=False, drop_last=True
)
model = LeNet()
optim = paddle.optimizer.Adam(learning_rate=0.001, parameters=model.parameters(), weight_decay=1e-4)
model.train()
for epoch in range(2):
    for batch_id, (image, label) in enumerate(train_loader()):
        logits, acc = model(image, label)
        loss = F.cross_entropy(logits, label)
        loss.backward()
        optim.step()
        optim.clear_grad()
        print("epoch: %d, batch: %d, loss: %.5f, acc: %.4f" % (epoch, batch_id, loss.item(), acc.item()))

model.eval()
metric = Accuracy(topk=(1, 3))
with paddle.no_grad():
    for image, label in DataLoader(Digits("test", lambda image: (image - 0.5) / 0.5), batch_size=32):
        correct = metric.compute(model(image), label)
        metric.update(correct)
print("accuracy", ["%.4f" % a for a in metric.accumulate()], metric.name())
