"""`decorate`: networks and optimizers made ready for a level of mixed precision."""

import warnings

from proa import _C
from proa.framework.dtype import as_dtype

__all__ = ["amp_decorate", "decorate"]


def decorate(
    models,
    optimizers=None,
    level="O1",
    dtype="float16",
    master_weight=None,
    save_dtype=None,
    master_grad=False,
    excluded_layers=None,
):
    """Networks with parameters in a 16-bit type (level O2), and their optimizers with float32 copies of them.

    A warning says where a layer seems to have been given another parameter after its optimizer was made.

    Args:
        models (Layer|list[Layer]): changed in place for O2, except norms, which keep float32; as they are for O1. A layer that
            several of them share is cast once.
        optimizers (Optimizer|list[Optimizer], optional): those of the networks. Make them before.
        level (str): "O1" or "O2".
        dtype (str): "float16" or "bfloat16". Programs of 2.3 have none: a bool or None here is `master_weight`, and what comes
            after it `save_dtype`.
        master_weight (bool, optional): keep float32 copies of 16-bit parameters; None means True for O2.
        save_dtype (str, optional): what `state_dict` converts floating point values to.
        master_grad (bool): accepted; gradients have the dtype of their parameters.
        excluded_layers (Layer|type|list, optional): layers (or classes) that keep float32.

    Returns:
        The networks, or (networks, optimizers): one or a list, as given.

    Raises:
        ValueError: for another level or dtype.
        TypeError: for what is no network or optimizer.
        RuntimeError: a network is in 16 bits already; an optimizer holds other parameters than the networks.

    Examples:
        >>> net = proa.amp.decorate(proa.nn.Linear(2, 3), level="O2", dtype="bfloat16")
        >>> net.weight.dtype.name
        'bfloat16'
    """
    from proa.nn import Layer
    from proa.optimizer import Optimizer

    if level not in ("O1", "O2"):
        raise _C.located(ValueError(f"decorate: level must be 'O1' or 'O2', not {level!r}"))
    if dtype is None or isinstance(dtype, bool):
        dtype, master_weight, save_dtype = "float16", dtype, save_dtype if master_weight is None else master_weight
    kind = as_dtype(dtype)
    if kind not in (_C.float16, _C.bfloat16):
        raise _C.located(ValueError(f"decorate: dtype must be 'float16' or 'bfloat16', not {dtype!r}"))
    saved = as_dtype(save_dtype)
    if saved not in (None, _C.float16, _C.bfloat16, _C.float32, _C.float64):
        raise _C.located(ValueError(f"decorate: save_dtype must be a floating point dtype, not {save_dtype!r}"))
    networks = _listed("models", models, Layer)
    chosen = [] if optimizers is None else _listed("optimizers", optimizers, Optimizer)
    if level == "O2":
        replaced = {}
        for network in networks:
            _convert(network, kind, excluded_layers, replaced)
        # One that wraps another lists the same parameters; both go over to the new ones.
        for optimizer in {id(o): o for given in chosen for o in (given, given._stepping)}.values():
            _take_over(optimizer, networks, replaced, master_weight is not False)
        _warn_of_strangers(networks, chosen)
    for network in networks if saved is not None else ():
        _save_as(network, saved)
    return models if optimizers is None else (models, optimizers)


amp_decorate = decorate


def _listed(name, value, kind):
    listed = value if isinstance(value, (list, tuple)) else [value]
    for item in listed:
        if not isinstance(item, kind):
            raise _C.located(
                TypeError(f"decorate: {name} must be of {kind.__name__} or a list of them, not {type(item).__name__}")
            )
    return list(listed)


def _kept(excluded):
    """(classes, layers) that keep float32."""
    from proa.nn.layer import norm

    classes = [getattr(norm, name) for name in ("BatchNorm", "BatchNorm1D", "BatchNorm2D", "BatchNorm3D", "GroupNorm", "LayerNorm",
                                               "InstanceNorm1D", "InstanceNorm2D", "InstanceNorm3D", "SyncBatchNorm")]  # fmt: skip
    given = [] if excluded is None else excluded if isinstance(excluded, (list, tuple)) else [excluded]
    classes += [item for item in given if isinstance(item, type)]
    return tuple(classes), {id(inner) for item in given if not isinstance(item, type) for inner in item.sublayers(True)}


def _convert(network, kind, excluded, replaced):
    """Casts the parameters and buffers of a network, each once: `replaced` maps the old ones' ids to (new, old)."""
    classes, layers = _kept(excluded)
    done, low = False, None
    for layer in network.sublayers(include_self=True):
        if isinstance(layer, classes) or id(layer) in layers:
            continue
        for name in (*layer._parameter_names, *layer._buffer_names):
            tensor = layer.__dict__[name]
            if tensor is None:
                continue
            if tensor.dtype == _C.float32:
                if id(tensor) not in replaced:
                    replaced[id(tensor)] = converted_like(tensor, kind), tensor
                layer.__dict__[name] = replaced[id(tensor)][0]
                done = True
            elif tensor.dtype in (_C.float16, _C.bfloat16) and all(tensor is not new for new, _ in replaced.values()):
                low = tensor if low is None or tensor.dtype != kind else low
    if low is not None and (low.dtype != kind or not done):
        raise _C.located(
            RuntimeError(
                f"decorate: {type(network).__name__} is in 16 bits already ({low.name} is {low.dtype.name}); decorate a "
                "float32 network, once, with all its optimizers"
            )
        )


def converted_like(tensor, kind):
    """A tensor of another dtype with the elements, the name and the settings of a parameter or buffer."""
    from proa.framework.parameter import Parameter

    with _C.eager_mode():
        converted = _C.to_tensor(tensor.detach(), dtype=kind)
    if isinstance(tensor, Parameter):
        return tensor.copy_settings_to(Parameter(converted, tensor.name, tensor.trainable))
    converted.name, converted.persistable = tensor.name, tensor.persistable
    return converted


def _take_over(optimizer, networks, replaced, master_weight):
    """The optimizer updates the new parameters, from float32 copies if it is to have such."""
    own = {p.name: p for network in networks for p in network.parameters()}
    for group in optimizer._groups:
        for i, p in enumerate(group["params"]):
            new, _ = replaced.get(id(p), (p, None))
            if own.get(p.name, new) is not new:
                raise _C.located(
                    RuntimeError(
                        f"decorate: the optimizer holds another {p.name} than the network, whose parameters were replaced after "
                        "the optimizer was made; make the optimizer from net.parameters() just before decorate"
                    )
                )
            group["params"][i] = new
    optimizer._buckets = None
    if master_weight:
        optimizer._multi_precision = True
        optimizer._exact.update((old.name, old) for _, old in replaced.values() if own.get(old.name) is not None)


def _warn_of_strangers(networks, optimizers):
    """Says so where a parameter that nobody updates looks like the successor of one that is updated and used by no network."""
    own = {id(p): p for network in networks for p in network.parameters()}
    held = {id(p): p for optimizer in optimizers for p in optimizer._parameter_list}
    left = {tuple(p.shape): p for i, p in own.items() if i not in held and not p.stop_gradient}
    for i, p in held.items():
        successor = None if i in own else left.get(tuple(p.shape))
        if successor is not None:
            warnings.warn(
                f"decorate: an optimizer holds {p.name}, which no network has, and none holds {successor.name} {list(p.shape)}; if "
                "a layer was given another parameter, make the optimizer from net.parameters() after that",
                stacklevel=3,
            )
            return


def _save_as(network, kind):
    """What the network's `state_dict` gives, and its part of that of a network around it, is of this dtype; what is loaded goes
    into the tensors themselves."""
    plain = type(network).state_dict

    def state_dict(destination=None, include_sublayers=True, use_hook=True, structured_name_prefix=""):
        own = plain(network, None, include_sublayers, use_hook, structured_name_prefix)
        for name, tensor in own.items() if use_hook else ():
            if tensor.is_floating_point() and tensor.dtype != kind:
                own[name] = tensor.astype(kind)
        if destination is None:
            return own
        destination.update(own)
        return destination

    network.__dict__["state_dict"] = state_dict
