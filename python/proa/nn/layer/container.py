"""Layers that hold layers: Sequential, LayerList, LayerDict, ParameterList."""

from collections.abc import Mapping

from proa import _C
from proa.framework.names import borrow as _borrow
from proa.framework.parameter import Parameter
from proa.nn.functional.shapes import size_argument
from proa.nn.layer.layers import Layer


def _position(index, length, what):
    """A non-negative position, checked."""
    if not isinstance(index, int):
        raise _C.located(TypeError(f"{what}: an index must be an int, not {type(index).__name__}"))
    if not -length <= index < length:
        raise _C.located(IndexError(f"{what}: index {index} is out of range; there are {length}"))
    return index % length


# Making so many layers takes seconds; more are a mistake, which would take all memory.
_MOST_LAYERS = 4096


def checked_layers(owner, count, least=1):
    """`count`, which says how many layers `owner`, a name, is to make."""
    count = size_argument(owner, "num_layers", count, least)
    if count > _MOST_LAYERS:
        raise _C.located(ValueError(f"{owner}: num_layers is {count}; at most {_MOST_LAYERS} are made"))
    return count


class Sequential(Layer):
    """Layers called one after the other.

    Args:
        *layers: layers, or (name, layer) pairs, or one list of either.

    Examples:
        >>> net = proa.nn.Sequential(proa.nn.Linear(4, 8), proa.nn.ReLU(), proa.nn.Linear(8, 2))
        >>> net(proa.ones([3, 4])).shape
        [3, 2]
        >>> net[0].weight.shape
        [4, 8]
    """

    def __init__(self, *layers):
        super().__init__()
        if len(layers) == 1 and isinstance(layers[0], (list, tuple)) and not _is_pair(layers[0]):
            layers = layers[0]
        for i, layer in enumerate(layers):
            name, layer = layer if _is_pair(layer) else (str(i), layer)
            self.add_sublayer(name, layer)

    def forward(self, input):
        for name in self._sublayer_names:
            input = self.__dict__[name](input)
        return input

    def __getitem__(self, name):
        if isinstance(name, slice):
            return type(self)(*list(self.children())[name])
        if isinstance(name, str):
            return self._sub_layers[name]
        return self.__dict__[self._key(name)]

    def __setitem__(self, name, layer):
        self.add_sublayer(name if isinstance(name, str) else self._key(name), layer)

    def __delitem__(self, name):
        delattr(self, name if isinstance(name, str) else self._key(name))

    def _key(self, index):
        return list(self._sublayer_names)[_position(index, len(self), "Sequential")]

    def __len__(self):
        return len(self._sublayer_names)

    def __iter__(self):
        return (self.__dict__[name] for name in list(self._sublayer_names))


def _is_pair(value):
    return isinstance(value, (list, tuple)) and len(value) == 2 and isinstance(value[0], str)


class LayerList(Layer):
    """A list of layers whose parameters belong to the layer that holds it.

    A layer that `add_sublayer` gives a name of its own is one of the list too, in its place.

    Examples:
        >>> layers = proa.nn.LayerList([proa.nn.Linear(2, 2) for _ in range(3)])
        >>> len(layers), len(layers.parameters())
        (3, 6)
    """

    def __init__(self, sublayers=None):
        super().__init__()
        if sublayers is not None:
            self.extend(sublayers)

    def _replace_all(self, layers):
        for name in list(self._sublayer_names):
            delattr(self, name)
        for i, layer in enumerate(layers):
            self.add_sublayer(str(i), layer)

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        return self.__dict__[self._key(idx)]

    def __setitem__(self, idx, sublayer):
        self.add_sublayer(self._key(idx), sublayer)

    def _key(self, index):
        index = _position(index, len(self), "LayerList")
        return str(index) if str(index) in self._sublayer_names else list(self._sublayer_names)[index]

    def __delitem__(self, idx):
        layers = list(self)
        del layers[idx]
        self._replace_all(layers)

    def __len__(self):
        return len(self._sublayer_names)

    def __iter__(self):
        return (self.__dict__[name] for name in list(self._sublayer_names))

    def append(self, sublayer):
        """Adds a layer at the end."""
        self.add_sublayer(str(len(self)), sublayer)
        return self

    def insert(self, index, sublayers):
        """Puts a layer before position `index`."""
        if not isinstance(index, int) or not -len(self) <= index <= len(self):
            raise _C.located(IndexError(f"LayerList: position {index} is out of range; there are {len(self)}"))
        layers = list(self)
        layers.insert(index, sublayers)
        self._replace_all(layers)

    def extend(self, sublayers):
        """Adds all layers of an iterable at the end."""
        for layer in sublayers:
            self.append(layer)
        return self


class LayerDict(Layer):
    """A dict of layers whose parameters belong to the layer that holds it.

    Args:
        sublayers (dict|list[tuple[str, Layer]], optional): the first entries.

    Examples:
        >>> layers = proa.nn.LayerDict({"first": proa.nn.Linear(2, 3)})
        >>> layers["second"] = proa.nn.ReLU()
        >>> list(layers.keys()), len(layers.parameters())
        (['first', 'second'], 2)
    """

    def __init__(self, sublayers=None):
        super().__init__()
        if sublayers is not None:
            self.update(sublayers)

    def __getitem__(self, key):
        return self._sub_layers[key]

    def __setitem__(self, key, sublayer):
        self.add_sublayer(key, sublayer)

    def __delitem__(self, key):
        if key not in self:
            raise KeyError(key)
        delattr(self, key)

    def __len__(self):
        return len(self._sublayer_names)

    def __iter__(self):
        return iter(list(self._sublayer_names))

    def __contains__(self, key):
        return key in self._sublayer_names

    def clear(self):
        """Takes all layers out."""
        for key in list(self):
            delattr(self, key)

    def pop(self, key):
        """Takes a layer out and returns it."""
        layer = self[key]
        delattr(self, key)
        return layer

    def keys(self):
        return self._sub_layers.keys()

    def values(self):
        return self._sub_layers.values()

    def items(self):
        return self._sub_layers.items()

    def update(self, sublayers):
        """Adds the entries of a dict or of a list of pairs, replacing those of the same name."""
        pairs = sublayers.items() if isinstance(sublayers, (Mapping, LayerDict)) else sublayers
        for pair in pairs:
            if not _is_pair(pair):
                raise _C.located(ValueError(f"LayerDict: entries must be (str, Layer) pairs, not {pair!r}"))
            self.add_sublayer(*pair)


class ParameterList(Layer):
    """A list of parameters that belong to the layer that holds it.

    Examples:
        >>> net = proa.nn.ParameterList([proa.create_parameter([2], "float32") for _ in range(3)])
        >>> len(net.parameters())
        3
    """

    def __init__(self, parameters=None):
        super().__init__()
        for parameter in parameters or ():
            self.append(parameter)

    def __getitem__(self, idx):
        return self.__dict__[self._key(idx)]

    def __setitem__(self, idx, param):
        if not isinstance(param, Parameter):
            raise _C.located(TypeError(f"ParameterList: a Parameter is needed, not {type(param).__name__}"))
        setattr(self, self._key(idx), param)

    def _key(self, index):
        index = _position(index, len(self), "ParameterList")
        return str(index) if str(index) in self._parameter_names else list(self._parameter_names)[index]

    def __len__(self):
        return len(self._parameter_names)

    def __iter__(self):
        return (self.__dict__[name] for name in list(self._parameter_names))

    def append(self, parameter):
        """Adds a parameter at the end."""
        self.add_parameter(str(len(self)), parameter)
        return self


__getattr__ = _borrow(__name__, "proa.nn")
