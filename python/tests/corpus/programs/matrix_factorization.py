# Ratings by matrix factorization with biases; Adagrad, mean squared error, top items.
import numpy as np
import paddle
import paddle.nn as nn

rng = np.random.RandomState(89)


class MF(nn.Layer):
    def __init__(self, users, items, factors=4):
        super().__init__()
        self.user_factors, self.item_factors = nn.Embedding(users, factors), nn.Embedding(items, factors)
        self.user_bias = nn.Embedding(users, 1, weight_attr=nn.initializer.Constant(0.0))
        self.item_bias = nn.Embedding(items, 1, weight_attr=nn.initializer.Constant(0.0))
        self.mean = self.create_parameter([1], default_initializer=nn.initializer.Constant(3.0))

    def forward(self, user, item):
        dot = (self.user_factors(user) * self.item_factors(item)).sum(1)
        return dot + self.user_bias(user).squeeze(1) + self.item_bias(item).squeeze() + self.mean


users, items = rng.randint(0, 12, 50), rng.randint(0, 15, 50)
ratings = ((users * 7 + items * 3) % 5 + 1).astype("float32")
model = MF(12, 15)
groups = [
    {"params": [p for n, p in model.named_parameters() if "factors" in n], "weight_decay": 0.01},
    {"params": [p for n, p in model.named_parameters() if "factors" not in n], "learning_rate": 0.5},
]
opt = paddle.optimizer.Adagrad(learning_rate=0.1, parameters=groups)
criterion = nn.MSELoss(reduction="mean")
for epoch in range(5):
    total = 0.0
    for lo in range(0, 50, 10):
        u, i = paddle.to_tensor(users[lo : lo + 10]), paddle.to_tensor(items[lo : lo + 10])
        loss = criterion(model(u, i), paddle.to_tensor(ratings[lo : lo + 10]))
        loss.backward()
        opt.step()
        opt.clear_grad()
        total += loss.item()
    print("epoch %d rmse %.5f" % (epoch, (total / 5) ** 0.5))
with paddle.no_grad():
    scores = model(paddle.full([15], 3, "int64"), paddle.arange(15))
print(paddle.topk(scores, 4)[1].tolist(), "%.4f" % model.mean.item())
