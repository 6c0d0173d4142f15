"""What a model and its optimizer hold on this process, by the names that one process would have for it."""

from proa import _C
from proa.distributed.checkpoint import pieces
from proa.distributed.state_names import owner_of

__all__ = ["Held", "model_state", "optimizer_state", "put_optimizer_state"]

_MASTER = "fp32_master_0"


class Held:
    """A tensor here, and which piece of the whole it is."""

    def __init__(self, tensor, piece):
        self.tensor, self.piece = tensor, piece


def _bare(model):
    """The model inside of what divides it."""
    from proa.distributed.fleet.meta_parallel.meta_parallel_base import MetaParallelBase
    from proa.distributed.fleet.meta_parallel.sharding.divided_layers import DividedGradients, DividedParameters
    from proa.distributed.parallel import DataParallel

    while isinstance(model, (DataParallel, MetaParallelBase, DividedGradients, DividedParameters)):
        model = model._layers
    return model


def _whole_names(model):
    """From beginnings of names here to those of one process; the longest that fits counts."""
    found = {}
    for path, layer in [("", model), *model.named_sublayers()]:
        if hasattr(layer, "names_in_whole"):
            prefix = f"{path}." if path else ""
            found.update({prefix + own: prefix + other for own, other in layer.names_in_whole().items()})
    return found


def _renamed(name, names):
    fitting = [own for own in names if name == own or name.startswith(f"{own}.")]
    if not fitting:
        return name
    own = max(fitting, key=len)
    return names[own] + name[len(own) :]


def model_state(model):
    """{name: Held} of parameters and persistable buffers."""
    model = _bare(model)
    names = _whole_names(model)
    return {
        _renamed(name, names): Held(tensor, pieces.of_parameter(tensor))
        for name, tensor in model.state_dict(use_hook=False).items()
    }


def _bare_optimizer(optimizer):
    """The optimizer inside of what divides it."""
    while hasattr(optimizer, "_inner_opt"):
        optimizer = optimizer._inner_opt
    return optimizer


def _names_of(model, optimizer):
    """{the parameter's own name: (name, parameter that the optimizer updates)}."""
    names = {held.tensor.name: name for name, held in model_state(model).items()}
    found = {}
    for parameter in optimizer._parameter_list:
        if parameter.name not in names:
            raise _C.located(
                ValueError(f"checkpoint: the optimizer's parameter {parameter.name} is none of the model's")
            )
        found[parameter.name] = names[parameter.name], parameter
    return found


def _is_like_parameter(optimizer, rest, shape, parameter_shape):
    """Whether a state has a value for each element of its parameter."""
    kind = rest.removeprefix(f"{_MASTER}_").removesuffix("_0")
    if kind in optimizer._accumulator_names:  # asked with a shape that numbers of another kind do not have
        with _C.eager_mode():
            probe = _C.ops.full([2, 3], 0.0, _C.float32)
            return list(optimizer._start_accumulator(kind, probe, optimizer._default_options).shape) == [2, 3]
    return list(shape) == list(parameter_shape)


def optimizer_state(model, optimizer):
    """({name: Held}, plain values) of an optimizer; a name is the parameter's, a slash, and the state's."""
    optimizer = _bare_optimizer(optimizer)
    state, plain, found = dict(optimizer.state_dict()), {}, {}
    own = _names_of(model, optimizer)
    for name, (whole_name, parameter) in own.items():
        master = state.get("master_weights", {}).get(name)
        if master is not None:
            found[f"{whole_name}/{_MASTER}"] = Held(_tensor(master), pieces.of_parameter(parameter))
    for name, value in state.items():
        if name == "master_weights":
            continue
        owner = owner_of(name, own)
        if owner is None or not hasattr(value, "shape"):
            plain[name] = value
            continue
        whole_name, parameter = own[owner]
        rest = name[len(owner) + 1 :]
        like = _is_like_parameter(optimizer, rest, value.shape, parameter.shape)
        piece = pieces.of_parameter(parameter) if like else pieces.whole(value.shape)
        found[f"{whole_name}/{rest}"] = Held(_tensor(value), piece)
    return found, plain


def put_optimizer_state(model, optimizer, shapes, read, plain):
    """Gives an optimizer its states.

    Args:
        shapes (dict): {name: shape} of all states, whole, as `optimizer_state` has them.
        read (Callable): `read(name, piece)` is what this process has of a state; a piece of None is all of it.
        plain (dict): values that are no tensors.
    """
    optimizer = _bare_optimizer(optimizer)
    by_parameter = {}
    for name in shapes:
        whole_name, _, rest = name.rpartition("/")
        by_parameter.setdefault(whole_name, []).append(rest)
    state, masters = dict(plain), {}
    for own, (whole_name, parameter) in _names_of(model, optimizer).items():
        for rest in by_parameter.get(whole_name, ()):
            name = f"{whole_name}/{rest}"
            piece = pieces.of_parameter(parameter)
            if rest == _MASTER:
                masters[own] = read(name, piece)
                continue
            like = _is_like_parameter(optimizer, rest, shapes[name], piece.shape)
            state[f"{own}_{rest}"] = read(name, piece if like else None)
    if masters:
        state["master_weights"] = masters
    optimizer.set_state_dict(state)


def _tensor(value):
    return value if isinstance(value, _C.Tensor) else _C.to_tensor(value)
