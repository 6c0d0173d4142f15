"""Regions of images and text with the arguments of 1.8: as the ops of PaddlePaddle's files, which reference_regions_test compares with loops."""

import numpy as np
import pytest

import proa
from proa import fluid
from proa.fluid import layers
from python.tests.reference_program import run

_R = np.random.RandomState(3)
_OF_IMAGES = np.array([2, 0, 3])
_IMAGES = _R.randn(3, 8, 9, 11).astype("float32")
_BOXES = (np.sort(_R.rand(5, 2, 2) * [11, 9], 1).reshape(5, 4) + 0.3).astype("float32")
_CORNERS = (np.array([2, 1, 9, 2, 8, 6, 1, 5]) + _R.rand(5, 8)).astype("float32")
_MOVES = _R.randn(5, 2, 2, 3).astype("float32")

# name: (call of images and regions, type of op, inputs, outputs, attributes)
_CALLS = {
    "prroi_pool": (lambda x, r: [layers.prroi_pool(x, r, 0.5, 2, 3)], "prroi_pool", {"X": _IMAGES, "ROIs": _BOXES}, ("Out",),
                   {"spatial_scale": 0.5, "pooled_height": 2, "pooled_width": 3}),
    "roi_perspective_transform": (lambda x, r: layers.roi_perspective_transform(x, r, 4, 6, 0.8), "roi_perspective_transform",
                                  {"X": _IMAGES, "ROIs": _CORNERS}, {"Out": "float32", "Mask": "int32", "TransformMatrix": "float32"},
                                  {"transformed_height": 4, "transformed_width": 6, "spatial_scale": 0.8}),
    "deformable_roi_pooling": (lambda x, r: [layers.deformable_roi_pooling(x, r, proa.to_tensor(_MOVES), False, 0.5, [2, 2], 2, 2, (2, 3), 2,
                                                                           0.2, True)],
                               "deformable_psroi_pooling", {"Input": _IMAGES, "ROIs": _BOXES, "Trans": _MOVES}, ("Output",),
                               {"no_trans": False, "spatial_scale": 0.5, "output_dim": 2, "group_size": [2, 2], "pooled_height": 2,
                                "pooled_width": 2, "part_size": [2, 3], "sample_per_part": 2, "trans_std": 0.2}),
}  # fmt: skip


@pytest.mark.parametrize("name", _CALLS)
def test_regions(name):
    call, kind, inputs, outputs, attributes = _CALLS[name]
    want, _ = run(kind, inputs, outputs, attributes=attributes, lengths=(_OF_IMAGES,), levels={"ROIs": 1})
    main = fluid.Program()
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main, fluid.Program()):
        x = fluid.data("x", [None, 8, None, None])
        rois = fluid.data("rois", [None, inputs["ROIs"].shape[1]], lod_level=1)
        fetched = call(x, rois)
        feed = {"x": _IMAGES, "rois": fluid.create_lod_tensor(inputs["ROIs"], [_OF_IMAGES.tolist()])}
        found = fluid.Executor().run(main, feed=feed, fetch_list=list(fetched))
    for ours, theirs in zip(found, want, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_gradients_of_precise_pooling():
    """To the images and to the corners, against differences."""
    x, boxes = proa.to_tensor(_IMAGES[:2].astype("float32")), proa.to_tensor(_BOXES[:3])
    counts = proa.to_tensor(np.array([1, 2]))
    x.stop_gradient = boxes.stop_gradient = False
    weight = proa.to_tensor(_R.randn(3, 8, 2, 2).astype("float32"))
    value = lambda x, boxes: (layers.prroi_pool(x, boxes, 1.0, 2, 2, counts) * weight).sum()
    value(x, boxes).backward()
    for of, place in ((x, (1, 2, 3, 4)), (x, (0, 0, 5, 5)), (boxes, (0, 2)), (boxes, (2, 1))):
        ends = []
        for step in (1e-2, -1e-2):
            moved = of.numpy().copy()
            moved[place] += step
            moved = proa.to_tensor(moved)
            ends.append(value(*(moved, boxes) if of is x else (x, moved)).item())
        np.testing.assert_allclose(of.grad.numpy()[place], (ends[0] - ends[1]) / 2e-2, rtol=0.05, atol=0.02)
    assert boxes.grad.abs().min().item() >= 0 and x.grad.shape == x.shape


def test_text_boxes():
    boxes = _R.rand(2, 6, 8).astype("float32")
    scores = _R.rand(2, 1, 6).astype("float32")
    want, counts = proa._C.ops.locality_aware_nms(proa.to_tensor(boxes), proa.to_tensor(scores), 0.1, -1, -1, 0.2)
    with fluid.scope_guard(fluid.Scope()), fluid.program_guard(main := fluid.Program(), fluid.Program()):
        found = layers.locality_aware_nms(
            fluid.data("b", [None, None, 8]), fluid.data("s", [None, 1, None]), 0.1, -1, -1, 0.2
        )
        (got,) = fluid.Executor().run(main, feed={"b": boxes, "s": scores}, fetch_list=[found], return_numpy=False)
    np.testing.assert_array_equal(np.asarray(got), want.numpy())
    assert got.recursive_sequence_lengths() == [counts.tolist()]


def test_regions_without_images():
    with pytest.raises(ValueError, match=r"numbers of regions are given for \[1\] images, and there are \[3\]"):
        layers.prroi_pool(proa.to_tensor(_IMAGES), proa.to_tensor(_BOXES))
