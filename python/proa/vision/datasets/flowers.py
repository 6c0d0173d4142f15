"""Flowers: photographs of 102 kinds of flowers (Nilsback and Zisserman, 2008)."""

import os
import shutil

import numpy as np

from proa import _C
from proa.dataset.packed import contents, open_tar
from proa.framework.damage import damage_named, most_pixels
from proa.io import Dataset
from proa.vision.datasets.mat_file import read_mat
from proa.vision.image import get_image_backend, opened

__all__ = ["Flowers"]

_URL = "http://paddlemodels.bj.bcebos.com/flowers/"
# Name of the argument, file, md5 sum.
_FILES = (
    ("data_file", "102flowers.tgz", "52808999861908f626f3c1f4e79d11fa"),
    ("label_file", "imagelabels.mat", "e0620be6f572b9609742df49c70aed4d"),
    ("setid_file", "setid.mat", "a5357ecc9cb78c4bef273ce3793fc85c"),
)
# The set that its makers call the test set is the largest, and so, as in the reference, the one to train with.
_SETS = {"train": "tstid", "test": "trnid", "valid": "valid"}


class Flowers(Dataset):
    """Photographs of flowers of 102 kinds.

    Args:
        data_file, label_file, setid_file (str, optional): the archive of images, and the two files of MATLAB's with labels and
            parts; fetched if not given and `download`. Images are unpacked beside the archive, once.
        mode (str): "train", "valid" or "test".
        transform (Callable, optional): of the image.
        download (bool): fetch the files if they are not there.
        backend (str, optional): "pil": images are Pillow's. "cv2": arrays [H, W, 3] of the default dtype. That of
            `vision.set_image_backend` unless given.

    A sample is (image, label [1] of int64, 1 to 102).

    Raises:
        ValueError: for another mode or backend, or another file.
        RuntimeError: a file could not be fetched.

    Examples:
        >>> import io, os, struct, tarfile, tempfile
        >>> from PIL import Image
        >>> folder = tempfile.TemporaryDirectory()
        >>> def mat(name, numbers):  # a file of MATLAB's with one array of bytes
        ...     def part(kind, data):
        ...         return struct.pack("<2I", kind, len(data)) + data + bytes(-len(data) % 8)
        ...     head = part(6, struct.pack("<2I", 9, 0)) + part(5, struct.pack("<2i", 1, len(numbers)))
        ...     path = os.path.join(folder.name, name + ".mat")
        ...     with open(path, "wb") as file:
        ...         _ = file.write(b"MATLAB 5.0".ljust(124) + struct.pack("<H2s", 0x100, b"IM"))
        ...         _ = file.write(part(14, head + part(1, name.encode()) + part(2, bytes(numbers))))
        ...     return path
        >>> path = os.path.join(folder.name, "102flowers.tgz")
        >>> picture = io.BytesIO()
        >>> Image.new("RGB", (4, 6)).save(picture, "jpeg")
        >>> with tarfile.open(path, "w:gz") as archive:
        ...     member = tarfile.TarInfo("jpg/image_00002.jpg")
        ...     member.size = picture.tell()
        ...     _ = picture.seek(0)
        ...     archive.addfile(member, picture)
        >>> data = proa.vision.datasets.Flowers(path, mat("labels", [5, 102]), mat("tstid", [2]), backend="cv2")
        >>> image, label = data[0]
        >>> image.shape, label.tolist()
        ((6, 4, 3), [102])
        >>> folder.cleanup()
    """

    def __init__(self, data_file=None, label_file=None, setid_file=None, mode="train", transform=None, download=True,
                 backend=None):  # fmt: skip
        if mode.lower() not in _SETS:
            raise _C.located(ValueError(f"Flowers: mode must be 'train', 'valid' or 'test', not {mode!r}"))
        self.backend = backend or get_image_backend()
        if self.backend not in ("pil", "cv2"):
            raise _C.located(ValueError(f"Flowers: backend must be 'pil' or 'cv2', not {self.backend!r}"))
        paths = []
        for (name, file, md5), path in zip(_FILES, (data_file, label_file, setid_file)):
            if not path and not download:
                raise _C.located(ValueError(f"Flowers: give {name}, or download=True"))
            if not path:
                from proa.dataset import common

                path = common.download(_URL + file, "flowers", md5)
            paths.append(path)
        self.data_file, self.label_file, self.setid_file = paths
        self.transform = transform
        self.labels = self._numbers(self.label_file, "labels")
        self.indexes = self._numbers(self.setid_file, _SETS[mode.lower()])
        if self.indexes.size and not 1 <= self.indexes.min() <= self.indexes.max() <= self.labels.size:
            raise _C.located(ValueError(f"Flowers: {self.setid_file} and {self.label_file} do not belong together"))
        self.data_path = os.path.splitext(self.data_file)[0]
        if not os.path.isdir(os.path.join(self.data_path, "jpg")):
            self._unpack()

    def _numbers(self, path, name):
        arrays = read_mat(path)
        if name not in arrays:
            raise _C.located(ValueError(f"Flowers: {path} has no array {name!r}; it has {', '.join(arrays) or 'none'}"))
        return arrays[name].reshape(-1).astype("int64")

    def _unpack(self):
        """Images, and nothing else, into a folder that appears when it is whole."""
        import tempfile

        place = tempfile.mkdtemp(
            prefix=f"{os.path.basename(self.data_path)}.", dir=os.path.dirname(self.data_path) or "."
        )
        try:
            with open_tar("Flowers", self.data_file) as archive:
                for member in archive:
                    name = member.name.removeprefix("./")
                    if member.isfile() and name.startswith("jpg/") and name.count("/") == 1 and name.endswith(".jpg"):
                        target = os.path.join(place, "jpg", os.path.basename(name))
                        os.makedirs(os.path.dirname(target), exist_ok=True)
                        with open(target, "wb") as file:
                            file.write(contents(archive, member, self.data_file).getbuffer())
            if not os.path.isdir(os.path.join(place, "jpg")):
                raise _C.located(ValueError(f"Flowers: {self.data_file} has no jpg/*.jpg"))
            os.makedirs(self.data_path, exist_ok=True)
            os.rename(os.path.join(place, "jpg"), os.path.join(self.data_path, "jpg"))
        finally:
            shutil.rmtree(place)

    def __getitem__(self, idx):
        from PIL import Image

        index = int(self.indexes[idx])
        path = os.path.join(self.data_path, "jpg", f"image_{index:05}.jpg")
        with damage_named("no whole image", path, (Image.DecompressionBombError,)):
            image = opened(path)
            if image.width * image.height > most_pixels(os.path.getsize(path)):
                raise _C.located(ValueError(f"{image.width} by {image.height} pixels are too many for its size"))
            if self.backend == "cv2":
                image = np.array(image)
        if self.transform is not None:
            image = self.transform(image)
        if self.backend == "cv2":
            image = image.astype(_C.get_default_dtype().name)
        return image, self.labels[index - 1 : index].copy()

    def __len__(self):
        return len(self.indexes)
