# The grammar of indexing, reading and writing, with gradients.
import numpy as np
import paddle

x = paddle.arange(24, dtype="float32").reshape([2, 3, 4])
print(x[1, 2, 3].item(), x[-1][0].tolist(), x[:, 1].tolist(), x[..., ::2].shape, x[0, ::-1, 1].tolist())
print(x[None].shape, x[:, None, 1:].shape, x[paddle.to_tensor([1, 0])][:, 0, 0].tolist(), x[[0, 1], [2, 0]].tolist())
print(x[x > 20].tolist(), x[:, paddle.to_tensor([True, False, True])].shape, x[1:1].shape)
y = x.clone()
y[0] = -1.0
y[:, 1, ::2] = paddle.to_tensor([[100.0, 200.0], [300.0, 400.0]])
y[1, 2] += 5
y[y < 0] = 0.5
print(y.tolist())
z = paddle.zeros([3, 3])
z[paddle.arange(3), paddle.arange(3)] = paddle.to_tensor([1.0, 2.0, 3.0])
z[2, :2] = np.array([7, 8])
print(z.tolist())
w = paddle.ones([2, 3])
w.stop_gradient = False
v = w * 2
v[0, 1:] = 10.0
v[1] = w[0] * w[1]
v.sum().backward()
print(w.grad.tolist())
a = paddle.to_tensor([[1, 2, 3], [4, 5, 6]])
print(
    paddle.gather(a, paddle.to_tensor([1, 0]), axis=1).tolist(),
    paddle.take_along_axis(a, paddle.to_tensor([[2], [0]]), 1).tolist(),
)
print(
    paddle.index_sample(a, paddle.to_tensor([[0, 2], [1, 1]])).tolist(),
    paddle.gather_nd(a, paddle.to_tensor([[1, 2], [0, 0]])).tolist(),
)
print(paddle.scatter_nd(paddle.to_tensor([[1], [3]]), paddle.to_tensor([9, 8]), [5]).tolist())
print(
    paddle.put_along_axis(a, paddle.to_tensor([[0], [2]]), 0, 1).tolist(), paddle.masked_select(a, a % 2 == 0).tolist()
)
print(
    paddle.slice(a, axes=[0, 1], starts=[0, 1], ends=[2, 3]).tolist(),
    paddle.strided_slice(a, [1], [2], [-4], [-2]).tolist(),
)
print(paddle.nonzero(a > 3).tolist(), paddle.where(a > 3, a, -a).tolist(), paddle.tile(a, [1, 2]).shape)
print(len(a), [row.tolist() for row in a], 5 in a.tolist(), bool(a[0, 0] == 1), int(a[1, 1]), float(x[0, 0, 1]))
b, c = paddle.topk(a, 2, axis=1)
print(b.tolist(), c.tolist(), paddle.sort(a, axis=1, descending=True).tolist(), paddle.flip(a, [0]).tolist())
print(
    paddle.unstack(a, axis=1)[2].tolist(),
    [t.shape for t in paddle.split(a, [1, -1], axis=1)],
    paddle.chunk(a, 3, 1)[0].tolist(),
)
