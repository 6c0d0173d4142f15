"""Every op and layer with arguments of several floating point types: where forward takes them, backward works, each
leaf's gradient has the leaf's type, and its numbers are those of float64."""

import itertools

import numpy as np
import pytest

import proa
from ops.conformance import suite
from proa import nn

_RESOLUTION = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-20, "float64": 2.0**-40}
_OPS = [
    op
    for op in suite.all_ops().values()
    if len(op.differentiable_params) > 1
    and op.outputs
    and not op.mutates
    and not op.random
    and not op.data_dependent
    and not any(p.is_tensor_list for p in op.params)
]


def _case(op):
    """The first sample whose tensors are small, not empty, and several of them floating."""
    for sample in suite.samples_of(op):
        specs = sample.specs()
        floating = [s for s in specs if s.dtype in suite.FLOATS]
        if len(floating) < 2 or sample.special or any(0 in s.dims or s.views for s in specs):
            continue
        case = suite.Case(proa, op, sample, dtype="float32")
        names = [n for n, v in case.values.items() if getattr(v, "is_floating_point", bool)()]
        if len([n for n in names if n in {p.name for p in op.differentiable_params}]) > 1:
            return case, names
    return None, []


def _mixes(count):
    """Pairs of types over two arguments, and for more the same pairs with either type at the others."""
    mixes = {m for m in itertools.product(suite.FLOATS, repeat=2) if len(set(m)) > 1}
    return sorted({m + tail for m in mixes for tail in ((m[0],) * (count - 2), (m[1],) * (count - 2))})


def _gradients(op, values, names, types):
    """Results and gradients; None where forward refuses the types."""
    leaves = {n: values[n].astype(t).detach() for n, t in zip(names, types)}
    differentiable = {p.name for p in op.differentiable_params}
    for n, t in leaves.items():
        t.stop_gradient = n not in differentiable
    try:
        outputs = suite.flatten(getattr(proa._C.ops, op.name)(**{**values, **leaves}))
    except TypeError:
        return None
    floating = [t for t in outputs if t.is_floating_point() and not t.stop_gradient]
    if not floating:
        return None
    # Gradients that every type has.
    loss = [
        (t * (proa.arange(t.size).reshape(t.shape) % 3 + 1).astype(t.dtype)).sum().astype("float64") for t in floating
    ]
    sum(loss[1:], loss[0]).backward()
    return {n: leaves[n].grad for n in leaves if n in differentiable}


@pytest.mark.parametrize("op", _OPS, ids=lambda op: op.name)
def test_gradients_of_mixed_types(op):
    case, names = _case(op)
    if case is None or "float64" not in op.dtypes:
        pytest.skip("no small sample of several floating tensors, or no float64 to compare with")
    exact = _gradients(op, case.values, names, ["float64"] * len(names))
    failures = []
    for types in _mixes(len(names)):
        where = ", ".join(f"{n} {t}" for n, t in zip(names, types))
        try:
            grads = _gradients(op, case.values, names, types)
        except Exception as e:  # pylint: disable=broad-except
            failures.append(f"{where}: {type(e).__name__}: {e}")
            continue
        tolerance = 40 * max(_RESOLUTION[t] for t in types)
        for n, g in (grads or {}).items():
            want = exact[n]
            if g is None or want is None:
                continue
            if g.dtype.name != leaf_type(types, names, n):
                failures.append(f"{where}: gradient of {n} is {g.dtype.name}")
            a, b = g.astype("float64").numpy(), want.numpy()
            if not np.all(np.abs(a - b) <= tolerance * (np.abs(b) + np.abs(b).max(initial=0.0))):
                failures.append(f"{where}: gradient of {n} is {a.ravel()[:4]}, not {b.ravel()[:4]}")
    assert not failures, f"{len(failures)} failures\n" + "\n".join(failures[:6])


def leaf_type(types, names, name):
    return types[names.index(name)]


@pytest.mark.parametrize("dtype", ["int32", "int64", "bool"])
@pytest.mark.parametrize("real", ["float32", "float64"])
@pytest.mark.parametrize("name", ["atan2", "multiply", "divide", "pow", "subtract", "maximum", "remainder", "matmul"])
def test_gradients_beside_integers(name, real, dtype):
    # What formulas name of integers would overflow, be logic, or have the digits of float32 only.
    whole = np.array([[1, 1], [1, 1]]) if dtype == "bool" else np.array([[3, 70_000], [2, 100_000]])
    floating = np.array([[1.1, 2.3], [0.7, 1.9]])
    function = getattr(proa, name)

    def gradient(kind, integers_first):
        x = proa.to_tensor(floating, dtype=real)
        x.stop_gradient = False
        other = proa.to_tensor(whole).astype(kind)
        try:
            out = function(other, x) if integers_first else function(x, other)
        except TypeError:
            return None
        out.sum().backward()
        assert x.grad.dtype == x.dtype
        return x.grad.numpy()

    if name == "pow" and dtype != "bool":
        whole = np.array([[3, 5], [2, 10]])
    for integers_first in (False, True):
        got = gradient(dtype, integers_first)
        if got is not None:
            np.testing.assert_allclose(got, gradient(real, integers_first), rtol=1e-6 if real == "float32" else 1e-14)


_LAYERS = {
    "Linear": (lambda: nn.Linear(4, 3), (2, 4)),
    "LayerNorm": (lambda: nn.LayerNorm(4), (2, 4)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (2, 4, 3)),
    "InstanceNorm2D": (lambda: nn.InstanceNorm2D(3), (2, 3, 4, 4)),
    "BatchNorm1D": (lambda: nn.BatchNorm1D(4), (6, 4)),
    "BatchNorm2D": (lambda: nn.BatchNorm2D(3), (2, 3, 4, 4)),
    "BatchNorm2D frozen": (lambda: nn.BatchNorm2D(3, use_global_stats=True), (2, 3, 4, 4)),
    "Conv1D": (lambda: nn.Conv1D(3, 2, 3), (2, 3, 6)),
    "Conv2D": (lambda: nn.Conv2D(3, 2, 3), (2, 3, 6, 6)),
    "Conv2DTranspose": (lambda: nn.Conv2DTranspose(3, 2, 3), (2, 3, 6, 6)),
    "PReLU": (lambda: nn.PReLU(3), (2, 3, 4)),
    "Bilinear": (lambda: _Twice(nn.Bilinear(4, 4, 3)), (2, 4)),
}


class _Twice(nn.Layer):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x, x)


@pytest.mark.parametrize("types", [t for t in itertools.product(suite.FLOATS, repeat=2) if t[0] != t[1]], ids="-".join)
@pytest.mark.parametrize("name", _LAYERS)
def test_layers_of_another_type_than_their_input(name, types):
    make, shape = _LAYERS[name]
    layer = make()
    layer.to(dtype=types[1])
    x = proa.randn(list(shape)).astype(types[0])
    x.stop_gradient = False
    try:
        out = layer(x)
    except (TypeError, ValueError) as e:
        assert "dtype" in str(e) or "float" in str(e), e
        return
    out.astype("float32").square().sum().backward()
    assert x.grad.dtype == x.dtype and np.isfinite(x.grad.astype("float32").numpy()).all()
    for where, p in layer.named_parameters():
        if not p.stop_gradient:
            assert p.grad is not None and p.grad.dtype == p.dtype, where


@pytest.mark.parametrize("types", [t for t in itertools.product(suite.FLOATS, repeat=2) if t[0] != t[1]], ids="-".join)
@pytest.mark.parametrize(
    "name", ["mse_loss", "l1_loss", "smooth_l1_loss", "binary_cross_entropy_with_logits", "kl_div"]
)
def test_losses_of_mixed_types(name, types):
    x = proa.to_tensor([0.25, 0.5, 1.0]).astype(types[0])
    y = proa.to_tensor([0.5, 0.25, 0.75]).astype(types[1])
    x.stop_gradient = False
    getattr(nn.functional, name)(x, y).backward()
    assert x.grad.dtype == x.dtype
