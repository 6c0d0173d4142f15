"""Small color images: readers of (3072 floats in 0..1, label)."""

from proa.dataset import common
from proa.framework.names import missing as _missing

__all__ = ["test10", "test100", "train10", "train100"]

__getattr__ = _missing(__name__)

URL_PREFIX = "https://dataset.bj.bcebos.com/cifar/"
CIFAR10_URL = URL_PREFIX + "cifar-10-python.tar.gz"
CIFAR10_MD5 = "c58f30108f718f92721af3b95e74349a"
CIFAR100_URL = URL_PREFIX + "cifar-100-python.tar.gz"
CIFAR100_MD5 = "eb9058c3a382ffc7106e4002c42a8d85"


def reader_creator(filename, sub_name, cycle=False):
    """A reader of the samples in an archive, of the members whose names hold `sub_name`; again and again with `cycle`."""

    def samples():
        from proa.vision.datasets.cifar import read_archive

        images, labels = read_archive(filename, sub_name)
        while True:
            for image, label in zip(images, labels):
                yield (image / 255.0).astype("float32"), int(label)
            if not cycle:
                return

    return samples


def train10(cycle=False):
    """The 50,000 samples of 10 classes."""
    return reader_creator(common.download(CIFAR10_URL, "cifar", CIFAR10_MD5), "data_batch", cycle)


def test10(cycle=False):
    """The 10,000 samples of 10 classes."""
    return reader_creator(common.download(CIFAR10_URL, "cifar", CIFAR10_MD5), "test_batch", cycle)


def train100():
    """The 50,000 samples of 100 classes."""
    return reader_creator(common.download(CIFAR100_URL, "cifar", CIFAR100_MD5), "train")


def test100():
    """The 10,000 samples of 100 classes."""
    return reader_creator(common.download(CIFAR100_URL, "cifar", CIFAR100_MD5), "test")


def fetch():
    """Fetches all files."""
    train10(), train100()
