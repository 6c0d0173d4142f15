"""Folders of Hugging Face's: from their configuration a network, from their weights its state."""

import json
import os
import re

from proa import _C, nn
from proa.framework import serialization
from proa.hugging_face import bert, gpt2, resnet, vit
from proa.tensor import split

__all__ = ["from_pretrained", "network_of", "renamed"]

# From `model_type` to (what makes the network, names of weights, whether matrices of dense layers are transposed).
_KINDS = {
    "bert": (bert.Bert, bert.NAMES, True),
    "gpt2": (gpt2.GPT2, gpt2.NAMES, False),
    "resnet": (resnet.resnet, resnet.NAMES, True),
    "vit": (vit.ViT, vit.NAMES, True),
}
_FILES = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin")


def _kind(config):
    found = _KINDS.get(config.get("model_type"))
    if found is None:
        raise _C.located(
            NotImplementedError(
                f"hugging_face: model_type {config.get('model_type')!r} is not here; {', '.join(_KINDS)} are"
            )
        )
    return found


def network_of(config):
    """The network that a configuration describes, with weights as it starts.

    Args:
        config (dict): what config.json holds.

    Raises:
        NotImplementedError: a network, or a head, that is not here.
        ValueError: a size is missing.

    Examples:
        >>> config = dict(model_type="gpt2", vocab_size=30, n_embd=8, n_layer=1, n_head=2, n_positions=16)
        >>> proa.hugging_face.network_of(config)(proa.to_tensor([[1, 2]])).shape
        [1, 2, 8]
    """
    return _kind(config)[0](config)


def renamed(state, model_type):
    """Weights by the names of the networks here; matrices as they are.

    Args:
        state (dict): arrays or tensors by the names of a checkpoint.
        model_type (str): "bert", "gpt2", "resnet" or "vit".

    Examples:
        >>> state = {"bert.encoder.layer.0.attention.self.query.bias": proa.zeros([8])}
        >>> list(proa.hugging_face.renamed(state, "bert"))
        ['encoder.layers.0.self_attn.q_proj.bias']
    """
    names = _kind({"model_type": model_type})[1]
    found = {}
    for name, value in state.items():
        targets = _targets(name, names)
        parts = split(_C.to_tensor(value), len(targets), -1) if len(targets) > 1 else [value]
        found.update(zip(targets, parts))
    return found


def _targets(name, names):
    """The names that a name becomes: none, one, or those of the parts of its last dim."""
    for pattern, new in names:
        if new is None:
            if re.match(pattern, name):
                return ()
        elif isinstance(new, tuple):
            if re.search(pattern, name):
                return [re.sub(pattern, each, name) for each in new]
        else:
            name = re.sub(pattern, new, name)
    return (name,)


def _config(folder):
    path = os.path.join(folder, "config.json")
    with open(path, encoding="utf-8") as file:
        try:
            config = json.load(file)
        except ValueError as error:
            raise _C.located(ValueError(f"{path}: {error}")) from None
    if not isinstance(config, dict):
        raise _C.located(ValueError(f"{path}: it holds a {type(config).__name__}, not a dict"))
    return config


def _weights(folder):
    for name in _FILES:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            state = serialization.load(path)
            if not isinstance(state, dict):
                raise _C.located(ValueError(f"{path}: it holds a {type(state).__name__}, not a dict of tensors"))
            return path, state
    raise _C.located(FileNotFoundError(f"from_pretrained: {folder} has none of {', '.join(_FILES)}"))


def from_pretrained(folder):
    """The network of a folder, with its weights, ready for use (`eval`); `train()` it to go on.

    Args:
        folder (str): holds config.json and the weights.

    Returns:
        Layer: `Bert`, `GPT2`, `ViT` or `vision.models.ResNet`.

    Raises:
        FileNotFoundError: a file is not there.
        NotImplementedError: a network, or a head, that is not here.
        ValueError: a file is damaged, or weights are missing, left over or of other shapes.

    Examples:
        >>> import json, os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> config = dict(model_type="vit", hidden_size=8, num_hidden_layers=0, num_attention_heads=2, intermediate_size=4)
        >>> with open(os.path.join(folder.name, "config.json"), "w") as file:
        ...     json.dump(config, file)
        >>> proa.hugging_face.from_pretrained(folder.name)
        Traceback (most recent call last):
            ...
        ValueError: ...num_hidden_layers of the configuration must be a positive int, not 0...
        >>> folder.cleanup()
    """
    folder = os.path.expanduser(os.fspath(folder))
    config = _config(folder)
    _, _, transposed = _kind(config)
    net = network_of(config)
    path, state = _weights(folder)
    state = renamed(state, config["model_type"])
    for name, layer in net.named_sublayers():
        key = f"{name}.weight"
        if transposed and isinstance(layer, nn.Linear) and key in state and len(state[key].shape) == 2:
            state[key] = _C.ops.transpose(state[key], [1, 0])
    _fill(net, state, path)
    net.eval()
    return net


def _fill(net, state, path):
    """Gives each tensor its value.

    Raises:
        ValueError: one has none, or one of another shape; or a value is left over.
    """
    own = net.state_dict()
    wrong = [f"{name} {list(own[name].shape)} is {list(state[name].shape)}" for name in own if name in state
             and list(own[name].shape) != list(state[name].shape)]  # fmt: skip
    missing, unknown = [n for n in own if n not in state], [n for n in state if n not in own]
    # A folder of a whole network serves one of its parts too: BertModel's has heads, BertForMaskedLM's has a pooler.
    unknown = [n for n in unknown if not n.startswith(("pooler", "classifier", "head", "fc"))]
    for what, names in (("has no", missing), ("has", unknown), ("does not fit:", wrong)):
        if names:
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""
            raise _C.located(
                ValueError(f"{path}: it {what} {', '.join(names[:5])}{more} (by names of {type(net).__name__})")
            )
    net.set_state_dict(state)
