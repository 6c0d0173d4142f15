"""Images: models, transforms, data sets, operations on boxes."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert({"proa.vision.image": "get_image_backend image_load set_image_backend"})

__all__ = [*_HOMES]

__getattr__, __dir__ = _lazy(__name__, _HOMES, ("datasets", "image", "models", "ops", "transforms"))
