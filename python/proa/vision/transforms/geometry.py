"""Transforms of where pixels are."""

import math
import numbers
import random

import numpy as np

from proa import _C
from proa.framework.attributes import known_ints, known_list, known_real, known_reals
from proa.vision.transforms import functional as F
from proa.vision.transforms.base import BaseTransform

__all__ = [
    "CenterCrop",
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
    "Transpose",
]


class Resize(BaseTransform):
    """`functional.resize`.

    Args:
        size (int|list[int]): [height, width], or the shorter side.
        interpolation (str): how.
        keys: see BaseTransform.

    Examples:
        >>> proa.vision.transforms.Resize((2, 3))(np.zeros((4, 4, 3), "uint8")).shape
        (2, 3, 3)
    """

    def __init__(self, size, interpolation="bilinear", keys=None):
        super().__init__(keys)
        if not isinstance(size, (int, list, tuple)):
            raise _C.located(TypeError(f"Resize: size must be an int or [height, width], not {size!r}"))
        self.size = size
        self.interpolation = interpolation

    def _apply_image(self, img):
        return F.resize(img, self.size, self.interpolation)


class RandomResizedCrop(BaseTransform):
    """A random part of the image, at a fixed size.

    Args:
        size (int|list[int]): of the result.
        scale (list): the least and the most that the part is of the area.
        ratio (list): the least and the most that its width is of its height.
        interpolation (str): how.
        keys: see BaseTransform.

    Examples:
        >>> proa.vision.transforms.RandomResizedCrop(2)(np.zeros((4, 4, 3), "uint8")).shape
        (2, 2, 3)
    """

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3.0 / 4, 4.0 / 3), interpolation="bilinear", keys=None):
        super().__init__(keys)
        self.size = F._pair("RandomResizedCrop", "size", size)
        _check_area("RandomResizedCrop", scale, ratio)
        self.scale = scale
        self.ratio = ratio
        self.interpolation = interpolation

    def _get_param(self, image, attempts=10):
        height, width = F._size(image)
        area = height * width
        for _ in range(attempts):
            target = np.random.uniform(*self.scale) * area
            ratio = math.exp(np.random.uniform(*(math.log(r) for r in self.ratio)))
            w, h = round(math.sqrt(target * ratio)), round(math.sqrt(target / ratio))
            if 0 < w <= width and 0 < h <= height:
                return random.randint(0, height - h), random.randint(0, width - w), h, w
        ratio = width / height
        w, h = width, height
        if ratio < min(self.ratio):
            h = round(w / min(self.ratio))
        elif ratio > max(self.ratio):
            w = round(h * max(self.ratio))
        return (height - h) // 2, (width - w) // 2, h, w

    def _apply_image(self, img):
        return F.resize(F.crop(img, *self._get_param(img)), self.size, self.interpolation)


def _check_area(what, scale, ratio):
    for name, value in (("scale", scale), ("ratio", ratio)):
        least, most = known_list(what, name, value, (2,), "(least, most)")
        if not 0 <= least <= most or name == "ratio" and not 0 < least <= most < math.inf:
            raise _C.located(ValueError(f"{what}: {name} must be (least, most), not negative; it is {value!r}"))


class CenterCrop(BaseTransform):
    """`functional.center_crop`.

    Examples:
        >>> proa.vision.transforms.CenterCrop(2)(np.zeros((4, 4, 3), "uint8")).shape
        (2, 2, 3)
    """

    def __init__(self, size, keys=None):
        super().__init__(keys)
        self.size = F._pair("CenterCrop", "size", size)

    def _apply_image(self, img):
        return F.center_crop(img, self.size)


class _Flip(BaseTransform):
    def __init__(self, prob=0.5, keys=None):
        super().__init__(keys)
        if not 0 <= known_real(type(self).__name__, "prob", prob) <= 1:
            raise _C.located(ValueError(f"{type(self).__name__}: prob must be between 0 and 1, not {prob!r}"))
        self.prob = prob


class RandomHorizontalFlip(_Flip):
    """Mirrors left to right, with probability `prob`.

    Examples:
        >>> proa.vision.transforms.RandomHorizontalFlip(1.0)(np.array([[[1], [2]]], "uint8"))[0, :, 0].tolist()
        [2, 1]
    """

    def _apply_image(self, img):
        return F.hflip(img) if random.random() < self.prob else img


class RandomVerticalFlip(_Flip):
    """Mirrors top to bottom, with probability `prob`.

    Examples:
        >>> proa.vision.transforms.RandomVerticalFlip(1.0)(np.array([[[1]], [[2]]], "uint8"))[:, 0, 0].tolist()
        [2, 1]
    """

    def _apply_image(self, img):
        return F.vflip(img) if random.random() < self.prob else img


class Transpose(BaseTransform):
    """An image as an array with its dims in another order; [H, W] gets a channel first.

    Args:
        order (tuple): of the dims.
        keys: see BaseTransform.

    Examples:
        >>> proa.vision.transforms.Transpose()(np.zeros((4, 5, 3), "uint8")).shape
        (3, 4, 5)
    """

    def __init__(self, order=(2, 0, 1), keys=None):
        super().__init__(keys)
        if sorted(known_ints("Transpose", "order", order)) != list(range(len(order))):
            raise _C.located(ValueError(f"Transpose: order must be dims, each once, not {order!r}"))
        self.order = order

    def _apply_image(self, img):
        if F._is_tensor_image(img):
            return img.transpose(list(self.order))
        img = np.asarray(img)
        img = img[..., np.newaxis] if img.ndim == 2 else img
        if len(self.order) != img.ndim:
            raise _C.located(
                ValueError(f"Transpose: order must have {img.ndim} dims, as the image has; it is {self.order!r}")
            )
        return img.transpose(self.order)


class RandomCrop(BaseTransform):
    """A random part of a fixed size.

    Args:
        size (int|list[int]): [height, width].
        padding (int|list[int], optional): added first; see `functional.pad`.
        pad_if_needed (bool): add what is missing to `size`.
        fill, padding_mode: of the padding.
        keys: see BaseTransform.

    Raises:
        ValueError: the image is smaller than `size`.

    Examples:
        >>> proa.vision.transforms.RandomCrop(2)(np.zeros((4, 4, 3), "uint8")).shape
        (2, 2, 3)
    """

    def __init__(self, size, padding=None, pad_if_needed=False, fill=0, padding_mode="constant", keys=None):
        super().__init__(keys)
        self.size = F._pair("RandomCrop", "size", size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    def _get_param(self, img, output_size):
        height, width = F._size(img)
        h, w = output_size
        if width == w and height == h:
            return 0, 0, h, w
        if width < w or height < h:
            raise _C.located(
                ValueError(
                    f"RandomCrop: the image is {height} by {width}, smaller than {h} by {w}; pad_if_needed=True adds the "
                    "rest"
                )
            )
        return random.randint(0, height - h), random.randint(0, width - w), h, w

    def _apply_image(self, img):
        if self.padding is not None and self.padding != 0:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        height, width = F._size(img)
        if self.pad_if_needed and width < self.size[1]:
            img = F.pad(img, (self.size[1] - width, 0), self.fill, self.padding_mode)
        if self.pad_if_needed and height < self.size[0]:
            img = F.pad(img, (0, self.size[0] - height), self.fill, self.padding_mode)
        return F.crop(img, *self._get_param(img, self.size))


class Pad(BaseTransform):
    """`functional.pad`.

    Examples:
        >>> proa.vision.transforms.Pad(1)(np.zeros((4, 4, 3), "uint8")).shape
        (6, 6, 3)
    """

    def __init__(self, padding, fill=0, padding_mode="constant", keys=None):
        super().__init__(keys)
        if not isinstance(padding, (numbers.Real, list, tuple)) or (
            isinstance(padding, (list, tuple)) and len(padding) not in (2, 4)
        ):
            raise _C.located(ValueError(f"Pad: padding must be an int, or a list of two or four, not {padding!r}"))
        if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
            raise _C.located(
                ValueError(
                    f"Pad: padding_mode must be 'constant', 'edge', 'reflect' or 'symmetric', not {padding_mode!r}"
                )
            )
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def _apply_image(self, img):
        return F.pad(img, self.padding, self.fill, self.padding_mode)


def _degrees(what, name, value, counts=(2,)):
    if isinstance(value, numbers.Real):
        if value < 0:
            raise _C.located(ValueError(f"{what}: {name} must not be negative, if one number; it is {value!r}"))
        return -value, value
    return tuple(known_list(what, name, value, counts, "a number, or (least, most)"))


class RandomRotation(BaseTransform):
    """A turn by a random angle.

    Args:
        degrees (number|tuple): from (the negative) and to.
        interpolation, expand, center, fill: see `functional.rotate`.
        keys: see BaseTransform.

    Examples:
        >>> proa.vision.transforms.RandomRotation(10)(np.zeros((4, 4, 3), "uint8")).shape
        (4, 4, 3)
    """

    def __init__(self, degrees, interpolation="nearest", expand=False, center=None, fill=0, keys=None):
        super().__init__(keys)
        self.degrees, center = _degrees("RandomRotation", "degrees", degrees), F._check_center("RandomRotation", center)
        if fill is not None:
            F._check_fill("RandomRotation", "fill", fill)
        self.interpolation = interpolation
        self.expand = expand
        self.center = center
        self.fill = fill

    def _get_param(self, degrees):
        return random.uniform(degrees[0], degrees[1])

    def _apply_image(self, img):
        angle = self._get_param(self.degrees)
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, self.fill)


class RandomAffine(BaseTransform):
    """A random turn, move, scale and shear; see `functional.affine`.

    Args:
        degrees (number|tuple): of the turn.
        translate (tuple, optional): the most, as parts of width and height.
        scale (tuple, optional): the least and the most.
        shear (number|tuple, optional): degrees along x; of four, along y too.
        interpolation, fill, center: see `functional.affine`.
        keys: see BaseTransform.

    Examples:
        >>> proa.vision.transforms.RandomAffine(10, translate=(0.1, 0.1))(np.zeros((4, 4, 3), "uint8")).shape
        (4, 4, 3)
    """

    def __init__(
        self, degrees, translate=None, scale=None, shear=None, interpolation="nearest", fill=0, center=None, keys=None
    ):
        super().__init__(keys)
        self.degrees = _degrees("RandomAffine", "degrees", degrees)
        center = F._check_center("RandomAffine", center)
        F._check_fill("RandomAffine", "fill", fill)
        if translate is not None and not all(
            0 <= part <= 1 for part in known_list("RandomAffine", "translate", translate, (2,), "(right, down)")
        ):
            raise _C.located(ValueError(f"RandomAffine: translate must be parts between 0 and 1, not {translate!r}"))
        if scale is not None and not all(
            s > 0 for s in known_list("RandomAffine", "scale", scale, (2,), "(least, most)")
        ):
            raise _C.located(ValueError(f"RandomAffine: scale must be positive, not {scale!r}"))
        self.translate = translate
        self.scale = scale
        self.shear = None if shear is None else _degrees("RandomAffine", "shear", shear, (2, 4))
        self.interpolation = interpolation
        self.fill = fill
        self.center = center

    def _get_param(self, height, width):
        angle = random.uniform(*self.degrees)
        move = (0, 0)
        if self.translate is not None:
            most = self.translate[0] * width, self.translate[1] * height
            move = int(random.uniform(-most[0], most[0])), int(random.uniform(-most[1], most[1]))
        scale = 1.0 if self.scale is None else random.uniform(*self.scale)
        shear = (0.0, 0.0)
        if self.shear is not None:
            along_x = random.uniform(*self.shear[:2])
            shear = along_x, random.uniform(*self.shear[2:]) if len(self.shear) == 4 else 0.0
        return angle, move, scale, shear

    def _apply_image(self, img):
        drawn = self._get_param(*F._size(img))
        return F.affine(img, *drawn, interpolation=self.interpolation, fill=self.fill, center=self.center)


class RandomPerspective(BaseTransform):
    """Corners moved inwards by random amounts, with probability `prob`.

    Args:
        prob (float): between 0 and 1.
        distortion_scale (float): the most, as a part of the half size.
        interpolation, fill: see `functional.perspective`.
        keys: see BaseTransform.

    Examples:
        >>> proa.vision.transforms.RandomPerspective(1.0)(np.zeros((8, 8, 3), "uint8")).shape
        (8, 8, 3)
    """

    def __init__(self, prob=0.5, distortion_scale=0.5, interpolation="nearest", fill=0, keys=None):
        super().__init__(keys)
        known_reals("RandomPerspective", prob=prob, distortion_scale=distortion_scale)
        F._check_fill("RandomPerspective", "fill", fill)
        if not 0 <= prob <= 1 or not 0 <= distortion_scale <= 1:
            raise _C.located(ValueError("RandomPerspective: prob and distortion_scale must be between 0 and 1"))
        self.prob = prob
        self.distortion_scale = distortion_scale
        self.interpolation = interpolation
        self.fill = fill

    def get_params(self, width, height, distortion_scale):
        """(corners of the image, where they come to lie)."""
        by_x, by_y = int(distortion_scale * (width // 2)) + 1, int(distortion_scale * (height // 2)) + 1

        def drawn(from_right, from_bottom):
            x = int(random.uniform(width - by_x, width)) if from_right else int(random.uniform(0, by_x))
            y = int(random.uniform(height - by_y, height)) if from_bottom else int(random.uniform(0, by_y))
            return x, y

        corners = [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)]
        return corners, [drawn(False, False), drawn(True, False), drawn(True, True), drawn(False, True)]

    def _apply_image(self, img):
        if random.random() >= self.prob:
            return img
        height, width = F._size(img)
        points = self.get_params(width, height, self.distortion_scale)
        return F.perspective(img, *points, interpolation=self.interpolation, fill=self.fill)


class RandomErasing(BaseTransform):
    """A random rectangle replaced, with probability `prob`.

    Args:
        prob (float): between 0 and 1.
        scale, ratio (tuple): as in RandomResizedCrop, of the rectangle.
        value (number|list|str): what it is replaced by; "random" for noise.
        inplace (bool): write into the image.
        keys: see BaseTransform.

    Examples:
        >>> proa.vision.transforms.RandomErasing(prob=1.0)(proa.ones([3, 8, 8])).shape
        [3, 8, 8]
    """

    def __init__(self, prob=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False, keys=None):
        super().__init__(keys)
        if not 0 <= known_real("RandomErasing", "prob", prob) <= 1:
            raise _C.located(ValueError(f"RandomErasing: prob must be between 0 and 1, not {prob!r}"))
        if isinstance(value, str) and value != "random":
            raise _C.located(ValueError(f"RandomErasing: value must be a number, a list or 'random', not {value!r}"))
        _check_area("RandomErasing", scale, ratio)
        if not isinstance(value, str):
            F._check_fill("RandomErasing", "value", value)
        self.prob = prob
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    def _get_param(self, img):
        height, width = F._size(img)
        for _ in range(10):
            area = np.random.uniform(*self.scale) * height * width
            ratio = math.exp(np.random.uniform(*(math.log(r) for r in self.ratio)))
            h, w = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < h < height and 0 < w < width:
                value = self._values(img, h, w)
                return np.random.randint(0, height - h + 1), np.random.randint(0, width - w + 1), h, w, value
        return None

    def _values(self, img, h, w):
        tensor = F._is_tensor_image(img)
        if isinstance(self.value, str):
            channels = img.shape[-3] if tensor else np.asarray(img).shape[2] if np.asarray(img).ndim == 3 else 1
            if tensor:
                return _C.ops.gaussian([channels, h, w], _C.float32, 0.0, 1.0)
            return np.random.normal(size=(h, w, channels)) * 255
        if isinstance(self.value, (list, tuple)):
            values = np.array(self.value, "float32")
            return _C.to_tensor(values.reshape(-1, 1, 1)) if tensor else values
        return self.value

    def _apply_image(self, img):
        if random.random() >= self.prob:
            return img
        drawn = self._get_param(img)
        return img if drawn is None else F.erase(img, *drawn, inplace=self.inplace)
