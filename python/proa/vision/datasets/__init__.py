"""Data sets of images, read from files that are there, or fetched once."""

from proa.framework.names import lazy as _lazy
from proa.vision.datasets.cifar import Cifar10, Cifar100
from proa.vision.datasets.flowers import Flowers
from proa.vision.datasets.folder import DatasetFolder, ImageFolder
from proa.vision.datasets.mnist import MNIST, FashionMNIST
from proa.vision.datasets.voc2012 import VOC2012

__all__ = [
    "Cifar10",
    "Cifar100",
    "DatasetFolder",
    "FashionMNIST",
    "Flowers",
    "ImageFolder",
    "MNIST",
    "VOC2012",
]

__getattr__, __dir__ = _lazy(__name__)
