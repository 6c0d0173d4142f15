"""Settings that are found by trying."""

import json
import warnings

from proa import _C
from proa.framework.names import missing as _missing

__all__ = ["set_config"]

__getattr__ = _missing(__name__)

_KINDS = ("kernel", "layout", "dataloader")


def set_config(config=None):
    """Turns tuning on or off.

    Args:
        config (dict|str, optional): for each of "kernel", "layout" and "dataloader" a dict with "enable" (bool), or a path
            of a JSON file that holds it. All are on unless given. Kernels and layouts are chosen where they are called, at
            no cost and in mixed precision too (images lie channels-last), so the first two change nothing. With "dataloader" each DataLoader over a data set with indices tries,
            when it begins to iterate, how many workers are fastest, with "tuning_steps" batches a trial.

    Raises:
        TypeError, ValueError: for another config.

    Examples:
        >>> proa.incubate.autotune.set_config({"dataloader": {"enable": False}})
    """
    if config is None:
        config = {kind: {"enable": True} for kind in _KINDS}
    if isinstance(config, str):
        with open(config, encoding="utf-8") as file:
            config = json.load(file)
    if not isinstance(config, dict):
        raise _C.located(
            TypeError(f"set_config: config must be a dict or the path of one, not {type(config).__name__}")
        )
    for kind, settings in config.items():
        if kind not in _KINDS:
            raise _C.located(ValueError(f"set_config: {kind!r} is none of {', '.join(map(repr, _KINDS))}"))
        if not isinstance(settings, dict):
            raise _C.located(TypeError(f"set_config: {kind} must be a dict, not {settings!r}"))
        enable = settings.get("enable", False)
        if not isinstance(enable, bool):
            warnings.warn(
                f"set_config: enable of {kind} must be a bool, not {enable!r}; it is left as it was", stacklevel=2
            )
            continue
        if kind == "dataloader":
            from proa.io.tuning import set_tuning

            steps = settings.get("tuning_steps", 8)
            if isinstance(steps, bool) or not isinstance(steps, int) or steps < 2:
                raise _C.located(ValueError(f"set_config: tuning_steps must be an int of at least 2, not {steps!r}"))
            set_tuning(enable, steps)
