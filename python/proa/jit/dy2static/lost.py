"""What a name or attribute holds where a statement of the program made of it what no program holds: whoever uses it gets an error."""

import operator

from proa import _C

__all__ = ["Lost", "is_plain", "rewrite"]


class Lost:
    """Stands for texts and other objects that turns of a loop give anew: which turn is the last only the run knows.

    Args:
        error: a function without arguments that gives the error of who uses it.
    """

    def __init__(self, error):
        object.__setattr__(self, "_make", error)

    def __getattr__(self, name):
        if name.startswith("__") or name.startswith("_proa_"):
            raise AttributeError(name)
        raise self.error()

    def error(self):
        """The error of who uses it."""
        return self._make()

    def __repr__(self):
        return "what no program holds"


def _refusing(name):
    def refuse(self, *unused, **also):
        raise self.error()

    refuse.__name__ = name
    return refuse


_USES = [f"__{name.strip('_')}__" for name in operator.__all__ if hasattr(list, f"__{name.strip('_')}__")]
_USES += [
    "__len__",
    "__iter__",
    "__bool__",
    "__hash__",
    "__call__",
    "__str__",
    "__format__",
    "__add__",
    "__radd__",
    "__mod__",
]
_USES += ["__setattr__", "__delattr__", "__reversed__", "__enter__", "__exit__", "__float__", "__int__", "__index__"]
for _name in _USES:
    setattr(Lost, _name, _refusing(_name))


def rewrite(value):
    """What to write in the place of a value that no program holds."""
    kind = "text" if isinstance(value, str) else type(value).__name__
    return (
        f"a program holds tensors, and no {kind}: let a number stand for it, such as its index in a list, and look it up "
        "where the function was called"
    )


def is_plain(leaf):
    """Whether it is no tensor, and nothing that a tensor may take the place of."""
    return not isinstance(leaf, (_C.Tensor, bool, int, float, type(None)))
