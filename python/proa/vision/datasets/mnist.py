"""MNIST and FashionMNIST: gray images of 28 by 28 pixels in files of the idx format."""

import gzip
import math
import os
import struct

import numpy as np

from proa import _C
from proa.framework.damage import damage_named, most_unpacked
from proa.io import Dataset
from proa.vision.image import get_image_backend

__all__ = ["MNIST", "FashionMNIST", "read_idx"]


def read_idx(path):
    """The array in a file of the idx format, packed by gzip or not.

    Raises:
        ValueError: the file is none, or its size is not that of its array.
    """
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    with damage_named("no whole idx file", path), gzip.open(path) if packed else open(path, "rb") as file:
        head = file.read(4)
        if len(head) < 4 or head[:3] != b"\0\0\x08":
            raise _C.located(ValueError(f"{path}: this is no idx file of bytes; it begins with {head!r}"))
        dims = struct.unpack(f">{head[3]}I", file.read(4 * head[3]))
        if 0 in dims[1:]:
            raise _C.located(ValueError(f"{path}: the array is {list(dims)}, {dims[0]} items without a byte"))
        count = math.prod(dims)
        if count > most_unpacked(os.path.getsize(path)):
            raise _C.located(ValueError(f"{path}: an array of {list(dims)} is too much for a file of its size"))
        data = file.read(count + 1)
    if len(data) != count:
        raise _C.located(ValueError(f"{path}: the array is {list(dims)}, {count} bytes; the file holds {len(data)}"))
    return np.frombuffer(data, np.uint8).reshape(dims)


class MNIST(Dataset):
    """Handwritten digits.

    Args:
        image_path, label_path (str, optional): files of the idx format; fetched if not given and `download`.
        mode (str): "train" (60,000 samples) or "test" (10,000).
        transform (Callable, optional): of the image.
        download (bool): fetch the files if they are not there.
        backend (str, optional): "pil": images are Pillow's. "cv2": arrays [28, 28, 1], float32. That of
            `vision.set_image_backend` unless given.

    A sample is (image, label [1] of int64).

    Raises:
        ValueError: for another mode or backend, or files that do not belong together.
        RuntimeError: the files could not be fetched.

    Examples:
        >>> import os, struct, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> images, labels = (os.path.join(folder.name, name) for name in ("images", "labels"))
        >>> with open(images, "wb") as file:
        ...     _ = file.write(struct.pack(">4I", 0x803, 2, 28, 28) + bytes(2 * 28 * 28))
        >>> with open(labels, "wb") as file:
        ...     _ = file.write(struct.pack(">2I", 0x801, 2) + bytes([7, 3]))
        >>> data = proa.vision.datasets.MNIST(images, labels, backend="cv2")
        >>> image, label = data[1]
        >>> len(data), image.shape, label.tolist()
        (2, (28, 28, 1), [3])
        >>> folder.cleanup()
    """

    NAME = "mnist"
    URL_PREFIX = "https://dataset.bj.bcebos.com/mnist/"
    TEST_IMAGE_URL = URL_PREFIX + "t10k-images-idx3-ubyte.gz"
    TEST_LABEL_URL = URL_PREFIX + "t10k-labels-idx1-ubyte.gz"
    TRAIN_IMAGE_URL = URL_PREFIX + "train-images-idx3-ubyte.gz"
    TRAIN_LABEL_URL = URL_PREFIX + "train-labels-idx1-ubyte.gz"
    TEST_IMAGE_MD5 = "9fb629c4189551a2d022fa330f9573f3"
    TEST_LABEL_MD5 = "ec29112dd5afa0611ce80d1b7f02629c"
    TRAIN_IMAGE_MD5 = "f68b3c2dcbeaaa9fbdd348bbdeb94873"
    TRAIN_LABEL_MD5 = "d53e105ee54ea40749a09fcbcd1e9432"

    def __init__(self, image_path=None, label_path=None, mode="train", transform=None, download=True, backend=None):
        self.mode = mode.lower()
        if self.mode not in ("train", "test"):
            raise _C.located(ValueError(f"{type(self).__name__}: mode must be 'train' or 'test', not {mode!r}"))
        self.backend = backend or get_image_backend()
        if self.backend not in ("pil", "cv2"):
            raise _C.located(ValueError(f"{type(self).__name__}: backend must be 'pil' or 'cv2', not {backend!r}"))
        self.image_path = image_path or self._fetched("image", "images-idx3", download)
        self.label_path = label_path or self._fetched("label", "labels-idx1", download)
        self.transform = transform
        self.dtype = _C.get_default_dtype()
        self.images, self.labels = read_idx(self.image_path), read_idx(self.label_path)
        if self.images.ndim != 3 or self.labels.ndim != 1 or len(self.images) != len(self.labels):
            raise _C.located(
                ValueError(
                    f"{type(self).__name__}: {self.image_path} holds {list(self.images.shape)} and {self.label_path} "
                    f"{list(self.labels.shape)}; images and labels do not belong together"
                )
            )

    def _fetched(self, what, name, download):
        from proa.dataset import common

        if not download:
            raise _C.located(ValueError(f"{type(self).__name__}: give {what}_path, or download=True"))
        part = "train" if self.mode == "train" else "t10k"
        md5 = getattr(self, f"{self.mode.upper()}_{what.upper()}_MD5")
        return common.download(f"{self.URL_PREFIX}{part}-{name}-ubyte.gz", self.NAME, md5)

    def __getitem__(self, idx):
        image, label = self.images[idx], self.labels[idx : idx + 1].astype("int64")
        if self.backend == "pil":
            from PIL import Image

            image = Image.fromarray(image, mode="L")
        else:
            image = image.reshape(*image.shape, 1).astype("float32")
        return (image if self.transform is None else self.transform(image)), label

    def __len__(self):
        return len(self.labels)


class FashionMNIST(MNIST):
    """Clothes; see MNIST.

    Examples:
        >>> import os, struct, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> images, labels = (os.path.join(folder.name, name) for name in ("images", "labels"))
        >>> with open(images, "wb") as file:
        ...     _ = file.write(struct.pack(">4I", 0x803, 1, 28, 28) + bytes(28 * 28))
        >>> with open(labels, "wb") as file:
        ...     _ = file.write(struct.pack(">2I", 0x801, 1) + bytes([9]))
        >>> to_tensor = proa.vision.transforms.ToTensor()
        >>> image, label = proa.vision.datasets.FashionMNIST(images, labels, transform=to_tensor)[0]
        >>> image.shape, label.tolist()
        ([1, 28, 28], [9])
        >>> folder.cleanup()
    """

    NAME = "fashion-mnist"
    URL_PREFIX = "https://dataset.bj.bcebos.com/fashion_mnist/"
    TEST_IMAGE_MD5 = "bef4ecab320f06d8554ea6380940ec79"
    TEST_LABEL_MD5 = "bb300cfdad3c16e7a12a480ee83cd310"
    TRAIN_IMAGE_MD5 = "8d4fb7e6c68d591d4c3dfef9ec88bf0d"
    TRAIN_LABEL_MD5 = "25c81989df183df01b3e8a0aad5dffbe"
