"""VOC2012: photographs whose pixels have classes (Everingham and others)."""

import io
import os

import numpy as np

from proa import _C
from proa.dataset.packed import open_tar
from proa.framework.damage import damage_named, most_pixels
from proa.io import Dataset
from proa.vision.image import get_image_backend

__all__ = ["VOC2012"]

_URL = "https://dataset.bj.bcebos.com/voc/VOCtrainval_11-May-2012.tar"
_MD5 = "6cd6e144f989b92b3379bac3b3de84fd"
_SETS = {"train": "trainval", "test": "train", "valid": "val"}


class VOC2012(Dataset):
    """Photographs, and for each an image of the classes of its pixels.

    Args:
        data_file (str, optional): the archive VOCtrainval_11-May-2012.tar; fetched if not given and `download`. It is read
            as it is, by worker processes too.
        mode (str): "train" (the archive's trainval), "valid" (val) or "test" (train), as in the reference.
        transform (Callable, optional): of the photograph.
        download (bool): fetch the archive if it is not there.
        backend (str, optional): "pil": images are Pillow's. "cv2": arrays of the default dtype. That of
            `vision.set_image_backend` unless given.

    A sample is (photograph, classes).

    Raises:
        ValueError: for another mode or backend, or another archive.
        RuntimeError: the archive could not be fetched.

    Examples:
        >>> import io, os, tarfile, tempfile
        >>> from PIL import Image
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "voc.tar")
        >>> def encoded(image, kind):
        ...     file = io.BytesIO()
        ...     image.save(file, kind)
        ...     return file.getvalue()
        >>> with tarfile.open(path, "w") as archive:
        ...     for name, content in {
        ...         "ImageSets/Segmentation/val.txt": b"a",
        ...         "JPEGImages/a.jpg": encoded(Image.new("RGB", (5, 3)), "jpeg"),
        ...         "SegmentationClass/a.png": encoded(Image.new("L", (5, 3), 15), "png"),
        ...     }.items():
        ...         member = tarfile.TarInfo("VOCdevkit/VOC2012/" + name)
        ...         member.size = len(content)
        ...         archive.addfile(member, io.BytesIO(content))
        >>> image, classes = proa.vision.datasets.VOC2012(path, mode="valid", backend="cv2")[0]
        >>> image.shape, classes.shape, classes.max().tolist()
        ((3, 5, 3), (3, 5), 15.0)
        >>> folder.cleanup()
    """

    def __init__(self, data_file=None, mode="train", transform=None, download=True, backend=None):
        if mode.lower() not in _SETS:
            raise _C.located(ValueError(f"VOC2012: mode must be 'train', 'valid' or 'test', not {mode!r}"))
        self.backend = backend or get_image_backend()
        if self.backend not in ("pil", "cv2"):
            raise _C.located(ValueError(f"VOC2012: backend must be 'pil' or 'cv2', not {self.backend!r}"))
        if data_file is None:
            if not download:
                raise _C.located(ValueError("VOC2012: give data_file, or download=True"))
            from proa.dataset import common

            data_file = common.download(_URL, "voc2012", _MD5)
        self.data_file, self.flag, self.transform = data_file, _SETS[mode.lower()], transform
        self.dtype = _C.get_default_dtype().name
        self._places = self._read_places()
        # Read at places, not from where the last read ended: processes that are forked share that.
        self._file = open(data_file, "rb")
        names = self._read(f"ImageSets/Segmentation/{self.flag}.txt").decode().split()
        self.data = [f"JPEGImages/{name}.jpg" for name in names]
        self.labels = [f"SegmentationClass/{name}.png" for name in names]

    def _read_places(self):
        """From names, without the folders that all have, to (offset, size)."""
        try:
            with open_tar("VOC2012", self.data_file, "r:") as archive:
                members = [(m.name, m.offset_data, m.size) for m in archive if m.isfile()]
        except ValueError as error:
            raise _C.located(
                ValueError(f"VOC2012: {self.data_file} is no tar archive, or a packed one: {error}")
            ) from None
        top = "VOCdevkit/VOC2012/"
        return {n.removeprefix("./").removeprefix(top): (o, s) for n, o, s in members if top in n}

    def _read(self, name):
        if name not in self._places:
            raise _C.located(ValueError(f"VOC2012: {self.data_file} has no VOCdevkit/VOC2012/{name}"))
        offset, size = self._places[name]
        return os.pread(self._file.fileno(), size, offset)

    def __getitem__(self, idx):
        from PIL import Image

        bomb = (Image.DecompressionBombError,)
        with damage_named(f"{self.data[idx]} or {self.labels[idx]} is no image", self.data_file, bomb):
            packed = [self._read(names[idx]) for names in (self.data, self.labels)]
            data, label = (Image.open(io.BytesIO(each)) for each in packed)
            for image, each in zip((data, label), packed):
                if image.width * image.height > most_pixels(len(each)):
                    raise _C.located(ValueError(f"{image.width} by {image.height} pixels are too many for its size"))
        if self.backend == "cv2":
            with damage_named(f"{self.data[idx]} or {self.labels[idx]} is no whole image", self.data_file):
                data, label = np.array(data), np.array(label)
        if self.transform is not None:
            data = self.transform(data)
        if self.backend == "cv2":
            return data.astype(self.dtype), label.astype(self.dtype)
        return data, label

    def __len__(self):
        return len(self.data)
