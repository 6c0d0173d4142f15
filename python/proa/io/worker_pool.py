"""The worker processes of a DataLoader, seen from the parent."""

import itertools
import mmap
import multiprocessing
import os
import pickle
import select
import signal
import socket
import time
import warnings
import weakref

from proa import _C
from proa.io.shared_batch import unpack
from proa.io.worker import COLLATING, STARTING, WAITING, Channel, Worker

# The parent's ends of all workers, which workers that are forked later close: the end of a channel must be the end of it.
_ends: weakref.WeakSet = weakref.WeakSet()


class _Text(str):
    """A message that KeyError prints as it is."""

    __repr__ = str.__str__


class _Process:
    """One worker: its process, its channel, its slots, and the batches it was asked for."""

    def __init__(self, job, rank, places, seed):
        mine, its = socket.socketpair()
        self.rank, self.channel = rank, Channel(mine)
        _ends.add(self.channel)
        worker = Worker(job, rank, Channel(its), places, seed)
        # Forked: neither the data set nor collate_fn has to pickle, and nothing is imported again.
        self.process = multiprocessing.get_context("fork").Process(
            target=worker.run, args=(os.getpid(), list(_ends)), daemon=True, name=f"DataLoader worker {rank}"
        )
        with warnings.catch_warnings():
            # Later releases of Python warn of threads; the core knows what a forked process may do.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process.start()
        its.close()
        self.slots = {}  # from numbers to memory
        self.free = []
        self.asked = {}  # from batches to their indices
        self.ended = False


def _end(processes, owner):
    """Ends the workers; those that load are not waited for."""
    if os.getpid() != owner:
        return  # a forked process has no say
    for worker in processes:
        worker.channel.close()
        if worker.asked:
            worker.process.terminate()
    deadline = time.monotonic() + 1.0
    for worker in processes:
        worker.process.join(max(deadline - time.monotonic(), 0.0))
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        for memory in worker.slots.values():
            memory.close()
    processes.clear()


class WorkerPool:
    """Worker processes that load batches; `epoch` gives them in order.

    Args:
        job (Job): what each worker does.
        timeout (float): seconds that a batch may be waited for; 0 waits for ever.
        seeds (list[int]): of the random numbers of each worker.
        ahead (int): batches under way for each worker.
    """

    def __init__(self, job, timeout, seeds, ahead=2):
        self._job, self._timeout, self._ahead = job, timeout, ahead
        self._places = mmap.mmap(-1, 16 * job.num_workers)
        self._processes = []
        self._epoch = 0
        self._close = weakref.finalize(self, _end, self._processes, os.getpid())
        try:
            for rank, seed in enumerate(seeds):
                self._processes.append(_Process(job, rank, self._places, seed))
        except BaseException:
            self.close()
            raise

    def close(self):
        """Ends the workers."""
        self._close()

    @property
    def is_open(self):
        return self._close.alive

    def epoch(self, tasks, persistent):
        """The batches of these tasks, in their order.

        Args:
            tasks (Iterator): lists of indices (or one index); of an iterable data set anything without an end.
            persistent (bool): keep the workers at the end.
        """
        self._epoch += 1
        epoch = self._epoch
        try:
            yield from self._batches(iter(tasks), epoch)
        except GeneratorExit:
            raise
        except BaseException:
            self.close()
            raise
        finally:
            if not persistent and epoch == self._epoch:
                self.close()

    def _batches(self, tasks, epoch):
        for worker in self._processes:
            worker.ended = False
            worker.asked.clear()
            self._send(worker, (epoch, -1, None, self._freed(worker)))
        ready = {}  # from batches to (worker, Packed)
        turns = itertools.cycle(self._processes)
        asked = 0

        def ask():
            nonlocal asked
            worker = next((w for w in itertools.islice(turns, len(self._processes)) if not w.ended), None)
            if worker is None:
                return
            try:
                task = next(tasks)
            except StopIteration:
                return
            worker.asked[asked] = task
            self._send(worker, (epoch, asked, task, self._freed(worker)))
            asked += 1

        for _ in range(self._ahead * len(self._processes)):
            ask()
        given = 0
        try:
            while given < asked:
                since = time.monotonic()
                while given not in ready:
                    self._wait(epoch, given, since, ready)
                worker, packed = ready.pop(given)
                given += 1
                if packed is None:  # this worker's part of an iterable data set is at its end
                    worker.ended = True
                    ask()
                    continue
                with _C.eager_mode():
                    batch = unpack(packed, worker.slots.get(packed.slot))
                if packed.slot is not None:
                    worker.free.append(packed.slot)
                ask()
                yield batch
                if epoch != self._epoch:
                    raise _C.located(
                        RuntimeError(
                            "DataLoader: persistent workers load for the iteration that began last; this is another"
                        )
                    )
        finally:
            for worker, packed in ready.values():
                if packed is not None and packed.slot is not None:
                    worker.free.append(packed.slot)

    def _freed(self, worker):
        free, worker.free = worker.free, []
        return free

    # Messages --------------------------------------------------------------------------------------------------------

    def _send(self, worker, value):
        """Writes while it reads: a worker that writes a big batch does not read."""
        data = memoryview(Channel.packed(value))
        while data:
            poll = select.poll()
            poll.register(worker.channel, select.POLLIN | select.POLLOUT)
            events = poll.poll(self._timeout * 1000 if self._timeout else None)
            if not events:
                raise self._late(worker, "not taken what to load")
            try:
                if events[0][1] & select.POLLIN and not worker.channel.read(wait=False):
                    self._died(worker)
                if events[0][1] & ~select.POLLIN:
                    data = data[worker.channel.send_some(data) :]
            except ConnectionError:
                self._died(worker)

    def _wait(self, epoch, wanted, since, ready):
        """Takes what workers send, or raises what keeps them from it."""
        for worker in self._processes:
            self._take(worker, epoch, ready)
        if wanted in ready:
            return
        owner = next(w for w in self._processes if wanted in w.asked)
        waited = time.monotonic() - since
        if self._timeout and waited >= self._timeout:
            raise self._late(owner, f"not sent batch {wanted}")
        pause = min(self._timeout - waited, 5.0) if self._timeout else 5.0
        poll = select.poll()
        by_descriptor = {}
        for worker in self._processes:
            if worker.asked:
                for descriptor in (worker.channel.fileno(), worker.process.sentinel):
                    poll.register(descriptor, select.POLLIN)
                    by_descriptor[descriptor] = worker
        events = poll.poll(max(pause, 0.001) * 1000)
        for descriptor, _ in events:
            worker = by_descriptor[descriptor]
            is_open = worker.channel.read(wait=False)
            self._take(worker, epoch, ready)
            if not is_open and worker.asked:
                self._died(worker)
        if not events:
            # A process that a data set started may hold the channel open.
            for worker in self._processes:
                if worker.asked and not worker.process.is_alive():
                    self._died(worker)

    def _take(self, worker, epoch, ready):
        while (found := worker.channel.message()) is not None:
            (kind, its_epoch, number, *rest), descriptors = found
            if kind == "error":
                if its_epoch in (None, epoch):
                    self._failed(worker, number, *rest)
                continue
            packed, made, dropped = rest
            for slot in dropped:
                worker.slots.pop(slot).close()
            for (slot, size), descriptor in zip(made, descriptors):
                worker.slots[slot] = mmap.mmap(descriptor, size, prot=mmap.PROT_READ)
                os.close(descriptor)
            if its_epoch == epoch:
                del worker.asked[number]
                ready[number] = worker, packed
            elif packed is not None and packed.slot is not None:
                worker.free.append(packed.slot)

    # What went wrong -------------------------------------------------------------------------------------------------

    def _who(self, worker):
        return f"worker {worker.rank} (process {worker.process.pid})"

    def _at(self, worker):
        return memoryview(self._places).cast("q")[2 * worker.rank : 2 * worker.rank + 2].tolist()

    def _sample(self, worker, batch, place):
        """A name for the sample at this place of a batch."""
        if self._job.iterable:
            return f"sample {place} of batch {batch} of its part of the data set"
        task = worker.asked.get(batch)
        if task is None:
            return f"place {place} of batch {batch}"
        index = task if self._job.single else list(task)[place]
        return f"sample {index!r} of batch {batch}"

    def _doing(self, worker):
        batch, place = self._at(worker)
        if place == STARTING:
            return "still in worker_init_fn"
        if place == WAITING:
            return "waiting for work"
        if place == COLLATING:
            return f"putting batch {batch} together (collate_fn)"
        return f"at {self._sample(worker, batch, place)}"

    def _died(self, worker):
        worker.process.join(1.0)
        code = worker.process.exitcode
        if code is not None and code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
            if -code == signal.SIGKILL:
                how += " (the system does that when memory runs out: then use fewer workers or smaller batches)"
            elif -code == signal.SIGBUS:
                how += " (a file that became shorter while it was mapped, or no shared memory)"
        else:
            how = f"ended with exit code {code}"
        raise self._error(RuntimeError, f"DataLoader: {self._who(worker)} {how}; it was {self._doing(worker)}")

    def _late(self, worker, what):
        return self._error(
            RuntimeError,
            f"DataLoader: {self._who(worker)} has {what} within {self._timeout:g} s (timeout); it is {self._doing(worker)}; "
            "give a longer timeout, or look there for what it waits for",
        )

    def _failed(self, worker, batch, place, kind, one_line, text):
        if place == STARTING:
            where = "in worker_init_fn"
        elif place == COLLATING:
            where = f"putting batch {batch} together"
        else:
            where = f"at {self._sample(worker, batch, place)}"
        message = f"DataLoader: {self._who(worker)} failed {where}: {one_line}\n\nThere:\n{text}"
        try:
            kind = pickle.loads(kind) if kind is not None else RuntimeError  # noqa: S301  from our own process
        except Exception:
            kind = RuntimeError
        # What means something else here than an error of the data set.
        if issubclass(kind, (StopIteration, GeneratorExit)) or not issubclass(kind, Exception):
            kind = RuntimeError
        raise self._error(kind, message)

    def _error(self, kind, message):
        for worker in self._processes:  # they may not listen any more
            if worker.process.is_alive():
                worker.process.kill()
        try:
            return _C.located(kind(_Text(message)))
        except Exception:  # a class whose arguments are its own
            return _C.located(RuntimeError(message))
