"""JPEG images as Pillow images whose pixels are decoded when somebody wants them, and no more of them than that.

A crop of such an image is another one; 224 by 224 of 500 by 375 pixels cost about half of the whole. The pixels are those
that Pillow would have decoded. Files that our decoder refuses or doubts are left to Pillow, with its errors.
"""

import io

import numpy as np
from PIL import Image, JpegImagePlugin

from proa import _C
from proa.framework.damage import damage_named

__all__ = ["Undecoded", "undecoded"]

# From the third part of an image on, to decode all of it once is cheaper.
_MOST_PARTS = 2


class _File:
    """The bytes of a JPEG file, and what errors call it."""

    def __init__(self, content, path, size):
        self.content, self.path, self.size = content, path, size

    def is_whole(self, region):
        return region[2:] == self.size

    def pixels(self, region):
        """uint8 [height, width, 3]; None if it is for Pillow to say what there is, or what is wrong."""
        left, top, width, height = region
        pixels = np.empty((height, width, 3), np.uint8)
        try:
            return pixels if _C.jpeg_pixels(self.content, pixels, top, left) else None
        except ValueError:
            return None

    def image(self, region):
        """A region, by Pillow."""
        image = Image.open(io.BytesIO(self.content), formats=["JPEG"])
        if self.path is None:
            image.load()
        else:
            with damage_named("no whole image of a kind that Pillow reads", self.path):
                image.load()
        left, top, width, height = region
        return image if self.is_whole(region) else image.crop((left, top, left + width, top + height))


class Undecoded(Image.Image):
    """An image in mode RGB, a region of a JPEG file, perhaps mirrored. It becomes an image like any other when something is
    done with it but to cut it, to mirror it left to right, to convert it to RGB, or to make a tensor of it.
    """

    # (file, (left, top, width, height), mirrored) until the pixels are there.
    _source: tuple | None = None
    _parts = 0
    # Of the region, once somebody wanted them as they are.
    _pixels: np.ndarray | None = None

    @classmethod
    def _of(cls, file, region, mirrored, info):
        self = cls()
        self._mode = "RGB"
        self._size = region[2:]
        self.info = info
        self._source = file, region, mirrored
        return self

    @property
    def im(self):
        if self._source is not None and self._im is None:
            self.im = self._decoded().im
        return self._im

    @im.setter
    def im(self, im):
        self._im, self._source, self._pixels = im, None, None

    def load(self):
        self.im  # noqa: B018  decodes
        return super().load()

    def _decoded(self):
        file, region, mirrored = self._source
        # Pillow keeps pixels in another way: what it decodes itself is not copied.
        pixels = file.pixels(region) if self._pixels is None and not file.is_whole(region) else self._pixels
        if pixels is None:
            image = file.image(region)
        else:
            image = Image.frombuffer("RGB", region[2:], pixels, "raw", "RGB", 0, 1)
        return image.transpose(Image.FLIP_LEFT_RIGHT) if mirrored else image

    def array(self):
        """(uint8 [H, W, 3], whether rows go from right to left), without a Pillow image of it; None if there is one, or must
        be.
        """
        if self._source is None or self._im is not None:
            return None
        file, region, mirrored = self._source
        if self._pixels is None:
            self._pixels = file.pixels(region)
        return None if self._pixels is None else (self._pixels, mirrored)

    @property
    def __array_interface__(self):
        if (found := self.array()) is None:
            return super().__array_interface__
        pixels, mirrored = found
        pixels = np.ascontiguousarray(pixels[:, ::-1]) if mirrored else pixels
        # Not to be written to, as the arrays of all images.
        return {"version": 3, "shape": pixels.shape, "typestr": "|u1", "data": memoryview(pixels).toreadonly()}

    def crop(self, box=None):
        if self._source is None or box is None or self._parts == _MOST_PARTS:
            return super().crop(box)
        file, (left, top, width, height), mirrored = self._source
        x0, y0, x1, y1 = (int(round(side)) for side in box)
        if not (0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height):
            return super().crop(box)
        self._parts += 1
        part = left + (width - x1 if mirrored else x0), top + y0, x1 - x0, y1 - y0
        return self._of(file, part, mirrored, self.info.copy())

    def transpose(self, method):
        if self._source is None or method != Image.FLIP_LEFT_RIGHT:
            return super().transpose(method)
        file, region, mirrored = self._source
        return self._of(file, region, not mirrored, self.info.copy())

    def convert(self, mode=None, *args, **kwargs):
        if self._source is None or mode != "RGB" or args or kwargs:
            return super().convert(mode, *args, **kwargs)
        return self._of(*self._source, self.info.copy())

    # To others, copies in other processes among them, it is a plain image.

    def _plain(self):
        image = Image.Image()
        image.im, image._mode, image._size, image.info = self.im, self._mode, self._size, self.info
        return image

    def __eq__(self, other):
        return self._plain() == (other._plain() if isinstance(other, Undecoded) else other)

    def __reduce_ex__(self, protocol):
        return Image.Image, (), self.__getstate__()


def undecoded(image, path=None):
    """An Undecoded of what Pillow opened in memory, if that is a JPEG image in mode RGB, as it is in its file and without
    its pixels yet; else None.
    """
    if type(image) is not JpegImagePlugin.JpegImageFile or image.mode != "RGB" or not image.tile or image.decoderconfig:
        return None
    # Of Pillow before 10.1 size and mode are kept elsewhere.
    if not isinstance(image.fp, io.BytesIO) or not isinstance(Image.Image.mode, property):
        return None
    return Undecoded._of(_File(image.fp.getvalue(), path, image.size), (0, 0, *image.size), False, image.info.copy())
