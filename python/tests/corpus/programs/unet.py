# U-Net for segmentation: skip connections, transposed convolutions, dice and cross entropy.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class DoubleConv(nn.Layer):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2D(cin, cout, 3, padding=1, bias_attr=False),
            nn.BatchNorm2D(cout),
            nn.ReLU(),
            nn.Conv2D(cout, cout, 3, padding="same", bias_attr=False),
            nn.BatchNorm2D(cout),
            nn.LeakyReLU(0.1),
        )

    def forward(self, x):
        return self.conv(x)


class Up(nn.Layer):
    def __init__(self, cin, cskip, cout, use_deconv):
        super().__init__()
        self.use_deconv = use_deconv
        if use_deconv:
            self.deconv = nn.Conv2DTranspose(cin, cout, kernel_size=2, stride=2, padding=0)
        else:
            self.squeeze = nn.Conv2D(cin, cout, 1)
        self.double_conv = DoubleConv(cout + cskip, cout)

    def forward(self, x, skip):
        if self.use_deconv:
            x = self.deconv(x)
        else:
            x = self.squeeze(F.interpolate(x, paddle.shape(skip)[2:], mode="bilinear", align_corners=False))
        x = paddle.concat([x, skip], axis=1)
        return self.double_conv(x)


class UNet(nn.Layer):
    def __init__(self, num_classes=3):
        super().__init__()
        self.stem = DoubleConv(3, 6)
        self.down1, self.down2 = DoubleConv(6, 12), DoubleConv(12, 20)
        self.pool = nn.MaxPool2D(kernel_size=2, stride=2)
        self.up1, self.up2 = Up(20, 12, 12, True), Up(12, 6, 6, False)
        self.cls = nn.Conv2D(6, num_classes, 3, 1, 1)

    def forward(self, x):
        s1 = self.stem(x)
        s2 = self.down1(self.pool(s1))
        x = self.down2(self.pool(s2))
        return self.cls(self.up2(self.up1(x, s2), s1))


rng = np.random.RandomState(11)
images = paddle.to_tensor(rng.rand(2, 3, 20, 24).astype(np.float32))
masks = rng.randint(0, 3, (2, 20, 24)).astype("int64")
masks[:, :2] = 255
masks = paddle.to_tensor(masks)
net = UNet()
opt = paddle.optimizer.AdamW(
    learning_rate=2e-3, parameters=net.parameters(), weight_decay=0.01, grad_clip=nn.ClipGradByGlobalNorm(1.0)
)
for epoch in range(4):
    logits = net(images)
    ce = F.cross_entropy(logits, masks, ignore_index=255, axis=1)
    valid = (masks != 255).astype("float32")
    prob = F.softmax(logits, axis=1)
    target = paddle.transpose(F.one_hot(paddle.where(masks == 255, paddle.zeros_like(masks), masks), 3), [0, 3, 1, 2])
    inter = paddle.sum(prob * target * valid.unsqueeze(1), axis=[0, 2, 3])
    union = paddle.sum((prob + target) * valid.unsqueeze(1), axis=[0, 2, 3])
    dice = 1 - ((2 * inter + 1) / (union + 1)).mean()
    loss = ce + dice
    loss.backward()
    opt.step()
    opt.clear_grad()
    print("%d ce %.5f dice %.5f" % (epoch, float(ce), float(dice)))
net.eval()
pred = paddle.argmax(net(images), axis=1, dtype="int32")
inter = paddle.logical_and(pred == 1, masks == 1).sum()
union = paddle.logical_or(pred == 1, masks == 1).sum()
print("out", pred.shape, pred.dtype == paddle.int32, "iou %.3f" % (inter.item() / union.item()))
