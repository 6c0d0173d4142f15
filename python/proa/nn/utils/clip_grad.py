"""Clipping of the gradients that parameters hold."""

from proa import _C
from proa.framework.attributes import known_real, wrong
from proa.framework.grad_mode import no_grad
from proa.nn.clip import scaled
from proa.tensor.linalg import norm


@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    """Scales the gradients of parameters, so that their norm all together is at most max_norm.

    Args:
        parameters (Tensor|list[Tensor]): whose gradients.
        max_norm (float): the highest norm.
        norm_type (float|str): 2, another number, or inf, as a text too.
        error_if_nonfinite (bool): raise RuntimeError if the norm is not finite.

    Returns:
        Tensor: the norm before; float32, or float64 if a gradient is. It is formed in float64.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> (net(proa.ones([1, 2])) * 100.0).backward()
        >>> _ = proa.nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
        >>> bool(net.weight.grad.norm() <= 1.0)
        True
    """
    parameters = _listed("clip_grad_norm_", parameters)
    with_grad = [p for p in parameters if p.grad is not None]
    if not with_grad:
        return _C.to_tensor(0.0)
    if not isinstance(norm_type, str) or norm_type not in ("inf", "-inf"):
        norm_type = known_real("clip_grad_norm_", "norm_type", norm_type)
    norm_type = float(norm_type)
    grads = [p.grad for p in with_grad]
    if norm_type == 2:
        total = _C.ops.squared_norm(grads).sqrt()
    else:
        total = norm(_C.ops.stack([norm(g.astype("float64"), norm_type) for g in grads], 0), norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise _C.located(RuntimeError(f"clip_grad_norm_: the norm of the gradients is {total.item()}"))
    factor = _C.ops.clip(max_norm / (total + 1e-6), None, 1.0)
    for p in with_grad:
        _replace(p, scaled(p.grad, factor))
    return total if any(g.dtype == _C.float64 for g in grads) else total.astype("float32")


@no_grad()
def clip_grad_value_(parameters, clip_value):
    """Every element of the gradients of parameters into [-clip_value, clip_value].

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> (net(proa.ones([1, 2])) * 100.0).backward()
        >>> proa.nn.utils.clip_grad_value_(net.parameters(), 1.0)
        >>> net.weight.grad.flatten().tolist()
        [1.0, 1.0]
    """
    parameters = _listed("clip_grad_value_", parameters)
    if clip_value < 0:
        raise _C.located(ValueError(f"clip_grad_value_: clip_value must not be negative; it is {clip_value}"))
    for p in parameters:
        if p.grad is not None:
            _replace(p, _C.ops.clip(p.grad, -float(clip_value), float(clip_value)))


def _listed(op, parameters):
    if isinstance(parameters, _C.Tensor):
        return [parameters]
    try:
        parameters = list(parameters)
    except TypeError:
        raise wrong(op, "parameters", "tensors, as of model.parameters()", parameters) from None
    for p in parameters:
        if not isinstance(p, _C.Tensor):
            raise wrong(op, "parameters", "tensors, as of model.parameters()", p)
    return parameters


def _replace(parameter, grad):
    """Gives a parameter another gradient, in the memory of its own; one of rows has rows of its own."""
    if parameter.grad.is_selected_rows():
        parameter.grad = grad
    else:
        parameter.grad.set_value(grad)
