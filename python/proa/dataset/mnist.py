"""Handwritten digits: readers of (784 floats in -1..1, label)."""

from proa.dataset import common
from proa.framework.names import missing as _missing

__all__ = ["test", "train"]

__getattr__ = _missing(__name__)

URL_PREFIX = "https://dataset.bj.bcebos.com/mnist/"
TEST_IMAGE_URL = URL_PREFIX + "t10k-images-idx3-ubyte.gz"
TEST_IMAGE_MD5 = "9fb629c4189551a2d022fa330f9573f3"
TEST_LABEL_URL = URL_PREFIX + "t10k-labels-idx1-ubyte.gz"
TEST_LABEL_MD5 = "ec29112dd5afa0611ce80d1b7f02629c"
TRAIN_IMAGE_URL = URL_PREFIX + "train-images-idx3-ubyte.gz"
TRAIN_IMAGE_MD5 = "f68b3c2dcbeaaa9fbdd348bbdeb94873"
TRAIN_LABEL_URL = URL_PREFIX + "train-labels-idx1-ubyte.gz"
TRAIN_LABEL_MD5 = "d53e105ee54ea40749a09fcbcd1e9432"


def reader_creator(image_filename, label_filename, buffer_size=100):
    """A reader of the samples in two files of the idx format, packed or not."""

    def samples():
        from proa.vision.datasets.mnist import read_idx

        images, labels = read_idx(image_filename), read_idx(label_filename)
        for image, label in zip(images, labels):
            yield image.reshape(-1).astype("float32") / 255.0 * 2.0 - 1.0, int(label)

    return samples


def train():
    """The 60,000 samples of training."""
    return reader_creator(
        common.download(TRAIN_IMAGE_URL, "mnist", TRAIN_IMAGE_MD5),
        common.download(TRAIN_LABEL_URL, "mnist", TRAIN_LABEL_MD5),
    )


def test():
    """The 10,000 samples of the test."""
    return reader_creator(
        common.download(TEST_IMAGE_URL, "mnist", TEST_IMAGE_MD5),
        common.download(TEST_LABEL_URL, "mnist", TEST_LABEL_MD5),
    )


def fetch():
    """Fetches all files."""
    train(), test()
