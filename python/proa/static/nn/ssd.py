"""Heads of single-shot detectors: boxes that are there before, and convolutions that say what is in them."""

import math

from proa import _C
from proa.static.nn.parametric import conv2d
from proa.static.only import static_only

__all__ = ["multi_box_head", "prior_box"]


def _sizes(what, tensor):
    height, width = tensor.shape[2:]
    if not (isinstance(height, int) and isinstance(width, int)):
        raise _C.located(ValueError(f"{what}: height and width must be known; they are {list(tensor.shape)}"))
    return height, width


def _listed(value):
    return [float(v) for v in value] if isinstance(value, (list, tuple)) else [float(value)] if value else []


def prior_box(input, image, min_sizes, max_sizes=None, aspect_ratios=(1.0,), variance=(0.1, 0.1, 0.2, 0.2), flip=False,
              clip=False, steps=(0.0, 0.0), offset=0.5, name=None, min_max_aspect_ratios_order=False):  # fmt: skip
    """Boxes around each place of a map of features, as parts of the image: left, top, right, bottom.

    Args:
        input (Tensor): the map, [N, C, H, W].
        image (Tensor): [N, C, height, width].
        min_sizes (list[float]): sides of squares, in pixels.
        max_sizes (list[float], optional): as many, each the side of a larger square; its box has the geometric mean.
        aspect_ratios (list[float]): of other boxes; 1 is always there.
        variance (list[float]): four factors, which go with each box.
        flip (bool): the reciprocals of the ratios, too.
        clip (bool): keep boxes within the image.
        steps (list[float]): width and height of a place in pixels; 0 for what follows from the sizes.
        offset (float): where in its place a box has its middle.
        min_max_aspect_ratios_order (bool): the larger square comes second, not last.

    Returns:
        (Tensor, Tensor): boxes and variances, float32 [H, W, boxes, 4].

    Raises:
        ValueError: for sizes that are not positive; for max_sizes of another number or not larger; for maps of open sizes.

    Examples:
        >>> boxes, _ = proa.static.nn.ssd.prior_box(proa.zeros([1, 8, 1, 2]), proa.zeros([1, 3, 10, 20]), [4.0])
        >>> boxes.shape, boxes[0, 0, 0].tolist()
        ([1, 2, 1, 4], [0.15000000596046448, 0.30000001192092896, 0.3499999940395355, 0.699999988079071])
    """
    sizes = [_sizes("prior_box: input", input), _sizes("prior_box: image", image)]
    steps = _listed(steps) or [0.0, 0.0]
    lists = [_listed(v) for v in (min_sizes, max_sizes, aspect_ratios, variance)]
    with _C.eager_mode():
        maps = [_C.ops.full([1, 1, *size], 0.0, _C.float32) for size in sizes]
        return _C.ops.prior_box(*maps, *lists, flip, clip, steps[0], steps[-1], offset, min_max_aspect_ratios_order)


def _of_ratios(base_size, count, min_ratio, max_ratio):
    """Sizes of squares for `count` maps, from ratios in percent of the image; the first two maps have 10 % and 20 %."""
    step = math.floor((max_ratio - min_ratio) / (count - 2))
    ratios = range(min_ratio, max_ratio + 1, step)
    smaller = [base_size * 0.1, *(base_size * r / 100.0 for r in ratios)]
    return smaller, [base_size * 0.2, *(base_size * (r + step) / 100.0 for r in ratios)]


@static_only("compute the boxes with tensor functions")
def multi_box_head(
    inputs,
    image,
    base_size,
    num_classes,
    aspect_ratios,
    min_ratio=None,
    max_ratio=None,
    min_sizes=None,
    max_sizes=None,
    steps=None,
    step_w=None,
    step_h=None,
    offset=0.5,
    variance=[0.1, 0.1, 0.2, 0.2],  # noqa: B006 (the documented default)
    flip=True,
    clip=False,
    kernel_size=1,
    pad=0,
    stride=1,
    name=None,
    min_max_aspect_ratios_order=False,
):
    """The head of SSD: for each map of features a convolution for places and one for classes, and the boxes of `prior_box`.

    Args:
        inputs (list[Tensor]): maps, [N, C, H, W] each.
        image (Tensor): [N, C, height, width].
        base_size (int): side of the image, for min_ratio and max_ratio.
        num_classes (int): classes.
        aspect_ratios (list[list[float]]): for each map.
        min_ratio, max_ratio (int): sizes in percent, from which those of each map follow: for three maps or more.
        min_sizes, max_sizes (list): in their place, a size or sizes for each map.
        steps, step_w, step_h (list[float], optional): of each map, in pixels.
        offset, variance, flip, clip, min_max_aspect_ratios_order: as in `prior_box`.
        kernel_size, pad, stride (int): of the convolutions.

    Returns:
        (Tensor, Tensor, Tensor, Tensor): places [N, boxes, 4], scores of classes [N, boxes, num_classes], boxes
        [boxes, 4], variances [boxes, 4].

    Raises:
        RuntimeError: in eager mode.
        ValueError: lists are not as many as maps; sizes are missing.

    Examples:
        >>> with proa.static.program_guard(proa.static.Program()):
        ...     image = proa.static.data("image", [None, 3, 32, 32])
        ...     maps = [proa.static.data("a", [None, 8, 4, 4]), proa.static.data("b", [None, 8, 2, 2])]
        ...     places, scores, boxes, variances = proa.static.nn.multi_box_head(
        ...         maps, image, 32, 5, [[2.0], [2.0]], min_sizes=[8.0, 16.0], max_sizes=[16.0, 32.0])
        >>> places.shape, scores.shape, boxes.shape
        ([-1, 80, 4], [-1, 80, 5], [80, 4])
    """
    maps = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    count = len(maps)
    if min_sizes is None:
        if count < 3 or min_ratio is None or max_ratio is None:
            raise _C.located(
                ValueError("multi_box_head: give min_sizes, or min_ratio and max_ratio for three maps or more")
            )
        min_sizes, max_sizes = _of_ratios(base_size, count, min_ratio, max_ratio)
    lists = {"aspect_ratios": aspect_ratios, "min_sizes": min_sizes, "max_sizes": max_sizes, "steps": steps,
             "step_w": step_w, "step_h": step_h}  # fmt: skip
    for what, values in lists.items():
        if values is not None and (not isinstance(values, (list, tuple)) or len(values) != count):
            raise _C.located(
                ValueError(f"multi_box_head: {what} must be a list of {count}, one for each map, not {values!r}")
            )
    places, scores, boxes, variances = [], [], [], []
    for i, each in enumerate(maps):
        if steps is not None:
            step = [steps[i], steps[i]] if not isinstance(steps[i], (list, tuple)) else steps[i]
        else:
            step = [step_w[i] if step_w else 0.0, step_h[i] if step_h else 0.0]
        ratios = aspect_ratios[i] if isinstance(aspect_ratios[i], (list, tuple)) else [aspect_ratios[i]]
        box, factor = prior_box(each, image, min_sizes[i], max_sizes[i] if max_sizes else None, ratios, variance, flip,
                                clip, step, offset, None, min_max_aspect_ratios_order)  # fmt: skip
        number = box.shape[2]
        for found, size in ((places, 4), (scores, num_classes)):
            out = conv2d(each, number * size, kernel_size, stride, pad)
            out = _C.ops.transpose(out, [0, 2, 3, 1])
            found.append(_C.ops.reshape(out, [-1, out.shape[1] * out.shape[2] * number, size]))
        boxes.append(box.reshape([-1, 4]))
        variances.append(factor.reshape([-1, 4]))
    with _C.eager_mode():
        fixed = [_C.ops.concat(parts, 0) for parts in (boxes, variances)]
    return _C.ops.concat(places, 1), _C.ops.concat(scores, 1), *fixed
