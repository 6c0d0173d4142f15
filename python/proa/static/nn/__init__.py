"""Control flow on values of a program, and layers that make their own parameters."""

from proa import _C
from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy
from proa.static.host import py_func
from proa.static.nn.layers import embedding

_HOMES = _invert({
    "proa.static.nn.parametric": "batch_norm bilinear_tensor_product conv2d conv2d_transpose conv3d conv3d_transpose fc "
    "group_norm instance_norm layer_norm prelu row_conv sparse_embedding spectral_norm",
    "proa.static.nn.crf": "crf_decoding",
    "proa.static.nn.kept_sums": "data_norm",
    "proa.static.nn.deform": "deform_conv2d",
    "proa.static.nn.sampled": "nce",
    "proa.static.nn.ssd": "multi_box_head",
    "proa.static.nn.choices": "case switch_case",
    "proa.static.nn.sequence": "sequence_concat sequence_conv sequence_enumerate sequence_expand sequence_expand_as "
    "sequence_first_step sequence_last_step sequence_pad sequence_pool sequence_reshape sequence_reverse sequence_scatter "
    "sequence_slice sequence_softmax sequence_unpad",
})  # fmt: skip

__all__ = ["cond", "embedding", "py_func", "while_loop", *_HOMES]

__getattr__, __dir__ = _lazy(__name__, _HOMES)


def cond(pred, true_fn=None, false_fn=None, name=None):
    """The result of one of two functions, chosen by a bool tensor when the program runs.

    In eager mode it calls one of them. Both must give tensors alike in number, dtype and rank.

    Args:
        pred (Tensor): one bool.
        true_fn, false_fn: functions without arguments that give a tensor, or a list or tuple of tensors.

    Examples:
        >>> x = proa.to_tensor([3.0])
        >>> proa.static.nn.cond(x.sum() > 0, lambda: x, lambda: -x).tolist()
        [3.0]
    """
    if isinstance(pred, bool):
        pred = _C.to_tensor(pred)
    pred = _C.tensor_argument(pred, "cond", "pred")
    for what, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if function is not None and not callable(function):
            raise _C.located(TypeError(f"cond: {what} must be callable, not {type(function).__name__}"))
    shapes = []

    def branch(function):
        def call():
            result = function() if function is not None else None
            shapes.append(result)
            return _as_list(result)

        return call

    if _C.is_symbolic(pred):
        true_fn, false_fn = (_block(function) for function in (true_fn, false_fn))
    results = _C.cond(pred, branch(true_fn), branch(false_fn))
    return _like(shapes[0], _plain_where_equal(shapes, results))


def while_loop(cond, body, loop_vars, is_test=False, name=None):
    """Repeats `loop_vars = body(*loop_vars)` while `cond(*loop_vars)` holds.

    Args:
        cond: gives one bool tensor.
        body: gives as many tensors as there are variables.
        loop_vars (list): tensors.

    Returns:
        list: the variables at the end.

    Examples:
        >>> i = proa.to_tensor(0)
        >>> proa.static.nn.while_loop(lambda i: i < 10, lambda i: [i + 3], [i])[0].item()
        12
    """
    for what, function in (("cond", cond), ("body", body)):
        if not callable(function):
            raise _C.located(TypeError(f"while_loop: {what} must be callable, not {type(function).__name__}"))
    if not isinstance(loop_vars, (list, tuple)) or not loop_vars:
        raise _C.located(TypeError("while_loop: loop_vars must be a list of tensors that is not empty"))
    for number, value in enumerate(loop_vars):
        if not isinstance(value, _C.Tensor):
            hint = "; stack an array of tensors into one" if isinstance(value, list) else ""
            raise _C.located(
                TypeError(f"while_loop: loop_vars[{number}] must be a Tensor, not {type(value).__name__}{hint}")
            )
    if _C.in_static_mode() or any(isinstance(v, _C.Tensor) and _C.is_symbolic(v) for v in loop_vars):
        cond, body = _block(cond), _block(body)
    return _C.while_loop(
        lambda *values: _as_list(cond(*values)), lambda *values: _as_list(body(*values)), list(loop_vars)
    )


def _block(function):
    """The function as one that the program runs: what it does to gradients (`no_grad`, `detach`) and asks of tensors is recorded."""
    if function is None:
        return None
    from proa.jit.dy2static import given

    return given.block(function)


_NUMBERS = (bool, int, float, complex)


def _as_list(result):
    """The tensors of a result; plain numbers become tensors."""
    if result is None:
        return []
    items = list(result) if isinstance(result, (list, tuple)) else [result]
    return [_C.to_tensor(v) if isinstance(v, (bool, int, float, complex)) else v for v in items]


def _plain_where_equal(given, tensors):
    """The results, where the branches that ran gave one and the same number of Python that number."""
    first, *others = [list(r) if isinstance(r, (list, tuple)) else [r] for r in given]
    out = []
    for i, tensor in enumerate(tensors):
        same = all(type(o[i]) is type(first[i]) and o[i] == first[i] for o in others if type(first[i]) in _NUMBERS)
        out.append(first[i] if type(first[i]) in _NUMBERS and same else tensor)
    return out


def _like(result, tensors):
    if result is None:
        return None
    if isinstance(result, (list, tuple)):
        return type(result)(tensors)
    return tensors[0]
