"""Running backward, gradients of chosen tensors, functions with a backward of their own, recomputation, checks."""

from proa import _C
from proa.autograd.debugging import detect_anomaly, graph_dot, graph_text, is_anomaly_enabled, set_detect_anomaly
from proa.autograd.numeric_check import gradcheck, gradgradcheck
from proa.autograd.py_layer import PyLayer, PyLayerContext
from proa.autograd.recomputation import recompute, recompute_sequential
from proa.autograd.saved_tensors import save_on_cpu, save_on_disk, saved_tensors_hooks, saved_tensors_summary
from proa.framework.grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from proa.framework.names import missing as _missing
from proa.framework.nested import listed

__all__ = [
    "PyLayer",
    "PyLayerContext",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph_dot",
    "graph_text",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "no_grad",
    "recompute",
    "recompute_sequential",
    "save_on_cpu",
    "save_on_disk",
    "saved_tensors_hooks",
    "saved_tensors_summary",
    "set_detect_anomaly",
    "set_grad_enabled",
]


def _listed(value):
    return None if value is None else listed(value)


def backward(tensors, grad_tensors=None, retain_graph=False):
    """Adds the gradients of `tensors` to the `grad` of all leaves they were computed from.

    Args:
        tensors (list[Tensor]|Tensor): where to start.
        grad_tensors (list[Tensor|None]|Tensor, optional): gradients of `tensors`; ones where None.
        retain_graph (bool): keep the graph for another backward.

    Examples:
        >>> x = proa.to_tensor([2.0], stop_gradient=False)
        >>> proa.autograd.backward([x * x, x * 3])
        >>> x.grad.tolist()
        [7.0]
    """
    tensors, grad_tensors = _listed(tensors), _listed(grad_tensors)
    if not tensors:
        raise _C.located(ValueError("backward: at least one tensor is needed"))
    for tensor in tensors:
        if not isinstance(tensor, _C.Tensor):
            raise _C.located(TypeError(f"backward: tensors must be Tensors, not {type(tensor).__name__}"))
    if len({id(t) for t in tensors}) != len(tensors):
        raise _C.located(ValueError("backward: a tensor is given more than once"))
    if grad_tensors is not None and len(grad_tensors) != len(tensors):
        raise _C.located(
            ValueError(f"backward: {len(tensors)} tensors but {len(grad_tensors)} grad_tensors were given")
        )
    _C.backward(tensors, grad_tensors, retain_graph)


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=False,
    no_grad_vars=None,
):
    """Gradients of the sum of `outputs` with respect to `inputs`; the `grad` of tensors is not touched.

    Args:
        outputs (list[Tensor]|Tensor): where to start.
        inputs (list[Tensor]|Tensor): tensors of the graph whose gradients are wanted.
        grad_outputs (list[Tensor|None]|Tensor, optional): gradients of `outputs`; ones where None.
        retain_graph (bool, optional): keep the graph; `create_graph` unless given.
        create_graph (bool): make the gradients differentiable themselves.
        only_inputs (bool): must be True.
        allow_unused (bool): give None for inputs that outputs do not depend on; an error otherwise.
        no_grad_vars (list[Tensor]|Tensor, optional): taken as constants.

    Returns:
        list[Tensor|None]: one for each input.

    Examples:
        >>> x = proa.to_tensor([3.0], stop_gradient=False)
        >>> (dx,) = proa.grad(x * x * x, x, create_graph=True)
        >>> (ddx,) = proa.grad(dx, x)
        >>> dx.tolist(), ddx.tolist()
        ([27.0], [18.0])
    """
    if not only_inputs:
        raise _C.located(ValueError("grad: only_inputs must be True"))
    outputs, inputs = _listed(outputs), _listed(inputs)
    grad_outputs, no_grad_vars = _listed(grad_outputs), _listed(no_grad_vars)
    for what, tensors in (("outputs", outputs), ("inputs", inputs)):
        if not tensors:
            raise _C.located(ValueError(f"grad: {what} must not be empty"))
        for tensor in tensors:
            if not isinstance(tensor, _C.Tensor):
                raise _C.located(TypeError(f"grad: {what} must be Tensors, not {type(tensor).__name__}"))
    if grad_outputs is not None and len(grad_outputs) != len(outputs):
        raise _C.located(ValueError(f"grad: {len(outputs)} outputs but {len(grad_outputs)} grad_outputs were given"))
    if retain_graph is None:
        retain_graph = create_graph
    return _C.grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, no_grad_vars)


__getattr__ = _missing(__name__)
