"""To find where NaN and Inf come from: a check of one tensor, and of what every op gives; and what ran in which dtype."""

import enum
import functools

from proa import _C
from proa.framework import flags
from proa.framework.names import invert, lazy

_HOMES = invert({
    "proa.amp.operator_stats": "OperatorStats collect_operator_stats disable_operator_stats_collection "
    "enable_operator_stats_collection",
})  # fmt: skip

__all__ = ["DebugMode", "TensorCheckerConfig", "check_layer_numerics", "check_numerics", "disable_tensor_checker",
           "enable_tensor_checker", "set_checked_op_list", "set_skipped_op_list", *_HOMES]  # fmt: skip

__getattr__, __dir__ = lazy(__name__, _HOMES)


class DebugMode(enum.Enum):
    """What a check does when it finds a NaN or Inf.

    Examples:
        >>> proa.amp.debugging.DebugMode.CHECK_NAN_INF_AND_ABORT.value
        0
    """

    CHECK_NAN_INF_AND_ABORT = 0  # raises
    CHECK_NAN_INF = 1  # says so on stderr, and on
    CHECK_ALL = 4  # of `check_numerics`: raises nothing, gives figures of any tensor


def _mode(where, debug_mode):
    if not isinstance(debug_mode, DebugMode):
        raise _C.located(TypeError(f"{where}: debug_mode must be a DebugMode, not {debug_mode!r}"))
    return debug_mode


def check_numerics(tensor, op_type="", var_name="", debug_mode=DebugMode.CHECK_NAN_INF_AND_ABORT):
    """Looks for NaN and Inf in a tensor. In a program that is recorded, it looks when the program runs.

    Args:
        tensor (Tensor): of a floating point or complex dtype.
        op_type (str): what made it, for the message.
        var_name (str): what it is called, for the message.
        debug_mode (DebugMode): whether to raise.

    Returns:
        tuple[Tensor, Tensor]: the numbers of NaN, infinite and zero elements (int64 [3]); maximum, minimum and mean of
        the finite elements (float32 [3]), of complex ones of their absolute values.

    Raises:
        RuntimeError: there are some, and `debug_mode` is CHECK_NAN_INF_AND_ABORT.

    Examples:
        >>> stats, values = proa.amp.debugging.check_numerics(proa.to_tensor([1.0, 3.0, 0.0]))
        >>> stats.tolist(), values.tolist()[:2]
        ([0, 0, 1], [3.0, 0.0])
        >>> try:
        ...     proa.amp.debugging.check_numerics(proa.to_tensor([float("nan"), 1.0]), "log", "x")
        ... except RuntimeError as error:
        ...     print(error)
        (PreconditionNotMet) check_numerics: x of log has 1 NaN; it is [2] float32 with 1 NaN, 0 Inf, min 1, max 1, mean 1
    """
    abort = _mode("check_numerics", debug_mode) is DebugMode.CHECK_NAN_INF_AND_ABORT
    return _C.ops.check_numerics(tensor, op_type, var_name, abort)


def _names(what, names, where="TensorCheckerConfig"):
    if names is None:
        return []
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise _C.located(TypeError(f"{where}: {what} must be a list of names of ops, not {names!r}"))
    known = {op["name"] for op in _C.op_registry()}
    for name in names:
        if name not in known:
            raise _C.located(ValueError(f"{where}: {what}: there is no op {name!r}{flags.near(name, known)}"))
    return list(names)


class TensorCheckerConfig:
    """What `enable_tensor_checker` looks at.

    Args:
        enable (bool): whether to look at all.
        debug_mode (DebugMode): raise for the first NaN or Inf, or report each on stderr.
        checked_op_list (list[str], optional): ops to look at; all unless given.
        skipped_op_list (list[str], optional): ops that are not looked at.

    Examples:
        >>> config = proa.amp.debugging.TensorCheckerConfig(enable=True, skipped_op_list=["exp"])
        >>> proa.amp.debugging.enable_tensor_checker(config)
        >>> bool(proa.to_tensor([100.0]).exp().isinf())
        True
        >>> proa.to_tensor([0.0]).log()
        Traceback (most recent call last):
        RuntimeError: (PreconditionNotMet) log: made 1 Inf in out
          out: [1] float32; 0 NaN, 1 Inf
          x: [1] float32; 0 NaN, 0 Inf, min 0, max 0, mean 0
        ...
        >>> proa.amp.debugging.disable_tensor_checker()
    """

    def __init__(
        self,
        enable=True,
        debug_mode=DebugMode.CHECK_NAN_INF_AND_ABORT,
        checked_op_list=None,
        skipped_op_list=None,
    ):
        self.enable = bool(enable)
        self.debug_mode = _mode("TensorCheckerConfig", debug_mode)
        self.checked_op_list = _names("checked_op_list", checked_op_list)
        self.skipped_op_list = _names("skipped_op_list", skipped_op_list)


def enable_tensor_checker(checker_config):
    """Looks at what ops give from now on, as FLAGS_check_nan_inf does, with a choice of ops.

    Args:
        checker_config (TensorCheckerConfig): which ops, and what to do.

    Examples:
        >>> debugging = proa.amp.debugging
        >>> debugging.enable_tensor_checker(debugging.TensorCheckerConfig(checked_op_list=["log"]))
        >>> _ = proa.exp(proa.to_tensor([1000.0]))  # an Inf, of an op that is not looked at
        >>> proa.log(proa.to_tensor([-1.0]))
        Traceback (most recent call last):
            ...
        RuntimeError: (PreconditionNotMet) log: made 1 NaN in out
        ...
        >>> debugging.disable_tensor_checker()
    """
    if not isinstance(checker_config, TensorCheckerConfig):
        raise _C.located(
            TypeError(
                f"enable_tensor_checker: checker_config must be a TensorCheckerConfig, not {type(checker_config).__name__}"
            )
        )
    _C.debug.set_numeric_check(0, checker_config.checked_op_list, checker_config.skipped_op_list)
    level = 0 if checker_config.debug_mode is DebugMode.CHECK_NAN_INF_AND_ABORT else 1
    flags.set_flags({"check_nan_inf_level": level, "check_nan_inf": checker_config.enable})


def disable_tensor_checker():
    """Looks no more; the choice of ops is forgotten.

    Examples:
        >>> proa.amp.debugging.enable_tensor_checker(proa.amp.debugging.TensorCheckerConfig())
        >>> proa.amp.debugging.disable_tensor_checker()
        >>> proa.log(proa.to_tensor([0.0])).tolist()
        [-inf]
    """
    flags.set_flags({"check_nan_inf": False, "check_nan_inf_level": 0})
    _C.debug.set_numeric_check(0, [], [])


def set_checked_op_list(checked_op_list):
    """Only these ops are looked at by the checks of NaN and Inf; all if None.

    Args:
        checked_op_list (list[str]|None): names of ops.

    Raises:
        ValueError: there is no such op.

    Examples:
        >>> proa.amp.debugging.set_checked_op_list(["log"])
        >>> proa.amp.debugging.set_checked_op_list(None)
    """
    action, _, skipped = _C.debug.numeric_check()
    _C.debug.set_numeric_check(action, _names("checked_op_list", checked_op_list, "set_checked_op_list"), list(skipped))


def set_skipped_op_list(skipped_op_list):
    """These ops are not looked at by the checks of NaN and Inf; none if None.

    Args:
        skipped_op_list (list[str]|None): names of ops.

    Raises:
        ValueError: there is no such op.

    Examples:
        >>> proa.amp.debugging.set_skipped_op_list(["log"])
        >>> proa.amp.debugging.set_skipped_op_list(None)
    """
    action, checked, _ = _C.debug.numeric_check()
    _C.debug.set_numeric_check(action, list(checked), _names("skipped_op_list", skipped_op_list, "set_skipped_op_list"))


def check_layer_numerics(func):
    """A layer's forward in which each op that makes a NaN or Inf is an error.

    Args:
        func (Callable): the `forward` of a layer.

    Examples:
        >>> class Root(proa.nn.Layer):
        ...     @proa.amp.debugging.check_layer_numerics
        ...     def forward(self, x):
        ...         return x.sqrt()
        >>> Root()(proa.to_tensor([4.0])).tolist()
        [2.0]
        >>> Root()(proa.to_tensor([-4.0]))
        Traceback (most recent call last):
        RuntimeError: (PreconditionNotMet) sqrt: made 1 NaN in out...
    """

    @functools.wraps(func)
    def checked(self, *args, **kwargs):
        before = flags.get_flags(["check_nan_inf", "check_nan_inf_level"])
        flags.set_flags({"check_nan_inf_level": 0, "check_nan_inf": True})
        try:
            return func(self, *args, **kwargs)
        finally:
            flags.set_flags(before)

    return checked
