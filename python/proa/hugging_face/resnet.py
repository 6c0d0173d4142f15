"""ResNets (He et al., 2015): the names of their weights in checkpoints of Hugging Face's."""

from proa import _C
from proa.hugging_face.blocks import number
from proa.vision.models.resnet import BasicBlock, BottleneckBlock, ResNet

__all__ = ["NAMES", "resnet"]


def _block(match):
    """A layer of a block; `classifier.1` and the stem have lines of their own."""
    stage, block, layer, what = match.groups()
    return f"layer{int(stage) + 1}.{block}.{'conv' if what == 'convolution' else 'bn'}{int(layer) + 1}"


NAMES = (
    (r"^resnet\.", ""),
    (r".*\.num_batches_tracked$", None),
    (r"\.running_mean$", "._mean"),
    (r"\.running_var$", "._variance"),
    (r"^embedder\.embedder\.convolution", "conv1"),
    (r"^embedder\.embedder\.normalization", "bn1"),
    (r"^encoder\.stages\.(\d+)\.layers\.(\d+)\.layer\.(\d+)\.(convolution|normalization)", _block),
    (r"^encoder\.stages\.(\d+)\.layers\.(\d+)\.shortcut\.(convolution|normalization)",
     lambda m: f"layer{int(m[1]) + 1}.{m[2]}.downsample.{'0' if m[3] == 'convolution' else '1'}"),
    (r"^classifier\.1\.", "fc."),
)  # fmt: skip

_DEPTHS = {(2, 2, 2, 2): 18, (3, 4, 6, 3): None, (3, 4, 23, 3): 101, (3, 8, 36, 3): 152}


def resnet(config):
    """The network of `vision.models` that a configuration describes.

    Raises:
        NotImplementedError: it describes another one, such as with strides elsewhere.
    """
    basic = config.get("layer_type", "bottleneck") == "basic"
    depths = tuple(config.get("depths", (3, 4, 6, 3)))
    sizes = [64, 128, 256, 512] if basic else [256, 512, 1024, 2048]
    usual = {
        "depths": depths in _DEPTHS,
        "hidden_sizes": list(config.get("hidden_sizes", sizes)) == sizes,
        "embedding_size": config.get("embedding_size", 64) == 64,
        "num_channels": number(config, "num_channels", 3) == 3,
        "hidden_act": config.get("hidden_act", "relu") == "relu",
        "downsample_in_first_stage": not config.get("downsample_in_first_stage", False),
        "downsample_in_bottleneck": basic or not config.get("downsample_in_bottleneck", False),
    }
    for name, fits in usual.items():
        if not fits:
            raise _C.located(NotImplementedError(f"hugging_face: no ResNet here has {name} {config[name]!r}"))
    depth = _DEPTHS[depths] or (34 if basic else 50)
    kind = (config.get("architectures") or ["ResNetModel"])[0]
    labels = len(config.get("id2label") or (0, 1)) if kind == "ResNetForImageClassification" else 0
    return ResNet(BasicBlock if basic else BottleneckBlock, depth, num_classes=labels)
