"""Worker processes of a DataLoader: what they give, in which order, and what is said of those that fail."""

import itertools
import multiprocessing
import os
import re
import threading

import numpy as np
import pytest

import proa
from proa import io
from proa.io.collate import Rows, rows_of
from python.tests.worker_samples import Samples, alive, all_gone, first_of, plain, wait_until

# What they give ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(
    "settings",
    [{"batch_size": 3}, {"batch_size": 4, "drop_last": True}, {"batch_size": None}, {"batch_size": 20}],
    ids=["3", "drop_last", "samples", "one"],
)
def test_the_batches_of_one_process(settings, shared):
    expected = [plain(b) for b in io.DataLoader(Samples(), **settings)]
    for workers in (1, 3):
        loader = io.DataLoader(Samples(), num_workers=workers, use_shared_memory=shared, **settings)
        assert [plain(b) for b in loader] == expected and len(loader) == len(expected)


def test_an_empty_data_set():
    assert list(io.DataLoader(Samples(0), num_workers=2)) == []


def test_samplers():
    data = Samples(12)
    for sampler in (
        io.RandomSampler(data, generator=3),
        io.WeightedRandomSampler([1.0] * 12, 7),
        io.SubsetRandomSampler([3, 5, 7]),
    ):
        batches = io.BatchSampler(sampler=sampler, batch_size=2)
        proa.seed(5)
        expected = [list(b) for b in batches]
        proa.seed(5)
        found = [b[1]["i"].tolist() for b in io.DataLoader(data, batch_sampler=batches, num_workers=2)]
        assert found == expected
    orders = []
    for workers in (0, 2):
        proa.seed(6)
        orders.append(
            [b[1]["i"].tolist() for b in io.DataLoader(data, batch_size=5, shuffle=True, num_workers=workers)]
        )
    assert orders[0] == orders[1] != [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11]]


def test_collate_functions():
    """Their arrays become tensors and their tuples lists, as in the reference, for any number of workers."""
    names = np.array(["a", "b"])

    def collate(samples):
        return {"x": np.stack([s[0] for s in samples]), "l": [1, 2.5, "x"], "t": (np.arange(3), None), "n": names}

    for workers in (0, 2):
        batch = next(iter(io.DataLoader(Samples(4), batch_size=2, collate_fn=collate, num_workers=workers)))
        assert batch["x"].shape == [2, 60, 20] and batch["l"] == [1, 2.5, "x"]
        assert plain(batch["t"]) == [("int64", [3], [0, 1, 2]), None] and batch["n"].tolist() == ["a", "b"]


class Tensors(io.Dataset):
    """Samples that are tensors of many kinds: strided, of no dims, of no elements, with gradients, of each dtype."""

    def __getitem__(self, i):
        x = proa.arange(12, dtype="float32").reshape([3, 4]) + i
        leaf = proa.full([2], float(i))
        leaf.stop_gradient = False
        kinds = {
            kind: (x * (x > 3 + i)).astype(kind)
            for kind in ("bool", "uint8", "int64", "float16", "bfloat16", "complex64")
        }
        return {"x": x, "turned": x.t(), "part": x[:, 1], "wide": x[:1].expand([5, 4]), "none": x[:0], "one": x[0, 0],
                "leaf": leaf, "in a list": [leaf * 2, 1.5], **kinds}  # fmt: skip

    def __len__(self):
        return 5


def test_samples_of_tensors():
    """They go into the slot row by row, without being put together before."""
    alone, shared, sent = (
        list(io.DataLoader(Tensors(), batch_size=2, num_workers=n, use_shared_memory=s))
        for n, s in ((0, True), (2, True), (2, False))
    )
    for batches in (shared, sent):
        assert plain(batches) == plain(alone)
        assert [b["bfloat16"].dtype for b in batches] == [proa.bfloat16] * 3
    assert alone[1]["turned"].tolist() == [Tensors()[i]["turned"].tolist() for i in (2, 3)]
    x = proa.ones([2])
    assert isinstance(rows_of([x, x]), Rows) and isinstance(rows_of([x.astype("bfloat16")] * 2), proa.Tensor)

    class Ragged(Tensors):
        def __getitem__(self, i):
            return proa.ones([i + 1])

    with pytest.raises(ValueError, match="stack: "):
        list(io.DataLoader(Ragged(), batch_size=2, num_workers=1))


def test_batches_own_their_memory():
    """Slots grow and are used again; what was given stays as it was."""

    class Growing(io.Dataset):
        def __getitem__(self, idx):
            return np.full([(idx * 7919) % 5000 + 1, 3], idx, "int32")

        def __len__(self):
            return 60

    batches = list(io.DataLoader(Growing(), num_workers=2))
    assert [b.shape[1] for b in batches] == [(i * 7919) % 5000 + 1 for i in range(60)]
    assert all((b.numpy() == i).all() for i, b in enumerate(batches))


@pytest.mark.parametrize("ahead", [1, 2, 4])
def test_in_order_and_ahead(ahead):
    """The first batch is the slowest; the others wait for it, no more than so many a worker."""
    loaded = multiprocessing.get_context("fork").Value("i", 0)

    def at(idx):
        if idx == 0:
            wait_until(lambda: loaded.value >= 1)
        with loaded.get_lock():
            loaded.value += 1

    batches = iter(io.DataLoader(Samples(12, at), num_workers=2, batch_size=1, prefetch_factor=ahead, pin_memory=True))
    found = [next(batches)]
    wait_until(lambda: loaded.value >= 2 * ahead + 1)
    assert loaded.value == 2 * ahead + 1
    assert first_of(found + list(batches)) == list(range(12))


def test_iterable():
    class Stream(io.IterableDataset):
        def __iter__(self):
            worker = io.get_worker_info()
            assert (worker is None) == (os.getpid() == parent)
            return map(np.array, range(5 if worker is None or worker.id == 0 else 2))

    parent = os.getpid()

    def batches(**settings):
        return [b.tolist() for b in io.DataLoader(Stream(), **settings)]

    assert batches(batch_size=2, num_workers=1) == batches(batch_size=2) == [[0, 1], [2, 3], [4]]
    assert batches(batch_size=2, num_workers=2) == [[0, 1], [0, 1], [2, 3], [4]]
    assert batches(batch_size=2, num_workers=2, drop_last=True) == [[0, 1], [0, 1], [2, 3]]
    assert batches(batch_size=None, num_workers=2) == [0, 0, 1, 1, 2, 3, 4]
    loader = io.DataLoader(Stream(), batch_size=4, num_workers=2, persistent_workers=True)
    assert [b.tolist() for b in loader] == [b.tolist() for b in loader] == [[0, 1, 2, 3], [0, 1], [4]]


def test_initialization_and_random_numbers():
    class Drawn(io.Dataset):
        def __getitem__(self, idx):
            info = io.get_worker_info()
            assert info.num_workers == 2 and info.dataset is self and repr(info).startswith("WorkerInfo(id=")
            return np.array([os.getpid(), info.id, self.told, np.random.rand(), proa.rand([1]).item()])

        def __len__(self):
            return 4

    data = Drawn()

    def init(rank):
        data.told = 10 + rank

    def epoch():
        return np.stack([b.numpy()[0] for b in io.DataLoader(data, num_workers=2, worker_init_fn=init)])

    proa.seed(1)
    state = np.random.get_state()[1].tolist()
    first = epoch()
    assert first[:, 1].tolist() == [0, 1, 0, 1] and first[:, 2].tolist() == [10, 11, 10, 11]
    assert len(set(first[:, 3])) == 4 and len(set(first[:, 4])) == 4 and len(set(first[:, 0])) == 2
    assert not hasattr(data, "told") and io.get_worker_info() is None
    proa.seed(1)
    assert (epoch()[:, 3:] == first[:, 3:]).all() and np.random.get_state()[1].tolist() == state
    proa.seed(2)
    assert (epoch()[:, 3:] != first[:, 3:]).all()


def test_persistent_workers():
    class Pids(io.Dataset):
        def __getitem__(self, idx):
            return np.array([idx, os.getpid()])

        def __len__(self):
            return 8

    def epoch(loader):
        found = np.concatenate([b.numpy() for b in loader])
        assert found[:, 0].tolist() == list(range(8))
        return set(found[:, 1].tolist())

    loader = io.DataLoader(Pids(), batch_size=2, num_workers=2, persistent_workers=True)
    pids = epoch(loader)
    assert epoch(loader) == pids and len(pids) == 2
    for _ in loader:
        break  # what was under way is of no interest to the next iteration
    assert epoch(loader) == pids
    old = iter(loader)
    next(old)
    new = iter(loader)
    next(new)
    with pytest.raises(RuntimeError, match="the iteration that began last"):
        next(old)
    other = io.DataLoader(Pids(), batch_size=2, num_workers=2)
    assert not epoch(other) & epoch(other)
    del loader, old, new
    assert all_gone(pids)


def test_nothing_is_left_behind():
    pids = multiprocessing.get_context("fork").Array("i", 64)

    def at(idx):
        pids[idx] = os.getpid()

    def found():
        return {pid for pid in pids if pid}

    for i, _ in enumerate(io.DataLoader(Samples(64, at), num_workers=2)):
        if i == 1:  # of the other worker
            break
    assert len(found()) == 2 and all_gone(found())
    iterator = iter(io.DataLoader(Samples(64, at), num_workers=2))
    next(iterator)
    next(iterator)
    assert any(map(alive, found()))
    del iterator
    assert all_gone(found())


def test_programs():
    """What an Executor is fed with; in static mode too."""
    proa.enable_static()
    try:
        x = proa.static.data("x", [-1, 60, 20])
        for workers in (0, 2):
            data = Samples(2)
            loader = io.DataLoader(
                data,
                [x],
                batch_size=2,
                num_workers=workers,
                return_list=False,
                collate_fn=lambda b: [np.stack([b[0][0]])],
            )
            ((feed,),) = loader
            assert list(feed) == ["x"] and feed["x"].numpy().shape == (1, 60, 20)
    finally:
        proa.disable_static()


def test_threads_of_the_parent():
    """Workers compute while the parent does, with all its threads: neither waits for what the other does not have. Kernels
    are compiled on both sides, under locks that a fork must not take along."""
    stop = threading.Event()

    def busy():
        for k in itertools.count():
            if stop.is_set():
                return
            a = proa.ones([200, 200])
            a.matmul(a).sum().item()
            proa.ones([k % 97 + 3, k % 61 + 2]).matmul(proa.ones([k % 61 + 2, k % 43 + 2]))

    thread = threading.Thread(target=busy)
    thread.start()
    try:

        def at(idx):
            a = proa.ones([300, 300])
            assert (a.matmul(a) + a).sum().item() == 301 * 90000
            proa.ones([17 + idx, 31 + os.getpid() % 50]).matmul(proa.ones([31 + os.getpid() % 50, 19]))

        for _ in range(40):
            assert first_of(io.DataLoader(Samples(4, at), num_workers=2, timeout=60)) == [0, 1, 2, 3]
    finally:
        stop.set()
        thread.join()


def test_pages_of_the_parent():
    """The collector of a worker does not write to the objects that the parent made."""

    class Big(io.Dataset):
        def __init__(self):
            self.objects = [(i,) for i in range(300_000)]

        def __getitem__(self, idx):
            import gc

            before = self.own_pages()
            gc.collect()
            return np.array([before, self.own_pages()])

        def own_pages(self):
            with open("/proc/self/smaps_rollup") as file:
                return int(re.search(r"Private_Dirty:\s+(\d+)", file.read())[1])

        def __len__(self):
            return 1

    ((before, after),) = next(iter(io.DataLoader(Big(), num_workers=1))).tolist()
    assert after - before < 4_000  # KiB; the objects take 14,000


# How many ------------------------------------------------------------------------------------------------------------


def test_tuning(monkeypatch, tmp_path):
    asked = []

    def best_number(make, dataset, batch_size):
        asked.append(batch_size)
        assert first_of(make(io.Subset(dataset, [3, 4]), 2)) == [3]
        return 2

    monkeypatch.setattr(io.tuning, "best_number", best_number)
    set_config = proa.incubate.autotune.set_config
    try:
        (tmp_path / "config.json").write_text('{"dataloader": {"enable": true, "tuning_steps": 3}, "kernel": {}}')
        set_config(str(tmp_path / "config.json"))
        loader = io.DataLoader(Samples(5), batch_size=2)
        assert first_of(loader) == [0, 2, 4] == first_of(loader)
        assert loader.num_workers == 2 and asked == [2]  # once
        with pytest.warns(UserWarning, match="enable of dataloader must be a bool"):
            set_config({"dataloader": {"enable": 1}})
        for config, kind, says in (
            ({"other": {}}, ValueError, "'other' is none of"),
            (3, TypeError, "must be a dict or the path of one, not int"),
            ({"dataloader": {"enable": True, "tuning_steps": 1}}, ValueError, "tuning_steps must be"),
        ):
            with pytest.raises(kind, match=says):
                set_config(config)
    finally:
        set_config({"dataloader": {"enable": False}})
    monkeypatch.undo()
    tried = []

    def make(dataset, number):
        tried.append(number)
        return io.DataLoader(dataset, batch_size=2, num_workers=number)

    assert io.tuning.best_number(make, Samples(40), 2) in tried and tried[0] == 0


# Where they begin -----------------------------------------------------------------------------------------------------


def test_loaders_in_threads_and_in_each_other():
    found, problems = {}, []

    def run(name):
        try:
            found[name] = first_of(io.DataLoader(Samples(6), num_workers=2, timeout=60))
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems and list(found.values()) == [list(range(6))] * 3
    pairs = []
    for outer in io.DataLoader(Samples(3), num_workers=1):
        pairs += [(int(outer[0][0, 0, 0]), i) for i in first_of(io.DataLoader(Samples(2), num_workers=2))]
    assert pairs == [(i, j) for i in range(3) for j in range(2)]


def test_loaders_in_other_processes():
    """And none of their workers holds on to what the parent has open, such as the ends of its own workers."""
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    outer = iter(io.DataLoader(Samples(8), num_workers=2))
    next(outer)
    child = context.Process(target=lambda: results.put(first_of(io.DataLoader(Samples(4), num_workers=2))))
    child.start()
    assert results.get(timeout=60) == [0, 1, 2, 3]
    child.join(60)
    assert child.exitcode == 0 and first_of(outer) == list(range(1, 8))
