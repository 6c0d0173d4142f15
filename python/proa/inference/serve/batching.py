"""Runs requests on threads: a bounded queue, rows of several requests in one run, a time to wait."""

import asyncio
import concurrent.futures
import logging
import time

import numpy as np

__all__ = ["Overloaded", "Runner"]

_log = logging.getLogger("proa.inference.serve")


class Overloaded(Exception):
    """As many requests wait as may."""


class _Item:
    def __init__(self, arrays, key, rows, result):
        self.arrays, self.key, self.rows, self.result = arrays, key, rows, result
        self.since = time.monotonic()


class Runner:
    """Runs a model for the handlers of one event loop.

    Args:
        model: with `run(arrays)` and `takes_rows`.
        workers (int): runs at once.
        waiting (int): how many requests may wait besides; more are Overloaded.
        max_rows (int): at most so many rows in a run of several requests; 1: one request a run.
        delay (float): seconds that a run waits for further requests.
        metrics: is told `queued(seconds)` and `computed(seconds, rows)`.
    """

    def __init__(self, model, workers, waiting, max_rows, delay, metrics):
        self._model, self._workers, self._most = model, workers, waiting + workers
        self._max_rows = max_rows if model.takes_rows else 1
        self._delay, self._metrics = delay, metrics
        self._threads = concurrent.futures.ThreadPoolExecutor(workers, "proa-serve")
        self._queue = asyncio.Queue()
        self._tasks = []
        self.pending = 0  # requests that wait or are computed

    def start(self):
        """Inside of the event loop."""
        self._tasks = [asyncio.ensure_future(self._work()) for _ in range(self._workers)]

    async def stop(self):
        """Lets running computations end, and takes no more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _key(self, arrays):
        """What requests that share a run have in common, and their rows; None for one that runs alone."""
        if self._max_rows == 1:
            return None, 1
        rows = {array.shape[0] for array in arrays}
        if len(rows) != 1:
            return None, 1
        (count,) = rows
        return (
            (tuple((a.shape[1:], a.dtype.str) for a in arrays), count) if 0 < count < self._max_rows else (None, count)
        )

    async def run(self, arrays, timeout):
        """The results of a request.

        Raises:
            Overloaded: too many wait.
            TimeoutError: it waited and computed for longer than `timeout` seconds.
        """
        if self.pending >= self._most:
            raise Overloaded
        key, rows = self._key(arrays)
        item = _Item(arrays, key, rows, asyncio.get_running_loop().create_future())
        self.pending += 1
        item.result.add_done_callback(lambda _: self._done())
        self._queue.put_nowait(item)
        return await asyncio.wait_for(item.result, timeout)

    def _done(self):
        self.pending -= 1

    async def _work(self):
        getter = None  # a call of get() that is under way, perhaps for the next run
        carried = None  # an item that did not fit into the last run
        while True:
            if carried is None:
                getter = getter or asyncio.ensure_future(self._queue.get())
                first, getter = await getter, None
            else:
                first, carried = carried, None
            if first.result.done():  # its client went, or waited for too long
                continue
            batch, rows = [first], first.rows
            end = time.monotonic() + self._delay
            while first.key is not None and rows < self._max_rows:
                getter = getter or asyncio.ensure_future(self._queue.get())
                await asyncio.wait({getter}, timeout=max(end - time.monotonic(), 0))
                if not getter.done():
                    break
                item, getter = getter.result(), None
                if item.result.done():
                    continue
                if item.key != first.key or rows + item.rows > self._max_rows:
                    carried = item
                    break
                batch.append(item)
                rows += item.rows
            await self._compute(batch)

    async def _compute(self, batch):
        start = time.monotonic()
        for item in batch:
            self._metrics.queued(start - item.since)
        loop = asyncio.get_running_loop()
        try:
            results = await loop.run_in_executor(self._threads, self._rows_of, [item.arrays for item in batch])
        except Exception as error:
            if len(batch) > 1:  # which of them is at fault shows alone
                for item in batch:
                    await self._compute([item])
                return
            if not batch[0].result.done():
                batch[0].result.set_exception(error)
            return
        self._metrics.computed(time.monotonic() - start, sum(item.rows for item in batch))
        for item, result in zip(batch, results):
            if not item.result.done():
                item.result.set_result(result)

    def _rows_of(self, requests):
        """The results of each request, computed in one run."""
        if len(requests) == 1:
            return [self._model.run(requests[0])]
        together = self._model.run([np.concatenate(arrays) for arrays in zip(*requests)])
        ends = np.cumsum([arrays[0].shape[0] for arrays in requests])
        if any(result.shape[0] != ends[-1] for result in together):
            _log.warning(
                "the results do not have a row for each row of the inputs; requests run one by one from now on"
            )
            self._max_rows = 1
            return [self._model.run(arrays) for arrays in requests]
        split = [np.split(result, ends[:-1]) for result in together]
        return [list(parts) for parts in zip(*split)]
