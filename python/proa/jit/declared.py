"""What the InputSpecs of a converted function say of the tensors of a call."""

import itertools

from proa import _C
from proa.jit import structure
from proa.jit.input_spec import InputSpec
from proa.jit.sizes import fits


def of_call(input_spec, call):
    """The InputSpec of each tensor of the call, None for those that have none."""
    if input_spec is None:
        return [None] * len(call.tensors)
    args, kwargs = structure.unflatten(call.tree, iter([structure.TENSOR] * len(call.tensors)))
    specs = list(itertools.islice(itertools.chain(input_spec, itertools.repeat(None)), len(args)))
    found = []
    for argument, spec in zip(args, specs, strict=True):
        _pair(argument, spec, found)
    _pair(kwargs, {}, found)
    return found


def sizes(input_spec, call):
    """Sizes with those open that the specs leave open, or None without specs."""
    declared = of_call(input_spec, call)
    if not any(declared):
        return None
    return tuple(tuple(spec.shape) if spec is not None else s for spec, s in zip(declared, call.sizes, strict=True))


def check(input_spec, call, who):
    """Refuses tensors that the declared specs do not allow; `who()` names the function."""
    if input_spec is None:
        return
    names = structure.paths(call.tree.items[0], "argument ")
    for spec, t, name in itertools.zip_longest(of_call(input_spec, call), call.tensors, names):
        if spec is None:
            continue
        right = len(spec.shape) == t.ndim and fits((spec.shape,), (tuple(t.shape),))
        if not right or t.dtype != spec.dtype:
            number = name.replace("[", "", 1).replace("]", "", 1)
            raise _C.located(
                (TypeError if right else ValueError)(
                    f"{who()}: {number} is {t.shape} {t.dtype.name}; its InputSpec says "
                    f"{list(spec.shape)} {spec.dtype.name}"
                )
            )


def spec_of(tensor, declared, sizes):
    """The InputSpec that a tensor of a call is recorded by."""
    return InputSpec(
        [None if n < 0 else n for n in sizes],
        tensor.dtype,
        declared.name if declared is not None else None,
        stop_gradient=tensor.stop_gradient,
    )


def _pair(argument, spec, found):
    """Appends, for each tensor of an argument, the spec that is declared for it."""
    if argument is structure.TENSOR:
        found.append(spec if isinstance(spec, InputSpec) else None)
    elif isinstance(argument, dict):
        for key, item in argument.items():
            _pair(item, spec.get(key) if isinstance(spec, dict) else None, found)
    elif isinstance(argument, (list, tuple)):
        specs = list(spec) if isinstance(spec, (list, tuple)) else []
        for i, item in enumerate(argument):
            _pair(item, specs[i] if i < len(specs) else None, found)
    else:
        leaves = []
        structure.flatten(argument, leaves, lambda v: (v, v) if v is structure.TENSOR else None)
        found += [None] * len(leaves)
