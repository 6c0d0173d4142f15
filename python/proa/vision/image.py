"""Images from files, as Pillow images, arrays or tensors."""

import io
import os

from proa import _C

__all__ = ["get_image_backend", "image_load", "set_image_backend"]

_backend = "pil"


def set_image_backend(backend):
    """Chooses what `image_load` and data sets give: "pil" (Pillow images), "cv2" (arrays, BGR) or "tensor".

    Examples:
        >>> proa.vision.set_image_backend("cv2")
        >>> proa.vision.get_image_backend()
        'cv2'
        >>> proa.vision.set_image_backend("pil")
    """
    global _backend
    _backend = _known("set_image_backend", backend)


def get_image_backend():
    """What `image_load` and data sets give: "pil", "cv2" or "tensor".

    Examples:
        >>> proa.vision.get_image_backend()
        'pil'
    """
    return _backend


def _known(what, backend):
    if backend not in ("pil", "cv2", "tensor"):
        raise _C.located(ValueError(f"{what}: backend must be 'pil', 'cv2' or 'tensor', not {backend!r}"))
    return backend


def _size(file):
    if not hasattr(file, "seek"):
        return os.path.getsize(file)
    place = file.tell()
    size = file.seek(0, os.SEEK_END)
    file.seek(place)
    return size


def image_load(path, backend=None):
    """The image in a file.

    Args:
        path (str): of any format that Pillow reads.
        backend (str, optional): "pil": a Pillow image. "cv2": an array [H, W, 3], uint8, blue first. "tensor": [3, H, W],
            float32, in 0..1, red first. That of `set_image_backend` unless given.

    Raises:
        ImportError: Pillow is not installed.
        OSError: the file cannot be read.
        ValueError: it is no image, or a damaged one; of a Pillow image the pixels are read, and missed, later.

    Examples:
        >>> from PIL import Image
        >>> Image.new("RGB", (6, 4)).save("/tmp/image_load_example.png")
        >>> proa.vision.image_load("/tmp/image_load_example.png").size
        (6, 4)
    """
    backend = _known("image_load", backend or _backend)
    from proa.framework.damage import damage_named, most_pixels
    from proa.utils import try_import

    Image = try_import("PIL.Image", "image_load needs Pillow; install it with: pip install pillow")
    with damage_named("no whole image of a kind that Pillow reads", path, (Image.DecompressionBombError,)):
        image = opened(path)
        if backend == "pil":
            return image
        if image.width * image.height > most_pixels(_size(path)):
            raise _C.located(ValueError(f"{path}: {image.width} by {image.height} pixels are too many for its size"))
        import numpy

        array = numpy.asarray(image.convert("RGB"))
    if backend == "cv2":
        return array[:, :, ::-1].copy()
    return _C.to_tensor(array.transpose(2, 0, 1).astype("float32") / numpy.float32(255))


def opened(path):
    """Pillow's image in a file; of a JPEG file in memory, so that no file stays open while nobody wants the pixels."""
    from PIL import Image

    if hasattr(path, "read"):
        return Image.open(path)
    with open(path, "rb") as file:
        start = file.read(3)
        content = start + file.read() if start == b"\xff\xd8\xff" else None
    if content is None:
        return Image.open(path)
    image = Image.open(io.BytesIO(content))
    image.filename = os.fspath(path)
    return image


def converted(path, mode):
    """Pillow's image in a file, in another mode; what is damaged, or too large for the file, is an error here. Of a JPEG image
    the pixels are decoded, and missed, later, if it is in mode RGB.
    """
    from proa.framework.damage import damage_named, most_pixels

    image = image_load(path, "pil")
    with damage_named("no whole image of a kind that Pillow reads", path):
        if image.width * image.height > most_pixels(_size(path)):
            raise _C.located(ValueError(f"{path}: {image.width} by {image.height} pixels are too many for its size"))
        if mode == "RGB":
            from proa.vision.undecoded import undecoded

            if (later := undecoded(image, path)) is not None:
                return later
        return image.convert(mode)
