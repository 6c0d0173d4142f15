"""All transforms, under the path that programs know."""

from proa.framework.names import missing as _missing
from proa.vision.transforms.base import BaseTransform, Compose
from proa.vision.transforms.color import (
    BrightnessTransform,
    ColorJitter,
    ContrastTransform,
    Grayscale,
    HueTransform,
    Normalize,
    SaturationTransform,
    ToTensor,
)
from proa.vision.transforms.color import _check_input as _check_input
from proa.vision.transforms.functional import _size as _size
from proa.vision.transforms.geometry import (
    CenterCrop,
    Pad,
    RandomAffine,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomPerspective,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
    Resize,
    Transpose,
)

__all__ = [
    "BaseTransform",
    "BrightnessTransform",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ContrastTransform",
    "Grayscale",
    "HueTransform",
    "Normalize",
    "Pad",
    "RandomAffine",
    "RandomCrop",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomPerspective",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomVerticalFlip",
    "Resize",
    "SaturationTransform",
    "ToTensor",
    "Transpose",
]

__getattr__ = _missing(__name__)


def _get_image_size(img):
    """(width, height)."""
    return _size(img)[::-1]
