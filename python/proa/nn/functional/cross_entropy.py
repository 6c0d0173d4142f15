"""Cross entropy and negative log-likelihood, with their weights and ignored labels, and what is made of them."""

from proa import _C
from proa._deprecation import deprecated
from proa.framework.attributes import is_late, known_int, real
from proa.framework.requirements import require_sizes, with_size
from proa.nn.functional.loss import _check_reduction, reduce
from proa.nn.functional.shapes import require_dims
from proa.tensor.attribute import optional_tensor
from proa.tensor.manipulation import known_axis_of
from proa.tensor.precision import narrowed, widened


def _label_at_axis(op, label, input, axis):
    """Hard labels with a dim of size 1 at the class axis, and whether they came without it."""
    shape = input.shape
    without = [*shape[:axis], *shape[axis + 1 :]]
    given = list(label.shape)
    if len(given) == len(shape) and is_late(given[axis]):
        return with_size(label, axis, 1, f"{op}: label must have 1 at axis {axis}; it is {{}}"), False
    # Open sizes are taken for equal, and the op checks them; an open one beside a number is checked here.
    half = [(a, b) for a, b in zip(given, without) if is_late(a) != is_late(b)] if len(given) == len(without) else []
    if half:
        says = f"{op}: label must have the shape of input without axis {axis}; input is {{}}, label is {{}}"
        label = require_sizes(label, [a for a, _ in half], [b for _, b in half], says, input, label)
        return _C.ops.unsqueeze(label, axis), True
    if given == without:
        return _C.ops.unsqueeze(label, axis), True
    if given == [*shape[:axis], 1, *shape[axis + 1 :]] or -1 in given or -1 in shape:
        return label, False
    hint = "; pass soft_label=True for probabilities of classes, such as one-hot labels" if given == list(shape) else ""
    raise _C.located(
        ValueError(
            f"{op}: label must have the shape of input without axis {axis}, {without}, or with 1 there; "
            f"input is {list(shape)}, label is {given} {label.dtype.name}{hint}"
        )
    )


def _places(label, weight, ignore_index, dtype):
    """What each label weighs in a mean: its class's weight, 0 where it is ignored."""
    if weight is not None and not weight.stop_gradient:
        kept = label != ignore_index
        classes = _C.ops.where(kept, label, _C.ops.full_like(label, 0))
        places = _C.ops.gather(weight, classes, 0)
        return _C.ops.where(kept, places, _C.ops.full_like(places, 0.0)).astype(dtype)
    if weight is not None:
        return _C.ops.nll_loss_weight(label, weight, ignore_index).astype(dtype)
    return (label != ignore_index).astype(dtype)


def _hard_loss(input, label, ignore_index, axis, use_softmax):
    """The loss of each place, 0 where it is ignored, with size 1 at axis."""
    ops = _C.ops
    if use_softmax:
        return ops.softmax_with_cross_entropy(input, label, False, ignore_index, axis)
    classes = input.shape[axis]
    last = [i for i in range(len(input.shape)) if i != axis % len(input.shape)]
    rows = ops.reshape(ops.transpose(input, [*last, axis]), [-1, classes])
    label = label.astype(_C.int64)
    # The one that picks with checks of labels; the logarithm comes after, so that others are not in its gradient.
    picked = -ops.nll_loss(rows, ops.reshape(label, [-1]), None, ignore_index)
    picked = ops.reshape(picked, label.shape)
    kept = label != ignore_index
    one = ops.full_like(picked, 1.0)
    return -ops.where(kept, picked, one).log()


def _weighted(loss, places, reduction):
    """Reduces; the mean is over the weights, 0 if all of them are 0."""
    if reduction != "mean" or places is None:
        return reduce(loss, reduction)
    total = widened(places).sum()
    return narrowed(widened(loss).sum() / (total + (total == 0.0).astype(total.dtype)), loss)


def _smoothed(op, input, label, axis, share):
    """The soft labels that are (1 - share) of `label`, which are hard or soft ones, and share of all classes alike."""
    if not 0.0 < share <= 1.0:
        raise _C.located(ValueError(f"{op}: label_smoothing must be from 0 to 1, not {share}"))
    classes, rank = input.shape[axis], len(input.shape)
    if len(label.shape) < rank or list(label.shape) != list(input.shape) or label.is_integer() and classes == 1:
        label, _ = _label_at_axis(op, label, input, axis)
        label = _C.ops.one_hot(_C.ops.squeeze(label.astype(_C.int64), axis), classes)
        label = _C.ops.transpose(label, [*range(axis), rank - 1, *range(axis, rank - 1)])
    return label.astype(input.dtype) * (1.0 - share) + share / classes


def cross_entropy(
    input,
    label,
    weight=None,
    ignore_index=-100,
    reduction="mean",
    soft_label=False,
    axis=-1,
    use_softmax=True,
    label_smoothing=0.0,
    name=None,
):
    """Cross entropy of softmax(input) with a label.

    Args:
        input (Tensor): logits, or probabilities with use_softmax=False; classes along `axis`.
        label (Tensor): class numbers, of the shape of input without `axis` (or with 1 there);
            probabilities in the shape of input with soft_label=True.
        weight (Tensor, optional): of each class, [classes].
        ignore_index (int): places with this label have a loss of 0 and do not count in the mean; with a negative
            number (the default) and no weight they do count.
        reduction (str): "mean" (over the weights of the places), "sum" or "none".
        soft_label (bool): label holds probabilities. It gets no gradient.
        axis (int): where the classes are.
        use_softmax (bool): input is logits.
        label_smoothing (float): from 0 to 1, so much of each label goes to all classes alike; the label is a soft one then.

    Returns:
        Tensor: 0-d; without reduction the shape of label (1 at `axis` with soft labels).

    Examples:
        >>> logits = proa.to_tensor([[0.0, 0.0], [0.0, 0.0]])
        >>> round(proa.nn.functional.cross_entropy(logits, proa.to_tensor([0, 1])).item(), 4)
        0.6931
    """
    input = _C.tensor_argument(input, "cross_entropy", "input")
    label = _C.tensor_argument(label, "cross_entropy", "label")
    op = "cross_entropy"
    weight = optional_tensor(weight, op, "weight")
    _check_reduction(op, reduction)
    ops, rank = _C.ops, len(input.shape)
    axis, ignore_index = known_axis_of(op, axis, input, tensor="input"), known_int(op, "ignore_index", ignore_index)
    if weight is not None:
        classes = input.shape[axis]
        says = f"{op}: weight must be [{'classes' if is_late(classes) else classes}]; it is {{}}"
        if len(weight.shape) != 1:
            raise _C.located(ValueError(says.format(list(weight.shape))))
        weight = require_sizes(weight, weight.shape, [classes], says, weight)
    label_smoothing = real(op, "label_smoothing", label_smoothing)
    if label_smoothing:
        label = _smoothed(op, input, label, axis, label_smoothing)
        soft_label = True
    if soft_label:
        if list(label.shape) != list(input.shape):
            raise _C.located(
                ValueError(
                    f"{op}: a soft label has the shape of input; input is {list(input.shape)}, "
                    f"label is {list(label.shape)} {label.dtype.name}"
                )
            )
        label = label.detach()
        if use_softmax:
            loss = ops.softmax_with_cross_entropy(input, label, True, ignore_index, axis)
        else:
            loss = -(input.log() * label).sum(axis, keepdim=True)
        if weight is None:
            return reduce(loss, reduction)
        shape = [1] * rank
        shape[axis] = -1
        places = (label * ops.reshape(weight, shape)).sum(axis, keepdim=True)
        return _weighted(loss * places, places, reduction)
    label, squeezed = _label_at_axis(op, label, input, axis)
    loss = _hard_loss(input, label, ignore_index, axis, use_softmax)
    places = None
    # A negative number ignores no label: such a one adds 0 and is counted, as in the reference.
    if weight is not None or reduction == "mean" and ignore_index >= 0:
        places = _places(label, weight, ignore_index, loss.dtype)
    if weight is not None:
        loss = loss * places
    if reduction == "none":
        return ops.squeeze(loss, axis) if squeezed else loss
    return _weighted(loss, places, reduction)


@deprecated("paddle.nn.functional.cross_entropy", since="2.0")
def softmax_with_cross_entropy(
    logits,
    label,
    soft_label=False,
    ignore_index=-100,
    numeric_stable_mode=True,
    return_softmax=False,
    axis=-1,
):
    """Cross entropy of softmax(logits), element by element, with 1 at `axis`.

    Args:
        logits (Tensor): classes along `axis`.
        label (Tensor): as in cross_entropy, with 1 at `axis` unless soft.
        soft_label, ignore_index, axis: as in cross_entropy.
        numeric_stable_mode (bool): accepted; it always is.
        return_softmax (bool): return (loss, softmax).

    Examples:
        >>> np.round(proa.nn.functional.softmax_with_cross_entropy(proa.zeros([1, 2]), proa.to_tensor([[1]])).astype("float64").numpy(), 4).tolist()
        [[0.6931]]
    """
    logits = _C.tensor_argument(logits, "softmax_with_cross_entropy", "logits")
    label = _C.tensor_argument(label, "softmax_with_cross_entropy", "label")
    require_dims("softmax_with_cross_entropy", "logits", logits, 1, float("inf"))
    axis = known_axis_of("softmax_with_cross_entropy", axis, logits, tensor="logits")
    if not soft_label and len(label.shape) == len(logits.shape) - 1:
        label = _C.ops.unsqueeze(label, axis)
    loss = cross_entropy(logits, label, None, ignore_index, "none", soft_label, axis)
    return (loss, _C.ops.softmax(logits, axis)) if return_softmax else loss


def nll_loss(input, label, weight=None, ignore_index=-100, reduction="mean", name=None):
    """-weight * input at the labels: negative log-likelihood.

    Args:
        input (Tensor): log-probabilities, [N, C] or [N, C, d1, ...].
        label (Tensor): class numbers, [N] or [N, d1, ...]; [N, 1] is read as [N].
        weight (Tensor, optional): of each class, [C].
        ignore_index (int): places with this label do not count.
        reduction (str): "mean" (over the weights of the places), "sum" or "none".

    Examples:
        >>> proa.nn.functional.nll_loss(proa.to_tensor([[-0.5, -1.5]]), proa.to_tensor([1])).item()
        1.5
    """
    input = _C.tensor_argument(input, "nll_loss", "input")
    label = _C.tensor_argument(label, "nll_loss", "label")
    _check_reduction("nll_loss", reduction)
    if len(input.shape) < 2:
        raise _C.located(ValueError(f"nll_loss: input must be [N, C] or [N, C, d1, ...]; it is {list(input.shape)}"))
    if len(input.shape) == 2 and len(label.shape) == 2 and (is_late(label.shape[1]) or label.shape[1] == 1):
        # As data sets give labels.
        label = _C.ops.squeeze(with_size(label, 1, 1, "nll_loss: label must be [N] or [N, 1]; it is {}"), [1])
    if list(label.shape) != [input.shape[0], *input.shape[2:]]:
        raise _C.located(
            ValueError(
                f"nll_loss: label must have the shape of input without axis 1; input is {list(input.shape)}, "
                f"label is {list(label.shape)}"
            )
        )
    ignore_index = known_int("nll_loss", "ignore_index", ignore_index)
    weight = optional_tensor(weight, "nll_loss", "weight")
    if weight is None or weight.stop_gradient:
        loss = _C.ops.nll_loss(input, label, weight, ignore_index)
        if reduction != "mean":
            return reduce(loss, reduction)
        return _weighted(loss, _places(label, weight, ignore_index, loss.dtype), reduction)
    if list(weight.shape) != [input.shape[1]]:
        raise _C.located(ValueError(f"nll_loss: weight must be [{input.shape[1]}]; it is {list(weight.shape)}"))
    loss = _C.ops.nll_loss(input, label, None, ignore_index)
    places = _places(label, weight, ignore_index, loss.dtype)
    return _weighted(loss * places, places, reduction)


def npair_loss(anchor, positive, labels, l2_reg=0.002):
    """The N-pair loss (Sohn, 2016): cross entropy of anchors' similarities, plus a penalty on lengths.

    Args:
        anchor, positive (Tensor): [N, size].
        labels (Tensor): [N].
        l2_reg (float): strength of the penalty.

    Examples:
        >>> proa.nn.functional.npair_loss(proa.ones([2, 3]), proa.ones([2, 3]), proa.to_tensor([0.0, 1.0])).shape
        []
    """
    anchor = _C.tensor_argument(anchor, "npair_loss", "anchor")
    positive = _C.tensor_argument(positive, "npair_loss", "positive")
    labels = _C.tensor_argument(labels, "npair_loss", "labels")
    l2_reg = real("npair_loss", "l2_reg", l2_reg)
    labels = _C.ops.reshape(labels, [-1, 1])
    given = anchor, positive
    anchor, positive = widened(anchor), widened(positive)
    same = (labels == _C.ops.transpose(labels, [1, 0])).astype(anchor.dtype)
    target = same / same.sum(1, keepdim=True)
    lengths = ((anchor * anchor).sum(1) + (positive * positive).sum(1)).mean() * (0.25 * l2_reg)
    similar = _C.ops.matmul(anchor, positive, False, True)
    return narrowed(lengths + cross_entropy(similar, target, soft_label=True), *given)
