"""Weight normalization and spectral normalization of a layer's weight."""

import math

from proa import _C
from proa.framework.grad_mode import no_grad
from proa.framework.once import once
from proa.framework.parameter import parameter_of, started_by
from proa.nn import functional as F
from proa.nn.layer.spectral_norm import power_iteration, rows_of, singular_value
from proa.tensor.linalg import norm
from proa.tensor.precision import keeps_types


def _norm_but(x, dim):
    """The L2 norm over all dims but `dim` (None or -1: over all), with size 1 there."""
    axes = [i for i in range(len(x.shape)) if dim in (None, -1) or i != dim]
    return norm(x, "fro", axes, True)


def _elsewhere(layer, parameter, seen, path=()):
    """Where sublayers have a parameter: (names on the way there, name)."""
    for name, sublayer in layer._sub_layers.items():
        if sublayer is None or id(sublayer) in seen:
            continue
        seen.add(id(sublayer))
        below = (*path, name)
        yield from ((below, key) for key, value in sublayer._parameters.items() if value is parameter)
        yield from _elsewhere(sublayer, parameter, seen, below)


class _Computed:
    """A hook that computes a weight before each forward. Sublayers that have the parameter too (those of an LSTM are its cells')
    have the weight as well: `shared` says where."""

    def __init__(self, layer, name):
        self.name = name
        self.shared = list(_elsewhere(layer, layer._parameters[name], {id(layer)}))

    def value(self, layer):
        """The weight, of the parameters of now."""
        raise NotImplementedError

    def compute(self, layer):
        """What comes before each forward."""
        self.hold(layer, self.value(layer))

    def __call__(self, layer, inputs):
        if not getattr(
            layer.forward, "runs_inner_hooks", False
        ):  # (of a converted one, which computes it in its program)
            self.compute(layer)

    def sublayers(self, layer):
        for path, key in self.shared:
            sublayer = layer
            for name in path:
                sublayer = sublayer._sub_layers[name]
            yield sublayer, key

    def hold(self, layer, weight):
        """Lets layers have a weight that is computed in each call: no buffer, for what a program computed is gone with it, and
        gradients go through it."""
        layer.__dict__[self.name] = weight
        for sublayer, key in self.sublayers(layer):
            sublayer.__dict__[key] = weight

    def take_away(self, layer):
        """Layers are left without the weight and the hook."""
        delattr(layer, self.name)
        for sublayer, key in self.sublayers(layer):
            delattr(sublayer, key)

    def start(self, layer):
        """Has the weight computed from now on; copies of the layer get their own weight from it."""
        self.hold(layer, self.value(layer))
        _note(layer, self.name, self)
        for sublayer, key in self.sublayers(layer):
            _note(sublayer, key, _Elsewhere)
        layer.register_forward_pre_hook(self)


class _Elsewhere:
    """Stands for a weight that a hook of a layer around computes, in copies too: when it is called."""

    @staticmethod
    def value(layer):
        return None


def _note(layer, name, computes):
    layer.__dict__["_computed_by"] = {**layer._computed_by, name: computes}


class _WeightNorm(_Computed):
    """The hook: weight = g * v / |v|, anew in each call."""

    def __init__(self, layer, name, dim):
        super().__init__(layer, name)
        self.dim = dim

    @keeps_types
    def value(self, layer):
        g, v = getattr(layer, self.name + "_g"), getattr(layer, self.name + "_v")
        shape = [1] * len(v.shape)
        if self.dim not in (None, -1):
            shape[self.dim] = -1
        return v * (_C.ops.reshape(g, shape) / _norm_but(v, self.dim))


def weight_norm(layer, name="weight", dim=0):
    """Splits a layer's weight into length and direction, weight_g and weight_v (Salimans and Kingma, 2016).

    Args:
        layer (Layer): whose weight.
        name (str): of the parameter.
        dim (int|None): a length for each index of this dim; None or -1: one for all.

    Returns:
        Layer: the layer.

    Examples:
        >>> layer = proa.nn.utils.weight_norm(proa.nn.Conv2D(3, 5, 3), dim=0)
        >>> layer.weight_g.shape, layer.weight_v.shape
        ([5], [5, 3, 3, 3])
    """
    for hook in layer._forward_pre_hooks.values():
        if isinstance(hook, _WeightNorm) and hook.name == name:
            raise _C.located(RuntimeError(f"weight_norm: {name!r} of {type(layer).__name__} is normalized already"))
    weight = layer._parameters[name]
    rank = len(weight.shape)
    if dim is not None and not -1 <= dim < rank:
        raise _C.located(IndexError(f"weight_norm: dim {dim} is out of range; {name} is {list(weight.shape)}"))
    hook = _WeightNorm(layer, name, dim)
    hook.take_away(layer)
    starts = {
        "_v": lambda: weight.detach().clone(),
        "_g": lambda: _C.ops.reshape(_norm_but(weight.detach(), dim), [-1]),
    }
    for end, start in starts.items():
        layer.add_parameter(name + end, parameter_of(start, weight.name + end))
    hook.start(layer)
    return layer


def remove_weight_norm(layer, name="weight"):
    """Undoes weight_norm: the weight is one parameter again.

    Examples:
        >>> net = proa.nn.utils.weight_norm(proa.nn.Linear(2, 3))
        >>> _ = proa.nn.utils.remove_weight_norm(net)
        >>> sorted(name for name, _ in net.named_parameters())
        ['bias', 'weight']
    """
    for key, hook in list(layer._forward_pre_hooks.items()):
        if isinstance(hook, _WeightNorm) and hook.name == name:
            with _C.eager_mode():
                weight = hook.value(layer).detach().clone()
            hook.take_away(layer)
            for end in ("_g", "_v"):
                delattr(layer, name + end)
            parameter = parameter_of(weight.clone)
            layer.add_parameter(name, parameter)
            for sublayer, own in hook.sublayers(layer):
                sublayer.add_parameter(own, parameter)
            del layer._forward_pre_hooks[key]
            return layer
    raise _C.located(ValueError(f"remove_weight_norm: {name!r} of {type(layer).__name__} is not normalized"))


class _SpectralNorm(_Computed):
    """The hook: weight = weight_orig / its largest singular value, anew in each call.

    The vectors that find it move on in training only, and are the layer's buffers.
    """

    def __init__(self, layer, name, dim, iterations, eps):
        super().__init__(layer, name)
        self.dim, self.iterations, self.eps = dim, iterations, eps
        self.called = False

    @keeps_types
    def value(self, layer, moving=False):
        weight = getattr(layer, self.name + "_orig")
        if not self.called:
            return weight * 1.0  # the vectors are random still
        u, v = getattr(layer, self.name + "_u"), getattr(layer, self.name + "_v")
        matrix = rows_of(weight, self.dim)
        if moving:
            with no_grad():
                u, v = once(lambda: self._moved(matrix, u, v))
        return weight / singular_value(matrix, u, v)

    def _moved(self, matrix, u, v):
        """The vectors after some steps, which the buffers have from now on."""
        found = power_iteration(matrix, u, v, self.iterations, self._unit)
        for old, new in zip((u, v), found):
            _C.ops.store_(old, new)
        return found

    def _unit(self, vector):
        return F.normalize(vector, axis=0, epsilon=self.eps)

    def compute(self, layer):
        self.called = True
        self.hold(layer, self.value(layer, moving=layer.training))


def _unit_vector(size, weight, name, eps):
    """A random vector, of the program in static mode."""

    def start():
        with no_grad():
            return F.normalize(_C.ops.gaussian([size], weight.dtype, 0.0, 1.0), axis=0, epsilon=eps)

    with _C.eager_mode():
        vector = start()
    vector.name = name
    return started_by(start, vector)


def spectral_norm(layer, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divides a layer's weight by its largest singular value in each call (Miyato et al., 2018).

    The value is found by power iteration, whose vectors are buffers; in evaluation they stay as they are.

    Args:
        layer (Layer): whose weight.
        name (str): of the parameter, which becomes `name`_orig.
        n_power_iterations (int): of each call.
        eps (float): keeps divisions finite.
        dim (int, optional): rows of the matrix; 1 for linear layers and transposed convolutions, else 0.

    Examples:
        >>> net = proa.nn.utils.spectral_norm(proa.nn.Linear(2, 3))
        >>> net(proa.ones([1, 2])).shape
        [1, 3]
    """
    weight = layer._parameters[name]
    if dim is None:
        kind = type(layer).__name__
        dim = 1 if kind == "Linear" or kind.endswith("Transpose") else 0
    if n_power_iterations < 1:
        raise _C.located(ValueError(f"spectral_norm: n_power_iterations must be positive; it is {n_power_iterations}"))
    for hook in layer._forward_pre_hooks.values():
        if isinstance(hook, _SpectralNorm) and hook.name == name:
            raise _C.located(RuntimeError(f"spectral_norm: {name!r} of {type(layer).__name__} is normalized already"))
    hook = _SpectralNorm(layer, name, dim, n_power_iterations, eps)
    hook.take_away(layer)
    layer.add_parameter(name + "_orig", weight)
    rows = weight.shape[dim]
    for end, size in (("u", rows), ("v", math.prod(weight.shape) // rows)):
        layer.register_buffer(f"{name}_{end}", _unit_vector(size, weight, f"{weight.name}_{end}", eps))
    hook.start(layer)
    return layer
