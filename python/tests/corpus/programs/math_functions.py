# Functions of mathematics, reductions and comparisons, as people call them.
import numpy as np
import paddle

x = paddle.to_tensor([[0.5, -1.5, 2.0], [3.0, 0.1, -0.7]])
p = x.abs() + 0.1


def show(name, t):
    print(name, np.round(np.asarray(t.numpy(), "float64"), 5).ravel().tolist())


for (
    name
) in "exp sin cos tanh atan sinh cosh sigmoid square floor ceil round sign abs neg erf expm1 trunc asinh".split():
    function = getattr(paddle, name, None) or getattr(paddle.nn.functional, name)
    show(name, function(x))
for name in "log log2 log10 log1p sqrt rsqrt reciprocal".split():
    show(name, getattr(paddle, name)(p))
for name in "sum mean max min prod std var logsumexp amax amin median".split():
    function = getattr(paddle, name)
    show(name, function(x))
    show(name + " axis", function(x, axis=1))
for name in "add subtract multiply divide maximum minimum fmax fmin atan2".split():
    show(name, getattr(paddle, name)(x, p))
show("pow", p**2.5)
show("mod", paddle.mod(x, p))
show("floor_divide", paddle.floor_divide(paddle.to_tensor([7, -7, 9]), paddle.to_tensor([2, 2, 4])))
show("remainder", paddle.remainder(paddle.to_tensor([7, -7, 9]), paddle.to_tensor([3, 3, 4])))
show("cumsum", paddle.cumsum(x, axis=1))
show("cumprod", paddle.cumprod(x, dim=0))
show("clip", x.clip(-1, 1))
show("lerp", paddle.lerp(x, p, 0.3))
show("kron", paddle.kron(x[0], paddle.to_tensor([1.0, 2.0])))
show("outer", paddle.outer(x[0], p[1]))
show("inner", paddle.inner(x, p))
show("trace", paddle.trace(x))
show("diagonal", paddle.diagonal(x))
show("cross", paddle.cross(x, p, axis=1))
show("dot", paddle.dot(x, p))
show("mv", paddle.mv(x, p[0]))
show("einsum", paddle.einsum("ij,kj->ik", x, p))
show("tensordot", paddle.tensordot(x, p, axes=[[0], [0]]))
show("quantile", paddle.quantile(x, [0.25, 0.5], axis=1))
show("diff", paddle.diff(x))
show("nan_to_num", paddle.nan_to_num(paddle.to_tensor([float("nan"), float("inf"), 1.0]), nan=3.0, posinf=9.0))
show("searchsorted", paddle.searchsorted(paddle.to_tensor([1.0, 3.0, 5.0]), paddle.to_tensor([0.0, 3.0, 6.0])))
show("bitwise", paddle.to_tensor([5, 6]) & paddle.to_tensor([3, 3]))
print(
    paddle.allclose(x, x + 1e-9).item(),
    paddle.equal_all(x, x).item(),
    paddle.isfinite(x).all().item(),
    paddle.any(x > 2.5).item(),
)
print((x > 0).tolist(), (x == x).all().item(), paddle.logical_xor(x > 0, p > 1).tolist())
print(
    x.astype("int32").tolist(),
    x.astype(paddle.float64).dtype == paddle.float64,
    paddle.to_tensor(3).dtype == paddle.int64,
)
