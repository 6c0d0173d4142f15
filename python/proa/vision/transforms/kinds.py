"""Kinds of images: Pillow images, NumPy arrays [H, W, C] (or [H, W]) and tensors [C, H, W]; what they have in common."""

import numpy as np

from proa import _C
from proa.framework.attributes import cut_int, known_list, known_real, word, wrong

__all__: list[str] = []


def _is_pil_image(img):
    module = type(img).__module__
    if not module.startswith("PIL") and not any(base.__module__.startswith("PIL.") for base in type(img).__mro__):
        return False
    from PIL import Image

    return isinstance(img, Image.Image)


def _undecoded(img):
    """A Pillow image that is not decoded yet as one of which parts can be; others as they are."""
    from proa.vision.undecoded import undecoded

    return undecoded(img) or img


def _is_tensor_image(img):
    return isinstance(img, _C.Tensor)


def _is_numpy_image(img):
    return isinstance(img, np.ndarray) and img.ndim in (2, 3)


def _check(what, img):
    if not (_is_pil_image(img) or _is_numpy_image(img) or _is_tensor_image(img) and img.ndim >= 3):
        kind = type(img).__name__
        if isinstance(img, (np.ndarray, _C.Tensor)):
            kind = f"{'a Tensor' if _is_tensor_image(img) else 'an array'} of rank {img.ndim}"
        raise _C.located(
            TypeError(
                f"{what}: img must be a Pillow image, an ndarray [H, W, C] or [H, W], or a Tensor [C, H, W], not {kind}"
            )
        )


def _size(img):
    """(height, width)."""
    if _is_pil_image(img):
        return img.size[1], img.size[0]
    if _is_numpy_image(img):
        return img.shape[:2]
    return tuple(img.shape[-2:])


def _by_array(img, function):
    """`function` of the image as [H, W, C]; its result as what `img` is. For tensors and arrays."""
    if _is_tensor_image(img):
        lead = img.shape[:-3]
        array = img.numpy()
        if lead:
            flat = array.reshape(-1, *array.shape[-3:])
            done = [np.ascontiguousarray(np.moveaxis(function(np.moveaxis(one, -3, -1)), -1, -3)) for one in flat]
            return _C.to_tensor(np.stack(done).reshape(*lead, *done[0].shape))
        done = function(np.moveaxis(array, 0, -1))
        return _C.to_tensor(np.ascontiguousarray(np.moveaxis(done, -1, 0)))
    if img.ndim == 2:
        done = function(img[:, :, None])
        return done[:, :, 0] if done.shape[2] == 1 else done
    return function(img)


def _pil(name):
    from PIL import Image

    modes = {
        "nearest": Image.NEAREST,
        "bilinear": Image.BILINEAR,
        "bicubic": Image.BICUBIC,
        "box": Image.BOX,
        "lanczos": Image.LANCZOS,
        "hamming": Image.HAMMING,
    }
    return _chosen(name, modes)


def _chosen(name, modes):
    if not isinstance(name, str) or name not in modes:
        raise _C.located(ValueError(f"interpolation must be one of {', '.join(modes)}, not {name!r}"))
    return modes[name]


def _pair(what, name, size):
    size = size if isinstance(size, (list, tuple)) else [size]
    if len(size) not in (1, 2):
        raise _C.located(TypeError(f"{what}: {name} must be an int, or a list of one or two, not {size!r}"))
    height, width = (cut_int(what, name, v, "an int, or a list of one or two") for v in (size[0], size[-1]))
    if height < 0 or width < 0:
        raise _C.located(ValueError(f"{what}: {name} must not be negative; it is {size}"))
    return height, width


def _format(what, data_format):
    """Where the channels are, in capitals."""
    found = data_format.upper() if isinstance(data_format, str) else data_format
    return word(what, "data_format", found, ("CHW", "HWC"))


def _channels(img):
    if _is_pil_image(img):
        return len(img.getbands())
    if _is_tensor_image(img):
        return img.shape[-3] if len(img.shape) > 2 else 1
    return img.shape[2] if img.ndim > 2 else 1


def _check_fill(what, name, value, img=None):
    """What pixels are filled with: a number, or one for each channel."""
    wanted = "a number, or a list with one for each channel"
    if isinstance(value, (list, tuple)):
        found = known_list(what, name, value, (), wanted)
        # Of images of one channel only Pillow's take more: its palettes, and the first number.
        fits = img is None or len(value) in (1, _channels(img)) or _is_pil_image(img) and _channels(img) == 1
        if not value or not fits:
            raise _C.located(ValueError(f"{what}: {name} must be {wanted}, not {value!r}"))
    else:
        found = [known_real(what, name, value, wanted)]
    if img is not None and not _is_tensor_image(img) and not all(-(2**31) <= v < 2**31 for v in found):
        raise _C.located(ValueError(f"{what}: {name} must be from -2^31 to 2^31 - 1; it is {value!r}"))
    return value


def _check_center(what, center):
    """A point [x, y], or None."""
    return center if center is None else known_list(what, "center", center, (2,), "[x, y]")


# Of a side: an image of so many pixels in one row fits nowhere in two.
_LONGEST = 2**28


def _rectangle(what, img, **given):
    """(top, left, height, width) as ints."""
    found = [cut_int(what, name, value) for name, value in given.items()]
    for name, value in list(zip(given, found))[2:]:
        if value < 0:
            raise _C.located(ValueError(f"{what}: {name} must not be negative; it is {value}"))
    if _is_pil_image(img):
        for name, value in zip(given, found):
            if abs(value) > _LONGEST:
                raise _C.located(ValueError(f"{what}: {name} must be at most {_LONGEST}; it is {value}"))
    return found


def _per_channel(name, value, img, chw):
    """A number for each channel as an array that fits beside the image."""
    wanted = "a number, or a list with one for each channel"
    if isinstance(value, (str, bytes, dict)) or value is None:
        raise wrong("normalize", name, wanted, value)
    try:
        array = np.asarray(value, "float32").reshape((-1, 1, 1) if chw else (-1,))
    except (TypeError, ValueError):
        raise wrong("normalize", name, wanted, value) from None
    shape = img.shape if hasattr(img, "shape") else (*img.size[::-1], len(img.getbands()))
    if array.size != 1 and len(shape) > 2 and shape[-3 if chw else -1] not in (1, array.size) or not array.size:
        order = (
            f"; of data_format {'CHW' if chw else 'HWC'} it has {shape[-3 if chw else -1]} channels"
            if len(shape) > 2
            else ""
        )
        raise _C.located(ValueError(f"normalize: {name} must be {wanted}, not {value!r}; img is {list(shape)}{order}"))
    return array
