"""What these ops are in PaddlePaddle's format where reference.rules read backwards does not say it."""

from proa.jit.reference.rule import op, refuse


def pdmodel_nms(boxes, scores, category_idxs, iou_threshold, categories, top_k):
    if category_idxs is not None:
        refuse("nms of categories", "move the boxes of each category apart, and leave category_idxs out")
    order = None
    if scores is not None:
        flags = {"axis": 0, "descending": True}
        order = op("argsort", {"X": scores}, flags, outputs=("Out", "Indices"))[1]
        boxes = _rows(boxes, order)
    kept = op("nms", {"Boxes": boxes}, {"iou_threshold": iou_threshold}, outputs=("KeepBoxesIdxs",), dtype="int64")
    kept = kept if top_k is None else op("slice", {"Input": kept}, {"axes": [0], "starts": [0], "ends": [top_k]})
    return kept if order is None else _rows(order, kept)


def _rows(x, index):
    return op("gather", {"X": x, "Index": index}, {"axis": 0})


def _shared_out(dtype, rois, rois_num, low, high, refer_level, refer_scale, pixel_offset):
    """Boxes of each level, where each went, and numbers of each level, in a row; `dtype` is that of what is used."""
    levels = high - low + 1
    flags = {"min_level": low, "max_level": high, "refer_level": refer_level, "refer_scale": refer_scale,
             "pixel_offset": pixel_offset}  # fmt: skip
    outputs = (("MultiFpnRois", levels), "RestoreIndex", ("MultiLevelRoIsNum", levels))
    return op("distribute_fpn_proposals", {"FpnRois": rois, "RoisNum": rois_num}, flags, outputs, dtype), levels


def pdmodel_distribute_fpn_proposals(fpn_rois, rois_num, min_level, max_level, refer_level, refer_scale, pixel_offset):
    made, levels = _shared_out(fpn_rois.dtype, fpn_rois, rois_num, min_level, max_level, refer_level, refer_scale,
                               pixel_offset)  # fmt: skip
    return made[:levels]


def pdmodel_fpn_levels(fpn_rois, rois_num, min_level, max_level, refer_level, refer_scale, pixel_offset):
    made, levels = _shared_out(
        "int32", fpn_rois, rois_num, min_level, max_level, refer_level, refer_scale, pixel_offset
    )
    return made[levels], op("stack", {"X": made[levels + 1 :]}, {"axis": 0}, outputs=("Y",))
