# Dilated causal convolutions with gates and skips on a wave; mu-law coding.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class CausalConv1D(nn.Layer):
    def __init__(self, cin, cout, kernel, dilation):
        super().__init__()
        self.pad = (kernel - 1) * dilation
        self.conv = nn.Conv1D(cin, cout, kernel, dilation=dilation)

    def forward(self, x):
        return self.conv(F.pad(x, [self.pad, 0], data_format="NCL"))


class WaveNet(nn.Layer):
    def __init__(self, channels=6, classes=16, dilations=(1, 2, 4)):
        super().__init__()
        self.first = nn.Conv1D(1, channels, 1)
        self.gates = nn.LayerList([CausalConv1D(channels, 2 * channels, 2, d) for d in dilations])
        self.out = nn.LayerList([nn.Conv1D(channels, channels, 1) for _ in dilations])
        self.skips = nn.LayerList([nn.Conv1D(channels, 8, 1) for _ in dilations])
        self.final = nn.Sequential(nn.ReLU(), nn.Conv1D(8, classes, 1))

    def forward(self, x):
        x, total = self.first(x), 0
        for gate, out, skip in zip(self.gates, self.out, self.skips):
            a, b = paddle.split(gate(x), 2, axis=1)
            z = paddle.tanh(a) * F.sigmoid(b)
            total = total + skip(z)
            x = x + out(z)
        return self.final(total)


def mu_law(x, mu=15):
    return paddle.floor((paddle.sign(x) * paddle.log1p(mu * x.abs()) / np.log1p(mu) + 1) / 2 * mu + 0.5).astype("int64")


t = np.arange(41) / 8.0
wave = paddle.to_tensor(np.stack([np.sin(t), np.sin(2 * t + 1) * 0.7]).astype("float32")).unsqueeze(1)
target = mu_law(wave[:, 0, 1:])
net = WaveNet()
opt = paddle.optimizer.Adam(0.01, parameters=net.parameters())
for step in range(5):
    logits = net(wave[:, :, :-1])
    loss = F.cross_entropy(logits.transpose([0, 2, 1]), target)
    loss.backward()
    opt.step()
    opt.clear_grad()
    print("step %d loss %.5f" % (step, loss.item()))
changed = wave.clone()
changed[:, :, 20:] = 0.0
print("causal", bool((net(changed)[:, :, :20] - net(wave)[:, :, :20]).abs().max() < 1e-5), target[0, :8].tolist())
normed = nn.utils.weight_norm(nn.Conv1D(2, 3, 2), dim=0)
print([n for n, _ in normed.named_parameters()], "%.4f" % float(normed.weight_g.sum()))
