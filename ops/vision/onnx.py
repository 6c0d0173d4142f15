"""What these ops are in ONNX. The language: python/proa/onnx/rule.py."""

from proa import _C
from proa.onnx.rule import cast, constant, known_size, onnx, refuse, result, size


def _images_of(boxes, boxes_num):
    """For each box the number of its image: how many images end before it."""
    ends = onnx.CumSum(cast(boxes_num, "int64"), constant(0, "int64"))
    count = onnx.Gather(onnx.Shape(boxes), constant(0, "int64"), axis=0)
    places = onnx.Unsqueeze(onnx.Range(0, count, 1), axes=[1])
    return onnx.ReduceSum(cast(onnx.Not(onnx.Less(places, ends)), "int64"), axes=[1], keepdims=0)


def onnx_roi_align(x, boxes, boxes_num, pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned):
    return onnx.RoiAlign(
        x,
        boxes,
        _images_of(boxes, boxes_num),
        output_height=pooled_height,
        output_width=pooled_width,
        spatial_scale=spatial_scale,
        sampling_ratio=max(sampling_ratio, 0),
        coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel",
        mode="avg",
    )


def onnx_nms(boxes, scores, category_idxs, iou_threshold, categories, top_k):
    if category_idxs is not None:
        refuse("nms of categories", "move the boxes of each category apart, and leave category_idxs out")
    if scores is None:  # in the order given: falling numbers
        count = onnx.Gather(onnx.Shape(boxes), constant(0, "int64"), axis=0)
        scores = onnx.Neg(cast(onnx.Range(0, count, 1), "float32"))
    boxes, scores = cast(boxes, "float32"), cast(scores, "float32")
    most = 2**31 - 1 if top_k is None else top_k
    found = onnx.NonMaxSuppression(
        onnx.Unsqueeze(boxes, axes=[0]),
        onnx.Unsqueeze(scores, axes=[0, 1]),
        constant([most], "int64"),
        constant([iou_threshold], "float32"),
    )
    return onnx.Gather(found, constant(2, "int64"), axis=1)


def onnx_prior_box(input, image, min_sizes, max_sizes, aspect_ratios, variance, flip, clip, step_w, step_h, offset,
                   min_max_aspect_ratios_order):  # fmt: skip
    shapes = [[1, 1, *(known_size(x, axis, "prior_box") for axis in (2, 3))] for x in (input, image)]
    maps = [_C.ops.full(shape, 0.0, result().dtype) for shape in shapes]
    made = _C.ops.prior_box(*maps, min_sizes, max_sizes, aspect_ratios, variance, flip, clip, step_w, step_h, offset,
                            min_max_aspect_ratios_order)  # fmt: skip
    return tuple(constant(value.numpy(), value.dtype.name) for value in made)


def _halves(x):
    """The first two numbers and the last two of the last dim."""
    last = x.rank - 1
    return (onnx.Slice(x, starts=[a], ends=[a + 2], axes=[last]) for a in (0, 2))


def onnx_box_coder(prior_box, prior_box_var, target_box, code_type, box_normalized, axis, variance):
    dtype, encodes = target_box.dtype, code_type == "encode_center_size"
    over = 0 if encodes else axis
    more, half = constant(0.0 if box_normalized else 1.0, dtype), constant(0.5, dtype)
    low, high = _halves(prior_box)
    size = onnx.Unsqueeze(onnx.Add(onnx.Sub(high, low), more), axes=[over])
    middle = onnx.Add(onnx.Unsqueeze(low, axes=[over]), onnx.Mul(size, half))
    spread = constant(variance, dtype) if variance else None
    spread = spread if prior_box_var is None else onnx.Unsqueeze(prior_box_var, axes=[over])
    if encodes:
        low, high = _halves(target_box)
        place = onnx.Unsqueeze(onnx.Mul(onnx.Add(low, high), half), axes=[1])
        grown = onnx.Unsqueeze(onnx.Add(onnx.Sub(high, low), more), axes=[1])
        moved = onnx.Div(onnx.Sub(place, middle), size)
        code = onnx.Concat(moved, onnx.Log(onnx.Abs(onnx.Div(grown, size))), axis=2)
        return code if spread is None else onnx.Div(code, spread)
    code = target_box if spread is None else onnx.Mul(target_box, spread)
    code.shape = target_box.shape
    moved, grown = _halves(code)
    place = onnx.Add(onnx.Mul(moved, size), middle)
    reach = onnx.Mul(onnx.Mul(onnx.Exp(grown), size), half)
    return onnx.Concat(onnx.Sub(place, reach), onnx.Sub(onnx.Add(place, reach), more), axis=2)


def onnx_yolo_box(x, img_size, anchors, class_num, conf_thresh, downsample_ratio, clip_bbox, scale_x_y, iou_aware,
                  iou_aware_factor):  # fmt: skip
    count, dtype = len(anchors) // 2, x.dtype

    def number(value):
        return constant(value, dtype)

    images, grid = size(x, 0), [size(x, 3), size(x, 2)]  # columns and rows
    shape = onnx.Concat(images, [count], [5 + class_num], grid[1], grid[0], axis=0)
    overlap = onnx.Sigmoid(onnx.Slice(x, starts=[0], ends=[count], axes=[1])) if iou_aware else None
    x = onnx.Slice(x, starts=[count], ends=[count * (6 + class_num)], axes=[1]) if iou_aware else x
    x = onnx.Reshape(x, shape, allowzero=1)
    channel = [onnx.Gather(x, constant(k, "int64"), axis=2) for k in range(5)]
    confidence = onnx.Sigmoid(channel[4])
    if iou_aware:
        parts = onnx.Pow(confidence, number(1.0 - iou_aware_factor)), onnx.Pow(overlap, number(iou_aware_factor))
        confidence = onnx.Mul(*parts)
    sure = onnx.Not(onnx.Less(confidence, number(conf_thresh)))
    low, high = [], []
    for k in (0, 1):
        cells = cast(grid[k], dtype)
        side = onnx.Unsqueeze(cast(onnx.Gather(img_size, [1 - k], axis=1), dtype), axes=[2, 3])
        numbers = cast(onnx.Range(0, onnx.Squeeze(grid[k], axes=[0]), 1), dtype)
        place = onnx.Unsqueeze(numbers, axes=[0, 1, 2] if k == 0 else [0, 1, 3])
        inside = onnx.Add(onnx.Mul(onnx.Sigmoid(channel[k]), number(scale_x_y)), number(0.5 - 0.5 * scale_x_y))
        middle = onnx.Div(onnx.Mul(onnx.Add(inside, place), side), cells)
        anchor = onnx.Reshape(number([float(a) / (2 * downsample_ratio) for a in anchors[k::2]]), [1, count, 1, 1])
        reach = onnx.Div(onnx.Mul(onnx.Mul(onnx.Exp(channel[k + 2]), anchor), side), cells)
        low.append(onnx.Sub(middle, reach))
        high.append(onnx.Add(middle, reach))
        if clip_bbox:
            low[k] = onnx.Max(low[k], number(0.0))
            high[k] = onnx.Min(high[k], onnx.Sub(side, number(1.0)))
    boxes = onnx.Concat(*[onnx.Unsqueeze(v, axes=[4]) for v in low + high], axis=4)
    boxes = onnx.Where(onnx.Unsqueeze(sure, axes=[4]), boxes, number(0.0))
    classes = onnx.Sigmoid(onnx.Slice(x, starts=[5], ends=[5 + class_num], axes=[2]))
    scores = onnx.Mul(classes, onnx.Unsqueeze(onnx.Mul(confidence, cast(sure, dtype)), axes=[2]))
    scores = onnx.Transpose(scores, perm=[0, 1, 3, 4, 2])
    cells = onnx.Mul(onnx.Mul(grid[0], grid[1]), [count])
    forms = [onnx.Concat(images, cells, [columns], axis=0) for columns in (4, class_num)]
    return onnx.Reshape(boxes, forms[0], allowzero=1), onnx.Reshape(scores, forms[1], allowzero=1)
