# Two generators and two critics: instance norm, reflected borders, a pool of images, two optimizers, decayed rates.
import itertools

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

rng = np.random.RandomState(83)


class ResBlock(nn.Layer):
    def __init__(self, c):
        super().__init__()
        self.block = nn.Sequential(
            nn.Pad2D([1, 1, 1, 1], mode="reflect"),
            nn.Conv2D(c, c, 3, bias_attr=False),
            nn.InstanceNorm2D(c),
            nn.ReLU(),
            nn.Pad2D(1, mode="replicate"),
            nn.Conv2D(c, c, 3, bias_attr=False),
            nn.InstanceNorm2D(c, weight_attr=False, bias_attr=False),
        )

    def forward(self, x):
        return x + self.block(x)


class Generator(nn.Layer):
    def __init__(self, c=4):
        super().__init__()
        model = [nn.Pad2D(2, mode="reflect"), nn.Conv2D(3, c, 5), nn.InstanceNorm2D(c), nn.ReLU()]
        model += [nn.Conv2D(c, 2 * c, 3, stride=2, padding=1), nn.InstanceNorm2D(2 * c), nn.ReLU(), ResBlock(2 * c)]
        model += [
            nn.Conv2DTranspose(2 * c, c, 3, stride=2, padding=1, output_padding=1),
            nn.InstanceNorm2D(c),
            nn.ReLU(),
        ]
        model += [nn.UpsamplingBilinear2D(scale_factor=1), nn.Conv2D(c, 3, 3, padding=1), nn.Tanh()]
        self.model = nn.Sequential(*model)

    def forward(self, x):
        return self.model(x)


class Discriminator(nn.Layer):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Conv2D(3, 4, 4, 2, 1),
            nn.LeakyReLU(0.2),
            nn.Conv2D(4, 8, 4, 2, 1),
            nn.InstanceNorm2D(8),
            nn.LeakyReLU(negative_slope=0.2),
            nn.ZeroPad2D([0, 1, 0, 1]),
            nn.Conv2D(8, 1, 3),
        )

    def forward(self, x):
        return F.adaptive_avg_pool2d(self.model(x), 1).flatten(1)


class ImagePool:
    def __init__(self, size):
        self.size, self.images = size, []

    def query(self, images):
        out = []
        for image in images.detach().split(images.shape[0], axis=0):
            if len(self.images) < self.size:
                self.images.append(image)
                out.append(image)
            elif rng.rand() > 0.5:
                k = rng.randint(self.size)
                out.append(self.images[k].clone())
                self.images[k] = image
            else:
                out.append(image)
        return paddle.concat(out, axis=0)


def set_requires_grad(nets, flag):
    for p in itertools.chain(*(n.parameters() for n in nets)):
        p.stop_gradient = not flag


def gan_loss(pred, real):
    return F.mse_loss(pred, paddle.full_like(pred, 1.0 if real else 0.0))


G, H, DA, DB = Generator(), Generator(), Discriminator(), Discriminator()
rate = paddle.optimizer.lr.LambdaDecay(0.002, lambda epoch: 1.0 - max(0, epoch - 1) / 4)
opt_g = paddle.optimizer.SGD(learning_rate=rate, parameters=list(G.parameters()) + list(H.parameters()))
opt_d = paddle.optimizer.SGD(learning_rate=rate, parameters=list(itertools.chain(DA.parameters(), DB.parameters())))
pool_a, pool_b = ImagePool(3), ImagePool(3)
for epoch in range(3):
    a = paddle.to_tensor(rng.uniform(-1, 1, [2, 3, 12, 12]).astype("float32"))
    b = paddle.to_tensor(rng.uniform(-1, 1, [2, 3, 12, 12]).astype("float32") * 0.5)
    set_requires_grad([DA, DB], False)
    opt_g.clear_grad()
    fake_b, fake_a = G(a), H(b)
    cycle = F.l1_loss(H(fake_b), a) + F.l1_loss(G(fake_a), b)
    adv = gan_loss(DB(fake_b), True) + gan_loss(DA(fake_a), True)
    idt = paddle.mean(paddle.abs(G(b) - b))
    loss_g = adv + 10.0 * cycle + 5.0 * idt
    loss_g.backward()
    opt_g.step()
    set_requires_grad([DA, DB], True)
    opt_d.clear_grad()
    loss_d = 0
    for d, real, fake in ((DA, a, pool_a.query(fake_a)), (DB, b, pool_b.query(fake_b))):
        loss_d = loss_d + 0.5 * (gan_loss(d(real), True) + gan_loss(d(fake), False))
    loss_d.backward()
    opt_d.step()
    rate.step()
    print(
        "epoch %d adv %.4f cycle %.4f idt %.4f d %.4f lr %.5f"
        % (epoch, adv.item(), cycle.item(), idt.item(), loss_d.item(), rate())
    )
image = ((fake_b[0].transpose([1, 2, 0]) + 1) * 127.5).clip(0, 255).astype("uint8").numpy()
print("image", image.shape, image.dtype, len(pool_a.images), "%.1f" % image.astype("float64").mean().round(0))
