"""Losses for very many classes: by a tree of them, with margins between them, and over a sample of them."""

from proa import _C
from proa.framework.attributes import is_late, known_int, reals
from proa.framework.grad_mode import no_grad
from proa.framework.requirements import require_sizes
from proa.tensor.precision import keeps_types, narrowed, widened

__all__ = ["class_center_sample", "hsigmoid_loss", "margin_cross_entropy"]


def _labels(what, label, num_classes, count=None):
    """Class numbers as int64 [N], of [N] or [N, 1]; those that are none are an error."""
    label = _C.tensor_argument(label, what, "label")
    if label.dtype not in (_C.int64, _C.int32):
        raise _C.located(TypeError(f"{what}: label must be int64 or int32; it is {label.dtype.name}"))
    if len(label.shape) not in (1, 2) or len(label.shape) == 2 and label.shape[1] != 1:
        raise _C.located(ValueError(f"{what}: label must be [N] or [N, 1]; it is {list(label.shape)}"))
    if count is not None:
        says = f"{what}: label must be of {count if type(count) is int else 'as many'} samples; it is {{}}"
        label = require_sizes(label, label.shape[:1], [count], says, label)
    label = label.reshape([-1]).astype(_C.int64)
    with no_grad():
        # Indices may count from the end: what is right both ways is in 0..num_classes - 1. A program computes what is
        # used, so both are.
        every = _C.ops.arange(0, num_classes, 1, _C.int64)
        return _C.ops.minimum(_C.ops.gather(every, label, 0), _C.ops.gather(every, label - num_classes, 0))


def _divided(what, group, size):
    """(group, the first class of this process, how many all have) where a group shares the classes; None for one that has all.

    Raises:
        TypeError: `group` is no Group, None or False.
    """
    if group is False:
        return None
    from proa.distributed import collective
    from proa.distributed.groups import Group, resolve

    if group is not None and not isinstance(group, Group):
        raise _C.located(
            TypeError(f"{what}: group must be what distributed.new_group gives, None or False, not {group!r}")
        )
    group = resolve(group)
    if group.nranks == 1 or not group.is_member():
        return None
    if not isinstance(size, int):
        raise _C.located(ValueError(f"{what}: the number of classes must be known where a group shares them"))
    sizes = _of_all(collective, group, size)
    return group, sum(sizes[: group.rank]), sum(sizes)


def _of_all(collective, group, number):
    """The number that each process of the group gives, in their order."""
    found = []
    collective.all_gather(found, _C.to_tensor([number], dtype=_C.int64), group)
    return [int(each.item()) for each in found]


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
    num_classes = known_int(what, "num_classes", num_classes)
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
            if not is_late(weight.shape[0]) and weight.shape[0] < num_classes - 1:
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


@keeps_types
def margin_cross_entropy(logits, label, margin1=1.0, margin2=0.5, margin3=0.0, scale=64.0, group=None,
                         return_softmax=False, reduction="mean"):  # fmt: skip
    """Cross entropy of cosines, of which those of the true classes are made smaller: cos(margin1 t + margin2) - margin3.

    t is the angle whose cosine the logit is. (1, 0.5, 0) is ArcFace, (1, 0, 0.35) CosFace, (1.35, 0, 0) SphereFace. The
    gradient is infinite at cosines of exactly 1 and -1.

    Args:
        logits (Tensor): [N, C], cosines. Of a group: to the classes of this process, which may be another number on each.
        label (Tensor): int64 or int32, [N] or [N, 1]. Of a group: the same on all processes, among the classes of all in
            the order of ranks.
        margin1, margin2, margin3 (float): the margins.
        scale (float): what all are multiplied by before the softmax.
        group (Group|None|False): processes that share the classes (model parallel); None is all of the job. False: this
            process has all classes, as in data parallel.
        return_softmax (bool): give the probabilities, too.
        reduction (str|None): "mean", "sum", or None for [N, 1].

    Returns:
        Tensor, or (Tensor, Tensor [N, C]) with return_softmax. Of a group: the loss over the classes of all, the same on each
        process, and the probabilities of this one's classes.

    Raises:
        TypeError: another group.
        ValueError: for other shapes or another reduction.
        IndexError: a label that is no class.

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
    margin1, margin2, margin3, scale = reals(what, margin1=margin1, margin2=margin2, margin3=margin3, scale=scale)
    divided = _divided(what, group, logits.shape[1])
    label = _labels(what, label, logits.shape[1] if divided is None else divided[2], logits.shape[0])
    if divided is not None:
        loss, softmax = _divided_margins(logits, label, (margin1, margin2, margin3), scale, *divided[:2])
    else:
        x = widened(logits)  # 64 times a cosine of 16 bits is an exponent that is wrong by several hundredths
        true = _C.ops.one_hot(label, x.shape[1]).astype(x.dtype)
        cosine = (x * true).sum(1, keepdim=True)
        moved = _moved(cosine, margin1, margin2, margin3)
        log_probability = _C.ops.log_softmax((x + true * (moved - cosine)) * scale, 1)
        loss = narrowed(-(log_probability * true).sum(1, keepdim=True), logits)
        softmax = narrowed(_C.ops.exp(log_probability), logits) if return_softmax else None
    loss = loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss
    return (loss, softmax) if return_softmax else loss


def _moved(cosine, margin1, margin2, margin3):
    return _C.ops.cos(_C.ops.acos(cosine) * margin1 + margin2) - margin3


def _divided_margins(logits, label, margins, scale, group, start):
    """(loss [N, 1] over the classes of all processes, probabilities of this one's)."""
    from proa.distributed import collective
    from proa.distributed.fleet.layers.mpu import mp_ops

    dtype = logits.dtype
    x = logits.astype(_C.float32) if dtype in (_C.float16, _C.bfloat16) else logits
    with no_grad():
        at = label - start
        here = _C.ops.logical_and(at >= 0, at < x.shape[1]).astype(x.dtype).unsqueeze(1)
        true = _C.ops.one_hot(at * here.reshape([-1]).astype(at.dtype), x.shape[1]).astype(x.dtype) * here
    # Where the true class is another's, a cosine of zero, whose gradient nothing asks for.
    cosine = (x * true).sum(1, keepdim=True)
    x = (x + true * (_moved(cosine, *margins) - cosine)) * scale
    highest = x.detach().max(1, keepdim=True)
    collective.all_reduce(highest, collective.ReduceOp.MAX, group)
    x = x - highest
    powers = _C.ops.exp(x)
    total = mp_ops.sum_up(powers.sum(1, keepdim=True), group)
    loss = _C.ops.log(total) - mp_ops.sum_up((x * true).sum(1, keepdim=True), group)
    return loss.astype(dtype), (powers / mp_ops.copy_in(total, group)).astype(dtype)


@no_grad()
def class_center_sample(label, num_classes, num_samples, group=None):
    """Classes to compute with: all that the labels name, and others at random until there are num_samples.

    Args:
        label (Tensor): int64 or int32 [N]. Of a group: the same on all processes, among the classes of all in the order of
            ranks.
        num_classes (int): of this process; may be another number on each process of a group.
        num_samples (int): how many classes at least, at most num_classes.
        group (Group|None|False): processes that share the classes (model parallel); None is all of the job. False: this
            process has all classes, as in data parallel.

    Returns:
        (Tensor, Tensor): int64, the labels as places in the second [N], and the classes chosen: those of the labels,
        ascending, then the others, which `proa.seed` decides. Of a group: the second are classes of this process, from 0; the
        places count through what all processes chose, in the order of ranks, and are the same on all.

    Raises:
        TypeError: another group.
        ValueError: num_samples is not in 1..num_classes.
        IndexError: a label that is no class.

    Examples:
        >>> label = proa.to_tensor([7, 2, 7])
        >>> places, classes = proa.nn.functional.class_center_sample(label, 10, 2)
        >>> places.tolist(), classes.tolist()
        ([1, 0, 1], [2, 7])
    """
    what = "class_center_sample"
    label = _C.tensor_argument(label, what, "label")
    num_classes, num_samples = (
        known_int(what, "num_classes", num_classes),
        known_int(what, "num_samples", num_samples),
    )
    if not 1 <= num_samples <= num_classes:
        raise _C.located(ValueError(f"{what}: num_samples must be in 1..{num_classes}; it is {num_samples}"))
    divided = _divided(what, group, num_classes)
    if divided is None:
        label = _labels(what, label, num_classes)
        place, chosen = _chosen_classes(label, num_classes, num_samples)
        return _C.ops.gather(place, label, 0), chosen
    from proa.distributed import collective

    group, start, total = divided
    label = _labels(what, label, total)
    at = label - start
    here = _C.ops.logical_and(at >= 0, at < num_classes)
    own = _C.ops.masked_select(at, here)
    place, chosen = _chosen_classes(own, num_classes, num_samples)
    before = sum(_of_all(collective, group, chosen.shape[0])[: group.rank])
    # A label is a class of one process; the others add nothing.
    here = here.astype(_C.int64)
    places = (_C.ops.gather(place, at * here, 0) + before) * here
    collective.all_reduce(places, group=group)
    return places, chosen


def _chosen_classes(label, num_classes, num_samples):
    """(the place of each class in the order of choice, the classes chosen)."""
    every = _C.ops.arange(0, num_classes, 1, _C.int64)
    ones = _C.ops.full_like(label, 1).astype(_C.float32)
    named = _C.ops.scatter(_C.ops.full([num_classes], 0.0, _C.float32), label, ones, True) > 0.0
    # Named ones first, by their number; the others in the order of random numbers.
    key = _C.ops.where(
        named, (every - num_classes).astype(_C.float64), _C.ops.uniform([num_classes], _C.float64, 0.0, 1.0, 0)
    )
    order = _C.ops.argsort(key, 0, False)
    count = _C.ops.clip(named.astype(_C.int64).sum(), num_samples, None)
    return _C.ops.argsort(order, 0, False), _C.ops.masked_select(order, every < count)
