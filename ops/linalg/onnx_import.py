"""What operators of ONNX are in these ops. The language: python/proa/onnx/import_rule.py."""

import proa
from proa import _C
from proa.onnx.import_rule import is_float, to

ops = _C.ops


def from_MatMul(x, y):
    if not is_float(x):
        return to(ops.matmul(to(x, "float64"), to(y, "float64")), x.dtype)
    return ops.matmul(x, y)


def from_Gemm(a, b, c=None, *, alpha=1.0, beta=1.0, transA=0, transB=0, broadcast=0):
    if not is_float(a):
        made = to(ops.matmul(to(a, "float64"), to(b, "float64"), bool(transA), bool(transB)) * alpha, a.dtype)
        return made if c is None else made + to(to(c, "float64") * beta, a.dtype)
    plain = alpha == 1.0 and beta == 1.0 and not transA
    if plain and not transB and c is not None and len(c.shape) == 1 and c.shape[0] == b.shape[1]:
        return ops.linear(a, b, c)
    made = ops.matmul(a, b, bool(transA), bool(transB))
    made = made if alpha == 1.0 else made * alpha
    return made if c is None else made + (c if beta == 1.0 else c * beta)


def from_Det(x):
    return ops.det(x)


def from_Einsum(*xs, equation):
    return proa.einsum(equation.replace(" ", ""), *xs)
