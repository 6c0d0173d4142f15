"""Images in files as tensors of bytes and of pixels."""

import os

import numpy as np

from proa import _C

__all__ = ["decode_jpeg", "read_file"]


def read_file(filename, name=None):
    """The bytes of a file.

    Args:
        filename (str): a regular file.

    Returns:
        Tensor: uint8 [size of the file].

    Raises:
        OSError: it cannot be read.

    Examples:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "bytes")
        >>> _ = open(path, "wb").write(b"abc")
        >>> proa.vision.ops.read_file(path).tolist()
        [97, 98, 99]
    """
    with open(os.fspath(filename), "rb") as file, _C.eager_mode():
        return _C.to_tensor(np.frombuffer(file.read(), np.uint8))


def decode_jpeg(x, mode="unchanged", name=None):
    """The pixels of a JPEG image, equal to those that Pillow gives.

    Args:
        x (Tensor): uint8 [size], what `read_file` gives.
        mode (str): "unchanged", "gray" or "rgb".

    Returns:
        Tensor: uint8 [C, H, W]; C is 4 for an image of printers' colors that is "unchanged": cyan, magenta, yellow and
        black, 255 for full ink.

    Raises:
        ValueError: x is no JPEG image, or the mode is another.

    Examples:
        >>> import io
        >>> from PIL import Image
        >>> file = io.BytesIO()
        >>> Image.new("RGB", (4, 3)).save(file, "JPEG")
        >>> x = proa.to_tensor(list(file.getvalue()), dtype="uint8")
        >>> proa.vision.ops.decode_jpeg(x, mode="gray").shape
        [1, 3, 4]
    """
    x = _C.tensor_argument(x, "decode_jpeg", "x")
    if x.dtype != _C.uint8 or len(x.shape) != 1:
        raise _C.located(ValueError(f"decode_jpeg: x must be uint8 [size]; it is {list(x.shape)} {x.dtype.name}"))
    if mode not in ("unchanged", "gray", "rgb"):
        raise _C.located(ValueError(f"decode_jpeg: mode must be 'unchanged', 'gray' or 'rgb', not {mode!r}"))
    content = np.ascontiguousarray(x.numpy())
    pixels = _room(content)
    _read(_C.jpeg_pixels, content, pixels)
    if mode == "rgb":
        pixels = np.broadcast_to(_rgb(pixels), (*pixels.shape[:2], 3))
    elif mode == "gray" and pixels.shape[2] > 1:
        pixels = _gray(_rgb(pixels))
    with _C.eager_mode():
        return _C.to_tensor(np.ascontiguousarray(pixels.transpose(2, 0, 1)))


def _read(function, content, *args):
    """`function`, or what is wrong with the file."""
    try:
        return function(content, *args)
    except ValueError as error:
        raise _C.located(ValueError(f"decode_jpeg: x is no whole JPEG image: {error}")) from None


def _room(content):
    """An array for the pixels, uint8 [height, width, channels]."""
    from proa.framework.damage import most_pixels

    height, width, channels = _read(_C.jpeg_size, content)
    if height * width > most_pixels(content.size):
        raise _C.located(
            ValueError(f"decode_jpeg: x says it has {width} by {height} pixels; {content.size} bytes are too few")
        )
    return np.empty((height, width, channels), np.uint8)


# Colors as Pillow converts them, to the bit.


def _rgb(pixels):
    """Of CMYK; others as they are."""
    if pixels.shape[2] != 4:
        return pixels
    light = 255 - pixels[..., 3:].astype(np.int32)
    scaled = pixels[..., :3] * light + 128
    return np.clip(light - ((scaled >> 8) + scaled >> 8), 0, 255).astype(np.uint8)


def _gray(rgb):
    sums = rgb.astype(np.int32) @ np.array([19595, 38470, 7471], np.int32)
    return (sums + 0x8000 >> 16).astype(np.uint8)[..., None]
