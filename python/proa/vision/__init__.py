"""Images: models, transforms, data sets, operations on boxes."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy
from proa.framework.names import missing as _missing

_HOMES = _invert({"proa.vision.image": "get_image_backend image_load set_image_backend"})

__all__ = [*_HOMES]

_PARTS = ("datasets", "models", "transforms")

_own, __dir__ = _lazy(__name__, _HOMES, (*_PARTS, "image", "ops"))


def __getattr__(name):
    """Programs of PaddlePaddle take data sets, models and transforms from here as well."""
    if name.startswith("_") or name in _HOMES or name in (*_PARTS, "image", "ops"):
        return _own(name)
    for part in map(_own, _PARTS):
        if name in part.__all__:
            globals()[name] = getattr(part, name)
            return globals()[name]
    return _missing(__name__)(name)
