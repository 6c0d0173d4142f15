"""Functions of the old namespace, with their old names and arguments."""

from proa.framework.names import lazy as _lazy

_MODULES = ("nn", "loss", "tensor", "ops", "math", "io", "control_flow", "learning_rate_scheduler", "metric_op", "utils",
            "collective", "distributions", "rnn", "sequence_lod", "recurrent_blocks", "switches", "py_readers",
            "detection", "recognition", "loops", "blocks", "images", "helpers", "ssd", "targets", "masks", "precision", "proposals", "beams", "regions")  # fmt: skip
_get, _names = _lazy(__name__, {"core": "proa.fluid:core"}, _MODULES)


def _homes():
    import importlib

    found = {}
    for module in ("nn", "loss", "io", "control_flow", "learning_rate_scheduler", "metric_op", "distributions", "rnn",
                   "sequence_lod", "recurrent_blocks", "switches", "py_readers", "detection", "recognition", "images", "helpers", "ssd", "targets", "masks", "precision", "proposals", "beams", "regions"):  # fmt: skip
        home = importlib.import_module(f"{__name__}.{module}")
        for name in home.__all__:
            found.setdefault(name, getattr(home, name))
    return found


def __getattr__(name):
    if name in _MODULES or name.startswith("__"):
        return _get(name)
    found = _homes()
    if name not in found:
        return _get(name)
    globals().update({key: value for key, value in found.items() if key not in _MODULES})
    return found[name]


def __dir__():
    return sorted({*_names(), *_homes()})
