# DCGAN's networks: transposed convolutions, initialization by apply, saving pictures.
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

conv_initializer = nn.initializer.Normal(mean=0.0, std=0.02)
bn_initializer = nn.initializer.Constant(0.9)


def weights_init(layer):
    if isinstance(layer, nn.BatchNorm2D):
        layer.bias.set_value(paddle.full_like(layer.bias, 0.05))


class Generator(nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv_1 = nn.Conv2DTranspose(
            6, 16, 4, 1, 0, bias_attr=False, weight_attr=paddle.ParamAttr(initializer=conv_initializer)
        )
        self.bn_1 = nn.BatchNorm2D(16, weight_attr=paddle.ParamAttr(initializer=bn_initializer), momentum=0.8)
        self.conv_2 = nn.Conv2DTranspose(16, 8, 4, 2, 1, bias_attr=False)
        self.bn_2 = nn.BatchNorm2D(8, momentum=0.8)
        self.conv_3 = nn.Conv2DTranspose(8, 3, 5, 2, 2, output_padding=1)

    def forward(self, x):
        x = F.relu(self.bn_1(self.conv_1(x)))
        x = F.relu(self.bn_2(self.conv_2(x)))
        return paddle.tanh(self.conv_3(x))


class Discriminator(nn.Layer):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Conv2D(3, 8, 4, 2, 1),
            nn.LeakyReLU(0.2),
            nn.Conv2D(8, 16, 4, 2, 1, bias_attr=False),
            nn.BatchNorm2D(16, 0.8),
            nn.LeakyReLU(0.2),
            nn.Conv2D(16, 1, 4, 1, 0, bias_attr=False),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.model(x).reshape((-1,))


rng = np.random.RandomState(21)
netG, netD = Generator(), Discriminator()
netG.apply(weights_init)
loss = nn.BCELoss()
optD = paddle.optimizer.SGD(0.05, parameters=netD.parameters())
optG = paddle.optimizer.SGD(0.05, parameters=netG.parameters())
real = paddle.to_tensor(rng.uniform(-1, 1, (4, 3, 16, 16)).astype("float32"))
for it in range(3):
    noise = paddle.to_tensor(rng.randn(4, 6, 1, 1).astype("float32"))
    fake = netG(noise)
    lossD = loss(netD(real), paddle.ones([4])) + loss(netD(fake.detach()), paddle.zeros([4]))
    optD.clear_grad()
    lossD.backward()
    optD.step()
    optG.clear_grad()
    lossG = loss(netD(fake), paddle.ones([4]))
    lossG.backward()
    optG.step()
    print("D %.5f G %.5f" % (float(lossD), float(lossG)))
print(fake.shape, "%.5f %.5f" % (fake.min().item(), fake.max().item()))
picture = ((fake[0].transpose([1, 2, 0]).numpy() + 1) / 2 * 255).clip(0, 255)
print("picture", picture.shape, "%.2f" % picture.mean())
netG.eval()
with paddle.no_grad():
    print("eval %.5f" % netG(noise).mean().item())
