"""The loss of a transducer: labels emitted along a sequence, each by a step of its own network."""

from proa import _C
from proa.framework.attributes import is_late, known_int, real
from proa.framework.requirements import require, with_size
from proa.nn.functional.loss import _check_reduction, reduce
from proa.nn.functional.shapes import require_dims
from proa.tensor.precision import keeps_types, narrowed, widened

# The logarithm of a probability of 0: finite, so that differences of such are.
_NEVER = -1e30


@keeps_types
def rnnt_loss(input, label, input_lengths, label_lengths, blank=0, fastemit_lambda=0.001, reduction="mean", name=None):
    """The loss of a recurrent neural network transducer (Graves, 2012).

    A path begins at step 0 with no label emitted. At step t with u labels emitted it either emits label u, or a blank,
    which leads to step t + 1; a blank at the last step, after the last label, ends it. The loss of a sample is -log of
    the sum of the probabilities of all paths.

    It is computed diagonal by diagonal, all places of one side by side, by ops that have gradients of any order.

    Args:
        input (Tensor): log-probabilities [N, T, U + 1, classes], as `log_softmax` gives them (nothing is normalized
            here); [n, t, u] are those at step t with u labels emitted.
        label (Tensor): class numbers [N, U], integers; what is beyond the lengths is not read.
        input_lengths (Tensor): steps of each sample [N], from 1 to T.
        label_lengths (Tensor): length of each label [N], from 0 to U.
        blank (int): number of the blank class.
        fastemit_lambda (float): gradients of emitted labels, not the loss, are multiplied by 1 + fastemit_lambda, so
            that labels come early (Yu et al., 2021).
        reduction (str): "mean", "sum" or "none".
        name (str, optional): not used.

    Returns:
        Tensor: 0-d, or [N] without reduction.

    Raises:
        ValueError: shapes that do not fit each other, lengths or labels out of range, sizes but the first that a
            program does not know.

    Examples:
        >>> F = proa.nn.functional
        >>> x, one = F.log_softmax(proa.zeros([1, 2, 2, 4])), proa.to_tensor([1])  # two paths, each of three of 1 / 4
        >>> round(F.rnnt_loss(x, proa.to_tensor([[2]]), proa.to_tensor([2]), one).item(), 4)
        3.4657
    """
    x = _C.tensor_argument(input, "rnnt_loss", "input")
    label = _C.tensor_argument(label, "rnnt_loss", "label")
    input_lengths = _C.tensor_argument(input_lengths, "rnnt_loss", "input_lengths")
    label_lengths = _C.tensor_argument(label_lengths, "rnnt_loss", "label_lengths")
    _check_reduction("rnnt_loss", reduction)
    blank, weight = known_int("rnnt_loss", "blank", blank), real("rnnt_loss", "fastemit_lambda", fastemit_lambda)
    x, label, steps, lengths = _checked(x, label, input_lengths, label_lengths, blank)
    places, longest = x.shape[2], x.shape[2] - 1
    known = label if longest else None
    x, given = widened(x), x
    blanks = x[:, :, :, blank]
    emitted = None
    if known is not None:
        index = _C.ops.tile(_C.ops.unsqueeze(known, [1, 3]), [1, x.shape[1], 1, 1])
        emitted = _C.ops.squeeze(_C.ops.take_along_axis(x[:, :, :longest], index, 3), [3])
        if is_late(weight) or weight != 0:
            emitted = emitted + (emitted - emitted.detach()) * weight
    loss = -_log_of_all_paths(blanks, emitted, steps, lengths, places)
    return reduce(narrowed(loss, given), reduction)


def _checked(x, label, input_lengths, label_lengths, blank):
    """The arguments, labels beyond their lengths replaced by classes, and lengths as int64."""
    require_dims("rnnt_loss", "input", x, 4)
    require_dims("rnnt_loss", "label", label, 2)
    if not x.is_floating_point():
        raise _C.located(TypeError(f"rnnt_loss: input must be float; it is {list(x.shape)} {x.dtype.name}"))
    if is_late(*x.shape[1:]):
        raise _C.located(ValueError(f"rnnt_loss: sizes but the first must be known; input is {list(x.shape)}"))
    batch, most, places, classes = x.shape
    if most == 0 or places == 0:
        raise _C.located(ValueError(f"rnnt_loss: input must have a step and a place; it is {list(x.shape)}"))
    if not 0 <= blank < classes:
        raise _C.located(ValueError(f"rnnt_loss: blank must be one of {classes} classes, not {blank}"))
    for name, t in (("label", label), ("input_lengths", input_lengths), ("label_lengths", label_lengths)):
        if not t.is_integer():
            raise _C.located(TypeError(f"rnnt_loss: {name} must be integers; it is {list(t.shape)} {t.dtype.name}"))
    require_dims("rnnt_loss", "input_lengths", input_lengths, 1)
    require_dims("rnnt_loss", "label_lengths", label_lengths, 1)
    label = with_size(label, 1, places - 1, f"rnnt_loss: label must be [N, {places - 1}]; it is {{}}")
    of = f"rnnt_loss: {{}} must be of the {batch} samples of input; it is {{{{}}}}"
    label, steps, lengths = (
        with_size(t, 0, batch, of.format(name)).astype("int64")
        for name, t in (("label", label), ("input_lengths", input_lengths), ("label_lengths", label_lengths))
    )
    inside = _C.ops.logical_and(steps >= 1, steps <= most)
    steps = require(steps, inside, f"rnnt_loss: input_lengths must be in [1, {most}]; they are {{}}", steps)
    inside = _C.ops.logical_and(lengths >= 0, lengths <= places - 1)
    lengths = require(lengths, inside, f"rnnt_loss: label_lengths must be in [0, {places - 1}]; they are {{}}", lengths)
    if places > 1:
        read = _C.ops.arange(0, places - 1, 1, "int64") < _C.ops.unsqueeze(lengths, [1])
        label = _C.ops.where(read, label, _C.ops.full_like(label, blank))
        inside = _C.ops.logical_and(label >= 0, label < classes)
        label = require(label, inside, f"rnnt_loss: labels must be in [0, {classes}); they are {{}}", label)
    return x, label, steps, lengths


def _diagonals(scores, before, after):
    """Scores [N, T, U] at step t with u labels, as a list over t + u of [N, before + U + after]."""
    steps, width = scores.shape[1:]
    # In rows of places, T wide: each row `width` longer, then one shorter, lies one further than that before it.
    rows = _C.ops.pad(_C.ops.transpose(scores, [0, 2, 1]), [0, 0, 0, 0, 0, width], "constant", _NEVER)
    flat = _C.ops.reshape(rows, [-1, width * (steps + width)])[:, : width * (steps + width - 1)]
    skewed = _C.ops.reshape(flat, [-1, width, steps + width - 1])
    return _C.ops.unbind(_C.ops.pad(skewed, [0, 0, before, after, 0, 0], "constant", _NEVER), 2)


def _log_of_all_paths(blanks, emitted, steps, lengths, places):
    """Of blanks [N, T, places] and emitted labels [N, T, places - 1] or None: the logarithm of the sum over all paths."""
    by_blank = _diagonals(blanks, 0, 0)
    # What emits a label at a place gets to the next one; the diagonals of the last place are one more.
    by_label = [] if emitted is None else _diagonals(emitted, 1, 0)
    start = _C.ops.full_like(by_blank[0], 0.0).detach()
    alpha = start if emitted is None else _C.ops.pad(start[:, :1], [0, 0, 0, places - 1], "constant", _NEVER)
    alphas = [alpha]
    for d in range(len(by_blank) - 1):
        stayed = alpha + by_blank[d]
        if d < len(by_label):
            moved = _C.ops.pad(alpha[:, :-1], [0, 0, 1, 0], "constant", _NEVER) + by_label[d]
            stayed = _C.ops.logsumexp(_C.ops.stack([stayed, moved], 0), [0])
        alpha = stayed
        alphas.append(alpha)
    sample = _C.ops.cumsum(_C.ops.full_like(steps, 1), 0) - 1
    at = _C.ops.stack([sample, steps + lengths - 1, lengths], 1)
    last = _C.ops.stack([sample, steps - 1, lengths], 1)
    return _C.ops.gather_nd(_C.ops.stack(alphas, 1), at) + _C.ops.gather_nd(blanks, last)
