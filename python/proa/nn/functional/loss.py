"""Losses."""

from proa import _C
from proa.framework.attributes import real, reals
from proa.framework.names import borrow as _borrow
from proa.framework.requirements import require_sizes, with_size
from proa.nn.functional.shapes import require_dims
from proa.tensor.attribute import optional_tensor
from proa.tensor.precision import narrowed, widened


def _check_reduction(op, reduction, more=()):
    allowed = ("mean", "sum", "none", *more)
    if reduction not in allowed:
        raise _C.located(ValueError(f"{op}: reduction must be one of {', '.join(allowed)}, not {reduction!r}"))


def _alike(op, input, label, parameter="input"):
    """The label, which has the shape of the input: [N] beside [N, 1] would be repeated to [N, N], without a word."""
    says = f"{op}: label must have the shape of {parameter}, {{}}; it is {{}}"
    if len(input.shape) != len(label.shape):
        raise _C.located(ValueError(says.format(list(input.shape), list(label.shape))))
    return require_sizes(label, label.shape, input.shape, says, input, label)


def reduce(loss, reduction):
    """The mean or the sum of a loss, or the loss itself."""
    if reduction == "mean":
        return loss.mean()
    return loss.sum() if reduction == "sum" else loss


def mse_loss(input, label, reduction="mean", name=None):
    """(input - label)**2.

    Args:
        input, label (Tensor): of shapes that broadcast.
        reduction (str): "mean", "sum" or "none".

    Examples:
        >>> F = proa.nn.functional
        >>> F.mse_loss(proa.to_tensor([1.0, 3.0]), proa.to_tensor([1.0, 1.0])).item()
        2.0
    """
    input = _C.tensor_argument(input, "mse_loss", "input")
    label = _C.tensor_argument(label, "mse_loss", "label")
    _check_reduction("mse_loss", reduction)
    return reduce((input - label).square(), reduction)


def square_error_cost(input, label):
    """(input - label)**2, element by element.

    Examples:
        >>> proa.nn.functional.square_error_cost(proa.to_tensor([1.0, 3.0]), proa.zeros([2])).tolist()
        [1.0, 9.0]
    """
    input = _C.tensor_argument(input, "square_error_cost", "input")
    label = _C.tensor_argument(label, "square_error_cost", "label")
    return (input - label).square()


def l1_loss(input, label, reduction="mean", name=None):
    """|input - label|.

    Examples:
        >>> proa.nn.functional.l1_loss(proa.to_tensor([1.0, 4.0]), proa.zeros([2])).item()
        2.5
    """
    input = _C.tensor_argument(input, "l1_loss", "input")
    label = _C.tensor_argument(label, "l1_loss", "label")
    _check_reduction("l1_loss", reduction)
    return reduce((input - label).abs(), reduction)


def smooth_l1_loss(input, label, reduction="mean", delta=1.0, name=None):
    """Huber's loss: d**2 / 2 where |d| <= delta, delta * |d| - delta**2 / 2 elsewhere.

    Examples:
        >>> proa.nn.functional.smooth_l1_loss(proa.to_tensor([0.5, 3.0]), proa.zeros([2])).item()
        1.3125
    """
    input = _C.tensor_argument(input, "smooth_l1_loss", "input")
    label = _C.tensor_argument(label, "smooth_l1_loss", "label")
    _check_reduction("smooth_l1_loss", reduction)
    label = _alike("smooth_l1_loss", input, label)
    delta = real("smooth_l1_loss", "delta", delta)
    distance = (input - label).abs()
    near = _C.ops.clip(distance, None, delta)  # min(|d|, delta)
    return reduce(near * (distance - near * 0.5), reduction)


def log_loss(input, label, epsilon=0.0001, name=None):
    """-label * log(input + epsilon) - (1 - label) * log(1 - input + epsilon), element by element.

    The label gets no gradient.

    Examples:
        >>> np.round(proa.nn.functional.log_loss(proa.to_tensor([[0.5]]), proa.to_tensor([[1.0]])).astype("float64").numpy(), 3).tolist()
        [[0.693]]
    """
    input = _C.tensor_argument(input, "log_loss", "input")
    label = _C.tensor_argument(label, "log_loss", "label").detach()
    epsilon = real("log_loss", "epsilon", epsilon)
    label = _alike("log_loss", input, label)
    return -(label * (input + epsilon).log()) - (1.0 - label) * (1.0 - input + epsilon).log()


def _weighted(op, loss, weight):
    return loss if weight is None else loss * real(op, "weight", weight, "a Tensor or an array")


def binary_cross_entropy(input, label, weight=None, reduction="mean", name=None):
    """-weight * (label * log(input) + (1 - label) * log(1 - input)).

    Logarithms are at least -100, so that a probability of exactly 0 or 1 gives a finite loss.

    Args:
        input (Tensor): probabilities.
        label (Tensor): 0 or 1, or between; the shape of input. It gets no gradient.
        weight (Tensor, optional): broadcast to input.
        reduction (str): "mean", "sum" or "none".

    Examples:
        >>> round(proa.nn.functional.binary_cross_entropy(proa.to_tensor([0.5]), proa.to_tensor([1.0])).item(), 4)
        0.6931
    """
    input = _C.tensor_argument(input, "binary_cross_entropy", "input")
    label = _C.tensor_argument(label, "binary_cross_entropy", "label")
    _check_reduction("binary_cross_entropy", reduction)
    label = _alike("binary_cross_entropy", input, label)
    loss = narrowed(_C.ops.binary_cross_entropy(widened(input), widened(label)), input)
    return reduce(_weighted("binary_cross_entropy", loss, weight), reduction)


def binary_cross_entropy_with_logits(logit, label, weight=None, reduction="mean", pos_weight=None, name=None):
    """binary_cross_entropy(sigmoid(logit), label), without overflow.

    Args:
        logit (Tensor): any shape.
        label (Tensor): 0 or 1, or between; the shape of logit. It gets no gradient.
        weight (Tensor, optional): broadcast to logit.
        reduction (str): "mean", "sum" or "none".
        pos_weight (Tensor, optional): factor of what a label adds as a positive sample, label * log(sigmoid(logit)).

    Examples:
        >>> round(proa.nn.functional.binary_cross_entropy_with_logits(proa.to_tensor([0.0]), proa.to_tensor([1.0])).item(), 4)
        0.6931
    """
    logit = _C.tensor_argument(logit, "binary_cross_entropy_with_logits", "logit")
    label = _C.tensor_argument(label, "binary_cross_entropy_with_logits", "label")
    _check_reduction("binary_cross_entropy_with_logits", reduction)
    label = _alike("binary_cross_entropy_with_logits", logit, label, "logit")
    if pos_weight is None:
        loss = _C.ops.sigmoid_cross_entropy(logit, label)
    else:
        label, op = label.detach(), "binary_cross_entropy_with_logits"
        pos_weight = real(op, "pos_weight", pos_weight, "a Tensor or an array")
        x = widened(logit)
        yes = -_C.ops.logsigmoid(x)  # the loss of label 1; x more is that of label 0
        loss = narrowed((1.0 - label) * (x + yes) + label * pos_weight * yes, logit)
    return reduce(_weighted("binary_cross_entropy_with_logits", loss, weight), reduction)


def sigmoid_focal_loss(logit, label, normalizer=None, alpha=0.25, gamma=2.0, reduction="sum", name=None):
    """Binary cross entropy that weighs easy samples down (Lin et al., 2017).

    Args:
        logit (Tensor): any shape.
        label (Tensor): 0 or 1; the shape of logit.
        normalizer (Tensor, optional): one element, by which the loss is divided.
        alpha (float): weight of positive samples; negative ones get 1 - alpha.
        gamma (float): how much easy samples are weighed down.
        reduction (str): "mean", "sum" or "none".

    Examples:
        >>> round(proa.nn.functional.sigmoid_focal_loss(proa.to_tensor([[0.0]]), proa.to_tensor([[1.0]])).item(), 4)
        0.0433
    """
    logit = _C.tensor_argument(logit, "sigmoid_focal_loss", "logit")
    label = _C.tensor_argument(label, "sigmoid_focal_loss", "label")
    normalizer = optional_tensor(normalizer, "sigmoid_focal_loss", "normalizer")
    _check_reduction("sigmoid_focal_loss", reduction)
    label = _alike("sigmoid_focal_loss", logit, label, "logit")
    alpha, gamma = reals("sigmoid_focal_loss", alpha=alpha, gamma=gamma)
    probability = _C.ops.sigmoid(logit)
    right = probability * label + (1.0 - probability) * (1.0 - label)
    loss = (
        _C.ops.sigmoid_cross_entropy(logit, label)
        * (label * alpha + (1.0 - label) * (1.0 - alpha))
        * (1.0 - right) ** gamma
    )
    return reduce(loss if normalizer is None else loss / normalizer, reduction)


def kl_div(input, label, reduction="mean", name=None):
    """label * (log(label) - input): the divergence of exp(input) from label.

    Args:
        input (Tensor): log-probabilities.
        label (Tensor): probabilities; where it is 0 the loss is 0. It gets no gradient.
        reduction (str): "batchmean" (the sum over the first dim's size), "mean", "sum" or "none".

    Examples:
        >>> proa.nn.functional.kl_div(proa.zeros([1, 2]), proa.to_tensor([[0.0, 1.0]]), reduction="sum").item()
        0.0
    """
    input = _C.tensor_argument(input, "kl_div", "input")
    label = _C.tensor_argument(label, "kl_div", "label")
    _check_reduction("kl_div", reduction, ("batchmean",))
    label = _alike("kl_div", input, label)
    loss = _C.ops.kl_divergence(input, label)
    if reduction == "batchmean":
        if not loss.ndim:
            return loss
        batch = _C.ops.slice(_C.ops.shape(loss), [0], [0], [1])
        total = widened(loss).sum()
        return narrowed(total / _C.ops.cast(_C.ops.squeeze(batch, [0]), total.dtype), loss)
    return reduce(loss, reduction)


def margin_ranking_loss(input, other, label, margin=0.0, reduction="mean", name=None):
    """max(-label * (input - other) + margin, 0); label is 1 where input should be the higher, -1 elsewhere.

    Examples:
        >>> proa.nn.functional.margin_ranking_loss(proa.to_tensor([1.0]), proa.to_tensor([3.0]), proa.to_tensor([1.0])).item()
        2.0
    """
    input = _C.tensor_argument(input, "margin_ranking_loss", "input")
    other = _C.tensor_argument(other, "margin_ranking_loss", "other")
    label = _C.tensor_argument(label, "margin_ranking_loss", "label")
    _check_reduction("margin_ranking_loss", reduction)
    margin = real("margin_ranking_loss", "margin", margin)
    return reduce(_C.ops.relu((other - input) * label + margin), reduction)


def hinge_embedding_loss(input, label, margin=1.0, reduction="mean", name=None):
    """input where label is 1, max(margin - input, 0) where it is -1.

    Examples:
        >>> proa.nn.functional.hinge_embedding_loss(proa.to_tensor([0.5, 0.5]), proa.to_tensor([1.0, -1.0])).item()
        0.5
    """
    input = _C.tensor_argument(input, "hinge_embedding_loss", "input")
    label = _C.tensor_argument(label, "hinge_embedding_loss", "label")
    _check_reduction("hinge_embedding_loss", reduction)
    margin = real("hinge_embedding_loss", "margin", margin)
    zero = _C.ops.full_like(input, 0.0)
    loss = _C.ops.where(label == 1, input, zero) + _C.ops.where(label == -1, _C.ops.relu(margin - input), zero)
    return reduce(loss, reduction)


def dice_loss(input, label, epsilon=1e-05, name=None):
    """1 - 2 * |input & label| / (|input| + |label|), the mean over samples.

    Args:
        input (Tensor): probabilities, [N, ..., classes].
        label (Tensor): class numbers, [N, ..., 1].
        epsilon (float): keeps the division finite.

    Examples:
        >>> round(proa.nn.functional.dice_loss(proa.to_tensor([[[0.9, 0.1]]]), proa.to_tensor([[[0]]])).item(), 3)
        0.1
    """
    input = _C.tensor_argument(input, "dice_loss", "input")
    require_dims("dice_loss", "input", input, 2, float("inf"))
    label = _C.tensor_argument(label, "dice_loss", "label")
    require_dims("dice_loss", "label", label, len(input.shape))
    label = with_size(label, len(label.shape) - 1, 1, "dice_loss: the last dim of label must be 1; label is {}")
    epsilon = real("dice_loss", "epsilon", epsilon)
    hot = _C.ops.one_hot(_C.ops.squeeze(label, -1), input.shape[-1]).astype(input.dtype)
    axes = list(range(1, len(input.shape)))
    probability, hot = widened(input), widened(hot)
    both = (probability * hot).sum(axes)
    return narrowed((1.0 - both * 2.0 / (probability.sum(axes) + hot.sum(axes) + epsilon)).mean(), input)


def ctc_loss(log_probs, labels, input_lengths, label_lengths, blank=0, reduction="mean", norm_by_times=False):
    """Connectionist temporal classification (Graves et al., 2006).

    A sample whose label has no alignment (it is longer than the input, counting a step between equal
    neighbours) has the loss 0 and no gradient, as in PaddlePaddle.

    Args:
        log_probs (Tensor): logits (they are normalized here), [T, N, classes with blank].
        labels (Tensor): class numbers, [N, longest label].
        input_lengths (Tensor): steps of each sample, [N].
        label_lengths (Tensor): length of each label, [N].
        blank (int): number of the blank class.
        reduction (str): "mean" (each loss over its label's length, then the mean), "sum" or "none".
        norm_by_times (bool): divide the gradient (not the loss) of each sample by its number of steps.

    Returns:
        Tensor: 0-d, or [N] without reduction.

    Examples:
        >>> logits, labels = proa.zeros([3, 1, 2]), proa.to_tensor([[1]])  # 6 of 8 paths are right
        >>> loss = proa.nn.functional.ctc_loss(logits, labels, proa.to_tensor([3]), proa.to_tensor([1]))
        >>> round(loss.item(), 4)
        0.2877
    """
    log_probs = _C.tensor_argument(log_probs, "ctc_loss", "log_probs")
    require_dims("ctc_loss", "log_probs", log_probs, 3)
    labels = _C.tensor_argument(labels, "ctc_loss", "labels")
    input_lengths = _C.tensor_argument(input_lengths, "ctc_loss", "input_lengths")
    label_lengths = _C.tensor_argument(label_lengths, "ctc_loss", "label_lengths")
    _check_reduction("ctc_loss", reduction)
    loss, _ = _C.ops.ctc_loss(log_probs, labels, input_lengths, label_lengths, blank, norm_by_times)
    if reduction == "mean":
        return (loss / _C.ops.clip(label_lengths.astype(loss.dtype), 1.0, None)).mean()
    return reduce(loss, reduction)


__getattr__ = _borrow(__name__, "proa.nn.functional")
