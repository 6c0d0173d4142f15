"""Every op and public function of several operands, over operands of two dtypes. An op that promotes gives what it gives
for operands cast to their common dtype before, bit for bit, and in a program too; any other function has the numbers
of float64, or refuses the mix by a TypeError. Gradients: mixed_dtypes_test.
"""

import itertools

import numpy as np
import pytest

import proa
from ops.conformance import suite
from ops.schema import cpp
from python.tests.public_cases import Case, public_cases

# Written down rather than asked for: the common dtype of two is the one that stands later here, so a floating dtype
# stays as it is beside any integer; except where it does not hold what the other does.
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
DTYPES += ["complex64", "complex128"]
EXCEPTIONS = {
    frozenset(("uint8", "int8")): "int16",
    frozenset(("float16", "bfloat16")): "float32",
    frozenset(("float64", "complex64")): "complex128",
}
IN_PROGRAMS = [("int64", "float32"), ("float32", "float64"), ("bfloat16", "float16"), ("uint8", "int8")]
# What the result has the type of cuts off what it cannot hold: x of scale, the tensor that is filled, integers of addmm.
CUT_OFF = {"scale", "addmm", "Tensor.fill_diagonal_tensor", "Tensor.fill_diagonal_tensor_"}
RESOLUTION = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


def common(dtypes):
    found = dtypes[0]
    for d in dtypes[1:]:
        found = EXCEPTIONS.get(frozenset((found, d)), max(found, d, key=DTYPES.index))
    return found


def mixes(dtypes, count):
    """Each ordered pair of two over `count` operands: the first differs from the others, or the last does."""
    pairs = itertools.permutations(dtypes, 2)
    return sorted({m for a, b in pairs for m in ((a,) + (b,) * (count - 1), (a,) * (count - 1) + (b,))})


# Ops ----------------------------------------------------------------------


def _promoted_case(op):
    """The arguments of an op's first sample of several promoted operands, and the names of these."""
    names = cpp.promoted(op)
    for sample in suite.samples_of(op):
        if sample.special or any(0 in s.dims for s in sample.specs()):
            continue
        values = suite.Case(proa, op, sample).values
        operands = [n for n in values if n in names and values[n] is not None]
        if sum(len(suite.flatten(values[n])) for n in operands) > 1:
            return values, operands
    return None, []


def _cast(values, operands, types):
    left = iter(types)
    changed = {}
    for n in operands:
        v = values[n]
        changed[n] = [t.astype(next(left)) for t in v] if isinstance(v, list) else v.astype(next(left))
    return {**values, **changed}


OPS = [op for op in suite.all_ops().values() if op.compute and not op.mutates and not op.random and cpp.promoted(op)]
CASES = {op.name: case for op in OPS if (case := _promoted_case(op))[1]}


def _outcome(function, values):
    """The results, or the error that they are refused by."""
    try:
        return [t.detach() for t in suite.flatten(function(**values))]
    except (TypeError, ValueError) as e:
        return e


def _equal(got, want):
    return len(got) == len(want) and all(
        (a.dtype == b.dtype or a.size == 0)
        and np.array_equal(a.numpy(), b.numpy(), equal_nan=a.dtype.name not in DTYPES[:6])
        for a, b in zip(got, want)
    )


def test_the_loop_reaches_every_family_that_promotes():
    assert len(CASES) > 50
    assert {suite.all_ops()[n].family for n in CASES} >= {"elementwise", "linalg", "manipulation", "nn"}


@pytest.mark.parametrize("name", CASES)
def test_ops_promote(name):
    values, operands = CASES[name]
    function = getattr(proa._C.ops, name)
    count = sum(len(suite.flatten(values[n])) for n in operands)
    taken, failures = 0, []
    for types in mixes(DTYPES, count):
        mixed = _cast(values, operands, types)
        got = _outcome(function, mixed)
        want = _outcome(function, _cast(mixed, operands, [common(types)] * count))
        if isinstance(got, Exception) or isinstance(want, Exception):
            # A rule of its own about one operand ("weight must be a float tensor") may refuse more.
            if type(got) is not type(want) and "must be" not in str(got):
                failures.append(f"{types}: {str(got)[:99]}; of operands of one dtype {str(want)[:99]}")
        elif not _equal(got, want):
            failures.append(f"{types}: {str(got)[:200]}; of operands of one dtype {str(want)[:200]}")
        else:
            taken += 1
    assert not failures, f"{len(failures)} failures\n" + "\n".join(failures[:4])
    assert taken


@pytest.mark.parametrize("name", CASES)
def test_ops_promote_in_programs(name):
    values, operands = CASES[name]
    tensors = [t for n in operands for t in suite.flatten(values[n])]

    def function(*tensors):
        left = iter(tensors)
        given = {n: [next(left) for _ in values[n]] if isinstance(values[n], list) else next(left) for n in operands}
        return [t for t in suite.flatten(getattr(proa._C.ops, name)(**{**values, **given})) if t is not None]

    for a, b in IN_PROGRAMS:
        mixed = [t.astype(d) for t, d in zip(tensors, [a] + [b] * (len(tensors) - 1))]
        try:
            want = function(*mixed)
        except (TypeError, ValueError) as e:
            with pytest.raises(type(e)):
                proa.jit.to_static(function)(*mixed)
            continue
        got = suite.flatten(proa.jit.to_static(function)(*mixed))
        assert _equal([t.detach() for t in got], [t.detach() for t in want]), (a, b)


# Public functions ---------------------------------------------------------


def _draws(call, tensors):
    return any((a.numpy() != b.numpy()).any() for a, b in zip(call(*tensors), call(*tensors)))


def _public():
    """(name, tensors, indices of those that have the first one's dtype, function of the tensors)."""
    for name, function, texts in public_cases():
        for text in texts:
            if "].T" in text or "nan" in text:
                continue
            case = Case(name, text.replace("N[", "f32["), function)
            tensors, call = case.bind(*case.arguments())
            same = [i for i, t in enumerate(tensors) if t.dtype == tensors[0].dtype]
            if len(same) < 2 or tensors[0].dtype not in (proa.float32, proa.int32):
                continue
            if all(t.size for t in tensors) and not _draws(call, tensors):
                yield name, tensors, same, call
                break


PUBLIC = {name: rest for name, *rest in _public()}


def _rounded(tensor, dtype):
    """Up, so that integers are no divisors of zero."""
    return (tensor.ceil() if dtype.startswith("int") and tensor.is_floating_point() else tensor).astype(dtype)


def _numbers(call, tensors):
    proa.seed(5)
    return [(t.dtype.name, t.astype("complex128").numpy()) for t in call(*tensors)]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_functions(name):
    tensors, same, call = PUBLIC[name]
    integral = tensors[0].dtype == proa.int32
    failures = []
    for types in mixes(DTYPES[4:6] if integral else DTYPES[4:10], len(same)):
        mixed, wide = list(tensors), list(tensors)
        for i, d in zip(same, types):
            mixed[i] = _rounded(tensors[i].abs(), d)
            wide[i] = mixed[i].astype("int64" if integral else "float64")
        try:
            got = _numbers(call, mixed)
        except TypeError:
            continue
        except ValueError as e:
            if "in place" not in str(e) and "singular" not in str(e):
                failures.append(f"{types}: {e}")
            continue
        tolerance = 8 * max(RESOLUTION.get(d, 1e-6) for d in types)
        for (dtype, a), (_, b) in zip(got, _numbers(call, wide), strict=True):
            if name in CUT_OFF and dtype.startswith("int"):
                b = np.trunc(b.real)
            finite = np.abs(b[np.isfinite(b)])
            if not np.allclose(a, b, rtol=0, atol=tolerance * max(1.0, finite.max(initial=0.0)), equal_nan=True):
                failures.append(f"{types}: {dtype} {a.ravel()[:4]}, not {b.ravel()[:4]}")
    assert not failures, f"{len(failures)} failures\n" + "\n".join(failures[:4])


def test_a_factor_that_is_a_tensor_is_not_cut_off():
    whole = proa.to_tensor([[3, 2], [1, 4]])
    scaled = proa.scale(whole, proa.to_tensor(1.5), bias=0.25)
    assert scaled.dtype == proa.int64 and scaled.tolist() == proa.scale(whole, 1.5, bias=0.25).tolist()
    assert scaled.tolist() == [[4, 3], [1, 6]]


def test_a_program_is_given_numbers_as_a_call_is():
    """Factors and sizes that only the run knows: integers are cut off, and dtypes kept, as at once."""
    whole, real = proa.to_tensor(np.array([[3, -2], [1, 4]], "int16")), proa.to_tensor([[0.5, 0.25], [1.5, 2.0]])

    def same(function, *numbers):
        want = function(*numbers)
        got = proa.jit.to_static(function)(*map(proa.to_tensor, numbers))
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_array_equal(got.numpy(), want.numpy())

    for beta, alpha in ((2.5, 1.5), (3, -0.5), (2, 3)):
        same(lambda b, a: proa.addmm(whole, whole, whole, b, a), beta, alpha)
        same(lambda b, a: proa.addmm(whole, real, real, b, a), beta, alpha)
        same(lambda b, a: proa.addmm(real, whole, whole, b, a), beta, alpha)
    exact = proa.to_tensor([2**60 + 1, -(2**61) + 1])  # (float64 would round them)
    same(lambda n: proa.scale(exact, n, bias=1), 3)
    for size in (7, 2**31 + 1):
        same(lambda n: proa.shard_index(whole, n, 2, 0), size)
        same(lambda n: proa.shard_index(whole, n, 2, 1), size)


def test_operands_that_were_cut_off():
    whole, real = proa.to_tensor([[3, 2], [1, 4]]), proa.to_tensor([[0.5, 0.25], [1.5, 2.0]])
    a, b = whole.numpy(), real.numpy()
    assert proa.addmm(whole, real, real, beta=0.5).tolist() == (a * 0.5 + b @ b).tolist()
    assert proa.addmm(real, whole, whole, alpha=0.5).tolist() == (b + a @ a * 0.5).tolist()
    with pytest.raises(TypeError, match="linear: the result is int64, which does not hold the bias"):
        proa.nn.functional.linear(whole, whole, proa.to_tensor([0.5, 0.5]))
    with pytest.raises(TypeError, match="does not hold the bias"):
        proa.nn.functional.linear(real, real, proa.to_tensor([1j, 0.0]))


def test_imaginary_parts_are_not_dropped():
    F, z = proa.nn.functional, proa.to_tensor([1j, 1.0])
    x, w, real = proa.ones([2, 2, 4]), proa.ones([2, 2, 3]), proa.ones([2])
    for call in (
        lambda: F.conv1d(x, w, z),
        lambda: F.conv1d_transpose(x, w, z),
        lambda: F.layer_norm(proa.ones([3, 2]), 2, z),
        lambda: F.layer_norm(proa.ones([3, 2]), 2, real, z),
        lambda: F.batch_norm(x, real, real, z, real, training=True),
        lambda: F.batch_norm(x, real, real, real, z),
    ):
        with pytest.raises(TypeError, match="must be real; it is .2. complex64"):
            call()


def test_singular_values_of_mixed_systems():
    # What was computed in float64 went into the memory of half as many bytes.
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 6, 4)), rng.standard_normal((2, 6, 2))
    want = np.linalg.svd(x, compute_uv=False)
    real = {"complex64": "float32", "complex128": "float64"}
    for a, b in itertools.permutations(("float16", "float32", "float64", "complex64", "complex128"), 2):
        try:
            values = proa.linalg.lstsq(proa.to_tensor(x, a), proa.to_tensor(y, b), driver="gelsd")[3]
        except TypeError as e:
            assert "needs an x of the dtype of the result; cast x" in str(e)
            assert real.get(a, a) != real.get(common((a, b)), common((a, b)))
            continue
        assert values.dtype.name == real.get(a, a)
        np.testing.assert_allclose(values.numpy(), want, rtol=1e-5)


def test_what_the_reference_does_otherwise():
    # PARITY: int64 there in 2.6, an error in 3.3; astype(float) is Python's float.
    whole, real = proa.to_tensor([3, 2]), proa.to_tensor([0.5, 0.25])
    for product in (whole * real, real * whole, proa.multiply(whole, real), whole.multiply(real)):
        assert product.dtype == proa.float32 and product.tolist() == [1.5, 0.5]
    for kind in (float, "float", "double", "float64", np.float64):
        assert whole.astype(kind).dtype == proa.float64 and whole.cast(kind).dtype == proa.float64
    with pytest.raises(ValueError, match="does not fit in place"):
        whole.add_(real)
    assert whole.tolist() == [3, 2]
