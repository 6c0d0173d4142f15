"""Every op and public function, its gradients and their gradients: the same however tensors lie in memory.

Views of other strides, of negative ones, of others' memory, and of one element in the place of many (strides of 0);
gradients that arrive lie so too.

`python any_layout_test.py PATTERN` looks at the names with the pattern, in all dtypes.
"""

import re
import sys

import numpy as np
import pytest

import proa
from ops.conformance import suite
from proa.framework.nested import flatten, rebuild
from python.tests.public_cases import Case, public_cases

_OPS = proa._C.ops
_DIFFERENTIABLE = (*suite.FLOATS, "complex64", "complex128")
# Views say how elements must lie.
_SAY_SO = {"view", "view_as", "view_dtype", "Tensor.view", "Tensor.view_as"}
# Second gradients over steps whose weights are large: what is rounded otherwise grows.
_GROWS = {"rnn"}
_TOLERANCE = {
    "bfloat16": 4e-2,
    "float16": 4e-3,
    "float32": 3e-5,
    "float64": 1e-9,
    "complex64": 3e-5,
    "complex128": 1e-9,
}


# Layouts ---------------------------------------------------------------------


def _transposed(t):
    axes = list(range(t.ndim))[::-1]
    return _OPS.transpose(_OPS.transpose(t, axes).clone(), axes)


def _rolled(t):
    """The last dim lies outermost."""
    if not t.ndim:
        return t
    there = [t.ndim - 1, *range(t.ndim - 1)]
    return _OPS.transpose(_OPS.transpose(t, there).clone(), [*range(1, t.ndim), 0])


def _strided(t):
    if not t.ndim:
        return t
    n = t.shape[-1]
    wide = _OPS.concat([_OPS.unsqueeze(t, [t.ndim])] * 2, t.ndim).reshape([*t.shape[:-1], 2 * n])
    return _OPS.slice(wide, [t.ndim - 1], [0], [2 * n], [2])


def _reversed(t):
    if not t.ndim:
        return t
    back = (slice(None, None, -1),) * t.ndim
    return t[back].clone()[back]


def _offset(t):
    if not t.ndim:
        return proa.stack([t, t, t])[1]
    edge = t[:1]
    return proa.concat([edge, t, edge])[edge.shape[0] : edge.shape[0] + t.shape[0]]


def _padded(t):
    """A part of longer rows."""
    if t.ndim < 2:
        return t
    return _OPS.slice(_OPS.concat([t, t], t.ndim - 1), [t.ndim - 1], [0], [t.shape[-1]], [1])


def _broadcast(every):
    def narrow(t):
        """The first element of every other dim in the place of all."""
        if not t.ndim:
            return t
        sizes = [1 if i % 2 == every and n else n for i, n in enumerate(t.shape)]
        axes = list(range(t.ndim))
        part = _OPS.slice(t, axes, [0] * t.ndim, sizes, [1] * t.ndim)
        return _OPS.broadcast_to(part.clone(), t.shape)

    return narrow


def _plain(t):
    return t


_LAYOUTS = {f.__name__[1:]: f for f in (_transposed, _rolled, _strided, _reversed, _offset, _padded)}
# Those that change elements, too: what they give is compared with that of copies.
_REPEATED = {"strides of 0": _broadcast(0), "inner strides of 0": _broadcast(1)}


# Calls -----------------------------------------------------------------------


def _numbers(shape, dtype, rng):
    x = rng.standard_normal(shape)
    return proa.to_tensor(x + 1j * rng.standard_normal(shape) if dtype.name.startswith("complex") else x).astype(dtype)


def _gradients(roots, leaves, starts, create_graph):
    """Gradients, or the kind of their error."""
    try:
        found = proa._C.grad(roots, leaves, starts, None, create_graph, True, None)
    except (NotImplementedError, RuntimeError, TypeError, ValueError) as e:
        return type(e).__name__
    return [g for g in found if g is not None]


def _results(function, tensors, layout):
    """(what, array) of results, gradients and, of types with enough digits, gradients of these."""
    leaves = []
    arranged = [layout(t.detach()).detach() for t in tensors]
    for t in arranged:
        if t.dtype.name in _DIFFERENTIABLE:
            t.stop_gradient = False
            leaves.append(t)
    proa.seed(7)
    out = [t for t in function(*arranged) if isinstance(t, proa.Tensor)]
    found = [(f"result {i}", suite.to_numpy(t.detach())) for i, t in enumerate(out)]
    roots = [t for t in out if not t.stop_gradient]
    if not roots or not leaves:
        return found
    rng = np.random.default_rng(3)
    starts = [layout(_numbers(t.shape, t.dtype, rng)).detach() for t in roots]
    for s in starts:
        s.stop_gradient = False
    twice = not any(t.dtype.name in ("float16", "bfloat16") for t in arranged)
    for order in ("gradient", "second gradient") if twice else ("gradient",):
        grads = _gradients(roots, leaves, starts, twice and order == "gradient")
        if isinstance(grads, str):
            return [*found, (f"{order}: {grads}", np.zeros(0))]
        found += [(f"{order} {i}", suite.to_numpy(g.detach())) for i, g in enumerate(grads)]
        roots = [g for g in grads if not g.stop_gradient]
        if not roots:
            break
        leaves, starts = [*leaves, *starts], [layout(_numbers(g.shape, g.dtype, rng)).detach() for g in roots]
    return found


def _difference(want, got, tolerance):
    if [k for k, _ in want] != [k for k, _ in got]:
        return f"{[k for k, _ in got]}, plain {[k for k, _ in want]}"
    for (what, a), (_, b) in zip(want, got, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{what} is {b.shape} {b.dtype}, plain {a.shape} {a.dtype}"
        with np.errstate(all="ignore"):
            far = a != b
            if a.dtype.kind in "fc":
                most = tolerance * max(1.0, np.abs(a[np.isfinite(a)]).max(initial=0.0))
                far &= ~((np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= most))
        if far.any():
            return f"{what} differs in {far.sum()} of {far.size}: {b[far][:3]}, plain {a[far][:3]}"
    return None


def check(where, function, tensors):
    """What differs between layouts, one text each; nothing of calls that draw, or that are refused."""
    try:
        plain = _results(function, tensors, _plain)
    except (IndexError, MemoryError, NotImplementedError, RuntimeError, TypeError, ValueError):
        return []
    tolerance = max(_TOLERANCE.get(t.dtype.name, 0.0) for t in tensors)
    tolerance *= 30 if where.partition("(")[0] in _GROWS else 1
    if _difference(plain, _results(function, tensors, _plain), tolerance):
        return []
    found = []
    for name, layout in (_LAYOUTS | _REPEATED).items():
        try:
            if name in _REPEATED:
                plain = _results(function, tensors, lambda t: layout(t).clone())  # noqa: B023
        except (IndexError, RuntimeError, TypeError, ValueError):
            continue
        try:
            difference = _difference(plain, _results(function, tensors, layout), tolerance)
        except Exception as e:  # pylint: disable=broad-except
            difference = f"{type(e).__name__}: {e}"
        if difference:
            found.append(f"{where} {name}: {difference}")
    return found


def _calls_of(op, dtypes):
    for sample in suite.samples_of(op):
        if dtypes and suite.deciding_dtype(op, sample) not in dtypes:
            continue
        case = suite.Case(proa, op, sample)
        tree = dict(case.values)

        def function(*tensors, tree=tree):
            return suite.flatten(getattr(_OPS, op.name)(**rebuild(tree, iter(tensors))))

        if flatten(tree):
            yield case.where, function, flatten(tree)


def _public_calls(name, function, texts):
    for text in texts:
        try:
            tensors, call = (case := Case(name, text, function)).bind(*case.arguments())
        except (IndexError, TypeError, ValueError):
            continue  # of sizes, or of an op by itself
        if tensors:
            yield f"{name}({text})", call, tensors


_EVERY_OP = [op for op in suite.all_ops().values() if not op.mutates and not op.random and op.name not in _SAY_SO]
_FAMILIES = sorted({op.family for op in _EVERY_OP})
_PUBLIC = [p for p in public_cases() if p[0] not in _SAY_SO]


@pytest.mark.parametrize("family", _FAMILIES)
def test_ops(family):
    found = []
    for op in _EVERY_OP:
        if op.family == family:
            # A kernel is one text for all types, mostly.
            for call in _calls_of(op, ("float32", "int64", "bool", "complex128")):
                found += check(*call)
    assert not found, "\n".join(found[:10])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(4))
def test_public_functions(part):
    found = []
    for public in _PUBLIC[part::4]:
        for where, function, tensors in _public_calls(*public):
            found += check(where, function, tensors)
    # Running statistics are written, which a tensor of strides 0 cannot be.
    found = [text for text in found if "store_: copy: dst is broadcast" not in text]
    assert not found, "\n".join(found[:10])


def test_a_wrong_result_is_seen():
    def wrong(x):
        return [x * 2 if x.is_contiguous() else x * 2 + (x.detach() > 5).astype(x.dtype)]

    found = check("wrong", wrong, [proa.arange(12, dtype="float32").reshape([4, 3])])
    assert len(found) > 2 and "transposed: result 0 differs" in found[0]

    def wrong_gradient(x):
        return [x * (2 if x.is_contiguous() else 3) - x.detach() * (0 if x.is_contiguous() else 1)]

    found = check("wrong", wrong_gradient, [proa.arange(12, dtype="float32").reshape([4, 3])])
    assert len(found) > 2 and "transposed: gradient 0 differs" in found[0]


def main():
    for op in _EVERY_OP:
        if re.search(sys.argv[1], op.name):
            print(op.name, flush=True)
            for call in _calls_of(op, None):
                print(*check(*call), sep="\n", end="")
    for public in _PUBLIC:
        if re.search(sys.argv[1], public[0]):
            print(public[0], flush=True)
            for call in _public_calls(*public):
                print(*check(*call), sep="\n", end="")


if __name__ == "__main__":
    main()
