"""Images in files as tensors of bytes and of pixels."""

import io
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
    """The pixels of a JPEG image, decoded by Pillow.

    Args:
        x (Tensor): uint8 [size], what `read_file` gives.
        mode (str): "unchanged", "gray" or "rgb".

    Returns:
        Tensor: uint8 [C, H, W].

    Raises:
        ValueError: x is no JPEG image, or the mode is another.
        ImportError: Pillow is not installed.

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
    from proa.framework.damage import most_pixels
    from proa.utils import try_import

    Image = try_import("PIL.Image", "decode_jpeg needs Pillow; install it with: pip install pillow")
    try:
        image = Image.open(io.BytesIO(x.numpy().tobytes()), formats=["JPEG"])
        if image.width * image.height > most_pixels(x.size):
            raise _C.located(
                ValueError(
                    f"decode_jpeg: x says it has {image.width} by {image.height} pixels; {x.size} bytes are too few"
                )
            )
        if mode != "unchanged":
            image = image.convert({"gray": "L", "rgb": "RGB"}[mode])
        pixels = np.asarray(image)
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise _C.located(ValueError(f"decode_jpeg: x is no whole JPEG image: {error}")) from None
    pixels = pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)
    with _C.eager_mode():
        return _C.to_tensor(np.ascontiguousarray(pixels))
