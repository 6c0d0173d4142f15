"""Gradients against central differences in float64, of first and second order.

The loss is sum(out * v) over the floating outputs with random v. For complex inputs the
gradient is dL/d(re) + i dL/d(im), the conjugate convention.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import re

import numpy as np

from ops.conformance import compare, references, samples, suite
from ops.schema import model

_STEP = 1e-6
_DIFFERENTIABLE = suite.FLOATS + ("complex64", "complex128")
_WHOLE_NUMBERS = re.compile(r" *= *-?\d+\.\.")
_MOST_ELEMENTS = 12  # that are perturbed for each input
_MOST_ELEMENTS_OF_A_CASE = 2000


def cases(proa, op: model.Op) -> list[suite.Case]:
    """The samples that are differentiated: the small ones in float64, and those in complex128. None of an op without these."""
    out, seen = [], set()
    if not {"float64", "complex128"} & set(op.dtypes):
        return out
    for sample in suite.samples_of(op):
        specs = sample.specs()
        if any("b" in s.views for s in specs):
            continue  # repeated values are ties, where maxima have no derivative
        if " as " in sample.text and any(s.dtype in _DIFFERENTIABLE and _WHOLE_NUMBERS.match(s.values) for s in specs):
            continue  # where many functions have kinks or poles
        if sample.special or " as " in sample.text and "complex128" not in sample.text:
            continue
        if any(s.dtype not in suite.FLOATS + ("complex128", "int64", "int32", "bool") for s in specs):
            continue
        key = str([_as_float64(a) for a in sample.args]) + str({k: _as_float64(a) for k, a in sample.kwargs.items()})
        if key in seen or sum(int(np.prod(s.dims)) for s in specs) > _MOST_ELEMENTS_OF_A_CASE:
            continue
        seen.add(key)
        out.append(suite.Case(proa, op, sample, dtype="float64"))
    return out


def _as_float64(argument):
    """An argument as it is when the sample is differentiated."""
    if isinstance(argument, (list, tuple)):
        return [_as_float64(a) for a in argument]
    if isinstance(argument, samples.TensorSpec) and argument.dtype in suite.FLOATS:
        return dataclasses.replace(argument, dtype="float64")
    return argument


def failures(proa, op: model.Op, most: int | None = None) -> list[str]:
    """What the gradient checks of an op with formulas find; at most `most` of it."""
    checks = []
    if references.of(op, "reference"):
        checks += [lambda case=case: check(case) for case in cases(proa, op)]
    if references.of(op, "gradients"):
        checks += [lambda point=point: check_point(proa, op, *point) for point in references.of(op, "gradients")()]
    if references.of(op, "check"):
        checks.append(lambda: references.of(op, "check")(proa._C.ops))
    found = []
    for c in checks:
        try:
            c()
        except Exception as e:  # pylint: disable=broad-except
            found.append(f"{type(e).__name__}: {op.name}: {e}")
            if len(found) == most:
                break
    return found


def check_recorded(case: suite.Case, unknown_dims: bool) -> None:
    """The gradient recorded as a program, of unknown dims if asked, is the eager one."""
    inputs = _inputs(case)
    floating = [i for i, t in enumerate(case.call()) if _differentiable(t)]
    if not inputs or not floating:
        return

    def gradient(values):
        places = [values[name] if i is None else values[name][i] for name, i, _ in inputs]
        for t in places:
            t.stop_gradient = False
        outputs = suite.flatten(getattr(case.proa._C.ops, case.op.name)(**values))
        out = [outputs[i] for i in floating]
        return case.proa._C.grad(out, places, [t.detach() for t in out], None, False, True, None)

    program = suite.record(case, unknown_dims, gradient)
    if program is None:
        return
    eager = gradient(
        {
            k: [t.clone().detach() for t in v]
            if isinstance(v, list) and v and hasattr(v[0], "detach")
            else v.clone().detach()
            if hasattr(v, "detach")
            else v
            for k, v in case.values.items()
        }
    )
    for (name, _, _), a, b in zip(inputs, eager, program.run()):
        compare.close(
            suite.to_numpy(b), suite.to_numpy(a), a.dtype.name, f"{case.where}: recorded gradient of {name}", (1e-13, 0)
        )


def check_inplace(case: suite.Case) -> None:
    """The gradients, first and second, of the op in place are those out of place: of a result, and of a part of one.

    An op without a gradient leaves a constant.
    """
    op, ops, changed, inputs = case.op, case.proa._C.ops, case.op.inplace, _inputs(case)
    want, x = case.call()[0], case.values[changed]
    if not _differentiable(want) or want.dtype != x.dtype or x.shape != want.shape and not op.is_view:
        return
    if not op.grad:
        if op.kernel:
            y = _leaf(case.proa, suite.to_numpy(x)).clone()
            getattr(ops, op.name + "_")(**{**case.values, changed: y})
            assert y.stop_gradient, f"{case.where}: it has no gradient, and leaves a history in place"
        return
    if not inputs or any(i is not None for _, i, _ in inputs):
        return
    rng = np.random.default_rng(7)
    v, w = _like(rng, want), [_like(rng, t) for _, _, t in inputs]

    def gradients(call):
        leaves = {name: _leaf(case.proa, suite.to_numpy(t)) for name, _, t in inputs}
        first = _grad(case.proa, _dot(case.proa, call({**case.values, **leaves}), v), leaves.values(), True)
        terms = [_dot(case.proa, g, u) for g, u in zip(first, w) if g is not None]
        second = _grad(case.proa, sum(terms[1:], terms[0]) if terms else None, leaves.values(), False)
        return [*first, *second]

    def out_of_place(values):
        return getattr(ops, op.name)(**values)

    def of_a_result(values):
        values[changed] = values[changed].clone()
        getattr(ops, op.name + "_")(**values)
        return values[changed]

    def of_a_part(values):
        values[changed] = ops.stack([values[changed], values[changed]])[1]
        getattr(ops, op.name + "_")(**values)
        return values[changed]

    expected = gradients(out_of_place)
    for what, call in (("a result", of_a_result), ("a part", of_a_part)):
        if call is of_a_part and op.is_view:
            continue
        for a, b in zip(gradients(call), expected, strict=True):
            where = f"{case.where}: a gradient, {what} changed in place"
            a, b = (np.zeros(1) if t is None else suite.to_numpy(t) for t in (a, b))
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12, err_msg=where)


def check_point(proa, op: model.Op, values: dict, first: dict, second: dict | None = None) -> None:
    """Checks the gradient of the (real part of the) sum of the first output at a point where differences are of no use: a kink, a tie.

    Args:
      proa: the package under test.
      op: the op.
      values: its arguments; arrays are tensors.
      first: the gradient by parameter.
      second: if given, the gradient of the sum of the elements of `first`, by parameter.
    """
    leaves = {
        k: _leaf(proa, v) if k in first else proa.to_tensor(v) if isinstance(v, np.ndarray) else v
        for k, v in values.items()
    }
    out = suite.flatten(getattr(proa._C.ops, op.name)(**leaves))[0]
    inputs = [leaves[k] for k in first]
    grads = _grad(proa, _dot(proa, out, 1.0), inputs, create_graph=second is not None)
    _same(op, values, first, grads, "gradient")
    if second is not None:
        total = sum((_dot(proa, g, 1.0) for g in grads[1:]), _dot(proa, grads[0], 1.0))
        _same(
            op, values, second, _grad(proa, total, [leaves[k] for k in second], create_graph=False), "second gradient"
        )


def _same(op, values, wanted, grads, what):
    for (name, want), g in zip(wanted.items(), grads):
        where = f"{op.name}({values}): {what} of {name}"
        got = np.zeros_like(values[name]) if g is None else suite.to_numpy(g)
        assert got.dtype == values[name].dtype, f"{where} is {got.dtype}, the input is {values[name].dtype}"
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-12, err_msg=where)


def called_ops(op: model.Op) -> set[str]:
    """The names of the ops that the gradient formulas call."""
    trees = [f.tree for f in (op.grad or {}).values() if f]
    return {n.func.id for t in trees for n in ast.walk(t) if isinstance(n, ast.Call)}


def check(case: suite.Case, order: int = 2) -> None:
    """Checks d(loss)/d(input) for every input with a formula, then the gradient of that."""
    inputs = _inputs(case)
    if not inputs:
        return
    rng = np.random.default_rng(7)
    v = [_like(rng, t) if _differentiable(t) else None for t in case.call()]
    if not any(w is not None for w in v):
        return
    loss = lambda tensors: _loss(case, tensors, v)
    grads = _compare(case, inputs, loss, "gradient")
    if order < 2 or grads is None:
        return
    weights = [_like(rng, g) for g in grads]

    def second(tensors):
        first = _grad(case.proa, loss(tensors), tensors, create_graph=True)
        terms = [_dot(case.proa, g, w) for g, w in zip(first, weights) if g is not None]
        return sum(terms[1:], terms[0]) if terms else None

    _compare(case, inputs, second, "second gradient")


def _differentiable(t) -> bool:
    return t.dtype.name in ("float64", "complex128")


def _inputs(case: suite.Case):
    """(parameter, index in a list or None, tensor) of each differentiable input."""
    out = []
    for p in case.op.differentiable_params:
        v = case.values.get(p.name)
        if isinstance(v, list):
            out += [(p.name, i, t) for i, t in enumerate(v) if _differentiable(t)]
        elif v is not None and _differentiable(v):
            out.append((p.name, None, v))
    return out


def _like(rng, t):
    x = rng.uniform(-1, 1, t.shape)
    return x + 1j * rng.uniform(-1, 1, t.shape) if t.dtype.name.startswith("complex") else x


def _dot(proa, t, w):
    """The real number sum(re(conj(w) * t))."""
    ops = proa._C.ops
    w = proa.to_tensor(np.conj(np.asarray(w)))
    product = ops.multiply(t, w)
    if product.dtype.name.startswith("complex"):
        product = ops.real(product)
    return ops.sum(product)


def _call(case, inputs_by_place):
    values = {k: list(v) if isinstance(v, list) else v for k, v in case.values.items()}
    for (name, i), t in inputs_by_place.items():
        if i is None:
            values[name] = _hermitian_part(case.proa, t) if name in case.hermitian else t
        else:
            values[name][i] = t
    return suite.flatten(getattr(case.proa._C.ops, case.op.name)(**values))


def _hermitian_part(proa, t):
    """So that a change of one element changes its mirror image alike."""
    axes = list(range(len(t.shape)))
    axes[-2:] = axes[:-3:-1]
    return proa._C.ops.scale(proa._C.ops.add(t, proa._C.ops.conj(proa._C.ops.transpose(t, axes))), 0.5)


def _loss(case, tensors, v):
    places = {(n, i): t for (n, i, _), t in zip(_inputs(case), tensors)}
    terms = [_dot(case.proa, t, w) for t, w in zip(_call(case, places), v) if w is not None]
    return sum(terms[1:], terms[0])


def _leaf(proa, x):
    t = proa.to_tensor(x)
    t.stop_gradient = False
    return t


def _grad(proa, loss, tensors, create_graph):
    if loss is None or loss.stop_gradient:
        return [None] * len(tensors)
    return proa._C.grad([loss], list(tensors), None, None, create_graph, True, None)


def _compare(case, inputs, loss, what):
    """Engine against differences; returns the gradients, None if some are missing."""
    check_of = importlib.import_module(f"{case.proa.__name__}.autograd.numeric_check")
    tolerance = 2e-6 * (20 if what.startswith("second") else 1)
    grads = check_of.compare_gradients(
        loss,
        [suite.to_numpy(t).copy() for _, _, t in inputs],
        names=[name if i is None else f"{name}[{i}]" for name, i, _ in inputs],
        eps=_STEP,
        atol=tolerance,
        rtol=tolerance,
        most=_MOST_ELEMENTS,
        what=f"{case.where}: {what} of",
    )
    for (name, _, t), g in zip(inputs, grads):
        assert g is None or g.dtype == t.dtype, f"{case.where}: {what} of {name} is {g.dtype.name}, not {t.dtype.name}"
    return grads if all(g is not None for g in grads) else None
