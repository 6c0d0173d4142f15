"""Boxes [x1, y1, x2, y2]: which to keep of those that overlap, those of a grid, and how boxes are told by others."""

from proa import _C
from proa.framework.attributes import a_list, known_int, known_list, real
from proa.framework.grad_mode import no_grad
from proa.tensor.attribute import optional_tensor
from proa.vision.ops.numbering import differ, upto

__all__ = ["box_coder", "nms", "prior_box"]


def _check_boxes(what, name, boxes, dims=2):
    boxes = _C.tensor_argument(boxes, what, name)
    if len(boxes.shape) != dims or boxes.shape[-1] != 4:
        lead = ", ".join("NM"[: dims - 1])
        raise _C.located(ValueError(f"{what}: {name} must be [{lead}, 4]; it is {list(boxes.shape)}"))
    return boxes


@no_grad()
def nms(boxes, iou_threshold=0.3, scores=None, category_idxs=None, categories=None, top_k=None):
    """Boxes that stay when each takes out the later ones that overlap it too much, best first.

    Takes memory in proportion to the square of the number of boxes.

    Args:
        boxes (Tensor): [N, 4]: x1, y1, x2, y2, floating point.
        iou_threshold (float): what of the area of both two boxes may have in common.
        scores (Tensor, optional): [N]; without them the boxes are taken in the order given.
        category_idxs (Tensor, optional): integers [N]; boxes take out those of their own category only. Needs scores.
        categories (list[int], optional): which categories there are; boxes of others do not stay. Needed with
            category_idxs.
        top_k (int, optional): keep this many at most.

    Returns:
        Tensor: int64 [number kept], indices of boxes.

    Raises:
        ValueError: for other shapes, or category_idxs without scores or categories.

    Examples:
        >>> boxes = proa.to_tensor([[0.0, 0, 2, 2], [0, 0, 2, 1.9], [1, 1, 3, 3]])
        >>> proa.vision.ops.nms(boxes, 0.5).tolist()
        [0, 2]
        >>> proa.vision.ops.nms(boxes, 0.5, scores=proa.to_tensor([0.1, 0.2, 0.3])).tolist()
        [2, 1]
    """
    boxes = _check_boxes("nms", "boxes", boxes)
    count, iou_threshold = boxes.shape[0], real("nms", "iou_threshold", iou_threshold)
    scores, category_idxs = (
        optional_tensor(scores, "nms", "scores"),
        optional_tensor(category_idxs, "nms", "category_idxs"),
    )
    top_k = top_k if top_k is None else known_int("nms", "top_k", top_k)
    if category_idxs is not None and (scores is None or categories is None):
        raise _C.located(ValueError("nms: category_idxs needs scores, and categories, the list of all of them"))
    if top_k is not None and top_k < 0:
        raise _C.located(ValueError(f"nms: top_k must not be negative; it is {top_k}"))
    for what, given in (("scores", scores), ("category_idxs", category_idxs)):
        if given is not None and differ(given.shape, [count]):
            raise _C.located(ValueError(f"nms: {what} must be [{count}], as boxes are; it is {list(given.shape)}"))
    order = None if scores is None else _C.ops.argsort(scores, 0, True)
    kinds = category_idxs
    if order is not None:
        boxes = _C.ops.gather(boxes, order, 0)
        kinds = None if kinds is None else _C.ops.gather(kinds, order, 0)
    rank = upto(count, _C.int64)
    # takes[i, j]: if box j stays, box i, which comes later, goes.
    takes = (_overlaps(boxes) > iou_threshold).logical_and(rank.unsqueeze(1) > rank.unsqueeze(0))
    stays = _C.ops.full([count], True, _C.bool)
    if kinds is not None:
        takes = takes.logical_and(kinds.unsqueeze(1) == kinds.unsqueeze(0))
        known = _C.to_tensor(a_list("nms", "categories", categories), dtype=kinds.dtype)
        stays = (kinds.unsqueeze(1) == known.unsqueeze(0)).any(1)
    kept = _C.ops.nonzero(_fixed(takes.astype(_C.float32), stays)).squeeze(-1)
    kept = kept if top_k is None else kept[:top_k]
    return kept if order is None else _C.ops.gather(order, kept, 0)


def _overlaps(boxes):
    """The area that two boxes share, as a part of what both cover: [N, N]."""
    x1, y1, x2, y2 = _C.ops.unbind(boxes, 1)
    areas = (x2 - x1) * (y2 - y1)

    def shared(low, high):
        inner = _C.ops.minimum(high.unsqueeze(1), high.unsqueeze(0)) - _C.ops.maximum(
            low.unsqueeze(1), low.unsqueeze(0)
        )
        return _C.ops.clip(inner, 0.0, None)

    common = shared(x1, x2) * shared(y1, y2)
    return common / (areas.unsqueeze(1) + areas.unsqueeze(0) - common)


def _fixed(takes, candidates):
    """Which of the candidates stay, where takes[i, j] says that i goes if j stays, and is 0 for j >= i.

    The answer is the only one that its own rule leaves as it is: the first box stays, and so on. Each round of the rule
    settles one more link of a chain of boxes that take each other out, so that there are as many as the longest has.
    """
    from proa.static.nn import while_loop

    def ruled(stays):
        return (
            _C.ops.matmul(takes, stays.astype(_C.float32))
            .less_equal(_C.ops.full([1], 0.0, _C.float32))
            .logical_and(candidates)
        )

    def changed(stays, before):
        return (stays != before).any()

    def again(stays, before):
        return [ruled(stays), stays]

    return while_loop(changed, again, [ruled(candidates), candidates])[0]


def prior_box(input, image, min_sizes, max_sizes=None, aspect_ratios=(1.0,), variance=(0.1, 0.1, 0.2, 0.2), flip=False,
              clip=False, steps=(0.0, 0.0), offset=0.5, min_max_aspect_ratios_order=False, name=None):  # fmt: skip
    """Boxes of several sizes and shapes around each cell of a feature map, as parts of the image.

    Args:
        input (Tensor): the feature map, [N, C, H, W].
        image (Tensor): [N, C, IH, IW].
        min_sizes (list[float]|float): sides of squares, in pixels.
        max_sizes (list[float]|float, optional): one for each of min_sizes: a square between both is added.
        aspect_ratios (list[float]|float): width by height; 1 is always among them.
        variance (list[float]): four numbers, given back for each box.
        flip (bool): 1 / ratio, too.
        clip (bool): keep boxes inside of the image.
        steps (list[float]): width and height of a cell in pixels; 0 takes the image's size by the map's.
        offset (float): where in a cell its center is.
        min_max_aspect_ratios_order (bool): the squares before the other shapes.

    Returns:
        (Tensor, Tensor): boxes and variances, [H, W, boxes of a cell, 4].

    Raises:
        ValueError: for other shapes, or numbers that do not belong together.

    Examples:
        >>> boxes, variances = proa.vision.ops.prior_box(proa.zeros([1, 3, 1, 2]), proa.zeros([1, 3, 4, 8]), [2.0])
        >>> boxes[0, 0].tolist()
        [[0.125, 0.25, 0.375, 0.75]]
    """
    input, image = _C.tensor_argument(input, "prior_box", "input"), _C.tensor_argument(image, "prior_box", "image")
    if len(input.shape) != 4 or len(image.shape) != 4:
        raise _C.located(
            ValueError(
                f"prior_box: input and image must have 4 dims; they are {list(input.shape)}, {list(image.shape)}"
            )
        )
    lows = _numbers("min_sizes", min_sizes)
    highs = [] if max_sizes is None else _numbers("max_sizes", max_sizes)
    if highs and (len(highs) != len(lows) or any(high <= low for high, low in zip(highs, lows))):
        raise _C.located(ValueError("prior_box: each of max_sizes must be larger than its one of min_sizes"))
    if any(low <= 0 for low in lows) or not lows:
        raise _C.located(ValueError(f"prior_box: min_sizes must be positive; they are {lows}"))
    variance, steps = _numbers("variance", variance), _numbers("steps", steps)
    offset = real("prior_box", "offset", offset)
    if len(variance) != 4 or len(steps) != 2:
        raise _C.located(ValueError(f"prior_box: variance must be 4 numbers and steps 2, not {variance}, {steps}"))
    ratios = [1.0]
    for ratio in _numbers("aspect_ratios", aspect_ratios):
        if ratio <= 0:
            raise _C.located(ValueError(f"prior_box: aspect_ratios must be positive; one is {ratio}"))
        if all(abs(ratio - other) >= 1e-6 for other in ratios):
            ratios += [ratio, 1.0 / ratio] if flip else [ratio]
    halves = []
    for i, low in enumerate(lows):
        shapes = [(low * ratio**0.5 / 2.0, low / ratio**0.5 / 2.0) for ratio in ratios]
        between = [((low * highs[i]) ** 0.5 / 2.0,) * 2] if highs else []
        halves += shapes[:1] + between + shapes[1:] if min_max_aspect_ratios_order else shapes + between
    height, width = input.shape[2:]
    image_height, image_width = image.shape[2:]
    step_width, step_height = (
        step or whole * 1.0 / cells for step, whole, cells in zip(steps, (image_width, image_height), (width, height))
    )
    kind = input.dtype
    column = ((upto(width, kind) + offset) * step_width).reshape([1, -1, 1])
    row = ((upto(height, kind) + offset) * step_height).reshape([-1, 1, 1])
    half_width, half_height = (_C.to_tensor([pair[i] for pair in halves], dtype=kind) for i in (0, 1))
    shape = [height, width, len(halves)]
    sides = [
        _C.ops.broadcast_to((center + half * sign) / (whole * 1.0), shape)
        for sign in (-1.0, 1.0)
        for center, half, whole in ((column, half_width, image_width), (row, half_height, image_height))
    ]
    boxes = _C.ops.stack(sides, -1)
    boxes = _C.ops.clip(boxes, 0.0, 1.0) if clip else boxes
    return boxes, _C.ops.broadcast_to(_C.to_tensor(variance, dtype=kind), [*shape, 4])


def _numbers(name, value):
    listed = value if isinstance(value, (list, tuple)) else [value]
    return [float(v) for v in known_list("prior_box", name, listed, (), "a number, or a list of numbers")]


def box_coder(
    prior_box, prior_box_var, target_box, code_type="encode_center_size", box_normalized=True, axis=0, name=None
):
    """Boxes told by how far and how large they are, measured by other boxes; and back.

    Args:
        prior_box (Tensor): [M, 4], the boxes to measure by.
        prior_box_var (Tensor|list[float]|None): [M, 4], or 4 numbers for all: what the result is divided by (encoding), or
            target_box multiplied by (decoding).
        target_box (Tensor): boxes [N, 4] to encode, or codes [N, M, 4] to decode.
        code_type (str): "encode_center_size" or "decode_center_size".
        box_normalized (bool): sides are x2 - x1; False: x2 - x1 + 1.
        axis (int): decoding: 0, prior_box is [M, 4] and the same for all N; 1, it is [N, 4] and the same for all M.

    Returns:
        Tensor: [N, M, 4].

    Raises:
        ValueError: for other shapes or another code_type.

    Examples:
        >>> prior = proa.to_tensor([[0.0, 0, 2, 2]])
        >>> code = proa.vision.ops.box_coder(prior, None, proa.to_tensor([[1.0, 1, 3, 3]]))
        >>> code.tolist()
        [[[0.5, 0.5, 0.0, 0.0]]]
        >>> proa.vision.ops.box_coder(prior, None, code, "decode_center_size").tolist()
        [[[1.0, 1.0, 3.0, 3.0]]]
    """
    encodes = code_type == "encode_center_size"
    if not encodes and code_type != "decode_center_size":
        raise _C.located(
            ValueError(f"box_coder: code_type must be 'encode_center_size' or 'decode_center_size', not {code_type!r}")
        )
    if axis not in (0, 1):
        raise _C.located(ValueError(f"box_coder: axis must be 0 or 1, not {axis!r}"))
    prior = _check_boxes("box_coder", "prior_box", prior_box)
    target = _check_boxes("box_coder", "target_box", target_box, 2 if encodes else 3)
    over = 0 if encodes else axis  # The dim along which the measures are the same.
    if not encodes and differ([target.shape[1 - axis]], [prior.shape[0]]):
        raise _C.located(
            ValueError(
                f"box_coder: dim {1 - axis} of target_box must be the number of prior boxes; they are "
                f"{list(target.shape)}, {list(prior.shape)}"
            )
        )
    if isinstance(prior_box_var, (list, tuple)):
        if len(prior_box_var) != 4:
            raise _C.located(ValueError(f"box_coder: prior_box_var must be 4 numbers, not {prior_box_var}"))
        variance = _C.to_tensor(known_list("box_coder", "prior_box_var", prior_box_var), dtype=target.dtype)
    elif prior_box_var is not None:
        variance = _check_boxes("box_coder", "prior_box_var", prior_box_var).unsqueeze(over)
    else:
        variance = None
    extra = 0.0 if box_normalized else 1.0
    low, high = prior[:, :2], prior[:, 2:]
    size = (high - low + extra).unsqueeze(over)
    center = low.unsqueeze(over) + size * 0.5
    if encodes:
        low, high = target[:, :2].unsqueeze(1), target[:, 2:].unsqueeze(1)
        moved = ((low + high) * 0.5 - center) / size
        code = _C.ops.concat([moved, _C.ops.log(_C.ops.abs((high - low + extra) / size))], -1)
        return code if variance is None else code / variance
    code = target if variance is None else target * variance
    middle = code[:, :, :2] * size + center
    half = _C.ops.exp(code[:, :, 2:]) * size * 0.5
    return _C.ops.concat([middle - half, middle + half - extra], -1)
