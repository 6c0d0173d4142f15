"""Losses of margins and of likelihoods: names of releases after 2.3."""

import math

from proa import _C
from proa.framework.attributes import is_late, known_number, real
from proa.framework.requirements import require, require_sizes, with_size
from proa.nn.functional.loss import _alike, _check_reduction, reduce
from proa.nn.functional.shapes import require_dims
from proa.tensor.attribute import optional_tensor
from proa.tensor.precision import keeps_types, narrowed, widened


def _floating(op, **tensors):
    found = [_C.tensor_argument(t, op, name) for name, t in tensors.items()]
    for name, t in zip(tensors, found):
        if not t.is_floating_point():
            raise _C.located(TypeError(f"{op}: {name} must be float; it is {list(t.shape)} {t.dtype.name}"))
    return found if len(found) > 1 else found[0]


@keeps_types
def cosine_embedding_loss(input1, input2, label, margin=0, reduction="mean", name=None):
    """How far pairs are from what is said of them: 1 - cos of those that are alike, max(0, cos - margin) of the others.

    Args:
        input1, input2 (Tensor): floating numbers, [N, M] or [M].
        label (Tensor): 1 of pairs that are alike, -1 of others, [N], of one pair [1] or 0-d; of other numbers the loss is 0.
        margin (float): from -1 to 1.
        reduction (str): "mean", "sum" or "none".
        name (str, optional): not used.

    Examples:
        >>> x, y = proa.to_tensor([[1.0, 0.0], [1.0, 0.0]]), proa.to_tensor([[1.0, 0.0], [1.0, 0.0]])
        >>> F = proa.nn.functional
        >>> [round(v, 4) for v in F.cosine_embedding_loss(x, y, proa.to_tensor([1, -1]), 0.5, "none").tolist()]
        [0.0, 0.5]
    """
    op = "cosine_embedding_loss"
    x, y = _floating(op, input1=input1, input2=input2)
    label = _C.tensor_argument(label, op, "label")
    _check_reduction(op, reduction)
    margin = real(op, "margin", margin)
    if not is_late(margin) and not -1 <= margin <= 1:
        raise _C.located(ValueError(f"{op}: margin must be from -1 to 1; it is {margin}"))
    if len(x.shape) not in (1, 2):
        raise _C.located(ValueError(f"{op}: input1 must have one or two dims; it is {list(x.shape)}"))
    y = _alike(op, x, y, "input1")
    pairs = x.shape[0] if len(x.shape) == 2 else 1
    if len(label.shape) != 1 and (len(label.shape), len(x.shape)) != (0, 1):
        what = f"input1 is {list(x.shape)}, label is {list(label.shape)}"
        raise _C.located(ValueError(f"{op}: label must have one number for each pair; {what}"))
    if label.shape:
        label = with_size(label, 0, pairs, f"{op}: label must have one number for each pair, {pairs}; it is {{}}")
    a, b = widened(x), widened(y)
    sizes = _C.ops.sqrt((_C.ops.sum(a * a, [-1]) + 1e-11) * (_C.ops.sum(b * b, [-1]) + 1e-11))
    cosine = narrowed(_C.ops.sum(a * b, [-1]) / sizes, x, y)
    nothing = _C.ops.full_like(cosine, 0)
    loss = _C.ops.where(label == -1, _C.ops.maximum(cosine - margin, nothing), nothing)
    return reduce(_C.ops.where(label == 1, 1 - cosine, loss), reduction)


def soft_margin_loss(input, label, reduction="mean", name=None):
    """log(1 + exp(-label input)), of labels 1 and -1.

    Args:
        input (Tensor): floating numbers, of any shape.
        label (Tensor): of the same shape.
        reduction (str): "mean", "sum" or "none".
        name (str, optional): not used.

    Examples:
        >>> round(proa.nn.functional.soft_margin_loss(proa.to_tensor([0.0]), proa.to_tensor([1.0])).item(), 4)
        0.6931
    """
    op = "soft_margin_loss"
    x, label = _floating(op, input=input), _C.tensor_argument(label, op, "label")
    _check_reduction(op, reduction)
    label = _alike(op, x, label).astype(x.dtype)
    return reduce(-_C.ops.logsigmoid(label * x), reduction)


def multi_label_soft_margin_loss(input, label, weight=None, reduction="mean", name=None):
    """The mean over classes of binary cross entropies of sigmoid(input).

    Args:
        input (Tensor): floating numbers [..., classes].
        label (Tensor): 0 or 1, of the same shape.
        weight (Tensor, optional): of the classes; broadcast to input.
        reduction (str): "mean", "sum" or "none".
        name (str, optional): not used.

    Examples:
        >>> F = proa.nn.functional
        >>> round(F.multi_label_soft_margin_loss(proa.zeros([1, 2]), proa.to_tensor([[1.0, 0.0]])).item(), 4)
        0.6931
    """
    op = "multi_label_soft_margin_loss"
    x, label = _floating(op, input=input), _C.tensor_argument(label, op, "label")
    weight = optional_tensor(weight, op, "weight")
    _check_reduction(op, reduction)
    if len(x.shape) == 0:
        raise _C.located(ValueError(f"{op}: input must have a dim of classes; it is {list(x.shape)}"))
    label = _alike(op, x, label).astype(x.dtype)
    loss = -(label * _C.ops.logsigmoid(x) + (1 - label) * _C.ops.logsigmoid(-x))
    if weight is not None:
        loss = loss * weight
    return reduce(_C.ops.mean(loss, [-1]), reduction)


def multi_margin_loss(input, label, p=1, margin=1.0, weight=None, reduction="mean", name=None):
    """The mean over classes but the right one of max(0, margin - input of that + input of the class)**p.

    Args:
        input (Tensor): floating numbers [N, classes].
        label (Tensor): the right classes, integers [N].
        p (int): 1 or 2.
        margin (float): how much larger the right one should be.
        weight (Tensor, optional): of right classes, [classes].
        reduction (str): "mean", "sum" or "none".
        name (str, optional): not used.

    Examples:
        >>> F, x = proa.nn.functional, proa.to_tensor([[0.5, 0.0, 2.0]])
        >>> round(F.multi_margin_loss(x, proa.to_tensor([0])).item(), 4)
        1.0
    """
    op = "multi_margin_loss"
    x, label = _floating(op, input=input), _C.tensor_argument(label, op, "label")
    weight = optional_tensor(weight, op, "weight")
    _check_reduction(op, reduction)
    p, margin = known_number(op, "p", p), real(op, "margin", margin)
    if p not in (1, 2):
        raise _C.located(ValueError(f"{op}: p must be 1 or 2, not {p!r}"))
    require_dims(op, "input", x, 2)
    require_dims(op, "label", label, 1)
    if label.dtype not in (_C.int32, _C.int64):
        raise _C.located(TypeError(f"{op}: label must be integers; it is {list(label.shape)} {label.dtype.name}"))
    label = with_size(label, 0, x.shape[0], f"{op}: label must be of the rows of {list(x.shape)}; it is {{}}")
    classes = _C.ops.shape(x)[1] if is_late(x.shape[1]) else x.shape[1]
    inside = _C.ops.logical_and(label >= 0, label < classes)
    label = require(label, inside, f"{op}: labels must be in [0, {x.shape[1]}); they are {{}}", label)
    at = _C.ops.unsqueeze(label, [1])
    far = _C.ops.relu(x - _C.ops.take_along_axis(x, at, 1) + margin)
    if p == 2:
        far = far * far
    # That of the right class is none of them.
    others = _C.ops.put_along_axis(_C.ops.full_like(far, 1), at, _C.ops.full_like(far[:, :1], 0), 1)
    if weight is not None:
        require_dims(op, "weight", weight, 1)
        weight = require_sizes(
            weight, weight.shape, [x.shape[1]], f"{op}: weight must be of the classes; it is {{}}", weight
        )
        others = others * _C.ops.unsqueeze(_C.ops.gather(weight, label, 0), [1])
    return reduce(_C.ops.mean(far * others, [1]), reduction)


def _triplet(op, x, near, far, distance, margin, swap, reduction):
    _check_reduction(op, reduction)
    margin = real(op, "margin", margin)
    if not is_late(margin) and not margin > 0:
        raise _C.located(ValueError(f"{op}: margin must be positive; it is {margin}"))
    near, far = _alike(op, x, near), _alike(op, x, far)
    positive, negative = distance(x, near), distance(x, far)
    if swap:
        negative = _C.ops.minimum(negative, distance(near, far))
    return reduce(_C.ops.relu(positive - negative + margin), reduction)


def triplet_margin_loss(
    input, positive, negative, margin=1.0, p=2.0, epsilon=1e-6, swap=False, reduction="mean", name=None
):
    """max(0, |input - positive| - |input - negative| + margin) of rows (Balntas et al., 2016).

    Args:
        input, positive, negative (Tensor): floating numbers of one shape [..., M].
        margin (float): positive.
        p (float): of the norm.
        epsilon (float): added to differences.
        swap (bool): whether the distance of positive and negative counts where it is less than that of input and negative.
        reduction (str): "mean", "sum" or "none".
        name (str, optional): not used.

    Examples:
        >>> x, y, z = proa.zeros([1, 2]), proa.ones([1, 2]), proa.full([1, 2], 4.0)
        >>> round(proa.nn.functional.triplet_margin_loss(x, z, y).item(), 4)
        5.2426
    """
    op = "triplet_margin_loss"
    x, near, far = _floating(op, input=input, positive=positive, negative=negative)
    p, epsilon = known_number(op, "p", p), real(op, "epsilon", epsilon)
    if not isinstance(p, (int, float)) or isinstance(p, bool) or not p > 0:
        raise _C.located(ValueError(f"{op}: p must be a positive number, not {p!r}"))

    def distance(a, b):
        return _C.ops.p_norm(a - b + epsilon, p, [-1])

    if len(x.shape) == 0:
        raise _C.located(ValueError(f"{op}: input must have a dim; it is {list(x.shape)}"))
    return _triplet(op, x, near, far, distance, margin, swap, reduction)


def triplet_margin_with_distance_loss(
    input, positive, negative, distance_function=None, margin=1.0, swap=False, reduction="mean", name=None
):
    """max(0, d(input, positive) - d(input, negative) + margin); arguments as of `triplet_margin_loss`.

    Args:
        input, positive, negative (Tensor): floating numbers of one shape.
        distance_function (callable, optional): d, of two tensors; by default the Euclidean distance of rows.
        margin (float): positive.
        swap (bool): whether d(positive, negative) counts where it is less than d(input, negative).
        reduction (str): "mean", "sum" or "none".
        name (str, optional): not used.

    Examples:
        >>> F, x, y = proa.nn.functional, proa.zeros([1, 2]), proa.ones([1, 2])
        >>> F.triplet_margin_with_distance_loss(x, y, x, lambda a, b: (a - b).abs().sum(-1)).item()
        3.0
    """
    op = "triplet_margin_with_distance_loss"
    x, near, far = _floating(op, input=input, positive=positive, negative=negative)
    if distance_function is not None and not callable(distance_function):
        what = type(distance_function).__name__
        raise _C.located(TypeError(f"{op}: distance_function must be callable, not {what}"))
    if len(x.shape) == 0:
        raise _C.located(ValueError(f"{op}: input must have a dim; it is {list(x.shape)}"))

    def distance(a, b):
        return _C.ops.p_norm(a - b + 1e-6, 2.0, [-1])

    return _triplet(op, x, near, far, distance_function or distance, margin, swap, reduction)


def gaussian_nll_loss(input, label, variance, full=False, epsilon=1e-6, reduction="mean", name=None):
    """-log of the probability of labels by normal distributions: (log(variance) + (input - label)**2 / variance) / 2.

    Args:
        input (Tensor): means, floating numbers.
        label (Tensor): floating numbers, of the same shape.
        variance (Tensor): of the same shape, or without its last dim, or with 1 there; not negative.
        full (bool): whether log(2 pi) / 2 is added.
        epsilon (float): the least that variances count as; gradients are as if they were not changed.
        reduction (str): "mean", "sum" or "none".
        name (str, optional): not used.

    Examples:
        >>> F, x = proa.nn.functional, proa.to_tensor([1.0, 2.0])
        >>> F.gaussian_nll_loss(x, proa.to_tensor([0.0, 2.0]), proa.ones([2])).item()
        0.25
    """
    op = "gaussian_nll_loss"
    x, label, variance = _floating(op, input=input, label=label, variance=variance)
    _check_reduction(op, reduction)
    epsilon = real(op, "epsilon", epsilon)
    label = _alike(op, x, label)
    if len(variance.shape) == len(x.shape) - 1:
        variance = _C.ops.unsqueeze(variance, [-1])
    if len(variance.shape) != len(x.shape):
        what = f"input is {list(x.shape)}, variance is {list(variance.shape)}"
        raise _C.located(ValueError(f"{op}: variance does not fit input; {what}"))
    if x.shape:
        says = f"{op}: variance must have the shape of input, {{}}; it is {{}}"
        last = variance.shape[-1]
        if is_late(last):  # that of input, or 1
            size, own = _C.ops.shape(x)[-1], _C.ops.shape(variance)[-1]
            fits = _C.ops.logical_or(own == size, own == 1)
            variance = require(variance, fits, says, _C.ops.shape(x), _C.ops.shape(variance))
        wanted = [*x.shape[:-1], last if is_late(last) or last == 1 else x.shape[-1]]
        variance = require_sizes(variance, variance.shape, wanted, says, x, variance)
    variance = require(variance, variance >= 0, f"{op}: variance must not be negative; it is {{}}", variance)
    variance = variance + (_C.ops.clip(variance, epsilon, None) - variance).detach()
    difference = x - label
    loss = (_C.ops.log(variance) + difference * difference / variance) * 0.5
    return reduce(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def poisson_nll_loss(input, label, log_input=True, full=False, epsilon=1e-8, reduction="mean", name=None):
    """-log of the probability of counts by Poisson distributions, but for what depends on the counts alone.

    Args:
        input (Tensor): the rates, or their logarithms; floating numbers.
        label (Tensor): counts, of the same shape.
        log_input (bool): whether input is the logarithms: exp(input) - label input; else input - label log(input + epsilon).
        full (bool): whether Stirling's log(label!) is added where label is larger than 1.
        epsilon (float): positive.
        reduction (str): "mean", "sum" or "none".
        name (str, optional): not used.

    Examples:
        >>> proa.nn.functional.poisson_nll_loss(proa.to_tensor([0.0]), proa.to_tensor([3.0])).item()
        1.0
    """
    op = "poisson_nll_loss"
    x, label = _floating(op, input=input), _C.tensor_argument(label, op, "label")
    _check_reduction(op, reduction)
    epsilon = real(op, "epsilon", epsilon)
    if not is_late(epsilon) and not epsilon > 0:
        raise _C.located(ValueError(f"{op}: epsilon must be positive; it is {epsilon}"))
    label = _alike(op, x, label).astype(x.dtype)
    loss = _C.ops.exp(x) - label * x if log_input else x - label * _C.ops.log(x + epsilon)
    if full:
        many = label > 1
        safe = _C.ops.where(many, label, _C.ops.full_like(label, 2))
        stirling = safe * _C.ops.log(safe) - safe + 0.5 * _C.ops.log(2 * math.pi * safe)
        loss = loss + _C.ops.where(many, stirling, _C.ops.full_like(stirling, 0))
    return reduce(loss, reduction)
