"""append_backward and gradients: the autograd engine on symbolic tensors."""

from proa import _C
from proa.static.program import default_main_program


def current_pairs(params_grads):
    """The (parameter, gradient) pairs, with what stands for gradients now: a pass may have made their program again since, and
    updates that are recorded of the old ones would be done by nobody.
    """
    from proa.static import recomputing

    recorded = lambda g: isinstance(g, _C.Tensor) and _C.is_symbolic(g)
    return [(p, recomputing.owner(g).current(g) if recorded(g) else g) for p, g in params_grads]


def append_backward(loss, parameter_list=None, no_grad_set=None, callbacks=None, checkpoints=None):
    """Appends the computation of the gradients of `loss` to its program.

    Args:
        loss (Tensor): symbolic.
        parameter_list (list, optional): default: every trained parameter that the program captures.
        no_grad_set (set, optional): tensors through which no gradient flows.
        callbacks: not used.
        checkpoints (list, optional): values, or names of them, that divide what comes before `loss` into parts. Backward computes
            the inside of each part once more, but the last, in place of keeping it until then. Random numbers are the same.

    Raises:
        TypeError: `loss` is no value of a program.
        ValueError: a checkpoint is none.

    Returns:
        list[tuple]: (parameter, gradient) of each parameter that the loss depends on. The gradient's name is that of the
            parameter with `@GRAD` behind it.

    Examples:
        >>> proa.enable_static()
        >>> with proa.static.program_guard(proa.static.Program()):
        ...     x = proa.static.data("x", [None, 3])
        ...     loss = proa.static.nn.fc(x, 1).mean()
        ...     pairs = proa.static.append_backward(loss)
        >>> len(pairs)
        2
        >>> proa.disable_static()
    """
    if not _C.is_symbolic(loss):
        raise _C.located(
            TypeError(
                "append_backward: loss must be a value of a program, not a tensor with values; call loss.backward(), or "
                "record the program after enable_static()"
            )
        )
    from proa.static import recomputing

    program = recomputing.owner(loss)
    start = program._program.num_operations
    kept = recomputing.find_checkpoints(program, checkpoints) if checkpoints else []
    before = recomputing.number_of_calls(program) if kept else 0
    parameters = list(parameter_list) if parameter_list is not None else default_main_program().trained_parameters()
    # What depends on parameters alone is recorded too: they change from run to run.
    with _C.program_of(loss).recording():
        grads = _C.grad([loss], parameters, None, True, False, True, list(no_grad_set or ()) or None)
    pairs = [(p, g) for p, g in zip(parameters, grads) if g is not None]
    if kept:
        recomputing.recompute(program, kept, before)
        pairs = [(p, program.current(g)) for p, g in pairs]
    if pairs:
        _name(_C.program_of(loss if not kept else program.current(loss)), *zip(*pairs))
    if not kept:
        program._backwards.append((start, program._program.num_operations, loss, pairs))
    return pairs


def gradients(targets, inputs, target_gradients=None, no_grad_set=None):
    """Appends the gradients of `targets` with respect to `inputs`; None where there is none.

    Args:
        targets (Tensor|list): what is differentiated.
        inputs (Tensor|list): symbolic tensors or parameters; their stop_gradient must be False.
        target_gradients (list, optional): weights of the targets; ones. They count in higher orders too:
            what this function gives can be differentiated again, also by them.

    Examples:
        >>> static = proa.static
        >>> main = static.Program()
        >>> with static.program_guard(main):
        ...     x = static.data("x", [None])
        ...     x.stop_gradient = False
        ...     (dx,) = static.gradients(x * x, x)
        >>> static.Executor().run(main, feed={"x": np.array([1.0, 3.0], "float32")}, fetch_list=[dx])[0].tolist()
        [2.0, 6.0]
    """
    as_list = lambda value: list(value) if isinstance(value, (list, tuple)) else [value]
    if not any(_C.is_symbolic(t) for t in as_list(targets)):
        raise _C.located(
            TypeError(
                "gradients: targets must be values of a program, not tensors with values; call paddle.grad(), or record "
                "the program after enable_static()"
            )
        )
    weights = None if target_gradients is None else as_list(target_gradients)
    program = _C.program_of(next(t for t in as_list(targets) if _C.is_symbolic(t)))
    with program.recording():  # also what depends on parameters alone
        # Recorded for further orders; what nobody asks for is pruned.
        grads = _C.grad(as_list(targets), as_list(inputs), weights, True, True, True, list(no_grad_set or ()) or None)
    _name(program, as_list(inputs), grads)
    return grads


def _name(program, tensors, grads):
    """Names gradients as the reference does, `weight@GRAD`, so that they are fetched by name; a value that has a name keeps it."""
    for tensor, grad in zip(tensors, grads):
        if grad is None or not _C.is_symbolic(grad) or not grad.name.startswith("generated_tensor_"):
            continue
        name = f"{tensor.name}@GRAD"
        number = 0
        while program.find(name if not number else f"{name}_{number}") is not None:
            number += 1
        grad.name = name if not number else f"{name}_{number}"
