"""Loaders that are fed by generators: `DataLoader.from_generator` and PyReader."""

from proa import _C
from proa.framework.names import missing as _missing
from proa.io import BatchSampler as BatchSampler
from proa.io import DataLoader
from proa.io import Dataset as Dataset
from proa.io import IterableDataset as IterableDataset
from proa.io import default_collate_fn as default_collate_fn
from proa.io import default_convert_fn as default_convert_fn
from proa.io.generator_loader import GeneratorLoader

__all__ = ["DataLoader", "GeneratorLoader", "PyReader", "default_collate_fn"]

__getattr__ = _missing(__name__)


class _DatasetKind:
    """What a data set is indexed by."""

    MAP = 0
    ITER = 1


def use_pinned_memory(*args):
    """Whether loaders make pinned memory: no."""
    return False


def _convert_places(places):
    return list(places) if isinstance(places, (list, tuple)) else [places]


_get_paddle_place_list = _convert_places


def _get_paddle_place(place):
    return _C.Place(place) if isinstance(place, str) else place


def _current_expected_place():
    return _C.Place(_C.get_device())


class PyReader(GeneratorLoader):
    """The older name of GeneratorLoader."""

    def __init__(self, feed_list=None, capacity=None, use_double_buffer=True, iterable=True, return_list=False):
        super().__init__(feed_list, capacity, use_double_buffer, iterable, return_list)
