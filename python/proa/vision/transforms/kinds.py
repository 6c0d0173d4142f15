"""Kinds of images: Pillow images, NumPy arrays [H, W, C] (or [H, W]) and tensors [C, H, W]; what they have in common."""

import numbers

import numpy as np

from proa import _C

__all__: list[str] = []


def _is_pil_image(img):
    module = type(img).__module__
    if not module.startswith("PIL") and not any(base.__module__.startswith("PIL.") for base in type(img).__mro__):
        return False
    from PIL import Image

    return isinstance(img, Image.Image)


def _is_tensor_image(img):
    return isinstance(img, _C.Tensor)


def _is_numpy_image(img):
    return isinstance(img, np.ndarray) and img.ndim in (2, 3)


def _check(what, img):
    if not (_is_pil_image(img) or _is_numpy_image(img) or _is_tensor_image(img)):
        kind = f"an array of rank {img.ndim}" if isinstance(img, np.ndarray) else type(img).__name__
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
    if name not in modes:
        raise _C.located(ValueError(f"interpolation must be one of {', '.join(modes)}, not {name!r}"))
    return modes[name]


def _pair(what, name, size):
    if isinstance(size, numbers.Number):
        return int(size), int(size)
    if not isinstance(size, (list, tuple)) or len(size) not in (1, 2):
        raise _C.located(TypeError(f"{what}: {name} must be an int, or a list of one or two, not {size!r}"))
    return int(size[0]), int(size[-1])
