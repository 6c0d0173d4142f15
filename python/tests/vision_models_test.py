"""Networks for images: names, sizes and numbers against what the reference 3.3 printed for the same weights."""

import json
import os

import pytest

import proa
from proa.vision import models
from python.tests import reference_vision_models as reference

with open(os.path.join(os.path.dirname(__file__), "reference_vision_models.json")) as _stream:
    REFERENCE = json.load(_stream)

_MAKERS = reference.makers(models)


def test_every_network_is_asked():
    assert set(_MAKERS) == set(REFERENCE) and len(models.__all__) >= 51


@pytest.mark.parametrize("name", _MAKERS)
def test_names_and_sizes(name):
    found = reference.names(proa, name)
    assert found == {key: REFERENCE[name][key] for key in found}


@pytest.mark.parametrize(("name", "arguments", "side"), reference.SMALL, ids=[case[0] for case in reference.SMALL])
def test_numbers(name, arguments, side):
    """Results in evaluation and in training, gradients, and statistics. Single precision, and signs at relu's corner."""
    found = reference.numbers(proa, name, arguments, side)
    near = {"eval": 1e-4, "train": 1e-3, "gradients": 1e-2, "statistics": 1e-4}
    for key, value in found.items():
        assert value == pytest.approx(REFERENCE[name][key], rel=near[key], abs=1e-6), key


@pytest.mark.parametrize("name", [name for name in _MAKERS if name != "LeNet"])
def test_pretrained(name):
    with pytest.raises(
        NotImplementedError,
        match=rf"^\(Unimplemented\) {name}: pretrained weights are not downloaded; .* set_state_dict",
    ):
        getattr(models, name)(pretrained=True)


@pytest.mark.parametrize("name", ["mobilenet_v1", "mobilenet_v2", "mobilenet_v3_small", "densenet121", "resnet18"])
def test_without_the_head(name):
    kwargs = {"scale": 0.25} if name.startswith("mobile") else {}
    net = getattr(models, name)(num_classes=0, with_pool=False, **kwargs)
    assert len(net(proa.ones([2, 3, 32, 32])).shape) == 4


def test_errors():
    for make, says in (
        (lambda: models.SqueezeNet("2.0"), "version must be"),
        (lambda: models.DenseNet(122), r"layers must be one of \[121, 161, 169, 201, 264\], not 122"),
        (lambda: models.ResNet(models.BasicBlock, 19), "depth must be one of"),
    ):
        with pytest.raises(ValueError, match=says):
            make()
    with pytest.raises(NotImplementedError, match="scale must be one of"):
        models.ShuffleNetV2(0.7)


def test_modules_and_functions_of_one_name():
    """Functions, whichever name of their module was asked for first."""
    import proa.vision.models.alexnet
    import proa.vision.models.googlenet  # noqa: F401

    assert callable(models.alexnet) and callable(models.googlenet)
    assert models.vgg.VGG is models.VGG and "vgg19" in dir(models) and "densenet121" in dir(models)


def test_dropout_in_dense_layers():
    """Of new channels only, and nothing in evaluation but the factor."""
    net = models.densenet.DenseLayer(4, 2, 2, dropout=0.5)
    x = proa.ones([1, 4, 3, 3])
    net.eval()
    assert net(x).shape == [1, 6, 3, 3]
    net.train()
    proa.seed(0)
    assert (net(x)[:, :4].numpy() == 1).all()


def test_the_block_by_its_documented_name():
    net = models.ResNet(Block=models.BasicBlock, depth=18, num_classes=3)
    assert net(proa.ones([1, 3, 32, 32])).shape == [1, 3] and isinstance(net.layer1[0], models.BasicBlock)
    for arguments in ({}, {"block": models.BasicBlock, "Block": models.BasicBlock}):
        with pytest.raises(TypeError, match="one of block and Block"):
            models.ResNet(depth=18, **arguments)


def test_linear_layers_of_alexnet_start_within_one_bound():
    net = models.alexnet(num_classes=3)
    for layer in (net._fc6, net._fc7, net._fc8):
        for parameter in (layer.weight, layer.bias):
            largest = parameter.abs().max().item()
            assert largest < 1.001 / 96 and (
                parameter.size < 1000 or largest > 0.99 / 96
            )  # 96 squared are what fc6 sums up
