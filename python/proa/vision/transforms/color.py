"""Transforms of values: tensors, normalization, colors."""

import numbers
import random

from proa import _C
from proa.framework.attributes import known_list
from proa.vision.transforms import functional as F
from proa.vision.transforms.base import BaseTransform, Compose
from proa.vision.transforms.planes import bytes_of, normalized_planes, planes

__all__ = [
    "BrightnessTransform",
    "ColorJitter",
    "ContrastTransform",
    "Grayscale",
    "HueTransform",
    "Normalize",
    "SaturationTransform",
    "ToTensor",
]


class ToTensor(BaseTransform):
    """`functional.to_tensor`.

    Examples:
        >>> proa.vision.transforms.ToTensor()(np.full((2, 2, 3), 255, "uint8")).shape
        [3, 2, 2]
    """

    def __init__(self, data_format="CHW", keys=None):
        super().__init__(keys)
        F._format("ToTensor", data_format)
        self.data_format = data_format

    def _apply_image(self, img):
        return F.to_tensor(img, self.data_format)

    def _joined(self, following):
        if type(self) is not ToTensor or type(following) is not Normalize or following.keys != self.keys:
            return None
        if self.keys != ("image",) or {self.data_format.upper(), following.data_format.upper()} != {"CHW"}:
            return None
        return _NormalizedTensor(self, following)


class _NormalizedTensor:
    """ToTensor, then Normalize, of an image of bytes in one pass."""

    def __init__(self, to_tensor, normalize):
        self.to_tensor, self.normalize = to_tensor, normalize

    def __call__(self, inputs):
        found = None if isinstance(inputs, tuple) else bytes_of(inputs)
        if found is None:
            return self.normalize(self.to_tensor(inputs))
        image, mirrored = found
        channels = image.shape[2]
        mean, std = (
            F._per_channel(name, value, image, False)
            for name, value in (("mean", self.normalize.mean), ("std", self.normalize.std))
        )
        if {mean.size, std.size} <= {1, channels}:
            return normalized_planes(image, mirrored, mean, std)
        return self.normalize(planes(image, mirrored))

    def __repr__(self):
        return f"{self.to_tensor}, {self.normalize}"


class Normalize(BaseTransform):
    """`functional.normalize`; one number holds for three channels.

    Examples:
        >>> proa.vision.transforms.Normalize(0.5, 0.5)(proa.ones([3, 1, 1])).flatten().tolist()
        [1.0, 1.0, 1.0]
    """

    def __init__(self, mean=0.0, std=1.0, data_format="CHW", to_rgb=False, keys=None):
        super().__init__(keys)
        self.mean = [mean] * 3 if isinstance(mean, numbers.Real) else mean
        self.std = [std] * 3 if isinstance(std, numbers.Real) else std
        self.data_format = data_format
        self.to_rgb = to_rgb

    def _apply_image(self, img):
        return F.normalize(img, self.mean, self.std, self.data_format, self.to_rgb)


def _check_input(value, name, center=1, bound=(0, float("inf")), clip_first_on_zero=True):
    """[least, most] of a random factor, or None if it is always `center`."""
    if isinstance(value, numbers.Real):
        if value < 0:
            raise _C.located(ValueError(f"{name}: the value must not be negative, if one number; it is {value!r}"))
        value = [center - value, center + value]
        if clip_first_on_zero:
            value[0] = max(value[0], 0)
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        known_list(name, "the value", value)
        if not bound[0] <= value[0] <= value[1] <= bound[1]:
            raise _C.located(ValueError(f"{name}: the values must be between {bound[0]} and {bound[1]}, not {value!r}"))
    else:
        raise _C.located(TypeError(f"{name}: the value must be a number, or (least, most), not {value!r}"))
    return None if value[0] == value[1] == center else value


class _Color(BaseTransform):
    _what = ""
    _limits: dict = {}

    def __init__(self, value, keys=None):
        super().__init__(keys)
        self.value = _check_input(value, self._what, **self._limits)

    def _apply_image(self, img):
        if self.value is None:
            return img
        return getattr(F, f"adjust_{self._what}")(img, random.uniform(self.value[0], self.value[1]))


class BrightnessTransform(_Color):
    """A random brightness.

    Args:
        value (number|tuple): factors from 1 - value to 1 + value, or from and to.
        keys: see BaseTransform.

    Examples:
        >>> proa.vision.transforms.BrightnessTransform(0.4)(np.zeros((4, 4, 3), "uint8")).shape
        (4, 4, 3)
    """

    _what = "brightness"


class ContrastTransform(_Color):
    """A random contrast; see BrightnessTransform.

    Examples:
        >>> proa.vision.transforms.ContrastTransform(0.4)(np.zeros((4, 4, 3), "uint8")).shape
        (4, 4, 3)
    """

    _what = "contrast"


class SaturationTransform(_Color):
    """A random saturation; see BrightnessTransform.

    Examples:
        >>> proa.vision.transforms.SaturationTransform(0.4)(np.zeros((4, 4, 3), "uint8")).shape
        (4, 4, 3)
    """

    _what = "saturation"


class HueTransform(_Color):
    """A random turn of colors: by -value to value, at most 0.5, or from and to.

    Examples:
        >>> proa.vision.transforms.HueTransform(0.4)(np.zeros((4, 4, 3), "uint8")).shape
        (4, 4, 3)
    """

    _what = "hue"
    _limits = {"center": 0, "bound": (-0.5, 0.5), "clip_first_on_zero": False}


class ColorJitter(BaseTransform):
    """Random brightness, contrast, saturation and hue, in random order; see the transforms of each.

    Examples:
        >>> proa.vision.transforms.ColorJitter(0.4, 0.4, 0.4, 0.1)(np.zeros((4, 4, 3), "uint8")).shape
        (4, 4, 3)
    """

    def __init__(self, brightness=0, contrast=0, saturation=0, hue=0, keys=None):
        super().__init__(keys)
        self.brightness = brightness
        self.contrast = contrast
        self.saturation = saturation
        self.hue = hue

    def _get_param(self, brightness, contrast, saturation, hue):
        transforms = [
            BrightnessTransform(brightness, self.keys),
            ContrastTransform(contrast, self.keys),
            SaturationTransform(saturation, self.keys),
            HueTransform(hue, self.keys),
        ]
        random.shuffle(transforms)
        return Compose(transforms)

    def _apply_image(self, img):
        return self._get_param(self.brightness, self.contrast, self.saturation, self.hue)(img)


class Grayscale(BaseTransform):
    """`functional.to_grayscale`.

    Examples:
        >>> proa.vision.transforms.Grayscale()(np.zeros((4, 4, 3), "uint8")).shape
        (4, 4, 1)
    """

    def __init__(self, num_output_channels=1, keys=None):
        super().__init__(keys)
        self.num_output_channels = num_output_channels

    def _apply_image(self, img):
        return F.to_grayscale(img, self.num_output_channels)
