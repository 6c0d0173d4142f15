"""Files of states: .pdparams of layers, .pdopt of optimizers."""

import os

from proa import _C

__all__ = ["load_dygraph", "save_dygraph"]


def save_dygraph(state_dict, model_path):
    """Writes the state of a layer into `model_path`.pdparams, that of an optimizer into .pdopt.

    Args:
        state_dict (dict): of either.
        model_path (str): the first part of the name.
    """
    from proa.framework import Parameter, save

    if not os.path.basename(model_path):
        raise _C.located(
            ValueError(f"save_dygraph: model_path must end in the first part of a file name, not {model_path!r}")
        )
    if not state_dict:
        raise _C.located(ValueError("save_dygraph: state_dict is empty; there is nothing to save"))
    of_layer = any(isinstance(value, Parameter) for value in state_dict.values())
    folder = os.path.dirname(model_path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    save(state_dict, model_path + (".pdparams" if of_layer else ".pdopt"))


def load_dygraph(model_path, **configs):
    """What `save_dygraph` wrote.

    Args:
        model_path (str): as it had it, with or without an ending.

    Returns:
        (dict, dict): the states of the layer and of the optimizer as arrays; None for the file that is not there.

    Raises:
        FileNotFoundError: neither is there.
    """
    from proa.framework import load

    base = model_path
    for ending in (".pdparams", ".pdopt"):
        base = base[: -len(ending)] if base.endswith(ending) else base
    found = [
        load(base + ending, return_numpy=True) if os.path.exists(base + ending) else None
        for ending in (".pdparams", ".pdopt")
    ]
    if found == [None, None]:
        raise _C.located(FileNotFoundError(f"load_dygraph: there is neither {base}.pdparams nor {base}.pdopt"))
    if found[0] is not None and not configs.get("keep_name_table"):
        found[0].pop("StructuredToParameterName@@", None)
    return found[0], found[1]
