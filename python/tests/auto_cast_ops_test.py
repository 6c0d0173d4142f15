"""Every differentiable op under O1 and O2, in float16 and bfloat16: at once, recorded, converted, and recorded in float32 and
made again in mixed precision (static.amp). All give the same bits, values and gradients, near those of float64, and gradients of
each leaf's dtype. What the loop leaves out stands in _OTHERS and _COLLECTIVES, with the reason.
"""

import itertools
import re

import numpy as np
import pytest

import proa
from ops.conformance import suite
from proa import static
from proa.static.amp.mixing import mix

_WAYS = list(itertools.product(("O1", "O2"), ("float16", "bfloat16")))
_OPS = [op for op in suite.all_ops().values() if op.differentiable_params and op.outputs and not op.mutates]
# They change tensors that several processes hold, and cast nothing; distributed_test runs them.
_COLLECTIVES = {op.name for op in suite.all_ops().values() if op.differentiable_params and op.mutates}
# Complex or sparse arguments, which autocast leaves alone: test_arguments_of_other_kinds.
_OTHERS = set(
    "conj_complex imag real_of_complex fft_c2c fft_c2r fft_interior as_real csr_matmul csr_sampled_matmul".split()
)
_AMP = {op["name"]: op["amp"] for op in proa._C.op_registry()}
# Half units in the last place of a result, times what a sum of a sample's few elements adds up to.
_BOUND = {"float16": 64 * 2.0**-11, "bfloat16": 64 * 2.0**-8, "float32": 2.0**-12}
# Steps: a rounded argument is on another step, or chooses another of equals.
# Poles: it is nearer to one, or beyond.
_STEPS = set(
    "tan ceil floor round trunc frac sign floor_divide remainder topk argsort sort mode kthvalue unique".split()
)


def _cases(op):
    """Samples with float32 tensors in the place of those of other floats: those that differ, four at most, empty and special ones
    last."""
    found, seen = [], set()
    samples = suite.samples_of(op)
    for sample in sorted(samples, key=lambda s: bool(s.special) + any(0 in spec.dims for spec in s.specs())):
        specs = sample.specs()
        text = re.sub(r"\b(f16|bf16|f64)\[", "f32[", sample.text)
        if text in seen or not any(s.dtype in suite.FLOATS for s in specs):
            continue
        seen.add(text)
        fixed = any(s.dtype == "float32" for s in specs)  # others are what the op wants beside it
        case = suite.Case(proa, op, sample, dtype=None if fixed else "float32")
        if any(t.dtype == proa.float32 for t in _tensors(case.values)):
            found.append(case)
        if len(found) == 4:
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


def _floating(outputs):
    """Those with a gradient, of complex ones their parts."""
    kept = [t for t in outputs if (t.is_floating_point() or t.is_complex()) and not t.stop_gradient]
    return [part for t in kept for part in ((t.real(), t.imag()) if t.is_complex() else (t,))]


def _loss(outputs):
    floating = _floating(outputs)
    parts = [(t.astype("float32") * (proa.arange(t.size).reshape(t.shape) % 3 + 1)).sum() for t in floating]
    return sum(parts[1:], parts[0]) if parts else None


def _backward(outputs, leaves):
    loss = _loss(outputs)
    if loss is not None:
        loss.backward()
    for leaf in leaves:
        assert leaf.grad is None or leaf.grad.dtype == leaf.dtype
    return [leaf.grad for leaf in leaves]


def _program(function, leaves, sizes=(), mixed=None):
    """A static program's results, those of `function` and the gradients of leaves. `mixed` makes it again in mixed precision."""
    main = static.Program()
    with static.program_guard(main, static.Program()):
        inputs = [static.data(f"x{i}", t.shape, t.dtype.name) for i, t in enumerate(leaves)]
        for x, leaf in zip(inputs, leaves):
            x.stop_gradient = leaf.stop_gradient
        outputs = function(*inputs)
        if mixed is not None:
            mix(main, *mixed, trains=True)
            inputs, outputs = [main.current(t) for t in inputs], [main.current(t) for t in outputs]
        with proa.amp.auto_cast(False):
            # Weights of elements by the sizes that there are when it runs at once.
            floating = _floating(outputs)
            weights = [proa.assign(np.arange(int(np.prod(s))).reshape(s) % 3 + 1) for s in sizes]
            parts = [(t.astype("float32") * w).sum() for t, w in zip(floating, weights)]
            wanted = [x for x in inputs if not x.stop_gradient]
            grads = static.gradients(sum(parts[1:], parts[0]), wanted) if parts and wanted else [None] * len(wanted)
    fetched = [*outputs, *(g for g in grads if g is not None)]
    found = static.Executor().run(main, {f"x{i}": t for i, t in enumerate(leaves)}, fetched, return_numpy=False)
    values, found = found[: len(outputs)], iter(found[len(outputs) :])
    by_input = iter([None if g is None else next(found) for g in grads])
    return values, [None if leaf.stop_gradient else next(by_input) for leaf in leaves]


def _bits(outputs):
    return [(t.dtype.name, suite.to_numpy(t)) for t in outputs]


def _compare(where, found, want):
    assert len(found) == len(want), where
    for i, ((a, x), (b, y)) in enumerate(zip(found, want)):
        assert a == b, f"{where}[{i}] is {a}, at once {b}"
        suite.compare.same_bits(x, y, f"{where}[{i}]")


@pytest.mark.parametrize("op", [op for op in _OPS if op.name not in _OTHERS], ids=lambda op: op.name)
def test_op(op):
    cases = _cases(op)
    assert cases, "no sample has float32 tensors: give it one, or a reason in _OTHERS"
    failures = []
    for case, (level, dtype) in itertools.product(cases, _WAYS):
        try:
            _check(op, case, level, dtype)
        except Exception as e:  # pylint: disable=broad-except
            failures.append(f"{case.where} {level} {dtype}: {type(e).__name__}: {str(e)[:300]}")
    assert not failures, f"{len(failures)} failures\n" + "\n".join(failures[:6])


def _same_gradients(where, found, want):
    for i, (a, b) in enumerate(zip(found, want)):
        assert (a is None) == (b is None), f"gradient {i} {where}"
        if a is not None:
            assert a.dtype == b.dtype, f"gradient {i} {where}"
            suite.compare.same_bits(suite.to_numpy(a), suite.to_numpy(b), f"gradient {i} {where}")


def _check(op, case, level, dtype):
    def function(*tensors):
        proa.seed(1)  # for those that draw
        return suite.flatten(getattr(proa._C.ops, op.name)(**_with(case.values, tensors)))

    def cast():
        return proa.amp.auto_cast(level=level, dtype=dtype)

    leaves = _leaves(case)
    with cast():
        outputs = function(*leaves)
    want, sizes = _bits(outputs), [t.shape for t in _floating(outputs)]
    grads = _backward(outputs, leaves)
    _check_dtypes(op, level, dtype, outputs)
    if not case.sample.special and not op.random:
        _check_numbers(op, case, want)

    again = _leaves(case)
    proa.seed(1)
    with cast():
        outputs = proa.jit.to_static(function)(*again)
    _compare("converted", _bits(outputs), want)
    _same_gradients("converted", _backward(outputs, again), grads)

    with cast():
        outputs, found = _program(function, leaves, sizes)
    _compare("recorded", _bits(outputs), want)
    _same_gradients("recorded", found, grads)
    outputs, found = _program(function, leaves, sizes, (dtype, level))
    _compare("made again", _bits(outputs), want)
    _same_gradients("made again", found, grads)


def _check_dtypes(op, level, dtype, outputs):
    floating = {t.dtype.name for t in outputs if t.is_floating_point()}
    if _AMP[op.name] == "raise":
        assert floating <= {"float32"}
    elif _AMP[op.name] == "lower" or (_AMP[op.name] == "promote" and level == "O2"):
        assert dtype in floating or not floating


def _check_numbers(op, case, found):
    if op.name in _STEPS or "float64" not in op.dtypes and op.kernel:  # none to compare with
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


@pytest.mark.parametrize("name", sorted(_OTHERS))
def test_arguments_of_other_kinds(name):
    op = suite.all_ops()[name]
    for sample in suite.samples_of(op):
        values = suite.Case(proa, op, sample).values
        if any(t.dtype in (proa.float16, proa.bfloat16, proa.float32) for t in _tensors(values)):
            continue
        want = _bits(suite.flatten(getattr(proa._C.ops, name)(**values)))
        for level, dtype in _WAYS:
            with proa.amp.auto_cast(level=level, dtype=dtype):
                found = suite.flatten(getattr(proa._C.ops, name)(**values))
            _compare(sample.text, _bits(found), want)


def test_the_loop_leaves_nothing_out():
    every = {op.name for op in suite.all_ops().values() if op.differentiable_params}
    assert {op.name for op in _OPS} | _COLLECTIVES == every
    assert _OTHERS < every and all(name.endswith("_in_turn_") for name in _COLLECTIVES)
