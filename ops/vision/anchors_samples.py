"""References of boxes of a grid, cell by cell."""

import math

import numpy as np


def reference_prior_box(
    input, image, min_sizes, max_sizes=(), aspect_ratios=(1.0,), variance=(0.1, 0.1, 0.2, 0.2), flip=False, clip=False,
    step_w=0.0, step_h=0.0, offset=0.5, min_max_aspect_ratios_order=False,
):  # fmt: skip
    ratios = [1.0]
    for ratio in aspect_ratios:
        if not any(abs(ratio - r) < 1e-6 for r in ratios):
            ratios += [ratio, 1 / ratio] if flip else [ratio]
    height, width = input.shape[2:]
    image_height, image_width = image.shape[2:]
    cell = (step_w or image_width / width, step_h or image_height / max(height, 1))
    boxes = []
    for i in range(height):
        for j in range(width):
            x, y = (j + offset) * cell[0], (i + offset) * cell[1]
            for k, low in enumerate(min_sizes):
                sides = [(low * math.sqrt(r), low / math.sqrt(r)) for r in ratios]
                square = [(math.sqrt(low * max_sizes[k]),) * 2] if max_sizes else []
                sides = sides[:1] + square + sides[1:] if min_max_aspect_ratios_order else sides + square
                boxes += [
                    [
                        (x - w / 2) / image_width,
                        (y - h / 2) / image_height,
                        (x + w / 2) / image_width,
                        (y + h / 2) / image_height,
                    ]
                    for w, h in sides
                ]
    count = len(ratios) * len(min_sizes) + len(max_sizes)
    boxes = np.array(boxes).reshape(height, width, count, 4)
    boxes = np.clip(boxes, 0, 1) if clip else boxes
    return boxes, np.broadcast_to(np.array(variance), boxes.shape)


def reference_anchor_generator(input, anchor_sizes, aspect_ratios, stride, variances=(0.1, 0.1, 0.2, 0.2), offset=0.5):
    height, width = input.shape[2:]
    boxes = np.zeros((height, width, len(aspect_ratios) * len(anchor_sizes), 4))
    for i, j in np.ndindex(height, width):
        x, y = j * stride[0] + offset * (stride[0] - 1), i * stride[1] + offset * (stride[1] - 1)
        for r, ratio in enumerate(aspect_ratios):
            base_w = math.floor(math.sqrt(stride[0] * stride[1] / ratio) + 0.5)
            base_h = math.floor(base_w * ratio + 0.5)
            for s, size in enumerate(anchor_sizes):
                w, h = size / stride[0] * base_w - 1, size / stride[1] * base_h - 1
                boxes[i, j, r * len(anchor_sizes) + s] = [x - w / 2, y - h / 2, x + w / 2, y + h / 2]
    return boxes, np.broadcast_to(np.array(variances), boxes.shape)
