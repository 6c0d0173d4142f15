"""Metric and its kinds: Accuracy, Precision, Recall, Auc."""

import numpy as np

from proa import _C
from proa.framework.attributes import cut_int, known_int


def _array(x):
    return x.numpy() if isinstance(x, _C.Tensor) else np.asarray(x)


class Metric:
    """Base of metrics.

    `compute` runs on tensors for each batch; what it returns goes to `update`, which
    adds up; `accumulate` gives the value so far and `reset` starts again.

    Examples:
        >>> class Largest(proa.metric.Metric):
        ...     def reset(self):
        ...         self.value = float("-inf")
        ...
        ...     def update(self, x):
        ...         self.value = max(self.value, float(x.max()))
        ...
        ...     def accumulate(self):
        ...         return self.value
        ...
        ...     def name(self):
        ...         return "largest"
        >>> metric = Largest()
        >>> metric.reset()
        >>> metric.update(np.array([1.0, 3.0]))
        >>> metric.accumulate()
        3.0
    """

    def compute(self, *args):
        """From the outputs and labels of a batch to what `update` takes; both themselves unless overridden."""
        return args

    def update(self, *args):
        """Adds a batch."""
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define update"))

    def accumulate(self):
        """The value so far."""
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define accumulate"))

    def reset(self):
        """Forgets all batches."""
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define reset"))

    def name(self):
        """The metric's name, or names."""
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define name"))


class Accuracy(Metric):
    """Part of the samples whose label is among the `k` highest scores.

    Args:
        topk (int|tuple[int]): for which k.
        name (str, optional): "acc" unless given.

    Examples:
        >>> metric = proa.metric.Accuracy()
        >>> scores = proa.to_tensor([[0.1, 0.9], [0.8, 0.2]])
        >>> metric.update(metric.compute(scores, proa.to_tensor([1, 1])))
        0.5
        >>> metric.accumulate()
        0.5
    """

    def __init__(self, topk=(1,), name=None, *args, **kwargs):
        given = topk if isinstance(topk, (list, tuple)) else [topk]
        self.topk = tuple(cut_int("Accuracy", "topk", k, "an int or a list of ints") for k in given)
        if not self.topk or min(self.topk) < 1:
            raise _C.located(ValueError(f"Accuracy: topk must be positive, and at least one; it is {topk!r}"))
        self.maxk = max(self.topk)
        name = name or "acc"
        self._name = [name] if self.maxk == 1 else [f"{name}_top{k}" for k in self.topk]
        self.reset()

    def compute(self, pred, label, *args):
        """For each sample, whether each of its best guesses is right.

        Args:
            pred (Tensor): scores, [N, ..., classes].
            label (Tensor): class numbers [N, ...] or [N, ..., 1], or one-hot [N, ..., classes].

        Returns:
            Tensor: float32 [N, ..., max k].
        """
        guesses = _C.ops.argsort(pred, -1, True)
        guesses = guesses[..., : self.maxk]
        if len(label.shape) == len(pred.shape) and label.shape[-1] != 1:
            label = _C.ops.argmax(label, -1, True)
        elif len(label.shape) == len(pred.shape) - 1:
            label = _C.ops.unsqueeze(label, -1)
        return (guesses == label.astype(guesses.dtype)).astype("float32")

    def update(self, correct, *args):
        """Adds what `compute` gave; returns the accuracy of this batch (a list for several k)."""
        correct = _array(correct)
        if not ((correct == 0) | (correct == 1)).all():
            raise _C.located(
                ValueError(
                    "Accuracy.update: correct has other values than 0 and 1; give what compute(pred, label) gives: 1 where a "
                    "guess is right"
                )
            )
        samples = int(np.prod(correct.shape[:-1]))
        values = []
        for i, k in enumerate(self.topk):
            right = float(correct[..., :k].sum())
            values.append(right / samples if samples else 0.0)
            self.total[i] += right
            self.count[i] += samples
        return values[0] if len(values) == 1 else values

    def reset(self):
        self.total, self.count = [0.0] * len(self.topk), [0] * len(self.topk)

    def accumulate(self):
        values = [t / c if c else 0.0 for t, c in zip(self.total, self.count)]
        return values[0] if len(values) == 1 else values

    def name(self):
        return self._name


class _Binary(Metric):
    def __init__(self, name):
        self._name = name
        self.reset()

    def _rounded(self, preds, labels, to_whole):
        guesses = to_whole(_array(preds)).astype("int64").reshape(-1)
        labels = _array(labels).astype("int64").reshape(-1)
        if guesses.shape != labels.shape:
            raise _C.located(
                ValueError(
                    f"{type(self).__name__}: preds and labels must have as many elements; "
                    f"they have {guesses.size} and {labels.size}"
                )
            )
        return guesses == 1, labels == 1

    def name(self):
        return self._name


class Precision(_Binary):
    """Of the samples called positive (score at least 0.5), the part that is.

    Args:
        name (str): its name.

    Examples:
        >>> precision = proa.metric.Precision()
        >>> precision.update(np.array([0.9, 0.8, 0.1]), np.array([1, 0, 1]))
        >>> precision.accumulate()
        0.5
    """

    def __init__(self, name="precision", *args, **kwargs):
        super().__init__(name)

    def update(self, preds, labels, *args):
        """Adds scores in [0, 1] and labels 0 or 1."""
        guess, truth = self._rounded(preds, labels, lambda scores: np.floor(scores + 0.5))
        self.tp += int((guess & truth).sum())
        self.fp += int((guess & ~truth).sum())

    def reset(self):
        self.tp = self.fp = 0

    def accumulate(self):
        called = self.tp + self.fp
        return self.tp / called if called else 0.0


class Recall(_Binary):
    """Of the positive samples, the part that is called positive: score above 0.5, where Precision takes 0.5 too.

    Args:
        name (str): its name.

    Examples:
        >>> recall = proa.metric.Recall()
        >>> recall.update(np.array([0.9, 0.8, 0.1]), np.array([1, 0, 1]))
        >>> recall.accumulate()
        0.5
    """

    def __init__(self, name="recall", *args, **kwargs):
        super().__init__(name)

    def update(self, preds, labels, *args):
        """Adds scores in [0, 1] and labels 0 or 1."""
        guess, truth = self._rounded(preds, labels, np.rint)
        self.tp += int((guess & truth).sum())
        self.fn += int((~guess & truth).sum())

    def reset(self):
        self.tp = self.fn = 0

    def accumulate(self):
        positive = self.tp + self.fn
        return self.tp / positive if positive else 0.0


def _area_of_precision(pos, neg):
    """Area below precision over recall; `pos` and `neg` count the samples at or above each threshold, which falls."""
    called = pos + neg
    first = np.flatnonzero(called)[0]  # above, nothing is called positive, and precision is taken as 1
    precision = np.concatenate([[1.0], pos[first:] / called[first:]])
    recall = np.concatenate([[0.0], pos[first:] / pos[-1]])
    return float((np.diff(recall) * (precision[1:] + precision[:-1]) / 2).sum())


class Auc(Metric):
    """Area under a curve, from a histogram of scores.

    Args:
        curve (str): "ROC": true against false positive rate; "PR": precision against recall, by trapezoids
            between the thresholds. (The reference computes that of ROC for both.)
        num_thresholds (int): cells of the histogram, less one.
        name (str): its name.

    Examples:
        >>> auc = proa.metric.Auc()
        >>> auc.update(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0], [1]]))
        >>> auc.accumulate()
        1.0
    """

    def __init__(self, curve="ROC", num_thresholds=4095, name="auc", *args, **kwargs):
        if curve not in ("ROC", "PR"):
            raise _C.located(ValueError(f'Auc: curve must be "ROC" or "PR", not {curve!r}'))
        num_thresholds = known_int("Auc", "num_thresholds", num_thresholds)
        if not 0 < num_thresholds < 2**31:
            raise _C.located(ValueError(f"Auc: num_thresholds must be from 1 to 2^31 - 1; it is {num_thresholds}"))
        self._curve, self._num_thresholds, self._name = curve, num_thresholds, name
        self.reset()

    def update(self, preds, labels, *args):
        """Adds scores: [N, 2] (of both classes), [N, 1] or [N]; and labels 0 or 1, [N] or [N, 1]."""
        preds, labels = _array(preds), _array(labels).reshape(-1)
        scores = preds[:, 1] if preds.ndim == 2 and preds.shape[1] == 2 else preds.reshape(-1)
        if scores.shape != labels.shape:
            raise _C.located(ValueError(f"Auc: {scores.size} scores but {labels.size} labels"))
        if not ((scores >= 0) & (scores <= 1)).all():
            raise _C.located(ValueError("Auc: scores must be in [0, 1]"))
        cells = (scores * self._num_thresholds).astype("int64")
        size = self._num_thresholds + 1
        self._stat_pos += np.bincount(cells[labels == 1], minlength=size)
        self._stat_neg += np.bincount(cells[labels != 1], minlength=size)

    def reset(self):
        self._stat_pos = np.zeros(self._num_thresholds + 1, "int64")
        self._stat_neg = np.zeros(self._num_thresholds + 1, "int64")

    def accumulate(self):
        # Trapezoids, from the highest threshold down.
        pos, neg = np.cumsum(self._stat_pos[::-1]), np.cumsum(self._stat_neg[::-1])
        if pos[-1] == 0 or neg[-1] == 0:
            return 0.0
        if self._curve == "PR":
            return _area_of_precision(pos, neg)
        heights = (pos + np.concatenate([[0], pos[:-1]])) / 2.0
        return float((heights * self._stat_neg[::-1]).sum() / (pos[-1] * neg[-1]))

    def name(self):
        return self._name


def accuracy(input, label, k=1, correct=None, total=None, name=None):
    """Part of the samples whose label is among the k highest scores, as a tensor.

    Args:
        input (Tensor): scores, [N, classes].
        label (Tensor): class numbers, [N, 1] or [N].
        k (int): how many guesses count.
        correct, total: not used.

    Returns:
        Tensor: float32, 0-d.

    Examples:
        >>> proa.metric.accuracy(proa.to_tensor([[0.1, 0.9], [0.8, 0.2]]), proa.to_tensor([[1], [1]])).item()
        0.5
    """
    input, label = _C.tensor_argument(input, "accuracy", "input"), _C.tensor_argument(label, "accuracy", "label")
    guesses = _C.ops.argsort(input, -1, True)[:, : known_int("accuracy", "k", k)]
    label = _C.ops.reshape(label, [-1, 1]).astype(guesses.dtype)
    right = (guesses == label).astype("float32").sum(-1)
    return right.mean()
