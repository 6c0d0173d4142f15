# A network on clips: 3-D convolution, pooling, batch norm, temporal shift.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class C3D(nn.Layer):
    def __init__(self, classes=3):
        super().__init__()
        self.conv1 = nn.Conv3D(3, 4, kernel_size=(3, 3, 3), padding=(1, 1, 1), bias_attr=False)
        self.bn1 = nn.BatchNorm3D(4)
        self.pool1 = nn.MaxPool3D(kernel_size=(1, 2, 2), stride=(1, 2, 2))
        self.conv2 = nn.Conv3D(4, 6, 3, stride=(1, 2, 2), padding=1)
        self.pool2 = nn.AdaptiveAvgPool3D(1)
        self.fc = nn.Linear(6, classes)

    def forward(self, x):
        x = self.pool1(F.relu(self.bn1(self.conv1(x))))
        x = self.pool2(F.relu(self.conv2(x)))
        return self.fc(x.flatten(1))


rng = np.random.RandomState(97)
clips = paddle.to_tensor(rng.randn(4, 3, 4, 12, 12).astype("float32"))
labels = paddle.to_tensor(rng.randint(0, 3, 4))
net = C3D()
opt = paddle.optimizer.Momentum(0.05, 0.9, parameters=net.parameters(), weight_decay=1e-4)
for step in range(4):
    loss = F.cross_entropy(net(clips), labels)
    loss.backward()
    opt.step()
    opt.clear_grad()
    print("step %d loss %.5f" % (step, loss.item()))
frames = paddle.transpose(clips, [0, 2, 1, 3, 4]).reshape([-1, 3, 12, 12])
shifted = F.temporal_shift(frames, seg_num=4, shift_ratio=1.0 / 3)
print(shifted.shape, "%.4f" % (shifted - frames).abs().mean().item())
mean = frames.reshape([4, 4, 3, 12, 12]).mean(axis=1)
print("%.5f %.5f" % (mean.std().item(), F.avg_pool3d(clips, 2, 2).abs().mean().item()))
