"""Metrics of many batches, with the old interface: reset, update, eval."""

import numpy as np

from proa import _C

__all__ = [
    "Accuracy", "Auc", "ChunkEvaluator", "CompositeMetric", "DetectionMAP", "EditDistance", "MetricBase", "Precision", "Recall",
]  # fmt: skip


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


class DetectionMAP:
    """How well a detector finds boxes, of a batch and of all batches since `reset`: two values of a program.

    What was counted before is kept here, not in a scope: runs of all executors add to it, where `accum_map` is fetched.

    Args:
        input (Tensor): what is found, as `layers.detection_map` takes it: float32, [rows, 6], a sequence for each image.
        gt_label (Tensor): the classes of the truths, [rows, 1], a sequence for each image.
        gt_box (Tensor): their boxes, [rows, 4].
        gt_difficult (Tensor, optional): whether they are difficult, [rows, 1].
        class_num (int): how many classes there are.
        background_label, overlap_threshold, evaluate_difficult, ap_version: as of `layers.detection_map`.

    Raises:
        RuntimeError: in eager mode.
        ValueError: as of `layers.detection_map`.

    Examples:
        >>> main = proa.static.Program()
        >>> with proa.static.program_guard(main):
        ...     found = proa.static.data("found", [None, 6], lod_level=1)
        ...     label = proa.static.data("label", [None, 1], lod_level=1)
        ...     box = proa.static.data("box", [None, 4], lod_level=1)
        ...     metric = proa.fluid.metrics.DetectionMAP(found, label, box, class_num=21)
        >>> [value.shape for value in metric.get_map_var()]
        [[1], [1]]
    """

    def __init__(self, input, gt_label, gt_box, gt_difficult=None, class_num=None, background_label=0,
                 overlap_threshold=0.5, evaluate_difficult=True, ap_version="integral"):  # fmt: skip
        from proa.fluid.layers import precision
        from proa.static import default_main_program, py_func

        parts = [gt_label] if gt_difficult is None else [gt_label, gt_difficult]
        label = _C.ops.concat([*(part.astype(gt_box.dtype) for part in parts), gt_box], 1)
        rows, truths = precision.counted(
            input, label, class_num, overlap_threshold, evaluate_difficult, ap_version, op="DetectionMAP"
        )
        self._map = precision.mean_precision(rows, truths, class_num, background_label, ap_version)
        block = default_main_program().current_block()
        self.reset()
        values = [*rows, truths]
        # More rows than this batch has; how many is known to the run alone.
        made = [block.create_var(shape=[-1], dtype=v.dtype) for v in rows]
        made.append(block.create_var(shape=[class_num], dtype=truths.dtype))
        *rows, truths = py_func(self._with_those_before, values, made)
        self._accumulated = precision.mean_precision(rows, truths, class_num, background_label, ap_version)

    def _with_those_before(self, *values):
        """What this batch and those before it counted: rows one after another, truths added up."""
        *rows, truths = (np.array(v.numpy()) for v in values)
        if self._before is not None:
            *earlier, truths_before = self._before
            rows = [np.concatenate(pair) for pair in zip(earlier, rows, strict=True)]
            order = np.argsort(rows[0], kind="stable")  # by class, as those of a batch are
            rows = [values[order] for values in rows]
            truths = truths_before + truths
        self._before = [*rows, truths]
        return self._before

    def get_map_var(self):
        """(the value of the batch, that of all batches), float32 [1] each, to be fetched."""
        return self._map, self._accumulated

    def reset(self, executor=None, reset_program=None):
        """Forgets all batches; the arguments of 1.8 are accepted."""
        self._before = None
