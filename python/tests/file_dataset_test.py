"""QueueDataset, InMemoryDataset and Executor.train_from_dataset, on files that the tests write."""

import sys
import textwrap

import numpy as np
import pytest

import proa
from proa.distributed import InMemoryDataset, QueueDataset, file_pieces


@pytest.fixture
def static():
    proa.enable_static()
    yield
    proa.disable_static()


def write(folder, n=10, parts=2):
    """Lines `1 <i> 2 <i> <-i>`; gives the paths."""
    paths = []
    for part in range(parts):
        path = folder / f"part-{part}"
        path.write_text("".join(f"1 {i} 2 {i} {-i / 2}\n" for i in range(part, n, parts)))
        paths.append(str(path))
    return paths


def slots():
    return [proa.static.data("id", [None, 1], "int64"), proa.static.data("x", [None, 2], "float32")]


def test_training_is_as_by_a_loop(static, tmp_path, capsys):
    """The same updates as of a loop over the batches."""
    weights = []
    for by_dataset in (True, False):
        proa.seed(0)
        program = proa.static.Program()
        with proa.static.program_guard(program):
            variables = slots()
            loss = proa.mean(
                proa.square(
                    proa.static.nn.fc(variables[1], 1, weight_attr=proa.ParamAttr(name=f"w{by_dataset}"))
                    - variables[0].astype("float32")
                )
            )
            proa.optimizer.SGD(0.01).minimize(loss)
        exe = proa.static.Executor()
        exe.run(proa.static.default_startup_program())
        dataset = QueueDataset()
        dataset.init(batch_size=4, use_var=variables)
        dataset.set_filelist(write(tmp_path))
        if by_dataset:
            exe.train_from_dataset(program, dataset, fetch_list=[loss], fetch_info=["loss"], print_period=2)
            lines = capsys.readouterr().out.splitlines()
            assert len(lines) == 1 and lines[0].startswith("batch 2: loss ")
        else:
            order = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]
            for part in (order[:4], order[4:8], order[8:]):
                feed = {"id": np.array(part)[:, None], "x": np.array([[i, -i / 2] for i in part], "float32")}
                exe.run(program, feed=feed)
        (parameter,) = [p for p in program.all_parameters() if p.name == f"w{by_dataset}"]
        weights.append(parameter.numpy())
    assert np.array_equal(*weights)


def ids(dataset):
    return [int(i) for feed in dataset.batches() for i in feed["id"].ravel()]


def test_in_memory(static, tmp_path):
    dataset = InMemoryDataset()
    with pytest.raises(RuntimeError, match="use_var first"):
        dataset.load_into_memory()
    dataset.init(batch_size=3, use_var=slots(), thread_num=2)
    dataset.set_filelist(write(tmp_path))
    with pytest.raises(RuntimeError, match="load_into_memory first"):
        dataset.batches()
    dataset.load_into_memory()
    plain = ids(dataset)
    assert plain == [0, 2, 4, 6, 8, 1, 3, 5, 7, 9] and dataset.get_memory_data_size() == 10
    orders = []
    for seed in (1, 1, 2):
        proa.seed(seed)
        dataset.load_into_memory()
        dataset.local_shuffle()
        orders.append(ids(dataset))
    assert orders[0] == orders[1] != orders[2] and all(sorted(order) == list(range(10)) for order in orders)
    dataset.global_shuffle()
    assert dataset.get_shuffle_data_size() == 10
    dataset.load_into_memory()
    dataset.slots_shuffle(["x"])
    assert ids(dataset) == plain
    values = np.concatenate([feed["x"] for feed in dataset.batches()])
    assert sorted(values[:, 0]) == list(range(10)) and list(values[:, 0]) != plain
    with pytest.raises(ValueError, match="no slot 'z'; there are id, x"):
        dataset.slots_shuffle(["z"])
    dataset.release_memory()
    assert dataset.get_memory_data_size() == 0
    dataset.preload_into_memory()
    dataset.wait_preload_done()
    assert ids(dataset) == plain
    dataset.set_filelist([str(tmp_path / "none")])
    dataset.preload_into_memory()
    with pytest.raises(FileNotFoundError):
        dataset.wait_preload_done()


def test_a_program_that_makes_the_samples(static, tmp_path):
    """A generator of fleet, as programs have it."""
    program = tmp_path / "generator.py"
    program.write_text(textwrap.dedent("""
        import sys
        sys.path[:0] = {path!r}
        from proa.distributed import fleet

        class Lines(fleet.MultiSlotDataGenerator):
            def generate_sample(self, line):
                def samples():
                    first, second = line.split(",")
                    yield [("id", [int(first)]), ("x", [float(second), 1.0])]
                return samples

        Lines().run_from_stdin()
    """).format(path=sys.path))  # fmt: skip
    (tmp_path / "raw").write_text("3,0.5\n4,1.5\n")
    dataset = QueueDataset()
    dataset.init(batch_size=2, use_var=slots(), pipe_command=f"{sys.executable} {program}")
    dataset.set_filelist([tmp_path / "raw"])
    (feed,) = dataset.batches()
    assert feed["id"].tolist() == [[3], [4]] and feed["x"].tolist() == [[0.5, 1.0], [1.5, 1.0]]
    (tmp_path / "raw").write_text("no comma\n")
    with pytest.raises(RuntimeError, match="ended with 1 for"):
        list(dataset.batches())
    # No shell reads the command.
    dataset.update_settings(pipe_command=f"cat ; touch {tmp_path}/made")
    with pytest.raises(RuntimeError, match="ended with 1"):
        list(dataset.batches())
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [("1 3", "part:1: slot 'x' must be the number"), ("1 3 2 0.5", "part:1: slot 'x'"), ("1 3 2 0.5 a", "slot 'x'.*float32"),
     ("1 3.5 2 1 1", "slot 'id'.*int64"), ("1 3 2 1 1 9", "1 words more than the slots"), ("0 2 1 1", "slot 'id'.*at least 1"),
     ("1 1 2 1 1\n\n1 2 x", "part:3"), ("1 99999999999999999999 2 1 1", "slot 'id'")],
)  # fmt: skip
def test_lines_that_do_not_fit(static, tmp_path, text, says):
    (tmp_path / "part").write_text(text)
    dataset = QueueDataset()
    dataset.init(use_var=slots())
    dataset.set_filelist([tmp_path / "part"])
    with pytest.raises(ValueError, match=says):
        list(dataset.batches())


def test_numbers_of_values(static, tmp_path):
    (tmp_path / "part").write_text("2 1 2 1 5\n3 1 2 3 1 6\n")
    words, label = proa.static.data("words", [None, None], "int64"), proa.static.data("label", [None, 1], "int64")
    dataset = QueueDataset()
    dataset.init(use_var=[words, label])
    dataset.set_filelist([tmp_path / "part"])
    assert [feed["words"].tolist() for feed in dataset.batches()] == [[[1, 2]], [[1, 2, 3]]]
    dataset.set_batch_size(2)
    with pytest.raises(ValueError, match="'words'.* samples of a batch have 2, 3 values; pad them"):
        list(dataset.batches())
    dataset.set_use_var([proa.static.data("two", [None, 2], "int64"), label])
    dataset.set_batch_size(1)
    with pytest.raises(ValueError, match="'two'.* have 3 values"):
        list(dataset.batches())


def test_what_is_refused(static):
    dataset = proa.fluid.DatasetFactory().create_dataset("InMemoryDataset")
    dataset.set_thread(2)
    with pytest.raises(ValueError, match="no setting colour"):
        dataset.init(colour=3)
    with pytest.raises(ValueError, match="batch_size must be positive"):
        dataset.init(batch_size=0)
    with pytest.raises(TypeError, match="int64 or float32; y is float64"):
        dataset.set_use_var([proa.static.data("y", [None], "float64")])
    with pytest.raises(ValueError, match="QueueDataset or InMemoryDataset"):
        proa.fluid.DatasetFactory().create_dataset("Other")
    exe = proa.static.Executor()
    with pytest.raises(ValueError, match="dataset is missing"):
        exe.train_from_dataset()
    with pytest.raises(ValueError, match="1 texts for 0"):
        exe.infer_from_dataset(None, dataset, fetch_info=["a"])


@pytest.mark.parametrize("processes", [1, 2])
def test_processes_read_pieces_in_order(static, tmp_path, monkeypatch, processes):
    """Files in small pieces, and empty ones: every line once, in order, whoever reads; errors name the line."""
    monkeypatch.setattr(file_pieces, "_BYTES", 64)
    monkeypatch.setattr(file_pieces.os, "sched_getaffinity", lambda _: range(8))
    paths = write(tmp_path, n=101, parts=3)
    (tmp_path / "empty").write_text("")
    (tmp_path / "blank").write_text("\n\n")
    files = [paths[0], tmp_path / "empty", paths[1], tmp_path / "blank", paths[2]]
    wanted = [i for part in range(3) for i in range(part, 101, 3)]
    dataset = QueueDataset()
    dataset.init(batch_size=7, use_var=slots(), thread_num=processes)
    dataset.set_filelist(files)
    assert ids(dataset) == wanted
    assert [len(feed["id"]) for feed in dataset.batches()] == [7] * 14 + [3]
    assert [int(i) for feed in dataset.batches(processes=3) for i in feed["id"].ravel()] == wanted
    memory = InMemoryDataset()
    memory.init(batch_size=7, use_var=slots(), thread_num=processes)
    memory.set_filelist(files)
    memory.load_into_memory()
    assert ids(memory) == wanted
    (tmp_path / "part-1").write_text("".join(f"1 {i} 2 {i} 0\n" for i in range(40)) + "1 x 2 0 0\n")
    with pytest.raises(ValueError, match="part-1:41: slot 'id' must be the number of its values"):
        list(dataset.batches())


def test_slots_of_sequences(static, tmp_path):
    """Slots of as many values as there are, for inputs with lod_level: an embedding that is pooled, as of click rates."""
    (tmp_path / "part").write_text("2 1 2 1 0.5\n3 1 2 3 1 1.5\n1 4 1 2.5\n")
    ids = proa.static.data("ids_of_rates", [None, 1], "int64", lod_level=1)
    label = proa.static.data("label_of_rates", [None, 1], "float32")
    pooled = proa.static.nn.sequence_pool(ids.astype("float32"), "sum")
    for dataset in (QueueDataset(), InMemoryDataset()):
        dataset.init(batch_size=2, use_var=[ids, label])
        dataset.set_filelist([tmp_path / "part"])
        if isinstance(dataset, InMemoryDataset):
            dataset.load_into_memory()
        feeds = list(dataset.batches())
        assert [feed["ids_of_rates"].recursive_sequence_lengths() for feed in feeds] == [[[2, 3]], [[1]]]
        found = [proa.static.Executor().run(feed=feed, fetch_list=[pooled, label]) for feed in feeds]
        assert [[v.ravel().tolist() for v in pair] for pair in found] == [[[3.0, 6.0], [0.5, 1.5]], [[4.0], [2.5]]]


@pytest.mark.parametrize("given", [3, "part-0.txt", None])
def test_files_that_are_no_list(given):
    """A name by itself was taken for a list of its letters."""
    with pytest.raises(TypeError, match="QueueDataset.set_filelist: filelist must be a list of paths"):
        proa.distributed.QueueDataset().set_filelist(given)
