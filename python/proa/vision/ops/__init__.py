"""Operations on boxes and regions of images."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert(
    {
        "proa.vision.models.blocks": "ConvNormActivation",
        "proa.vision.ops.boxes": "box_coder matrix_nms nms prior_box",
        "proa.vision.ops.deform_conv": "DeformConv2D deform_conv2d",
        "proa.vision.ops.files": "decode_jpeg read_file",
        "proa.vision.ops.proposals": "distribute_fpn_proposals generate_proposals",
        "proa.vision.ops.roi": "PSRoIPool RoIAlign RoIPool psroi_pool roi_align roi_pool",
        "proa.vision.ops.yolo": "yolo_box yolo_loss",
    }
)

__all__ = [name for name in _HOMES if name != "ConvNormActivation"]

__getattr__, __dir__ = _lazy(__name__, _HOMES, ())
