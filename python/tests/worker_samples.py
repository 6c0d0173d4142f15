"""Samples that worker processes load, and what tests of them ask."""

import time

import numpy as np

import proa
from proa import io


class Samples(io.Dataset):
    """Of many kinds; `at` is called with each index."""

    def __init__(self, n=10, at=None):
        self.n, self.at = n, at

    def __getitem__(self, idx):
        if self.at is not None:
            self.at(idx)
        array = np.full([60, 20], idx, "float32")
        return array, {"i": idx, "s": f"s{idx}"}, (proa.to_tensor([idx], "bfloat16"), np.zeros([0, 2]), np.array(idx))

    def __len__(self):
        return self.n


def plain(value):
    """A batch as something to compare."""
    if isinstance(value, proa.Tensor):
        return value.dtype.name, value.shape, value.tolist()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def first_of(batches):
    return [int(batch[0].numpy().ravel()[0]) for batch in batches]


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # gone, or between open and read
        return False


def wait_until(what, within=60.0):
    """Waits until it is so; the limit is for what would otherwise hang."""
    end = time.monotonic() + within
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def all_gone(pids):
    """Whether no process of these lives, or soon none does."""
    wait_until(lambda: not any(map(alive, pids)))
    return True
