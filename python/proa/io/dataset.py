"""Data sets: something with `__getitem__` and `__len__`, or something to iterate over."""

import bisect
import itertools
import math
import numbers

import numpy as np

from proa import _C
from proa.framework.attributes import a_list, cut_int, wrong
from proa.framework.random import is_seeded


def sized(what, name, value):
    """What has a length; a class derived from the data sets may say so itself, when it is asked."""
    if isinstance(value, (int, float, type)) or not hasattr(value, "__len__"):
        raise wrong(what, name, "a data set or a list", value)
    return value


class Dataset:
    """Base of data sets whose samples have an index. Define `__getitem__` and `__len__`.

    Examples:
        >>> class Squares(proa.io.Dataset):
        ...     def __getitem__(self, idx):
        ...         return idx * idx
        ...     def __len__(self):
        ...         return 10
        >>> Squares()[3]
        9
    """

    def __getitem__(self, idx):
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define __getitem__"))

    def __len__(self):
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define __len__"))


class IterableDataset(Dataset):
    """Base of data sets that give one sample after the other. Define `__iter__`.

    Examples:
        >>> class Squares(proa.io.IterableDataset):
        ...     def __iter__(self):
        ...         return (np.array(i * i) for i in range(4))
        >>> [batch.tolist() for batch in proa.io.DataLoader(Squares(), batch_size=3)]
        [[0, 1, 4], [9]]
    """

    def __iter__(self):
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define __iter__"))

    def __getitem__(self, idx):
        raise _C.located(RuntimeError(f"{type(self).__name__} is an IterableDataset: its samples have no index"))

    def __len__(self):
        raise _C.located(TypeError(f"{type(self).__name__} is an IterableDataset: it has no length"))


class TensorDataset(Dataset):
    """Sample i is the tuple of row i of each tensor.

    Args:
        tensors (list[Tensor]): all with the same first dim; arrays, lists, and frames and columns of pandas, too.

    Examples:
        >>> data = proa.io.TensorDataset([proa.ones([4, 2]), proa.zeros([4])])
        >>> len(data), data[0][0].shape
        (4, [2])
    """

    def __init__(self, tensors):
        tensors = tensors if isinstance(tensors, _C.Tensor) else a_list("TensorDataset", "tensors", tensors)
        tensors = [_by_rows(tensor) for tensor in tensors]
        if not tensors:
            raise _C.located(ValueError("TensorDataset: at least one tensor is needed"))
        for i, tensor in enumerate(tensors):
            if not tensor.shape:
                raise _C.located(ValueError(f"TensorDataset: tensor {i} has no dim that would count the samples"))
            if tensor.shape[0] != tensors[0].shape[0]:
                raise _C.located(
                    ValueError(
                        f"TensorDataset: the first dims must be equal; tensor 0 is {list(tensors[0].shape)}, "
                        f"tensor {i} is {list(tensor.shape)}"
                    )
                )
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self):
        return self.tensors[0].shape[0]


def _by_rows(data):
    """Data whose rows are reached by their numbers: those of pandas by what they are called."""
    return _C.to_tensor(data) if hasattr(data, "iloc") or not hasattr(data, "shape") else data


class ComposeDataset(Dataset):
    """Sample i is the fields of sample i of each data set, one after the other.

    Examples:
        >>> a, b = (proa.io.TensorDataset([proa.arange(3) + i]) for i in (0, 10))
        >>> [v.item() for v in proa.io.ComposeDataset([a, b])[1]]
        [1, 11]
    """

    def __init__(self, datasets):
        self.datasets = a_list("ComposeDataset", "datasets", datasets)
        if not self.datasets:
            raise _C.located(ValueError("ComposeDataset: at least one data set is needed"))
        for i, dataset in enumerate(self.datasets):
            sized("ComposeDataset", f"element {i} of datasets", dataset)
        lengths = [len(d) for d in self.datasets]
        if len(set(lengths)) > 1:
            raise _C.located(ValueError(f"ComposeDataset: the data sets must be of equal length; they are {lengths}"))

    def __len__(self):
        return len(self.datasets[0])

    def __getitem__(self, idx):
        fields = []
        for dataset in self.datasets:
            sample = dataset[idx]
            fields.extend(sample if isinstance(sample, (list, tuple)) else [sample])
        return tuple(fields)


class ChainDataset(IterableDataset):
    """The samples of several iterable data sets, one set after the other.

    Examples:
        >>> class Numbers(proa.io.IterableDataset):
        ...     def __init__(self, *numbers):
        ...         self.numbers = numbers
        ...
        ...     def __iter__(self):
        ...         return iter(self.numbers)
        >>> list(proa.io.ChainDataset([Numbers(1, 2), Numbers(3)]))
        [1, 2, 3]
    """

    def __init__(self, datasets):
        self.datasets = a_list("ChainDataset", "datasets", datasets)
        if not self.datasets:
            raise _C.located(ValueError("ChainDataset: at least one data set is needed"))
        for i, dataset in enumerate(self.datasets):
            if not isinstance(dataset, IterableDataset):
                raise _C.located(
                    TypeError(f"ChainDataset: data set {i} is no IterableDataset but {type(dataset).__name__}")
                )

    def __iter__(self):
        return itertools.chain.from_iterable(self.datasets)


class ConcatDataset(Dataset):
    """Several data sets as one: the indices of the second follow those of the first.

    Examples:
        >>> a, b = (proa.io.TensorDataset([proa.arange(2) + i]) for i in (0, 10))
        >>> proa.io.ConcatDataset([a, b])[2][0].item()
        10
    """

    def __init__(self, datasets):
        self.datasets = a_list("ConcatDataset", "datasets", datasets)
        if not self.datasets:
            raise _C.located(ValueError("ConcatDataset: at least one data set is needed"))
        for i, dataset in enumerate(self.datasets):
            if isinstance(dataset, IterableDataset):
                raise _C.located(TypeError(f"ConcatDataset: data set {i} is an IterableDataset; use ChainDataset"))
            sized("ConcatDataset", f"element {i} of datasets", dataset)
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        if not -len(self) <= idx < len(self):
            raise _C.located(IndexError(f"ConcatDataset: index {idx} is out of range; there are {len(self)} samples"))
        idx %= len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]


class Subset(Dataset):
    """The samples of a data set at these indices.

    Args:
        dataset (Dataset): all samples.
        indices (Sequence[int]): which of them, in order.

    Examples:
        >>> subset = proa.io.Subset([10, 11, 12], [2, 0])
        >>> [subset[i] for i in range(len(subset))]
        [12, 10]
    """

    def __init__(self, dataset, indices):
        if not hasattr(dataset, "__getitem__"):
            raise wrong("Subset", "dataset", "a data set or a list", dataset)
        self.dataset, self.indices = dataset, sized("Subset", "indices", indices)

    def __getitem__(self, idx):
        return self.dataset[self.indices[idx]]

    def __len__(self):
        return len(self.indices)


def _parts_of(size, shares):
    """Sizes of parts by shares."""
    lengths = [math.floor(size * share) for share in shares]
    for i in range(size - sum(lengths)):
        lengths[i % len(lengths)] += 1
    return lengths


def random_split(dataset, lengths, generator=None) -> list[Subset]:
    """Splits a data set at random into parts that do not overlap.

    Args:
        dataset (Dataset): what to split.
        lengths (list[int|float]): sizes of the parts; their sum is that of the data set. Or shares that add up to 1; what
            rounding down leaves goes to the first parts, one sample each.
        generator (numpy.random.Generator|int, optional): where the order comes from;
            `proa.seed` decides unless given.

    Returns:
        list[Subset]: one for each length.

    Examples:
        >>> train, test = proa.io.random_split(proa.io.TensorDataset([proa.ones([10, 1])]), [7, 3])
        >>> len(train), len(test)
        (7, 3)
    """
    sized("random_split", "dataset", dataset)
    lengths = a_list("random_split", "lengths", lengths, "a list of ints")
    shares = all(isinstance(n, numbers.Real) and 0 <= float(n) <= 1 for n in lengths)
    if shares and any(isinstance(n, float) for n in lengths) and math.isclose(sum(lengths), 1.0):
        lengths = _parts_of(len(dataset), lengths)
    lengths = [cut_int("random_split", f"element {i} of lengths", n) for i, n in enumerate(lengths)]
    if sum(lengths) != len(dataset) or min(lengths, default=0) < 0:
        raise _C.located(
            ValueError(f"random_split: lengths {lengths} do not add up to {len(dataset)}, the length of the data set")
        )
    order = permutation(len(dataset), generator)
    ends = np.cumsum(lengths)
    return [Subset(dataset, order[end - n : end].tolist()) for end, n in zip(ends, lengths)]


def numpy_generator(generator):
    """A NumPy generator: the one given, one of this seed, one that `proa.seed` decides, or NumPy's global one before that is
    called: from its numbers come the same orders as in PaddlePaddle, whose programs seed it.
    """
    if isinstance(generator, np.random.Generator):
        return generator
    if generator is None:
        return _followed() if is_seeded() else np.random
    seed = cut_int("a sampler", "generator", generator, "None, an int or a numpy.random.Generator")
    if seed < 0:
        raise _C.located(ValueError(f"a sampler: generator must not be negative; it is {seed}"))
    return np.random.default_rng(seed)


def _followed():
    """A NumPy generator that the generator of tensors decides."""
    with _C.eager_mode():
        return np.random.default_rng(int(_C.ops.randint(0, 2**31 - 1, [1]).item()))


def permutation(n, generator=None):
    """The integers below n in a random order, as an array; without a generator that of tensors decides, seeded or not."""
    return (_followed() if generator is None else numpy_generator(generator)).permutation(n)
