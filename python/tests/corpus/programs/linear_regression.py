# House prices by linear regression, as in the first tutorial.
import numpy as np
import paddle
import paddle.nn.functional as F
from paddle.nn import Linear


def load_data():
    rng = np.random.RandomState(0)
    data = rng.rand(120, 14).astype("float32")
    data[:, -1] = data[:, :-1] @ np.linspace(-1, 1, 13).astype("float32") + 0.3
    offset = int(data.shape[0] * 0.8)
    maximums, minimums = data[:offset].max(axis=0), data[:offset].min(axis=0)
    data = (data - minimums) / (maximums - minimums)
    return data[:offset], data[offset:]


class Regressor(paddle.nn.Layer):
    def __init__(self):
        super(Regressor, self).__init__()
        self.fc = Linear(in_features=13, out_features=1)

    def forward(self, inputs):
        x = self.fc(inputs)
        return x


model = Regressor()
model.train()
training_data, test_data = load_data()
opt = paddle.optimizer.SGD(learning_rate=0.01, parameters=model.parameters())

EPOCH_NUM = 4
BATCH_SIZE = 10
for epoch_id in range(EPOCH_NUM):
    mini_batches = [training_data[k : k + BATCH_SIZE] for k in range(0, len(training_data), BATCH_SIZE)]
    for iter_id, mini_batch in enumerate(mini_batches):
        x = np.array(mini_batch[:, :-1])
        y = np.array(mini_batch[:, -1:])
        house_features = paddle.to_tensor(x)
        prices = paddle.to_tensor(y)
        predicts = model(house_features)
        loss = F.square_error_cost(predicts, label=prices)
        avg_loss = paddle.mean(loss)
        if iter_id % 5 == 0:
            print("epoch: {}, iter: {}, loss is: {:.6f}".format(epoch_id, iter_id, float(avg_loss.numpy())))
        avg_loss.backward()
        opt.step()
        opt.clear_grad()

model.eval()
with paddle.no_grad():
    print("test", ["%.5f" % v for v in model(paddle.to_tensor(test_data[:5, :-1])).numpy().flatten()])
