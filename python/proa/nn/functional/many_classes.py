"""Losses for very many classes: by a tree of them, with margins between them, and over a sample of them."""

from proa import _C
from proa.framework.attributes import known_number
from proa.framework.grad_mode import no_grad

__all__ = ["class_center_sample", "hsigmoid_loss", "margin_cross_entropy"]


def _labels(what, label, num_classes, count=None):
    """Class numbers as int64 [N], of [N] or [N, 1]; those that are none are an error."""
    label = _C.tensor_argument(label, what, "label")
    if label.dtype not in (_C.int64, _C.int32):
        raise _C.located(TypeError(f"{what}: label must be int64 or int32; it is {label.dtype.name}"))
    if len(label.shape) not in (1, 2) or len(label.shape) == 2 and label.shape[1] != 1:
        raise _C.located(ValueError(f"{what}: label must be [N] or [N, 1]; it is {list(label.shape)}"))
    if count is not None and type(count) is int and type(label.shape[0]) is int and label.shape[0] != count:
        raise _C.located(ValueError(f"{what}: label must be of {count} samples; it is {list(label.shape)}"))
    label = label.reshape([-1]).astype(_C.int64)
    with no_grad():
        # Indices may count from the end: what is right both ways is in 0..num_classes - 1.
        every = _C.ops.arange(0, num_classes, 1, _C.int64)
        _C.ops.gather(every, label, 0)
        return _C.ops.gather(every, label - num_classes, 0)


def hsigmoid_loss(input, label, num_classes, weight, bias=None, path_table=None, path_code=None, is_sparse=False,
                  name=None):  # fmt: skip
    """The loss of finding a class by a walk down a binary tree: the cross entropies of the turns on the way.

    Without path_table the tree is the complete one, in which class c is the leaf c + num_classes. A level that a shorter
    way does not have counts log(2), as in the reference; its gradient is zero.

    Args:
        input (Tensor): [N, D].
        label (Tensor): int64 [N] or [N, 1].
        num_classes (int): at least 2.
        weight (Tensor): [num_classes - 1, D], one row for each inner node (of a tree of one's own, any number of rows).
        bias (Tensor, optional): [num_classes - 1] or [num_classes - 1, 1].
        path_table (Tensor, optional): int64 [N, L], the nodes on the way of each sample's class, negative where it is
            shorter.
        path_code (Tensor, optional): int64 [N, L], 1 where the way turns right there. Needed with path_table.
        is_sparse (bool): accepted; gradients are dense.

    Returns:
        Tensor: [N, 1].

    Raises:
        ValueError: fewer than two classes, other shapes, or one of path_table and path_code alone.

    Examples:
        >>> x, label = proa.ones([2, 3]), proa.to_tensor([0, 3])
        >>> loss = proa.nn.functional.hsigmoid_loss(x, label, 4, proa.zeros([3, 3]))
        >>> np.round(loss.numpy().astype("float64"), 4).tolist()
        [[1.3863], [1.3863]]
    """
    what = "hsigmoid_loss"
    x = _C.tensor_argument(input, what, "input")
    weight = _C.tensor_argument(weight, what, "weight")
    if bias is not None:
        bias = _C.tensor_argument(bias, what, "bias")
    num_classes = known_number(what, "num_classes", num_classes)
    if not isinstance(num_classes, int) or num_classes < 2:
        raise _C.located(ValueError(f"{what}: num_classes must be at least 2; it is {num_classes!r}"))
    if len(x.shape) != 2 or len(weight.shape) != 2 or weight.shape[1] != x.shape[1]:
        raise _C.located(
            ValueError(
                f"{what}: input must be [N, D] and weight [.., D]; they are {list(x.shape)}, {list(weight.shape)}"
            )
        )
    if (path_table is None) != (path_code is None):
        raise _C.located(ValueError(f"{what}: path_table and path_code belong together; give both or none"))
    with no_grad():
        if path_table is None:
            label = _labels(what, label, num_classes, x.shape[0])
            if weight.shape[0] < num_classes - 1:
                raise _C.located(
                    ValueError(f"{what}: weight must have {num_classes - 1} rows; it is {list(weight.shape)}")
                )
            powers = _C.to_tensor([1 << i for i in range((num_classes - 1).bit_length())], dtype=_C.int64)
            leaf = label.unsqueeze(1) + num_classes
            turns = _C.ops.remainder(_C.ops.floor_divide(leaf, powers), _C.to_tensor([2]))
            nodes = _C.ops.floor_divide(leaf, powers * 2) - 1
        else:
            nodes, turns = path_table.astype(_C.int64), path_code.astype(_C.int64)
        there = nodes >= 0
        flat = _C.ops.clip(nodes, 0, None).reshape([-1])
    rows = _C.ops.gather(weight, flat, 0).reshape([*nodes.shape, x.shape[1]])
    scores = (rows * x.unsqueeze(1)).sum(-1)
    if bias is not None:
        scores = scores + _C.ops.gather(bias.reshape([-1]), flat, 0).reshape(nodes.shape)
    scores = scores * there.astype(scores.dtype)
    softplus = _C.ops.clip(scores, 0.0, None) + _C.ops.log1p(_C.ops.exp(-_C.ops.abs(scores)))
    return (softplus - scores * turns.astype(scores.dtype)).sum(1, keepdim=True)


def margin_cross_entropy(logits, label, margin1=1.0, margin2=0.5, margin3=0.0, scale=64.0, group=None,
                         return_softmax=False, reduction="mean"):  # fmt: skip
    """Cross entropy of cosines, of which those of the true classes are made smaller: cos(margin1 t + margin2) - margin3.

    t is the angle whose cosine the logit is. (1, 0.5, 0) is ArcFace, (1, 0, 0.35) CosFace, (1.35, 0, 0) SphereFace. The
    gradient is infinite at cosines of exactly 1 and -1.

    Args:
        logits (Tensor): [N, C], cosines.
        label (Tensor): int64 or int32, [N] or [N, 1].
        margin1, margin2, margin3 (float): the margins.
        scale (float): what all are multiplied by before the softmax.
        group (optional): of processes that share the classes; one process has all.
        return_softmax (bool): give the probabilities, too.
        reduction (str|None): "mean", "sum", or None for [N, 1].

    Returns:
        Tensor, or (Tensor, Tensor [N, C]) with return_softmax.

    Raises:
        ValueError: for other shapes or another reduction.

    Examples:
        >>> logits = proa.to_tensor([[0.5, 0.1], [0.0, 0.5]])
        >>> loss = proa.nn.functional.margin_cross_entropy(logits, proa.to_tensor([0, 1]), scale=4.0)
        >>> round(loss.item(), 4)
        0.7523
    """
    what = "margin_cross_entropy"
    logits = _C.tensor_argument(logits, what, "logits")
    if len(logits.shape) != 2:
        raise _C.located(ValueError(f"{what}: logits must be [N, C]; it is {list(logits.shape)}"))
    if reduction not in ("mean", "sum", None):
        raise _C.located(ValueError(f"{what}: reduction must be 'mean', 'sum' or None, not {reduction!r}"))
    label = _labels(what, label, logits.shape[1], logits.shape[0])
    true = _C.ops.one_hot(label, logits.shape[1]).astype(logits.dtype)
    cosine = (logits * true).sum(1, keepdim=True)
    moved = _C.ops.cos(_C.ops.acos(cosine) * margin1 + margin2) - margin3
    log_probability = _C.ops.log_softmax((logits + true * (moved - cosine)) * scale, 1)
    loss = -(log_probability * true).sum(1, keepdim=True)
    loss = loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss
    return (loss, _C.ops.exp(log_probability)) if return_softmax else loss


@no_grad()
def class_center_sample(label, num_classes, num_samples, group=None):
    """Classes to compute with: all that the labels name, and others at random until there are num_samples.

    Args:
        label (Tensor): int64 or int32 [N].
        num_classes (int): of all.
        num_samples (int): how many classes at least, at most num_classes.
        group (optional): of processes that share the classes; one process has all.

    Returns:
        (Tensor, Tensor): int64, the labels as places in the second [N], and the classes chosen: those of the labels,
        ascending, then the others, which `proa.seed` decides.

    Raises:
        ValueError: num_samples is not in 1..num_classes.

    Examples:
        >>> label = proa.to_tensor([7, 2, 7])
        >>> places, classes = proa.nn.functional.class_center_sample(label, 10, 2)
        >>> places.tolist(), classes.tolist()
        ([1, 0, 1], [2, 7])
    """
    what = "class_center_sample"
    label = _C.tensor_argument(label, what, "label")
    num_classes, num_samples = (
        known_number(what, "num_classes", num_classes),
        known_number(what, "num_samples", num_samples),
    )
    if not 1 <= num_samples <= num_classes:
        raise _C.located(ValueError(f"{what}: num_samples must be in 1..{num_classes}; it is {num_samples}"))
    label = _labels(what, label, num_classes)
    every = _C.ops.arange(0, num_classes, 1, _C.int64)
    named = (
        _C.ops.scatter(
            _C.ops.full([num_classes], 0.0, _C.float32), label, _C.ops.full_like(label, 1).astype(_C.float32), True
        )
        > 0.0
    )
    # Named ones first, by their number; the others in the order of random numbers.
    key = _C.ops.where(
        named, (every - num_classes).astype(_C.float64), _C.ops.uniform([num_classes], _C.float64, 0.0, 1.0, 0)
    )
    order = _C.ops.argsort(key, 0, False)
    count = _C.ops.clip(named.astype(_C.int64).sum(), num_samples, None)
    chosen = _C.ops.masked_select(order, every < count)
    place = _C.ops.argsort(order, 0, False)
    return _C.ops.gather(place, label, 0), chosen
