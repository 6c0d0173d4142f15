"""Writes reference_vision_ops.json: what PaddlePaddle's operations on boxes give. Run it where that is.

python reference_vision_ops.py reference_vision_ops.json
"""

import json
import sys

import numpy as np


def _boxes(rng, n, side=20.0, dtype="float32"):
    corner = rng.rand(n, 2) * side
    return np.concatenate([corner, corner + 1.0 + rng.rand(n, 2) * side], 1).astype(dtype)


def _deform(rng, n, c, o, h, w, k, stride, padding, dilation, parts, groups, masked, biased):
    oh, ow = ((s + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for s in (h, w))

    def normal(*shape):
        return rng.randn(*shape).astype("float32")

    arrays = [normal(n, c, h, w), normal(n, 2 * parts * k * k, oh, ow) * np.float32(2), normal(o, c // groups, k, k)]
    arrays.append(normal(o) if biased else None)
    rest = {"stride": stride, "padding": padding, "dilation": dilation, "deformable_groups": parts, "groups": groups}
    if masked:
        rest["mask"] = rng.rand(n, parts * k * k, oh, ow).astype("float32")
    return arrays, rest


def cases():
    """Name of the function, arguments (arrays become tensors), named arguments, whether gradients are asked for."""
    rng = np.random.RandomState(7)
    for n in (1, 2, 30):
        for threshold in (0.0, 0.3, 0.9):
            yield "nms", [_boxes(rng, n), threshold], {}, False
            yield "nms", [_boxes(rng, n), threshold, rng.rand(n).astype("float32")], {}, False
    kinds = rng.randint(0, 4, 40)
    yield "nms", [_boxes(rng, 40), 0.3, rng.rand(40).astype("float32"), kinds, [0, 1, 2, 3]], {}, False
    yield "nms", [_boxes(rng, 40), 0.3, rng.rand(40).astype("float32"), kinds, [1, 3], 4], {}, False
    for normalized in (True, False):
        more = {"box_normalized": normalized}
        for variance in (_boxes(rng, 3) / 20, [0.1, 0.1, 0.2, 0.2]):
            yield "box_coder", [_boxes(rng, 3), variance, _boxes(rng, 2), "encode_center_size"], more, False
            for axis, measures in ((0, 3), (1, 2)):
                spread = variance if isinstance(variance, list) else _boxes(rng, measures) / 20
                code = (rng.randn(2, 3, 4) / 2).astype("float32")
                arrays = [_boxes(rng, measures), spread, code, "decode_center_size"]
                yield "box_coder", arrays, {"axis": axis, **more}, False
    maps = [np.zeros((1, 3, 3, 4), "float32"), np.zeros((1, 3, 30, 50), "float32")]
    yield "prior_box", [*maps, [4.0, 8.0]], {"aspect_ratios": [2.0, 1.0], "flip": True, "clip": True}, False
    more = {"max_sizes": [9.0, 12.0], "aspect_ratios": [2.0, 3.0], "steps": [5.0, 7.0], "offset": 0.25}
    for order in (False, True):
        yield "prior_box", [*maps, [4.0, 8.0]], {**more, "min_max_aspect_ratios_order": order}, False
    size = np.array([[96, 64], [80, 120]], "int32")
    for more in ({}, {"clip_bbox": False, "scale_x_y": 1.2}):
        x = rng.randn(2, 2 * (5 + 3), 2, 3).astype("float32")
        yield "yolo_box", [x, size, [10, 13, 16, 30], 3, 0.5, 32], more, False
    x = rng.randn(2, 2 * (6 + 3), 2, 3).astype("float32")
    yield "yolo_box", [x, size, [10, 13, 16, 30], 3, 0.3, 32], {"iou_aware": True, "iou_aware_factor": 0.4}, False
    anchors = [10, 13, 16, 30, 33, 23, 30, 61, 62, 45, 59, 119]
    for more in ({}, {"use_label_smooth": False, "scale_x_y": 1.1}, {"gt_score": rng.rand(2, 5).astype("float32")}):
        box = rng.uniform(0.05, 0.9, (2, 5, 4)).astype("float32")
        box[:, 2:4, 2:] /= 8
        box[0, 1] = box[0, 0]  # two of a cell
        box[1, 3] = 0  # none
        label = rng.randint(0, 3, (2, 5)).astype("int32")
        x = rng.randn(2, 3 * (5 + 3), 4, 4).astype("float32")
        yield "yolo_loss", [x, box, label, anchors, [0, 2, 4], 3, 0.4, 32], more, True
    for arguments in (
        (2, 4, 6, 5, 6, 3, 1, 1, 1, 1, 1, False, True), (1, 4, 6, 7, 5, 3, 2, 2, 2, 2, 2, True, False),
        (2, 2, 2, 4, 4, 1, 1, 0, 1, 1, 1, True, True), (1, 4, 4, 5, 5, 2, 1, 1, 1, 4, 1, True, True),
    ):  # fmt: skip
        yield "deform_conv2d", *_deform(rng, *arguments), True
    yield from _proposals(rng)


def _proposals(rng):
    def numbers(*shape):
        return rng.rand(*shape).astype("float32")

    for options in (
        {}, {"pre_nms_top_n": 50, "post_nms_top_n": 10, "nms_thresh": 0.7, "min_size": 5.0, "eta": 0.9, "pixel_offset": True},
        {"pre_nms_top_n": 50, "min_size": 1000.0}, {"pre_nms_top_n": 0, "post_nms_top_n": 0, "nms_thresh": 0.0, "min_size": 3.0},
    ):  # fmt: skip
        n, a, h, w = 2, 3, 4, 5
        anchors = np.stack([_boxes(rng, a, 60.0) for _ in range(h * w)]).reshape(h, w, a, 4)
        arrays = [numbers(n, a, h, w), (rng.randn(n, 4 * a, h, w) / 2).astype("float32")]
        arrays += [np.array([[80, 90], [60, 100]], "float32"), anchors, numbers(h, w, a, 4)]
        yield "generate_proposals", arrays, {"return_rois_num": True, **options}, False
    for pixels in (False, True):
        more = {"rois_num": np.array([10, 20], "int32")}
        yield "distribute_fpn_proposals", [_boxes(rng, 30, 300.0), 2, 5, 4, 224, pixels], more, False
    for gaussian, normalized, background, top, keep in (
        (False, True, 0, -1, -1),
        (True, True, -1, 10, 7),
        (True, False, 1, 5, 99),
    ):
        boxes = np.stack([_boxes(rng, 30), _boxes(rng, 30)]) / np.float32(30.0 if normalized else 1.0)
        arrays = [boxes, numbers(2, 3, 30), 0.2, 0.1, top, keep, gaussian, 2.0, background, normalized]
        yield "matrix_nms", arrays, {"return_index": True}, False


def _flat(found):
    for part in found if isinstance(found, (list, tuple)) else [found]:
        yield from _flat(part) if isinstance(part, (list, tuple)) else [part]


def compute(paddle, name, arguments, named, asks_gradients):
    """Results, and gradients of the floating point arguments by the sum of results times 1, 2, 3, ..."""
    leaves = []

    def given(value):
        if not isinstance(value, np.ndarray):
            return value
        tensor = paddle.to_tensor(value)
        if asks_gradients and value.dtype == np.float32:
            tensor.stop_gradient = False
            leaves.append(tensor)
        return tensor

    found = getattr(paddle.vision.ops, name)(*[given(v) for v in arguments], **{k: given(v) for k, v in named.items()})
    found = list(_flat(found))
    if asks_gradients:
        weights = paddle.to_tensor(np.arange(1, found[0].numel().item() + 1, dtype="float32"))
        (found[0].reshape([-1]) * weights).sum().backward()
        # Those of true boxes are of no interest.
        found += [leaf.grad for leaf in leaves[: 1 if name == "yolo_loss" else None]]
    return [np.asarray(value.numpy()) for value in found]


def main():
    import paddle

    lines = [
        json.dumps([np.round(v.astype("float64"), 5).tolist() for v in compute(paddle, *case)]) for case in cases()
    ]
    with open(sys.argv[1], "w") as stream:
        stream.write("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
