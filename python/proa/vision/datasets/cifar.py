"""CIFAR: color images of 32 by 32 pixels, of 10 or 100 classes, in an archive of pickles."""

import numpy as np

from proa import _C
from proa.dataset.packed import contents, open_tar
from proa.framework import pickle_reader
from proa.io import Dataset
from proa.vision.image import get_image_backend

__all__ = ["Cifar10", "Cifar100", "read_archive"]


def _read(archive, member, path):
    """The dict of a member, by a reader that runs nothing; its keys are text."""
    batch = pickle_reader.read(contents(archive, member, path), f"{path}: {member.name}")
    if not isinstance(batch, dict):
        raise _C.located(ValueError(f"cifar: {member.name} in {path} holds a {type(batch).__name__}, not a dict"))
    return {key.decode("latin1") if isinstance(key, bytes) else key: value for key, value in batch.items()}


def read_archive(path, part):
    """(images [N, 3072] of uint8, labels [N]) of the members of an archive whose names hold `part`.

    Raises:
        ValueError: there are none, or they hold something else.
    """
    images, labels = [], []
    with open_tar("CIFAR", path) as archive:
        members = [member for member in archive if part in member.name and member.isfile()]
        for member in sorted(members, key=lambda member: member.name):
            batch = _read(archive, member, path)
            found, data = batch.get("labels", batch.get("fine_labels")), batch.get("data")
            if found is None or data is None:
                raise _C.located(ValueError(f"cifar: {member.name} in {path} has no data or no labels"))
            data, found = np.asarray(data, np.uint8).reshape(-1, 3072), np.asarray(found, np.int64)
            if len(data) != len(found):
                raise _C.located(
                    ValueError(f"cifar: {member.name} in {path} has {len(data)} images, {len(found)} labels")
                )
            images.append(data)
            labels.append(found)
    if not images:
        raise _C.located(ValueError(f"cifar: {path} has no member whose name holds {part!r}"))
    return np.concatenate(images), np.concatenate(labels)


class Cifar10(Dataset):
    """Images of 10 classes.

    Args:
        data_file (str, optional): the archive; fetched if not given and `download`.
        mode (str): "train" (50,000 samples) or "test" (10,000).
        transform (Callable, optional): of the image.
        download (bool): fetch the archive if it is not there.
        backend (str, optional): "pil": images are Pillow's. "cv2": arrays [32, 32, 3], float32. That of
            `vision.set_image_backend` unless given.

    A sample is (image, label of int64).

    Raises:
        ValueError: for another mode or backend, or another archive.
        RuntimeError: the archive could not be fetched.

    Examples:
        >>> import io, os, pickle, tarfile, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "cifar.tar.gz")
        >>> batch = pickle.dumps({b"data": np.zeros([2, 3072], "uint8"), b"labels": [7, 3]})
        >>> with tarfile.open(path, "w:gz") as archive:
        ...     member = tarfile.TarInfo("cifar-10-batches-py/test_batch")
        ...     member.size = len(batch)
        ...     archive.addfile(member, io.BytesIO(batch))
        >>> data = proa.vision.datasets.Cifar10(path, mode="test", backend="cv2")
        >>> image, label = data[1]
        >>> len(data), image.shape, label.tolist()
        (2, (32, 32, 3), 3)
        >>> folder.cleanup()
    """

    URL = "https://dataset.bj.bcebos.com/cifar/cifar-10-python.tar.gz"
    MD5 = "c58f30108f718f92721af3b95e74349a"
    PARTS = {"train": "data_batch", "test": "test_batch"}

    def __init__(self, data_file=None, mode="train", transform=None, download=True, backend=None):
        self.mode = mode.lower()
        if self.mode not in self.PARTS:
            raise _C.located(ValueError(f"{type(self).__name__}: mode must be 'train' or 'test', not {mode!r}"))
        self.backend = backend or get_image_backend()
        if self.backend not in ("pil", "cv2"):
            raise _C.located(ValueError(f"{type(self).__name__}: backend must be 'pil' or 'cv2', not {backend!r}"))
        if data_file is None:
            if not download:
                raise _C.located(ValueError(f"{type(self).__name__}: give data_file, or download=True"))
            from proa.dataset import common

            data_file = common.download(self.URL, "cifar", self.MD5)
        self.data_file = data_file
        self.transform = transform
        self.dtype = _C.get_default_dtype()
        images, labels = read_archive(data_file, self.PARTS[self.mode])
        self.data = list(zip(images, labels))

    def __getitem__(self, idx):
        image, label = self.data[idx]
        image = image.reshape(3, 32, 32).transpose(1, 2, 0)
        if self.backend == "pil":
            from PIL import Image

            image = Image.fromarray(image)
        else:
            image = image.astype("float32")
        return (image if self.transform is None else self.transform(image)), np.array(label).astype("int64")

    def __len__(self):
        return len(self.data)


class Cifar100(Cifar10):
    """Images of 100 classes; see Cifar10.

    Examples:
        >>> import io, os, pickle, tarfile, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "cifar.tar.gz")
        >>> batch = pickle.dumps({b"data": np.zeros([2, 3072], "uint8"), b"fine_labels": [7, 99]})
        >>> with tarfile.open(path, "w:gz") as archive:
        ...     member = tarfile.TarInfo("cifar-100-python/train")
        ...     member.size = len(batch)
        ...     archive.addfile(member, io.BytesIO(batch))
        >>> image, label = proa.vision.datasets.Cifar100(path, backend="pil")[1]
        >>> image.size, label.tolist()
        ((32, 32), 99)
        >>> folder.cleanup()
    """

    URL = "https://dataset.bj.bcebos.com/cifar/cifar-100-python.tar.gz"
    MD5 = "eb9058c3a382ffc7106e4002c42a8d85"
    PARTS = {"train": "train", "test": "test"}
