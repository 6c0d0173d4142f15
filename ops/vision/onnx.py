"""What these ops are in ONNX. The language: python/proa/onnx/rule.py."""

import math

from proa import _C
from proa.onnx.rule import block, cast, constant, filled, known_size, onnx, refuse, result, size


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


def _column(x, k):
    return onnx.Gather(x, constant(k, "int64"), axis=1)


def _number(vector):
    """The element of a vector of one."""
    return onnx.Squeeze(vector, axes=[0])


def _table(*columns):
    """Vectors side by side."""
    return onnx.Concat(*[onnx.Unsqueeze(c, axes=[1]) for c in columns], axis=1)


def _places_of_falling(values, largest=None):
    return onnx.TopK(values, k=onnx.Shape(values), axis=0, largest=largest)[1]


def _best_of_images(score, image, counts, most):
    """The places of the best `most` of each image, in order."""
    by_score = _places_of_falling(score)
    by_image = _places_of_falling(onnx.Gather(image, by_score, axis=0), largest=0)
    order = onnx.Gather(by_score, by_image, axis=0)
    begins = onnx.CumSum(counts, constant(0, "int64"), exclusive=1)
    ranks = onnx.Range(0, _number(onnx.Shape(order)), 1)
    ranks = onnx.Sub(ranks, onnx.Gather(begins, onnx.Gather(image, order, axis=0), axis=0))
    kept = onnx.Compress(order, onnx.Less(ranks, constant(most, "int64")), axis=0)
    return onnx.TopK(kept, k=onnx.Shape(kept), axis=0, largest=0)[0]


def onnx_multiclass_nms(bboxes, scores, rois_num, score_threshold, nms_top_k, keep_top_k, nms_threshold, normalized,
                        nms_eta, background_label, mark_none):  # fmt: skip
    if nms_eta < 1:
        refuse("multiclass_nms with nms_eta below 1", "leave it 1")
    listed = rois_num is not None  # boxes and scores of all images in one list, for each class
    classes, boxes_axis = size(scores, 1), 0 if listed else 2
    boxes, values = cast(bboxes, "float32"), cast(scores, "float32")
    if listed:  # as images of one class each
        boxes, values = (
            onnx.Transpose(boxes, perm=[1, 0, 2]),
            onnx.Unsqueeze(onnx.Transpose(values, perm=[1, 0]), axes=[1]),
        )
    out = constant(score_threshold, "float32")  # only what is above it is looked at
    if background_label >= 0:
        labels = onnx.Unsqueeze(onnx.Range(0, _number(classes), 1), axes=[1, 2] if listed else [0, 2])
        values = onnx.Where(onnx.Equal(labels, constant(background_label, "int64")), out, values)
    if nms_top_k >= 0:
        if listed and rois_num.shape != (1,):
            refuse("multiclass_nms with nms_top_k over a list of the boxes of several images", "leave it -1")
        known = scores.shape[boxes_axis]
        count = [min(known, nms_top_k)] if known >= 0 else onnx.Min(size(scores, boxes_axis), [nms_top_k])
        best = onnx.TopK(values, k=count, axis=2)[1]
        chosen = onnx.ScatterElements(
            filled(0.0, "float32", onnx.Shape(values)), best, filled(1.0, "float32", onnx.Shape(best)), axis=2
        )
        values = onnx.Where(onnx.Greater(chosen, constant(0.0, "float32")), values, out)
    low, high = (onnx.Slice(boxes, starts=[a], ends=[a + 2], axes=[2]) for a in (0, 2))
    if listed and rois_num.shape != (1,):  # those of an image lie apart from those of others
        span = onnx.Add(
            onnx.Sub(onnx.ReduceMax(boxes, keepdims=0), onnx.ReduceMin(boxes, keepdims=0)), constant(2.0, "float32")
        )
        moved = onnx.Mul(cast(_images_of(scores, rois_num), "float32"), span)
        low, high = (onnx.Add(x, onnx.Unsqueeze(moved, axes=[0, 2])) for x in (low, high))
    if not normalized:
        high = onnx.Add(high, constant(1.0, "float32"))
    found = onnx.NonMaxSuppression(
        onnx.Concat(low, high, axis=2),
        values,
        constant([2**31 - 1], "int64"),
        constant([nms_threshold], "float32"),
        constant([score_threshold], "float32"),
    )
    number = _column(found, 2)
    if listed:
        label = _column(found, 0)
        image = onnx.Gather(_images_of(scores, rois_num), number, axis=0)
        at = _table(number, label)
        boxes_at, place = at, onnx.Add(onnx.Mul(number, classes), label)
        images = size(rois_num, 0)
    else:
        image, label = _column(found, 0), _column(found, 1)
        at, boxes_at = found, _table(image, number)
        place = onnx.Add(onnx.Mul(image, size(scores, 2)), number)
        images = size(scores, 0)
    columns = [label, onnx.GatherND(scores, at), onnx.GatherND(bboxes, boxes_at), place, image]

    def chosen_of(places):
        return [onnx.Gather(column, places, axis=0) for column in columns]

    if listed:  # by image, class and place
        key = onnx.Add(onnx.Mul(image, classes), label)
        key = onnx.Add(onnx.Mul(key, size(scores, 0)), number)
        columns = chosen_of(_places_of_falling(key, largest=0))
    if keep_top_k >= 0:
        columns = chosen_of(
            _best_of_images(columns[1], columns[4], cast(_counts(columns[4], images), "int64"), keep_top_k)
        )
    label, score, box, place, image = columns
    sides = [onnx.Unsqueeze(cast(c, bboxes.dtype), axes=[1]) for c in (label, score)]
    rows, counts = onnx.Concat(*sides, box, axis=1), _counts(image, images)
    if mark_none:
        nothing = onnx.Equal(_number(onnx.Shape(label)), constant(0, "int64"))
        marks = block(lambda: [constant([[-1.0]], bboxes.dtype), constant([1], "int32")])
        rows, counts = onnx.If(nothing, then_branch=marks, else_branch=block(lambda: [rows, counts]), outputs=2)
    return rows, onnx.Unsqueeze(cast(place, "int32"), axes=[1]), counts


def onnx_generate_proposals(scores, bbox_deltas, img_size, anchors, variances, img_scale, pre_nms_top_n, post_nms_top_n,
                            nms_thresh, min_size, eta, pixel_offset):  # fmt: skip
    if eta < 1 or nms_thresh <= 0:
        refuse("generate_proposals with eta below 1, or without nms", "leave eta 1, and nms_thresh positive")
    dtype, least_score = scores.dtype, -3e38  # of what is no proposal; no score is below

    def number(value, kind=dtype):
        return constant(value, kind)

    images, rows, columns, of_cell = (size(scores, axis) for axis in (0, 2, 3, 1))
    count = onnx.Mul(onnx.Mul(rows, columns), of_cell)
    values = onnx.Transpose(scores, perm=[0, 2, 3, 1])
    values = onnx.Reshape(values, onnx.Concat(images, count, axis=0), allowzero=1)  # [N, H W A]
    codes = onnx.Reshape(bbox_deltas, onnx.Concat(images, of_cell, [4], rows, columns, axis=0), allowzero=1)
    codes = onnx.Transpose(codes, perm=[0, 3, 4, 1, 2])
    codes = onnx.Reshape(codes, onnx.Concat(images, count, [4], axis=0), allowzero=1)
    most = onnx.Min(count, [pre_nms_top_n]) if pre_nms_top_n > 0 else count
    values, order = onnx.TopK(values, k=most, axis=1)
    codes = onnx.GatherND(codes, onnx.Unsqueeze(order, axes=[2]), batch_dims=1)  # [N, best, 4]
    anchors, variances = (onnx.Gather(onnx.Reshape(x, [-1, 4]), order, axis=0) for x in (anchors, variances))

    def halves(x):
        return [onnx.Slice(x, starts=[a], ends=[a + 2], axes=[2]) for a in (0, 2)]

    more = number(1.0 if pixel_offset else 0.0)
    (low, high), (shift, grow), (by_shift, by_grow) = halves(anchors), halves(codes), halves(variances)
    sides = onnx.Add(onnx.Sub(high, low), more)
    middle = onnx.Add(onnx.Add(onnx.Mul(onnx.Mul(by_shift, shift), sides), low), onnx.Div(sides, number(2.0)))
    grown = onnx.Exp(onnx.Min(onnx.Mul(by_grow, grow), number(math.log(1000.0 / 16.0))))
    reach = onnx.Div(onnx.Mul(grown, sides), number(2.0))
    limit = onnx.Unsqueeze(onnx.Gather(img_size, constant([1, 0], "int64"), axis=1), axes=[1])  # width, height
    edge = onnx.Sub(limit, more)
    cut = [
        onnx.Max(onnx.Min(x, edge), number(0.0))
        for x in (onnx.Sub(middle, reach), onnx.Sub(onnx.Add(middle, reach), more))
    ]
    side = onnx.Sub(cut[1], cut[0])
    if img_scale is None:
        measured = onnx.Add(side, more)
    else:
        scale = onnx.Unsqueeze(onnx.Reshape(img_scale, [-1]), axes=[1, 2])
        scaled = onnx.Add(onnx.Div(side, scale), number(1.0))
        measured = onnx.Where(onnx.Greater(scale, number(0.0)), scaled, onnx.Add(side, more))
    small = onnx.Less(measured, number(max(min_size, 1.0)))
    if pixel_offset:
        center = onnx.Add(cut[0], onnx.Div(onnx.Add(side, more), number(2.0)))
        small = onnx.Or(small, onnx.Greater(center, limit))
    small = onnx.ReduceMax(cast(small, "int32"), axes=[2], keepdims=0)  # [N, best]
    fits = onnx.Equal(small, constant(0, "int32"))
    values = onnx.Where(fits, values, number(least_score))
    # One box of zeros more, which is found where there is no other.
    none = onnx.Equal(onnx.ReduceSum(cast(fits, "int64"), axes=[1], keepdims=1), constant(0, "int64"))
    nothing = onnx.Where(none, number(least_score / 2), number(least_score))
    values = onnx.Concat(values, nothing, axis=1)
    zeros = filled(0.0, dtype, onnx.Concat(images, [1, 4], axis=0))
    boxes = onnx.Concat(onnx.Concat(cut[0], cut[1], axis=2), zeros, axis=1)
    low, high = halves(boxes)
    found = onnx.NonMaxSuppression(
        cast(onnx.Concat(low, onnx.Add(high, more), axis=2), "float32"),
        onnx.Unsqueeze(cast(values, "float32"), axes=[1]),
        constant([post_nms_top_n if post_nms_top_n > 0 else 2**31 - 1], "int64"),
        constant([nms_thresh], "float32"),
        constant([least_score * 0.9], "float32"),
    )
    image, at = _column(found, 0), _table(_column(found, 0), _column(found, 2))
    probs = onnx.GatherND(values, at)
    probs = onnx.Where(onnx.Less(probs, number(least_score / 3)), number(0.0), probs)
    return onnx.GatherND(boxes, at), onnx.Unsqueeze(probs, axes=[1]), _counts(image, images)


def _counts(image, images):
    """int32 [images]: how many have each number."""
    numbers = onnx.Unsqueeze(onnx.Range(0, _number(images), 1), axes=[1])
    here = cast(onnx.Equal(numbers, onnx.Unsqueeze(image, axes=[0])), "int64")
    return cast(onnx.ReduceSum(here, axes=[1], keepdims=0), "int32")


def _levels(rois, min_level, max_level, refer_level, refer_scale, pixel_offset):
    """int64 [R], from 0 on."""

    def number(value):
        return constant(value, rois.dtype)

    low, high = (onnx.Slice(rois, starts=[a], ends=[a + 2], axes=[1]) for a in (0, 2))
    sides = onnx.Sub(high, low)
    turned = onnx.ReduceMax(cast(onnx.Less(sides, number(0.0)), "int32"), axes=[1], keepdims=0)
    area = onnx.ReduceProd(onnx.Add(sides, number(1.0 if pixel_offset else 0.0)), axes=[1], keepdims=0)
    area = onnx.Where(onnx.Greater(turned, constant(0, "int32")), number(0.0), area)
    reach = onnx.Add(onnx.Div(onnx.Sqrt(area), number(float(refer_scale))), number(1e-6))
    level = onnx.Mul(cast(turned, "int64"), constant(0, "int64"))
    for k in range(min_level + 1, max_level + 1):  # floor(log2(reach)) is at least k - refer_level
        level = onnx.Add(level, cast(onnx.Not(onnx.Less(reach, number(2.0 ** (k - refer_level)))), "int64"))
    # A box that is no number is on the lowest.
    return onnx.Where(onnx.Equal(reach, reach), level, constant(0, "int64"))


def onnx_distribute_fpn_proposals(fpn_rois, rois_num, min_level, max_level, refer_level, refer_scale, pixel_offset):
    level = _levels(fpn_rois, min_level, max_level, refer_level, refer_scale, pixel_offset)
    here = [onnx.Equal(level, constant(k, "int64")) for k in range(max_level - min_level + 1)]
    return tuple(onnx.Compress(fpn_rois, of, axis=0) for of in here)


def onnx_fpn_levels(fpn_rois, rois_num, min_level, max_level, refer_level, refer_scale, pixel_offset):
    level = _levels(fpn_rois, min_level, max_level, refer_level, refer_scale, pixel_offset)
    by_level = _places_of_falling(level, largest=0)
    restore = onnx.Unsqueeze(cast(_places_of_falling(by_level, largest=0), "int32"), axes=[1])
    if rois_num is None:
        image, images = onnx.Mul(level, constant(0, "int64")), constant([1], "int64")
    else:
        image, images = _images_of(fpn_rois, rois_num), size(rois_num, 0)
    counts = []
    for k in range(max_level - min_level + 1):
        here = onnx.Compress(image, onnx.Equal(level, constant(k, "int64")), axis=0)
        counts.append(onnx.Unsqueeze(_counts(here, images), axes=[0]))
    return restore, onnx.Concat(*counts, axis=0)
