"""Names that a module gives when they are first used, and what is said of names that it does not have."""

import functools
import importlib
import os
import sys

__all__ = ["MissingName", "borrow", "invert", "lazy", "missing"]


class MissingName(AttributeError):
    """A name that a module does not have. The sentence is made when somebody reads it: `hasattr` pays nothing for it."""

    def __init__(self, module, name):
        super().__init__(name=name, obj=sys.modules.get(module))
        self._module, self._missing = module, name

    def __str__(self):
        return _sentence(self._module, self._missing)

    def __reduce__(self):
        return MissingName, (self._module, self._missing)


def missing(module):
    """A module's `__getattr__` that finds nothing, and says what it knows of the name.

    Args:
        module (str): the module's `__name__`.
    """

    def get(name):
        raise MissingName(module, name)

    return get


def lazy(module, homes=None, submodules=()):
    """`__getattr__` and `__dir__` of a module whose names come from elsewhere when they are first used.

    Args:
        module (str): the module's `__name__`.
        homes (dict): from a name to the module that has it, "proa.nn.clip", or "proa.nn.clip:OtherName".
        submodules (Iterable[str]): names of modules inside of `module`.

    Examples:
        >>> get, names = proa.framework.names.lazy("proa.metric", {"Layer": "proa.nn"})
        >>> get("Layer") is proa.nn.Layer
        True
    """
    homes = homes or {}
    submodules = frozenset(submodules)

    def get(name):
        home = homes.get(name)
        if home is not None:
            home, _, other = home.partition(":")
            value = importlib.import_module(home)
            value = value if other == "*" else getattr(value, other or name)
        elif name in submodules:
            return importlib.import_module(f"{module}.{name}")
        else:
            raise MissingName(module, name)
        sys.modules[module].__dict__[name] = value
        return value

    def names():
        return sorted({*sys.modules[module].__dict__, *homes, *submodules})

    return get, names


def borrow(module, other):
    """A module's `__getattr__` that looks in another, for names that programs import from where they once were defined.

    Args:
        module (str): the module's `__name__`.
        other (str): the module that has all of its kind, "proa.nn".
    """

    def get(name):
        if not name.startswith("_"):
            value = getattr(importlib.import_module(other), name, None)
            if value is not None and not isinstance(value, type(sys)):
                sys.modules[module].__dict__[name] = value
                return value
        raise MissingName(module, name)

    return get


def invert(modules):
    """`homes` of `lazy` from the other side: {"proa.nn.clip": "ClipGradByNorm ClipGradByValue"}.

    A name may be given as "Other=Name": Other here, Name there.
    """
    homes = {}
    for module, names in modules.items():
        for name in names.split():
            here, _, there = name.partition("=")
            homes[here] = f"{module}:{there}" if there else module
    return homes


# What is said -------------------------------------------------------------------------------------------------------


def shown(name):
    """`proa.nn.Layer` under the name that the program imported: paddle.nn.Layer under as_paddle."""
    package = "paddle" if sys.modules.get("paddle") is sys.modules["proa"] else "proa"
    return package + name[len("proa") :] if name == "proa" or name.startswith("proa.") else name


@functools.cache
def releases():
    """From the public names of the reference, without the package, to the first release that had them."""
    path = os.path.join(os.path.dirname(__file__), "releases.txt")
    found = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                since, module, *names = line.split()
                for name in names:
                    found[name if module == "." else f"{module}.{name}"] = since
    return found


def since_when(name):
    """Which release of the reference has a name (without the package), or a module of it; None if that is not known."""
    known = releases()
    since = known.get(name) or next((s for n, s in sorted(known.items()) if n.startswith(name + ".")), None)
    if since is None:
        return None
    if since.endswith("+"):
        return (
            f"it belongs to a release after {since[:-1]} of the reference, and this package follows 2.0 to {since[:-1]}"
        )
    return f"the reference has it since {since}, this package does not have it yet"


def nearest(module, name, spelling=True):
    """A name that we have and that `name` of `module` may mean, in full; None if there is none.

    Args:
        module, name (str): what was asked for.
        spelling (bool): think of mistakes in spelling too, beside other cases and modules.
    """
    import difflib

    here = sys.modules[module]
    for other in dir(here):
        if other.lower() == name.lower() and not other.startswith("__"):
            return f"{module}.{other}"
    last = name.lower().replace("_", "")
    for known in sorted(releases(), key=len):
        if known.rpartition(".")[2].lower().replace("_", "") == last and _is_there(known):
            return f"proa.{known}"
    if not spelling:
        return None
    close = difflib.get_close_matches(name, [n for n in dir(here) if not n.startswith("_")], 1, 0.8)
    return f"{module}.{close[0]}" if close else None


def _is_there(known):
    value = sys.modules["proa"]
    try:
        for part in known.split("."):
            value = getattr(value, part)
    except (AttributeError, ImportError):
        return False
    return True


def _sentence(module, name):
    text = f"module {shown(module)!r} has no attribute {name!r}"
    full = f"{module}.{name}"[len("proa.") :]
    since = since_when(full)
    if since is not None:
        text += f": {since}"
    other = nearest(module, name, spelling=since is None)
    if other is not None and other != f"{module}.{name}":
        text += f"; the nearest name is {shown(other)}"
    return text
