"""What networks of masks (Mask R-CNN) are trained towards, with the arguments of 1.8."""

import proa
from proa import _C
from proa.fluid.layers.images import shared_part
from proa.static.sequences import Layout, layout_of, levels_of, note, take

__all__ = ["generate_mask_labels"]


def _ends(points, lengths):
    """Boxes [objects, 4] around the points of each object."""
    ops, layout = _C.ops, Layout(lengths)
    low, high = (ops.max(layout.padded(p, float("-inf")), [1]) for p in (0.0 - points, points))
    there = ops.unsqueeze(lengths > 0, [1])
    none = ops.full_like(low, 0.0)
    return ops.concat([ops.where(there, 0.0 - low, none), ops.where(there, ops.clip(high, 0.0, None), none)], 1)


def _sums(lengths, groups):
    """Sums of consecutive numbers, `groups` of them each."""
    ops = _C.ops
    upto = ops.concat([ops.full([1], 0, _C.int64), ops.cumsum(lengths, 0)], 0)
    ends = ops.cumsum(groups, 0)
    return take(upto, ends) - take(upto, ends - groups)


def generate_mask_labels(im_info, gt_classes, is_crowd, gt_segms, rois, labels_int32, num_classes, resolution):
    """Which proposals a network of masks learns from, and which of their parts the object covers that they lie on.

    A proposal with a class lies on the object whose polygons' box it overlaps most. Of an image whose proposals have no class the
    first one is taken, without a mask.

    Args:
        im_info (Tensor): float32, [images, 3]: height, width, and what sides were multiplied by.
        gt_classes, is_crowd (Tensor): int32, [objects, 1], a sequence for each image; objects of class 0, and those whose is_crowd
            is 1, do not count.
        gt_segms (Tensor): float32, [points, 2], (x, y) in pixels of the image, with three levels of sequences: objects of images,
            polygons of objects, points of polygons.
        rois (Tensor): float32, [rows, 4], a sequence for each image, in pixels of what the network sees.
        labels_int32 (Tensor): int32, [rows, 1]: classes of the proposals, 0 for none.
        num_classes (int): how many there are, background included.
        resolution (int): of the masks, [resolution, resolution].

    Returns:
        tuple of Tensor: the proposals [K, 4]; int32 [K, 1], the number of each in its image; masks, int32
        [K, num_classes * resolution * resolution]: 1 and 0 at the place of the proposal's class, -1 at those of others; a
        sequence for each image.

    Raises:
        ValueError: nothing is known of the sequences of an input, or gt_segms has not three levels; num_classes or resolution is
            no positive number.
    """
    for name, value in (("num_classes", num_classes), ("resolution", resolution)):
        if type(value) is not int or value < 1:
            raise _C.located(ValueError(f"generate_mask_labels: {name} must be a positive int, not {value!r}"))
    levels = levels_of(gt_segms)
    if len(levels) != 3:
        raise _C.located(
            ValueError(
                "generate_mask_labels: gt_segms must have three levels of sequences (objects of images, polygons of objects, points "
                f"of polygons), as fluid.data(..., lod_level=3) has; it has {len(levels)}"
            )
        )
    ops = _C.ops
    objects, polygons, points = levels
    of_images, proposals = Layout(objects), layout_of("generate_mask_labels", rois, name="rois")
    boxes = of_images.padded(_ends(gt_segms, _sums(points, polygons)), 0.0)
    no_crowd = ops.logical_and(ops.reshape(gt_classes, [-1]) > 0, ops.reshape(is_crowd, [-1]) == 0)
    counts = of_images.padded(ops.logical_and(no_crowd, polygons > 0).astype("int64"), 0) > 0
    scale = im_info[:, 2:3]
    found = proposals.padded(rois, 0.0) / ops.unsqueeze(scale, [2])
    label = proposals.padded(ops.reshape(labels_int32, [-1]).astype("int64"), -1)
    overlaps = shared_part(ops.unsqueeze(found, [2]), ops.unsqueeze(boxes, [1]), 1.0)
    overlaps = ops.where(ops.unsqueeze(counts, [1]), overlaps, ops.full_like(overlaps, -1.0))
    no_class = (label == 0).astype("int64")
    first = ops.logical_and(ops.cumsum(no_class, 1) == 1, no_class > 0)
    first = ops.logical_and(first, ops.logical_not((label > 0).any(1, True)))
    place = ops.nonzero(ops.logical_or(label > 0, first)).astype("int64")
    images, classes = place[:, 0], ops.gather_nd(label, place)
    nearest = ops.gather_nd(ops.argmax(overlaps, 2), place) + ops.gather(ops.cumsum(objects, 0) - objects, images, 0)
    # Behind all objects stands one without polygons, for a proposal that lies on none.
    lies = ops.logical_and(classes > 0, ops.gather(counts.any(1), images, 0))
    nearest = ops.where(lies, nearest, ops.full_like(nearest, 0) + ops.sum(objects))
    polygons = ops.concat([polygons, ops.full([1], 0, _C.int64)], 0)
    box = ops.gather_nd(found, place)
    masks = ops.polygon_masks(box, gt_segms, points, polygons, nearest, resolution)
    mine = ops.unsqueeze(classes, [1]) == proa.arange(0, num_classes, 1, "int64")
    mine = ops.unsqueeze(ops.logical_and(mine, ops.unsqueeze(classes > 0, [1])), [2])
    size = resolution * resolution
    masks = ops.reshape(masks, [-1, 1, size]) + ops.full([1, num_classes, 1], 0, _C.int32)
    masks = ops.reshape(ops.where(mine, masks, ops.full_like(masks, -1)), [-1, num_classes * size])
    results = box * ops.gather(scale, images, 0), place[:, 1:2].astype("int32"), masks
    lengths = ops.sum(ops.logical_or(label > 0, first).astype("int64"), 1)
    for result in results:
        result.stop_gradient = True
        note(result, [lengths])
    return results
