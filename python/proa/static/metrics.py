"""Metrics of a batch, as ops of the program."""

from proa import _C
from proa.static.parameters import create_global_var

__all__ = ["accuracy", "auc", "ctr_metric_bundle"]


def accuracy(input, label, k=1, correct=None, total=None):
    """The share of rows whose label is among the k highest scores.

    Args:
        input (Tensor): scores, [N, classes].
        label (Tensor): int64, [N, 1] or [N].
        k (int): how many scores count.
        correct, total (Tensor, optional): filled with the numbers of right and of all rows.

    Returns:
        Tensor: float32, [1].

    Examples:
        >>> scores = proa.to_tensor([[0.1, 0.9], [0.8, 0.2]])
        >>> proa.static.accuracy(scores, proa.to_tensor([[1], [1]])).tolist()
        [0.5]
    """
    if k < 1:
        raise _C.located(ValueError(f"accuracy: k must be positive, not {k!r}"))
    best = _C.ops.topk(input, k)[1]
    wanted = label.reshape([-1, 1])
    hits = (best == wanted.astype(best.dtype)).astype("float32").sum(-1)
    if correct is not None:
        _C.ops.store_(correct, hits.sum().reshape(correct.shape).astype(correct.dtype))
    if total is not None:
        _C.ops.store_(total, _C.ops.full_like(hits, 1).sum().reshape(total.shape).astype(total.dtype))
    return hits.mean().reshape([1])


def _curve(positive, negative, curve):
    """The area from counts of positives and negatives in buckets of rising scores."""
    positives = positive.flip([0]).cumsum(0)
    negatives = negative.flip([0]).cumsum(0)
    zero = positives[:1] * 0.0
    before_p = _C.ops.concat([zero, positives[:-1]], 0)
    before_n = _C.ops.concat([zero, negatives[:-1]], 0)
    all_p, all_n = positives[-1:], negatives[-1:]
    if curve == "ROC":
        area = ((negatives - before_n) * (positives + before_p) * 0.5).sum().reshape([1])
        product = all_p * all_n
        return _C.ops.where(product > 0.0, area / _C.ops.clip(product, 1.0, None), product * 0.0)
    precision = positives / _C.ops.clip(positives + negatives, 1.0, None)
    before = before_p / _C.ops.clip(before_p + before_n, 1.0, None)
    area = ((positives - before_p) * (precision + before) * 0.5).sum().reshape([1])
    return _C.ops.where(all_p > 0.0, area / _C.ops.clip(all_p, 1.0, None), all_p * 0.0)


def auc(input, label, curve="ROC", num_thresholds=4095, topk=1, slide_steps=1, ins_tag_weight=None):
    """The area under a curve: over all batches so far, and of this batch.

    Args:
        input (Tensor): probabilities, [N, 2] (the second column counts) or [N, 1].
        label (Tensor): 0 or 1, [N, 1].
        curve (str): "ROC" or "PR".
        num_thresholds (int): how finely probabilities are told apart.
        topk, slide_steps: accepted; the second result is of this batch.

    Returns:
        (Tensor, Tensor, list): both areas, [1] float64, and the counts that are kept:
        [positives of all, negatives of all, positives of all, negatives of all].

    Examples:
        >>> static = proa.static
        >>> main = static.Program()
        >>> with static.program_guard(main):
        ...     chance, label = static.data("chance", [None, 2]), static.data("label", [None, 1], "int64")
        ...     area, of_batch, counts = static.auc(chance, label)
        >>> chances = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]], "float32")
        >>> feed = {"chance": chances, "label": np.array([[0], [1], [1]])}
        >>> static.Executor().run(main, feed=feed, fetch_list=[area])[0].tolist()
        [1.0]
    """
    if curve not in ("ROC", "PR"):
        raise _C.located(ValueError(f"auc: curve must be 'ROC' or 'PR', not {curve!r}"))
    buckets = num_thresholds + 1
    score = input[:, -1].astype("float64")
    index = _C.ops.clip((score * num_thresholds).floor(), 0, num_thresholds).astype("int64")
    truth = (label.reshape([-1]) > 0).astype("float64")
    rows = _C.ops.one_hot(index, buckets, _C.float64)
    positive, negative = (rows * truth.unsqueeze(-1)).sum(0), (rows * (1.0 - truth).unsqueeze(-1)).sum(0)
    kept = [create_global_var([buckets], 0.0, "float64", persistable=True) for _ in range(2)]
    _C.ops.store_(kept[0], kept[0] + positive)
    _C.ops.store_(kept[1], kept[1] + negative)
    return _curve(kept[0], kept[1], curve), _curve(positive, negative, curve), [*kept, *kept]


def ctr_metric_bundle(input, label, ins_tag_weight=None):
    """Sums of errors of click probabilities over all batches.

    Returns:
        six Tensors [1]: squared errors, absolute errors, probabilities, sigmoids of them, labels, rows.

    Examples:
        >>> static = proa.static
        >>> main = static.Program()
        >>> with static.program_guard(main):
        ...     chance, label = static.data("chance", [None, 1]), static.data("label", [None, 1])
        ...     squared, absolute, *others = static.ctr_metric_bundle(chance, label)
        >>> feed = {"chance": np.array([[0.5], [1.0]], "float32"), "label": np.array([[1.0], [1.0]], "float32")}
        >>> [value.tolist() for value in static.Executor().run(main, feed=feed, fetch_list=[squared, absolute])]
        [[0.25], [0.5]]
    """
    label = label.astype(input.dtype)
    error = input - label
    sums = [error * error, error.abs(), input, _C.ops.sigmoid(input), label, _C.ops.full_like(input, 1.0)]
    results = []
    for value in sums:
        kept = create_global_var([1], 0.0, "float32", persistable=True)
        _C.ops.store_(kept, kept + value.sum().reshape([1]))
        results.append(kept)
    return results
