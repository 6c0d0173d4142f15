"""Noise-contrastive estimation: a classifier of very many classes, trained against a few that are drawn."""

import math

from proa import _C
from proa.static.only import static_only
from proa.static.parameters import program_parameter
from proa.utils import unique_name

__all__ = ["nce"]


def _uniform(classes, custom_dist):
    def draw(shape, seed):
        return _C.ops.randint(0, classes, shape, _C.int64) if not seed else _at(_drawn(shape, seed), classes)

    return draw, lambda labels: _C.ops.full_like(labels.astype("float32"), 1.0 / classes)


def _at(u, classes):
    return _C.ops.clip(_C.ops.floor(u * classes).astype("int64"), 0, classes - 1)


def _drawn(shape, seed):
    return _C.ops.uniform(shape, _C.float32, 0.0, 1.0, seed)


def _log_uniform(classes, custom_dist):
    """P(c) = log((c + 2) / (c + 1)) / log(classes): classes in the order of how often they occur; the last is never drawn."""
    if classes < 2:
        raise _C.located(ValueError(f"nce: sampler 'log_uniform' takes two classes at least, not {classes}"))
    whole = math.log(classes)

    def draw(shape, seed):
        place = _C.ops.floor(_C.ops.exp(_drawn(shape, seed) * whole)).astype("int64") - 1
        return _C.ops.clip(place, 0, classes - 2)

    def probability(labels):
        number = labels.astype("float32")
        return _C.ops.log((number + 2.0) / (number + 1.0)) / whole

    return draw, probability


def _custom(classes, custom_dist):
    if custom_dist is None or len(custom_dist) != classes:
        given = None if custom_dist is None else len(custom_dist)
        raise _C.located(
            ValueError(f"nce: sampler 'custom_dist' takes custom_dist with {classes} probabilities, not {given}")
        )
    with _C.eager_mode():
        chances = _C.to_tensor([float(p) for p in custom_dist], dtype="float32")
        if chances.min().item() < 0 or abs(chances.sum().item() - 1.0) > 1e-3:
            raise _C.located(ValueError("nce: custom_dist must hold probabilities whose sum is 1"))
        ends = _C.ops.cumsum(chances, 0)

    def draw(shape, seed):
        place = _C.ops.searchsorted(ends, _drawn(shape, seed), False, True)
        return _C.ops.clip(place, 0, classes - 1)

    return draw, lambda labels: _C.ops.gather(chances, labels.reshape([-1]), 0).reshape(labels.shape)


_SAMPLERS = {"uniform": _uniform, "log_uniform": _log_uniform, "custom_dist": _custom}


def cost(input, labels, drawn, weight, bias, probability):
    """For each row: the labels' scores told apart from noise, and those of the drawn classes told to be noise.

    Args:
        input (Tensor): [N, size].
        labels (Tensor): int64, [N, right ones].
        drawn (Tensor): int64, [N, drawn ones].
        weight, bias (Tensor): [classes, size]; [classes, 1] or None.
        probability (Callable): of classes, how likely each is drawn.

    Returns:
        Tensor: [N, 1].
    """
    count = drawn.shape[1]

    def scores(classes):
        rows = _C.ops.gather(weight, classes.reshape([-1]), 0).reshape([*classes.shape, weight.shape[1]])
        found = _C.ops.sum(rows * _C.ops.unsqueeze(input, [1]), 2)
        if bias is not None:
            found = found + _C.ops.gather(bias.reshape([-1]), classes.reshape([-1]), 0).reshape(classes.shape)
        return found, probability(classes).astype(input.dtype) * count

    # With o = sigmoid(score): -log(o / (o + b)), -log(b / (o + b)), in forms that do not overflow.
    score, noise = scores(labels)
    right = _C.ops.softplus(_C.ops.log(noise) - score - _C.ops.log1p(noise)) + _C.ops.log1p(noise)
    score, noise = scores(drawn)
    wrong = _C.ops.log1p(_C.ops.sigmoid(score) / noise)
    return _C.ops.sum(right, 1, keepdim=True) + _C.ops.sum(wrong, 1, keepdim=True)


@static_only("use paddle.nn.functional.cross_entropy over sampled classes", none=("seed",))
def nce(
    input,
    label,
    num_total_classes,
    sample_weight=None,
    param_attr=None,
    bias_attr=None,
    num_neg_samples=None,
    name=None,
    sampler="uniform",
    custom_dist=None,
    seed=0,
    is_sparse=False,
):
    """The cost of noise-contrastive estimation, with its weight [classes, size] and bias [classes, 1].

    For each row `num_neg_samples` classes are drawn anew in each run; the cost is that of telling the labels from them,
    over num_neg_samples + 1.

    Args:
        input (Tensor): [N, size].
        label (Tensor): int64, [N, right ones].
        num_total_classes (int): classes.
        sample_weight (Tensor, optional): [N, 1], a factor for each row.
        param_attr, bias_attr (ParamAttr, optional): of weight and bias; bias_attr=False for none.
        num_neg_samples (int, optional): 10 unless given.
        sampler (str): "uniform", "log_uniform" (classes in the order of how often they occur, of which the last is never drawn),
            "custom_dist".
        custom_dist (list, optional): with that sampler, the probability of each class.
        seed (int): draws the same in each run unless 0.
        is_sparse (bool): accepted.

    Returns:
        Tensor: [N, 1].

    Raises:
        RuntimeError: in eager mode.
        ValueError: for another sampler, or probabilities that are none.

    Examples:
        >>> with proa.static.program_guard(proa.static.Program()):
        ...     x = proa.static.data("x", [None, 8])
        ...     label = proa.static.data("label", [None, 1], "int64")
        ...     cost = proa.static.nn.nce(x, label, 1000, num_neg_samples=5, sampler="log_uniform")
        >>> cost.shape
        [-1, 1]
    """
    if sampler not in _SAMPLERS:
        raise _C.located(ValueError(f"nce: sampler must be one of {', '.join(_SAMPLERS)}, not {sampler!r}"))
    if len(input.shape) != 2 or len(label.shape) != 2:
        raise _C.located(
            ValueError(
                f"nce: input must be [N, size] and label [N, right ones]; they are {list(input.shape)} and {list(label.shape)}"
            )
        )
    count = 10 if num_neg_samples is None else int(num_neg_samples)
    draw, probability = _SAMPLERS[sampler](num_total_classes, custom_dist)
    prefix = name if name is not None else unique_name.generate("nce")
    weight = program_parameter([num_total_classes, input.shape[1]], param_attr, input.dtype, prefix=prefix)
    bias = program_parameter([num_total_classes, 1], bias_attr, input.dtype, True, prefix=prefix)
    drawn = draw([input.shape[0], count], int(seed))
    found = cost(input, label.astype("int64"), drawn, weight, bias, probability)
    if sample_weight is not None:
        found = found * sample_weight.reshape([-1, 1])
    return found / (count + 1.0)
