"""Metrics of a batch."""

from proa import _C
from proa.static.metrics import accuracy
from proa.static.metrics import auc as _auc

__all__ = ["accuracy", "auc", "mean_iou"]


def auc(input, label, curve="ROC", num_thresholds=4095, topk=1, slide_steps=1):
    """`static.auc`."""
    return _auc(input, label, curve, num_thresholds, topk, slide_steps)


def mean_iou(input, label, num_classes):
    """(the mean over classes of hits over hits and misses, [1]; misses and hits of each class, int32 [num_classes]).

    A wrong element is a miss of the class that was said and of the one that it is; classes of neither do not count.

    Args:
        input, label (Tensor): integer classes, of one shape.
        num_classes (int): how many there are.
    """
    said, true = (_C.ops.reshape(x, [-1]).astype("int64") for x in (input, label))
    zeros = _C.ops.full([num_classes], 0, _C.int32)
    right = _C.ops.equal(said, true)
    count = lambda classes, flags: _C.ops.scatter_nd_add(zeros, _C.ops.unsqueeze(classes, [1]), flags.astype("int32"))
    hits, wrong = count(true, right), _C.ops.logical_not(right)
    misses = count(said, wrong) + count(true, wrong)
    seen = (hits + misses).astype("float32")
    ratios = hits.astype("float32") / _C.ops.clip(seen, 1.0, None)
    classes = _C.ops.clip((seen > 0.0).astype("float32").sum(), 1.0, None)
    return (ratios.sum() / classes).reshape([1]), misses, hits
