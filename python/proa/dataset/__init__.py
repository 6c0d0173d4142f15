"""Data sets as readers, as 1.x had them: `dataset.mnist.train()` is a reader. `vision.datasets` has the classes."""

from proa.framework.names import lazy as _lazy

__getattr__, __dir__ = _lazy(__name__, submodules=("cifar", "common", "image", "imdb", "mnist", "uci_housing"))
