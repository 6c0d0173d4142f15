"""What these ops are in ONNX. The language: python/proa/onnx/rule.py."""

from proa.onnx.rule import cast, constant, onnx


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
