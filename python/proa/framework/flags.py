"""Flags: switches that programs set by `set_flags`, or by variables of the environment before the import.

Each is defined here, with its type, its default, and what happens when it is set.
"""

import os
import warnings

from proa import _C

__all__ = ["get_flags", "set_flags"]

_PREFIX = "FLAGS_"


class _Flag:
    """One flag. `on_set` is called with the new value; None: the value is only kept.

    `meaning`: it decides what a program computes, so that recordings hold for one value of it.
    """

    def __init__(self, kind, default, doc, on_set=None, check=None, meaning=False):
        self.kind, self.default, self.value, self.doc = kind, default, default, doc
        self.on_set, self.check, self.meaning = on_set, check, meaning


def _set_numeric_check(_):
    on, level = _FLAGS["check_nan_inf"].value, _FLAGS["check_nan_inf_level"].value
    _, only, except_ = _C.debug.numeric_check()
    _C.debug.set_numeric_check(0 if not on else 1 if level == 0 else 2, only, except_)


def _set_crash_handler(on):
    (_C.debug.enable_crash_handler if on else _C.debug.disable_crash_handler)()


def _set_to_1d(on):
    from proa.framework import scalars

    scalars.set_to_1d(on)


def _cannot_change(value):
    return None if value == (not _C.debug.keeps_blocks()) else "is read once, from the environment before the import"


def _one_of(*values):
    def check(value):
        return None if value in values else f"must be one of {', '.join(map(repr, values))}"

    return check


def _between(least, most):
    def check(value):
        return None if least <= value <= most else f"must be from {least} to {most}"

    return check


_FLAGS = {
    "check_nan_inf": _Flag(
        bool,
        False,
        "Look at what each op gives, in forward and backward and in programs: the first that makes a NaN or Inf is an "
        "error that names it, its arguments, the layer and the line.",
        _set_numeric_check,
    ),
    "check_nan_inf_level": _Flag(
        int, 0, "0: raise. 1: report each on stderr and go on.", _set_numeric_check, _between(0, 1)
    ),
    "trace_ops": _Flag(
        bool,
        False,
        "A line on stderr for each op call: arguments, results, interpreters, the code that ran, time, layer, line.",
        _C.debug.set_call_log,
    ),
    "call_stack_level": _Flag(
        int,
        1,
        "What errors show besides their message. 0: nothing. 1: the line of the program, and the layer. 2: the C++ "
        "frames too.",
        _C.debug.set_call_stack_level,
        _between(0, 2),
    ),
    "crash_handler": _Flag(
        bool,
        False,
        "When the process dies of a signal, say which op ran and whose code faulted (proa.utils.enable_crash_handler).",
        _set_crash_handler,
    ),
    "recompute_cheap_outputs": _Flag(
        bool,
        _C.recompute_outputs(),
        "Do not keep the results of batch normalization, and of relu and sums behind it, for backward, but compute them "
        "again: less memory, the same bits, a little more time.",
        _C.set_recompute_outputs,
    ),
    "verify_passes": _Flag(
        bool,
        False,
        "Check the form of a program after each pass over it, and that it gives what it gave; for those who write "
        "passes.",
        _C.set_pass_checks,
    ),
    "set_to_1d": _Flag(
        bool,
        False,
        "`numpy()` of a tensor without dims gives an array of one element, `x[0]` gives that element, `len(x)` is 1, and "
        "`concat` joins it, as in the reference up to 2.4. On under proa.as_paddle for those releases.",
        _set_to_1d,
        meaning=True,
    ),
    "guard_onednn_buffers": _Flag(
        bool,
        False,
        "Hand oneDNN copies of its arguments in pages of their own, with patterns around them that are looked at "
        "afterwards: finds code that reads or writes where it should not. Slow.",
        lambda on: _C.debug.set_onednn_guards(on),
    ),
    "stream_bytes": _Flag(
        int,
        0,
        "Calls that touch at least so many bytes store their results past the caches. 0: as many as the last cache of "
        "the machine holds, from 8 to 32 MiB. Results are the same.",
        _C.debug.set_stream_bytes,
        _between(0, 2**63 - 1),
    ),
    "fill_memory": _Flag(
        str,
        "",
        'What is written into each new block of memory: "nan", "large" (1e30 and the like), or "" for nothing. An op '
        "that reads what nobody wrote then gives other results.",
        _C.debug.set_memory_fill,
        _one_of("", "nan", "large"),
    ),
    "use_system_allocator": _Flag(
        bool,
        not _C.debug.keeps_blocks(),
        "Keep no memory: each block comes from operator new and goes back to it. For tools that look for errors in the "
        "use of memory; slow. Only as a variable of the environment.",
        check=_cannot_change,
    ),
    "enable_eager_mode": _Flag(bool, True, "What proa.framework.in_dygraph_mode and its kin answer."),
}

# Flags of PaddlePaddle that programs set and that have nothing to switch here: name -> default. Their values are kept.
_WITHOUT_EFFECT = {
    "USE_STANDALONE_EXECUTOR": True,
    "allocator_strategy": "auto_growth",
    "apply_pass_to_program": False,
    "auto_growth_chunk_size_in_mb": 0,
    "benchmark": False,
    "conv_workspace_size_limit": 512,
    "cpu_deterministic": False,
    "cublas_allow_tf32": False,
    "cudnn_batchnorm_spatial_persistent": False,
    "cudnn_deterministic": False,
    "cudnn_exhaustive_search": False,
    "cudnn_exhaustive_search_times": -1,
    "eager_delete_scope": True,
    "eager_delete_tensor_gb": 0.0,
    "embedding_deterministic": 0,
    "enable_cublas_tensor_op_math": False,
    "enable_gpu_memory_usage_log": False,
    "enable_parallel_graph": False,
    "enable_rpc_profiler": False,
    "fast_eager_deletion_mode": True,
    "fraction_of_cpu_memory_to_use": 1.0,
    "fraction_of_cuda_pinned_memory_to_use": 0.5,
    "fraction_of_gpu_memory_to_use": 0.92,
    "fuse_parameter_groups_size": 1,
    "fuse_parameter_memory_size": -1.0,
    "gpu_allocator_retry_time": 10000,
    "gpu_memory_limit_mb": 0,
    "init_allocated_mem": False,
    "initial_cpu_memory_in_mb": 500,
    "initial_gpu_memory_in_mb": 0,
    "inner_op_parallelism": 0,
    "max_inplace_grad_add": 0,
    "memory_fraction_of_eager_deletion": 1.0,
    "multiple_of_cupti_buffer_size": 1,
    "new_executor_sequential_run": False,
    "new_executor_use_local_scope": True,
    "paddle_num_threads": 1,
    "pe_profile_fname": "",
    "print_sub_graph_dir": "",
    "reader_queue_speed_test_mode": False,
    "reallocate_gpu_memory_in_mb": 0,
    "retain_grad_for_all_tensor": False,
    "run_pten_kernel": True,
    "selected_gpus": "",
    "selected_npus": "",
    "selected_xpus": "",
    "sort_sum_gradient": False,
    "sync_nccl_allreduce": True,
    "tracer_mkldnn_ops_off": "",
    "tracer_mkldnn_ops_on": "",
    "tracer_profile_fname": "",
    "use_standalone_executor": True,
    "use_cinn": False,
    "use_mkldnn": False,
    "use_ngraph": False,
    "use_pinned_memory": True,
    "use_stream_safe_cuda_allocator": True,
}
for _name, _default in _WITHOUT_EFFECT.items():
    _FLAGS[_name] = _Flag(type(_default), _default, "Kept for programs of PaddlePaddle; without effect.")

_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


def _parse(where, name, flag, value):
    """The value as the flag's type; the texts of the environment count as what they say."""
    kind = flag.kind
    fits = {bool: (bool, int), int: (int,), float: (int, float), str: (str,)}[kind]
    if kind is bool and isinstance(value, str) and value.lower() in _TRUE + _FALSE:
        value = value.lower() in _TRUE
    elif kind in (int, float) and isinstance(value, str):
        try:
            value = kind(value)
        except ValueError:
            raise _C.located(ValueError(f"{where}: {_PREFIX}{name} must be {kind.__name__}, not {value!r}")) from None
    elif kind is bool and isinstance(value, str):
        raise _C.located(ValueError(f"{where}: {_PREFIX}{name} must be one of 1, 0, true, false, not {value!r}"))
    elif not isinstance(value, fits) or (isinstance(value, bool) and kind is not bool):
        raise _C.located(TypeError(f"{where}: {_PREFIX}{name} must be {kind.__name__}, not {type(value).__name__}"))
    value = kind(value)
    wrong = flag.check(value) if flag.check else None
    if wrong:
        raise _C.located(ValueError(f"{where}: {_PREFIX}{name} {wrong}, not {value!r}"))
    return value


def near(name, known, prefix=""):
    """ "; did you mean a or b?", of names that are like one that does not exist; "" if none is."""
    import difflib  # slow to import, needed for errors only

    close = difflib.get_close_matches(name, known, 3, 0.6)
    return f"; did you mean {' or '.join(prefix + n for n in close)}?" if close else ""


def _find(where, name):
    if not isinstance(name, str):
        raise _C.located(TypeError(f"{where}: the name of a flag must be a str, not {type(name).__name__}"))
    short = name.removeprefix(_PREFIX)
    if short not in _FLAGS:
        raise _C.located(ValueError(f"{where}: there is no flag {name!r}{near(short, _FLAGS, _PREFIX)}"))
    return short


def _assign(values):
    global _with_meaning
    for name, value in values.items():
        _FLAGS[name].value = value
        if _FLAGS[name].on_set:
            _FLAGS[name].on_set(value)
    _with_meaning = tuple(flag.value for flag in _FLAGS.values() if flag.meaning)


_with_meaning = tuple(flag.value for flag in _FLAGS.values() if flag.meaning)


def with_meaning():
    """The values of the flags that decide what a program computes."""
    return _with_meaning


def set_flags(flags):
    """Sets flags by name; all of them, or none if one is wrong.

    Args:
        flags (dict): names, with or without "FLAGS_", and values.

    Raises:
        ValueError: no such flag (names that are like it are listed), or not a value for it.
        TypeError: a value of another type.

    Examples:
        >>> proa.set_flags({"FLAGS_call_stack_level": 2})
        >>> proa.get_flags("FLAGS_call_stack_level")
        {'FLAGS_call_stack_level': 2}
        >>> proa.set_flags({"FLAGS_call_stack_level": 1})
    """
    if not isinstance(flags, dict):
        raise _C.located(TypeError(f"set_flags: flags must be a dict, not {type(flags).__name__}"))
    values = {}
    for name, value in flags.items():
        short = _find("set_flags", name)
        values[short] = _parse("set_flags", short, _FLAGS[short], value)
    _assign(values)


def get_flags(flags):
    """The values of flags, by the names that were asked for.

    Args:
        flags (str|list[str]|tuple[str]): names, with or without "FLAGS_".

    Raises:
        ValueError: no such flag; names that are like it are listed.

    Examples:
        >>> proa.get_flags(["FLAGS_call_stack_level"])
        {'FLAGS_call_stack_level': 1}
    """
    if not isinstance(flags, (str, list, tuple)):
        raise _C.located(TypeError(f"get_flags: flags must be a str, list or tuple, not {type(flags).__name__}"))
    names = [flags] if isinstance(flags, str) else flags
    return {name: _FLAGS[_find("get_flags", name)].value for name in names}


def changed():
    """The flags that have another value than their default, by name with "FLAGS_"."""
    return {_PREFIX + name: flag.value for name, flag in _FLAGS.items() if flag.value != flag.default}


def read_environment(environment=None):
    """Sets flags from variables of the environment. What is wrong with some is one warning, not an error: a variable
    may be meant for another program.

    Args:
        environment (Mapping, optional): os.environ unless given.
    """
    environment = os.environ if environment is None else environment
    values, wrong = {}, []
    for variable, text in sorted(environment.items()):
        if not variable.startswith(_PREFIX):
            continue
        name = variable[len(_PREFIX) :]
        if name not in _FLAGS:
            wrong.append(f"there is no flag {variable}{near(name, _FLAGS, _PREFIX)}")
            continue
        try:
            values[name] = _parse("environment", name, _FLAGS[name], text)
        except ValueError as error:
            wrong.append(str(error).removeprefix("environment: "))
    _assign(values)
    if wrong:
        warnings.warn("in the environment: " + "; ".join(wrong) + " (ignored)", RuntimeWarning, stacklevel=2)
