"""Images as arrays [H, W, C], uint8, blue first."""

import random

import numpy as np

from proa.vision.transforms import arrays

__all__ = [
    "center_crop",
    "left_right_flip",
    "load_and_transform",
    "load_image",
    "random_crop",
    "resize_short",
    "simple_transform",
    "to_chw",
]


def load_image(file, is_color=True):
    """The image in a file."""
    from proa.vision.image import converted, image_load

    if is_color:
        return image_load(file, "cv2")
    return np.asarray(converted(file, "L"))


def resize_short(im, size):
    """The image with its shorter side at `size`."""
    h, w = im.shape[:2]
    new = (size * h // w, size) if h > w else (size, size * w // h)
    image = im if im.ndim == 3 else im[:, :, None]
    done = arrays.resize(image, *new, "bicubic")
    return done if im.ndim == 3 else done[:, :, 0]


def to_chw(im, order=(2, 0, 1)):
    """The image with channels first."""
    return im.transpose(order)


def _part(im, size, top, left):
    return im[top : top + size, left : left + size]


def center_crop(im, size, is_color=True):
    """The square in the middle."""
    return _part(im, size, (im.shape[0] - size) // 2, (im.shape[1] - size) // 2)


def random_crop(im, size, is_color=True):
    """A random square."""
    return _part(im, size, random.randint(0, im.shape[0] - size), random.randint(0, im.shape[1] - size))


def left_right_flip(im, is_color=True):
    """The image mirrored left to right."""
    return im[:, ::-1]


def simple_transform(im, resize_size, crop_size, is_train, is_color=True, mean=None):
    """The image resized, cut, mirrored at random in training, with channels first, less the mean."""
    im = resize_short(im, resize_size)
    if is_train:
        im = random_crop(im, crop_size, is_color)
        im = left_right_flip(im, is_color) if random.randint(0, 1) else im
    else:
        im = center_crop(im, crop_size, is_color)
    im = to_chw(im) if im.ndim == 3 else im
    im = im.astype("float32")
    if mean is not None:
        mean = np.array(mean, dtype=np.float32)
        im = im - (mean[:, np.newaxis, np.newaxis] if mean.ndim == 1 else mean)
    return im


def load_and_transform(filename, resize_size, crop_size, is_train, is_color=True, mean=None):
    """`simple_transform` of the image in a file."""
    return simple_transform(load_image(filename, is_color), resize_size, crop_size, is_train, is_color, mean)
