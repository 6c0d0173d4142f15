"""Networks for images."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

# Modules that are named like one of their functions come first: the names are the functions.
from proa.vision.models.alexnet import AlexNet, alexnet
from proa.vision.models.googlenet import GoogLeNet, googlenet
from proa.vision.models.lenet import LeNet
from proa.vision.models.resnet import (
    BasicBlock,
    BottleneckBlock,
    ResNet,
    resnet18,
    resnet34,
    resnet50,
    resnet101,
    resnet152,
    resnext50_32x4d,
    resnext50_64x4d,
    resnext101_32x4d,
    resnext101_64x4d,
    resnext152_32x4d,
    resnext152_64x4d,
    wide_resnet50_2,
    wide_resnet101_2,
)

_HOMES = _invert({
    "proa.vision.models.densenet": "DenseNet densenet121 densenet161 densenet169 densenet201 densenet264",
    "proa.vision.models.inceptionv3": "InceptionV3 inception_v3",
    "proa.vision.models.mobilenetv1": "MobileNetV1 mobilenet_v1",
    "proa.vision.models.mobilenetv2": "MobileNetV2 mobilenet_v2",
    "proa.vision.models.mobilenetv3": "MobileNetV3Large MobileNetV3Small mobilenet_v3_large mobilenet_v3_small",
    "proa.vision.models.shufflenetv2": "ShuffleNetV2 shufflenet_v2_swish shufflenet_v2_x0_25 shufflenet_v2_x0_33 "
    "shufflenet_v2_x0_5 shufflenet_v2_x1_0 shufflenet_v2_x1_5 shufflenet_v2_x2_0",
    "proa.vision.models.squeezenet": "SqueezeNet squeezenet1_0 squeezenet1_1",
    "proa.vision.models.vgg": "VGG vgg11 vgg13 vgg16 vgg19",
})  # fmt: skip

__all__ = [
    *_HOMES,
    "AlexNet",
    "BasicBlock",
    "BottleneckBlock",
    "GoogLeNet",
    "LeNet",
    "ResNet",
    "alexnet",
    "googlenet",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
    "resnext50_32x4d",
    "resnext50_64x4d",
    "resnext101_32x4d",
    "resnext101_64x4d",
    "resnext152_32x4d",
    "resnext152_64x4d",
    "wide_resnet50_2",
    "wide_resnet101_2",
]

__getattr__, __dir__ = _lazy(
    __name__,
    _HOMES,
    (
        "densenet",
        "inceptionv3",
        "lenet",
        "mobilenetv1",
        "mobilenetv2",
        "mobilenetv3",
        "resnet",
        "shufflenetv2",
        "squeezenet",
        "vgg",
    ),
)
