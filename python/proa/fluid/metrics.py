"""Metrics of many batches, with the old interface: reset, update, eval."""

import numpy as np

from proa import _C

__all__ = ["Accuracy", "Auc", "ChunkEvaluator", "CompositeMetric", "EditDistance", "MetricBase", "Precision", "Recall"]


class MetricBase:
    """Base of metrics."""

    def __init__(self, name=None):
        self._name = name or type(self).__name__

    def __str__(self):
        return self._name

    def reset(self):
        """Forgets all batches."""
        for name, value in self.__dict__.items():
            if not name.startswith("_"):
                self.__dict__[name] = type(value)() if not isinstance(value, np.ndarray) else np.zeros_like(value)


class Accuracy(MetricBase):
    """The mean of values, each with its weight."""

    def __init__(self, name=None):
        super().__init__(name)
        self.value = 0.0
        self.weight = 0.0

    def update(self, value, weight):
        """One batch: its accuracy, and how many samples it has."""
        if weight < 0:
            raise _C.located(ValueError(f"Accuracy.update: weight must not be negative; it is {weight}"))
        self.value += float(np.asarray(value).reshape(-1)[0]) * weight
        self.weight += weight

    def eval(self):
        """The mean of all batches."""
        if self.weight == 0:
            raise _C.located(ValueError("Accuracy.eval: there is no data; call update first"))
        return self.value / self.weight


class Precision(MetricBase):
    """Of what was predicted true, how much is."""

    def __init__(self, name=None):
        super().__init__(name)
        self.tp = 0
        self.fp = 0

    def update(self, preds, labels):
        """One batch of predictions and labels, 0 or 1."""
        chosen = np.rint(np.asarray(preds)).astype("int64").ravel() == 1
        truth = np.asarray(labels).ravel() == 1
        self.tp += int((chosen & truth).sum())
        self.fp += int((chosen & ~truth).sum())

    def eval(self):
        """The share so far; 0 without any."""
        return float(self.tp) / (self.tp + self.fp) if self.tp + self.fp else 0.0


class Recall(MetricBase):
    """Of what is true, how much was predicted."""

    def __init__(self, name=None):
        super().__init__(name)
        self.tp = 0
        self.fn = 0

    def update(self, preds, labels):
        """One batch of predictions and labels, 0 or 1."""
        chosen = np.rint(np.asarray(preds)).astype("int64").ravel() == 1
        truth = np.asarray(labels).ravel() == 1
        self.tp += int((chosen & truth).sum())
        self.fn += int((~chosen & truth).sum())

    def eval(self):
        """The share so far; 0 without any."""
        return float(self.tp) / (self.tp + self.fn) if self.tp + self.fn else 0.0


class Auc(MetricBase):
    """The area under the curve of true over false positives."""

    def __init__(self, name=None, curve="ROC", num_thresholds=4095):
        super().__init__(name)
        from proa.metric import Auc as New

        self._metric = New(curve, num_thresholds)

    def reset(self):
        """Forgets all batches."""
        self._metric.reset()

    def update(self, preds, labels):
        """One batch: probabilities [N, 2] and labels [N, 1]."""
        self._metric.update(preds, labels)

    def eval(self):
        """The area so far."""
        return self._metric.accumulate()


class EditDistance(MetricBase):
    """The mean of edit distances, and the share of sequences with errors."""

    def __init__(self, name=None):
        super().__init__(name)
        self.total_distance = 0.0
        self.seq_num = 0
        self.instance_error = 0

    def update(self, distances, seq_num):
        """One batch: its distances, and how many sequences it has."""
        distances = np.asarray(distances)
        self.total_distance += float(distances.sum())
        self.seq_num += int(seq_num)
        self.instance_error += int((distances != 0).sum())

    def eval(self):
        """(mean distance, share of sequences with errors)."""
        if self.seq_num == 0:
            raise _C.located(ValueError("EditDistance.eval: there is no data; call update first"))
        return self.total_distance / self.seq_num, self.instance_error / float(self.seq_num)


class CompositeMetric(MetricBase):
    """Several metrics of the same predictions."""

    def __init__(self, name=None):
        super().__init__(name)
        self._metrics = []

    def add_metric(self, metric):
        """Takes one more."""
        self._metrics.append(metric)

    def reset(self):
        """Forgets all batches."""
        for metric in self._metrics:
            metric.reset()

    def update(self, preds, labels):
        """One batch, for all metrics."""
        for metric in self._metrics:
            metric.update(preds, labels)

    def eval(self):
        """What each metric says."""
        return [metric.eval() for metric in self._metrics]


class ChunkEvaluator(MetricBase):
    """Precision, recall and F1 of chunks, from the counts that `layers.chunk_eval` gives for batches.

    Examples:
        >>> chunks = proa.fluid.metrics.ChunkEvaluator()
        >>> chunks.update(num_infer_chunks=4, num_label_chunks=5, num_correct_chunks=2)
        >>> [round(value, 3) for value in chunks.eval()]
        [0.5, 0.4, 0.444]
    """

    def __init__(self, name=None):
        super().__init__(name)
        self.num_infer_chunks = self.num_label_chunks = self.num_correct_chunks = 0

    def update(self, num_infer_chunks, num_label_chunks, num_correct_chunks):
        """One batch: chunks that were found, that there are, that are right."""
        self.num_infer_chunks += int(np.asarray(num_infer_chunks).reshape(-1)[0])
        self.num_label_chunks += int(np.asarray(num_label_chunks).reshape(-1)[0])
        self.num_correct_chunks += int(np.asarray(num_correct_chunks).reshape(-1)[0])

    def eval(self):
        """(precision, recall, F1); 0 where there are no chunks."""
        right = self.num_correct_chunks
        precision = right / self.num_infer_chunks if self.num_infer_chunks else 0.0
        recall = right / self.num_label_chunks if self.num_label_chunks else 0.0
        return precision, recall, 2 * precision * recall / (precision + recall) if right else 0.0
