# The high-level interface: Model.prepare, fit with callbacks, evaluate, predict, save and load.
import numpy as np
import paddle
from paddle.static import InputSpec

rng = np.random.RandomState(91)
x = rng.randn(40, 8).astype("float32")
y = (x[:, :3].argmax(1)).astype("int64")[:, None]


class MyDataset(paddle.io.Dataset):
    def __init__(self, start, stop):
        self.x, self.y = x[start:stop], y[start:stop]

    def __getitem__(self, i):
        return self.x[i], self.y[i]

    def __len__(self):
        return len(self.x)


class Recorder(paddle.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.events = []

    def on_train_begin(self, logs=None):
        self.events.append("train_begin")

    def on_epoch_end(self, epoch, logs=None):
        print("epoch %d loss %.5f acc %.4f" % (epoch, float(np.ravel(logs["loss"])[0]), logs["acc"]))

    def on_train_batch_end(self, step, logs=None):
        self.events.append(step)

    def on_eval_end(self, logs=None):
        self.events.append("eval")


network = paddle.nn.Sequential(paddle.nn.Linear(8, 16), paddle.nn.ReLU(), paddle.nn.Linear(16, 3))
model = paddle.Model(network, InputSpec([None, 8], "float32", "x"), InputSpec([None, 1], "int64", "label"))
recorder = Recorder()
scheduler = paddle.optimizer.lr.StepDecay(learning_rate=0.05, step_size=1, gamma=0.5)
model.prepare(
    paddle.optimizer.Adam(learning_rate=scheduler, parameters=model.parameters()),
    paddle.nn.CrossEntropyLoss(),
    paddle.metric.Accuracy(),
)
model.fit(
    MyDataset(0, 32),
    MyDataset(32, 40),
    batch_size=8,
    epochs=3,
    shuffle=False,
    verbose=0,
    callbacks=[recorder, paddle.callbacks.LRScheduler(by_step=False, by_epoch=True)],
)
print(recorder.events)
result = model.evaluate(MyDataset(32, 40), batch_size=8, verbose=0)
print(sorted(result), "acc %.4f" % result["acc"])
predictions = model.predict(MyDataset(32, 40), batch_size=4, stack_outputs=True, verbose=0)
print(predictions[0].shape, "%.5f" % np.abs(predictions[0]).mean())
model.save("checkpoint/model")
before = model.predict_batch([x[:2]])[0]
for p in model.parameters():
    p.set_value(paddle.zeros_like(p))
model.load("checkpoint/model")
print("restored", bool(np.allclose(before, model.predict_batch([x[:2]])[0])))
loss, metrics = model.train_batch([x[:8]], [y[:8]])
print("train_batch %.5f" % float(np.ravel(loss)[0]), len(metrics))
