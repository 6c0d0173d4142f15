"""Functions of Python over ops that were defined while the process runs (extensions, `proa.utils.custom_op`)."""

import inspect
import re

from proa import _C

__all__ = ["function_of", "operators", "publish", "recorded"]

_defined: dict[str, dict] = {}

_TYPES = {"Tensor": "Tensor", "Tensor[]": "list[Tensor]", "str[]": "list[str]", "int[]": "list[int]",
          "float[]": "list[float]"}  # fmt: skip


def _names(params):
    """The names of parameters in Python: tensors are called in small letters, unless two would be one."""
    lower = [p["name"].lower() if p["type"].startswith("Tensor") else p["name"] for p in params]
    return lower if len(set(lower)) == len(lower) else [p["name"] for p in params]


def _signature(params):
    parameters, optional = [], False
    for name, p in zip(_names(params), params):
        default = p["default"] if p["has_default"] else None if p["optional"] else inspect.Parameter.empty
        optional = optional or default is not inspect.Parameter.empty
        if optional and default is inspect.Parameter.empty:  # One without default behind one with: by name.
            kind = inspect.Parameter.KEYWORD_ONLY
        else:
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(inspect.Parameter(name, kind, default=default))
    parameters.sort(key=lambda p: p.kind)
    return inspect.Signature(parameters)


def _doc(info):
    lines = [info["doc"] or f"The op {info['name']} of the extension {info['extension']}.", "", "Args:"]
    for name, p in zip(_names(info["params"]), info["params"]):
        kind = _TYPES.get(p["type"], p["type"])
        lines.append(f"    {name} ({kind}{', optional' if p['optional'] else ''})")
    outputs = ", ".join(o["name"] + (" (list)" if o["is_list"] else "") for o in info["outputs"])
    return "\n".join([*lines, "", "Returns:", f"    {outputs}" + (", in place" if info["inplace"] else "")])


def function_of(info):
    """The function that calls an op, of what `_C.load_extension` or `_C.define_ops` says of it.

    Arguments are given by position or by name; tensors also by the name that the op has for them ("X").
    """
    params = info["params"]
    names = _names(params)
    called = info["name"] + "_" if info["inplace"] else info["name"]
    also = {p["name"]: name for p, name in zip(params, names) if p["name"] != name}
    signature = _signature(params)

    def call(*args, **kwargs):
        if kwargs or len(args) != len(names):
            kwargs.pop("name", None) if "name" not in names else None
            kwargs = {also.get(key, key): value for key, value in kwargs.items()}
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise _C.located(TypeError(f"{info['name']}: {error}; {info['signature']}")) from None
            bound.apply_defaults()
            args = tuple(bound.arguments[name] for name in names)
        return _C.call_custom_op(called, args)

    call.__name__ = call.__qualname__ = info["name"]
    call.__doc__ = _doc(info)
    call.__signature__ = signature
    return call


def publish(infos):
    """Makes functions of ops, {name: function}, and puts them beside those of the package's own ops (`_C_ops`)."""
    functions = {}
    for info in infos:
        functions[info["name"]] = function = function_of(info)
        _defined[info["name"]] = info
        setattr(_C.ops, info["name"], function)
    return functions


def operators(infos):
    """The names of those that are no gradients of others."""
    gradients = {info["gradient"] for info in infos}
    return [info["name"] for info in infos if info["name"] not in gradients]


def _strings(joined):
    """The items of a list of strings, which a program has as one: each with a newline behind it."""
    return [re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], item) for item in joined.split("\n")[:-1]]


def recorded(name):
    """The op as programs call it, a function of its arguments as they print them; None if none of this name is defined.

    An op that works in place changes copies there.
    """
    info = _defined.get(name)
    if info is None:
        return None
    kinds = [p["type"] for p in info["params"]]

    def call(*args):
        return _C.call_custom_op(name, tuple(_strings(a) if k == "str[]" else a for k, a in zip(kinds, args)))

    return call
