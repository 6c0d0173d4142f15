"""Worker processes of DataLoader that fail: samples that raise, workers that die or stall, full memory, a program that ends."""

import multiprocessing
import os
import re
import resource
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from proa import io
from python.tests.worker_samples import Samples, all_gone, first_of, wait_until


class Own(Exception):
    """Needs two arguments."""

    def __init__(self, one, two):
        super().__init__(one, two)


def raises(error):
    def at(idx):
        if idx == 5:
            raise error

    return at


@pytest.mark.parametrize(
    ("error", "kind"),
    [(ValueError("bad"), ValueError), (KeyError("bad"), KeyError), (Own("bad", 1), RuntimeError),
     (StopIteration("bad"), RuntimeError), (SystemExit("bad"), RuntimeError), (FileNotFoundError(2, "bad"), OSError),
     (UnicodeDecodeError("utf8", b"x", 0, 1, "bad"), RuntimeError), (MemoryError("bad"), MemoryError)],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)  # fmt: skip
def test_samples_that_raise(error, kind):
    with pytest.raises(kind) as caught:
        list(io.DataLoader(Samples(10, raises(error)), batch_size=2, num_workers=2))
    text = str(caught.value)
    assert re.search(r"DataLoader: worker 0 \(process \d+\) failed at sample 5 of batch 2: .*bad", text)
    assert "in at" in text and "raise error" in text  # where


def test_other_things_that_raise():
    class Local(Exception):
        pass

    def no(*args):
        raise Local("no")

    for settings, says in (
        ({"worker_init_fn": no}, r"worker 0 .* failed in worker_init_fn: .*Local: no"),
        ({"collate_fn": no}, r"worker 0 .* failed putting batch 0 together: .*Local: no"),
        ({"collate_fn": lambda batch: [open(os.devnull)]}, r"putting batch 0 together: TypeError: cannot pickle"),
    ):
        with pytest.raises((RuntimeError, TypeError), match=says):
            list(io.DataLoader(Samples(2), num_workers=1, **settings))

    class Stream(io.IterableDataset):
        def __iter__(self):
            yield from [1, 2, 3]
            no()

    with pytest.raises(RuntimeError, match="sample 1 of batch 1 of its part"):
        list(io.DataLoader(Stream(), batch_size=2, num_workers=1))
    with pytest.raises(ValueError, match="putting batch 0 together: .*different shapes"):
        list(io.DataLoader([np.ones(2), np.ones(3)], batch_size=2, num_workers=1))
    for odd in (None, object(), [1.0]):
        for workers in (0, 1):
            with pytest.raises(
                TypeError, match="DataLoader: .*sample 1 of a batch is a .* where the first is an array"
            ):
                list(io.DataLoader([np.ones(2), odd], batch_size=2, num_workers=workers))


@pytest.mark.parametrize(
    ("deed", "says"),
    [(lambda: os.kill(os.getpid(), signal.SIGKILL), "was killed by SIGKILL .*memory"),
     (lambda: os.kill(os.getpid(), signal.SIGTERM), "was killed by SIGTERM"),
     (lambda: os._exit(3), "ended with exit code 3"),
     (lambda: os.kill(os.getpid(), signal.SIGSTOP), r"has not sent batch 2 within 0.1 s \(timeout\)"),
     (lambda: time.sleep(1000), r"has not sent batch 2 within 0.1 s \(timeout\)")],
    ids=["killed", "ended", "exits", "stopped", "sleeps"],
)  # fmt: skip
def test_workers_that_are_no_more(deed, says):
    pids = multiprocessing.get_context("fork").Array("i", 2)

    def at(idx):
        pids[io.get_worker_info().id] = os.getpid()
        if idx == 5:
            wait_until(lambda: taken.value)  # or the batches before may not arrive
            reached.value = 1
            deed()

    reached, taken = (multiprocessing.get_context("fork").Value("i", 0) for _ in range(2))
    loader = io.DataLoader(Samples(10, at), batch_size=2, num_workers=2, timeout=60, persistent_workers=True)
    batches = iter(loader)
    assert first_of([next(batches), next(batches)]) == [0, 2]
    taken.value = 1
    wait_until(lambda: reached.value)  # However slow the machine is: only the deed can make the wait long.
    if "timeout" in says:
        loader._pool._timeout = 0.1
    with pytest.raises(RuntimeError, match=rf"worker 0 \(process \d+\) {says}.* sample 5 of batch 2"):
        list(batches)
    assert all_gone(pids)
    assert first_of(io.DataLoader(Samples(3), num_workers=2)) == [0, 1, 2]


def test_a_persistent_worker_that_is_no_more():
    loader = io.DataLoader(Samples(4), num_workers=2, persistent_workers=True)
    list(loader)
    for worker in loader._pool._processes:
        worker.process.kill()
        worker.process.join()
    with pytest.raises(RuntimeError, match="worker 0 .* was killed by SIGKILL .*waiting for work"):
        list(loader)
    assert first_of(loader) == [0, 1, 2, 3]  # anew


def test_no_shared_memory():
    def little(rank):
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    with pytest.raises(OSError, match=r"putting batch 0 together: .* bytes of shared memory .*use_shared_memory=False"):
        list(io.DataLoader(Samples(2), batch_size=2, num_workers=1, worker_init_fn=little))
    loader = io.DataLoader(Samples(2), batch_size=2, num_workers=1, worker_init_fn=little, use_shared_memory=False)
    assert first_of(loader) == [0]


_PROGRAM = """
    import os, sys, time
    import numpy as np
    import proa

    class Slow(proa.io.Dataset):
        def __getitem__(self, idx):
            os.write(1, b"%d\\n" % os.getpid())
            time.sleep(0.2 if idx < 2 else 100)
            return np.zeros(3)
        def __len__(self):
            return 100

    for batch in proa.io.DataLoader(Slow(), num_workers=2):
        pass
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_the_end_of_the_program(how):
    """Ctrl-C, which all processes of a terminal get, ends all of them, and quietly but for the parent."""
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_PROGRAM)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    # The fourth is of a worker that sleeps.
    pids = {int(child.stdout.readline()) for _ in range(4)}
    assert len(pids) == 2
    if how == signal.SIGINT:
        os.killpg(child.pid, how)
    else:
        child.send_signal(how)
    assert all_gone(pids)
    assert child.wait(10) != 0
    error = child.stderr.read()
    assert error.count("KeyboardInterrupt") == (1 if how == signal.SIGINT else 0), error


def test_bad_arguments():
    for settings, kind, says in (
        ({"num_workers": -1}, ValueError, "num_workers must be an int >= 0"),
        ({"num_workers": True}, ValueError, "num_workers must be an int >= 0"),
        ({"timeout": -1}, ValueError, "timeout must not be negative"),
        ({"prefetch_factor": 0}, ValueError, "prefetch_factor must be at least 1"),
        ({"prefetch_factor": "2"}, TypeError, "prefetch_factor must be an int"),
    ):
        with pytest.raises(kind, match=says):
            io.DataLoader(Samples(2), **settings)
