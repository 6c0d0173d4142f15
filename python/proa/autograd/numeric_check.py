"""gradcheck: derivatives by the engine against differences of the function.

For a complex input the gradient is dL/d(re) + i dL/d(im) of a real L, the conjugate convention; so a
complex entry is moved in both directions, and complex outputs are compared through their real and
imaginary parts.
"""

from proa import _C
from proa.framework.nested import listed

__all__ = ["Mismatch", "compare_gradients", "gradcheck", "gradgradcheck"]

_EXACT = ("float64", "complex128")


class Mismatch(AssertionError):
    """Derivatives that differ; the message says of which entries, and by how much.

    Attributes:
        entries (list[str]): a line for each.
    """

    def __init__(self, entries, who=""):
        shown = entries[:8]
        if len(entries) > len(shown):
            shown = [*shown, f"and {len(entries) - len(shown)} more"]
        super().__init__(f"{who}{len(entries)} entries differ\n  " + "\n  ".join(shown))
        self.entries = entries


def _numpy():
    import numpy

    return numpy


def _leaf(array):
    tensor = _C.to_tensor(array)
    tensor.stop_gradient = False
    return tensor


def _dot(tensor, weights):
    """The real number sum(re(conj(weights) * tensor))."""
    np = _numpy()
    product = _C.ops.multiply(tensor, _C.to_tensor(np.conj(weights)))
    return _C.ops.sum(_C.ops.real(product) if product.is_complex() else product)


def _grad(loss, leaves, create_graph=False):
    if loss is None or loss.stop_gradient:
        return [None] * len(leaves)
    return _C.grad([loss], leaves, None, None, create_graph, True, None)


def compare_gradients(loss, arrays, names=None, eps=1e-6, atol=1e-5, rtol=1e-3, most=None, what="gradient of"):
    """The engine's gradient of a real loss against central differences.

    Args:
        loss (Callable): from a list of leaves to a Tensor with one real element, or None for a constant.
        arrays (list[numpy.ndarray]): float64 and complex128; where to differentiate.
        names (list[str], optional): of the inputs, for the message.
        eps (float): how far an entry is moved.
        atol, rtol (float): entries differ if |engine - differences| > atol + rtol * |differences|.
        most (int, optional): at most so many entries of each input are moved, chosen at random.
        what (str): stands before the name of the input in the message.

    Returns:
        list[Tensor|None]: the gradients.

    Raises:
        Mismatch: some entries differ.
    """
    np = _numpy()
    names = names or [f"inputs[{i}]" for i in range(len(arrays))]
    leaves = [_leaf(array) for array in arrays]
    grads = _grad(loss(leaves), leaves)

    def at(k, array):
        value = loss([_leaf(array if j == k else a) for j, a in enumerate(arrays)])
        return 0.0 if value is None else float(value)

    rng = np.random.default_rng(11)
    wrong = []
    for k, array in enumerate(arrays):
        got = np.zeros_like(array) if grads[k] is None else grads[k].numpy()
        if got.shape != array.shape:
            raise Mismatch([f"{what} {names[k]} has shape {list(got.shape)}, not {list(array.shape)}"])
        for flat in rng.permutation(array.size)[:most] if most is not None else range(array.size):
            want = _difference(lambda x: at(k, x), array, flat, eps)
            value = got.reshape(-1)[flat]
            if np.isnan(want) and np.isnan(value):
                continue  # e.g. of x^y in y at a negative x
            if not abs(value - want) <= atol + rtol * abs(want):
                entry = [int(i) for i in np.unravel_index(flat, array.shape)]
                wrong.append(f"{what} {names[k]}{entry or ''}: {value}, by differences {want}")
    if wrong:
        raise Mismatch(wrong)
    return grads


def _difference(f, array, flat, eps):
    def along(step):
        plus, minus = array.copy(), array.copy()
        plus.reshape(-1)[flat] += step
        minus.reshape(-1)[flat] -= step
        return (f(plus) - f(minus)) / (2 * eps)

    return along(eps) + 1j * along(eps * 1j) if array.dtype.kind == "c" else along(eps)


def _checked_inputs(inputs, who):
    """(all inputs, indices of those that are checked)."""
    inputs = listed(inputs)
    checked = []
    for i, x in enumerate(inputs):
        if not isinstance(x, _C.Tensor) or x.stop_gradient:
            continue
        if x.dtype.name not in _EXACT:
            raise _C.located(
                TypeError(
                    f"{who}: inputs[{i}] is {x.dtype.name}; differences need float64 or complex128 (set stop_gradient "
                    "to True for what is not to be checked)"
                )
            )
        checked.append(i)
    if not checked:
        raise _C.located(ValueError(f"{who}: no input requires grad; set stop_gradient = False on those to check"))
    return inputs, checked


def _outputs(func, inputs, leaves, checked):
    given = list(inputs)
    for i, leaf in zip(checked, leaves):
        # A copy: the function may change its input in place.
        given[i] = leaf.clone()
    return [y for y in listed(func(*given)) if isinstance(y, _C.Tensor)]


def _probes(output, fast, rng):
    """(name, weights) of the real functions of an output that are compared."""
    np = _numpy()
    is_complex = output.is_complex()
    if fast:
        weights = rng.uniform(-1, 1, output.shape)
        yield "", weights + 1j * rng.uniform(-1, 1, output.shape) if is_complex else weights
        return
    for flat in range(output.size):
        entry = [int(i) for i in np.unravel_index(flat, tuple(output.shape))]
        for part, unit in (("re ", 1.0), ("im ", 1j)) if is_complex else (("", 1.0),):
            weights = np.zeros(output.shape, "complex128" if is_complex else "float64")
            weights.reshape(-1)[flat] = unit
            yield f"{part}{entry or ''}", weights


def _check(func, inputs, checked, eps, atol, rtol, fast, what):
    rng = _numpy().random.default_rng(7)
    arrays = [inputs[i].detach().numpy().copy() for i in checked]
    names = [f"inputs[{i}]" for i in checked]
    example = _outputs(func, inputs, [_leaf(a) for a in arrays], checked)
    wrong = []
    for o, y in enumerate(example):
        if y.dtype.name not in _EXACT or y.stop_gradient:
            continue
        for entry, weights in _probes(y, fast, rng):
            loss = lambda leaves: _dot(_outputs(func, inputs, leaves, checked)[o], weights)
            try:
                compare_gradients(loss, arrays, names, eps, atol, rtol, what=f"{what} of outputs[{o}]{entry} by")
            except Mismatch as e:
                wrong += e.entries
    if wrong:
        raise Mismatch(wrong)


def gradcheck(func, inputs, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, fast_mode=False):
    """Compares the derivatives of every output entry by every input entry with central differences.

    Points where the function has no derivative are to be avoided by the caller.

    Args:
        func (Callable): from Tensors to a Tensor or a list or tuple of them.
        inputs (Tensor|list|tuple): arguments of `func`. Tensors with stop_gradient=False are checked and must
            be float64 or complex128; all else is passed on.
        eps (float): how far an entry is moved.
        atol, rtol (float): entries differ if |engine - differences| > atol + rtol * |differences|.
        raise_exception (bool): give False instead of raising.
        fast_mode (bool): compare one random combination of the entries of each output, instead of each entry.

    Returns:
        bool: True.

    Raises:
        Mismatch: some differ; the message lists which entry of which output and input, with both numbers.
        TypeError: an input to check is of another dtype.
        ValueError: there is nothing to check.

    Examples:
        >>> x = proa.to_tensor([0.5, 2.0], "float64", stop_gradient=False)
        >>> proa.autograd.gradcheck(proa.tanh, x)
        True
    """
    inputs, checked = _checked_inputs(inputs, "gradcheck")
    try:
        _check(func, inputs, checked, eps, atol, rtol, fast_mode, "derivative")
    except Mismatch as e:
        if raise_exception:
            raise Mismatch(e.entries, "gradcheck: ") from None
        return False
    return True


def gradgradcheck(
    func, inputs, grad_outputs=None, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, fast_mode=False
):
    """Compares second derivatives: `gradcheck` of the gradients, by the inputs and by the gradients of the outputs.

    Args:
        func, inputs, eps, atol, rtol, raise_exception, fast_mode: as in gradcheck.
        grad_outputs (Tensor|list|tuple, optional): gradients of the outputs; random.

    Returns:
        bool: True.

    Examples:
        >>> x = proa.to_tensor([0.5, 2.0], "float64", stop_gradient=False)
        >>> proa.autograd.gradgradcheck(lambda x: x**3, x)
        True
    """
    np = _numpy()
    inputs, checked = _checked_inputs(inputs, "gradgradcheck")
    leaves = [_leaf(inputs[i].detach().numpy().copy()) for i in checked]
    outputs = _outputs(func, inputs, leaves, checked)
    places = [o for o, y in enumerate(outputs) if y.dtype.name in _EXACT and not y.stop_gradient]
    if not places:
        raise _C.located(ValueError("gradgradcheck: no output depends on an input that requires grad"))
    if grad_outputs is None:
        rng = np.random.default_rng(5)
        grad_outputs = []
        for o in places:
            weights = rng.uniform(-1, 1, outputs[o].shape)
            if outputs[o].is_complex():
                weights = weights + 1j * rng.uniform(-1, 1, outputs[o].shape)
            grad_outputs.append(_leaf(np.asarray(weights)))
    grad_outputs = listed(grad_outputs)
    if len(grad_outputs) != len(places):
        raise _C.located(ValueError(f"gradgradcheck: {len(grad_outputs)} grad_outputs for {len(places)} outputs"))

    def gradients(*given):
        inner = [x.clone() if i in checked else x for i, x in enumerate(given[: len(inputs)])]
        ys = [y for y in listed(func(*inner)) if isinstance(y, _C.Tensor)]
        xs = [given[i] for i in checked]
        return [
            g
            for g in _C.grad([ys[o] for o in places], xs, list(given[len(inputs) :]), None, True, True, None)
            if g is not None
        ]

    all_inputs = [*inputs, *grad_outputs]
    all_checked = [*checked, *(len(inputs) + k for k, v in enumerate(grad_outputs) if not v.stop_gradient)]
    try:
        _check(gradients, all_inputs, all_checked, eps, atol, rtol, fast_mode, "second derivative")
    except Mismatch as e:
        if raise_exception:
            raise Mismatch(e.entries, "gradgradcheck: ") from None
        return False
    return True
