"""Functions on the colors of images; see proa.vision.transforms.functional for the kinds."""

import math

import numpy as np

from proa import _C
from proa.framework.attributes import known_real
from proa.vision.transforms import arrays
from proa.vision.transforms.kinds import _by_array, _check, _is_pil_image, _is_tensor_image

__all__ = ["adjust_brightness", "adjust_contrast", "adjust_hue", "adjust_saturation", "to_grayscale"]


def _check_factor(what, name, factor, low=0.0, high=math.inf):
    if not low <= known_real(what, name, factor) <= high:
        limit = f"from {low} to {high}" if high != math.inf else "not negative"
        raise _C.located(ValueError(f"{what}: {name} must be {limit}, not {factor!r}"))


def _enhanced(img, name, factor):
    from PIL import ImageEnhance

    return getattr(ImageEnhance, name)(img).enhance(factor)


def _colored(img, factor, other):
    """The image blended with what `other` gives of it: tensors stay within 0..1 (or 0..255 of integers)."""

    def changed(array):
        done = arrays.blend(array, other(array), factor)
        return np.clip(done, 0.0, 1.0) if _is_tensor_image(img) and done.dtype.kind == "f" else done

    return _by_array(img, changed)


def adjust_brightness(img, brightness_factor):
    """The image darker (0 is black) or brighter (1 is the image).

    Args:
        brightness_factor (float): not negative.

    Examples:
        >>> proa.vision.transforms.adjust_brightness(np.full((1, 1, 3), 100, "uint8"), 1.5)[0, 0].tolist()
        [150, 150, 150]
    """
    _check("adjust_brightness", img)
    _check_factor("adjust_brightness", "brightness_factor", brightness_factor)
    if _is_pil_image(img):
        return _enhanced(img, "Brightness", brightness_factor)
    return _colored(img, brightness_factor, lambda array: 0.0)


def adjust_contrast(img, contrast_factor):
    """The image with less contrast (0 is plain gray) or more (1 is the image). Arrays turn about the gray value 74.

    Args:
        contrast_factor (float): not negative.

    Examples:
        >>> proa.vision.transforms.adjust_contrast(np.full((1, 1, 3), 100, "uint8"), 0.5)[0, 0].tolist()
        [87, 87, 87]
    """
    _check("adjust_contrast", img)
    _check_factor("adjust_contrast", "contrast_factor", contrast_factor)
    if _is_pil_image(img):
        return _enhanced(img, "Contrast", contrast_factor)
    if _is_tensor_image(img):
        return _colored(img, contrast_factor, lambda a: arrays.grayscale(a).mean() if a.shape[2] == 3 else a.mean())
    return _colored(img, contrast_factor, lambda array: 74.0)


def adjust_saturation(img, saturation_factor):
    """The image with paler colors (0 is gray) or stronger ones (1 is the image).

    Args:
        saturation_factor (float): not negative.

    Examples:
        >>> proa.vision.transforms.adjust_saturation(np.full((1, 1, 3), 100, "uint8"), 0.5)[0, 0].tolist()
        [100, 100, 100]
    """
    _check("adjust_saturation", img)
    _check_factor("adjust_saturation", "saturation_factor", saturation_factor)
    if _is_pil_image(img):
        return _enhanced(img, "Color", saturation_factor)
    return _colored(img, saturation_factor, lambda a: arrays.grayscale(a) if a.shape[2] == 3 else a.astype(float))


def adjust_hue(img, hue_factor):
    """The image with its colors turned: by half of the circle for 0.5 and -0.5.

    Args:
        hue_factor (float): -0.5 to 0.5.

    Examples:
        >>> proa.vision.transforms.adjust_hue(np.full((1, 1, 3), 100, "uint8"), 0.5)[0, 0].tolist()
        [100, 100, 100]
    """
    _check("adjust_hue", img)
    _check_factor("adjust_hue", "hue_factor", hue_factor, -0.5, 0.5)
    if _is_pil_image(img):
        if img.mode in ("L", "1", "I", "F"):
            return img
        from PIL import Image

        hue, saturation, value = img.convert("HSV").split()
        turned = (np.array(hue, np.int64) + int(hue_factor * 255)) % 256
        return Image.merge("HSV", (Image.fromarray(turned.astype(np.uint8), "L"), saturation, value)).convert(img.mode)

    def turned_array(array):
        if array.shape[2] == 1:
            return array
        scale = 255.0 if array.dtype.kind in "iu" else 1.0
        colors = arrays.rgb_to_hsv(array.astype(np.float64) / scale)
        colors[..., 0] = (colors[..., 0] + hue_factor) % 1.0
        return arrays.like(arrays.hsv_to_rgb(colors) * scale, array)

    return _by_array(img, turned_array)


def to_grayscale(img, num_output_channels=1):
    """The image in gray.

    Args:
        num_output_channels (int): 1, or 3 that are equal.

    Examples:
        >>> proa.vision.transforms.to_grayscale(np.full((1, 1, 3), 100, "uint8"))[0, 0].tolist()
        [100]
    """
    _check("to_grayscale", img)
    if num_output_channels not in (1, 3):
        raise _C.located(ValueError(f"to_grayscale: num_output_channels must be 1 or 3, not {num_output_channels!r}"))
    if _is_pil_image(img):
        from PIL import Image

        gray = img.convert("L")
        return gray if num_output_channels == 1 else Image.merge("RGB", (gray, gray, gray))

    def gray_array(array):
        gray = arrays.like(arrays.grayscale(array) if array.shape[2] >= 3 else array.astype(float), array)
        return np.repeat(gray, num_output_channels, 2)

    return _by_array(img, gray_array)
