"""Where a layer is in the model that is being called: "Mlp.hidden"."""

import weakref

from proa import _C

_of_root: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def names_of(root):
    """The paths of a layer and all layers in it, by the id of the layer; as they were at its first use here."""
    names = _of_root.get(root)
    if names is None:
        prefix = type(root).__name__
        names = {id(layer): name for name, layer in root.named_sublayers(prefix, include_self=True)}
        _of_root[root] = names
    return names


def step_into(layer, outer, names):
    """The path of a layer that is called inside of the path `outer` (or None).

    A layer that its root does not know was made on the way, or swapped in.
    """
    kind = type(layer).__name__
    return names.get(id(layer)) or (f"{outer}.{kind}" if outer else kind)


def path_of(layers):
    """The path of the last of layers that call one another, with its class: "Mlp.hidden (Linear)"."""
    names = names_of(layers[0])
    path = None
    for layer in layers:
        path = step_into(layer, path, names)
    kind = type(layers[-1]).__name__
    return path if path == kind else f"{path} ({kind})"


def inputs_of(inputs, kwargs):
    """What a layer was called with, for messages: "[2, 3] float32, mask=None"."""
    return ", ".join([*map(_described, inputs), *(f"{name}={_described(value)}" for name, value in kwargs.items())])


def _described(value):
    if isinstance(value, _C.Tensor):
        return f"{value.shape} {value.dtype.name}"
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        more = ", ..." if len(value) > 3 else ""
        return f"{type(value).__name__}({', '.join(map(_described, value[:3]))}{more})"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{type(value).__name__} {list(value.shape)} {value.dtype}"
    return type(value).__name__
