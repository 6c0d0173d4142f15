"""Every differentiable op under O1 and O2, in float16 and bfloat16: at once, recorded, converted, and recorded in float32 and
made again in mixed precision (static.amp). All give the same bits, near those of float64, and gradients of each leaf's dtype.
"""

import itertools

import numpy as np
import pytest

import proa
from ops.conformance import suite
from proa import static
from proa.static.amp.mixing import mix

_WAYS = list(itertools.product(("O1", "O2"), ("float16", "bfloat16")))
_OPS = [
    op
    for op in suite.all_ops().values()
    if op.differentiable_params and op.outputs and not op.mutates and not op.random
]
_AMP = {op["name"]: op["amp"] for op in proa._C.op_registry()}
# Half units in the last place of a result, times what a sum of a sample's few elements adds up to.
_BOUND = {"float16": 64 * 2.0**-11, "bfloat16": 64 * 2.0**-8, "float32": 2.0**-12}
# Steps: a rounded argument is on another step, or chooses another of equals.
_STEPS = set("ceil floor round trunc frac sign floor_divide remainder topk argsort sort mode kthvalue unique".split())


def _cases(op):
    """Two samples of float32 tensors that have elements."""
    found = []
    for sample in suite.samples_of(op):
        specs = sample.specs()
        if sample.special or any(0 in s.dims for s in specs) or not any(s.dtype in suite.FLOATS for s in specs):
            continue
        fixed = any(s.dtype == "float32" for s in specs)  # others are what the op wants beside it
        case = suite.Case(proa, op, sample, dtype=None if fixed else "float32")
        if any(t.dtype == proa.float32 for t in _tensors(case.values)):
            found.append(case)
        if len(found) == 2:
            break
    return found


def _tensors(values):
    return [t for v in values.values() for t in (v if isinstance(v, list) else [v]) if isinstance(t, proa.Tensor)]


def _with(values, tensors):
    """The arguments with other tensors."""
    tensors = iter(tensors)
    return {
        name: next(tensors)
        if isinstance(v, proa.Tensor)
        else [next(tensors) if isinstance(t, proa.Tensor) else t for t in v]
        if isinstance(v, list)
        else v
        for name, v in values.items()
    }


def _leaves(case):
    """New leaves of the case's tensors, those with a gradient differentiable."""
    differentiable = {p.name for p in case.op.differentiable_params}
    made = []
    for name, v in case.values.items():
        for t in v if isinstance(v, list) else [v]:
            if isinstance(t, proa.Tensor):
                leaf = t.clone().detach()
                leaf.stop_gradient = not (name in differentiable and t.is_floating_point())
                made.append(leaf)
    return made


def _backward(outputs, leaves):
    floating = [t for t in outputs if t.is_floating_point() and not t.stop_gradient]
    if floating:
        loss = [(t.astype("float32") * (proa.arange(t.size).reshape(t.shape) % 3 + 1)).sum() for t in floating]
        sum(loss[1:], loss[0]).backward()
    for leaf in leaves:
        assert leaf.grad is None or leaf.grad.dtype == leaf.dtype
    return [leaf.grad for leaf in leaves]


def _program(function, tensors):
    """Its results from a static program."""
    main = static.Program()
    with static.program_guard(main, static.Program()):
        inputs = [static.data(f"x{i}", t.shape, t.dtype.name) for i, t in enumerate(tensors)]
        outputs = function(*inputs)
    return main, {f"x{i}": t for i, t in enumerate(tensors)}, outputs


def _bits(outputs):
    return [(t.dtype.name, suite.to_numpy(t)) for t in outputs]


def _compare(where, found, want):
    assert len(found) == len(want), where
    for i, ((a, x), (b, y)) in enumerate(zip(found, want)):
        assert a == b, f"{where}[{i}] is {a}, at once {b}"
        suite.compare.same_bits(x, y, f"{where}[{i}]")


@pytest.mark.parametrize("op", _OPS, ids=lambda op: op.name)
def test_op(op):
    cases = _cases(op)
    failures = []
    for case, (level, dtype) in itertools.product(cases, _WAYS):
        try:
            _check(op, case, level, dtype)
        except Exception as e:  # pylint: disable=broad-except
            failures.append(f"{case.where} {level} {dtype}: {type(e).__name__}: {str(e)[:300]}")
    assert not failures, f"{len(failures)} failures\n" + "\n".join(failures[:6])


def _check(op, case, level, dtype):
    def function(*tensors):
        return suite.flatten(getattr(proa._C.ops, op.name)(**_with(case.values, tensors)))

    def cast():
        return proa.amp.auto_cast(level=level, dtype=dtype)

    leaves = _leaves(case)
    with cast():
        outputs = function(*leaves)
    want = _bits(outputs)
    grads = _backward(outputs, leaves)
    _check_dtypes(op, level, dtype, outputs)
    _check_numbers(op, case, want)

    again = _leaves(case)
    with cast():
        outputs = proa.jit.to_static(function)(*again)
    _compare("converted", _bits(outputs), want)
    for i, (a, b) in enumerate(zip(_backward(outputs, again), grads)):
        assert (a is None) == (b is None), f"gradient {i}"
        if a is not None:
            suite.compare.same_bits(suite.to_numpy(a), suite.to_numpy(b), f"gradient {i} converted")

    plain = [t.detach() for t in leaves]
    exe = static.Executor()
    with cast():
        main, feed, outputs = _program(function, plain)
    _compare("recorded", _bits(exe.run(main, feed, outputs, return_numpy=False)), want)
    main, feed, outputs = _program(function, plain)
    mix(main, dtype, level)
    _compare("made again", _bits(exe.run(main, feed, outputs, return_numpy=False)), want)


def _check_dtypes(op, level, dtype, outputs):
    floating = {t.dtype.name for t in outputs if t.is_floating_point()}
    if _AMP[op.name] == "raise":
        assert floating <= {"float32"}
    elif _AMP[op.name] == "lower" or (_AMP[op.name] == "promote" and level == "O2"):
        assert dtype in floating or not floating


def _check_numbers(op, case, found):
    if op.name in _STEPS:
        return
    exact = suite.Case(proa, op, case.sample, dtype="float64").call()
    for i, ((kind, a), b) in enumerate(zip(found, map(suite.to_numpy, exact))):
        if kind not in _BOUND or np.iscomplexobj(b):
            continue
        limit = max(_BOUND.values()) if kind == "float32" and _AMP[op.name] != "raise" else _BOUND[kind]
        with np.errstate(all="ignore"):
            off = np.abs(a.astype("float64") - b) > limit * (np.abs(b) + np.abs(b[np.isfinite(b)]).max(initial=0.0))
        off &= np.isfinite(b) & np.isfinite(a)
        assert not off.any(), f"result {i} is {a[off][:3]}, in float64 {b[off][:3]}"
