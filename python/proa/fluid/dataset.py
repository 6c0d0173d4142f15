"""`DatasetFactory` of 1.8."""

from proa import _C
from proa.distributed.file_dataset import InMemoryDataset, QueueDataset

__all__ = ["DatasetFactory", "InMemoryDataset", "QueueDataset"]


class DatasetFactory:
    """Makes data sets by the names of their classes."""

    def create_dataset(self, datafeed_class="QueueDataset"):
        """A data set.

        Args:
            datafeed_class (str): "QueueDataset" or "InMemoryDataset".
        """
        kinds = {"QueueDataset": QueueDataset, "InMemoryDataset": InMemoryDataset}
        if datafeed_class not in kinds:
            raise _C.located(
                ValueError(f"DatasetFactory: datafeed_class must be {' or '.join(kinds)}, not {datafeed_class!r}")
            )
        return kinds[datafeed_class]()
