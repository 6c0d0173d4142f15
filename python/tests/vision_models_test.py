"""Networks for images: names of parameters and results against what the reference 3.3 printed for the same weights."""

import numpy as np
import pytest

import proa
from proa.vision import models

# Arguments, side of the image, number of entries of the state, first and last of them, sum of the results' sizes.
_NETWORKS = {
    "vgg11": ({"num_classes": 0}, 64, 16, "features.0.weight", "features.18.bias", 768.6602172851562),
    "mobilenet_v1": ({"scale": 0.25}, 64, 137, "conv1.0.weight", "fc.bias", 51.37168884277344),
    "mobilenet_v2": ({"scale": 0.5}, 64, 262, "features.0.0.weight", "classifier.1.bias", 55.62132263183594),
    "mobilenet_v3_small": ({"scale": 0.75}, 64, 210, "conv.0.weight", "classifier.3.bias", 51.326271057128906),
    "mobilenet_v3_large": ({"scale": 0.35}, 64, 266, "conv.0.weight", "classifier.3.bias", 51.299659729003906),
    "shufflenet_v2_x0_25": ({}, 64, 282, "_conv1.0.weight", "_fc.bias", 50.646514892578125),
    "shufflenet_v2_swish": ({}, 64, 282, "_conv1.0.weight", "_fc.bias", 50.96398162841797),
    "squeezenet1_0": ({}, 64, 52, "_conv.weight", "_conv9.bias", 24.76590347290039),
    "squeezenet1_1": ({}, 64, 52, "_conv.weight", "_conv9.bias", 25.096893310546875),
}


def _set(net):
    """Weights as the reference was given them."""
    rng, state = np.random.RandomState(0), net.state_dict()
    values = {}
    for name in sorted(state):
        tensor = state[name]
        value = rng.rand(*tensor.shape)
        if "variance" in name:
            values[name] = value + 0.5
        else:
            size = 2.0 / np.sqrt(max(np.prod(tensor.shape[1:]), 1)) if tensor.ndim > 1 else 0.2
            values[name] = (value - 0.5) * size
    net.set_state_dict({name: value.astype("float32") for name, value in values.items()})
    return rng


@pytest.mark.parametrize("name", _NETWORKS)
def test_the_numbers_of_the_reference(name):
    arguments, side, count, first, last, total = _NETWORKS[name]
    net = getattr(models, name)(**arguments)
    net.eval()
    names = list(net.state_dict())
    assert (len(names), names[0], names[-1]) == (count, first, last)
    x = _set(net).rand(1, 3, side, side).astype("float32")
    assert net(proa.to_tensor(x)).abs().sum().item() == pytest.approx(total, rel=1e-4)


@pytest.mark.parametrize("name", ["mobilenet_v1", "mobilenet_v2", "mobilenet_v3_small", "squeezenet1_1", "vgg11"])
def test_without_the_head(name):
    kwargs = {"scale": 0.25} if name.startswith("mobile") else {}
    net = getattr(models, name)(num_classes=0, with_pool=False, **kwargs) if name != "squeezenet1_1" else None
    if net is not None:
        assert len(net(proa.ones([2, 3, 32, 32])).shape) == 4
    small = getattr(models, name)(num_classes=7, **kwargs) if name != "vgg11" else None
    if small is not None:
        x = proa.ones([2, 3, 64, 64])
        small(x).sum().backward()
        assert small(x).shape == [2, 7] and all(p.grad is not None for p in small.parameters() if not p.stop_gradient)


def test_errors():
    with pytest.raises(NotImplementedError, match="vgg16: pretrained"):
        models.vgg16(pretrained=True)
    with pytest.raises(ValueError, match="version"):
        models.SqueezeNet("2.0")
    with pytest.raises(NotImplementedError, match="scale must be one of"):
        models.ShuffleNetV2(0.7)
    assert proa.vision.models.vgg.VGG is models.VGG and "vgg19" in dir(models)
