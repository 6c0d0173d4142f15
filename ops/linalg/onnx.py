"""What these ops are in ONNX. The language: python/proa/onnx/rule.py."""

from proa.onnx.rule import onnx, to_result


def onnx_matmul(x, y, transpose_x, transpose_y):
    x, y = to_result(x, y)
    left, right = _transposed(x, transpose_x), _transposed(y, transpose_y)
    # A vector as a matrix: ONNX Runtime 1.32 makes of a transposed matrix and a vector another product.
    if x.rank > 1 and y.rank == 1:
        return onnx.Squeeze(onnx.MatMul(left, onnx.Unsqueeze(right, axes=[1])), axes=[x.rank - 1])
    if x.rank == 1 and y.rank > 1:
        return onnx.Squeeze(onnx.MatMul(onnx.Unsqueeze(left, axes=[0]), right), axes=[y.rank - 2])
    return onnx.MatMul(left, right)


def _transposed(x, yes):
    if not yes or x.rank < 2:
        return x
    return onnx.Transpose(x, perm=[*range(x.rank - 2), x.rank - 1, x.rank - 2])


def onnx_linear(x, weight, bias):
    x, weight, bias = to_result(x, weight, bias)
    if x.rank == 2 and bias is not None:
        return onnx.Gemm(x, weight, bias)
    made = onnx.MatMul(x, weight)
    return made if bias is None else made + bias


def onnx_det(x):
    return onnx.Det(x)
