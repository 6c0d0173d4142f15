"""Pixels of bytes as planes of floats in one pass: a table has the value of each byte, to the bit what the ops give that
`to_tensor` and `normalize` stand for.
"""

import functools

import numpy as np

from proa import _C
from proa.vision.transforms.kinds import _is_numpy_image, _is_pil_image

__all__ = ["bytes_of", "normalized_planes", "planes"]

# Modes of Pillow whose pixels are bytes.
_BYTES = ("L", "P", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "LAB", "HSV", "LA", "PA", "La", "RGBa")


def bytes_of(image):
    """(uint8 [H, W, C], whether rows go from right to left) of an image that is not empty; None of other dtypes, of tensors
    and where tensors are not made on the CPU.
    """
    if _C.get_device() != "cpu":
        return None
    mirrored = False
    if _is_pil_image(image):
        if image.mode not in _BYTES:
            return None
        from proa.vision.undecoded import Undecoded

        found = image.array() if isinstance(image, Undecoded) else None
        image, mirrored = (np.asarray(image), False) if found is None else found
    elif not _is_numpy_image(image) or image.dtype != np.uint8:
        return None
    image = image[:, :, None] if image.ndim == 2 else image
    if not image.size:
        return None
    if image.strides[2] != 1 or image.strides[1] != image.shape[2]:
        image = np.ascontiguousarray(image)
    return image, mirrored


@functools.lru_cache
def _table(channels, mean=None, std=None):
    """float32 [channels, 256]; mean and std are float32 [channels or 1], as bytes."""
    with _C.eager_mode():
        table = _C.to_tensor(np.tile(np.arange(256, dtype=np.uint8), (channels, 1))).astype("float32") / 255
        if mean is not None:
            mean, std = (_C.to_tensor(np.frombuffer(x, np.float32)[:, None].copy()) for x in (mean, std))
            table = (table - mean) / std
        return table.contiguous()


def planes(image, mirrored):
    """float32 [C, H, W] in 0..1 of what `bytes_of` gives."""
    return _C.pixel_planes(image, mirrored, _table(image.shape[2]))


def normalized_planes(image, mirrored, mean, std):
    """`normalize` of `planes`; mean and std are float32 arrays of as many elements as the image has channels, or one."""
    return _C.pixel_planes(image, mirrored, _table(image.shape[2], mean.tobytes(), std.tobytes()))
