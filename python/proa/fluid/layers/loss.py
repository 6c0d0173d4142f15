"""Losses, with the old arguments: one value for each sample, [N, 1]."""

import math

import proa
from proa import _C
from proa.nn import functional as F

__all__ = [
    "bpr_loss", "cross_entropy", "dice_loss", "hsigmoid", "huber_loss", "kldiv_loss", "log_loss", "margin_rank_loss", "mse_loss", "npair_loss",
    "rank_loss", "sigmoid_cross_entropy_with_logits", "smooth_l1", "softmax_with_cross_entropy", "square_error_cost",
    "sigmoid_focal_loss", "teacher_student_sigmoid_loss",
]  # fmt: skip


def cross_entropy(input, label, soft_label=False, ignore_index=-100):
    """-log of the probability of the label: of probabilities, not of scores.

    Args:
        input (Tensor): probabilities, [N, classes].
        label (Tensor): int64, [N, 1]; or probabilities with `soft_label`.
        soft_label (bool): see label.
        ignore_index (int): this label costs nothing.

    Returns:
        Tensor: [N, 1].
    """
    if soft_label:
        return -_C.ops.sum(label * proa.log(input), axis=[-1], keepdim=True)
    index = label if len(label.shape) == len(input.shape) else _C.ops.unsqueeze(label, [-1])
    ignored = _C.ops.equal(index, _C.ops.full_like(index, ignore_index))
    safe = _C.ops.where(ignored, _C.ops.full_like(index, 0), index)
    picked = -proa.log(_C.ops.take_along_axis(input, safe, len(input.shape) - 1))
    return _C.ops.where(ignored, _C.ops.full_like(picked, 0.0), picked)


def softmax_with_cross_entropy(logits, label, soft_label=False, ignore_index=-100, numeric_stable_mode=True,
                               return_softmax=False, axis=-1):  # fmt: skip
    """`nn.functional.softmax_with_cross_entropy`."""
    return F.softmax_with_cross_entropy.__wrapped__(  # without its warning
        logits, label, soft_label, ignore_index, numeric_stable_mode, return_softmax, axis
    )


def sigmoid_cross_entropy_with_logits(x, label, ignore_index=-100, name=None, normalize=False):
    """The cross entropy of each element's sigmoid; labels of `ignore_index` cost nothing.

    Args:
        x, label (Tensor): of one shape.
        normalize (bool): divide by the number of labels that count.
    """
    loss = F.relu(x) - x * label + F.softplus(-proa.abs(x))
    counts = _C.ops.not_equal(label, _C.ops.full_like(label, ignore_index)).astype(x.dtype)
    loss = loss * counts
    return loss / _C.ops.clip(counts.sum(), 1.0, None) if normalize else loss


def square_error_cost(input, label):
    """(input - label) squared, element by element."""
    return F.square_error_cost(input, label)


def mse_loss(input, label):
    """The mean of (input - label) squared: [1]."""
    return _C.ops.mean(F.square_error_cost(input, label)).reshape([1])


def huber_loss(input, label, delta):
    """Half of the square of the error, linear beyond delta."""
    error = proa.abs(label - input)
    near = 0.5 * error * error
    return _C.ops.where(error <= delta, near, delta * (error - 0.5 * delta))


def smooth_l1(x, y, inside_weight=None, outside_weight=None, sigma=None):
    """The sum over all dims but the first of the smooth absolute error: [N, 1]."""
    square = (1.0 if sigma is None else float(sigma)) ** 2
    error = x - y if inside_weight is None else (x - y) * inside_weight
    size = proa.abs(error)
    value = _C.ops.where(size < 1.0 / square, 0.5 * square * error * error, size - 0.5 / square)
    value = value if outside_weight is None else value * outside_weight
    return _C.ops.sum(_C.ops.flatten(value, 1, -1), axis=[1], keepdim=True)


def kldiv_loss(x, target, reduction="mean", name=None):
    """target * (log(target) - x), of logarithms x."""
    loss = F.kl_div(x, target, reduction)
    return loss.reshape([1]) if len(loss.shape) == 0 else loss


def log_loss(input, label, epsilon=1e-4, name=None):
    """-label * log(input) - (1 - label) * log(1 - input)."""
    return F.log_loss(input, label, epsilon)


def dice_loss(input, label, epsilon=1e-5, name=None):
    """`nn.functional.dice_loss`."""
    return F.dice_loss(input, label, epsilon)


def npair_loss(anchor, positive, labels, l2_reg=0.002):
    """`nn.functional.npair_loss`."""
    return F.npair_loss(anchor, positive, labels, l2_reg)


def margin_rank_loss(label, left, right, margin=0.1, name=None):
    """max(0, margin - label * (left - right))."""
    return F.relu(margin - label * (left - right))


def rank_loss(label, left, right, name=None):
    """The cross entropy of "left ranks above right" from the difference of their scores."""
    difference = left - right
    return F.softplus(difference) - label * difference


def teacher_student_sigmoid_loss(input, label, soft_max_up_bound=15.0, soft_max_lower_bound=-15.0):
    """The cross entropy of clicks, and of a teacher's scores where labels hold them."""
    x = _C.ops.clip(input, soft_max_lower_bound, soft_max_up_bound)
    base = F.relu(x) - x * 0.0 + F.softplus(-proa.abs(x))
    clicked = base - x
    return _C.ops.where(
        label < -1.0,
        base,
        _C.ops.where(
            label < 0.0, clicked, _C.ops.where(label < 1.0, base + base - x * label, clicked + base - x * (label - 1.0))
        ),
    )


def bpr_loss(input, label, name=None):
    """How well the label's score stands above all others: [N, 1], the mean of -log(sigmoid(x[label] - x[j])) over the others.

    Args:
        input (Tensor): scores, [N, classes].
        label (Tensor): int64, [N, 1].
    """
    own = _C.ops.take_along_axis(input, label, 1)
    costs = F.softplus(input - own)
    others = _C.ops.sum(costs, axis=[1], keepdim=True) - math.log(2.0)  # its own cost is log 2
    return others / float(input.shape[1] - 1)


def sigmoid_focal_loss(x, label, fg_num, gamma=2.0, alpha=0.25):
    """The focal loss (Lin et al., 2017) of each class of each sample, over `fg_num`: [N, classes].

    Args:
        x (Tensor): scores, [N, classes].
        label (Tensor): int32, [N, 1]: 0 for the background, c for class c - 1.
        fg_num (Tensor): int32, [1]: how many samples are no background.
    """
    classes = proa.arange(1, x.shape[1] + 1, 1, "int64")
    hit = _C.ops.equal(label.astype("int64"), classes).astype(x.dtype)
    p = _C.ops.sigmoid(x)
    cost = F.relu(x) - x * hit + F.softplus(-proa.abs(x))
    wrong = p * (1.0 - hit) + (1.0 - p) * hit
    weight = alpha * hit + (1.0 - alpha) * (1.0 - hit)
    return weight * wrong**gamma * cost / _C.ops.clip(fg_num, 1, None).astype(x.dtype)


def hsigmoid(input, label, num_classes, param_attr=None, bias_attr=None, name=None, path_table=None, path_code=None,
             is_custom=False, is_sparse=False):  # fmt: skip
    """`nn.functional.hsigmoid_loss` with parameters of its own: [N, 1]."""
    from proa.static.parameters import program_parameter
    from proa.utils import unique_name

    rows = num_classes if is_custom else num_classes - 1
    prefix = name if name is not None else unique_name.generate("hsigmoid")
    weight = program_parameter([rows, int(input.shape[1])], param_attr, input.dtype, prefix=prefix)
    bias = program_parameter([rows, 1], bias_attr, input.dtype, True, prefix=prefix)
    return F.hsigmoid_loss(input, label, num_classes, weight, bias, path_table, path_code, is_sparse)
