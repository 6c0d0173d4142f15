"""vjp and jvp: products of the derivative of a function with vectors."""

from proa import _C
from proa.framework.nested import listed

__all__ = ["jvp", "vjp"]


def as_inputs(xs, who):
    """Tensors in the places of `xs` from which nothing leads to each other but through them.

    What requires grad stays connected to it, so that results can be differentiated further.
    """
    out = []
    for i, x in enumerate(listed(xs)):
        if not isinstance(x, _C.Tensor):
            raise _C.located(
                TypeError(f"{who}: xs must be a Tensor or a sequence of Tensors, but xs[{i}] is {type(x).__name__}")
            )
        if not (x.is_floating_point() or x.is_complex()):
            raise _C.located(TypeError(f"{who}: xs must be floating point or complex, but xs[{i}] is {x.dtype.name}"))
        if x.stop_gradient:
            x = x.detach()
            x.stop_gradient = False
        else:
            x = x.clone()
        out.append(x)
    if not out:
        raise _C.located(ValueError(f"{who}: xs is empty"))
    return out


def call(func, xs, inputs, who):
    """(what func gives, the same as a list)."""
    ys = func(*inputs)
    found = listed(ys)
    for i, y in enumerate(found):
        if not isinstance(y, _C.Tensor):
            raise _C.located(TypeError(f"{who}: func must give Tensors, but result {i} is {type(y).__name__}"))
    if not found:
        raise _C.located(ValueError(f"{who}: func gives nothing"))
    return ys, found


def gradients(ys, xs, vs, retain_graph=True):
    """Gradients of sum(ys * vs), zeros where there is none; recorded if grad is on."""
    used = [(y, v) for y, v in zip(ys, vs) if not y.stop_gradient]
    if not used:
        return [_C.ops.full_like(x, 0) for x in xs]
    ys, vs = zip(*used)
    create_graph = _C.is_grad_enabled()
    found = _C.grad(list(ys), list(xs), list(vs), retain_graph, create_graph, True, None)
    return [_C.ops.full_like(x, 0) if g is None else g for g, x in zip(found, xs)]


def _vectors(v, like, who, what):
    """`v` as a list, ones if it is None; checked against the tensors that it belongs to."""
    if v is None:
        return [_C.ops.full_like(t, 1) for t in like]
    v = listed(v)
    if len(v) != len(like):
        raise _C.located(ValueError(f"{who}: v has {len(v)} tensors for {len(like)} {what}"))
    for i, (a, b) in enumerate(zip(v, like)):
        if not isinstance(a, _C.Tensor):
            raise _C.located(TypeError(f"{who}: v must be Tensors, but v[{i}] is {type(a).__name__}"))
        if a.shape != b.shape or a.dtype != b.dtype:
            raise _C.located(
                ValueError(
                    f"{who}: v[{i}] does not fit {what}[{i}]; v[{i}] is {a.shape} {a.dtype.name}, "
                    f"{what}[{i}] is {b.shape} {b.dtype.name}"
                )
            )
    return v


def _like(structure, tensors):
    return tuple(tensors) if isinstance(structure, (list, tuple)) else tensors[0]


def vjp(func, xs, v=None):
    """The result of `func` and the product of the vector `v` with its Jacobian matrix.

    Results can be differentiated further, by `xs` if they require grad and by what else `func` uses.
    Of complex tensors: the gradient of the real number Re(sum(conj(v) * func(xs))), as a + ib with the
    derivatives by real parts in a and by imaginary parts in b.

    Args:
        func (Callable): from Tensors to a Tensor or a sequence of them.
        xs (Tensor|Sequence[Tensor]): arguments of `func`.
        v (Tensor|Sequence[Tensor], optional): like the results of `func`; ones.

    Returns:
        tuple: (func(*xs), gradients): Tensors, or tuples where `func` gives or `xs` is a sequence.

    Raises:
        TypeError, ValueError: `v` does not fit the results of `func`.

    Examples:
        >>> x = proa.to_tensor([1.0, 2.0])
        >>> y, g = proa.incubate.autograd.vjp(lambda x: x * x, x)
        >>> g.tolist()
        [2.0, 4.0]
    """
    with _recording():
        inputs = as_inputs(xs, "vjp")
        ys, outputs = call(func, xs, inputs, "vjp")
        grads = gradients(outputs, inputs, _vectors(v, outputs, "vjp", "results"))
    return ys, _like(xs, grads)


def jvp(func, xs, v=None):
    """The result of `func` and the product of its Jacobian matrix with the vector `v`.

    Computed by two reverse passes: the gradient is linear in what it is multiplied with, and is
    differentiated by that. Of complex tensors: the derivative of func(xs + t v) by the real number t at 0,
    whether `func` is analytic or not.

    Args:
        func (Callable): from Tensors to a Tensor or a sequence of them.
        xs (Tensor|Sequence[Tensor]): arguments of `func`.
        v (Tensor|Sequence[Tensor], optional): like `xs`; ones.

    Returns:
        tuple: (func(*xs), product): Tensors, or tuples where `func` gives a sequence.

    Raises:
        TypeError, ValueError: `v` does not fit `xs`.

    Examples:
        >>> x = proa.to_tensor([1.0, 2.0])
        >>> y, t = proa.incubate.autograd.jvp(lambda x: x * x, x, proa.to_tensor([1.0, 10.0]))
        >>> t.tolist()
        [2.0, 40.0]
    """
    with _recording():
        inputs = as_inputs(xs, "jvp")
        vectors = _vectors(v, inputs, "jvp", "xs")
        ys, outputs = call(func, xs, inputs, "jvp")
        return ys, _like(ys, push_forward(outputs, inputs, vectors))


def push_forward(outputs, inputs, vectors):
    """The Jacobian of recorded `outputs` by `inputs`, times `vectors`."""
    weights = [_C.ops.full_like(y, 0) for y in outputs]
    for w in weights:
        w.stop_gradient = False
    with _recording():
        grads = gradients(outputs, inputs, weights)
    return gradients(grads, weights, vectors)


class _recording:
    """Grad on: these functions are about derivatives, also for callers who record none."""

    def __enter__(self):
        self._before = _C.set_grad_enabled(True)

    def __exit__(self, *_):
        _C.set_grad_enabled(self._before)
