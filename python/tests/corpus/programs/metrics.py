# Metrics: accuracy, precision, recall, area under the curve, one of our own, an F-score in tensors.
import numpy as np
import paddle
from paddle.metric import Accuracy, Auc, Metric, Precision, Recall

rng = np.random.RandomState(131)
scores = paddle.to_tensor(rng.rand(12, 4).astype("float32"))
labels = paddle.to_tensor(rng.randint(0, 4, (12, 1)).astype("int64"))
accuracy = Accuracy(topk=(1, 2), name="my")
for lo in (0, 6):
    accuracy.update(accuracy.compute(scores[lo : lo + 6], labels[lo : lo + 6]))
    print(["%.4f" % a for a in accuracy.accumulate()])
print(accuracy.name())
accuracy.reset()
print(accuracy.accumulate())
binary, truth = rng.rand(12, 1).astype("float32"), rng.randint(0, 2, (12, 1)).astype("int64")
precision, recall, auc = Precision(), Recall(), Auc()
precision.update(binary, truth)
recall.update(paddle.to_tensor(binary), paddle.to_tensor(truth))
auc.update(np.concatenate([1 - binary, binary], 1), truth)
print("%.4f %.4f %.4f" % (precision.accumulate(), recall.accumulate(), auc.accumulate()))


class MeanError(Metric):
    def __init__(self):
        super().__init__()
        self.reset()

    def reset(self):
        self.total, self.count = 0.0, 0

    def update(self, error):
        self.total += float(np.sum(error))
        self.count += error.size

    def accumulate(self):
        return self.total / max(1, self.count)

    def name(self):
        return "mean_error"

    def compute(self, pred, label):
        return (pred - label).abs()


metric = MeanError()
metric.update(metric.compute(scores[:, :1], paddle.ones([12, 1])).numpy())
print(metric.name(), "%.5f" % metric.accumulate())
pred, label = scores.argmax(1), labels.squeeze(1)
matrix = paddle.zeros([4, 4], dtype="int64")
for p, t in zip(pred.tolist(), label.tolist()):
    matrix[t, p] += 1
tp = paddle.diag(matrix).astype("float32")
f1 = 2 * tp / paddle.clip((matrix.sum(0) + matrix.sum(1)).astype("float32"), min=1.0)
print(matrix.tolist(), ["%.4f" % v for v in f1.tolist()])
print(paddle.bincount(label, minlength=5).tolist(), "%.4f" % paddle.metric.accuracy(scores, labels, k=2).item())
