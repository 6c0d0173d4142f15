# Sub-pixel super resolution, bicubic baseline, PSNR.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class SubPixel(nn.Layer):
    def __init__(self, upscale_factor):
        super().__init__()
        self.conv1 = nn.Conv2D(1, 8, 5, stride=1, padding=2)
        self.conv2 = nn.Conv2D(8, 6, 3, stride=1, padding=1)
        self.conv3 = nn.Conv2D(6, upscale_factor**2, 3, stride=1, padding=1)
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.pixel_shuffle(self.conv3(x))


def psnr(a, b):
    return 10 * paddle.log10(1.0 / F.mse_loss(a, b))


yy, xx = np.mgrid[0:24, 0:24] / 24.0
high = np.stack([0.5 + 0.3 * np.sin(7 * xx + k) * np.cos(5 * yy - k) for k in range(4)])[:, None].astype("float32")
high = paddle.to_tensor(high)
low = F.interpolate(high, size=[s // 3 for s in high.shape[2:]], mode="area")
net = SubPixel(3)
opt = paddle.optimizer.Adam(1e-2, parameters=net.parameters())
for step in range(5):
    out = net(low)
    loss = F.l1_loss(out, high)
    loss.backward()
    opt.step()
    opt.clear_grad()
    print("step %d loss %.5f psnr %.4f" % (step, loss.item(), psnr(out, high).item()))
for mode in ("nearest", "bilinear", "bicubic"):
    up = F.interpolate(low, size=[24, 24], mode=mode)
    print(mode, "%.4f %.5f" % (psnr(up, high).item(), up.std().item()))
up = nn.Upsample(scale_factor=3, mode="bilinear", align_corners=True)(low)
print("corners %.4f" % psnr(up, high).item())
