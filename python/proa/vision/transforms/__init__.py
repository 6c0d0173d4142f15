"""Transforms of images, as classes and as functions: of Pillow images, arrays [H, W, C] and tensors [C, H, W]."""

from proa.framework.names import missing as _missing
from proa.vision.transforms import functional
from proa.vision.transforms.functional import *
from proa.vision.transforms.functional import __all__ as _functions
from proa.vision.transforms.transforms import *
from proa.vision.transforms.transforms import __all__ as _classes

__all__ = [*_classes, *_functions]

__getattr__ = _missing(__name__)
