"""Functions on images: Pillow images, NumPy arrays [H, W, C] (or [H, W]) and tensors [C, H, W].

The result is of the kind that was given. Pillow is needed for Pillow images only.
"""

import math
import numbers

import numpy as np

from proa import _C
from proa.framework.attributes import a_list, cut_int, known_list, known_real, known_reals
from proa.framework.names import missing as _missing
from proa.vision.transforms import arrays, grids
from proa.vision.transforms.adjust import (
    adjust_brightness,
    adjust_contrast,
    adjust_hue,
    adjust_saturation,
    to_grayscale,
)
from proa.vision.transforms.kinds import (
    _LONGEST,
    _by_array,
    _check,
    _check_center,
    _check_fill,
    _chosen,
    _format,
    _is_pil_image,
    _is_tensor_image,
    _pair,
    _per_channel,
    _pil,
    _rectangle,
    _size,
    _undecoded,
)
from proa.vision.transforms.kinds import _is_numpy_image as _is_numpy_image  # programs ask it here
from proa.vision.transforms.planes import bytes_of, planes

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_hue",
    "adjust_saturation",
    "affine",
    "center_crop",
    "crop",
    "erase",
    "hflip",
    "normalize",
    "pad",
    "perspective",
    "resize",
    "rotate",
    "to_grayscale",
    "to_tensor",
    "vflip",
]

__getattr__ = _missing(__name__)


# To tensors and numbers ---------------------------------------------------------------------------------------------------


def to_tensor(pic, data_format="CHW"):
    """A Pillow image or an array as a tensor: uint8 as float32 in 0..1, other types as they are.

    Args:
        pic: the image; of a tensor, only the order of its dims changes.
        data_format (str): "CHW" or "HWC".

    Examples:
        >>> import numpy
        >>> image = proa.vision.transforms.to_tensor(numpy.full([4, 5, 3], 255, "uint8"))
        >>> image.shape, image.max().item()
        ([3, 4, 5], 1.0)
    """
    _check("to_tensor", pic)
    chw = _format("to_tensor", data_format) == "CHW"
    if _is_tensor_image(pic):
        return pic if chw else pic.transpose([1, 2, 0])
    if chw and (found := bytes_of(pic)) is not None:
        return planes(*found)
    if _is_pil_image(pic):
        kinds = {"I": np.int32, "I;16": np.int32, "F": np.float32}
        array = np.asarray(pic, kinds.get(pic.mode, np.uint8))
        array = 255 * array if pic.mode == "1" else array
    else:
        array = pic
    array = array[:, :, None] if array.ndim == 2 else array
    x = _C.to_tensor(np.ascontiguousarray(array))
    x = x.transpose([2, 0, 1]).contiguous() if chw else x  # of bytes, which are fewer
    return x.astype("float32") / 255 if array.dtype == np.uint8 else x


def normalize(img, mean, std, data_format="CHW", to_rgb=False):
    """(img - mean) / std for each channel.

    Args:
        img: Pillow image, array or tensor; Pillow images become arrays.
        mean, std (float|list[float]): for each channel.
        data_format (str): "CHW" or "HWC", of arrays and tensors.
        to_rgb (bool): reverse the channels of an array first.

    Returns:
        ndarray (float32) or Tensor.

    Examples:
        >>> proa.vision.transforms.normalize(proa.ones([3, 1, 1]), [0.5] * 3, [0.5] * 3).flatten().tolist()
        [1.0, 1.0, 1.0]
    """
    if not isinstance(img, np.ndarray):
        _check("normalize", img)
    chw = _format("normalize", data_format) == "CHW"
    mean, std = (_per_channel(name, value, img, chw) for name, value in (("mean", mean), ("std", std)))
    if _is_tensor_image(img):
        return (img - _C.to_tensor(mean)) / _C.to_tensor(std)
    if _is_pil_image(img):
        img = np.array(img)
    if to_rgb:
        img = img[::-1] if chw else img[..., ::-1]
    return (np.float32(img) - mean) / std


# Geometry -----------------------------------------------------------------------------------------------------------------


def resize(img, size, interpolation="bilinear"):
    """The image at another size.

    Args:
        img: the image.
        size (int|list[int]): [height, width]; one int is the shorter side, and the other keeps its ratio.
        interpolation (str): "nearest", "bilinear", "bicubic", "lanczos"; Pillow images "box" and "hamming" too, others
            "area": the mean over what a pixel covers, for a tensor over all pixels that it touches.

    Examples:
        >>> import numpy
        >>> proa.vision.transforms.resize(numpy.zeros([4, 8, 3], "uint8"), 2).shape
        (2, 4, 3)
    """
    _check("resize", img)
    if not (isinstance(size, int) or (isinstance(size, (list, tuple)) and len(size) == 2)):
        raise _C.located(TypeError(f"resize: size must be an int or [height, width], not {size!r}"))
    height, width = _size(img)
    if isinstance(size, int):
        size = int(size)  # of bools
        if min(height, width) == size:
            return img
        if width < height:
            new = int(size * height / width), size
        else:
            new = size, int(size * width / height)
    else:
        new = _pair("resize", "size", size)
    if not 0 < min(new) <= max(new) <= _LONGEST:
        raise _C.located(
            ValueError(f"resize: size must be from 1 to {_LONGEST}; {size!r} of {height} by {width} gives {new}")
        )
    if _is_pil_image(img):
        return img.resize(new[::-1], _pil(interpolation))
    _chosen(interpolation, dict.fromkeys(("nearest", "bilinear", "area", "bicubic", "lanczos")))
    if _is_tensor_image(img) and interpolation != "lanczos" and img.dtype.is_floating_point:
        from proa.nn import functional

        batch = img if img.ndim == 4 else img.unsqueeze(0)
        done = functional.interpolate(batch, new, mode=interpolation, data_format="NCHW")
        return done if img.ndim == 4 else done.squeeze(0)
    return _by_array(img, lambda array: arrays.resize(array, *new, interpolation))


def crop(img, top, left, height, width):
    """The part of the image from row `top` and column `left` on; what lies outside of the image is black for Pillow.

    Examples:
        >>> proa.vision.transforms.crop(np.zeros((4, 4, 3), "uint8"), 0, 1, 2, 3).shape
        (2, 3, 3)
    """
    _check("crop", img)
    top, left, height, width = _rectangle("crop", img, top=top, left=left, height=height, width=width)
    if _is_pil_image(img):
        return _undecoded(img).crop((left, top, left + width, top + height))
    if _is_tensor_image(img):
        return img[..., top : top + height, left : left + width]
    return img[top : top + height, left : left + width]


def center_crop(img, output_size):
    """The middle of the image.

    Args:
        output_size (int|list[int]): [height, width], or the side of a square.

    Examples:
        >>> proa.vision.transforms.center_crop(np.zeros((4, 4, 3), "uint8"), 2).shape
        (2, 2, 3)
    """
    _check("center_crop", img)
    new_height, new_width = _pair("center_crop", "output_size", output_size)
    height, width = _size(img)
    top, left = round((height - new_height) / 2.0), round((width - new_width) / 2.0)
    return crop(img, int(top), int(left), new_height, new_width)


def pad(img, padding, fill=0, padding_mode="constant"):
    """The image with pixels added around it.

    Args:
        padding (int|list[int]): of all sides; [left and right, top and bottom]; or [left, top, right, bottom].
        fill (number|tuple): of padding_mode "constant", for each channel.
        padding_mode (str): "constant", "edge", "reflect" (without the border pixel) or "symmetric".

    Examples:
        >>> proa.vision.transforms.pad(np.zeros((4, 4, 3), "uint8"), [1, 2]).shape
        (8, 6, 3)
    """
    _check("pad", img)
    sides = padding if isinstance(padding, (list, tuple)) else [padding]
    if len(sides) not in (1, 2, 4) or len(sides) == 1 and sides is padding:
        raise _C.located(TypeError(f"pad: padding must be an int, or a list of two or four, not {padding!r}"))
    sides = [cut_int("pad", "padding", side, "an int, or a list of two or four") for side in sides]
    left, top, right, bottom = sides * (4 // len(sides))
    height, width = _size(img)
    if not max(sides) <= _LONGEST or height + top + bottom < 0 or width + left + right < 0:
        raise _C.located(
            ValueError(
                f"pad: padding must be at most {_LONGEST}, and not cut off more than there is; it is {padding!r} of an "
                f"image of {height} by {width}"
            )
        )
    _check_fill("pad", "fill", fill, img)
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise _C.located(
            ValueError(f"pad: padding_mode must be 'constant', 'edge', 'reflect' or 'symmetric', not {padding_mode!r}")
        )
    if _is_pil_image(img):
        return _pad_pil(img, (left, top, right, bottom), fill, padding_mode)

    def padded(array):
        return _pad_array(array, (left, top, right, bottom), fill, padding_mode)

    return _by_array(img, padded)


def _pad_array(array, sides, fill, mode):
    left, top, right, bottom = sides
    if min(sides) < 0:
        raise _C.located(ValueError(f"pad: padding must not be negative, of other than Pillow images; it is {sides}"))
    widths = ((top, bottom), (left, right), (0, 0))
    if mode != "constant":
        return np.pad(array, widths, mode)
    shape = (array.shape[0] + top + bottom, array.shape[1] + left + right, array.shape[2])
    result = np.empty(shape, array.dtype)
    result[...] = np.asarray(fill).astype(array.dtype)
    result[top : top + array.shape[0], left : left + array.shape[1]] = array
    return result


def _pad_pil(img, sides, fill, mode):
    from PIL import Image, ImageOps

    if mode == "constant":
        if isinstance(fill, float) and img.mode != "F":
            fill = int(fill)
        if isinstance(fill, (list, tuple)):
            fill = tuple(fill) if len(img.getbands()) > 1 else fill[0]
        elif len(img.getbands()) > 1 and img.mode != "P":
            fill = (fill,) * len(img.getbands())
        padded = ImageOps.expand(img, sides, fill)
        if img.mode == "P":
            padded.putpalette(img.getpalette())
        return padded
    array = np.asarray(img)
    flat = array[:, :, None] if array.ndim == 2 else array
    done = _pad_array(flat, sides, fill, mode)
    result = Image.fromarray(done[:, :, 0] if array.ndim == 2 else done)
    if img.mode == "P":
        result.putpalette(img.getpalette())
    return result


def hflip(img):
    """The image mirrored left to right.

    Examples:
        >>> proa.vision.transforms.hflip(np.array([[[1], [2]]], "uint8"))[0, :, 0].tolist()
        [2, 1]
    """
    _check("hflip", img)
    if _is_pil_image(img):
        from PIL import Image

        return _undecoded(img).transpose(Image.FLIP_LEFT_RIGHT)
    return img.flip([-1]) if _is_tensor_image(img) else img[:, ::-1].copy()


def vflip(img):
    """The image mirrored top to bottom.

    Examples:
        >>> proa.vision.transforms.vflip(np.array([[[1]], [[2]]], "uint8"))[:, 0, 0].tolist()
        [2, 1]
    """
    _check("vflip", img)
    if _is_pil_image(img):
        from PIL import Image

        return img.transpose(Image.FLIP_TOP_BOTTOM)
    return img.flip([-2]) if _is_tensor_image(img) else img[::-1].copy()


def _pil_fill(img, fill):
    bands = len(img.getbands())
    if isinstance(fill, numbers.Real):
        return int(fill) if bands == 1 else (int(fill),) * bands
    return tuple(fill)


def _by_grid(img, interpolation):
    """Whether an image is sampled by ops: tensors are, but by "bicubic"."""
    return _is_tensor_image(img) and interpolation in ("nearest", "bilinear")


def rotate(img, angle, interpolation="nearest", expand=False, center=None, fill=0, resample=None):
    """The image turned against the clock.

    Args:
        angle (float): degrees.
        interpolation (str): "nearest", "bilinear" or "bicubic".
        expand (bool): make the result large enough to hold all of the image.
        center (tuple, optional): (x, y) that stays; the middle unless given.
        fill (number|tuple): what lies outside.
        resample (str, optional): another name of `interpolation`, as older programs have it; goes before it.

    Examples:
        >>> proa.vision.transforms.rotate(np.array([[[1], [2]], [[3], [4]]], "uint8"), 90)[:, :, 0].tolist()
        [[0, 0], [2, 4]]
    """
    _check("rotate", img)
    angle, center = known_real("rotate", "angle", angle), _check_center("rotate", center)
    fill = _check_fill("rotate", "fill", 0 if fill is None else fill, img)
    interpolation = interpolation if resample is None else resample
    interpolation = "nearest" if interpolation is False else interpolation
    if _is_pil_image(img):
        return img.rotate(angle, _pil(interpolation), expand, center, fillcolor=_pil_fill(img, fill))

    if _by_grid(img, interpolation):
        return grids.rotate(img, angle, interpolation, expand, center, fill)

    def turned(array):
        height, width = array.shape[:2]
        middle = center
        if _is_tensor_image(img):  # by centers of pixels, as grids of samples are
            middle = ((width - 1) / 2.0, (height - 1) / 2.0) if center is None else (center[0] - 0.5, center[1] - 0.5)
        size, coefficients = arrays.rotation(height, width, angle, middle, expand)
        return arrays.warp(array, arrays.matrix(coefficients), size, interpolation, fill)

    return _by_array(img, turned)


def affine(img, angle, translate, scale, shear, interpolation="nearest", fill=0, center=None):
    """The image turned, moved, scaled and sheared, about its middle.

    Args:
        angle (float): degrees, with the clock.
        translate (list): by how many pixels to the right and down.
        scale (float): positive.
        shear (float|list[float]): degrees along x, or along x and y.
        interpolation (str): "nearest", "bilinear" or "bicubic".
        fill (number|tuple): what lies outside.
        center (tuple, optional): (x, y) that stays; the middle unless given.

    Examples:
        >>> image = np.zeros((4, 6, 3), "uint8")
        >>> proa.vision.transforms.affine(image, 30, translate=[1, 0], scale=1.5, shear=[0.0, 0.0]).shape
        (4, 6, 3)
    """
    _check("affine", img)
    if not isinstance(translate, (list, tuple)) or len(translate) != 2:
        raise _C.located(TypeError(f"affine: translate must be [right, down], not {translate!r}"))
    known_list("affine", "translate", translate)
    angle, scale = known_reals("affine", angle=angle, scale=scale)
    center = _check_center("affine", center)
    _check_fill("affine", "fill", fill, img)
    if not scale > 0:
        raise _C.located(ValueError(f"affine: scale must be positive, not {scale!r}"))
    shear = known_list("affine", "shear", [shear] if isinstance(shear, numbers.Real) else shear, (1, 2), "[x, y]")
    shear = (shear[0], 0.0) if len(shear) == 1 else shear
    height, width = _size(img)
    middle = (width * 0.5, height * 0.5) if center is None else center
    coefficients = _inverse_affine(middle, angle, translate, scale, shear)
    if _is_pil_image(img):
        from PIL import Image

        return img.transform(img.size, Image.AFFINE, coefficients, _pil(interpolation), fillcolor=_pil_fill(img, fill))
    if _by_grid(img, interpolation):
        middle = (0.0, 0.0) if center is None else (center[0] - width * 0.5, center[1] - height * 0.5)
        return grids.affine(img, _inverse_affine(middle, angle, translate, scale, shear), interpolation, fill)
    a, b, c, d, e, f = coefficients
    # From pixel corners, as Pillow counts, to pixel centers.
    centered = (a, b, c + 0.5 * (a + b - 1.0), d, e, f + 0.5 * (d + e - 1.0))
    return _by_array(
        img, lambda array: arrays.warp(array, arrays.matrix(centered), array.shape[:2], interpolation, fill)
    )


def _inverse_affine(center, angle, translate, scale, shear):
    """The 2 by 3 matrix from result to image: the inverse of move * center * turn * shear * scale * center back."""
    turn, along_x, along_y = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    a = math.cos(turn - along_y) / math.cos(along_y)
    b = -math.cos(turn - along_y) * math.tan(along_x) / math.cos(along_y) - math.sin(turn)
    c = math.sin(turn - along_y) / math.cos(along_y)
    d = -math.sin(turn - along_y) * math.tan(along_x) / math.cos(along_y) + math.cos(turn)
    m = [d / scale, -b / scale, 0.0, -c / scale, a / scale, 0.0]
    x, y = -center[0] - translate[0], -center[1] - translate[1]
    m[2] = m[0] * x + m[1] * y + center[0]
    m[5] = m[3] * x + m[4] * y + center[1]
    return m


def perspective(img, startpoints, endpoints, interpolation="nearest", fill=0):
    """The image with four of its points brought to four others.

    Args:
        startpoints, endpoints (list): four (x, y) each: corners in the image, and where they come to lie.
        interpolation (str): "nearest", "bilinear" or "bicubic".
        fill (number|tuple): what lies outside.

    Examples:
        >>> corners, moved = [[0, 0], [5, 0], [5, 3], [0, 3]], [[1, 0], [5, 0], [5, 3], [0, 3]]
        >>> proa.vision.transforms.perspective(np.zeros((4, 6, 3), "uint8"), corners, moved).shape
        (4, 6, 3)
    """
    _check("perspective", img)
    for name, points in (("startpoints", startpoints), ("endpoints", endpoints)):
        corners = a_list("perspective", name, points, "four points [x, y]")
        if len(corners) != 4:
            raise _C.located(ValueError(f"perspective: {name} must be four points [x, y], not {points!r}"))
        for i, corner in enumerate(corners):
            known_list("perspective", f"element {i} of {name}", corner, (2,), "[x, y]")
    _check_fill("perspective", "fill", fill, img)
    coefficients = arrays.perspective_coefficients(startpoints, endpoints)
    if _is_pil_image(img):
        from PIL import Image

        return img.transform(
            img.size, Image.PERSPECTIVE, coefficients, _pil(interpolation), fillcolor=_pil_fill(img, fill)
        )
    if _by_grid(img, interpolation):
        return grids.perspective(img, coefficients, interpolation, fill)
    place = arrays.perspective(coefficients)
    if _is_tensor_image(img):  # by centers of pixels, as grids of samples are
        whole = place

        def place(x, y):
            x, y = whole(x + 0.5, y + 0.5)
            return x - 0.5, y - 0.5

    return _by_array(img, lambda array: arrays.warp(array, place, array.shape[:2], interpolation, fill))


def erase(img, i, j, h, w, v, inplace=False):
    """The image with the part from row `i`, column `j` on replaced.

    Args:
        i, j, h, w (int): first row, first column, height, width.
        v (number|ndarray|Tensor): the values.
        inplace (bool): write into `img` (arrays and tensors).

    Examples:
        >>> proa.vision.transforms.erase(proa.ones([1, 2, 2]), 0, 0, 1, 1, 0.0)[0].tolist()
        [[0.0, 1.0], [1.0, 1.0]]
    """
    _check("erase", img)
    i, j, h, w = _rectangle("erase", img, i=i, j=j, h=h, w=w)
    if not isinstance(v, _C.Tensor) and not isinstance(v, np.ndarray):
        _check_fill("erase", "v", v, None if _is_tensor_image(img) else img)
    if _is_tensor_image(img):
        img = img if inplace else img.clone()
        img[..., i : i + h, j : j + w] = v
        return img
    if _is_pil_image(img):
        from PIL import Image

        array = np.array(img)
        array[i : i + h, j : j + w] = v
        return Image.fromarray(array, img.mode)
    img = img if inplace else img.copy()
    img[i : i + h, j : j + w] = v
    return img
