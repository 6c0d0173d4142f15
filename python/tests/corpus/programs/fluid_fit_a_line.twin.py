import numpy as np

rng = np.random.RandomState(11)
X = rng.randn(40, 13).astype("float32")
Y = (X @ np.linspace(-1, 1, 13).reshape(13, 1) + 0.5).astype("float32")
w, b = np.full([13, 1], 0.1), 0.0
for epoch in range(3):
    for i in range(0, 40, 10):
        x, error = X[i : i + 10], X[i : i + 10] @ w + b - Y[i : i + 10]
        loss = (error**2).mean()
        w = w - 0.05 * 2 * x.T @ error / 10
        b = b - 0.05 * 2 * error.mean()
    print("epoch %d, loss %.5f" % (epoch, loss))
print("test loss %.5f" % ((X @ w + b - Y) ** 2).mean())
print("slope", " ".join("%.4f" % v for v in w.ravel()))
print(["x"], " ".join("%.4f" % v for v in (X[:3] @ w + b).ravel()))
