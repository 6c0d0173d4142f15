"""What a run takes beside what it is given: at most 1.05 of what its values need that are alive at one time."""

import planned_memory
import pytest

import proa as paddle
from proa import nn


@pytest.mark.parametrize(
    "name",
    [
        "resnet18",
        "resnet50",
        "resnext50_32x4d",
        "mobilenet_v1",
        "mobilenet_v2",
        "mobilenet_v3_small",
        "mobilenet_v3_large",
        "squeezenet1_1",
        "inception_v3",
        "densenet121",
        "shufflenet_v2_x2_0",
        "vgg11",
        "lenet",
        "unet",
        "encoder",
        "mlp",
    ],
)
def test_a_forward_pass(name):
    """Of networks whose convolutions take what they are given as it lies; one that does not takes a copy besides."""
    taken, bound = planned_memory.predict(name)
    assert bound > 90_000
    assert 0.5 * bound < taken <= 1.05 * bound, f"{taken} bytes for {bound}"


@pytest.mark.parametrize(
    "name",
    [
        "lenet",
        "resnet18",
        "mobilenet_v2",
        "mobilenet_v3_small",
        "mobilenet_v3_large",
        "densenet121",
        "shufflenet_v2_x1_0",
        "squeezenet1_1",
        "unet",
        "encoder",
        "lstm",
        "gru",
    ],
)
def test_a_step_of_training(name):
    """Forward, backward and the optimizer as one program."""
    taken, bound = planned_memory.train(name)
    assert 0.5 * bound < taken <= 1.05 * bound, f"{taken} bytes for {bound}"


class _Turns(nn.Layer):
    """A loop of which each turn needs what it begins with, and what it makes of it in place."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(256, 256)

    def forward(self, x):
        n = (x[0, 0] > 1e9).astype("int64")
        while n < 4:
            x = paddle.tanh(self.layer(paddle.tanh(self.layer(x))))
            n = n + 1
        return x


class _Ways(nn.Layer):
    """The same in ways of a condition."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(256, 256)

    def forward(self, x):
        if x.sum() > 0:
            return paddle.tanh(self.layer(paddle.tanh(self.layer(paddle.tanh(self.layer(x))))))
        return x * 2


@pytest.mark.parametrize("make", [_Turns, _Ways])
def test_blocks(make):
    """A loop holds its variables once: those that a turn begins with end there with their last use."""
    bound = 2 * 256 * 256 * 4
    net, x = paddle.jit.to_static(make()), paddle.ones([256, 256])
    with paddle.no_grad():
        taken = planned_memory.taken(lambda: net(x))
    assert 0.5 * bound < taken <= 1.05 * bound, f"{taken} bytes for {bound}"
