"""Mixed precision of `Model`: what `amp_configs` says, and what training, evaluation and files do with it."""

import contextlib

from proa import _C
from proa.amp import GradScaler, auto_cast, decorate
from proa.framework.dtype import as_dtype

_OF_CAST = ("custom_white_list", "custom_black_list", "dtype")
_OF_SCALER = (
    "init_loss_scaling",
    "incr_ratio",
    "decr_ratio",
    "incr_every_n_steps",
    "decr_every_n_nan_or_inf",
    "use_dynamic_loss_scaling",
)
_NOTHING = contextlib.nullcontext()
_OTHERS = ("level", "use_fp16_guard", "custom_black_varnames")


def _settings(amp_configs):
    """`amp_configs` as a dict with a level."""
    if not amp_configs:
        return {"level": "O0"}
    if not isinstance(amp_configs, (str, dict)):
        raise _C.located(
            TypeError(f"Model.prepare: amp_configs must be a str or a dict, not {type(amp_configs).__name__}")
        )
    settings = {"level": amp_configs} if isinstance(amp_configs, str) else {"level": "O1", **amp_configs}
    if settings["level"] not in ("O0", "O1", "O2"):
        raise _C.located(
            ValueError(f"Model.prepare: the level of amp_configs must be 'O0', 'O1' or 'O2', not {settings['level']!r}")
        )
    known = _OTHERS + _OF_CAST + _OF_SCALER
    unknown = sorted(str(key) for key in settings if key not in known)
    if unknown:
        raise _C.located(
            ValueError(f"Model.prepare: amp_configs has no {', '.join(unknown)}; it has {', '.join(sorted(known))}")
        )
    return settings


def _decorate(network, optimizer, dtype):
    """The network in 16 bits; one that an earlier `prepare` converted stays."""
    if any(p.dtype == as_dtype(dtype) for p in network.parameters()):
        if optimizer is not None:
            optimizer._multi_precision = True
    else:
        decorate(network, optimizer, "O2", dtype)


class Precision:
    """What a Model computes in.

    Args:
        amp_configs (str|dict, optional): a level, or a dict with "level", arguments of `auto_cast` and of `GradScaler`,
            and use_fp16_guard (only what is inside of `static.amp.fp16_guard()` is cast).
        network (Layer), optimizer (Optimizer|None): converted in place for O2.
    """

    def __init__(self, amp_configs, network, optimizer):
        settings = _settings(amp_configs)
        if settings.get("custom_black_varnames"):
            raise _C.located(
                NotImplementedError(
                    "Model.prepare: custom_black_varnames: results are not told apart by name here; use custom_black_list"
                )
            )
        level = settings["level"]
        self.scaler = None
        self._cast = None if level == "O0" else {"level": level, **{k: settings[k] for k in _OF_CAST if k in settings}}
        if self._cast is None:
            return
        with auto_cast(**self._cast):  # what it refuses, it refuses here
            pass
        self.scaler = GradScaler(**{key: settings[key] for key in _OF_SCALER if key in settings})
        if level == "O2":
            _decorate(network, optimizer, settings.get("dtype", "float16"))
        if settings.get("use_fp16_guard"):
            self._cast = None

    @property
    def is_plain(self):
        """Whether the network runs as it is."""
        return self._cast is None and self.scaler is None

    def cast(self):
        """The context in which the network runs."""
        return _NOTHING if self._cast is None else auto_cast(**self._cast)

    def backward(self, loss):
        """Adds the gradients of a loss, scaled."""
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()

    def step(self, optimizer):
        """A step of the optimizer by what `backward` added."""
        if self.scaler is None:
            optimizer.step()
        else:
            self.scaler.step(optimizer)
            self.scaler.update()
