"""What happens in a worker process of a DataLoader."""

import array
import contextlib
import gc
import itertools
import os
import pickle
import random
import signal
import socket
import struct
import threading
import time
import traceback

from proa import _C
from proa.io.collate import Rows, collated, rows_of
from proa.io.shared_batch import Slots, pack

__all__ = ["WorkerInfo", "get_worker_info"]

# What a worker does, where it is not at the sample of this number.
STARTING, COLLATING, WAITING = -1, -2, -3


class WorkerInfo:
    """Which worker process this is: `id` of `num_workers`, its `dataset`, and the `seed` of its random numbers.

    Examples:
        >>> proa.io.get_worker_info() is None  # but in a worker of a DataLoader
        True
    """

    def __init__(self, id, num_workers, dataset, seed=0):
        self.id, self.num_workers, self.dataset, self.seed = id, num_workers, dataset, seed

    def __repr__(self):
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed}, dataset={self.dataset!r})"


_info = None


def get_worker_info():
    """The WorkerInfo inside a worker process of a DataLoader, None elsewhere. Data sets share work by it.

    Examples:
        >>> class Numbers(proa.io.IterableDataset):
        ...     def __iter__(self):
        ...         worker = proa.io.get_worker_info()
        ...         first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        ...         return iter(range(first, 6, step))
        >>> [b.tolist() for b in proa.io.DataLoader(Numbers(), batch_size=2, num_workers=2)]
        [[0, 2], [1, 3], [4], [5]]
    """
    return _info


class Channel:
    """Messages over a socket: any value that pickles, and descriptors."""

    _HEAD = struct.Struct("<QB")

    def __init__(self, end):
        self._socket = end
        self._data, self._descriptors = bytearray(), []

    def fileno(self):
        return self._socket.fileno()

    def close(self):
        self._socket.close()

    @classmethod
    def packed(cls, value, descriptors=0):
        """The bytes of a message that so many descriptors go with."""
        text = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        return cls._HEAD.pack(len(text), descriptors) + text

    def send(self, packed, descriptors=()):
        """Returns when all is written."""
        data = memoryview(packed)
        extra = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        sent = self._socket.sendmsg([data], extra)
        self._socket.sendall(data[sent:])

    def send_some(self, data):
        """How many of these bytes were written without waiting."""
        try:
            return self._socket.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0

    def read(self, wait):
        """Reads what is there. False at the end of the other side."""
        size = max(1 << 16, min(1 << 22, self._missing()))
        try:
            data, extra, _, _ = self._socket.recvmsg(
                size, socket.CMSG_SPACE(64), socket.MSG_CMSG_CLOEXEC | (0 if wait else socket.MSG_DONTWAIT)
            )
        except BlockingIOError:
            return True
        except ConnectionError:
            return False
        for level, kind, content in extra:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                found = array.array("i")
                found.frombytes(content[: len(content) - len(content) % found.itemsize])
                self._descriptors += found
        self._data += data
        return bool(data)

    def _missing(self):
        if len(self._data) < self._HEAD.size:
            return 0
        return self._HEAD.unpack_from(self._data)[0] + self._HEAD.size - len(self._data)

    def message(self):
        """(value, descriptors) of a whole message that was read, or None."""
        if len(self._data) < self._HEAD.size or self._missing() > 0:
            return None
        length, count = self._HEAD.unpack_from(self._data)
        end = self._HEAD.size + length
        value = pickle.loads(memoryview(self._data)[self._HEAD.size : end])  # noqa: S301  from our own process
        del self._data[:end]
        descriptors, self._descriptors = self._descriptors[:count], self._descriptors[count:]
        return value, descriptors


class Job:
    """What all workers of a loader do; they have it by being forked.

    Args:
        dataset, collate_fn (None for default_collate_fn), worker_init_fn: of the loader.
        iterable (bool): the data set has no index.
        batch_size (int|None), drop_last (bool): of an iterable data set.
        single (bool): samples are not put into batches.
        use_shared_memory (bool): for the arrays.
        num_workers (int): of the loader.
    """

    def __init__(self, dataset, collate_fn, worker_init_fn, iterable, batch_size, drop_last, single,
                 use_shared_memory, num_workers):  # fmt: skip
        self.dataset, self.collate_fn, self.worker_init_fn = dataset, collate_fn, worker_init_fn
        self.iterable, self.batch_size, self.drop_last, self.single = iterable, batch_size, drop_last, single
        self.use_shared_memory, self.num_workers = use_shared_memory, num_workers


def _leave_with(parent):
    """Ends this process when its parent is gone, whatever it does then."""

    def watch():
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _seed(seed, rank):
    import numpy

    base = max(seed - rank, 0)
    random.seed(seed)
    # The numbers that NumPy has in this worker of the reference too.
    numpy.random.seed(numpy.random.SeedSequence([rank, base % 2**32, base >> 32]).generate_state(4))
    _C.seed(seed % 2**31)


class Worker:
    """The loop of one worker.

    Args:
        job (Job): what to do.
        rank (int): which worker this is.
        channel (Channel): to the parent.
        places: shared memory where the parent sees at which sample of which batch this worker is.
        seed (int): of its random numbers.
    """

    def __init__(self, job, rank, channel, places, seed):
        self._job, self._rank, self._channel, self._places, self._seed = job, rank, channel, places, seed
        self._batch = -1
        self._samples = None
        self._slots = Slots() if job.use_shared_memory else None

    def run(self, parent, inherited):
        """Loads until the parent closes its end.

        Args:
            parent (int): its process id.
            inherited (list[Channel]): ends of the parent that this process does not need.
        """
        global _info
        # Ctrl-C goes to all processes of a terminal: it is the parent that ends the others. What else the program does at
        # signals is none of this process's business.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        # The parent's objects are not visited by the collector, which would write to, and so copy, all of their pages.
        gc.freeze()
        for channel in inherited:
            channel.close()
        _leave_with(parent)
        _C.memory_keep_malloc()
        _seed(self._seed, self._rank)
        _info = WorkerInfo(self._rank, self._job.num_workers, self._job.dataset, self._seed)
        try:
            self._at(STARTING)
            if self._job.worker_init_fn is not None:
                self._job.worker_init_fn(self._rank)
        except BaseException as error:
            with contextlib.suppress(ConnectionError):
                self._send_error(error)
            return
        self._at(WAITING)
        with contextlib.suppress(ConnectionError), _C.eager_mode():
            while (task := self._next()) is not None:
                self._do(*task)

    def _at(self, place):
        struct.pack_into("<qq", self._places, 16 * self._rank, self._batch, place)

    def _next(self):
        while True:
            found = self._channel.message()
            if found is not None:
                return found[0]
            if not self._channel.read(wait=True):
                return None

    def _do(self, epoch, number, indices, free):
        for slot in free:
            self._slots.give_back(slot)
        self._batch = number
        if number < 0:  # a new epoch
            self._samples = None
            return
        try:
            with _C.eager_mode():  # Samples are values, where the parent records a program, too.
                packed = self._load(indices)
            made, dropped = ([], []) if self._slots is None else self._slots.news()
            # What does not pickle is this batch's mistake.
            message = Channel.packed(("batch", epoch, number, packed, [m[:2] for m in made], dropped), len(made))
        except BaseException as error:
            self._send_error(error, epoch)
            return
        # Before the parent can know of the batch.
        self._at(WAITING)
        descriptors = [descriptor for _, _, descriptor in made]
        self._channel.send(message, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)

    def _load(self, indices):
        """A Packed, or None at the end of an iterable data set."""
        job = self._job
        if job.iterable:
            samples = self._following()
            if not samples or (job.drop_last and not job.single and len(samples) < job.batch_size):
                return None
        else:
            samples = []
            for place, index in enumerate([indices] if job.single else indices):
                self._at(place)
                samples.append(job.dataset[index])
        self._at(COLLATING)
        if job.collate_fn is None:
            batch = collated(samples, Rows, lambda numbers: numbers, rows_of)
        else:
            batch = job.collate_fn(samples[0] if job.single else samples)
        return pack(batch, self._slots)

    def _following(self):
        """The next samples of an iterable data set."""
        self._at(0)
        if self._samples is None:
            self._samples = iter(self._job.dataset)
        samples = []
        for sample in itertools.islice(self._samples, 1 if self._job.single else self._job.batch_size):
            samples.append(sample)
            self._at(len(samples))
        return samples

    def _send_error(self, error, epoch=None):
        try:
            kind = pickle.dumps(type(error))
        except Exception:  # a class that only this process knows
            kind = None
        batch, place = struct.unpack_from("<qq", self._places, 16 * self._rank)
        text = "".join(traceback.format_exception(error))
        summary = traceback.TracebackException.from_exception(error)
        summary.__notes__ = None  # where an error of this package comes from would be the last line
        one_line = list(summary.format_exception_only())[-1].strip()
        self._channel.send(Channel.packed(("error", epoch, batch, place, kind, one_line, text)))
