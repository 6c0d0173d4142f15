# Clustering and principal components with tensor operations only.
import numpy as np
import paddle

rng = np.random.RandomState(83)
centers = np.array([[0, 0, 4], [5, 5, 0], [-5, 4, 1]], "float32")
points = paddle.to_tensor((centers[rng.randint(0, 3, 60)] + rng.randn(60, 3)).astype("float32"))
centroids = points[:3]
for it in range(5):
    distance = ((points.unsqueeze(1) - centroids.unsqueeze(0)) ** 2).sum(-1)
    assign = distance.argmin(axis=1)
    one_hot = paddle.nn.functional.one_hot(assign, 3)
    counts = one_hot.sum(0)
    centroids = paddle.matmul(one_hot, points, transpose_x=True) / counts.unsqueeze(-1).clip(min=1)
    print("inertia %.4f counts %s" % (paddle.min(distance, axis=1).sum().item(), counts.astype("int32").tolist()))
print(bool((paddle.dist(centroids, centroids) == 0).item()), paddle.unique(assign).tolist())

x = points - points.mean(0)
cov = paddle.matmul(x.t(), x) / (x.shape[0] - 1)
vector = paddle.ones([3, 1])
values = []
for component in range(2):
    vector = paddle.ones([3, 1])
    for _ in range(60):
        vector = cov @ vector
        vector = vector / paddle.norm(vector)
    value = (vector.t() @ cov @ vector).squeeze()
    values.append(value.item())
    cov = cov - value * (vector @ vector.t())
    print("component %.4f" % value, ["%.4f" % v for v in (vector * paddle.sign(vector[0])).flatten().tolist()])
print("explained %.4f" % (sum(values) / x.var(axis=0).sum().item()))
values, index = paddle.sort(points[:, 0], descending=True)[:3], paddle.argsort(points[:, 0])[-3:]
print(["%.4f" % v for v in values.tolist()], index.flip([0]).tolist())
print(np.histogram(points[:, 1].numpy(), 4)[0].tolist(), paddle.histogram(points[:, 1], bins=4).tolist())
