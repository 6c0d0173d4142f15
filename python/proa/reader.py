"""Readers: functions without arguments that give the samples of an epoch; and functions from readers to readers."""

import itertools
import random
from queue import Queue
from threading import Thread

from proa import _C
from proa.framework.names import missing as _missing

__all__ = [
    "ComposeNotAligned",
    "buffered",
    "cache",
    "chain",
    "compose",
    "firstn",
    "map_readers",
    "multiprocess_reader",
    "shuffle",
    "xmap_readers",
]

__getattr__ = _missing(__name__)


class ComposeNotAligned(ValueError):
    """Readers that are composed are of different lengths.

    Examples:
        >>> issubclass(proa.reader.ComposeNotAligned, ValueError)
        True
    """


def cache(reader):
    """A reader of what `reader` gave the first time, kept in memory.

    Examples:
        >>> numbers = proa.reader.cache(lambda: iter(range(3)))
        >>> list(numbers()), list(numbers())
        ([0, 1, 2], [0, 1, 2])
    """
    held = tuple(reader())
    return lambda: iter(held)


def map_readers(func, *readers):
    """A reader of `func` of the samples of several readers.

    Examples:
        >>> list(proa.reader.map_readers(lambda a, b: a + b, lambda: iter([1, 2]), lambda: iter([3, 4]))())
        [4, 6]
    """
    return lambda: map(func, *(reader() for reader in readers))


def shuffle(reader, buf_size):
    """A reader of the same samples in another order: random within pieces of `buf_size`, by Python's `random`.

    Examples:
        >>> sorted(proa.reader.shuffle(lambda: iter(range(4)), 2)())
        [0, 1, 2, 3]
    """

    def samples():
        source = iter(reader())
        while True:
            piece = list(itertools.islice(source, buf_size))
            if not piece:
                return
            random.shuffle(piece)
            yield from piece

    return samples


def chain(*readers):
    """A reader of the samples of several readers, one after another.

    Examples:
        >>> list(proa.reader.chain(lambda: iter([1]), lambda: iter([2]))())
        [1, 2]
    """
    return lambda: itertools.chain(*(reader() for reader in readers))


def compose(*readers, check_alignment=True):
    """A reader of tuples of the samples of several readers, side by side.

    Raises (the reader):
        ComposeNotAligned: they are of different lengths, and check_alignment is True.

    Examples:
        >>> list(proa.reader.compose(lambda: iter([1, 2]), lambda: iter([3, 4]))())
        [(1, 3), (2, 4)]
    """

    def samples():
        end = object()
        sources = [reader() for reader in readers]
        rows = itertools.zip_longest(*sources, fillvalue=end) if check_alignment else zip(*sources)
        for row in rows:
            if any(value is end for value in row):
                raise _C.located(ComposeNotAligned("compose: the readers give different numbers of samples"))
            yield tuple(itertools.chain(*(value if isinstance(value, tuple) else (value,) for value in row)))

    return samples


def firstn(reader, n):
    """A reader of the first n samples.

    Examples:
        >>> list(proa.reader.firstn(lambda: iter(range(9)), 2)())
        [0, 1]
    """
    return lambda: itertools.islice(reader(), n)


class _Raised:
    """An exception on its way from a thread."""

    def __init__(self, error):
        self.error = error


def buffered(reader, size):
    """A reader whose samples are read ahead by a thread, up to `size` of them.

    Examples:
        >>> list(proa.reader.buffered(lambda: iter(range(3)), size=2)())
        [0, 1, 2]
    """

    def samples():
        end = object()
        queue = Queue(maxsize=size)

        def fill():
            try:
                for sample in reader():
                    queue.put(sample)
                queue.put(end)
            except BaseException as error:
                queue.put(_Raised(error))

        Thread(target=fill, daemon=True).start()
        while (sample := queue.get()) is not end:
            if isinstance(sample, _Raised):
                raise sample.error
            yield sample

    return samples


def xmap_readers(mapper, reader, process_num, buffer_size, order=False):
    """A reader of `mapper` of the samples, by `process_num` threads; in the order of the samples if `order`.

    Examples:
        >>> sorted(proa.reader.xmap_readers(lambda x: x * x, lambda: iter(range(4)), 2, 4)())
        [0, 1, 4, 9]
    """
    from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

    def samples():
        with ThreadPoolExecutor(process_num) as pool:
            source = iter(reader())
            running = [pool.submit(mapper, sample) for sample in itertools.islice(source, max(1, buffer_size))]
            while running:
                if order:
                    done = [running.pop(0)]
                else:
                    finished = wait(running, return_when=FIRST_COMPLETED).done
                    done = [future for future in running if future in finished]
                    running = [future for future in running if future not in finished]
                for future in done:
                    yield future.result()
                    running.extend(pool.submit(mapper, sample) for sample in itertools.islice(source, 1))

    return samples


def multiprocess_reader(readers, use_pipe=True, queue_size=1000):
    """A reader of the samples of several readers, each read by a thread of its own, as they come.

    Examples:
        >>> readers = [lambda: iter([1, 2]), lambda: iter([3])]
        >>> sorted(proa.reader.multiprocess_reader(readers)())
        [1, 2, 3]
    """

    def samples():
        end = object()
        queue = Queue(maxsize=queue_size)

        def fill(reader):
            try:
                for sample in reader():
                    queue.put(sample)
                queue.put(end)
            except BaseException as error:
                queue.put(_Raised(error))

        for reader in readers:
            Thread(target=fill, args=(reader,), daemon=True).start()
        left = len(readers)
        while left:
            sample = queue.get()
            if sample is end:
                left -= 1
            elif isinstance(sample, _Raised):
                raise sample.error
            else:
                yield sample

    return samples
