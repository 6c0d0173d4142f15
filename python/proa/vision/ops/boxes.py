"""Boxes [x1, y1, x2, y2]: which to keep of those that overlap, those of a grid, and how boxes are told by others."""

from proa import _C
from proa.framework.attributes import known_int, known_ints, known_list, real
from proa.tensor.attribute import optional_tensor

__all__ = ["box_coder", "matrix_nms", "nms", "prior_box"]


def nms(boxes, iou_threshold=0.3, scores=None, category_idxs=None, categories=None, top_k=None):
    """Boxes that stay when each takes out the later ones that overlap it too much, best first.

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
    boxes = _C.tensor_argument(boxes, "nms", "boxes")
    scores, category_idxs = (
        optional_tensor(scores, "nms", "scores"),
        optional_tensor(category_idxs, "nms", "category_idxs"),
    )
    if category_idxs is not None and (scores is None or categories is None):
        raise _C.located(ValueError("nms: category_idxs needs scores, and categories, the list of all of them"))
    known = [] if category_idxs is None else known_ints("nms", "categories", categories)
    top_k = top_k if top_k is None else known_int("nms", "top_k", top_k)
    return _C.ops.nms(boxes, scores, category_idxs, real("nms", "iou_threshold", iou_threshold), known, top_k)


def matrix_nms(bboxes, scores, score_threshold, post_threshold, nms_top_k, keep_top_k, use_gaussian=False,
               gaussian_sigma=2.0, background_label=0, normalized=True, return_index=False, return_rois_num=True,
               name=None):  # fmt: skip
    """Boxes with scores that are lowered by what better boxes of the class overlap, best first.

    Args:
        bboxes (Tensor): [images, boxes, 4]: x1, y1, x2, y2; float32 or float64.
        scores (Tensor): [images, classes, boxes].
        score_threshold (float): boxes with no more than that are not looked at.
        post_threshold (float): boxes with no more than that at the end are left out.
        nms_top_k, keep_top_k (int): how many boxes of a class are looked at, and how many of an image stay; -1: all.
        use_gaussian (bool), gaussian_sigma (float): lower by exp(-sigma * overlap^2), not by 1 - overlap.
        background_label (int): the class that is left out; -1: none.
        normalized (bool): corners are points, not pixels.
        return_index (bool): give the numbers of the boxes too.
        return_rois_num (bool): give how many there are of each image.

    Returns:
        (Tensor, Tensor|None, Tensor|None): [picked, 6], class, score, x1, y1, x2, y2, by image; int32 [images], how many
        of each; int32 [picked, 1], the numbers of the boxes, counted through all images.

    Raises:
        ValueError: shapes do not fit. TypeError: not float32 or float64.

    Examples:
        >>> boxes = proa.to_tensor([[[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.5]]])
        >>> scores = proa.to_tensor([[[0.5, 1.0]]])
        >>> out, count, _ = proa.vision.ops.matrix_nms(boxes, scores, 0.1, 0.0, -1, -1, background_label=-1)
        >>> out[:, :2].tolist(), count.tolist()
        ([[0.0, 1.0], [0.0, 0.25]], [2])
    """
    bboxes, scores = (
        _C.tensor_argument(value, "matrix_nms", what) for what, value in (("bboxes", bboxes), ("scores", scores))
    )
    out, index, count = _C.ops.matrix_nms(bboxes, scores, score_threshold, post_threshold, nms_top_k, keep_top_k,
                                          use_gaussian, gaussian_sigma, background_label, normalized)  # fmt: skip
    return out, count if return_rois_num else None, index if return_index else None


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
        (Tensor, Tensor): boxes and variances, [H, W, boxes of a cell, 4]; no gradient.

    Raises:
        ValueError: for other shapes, or numbers that do not belong together.

    Examples:
        >>> boxes, variances = proa.vision.ops.prior_box(proa.zeros([1, 3, 1, 2]), proa.zeros([1, 3, 4, 8]), [2.0])
        >>> boxes[0, 0].tolist()
        [[0.125, 0.25, 0.375, 0.75]]
    """
    input, image = _C.tensor_argument(input, "prior_box", "input"), _C.tensor_argument(image, "prior_box", "image")
    lists = [_numbers("min_sizes", min_sizes), [] if max_sizes is None else _numbers("max_sizes", max_sizes)]
    lists += [_numbers("aspect_ratios", aspect_ratios), _numbers("variance", variance)]
    steps, offset = _numbers("steps", steps), real("prior_box", "offset", offset)
    if len(steps) != 2:
        raise _C.located(ValueError(f"prior_box: steps must be 2 numbers, width and height, not {steps}"))
    return _C.ops.prior_box(input, image, *lists, flip, clip, *steps, offset, min_max_aspect_ratios_order)


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
    prior = _C.tensor_argument(prior_box, "box_coder", "prior_box")
    target = _C.tensor_argument(target_box, "box_coder", "target_box")
    variance = []
    if isinstance(prior_box_var, (list, tuple)):
        variance = known_list("box_coder", "prior_box_var", prior_box_var)
        if len(variance) != 4:
            raise _C.located(ValueError(f"box_coder: prior_box_var must be 4 numbers, not {variance}"))
        prior_box_var = None
    prior_box_var = optional_tensor(prior_box_var, "box_coder", "prior_box_var")
    return _C.ops.box_coder(prior, prior_box_var, target, code_type, box_normalized, axis, variance)
