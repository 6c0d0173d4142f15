"""Data sets of text files with a sample a line, for `Executor.train_from_dataset`.

A line holds the slots of the sample in the order of `use_var`: for each the number of its values, then they themselves, as
`fleet.MultiSlotDataGenerator` writes them. Files may go through a program first (`pipe_command`), which reads their lines and
writes such ones.
"""

import math
import os
import random
import threading

import numpy as np

from proa import _C
from proa.distributed.file_pieces import Pieces, Rows

__all__ = ["FileDataset", "InMemoryDataset", "QueueDataset"]


class FileDataset:
    """What both kinds share: settings, files, and how a line becomes arrays."""

    def __init__(self):
        self._files, self._variables = [], []
        self._batch_size, self._command, self._processes = 1, "cat", 1

    # Settings

    def init(self, **kwargs):
        """Settings.

        Args:
            batch_size (int): samples of a batch, 1 unless given.
            use_var (list[Tensor]): inputs of a program (`static.data`), one for each slot: int64 or float32.
            pipe_command (str): a program and its arguments that files go through, "cat" for none; no shell reads it.
            thread_num (int): processes that read ahead, not more than there are processors; 1 reads in this process. The order of
                samples is that of the files, whatever the number.
            input_type, fs_name, fs_ugi, download_cmd: accepted; files are local.

        Raises:
            ValueError: batch_size is not positive, or an unknown setting.
            TypeError: an input of another dtype.
        """
        known = ("batch_size", "use_var", "pipe_command", "thread_num", "input_type", "fs_name", "fs_ugi", "download_cmd",
                 "data_feed_type")  # fmt: skip
        unknown = sorted(set(kwargs) - set(known))
        if unknown:
            raise _C.located(
                ValueError(
                    f"{type(self).__name__}: there is no setting {', '.join(unknown)}; there are {', '.join(known)}"
                )
            )
        if "batch_size" in kwargs:
            self.set_batch_size(kwargs["batch_size"])
        if "use_var" in kwargs:
            self.set_use_var(kwargs["use_var"])
        if "pipe_command" in kwargs:
            self.set_pipe_command(kwargs["pipe_command"])
        if "thread_num" in kwargs:
            self.set_thread(kwargs["thread_num"])

    update_settings = init

    def _init_distributed_settings(self, **kwargs):
        """Settings of jobs of several processes; accepted."""

    def set_batch_size(self, batch_size):
        """How many samples a batch has."""
        if not isinstance(batch_size, int) or batch_size < 1:
            raise _C.located(ValueError(f"{type(self).__name__}: batch_size must be positive, not {batch_size!r}"))
        self._batch_size = batch_size

    def set_use_var(self, var_list):
        """The inputs that the slots of a line are for."""
        for var in var_list:
            if var.dtype not in (_C.int64, _C.float32):
                raise _C.located(
                    TypeError(f"{type(self).__name__}: slots are int64 or float32; {var.name} is {var.dtype.name}")
                )
        self._variables = list(var_list)

    def set_pipe_command(self, pipe_command):
        """The program that files go through."""
        self._command = pipe_command

    def set_thread(self, thread_num):
        """How many processes read ahead."""
        if isinstance(thread_num, bool) or not isinstance(thread_num, int) or thread_num < 1:
            raise _C.located(ValueError(f"{type(self).__name__}: thread_num must be positive, not {thread_num!r}"))
        self._processes = thread_num

    def set_filelist(self, filelist):
        """The files, read in this order."""
        if isinstance(filelist, (str, bytes)) or not hasattr(filelist, "__iter__"):
            kind = type(filelist).__name__
            raise _C.located(
                TypeError(f"{type(self).__name__}.set_filelist: filelist must be a list of paths, not {kind}")
            )
        self._files = [os.fspath(file) for file in filelist]

    # Reading

    def _rows(self, processes=None):
        """The samples of all files, one after another, as Rows."""
        if not self._variables:
            raise _C.located(RuntimeError(f"{type(self).__name__}: call init with use_var first"))
        slots = [(var.name, "int64" if var.dtype == _C.int64 else "float32") for var in self._variables]
        pieces = Pieces(type(self).__name__, self._files, self._command, slots)
        return pieces.rows(self._processes if processes is None else processes)

    def _batches_of(self, parts):
        """Feeds of a program, of Rows one after another: a dict of arrays for each batch; the last may be smaller."""
        size, held = self._batch_size, None
        for rows in parts:
            rows = rows if held is None else held.followed_by(rows)
            whole = len(rows) - len(rows) % size
            for at in range(0, whole, size):
                yield self._feed(rows.slots(at, at + size))
            held = Rows(rows.slots(whole, len(rows)))
        if held is not None and len(held):
            yield self._feed(held.slots(0, len(held)))

    def _feed(self, slots):
        return {var.name: self._fed(var, *slot) for var, slot in zip(self._variables, slots, strict=True)}

    def _fed(self, var, values, counts):
        """The values that samples have for an input, as an array; of an input that holds sequences, as a LoDTensor."""
        sizes = [d for d in list(var.shape)[1:] if type(d) is int and d >= 0]
        whole = len(sizes) == len(var.shape) - 1
        if var.lod_level:
            from proa.fluid.lod_tensor import LoDTensor

            width = math.prod(sizes)
            if not whole or (counts % width).any():
                self._refuse(var, counts, f"they must be multiples of {width}")
            fed = LoDTensor()
            fed.set(values.reshape([-1, *sizes]))
            fed.set_recursive_sequence_lengths([(counts // width).tolist()])
            return fed
        if (counts != counts[0]).any() or whole and counts[0] != math.prod(sizes):
            self._refuse(var, counts, "pad them to one number in pipe_command, or declare the input with lod_level=1")
        return values.reshape([len(counts), *sizes] if whole else [len(counts), -1])

    def _refuse(self, var, counts, wanted):
        raise _C.located(
            ValueError(
                f"{type(self).__name__}: slot {var.name!r} is {list(var.shape)}, and samples of a batch have "
                f"{', '.join(map(str, sorted(set(counts.tolist()))))} values; {wanted}"
            )
        )


class QueueDataset(FileDataset):
    """Files that are read while a program trains on them.

    Examples:
        >>> dataset = proa.distributed.QueueDataset()
        >>> dataset.init(batch_size=2, pipe_command="cat")
        >>> dataset.set_filelist(["part-0.txt", "part-1.txt"])
    """

    def batches(self, processes=None):
        """Feeds, a batch each, as the files are read, by so many processes ahead; by as many as `thread_num` unless given."""
        return self._batches_of(self._rows(processes))


class InMemoryDataset(FileDataset):
    """Files that are read once, and whose samples can be shuffled.

    Examples:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "part-0")
        >>> _ = open(path, "w").write("1 7 2 0.5 1.5\\n1 8 2 2.5 3.5\\n")
        >>> proa.enable_static()
        >>> with proa.static.program_guard(proa.static.Program()):
        ...     slots = [proa.static.data("id", [None, 1], "int64"), proa.static.data("x", [None, 2])]
        >>> proa.disable_static()
        >>> dataset = proa.distributed.InMemoryDataset()
        >>> dataset.init(batch_size=2, use_var=slots)
        >>> dataset.set_filelist([path])
        >>> dataset.load_into_memory()
        >>> next(dataset.batches())["id"].tolist()
        [[7], [8]]
    """

    def __init__(self):
        super().__init__()
        self._loaded, self._loading, self._failed = None, None, None

    def batches(self, processes=None):
        """Feeds, a batch each, of what is in memory."""
        if self._loaded is None:
            raise _C.located(RuntimeError("InMemoryDataset: call load_into_memory first"))
        return self._feeds()

    def _feeds(self):
        size = self._batch_size
        for at in range(0, len(self._loaded), size):
            columns = zip(*self._loaded[at : at + size], strict=True)
            yield self._feed([(np.concatenate(rows), np.array([len(row) for row in rows])) for rows in columns])

    def load_into_memory(self, is_shuffle=False):
        """Reads all files."""
        self._loaded = [sample for rows in self._rows() for sample in rows.samples()]
        if is_shuffle:
            self.local_shuffle()

    def preload_into_memory(self, thread_num=None):
        """Begins to read all files beside the program; `wait_preload_done` comes next."""

        def load():
            try:
                self.load_into_memory()
            except Exception as error:
                self._failed = error

        self._failed = None
        self._loading = threading.Thread(target=load, daemon=True)
        self._loading.start()

    def wait_preload_done(self):
        """Waits for what `preload_into_memory` began; raises what kept it from reading."""
        if self._loading is None:
            raise _C.located(RuntimeError("InMemoryDataset: call preload_into_memory first"))
        self._loading.join()
        self._loading, failed, self._failed = None, self._failed, None
        if failed is not None:
            raise failed

    def _random(self):
        with _C.eager_mode():
            return random.Random(int(_C.ops.randint(0, 2**31 - 1, [1]).item()))

    def local_shuffle(self):
        """Puts the samples in another order, which `proa.seed` decides."""
        if self._loaded is None:
            raise _C.located(RuntimeError("InMemoryDataset: call load_into_memory first"))
        self._random().shuffle(self._loaded)

    def global_shuffle(self, fleet=None, thread_num=12):
        """Puts the samples of all processes in another order: of one process, `local_shuffle`."""
        self.local_shuffle()

    def slots_shuffle(self, slots):
        """Gives the values of these slots to other samples: what a slot is worth shows in how much worse it becomes.

        Args:
            slots (list[str]): names of inputs.
        """
        names = [var.name for var in self._variables]
        unknown = [slot for slot in slots if slot not in names]
        if unknown:
            raise _C.located(
                ValueError(f"InMemoryDataset: there is no slot {unknown[0]!r}; there are {', '.join(names)}")
            )
        order = self._random()
        for slot in slots:
            at = names.index(slot)
            values = [sample[at] for sample in self._loaded or ()]
            order.shuffle(values)
            for sample, value in zip(self._loaded or (), values):
                sample[at] = value

    def tdm_sample(self, tree_name, tree_path, tdm_layer_counts, start_sample_layer, with_hierachy, seed, id_slot):
        """Puts in the place of each sample, for each layer of a tree of items, one with the node that the sample's item
        lies below, and others with other nodes of that layer, whose labels are 0. Layers come from the leaves up.

        Args:
            tree_name (str), tree_path (str): of a tree; see `fleet.dataset.TreeIndex`.
            tdm_layer_counts (list[int]): how many other nodes are drawn in each layer from `start_sample_layer` down.
            start_sample_layer (int): the first layer, from 1.
            with_hierachy (bool): accepted, as by the reference; other slots stay as they are (`TreeIndex.layerwise_sample`
                has ancestors of a user's items).
            seed (int): of the draws; 0 leaves it to `proa.seed`.
            id_slot (int|str): the int64 slot with the item, by its place in `use_var` or its name. The slot behind it is the
                label.

        Raises:
            ValueError: a sample has no single item, or one that the tree has not; there is no such slot, or none behind it.
            RuntimeError: nothing was loaded.
        """
        from proa.distributed.fleet.dataset.index_dataset import TreeIndex

        if self._loaded is None:
            raise _C.located(RuntimeError("InMemoryDataset: call load_into_memory first"))
        names = [var.name for var in self._variables]
        at = names.index(id_slot) if id_slot in names else id_slot
        if type(at) is not int or not 0 <= at < len(names) - 1 or self._variables[at].dtype != _C.int64:
            raise _C.located(
                ValueError(
                    f"InMemoryDataset.tdm_sample: id_slot must be an int64 slot with the label behind it, not {id_slot!r}; "
                    f"there are {', '.join(names)}"
                )
            )
        tree = TreeIndex(tree_name, tree_path)
        tree.init_layerwise_sampler(tdm_layer_counts, start_sample_layer, seed)
        made = []
        for sample in self._loaded:
            if sample[at].size != 1:
                raise _C.located(
                    ValueError(
                        f"InMemoryDataset.tdm_sample: slot {names[at]!r} has {sample[at].size} items in a sample"
                    )
                )
            for _, node, own in tree.drawn(int(sample[at][0])):
                label = sample[at + 1] if own else np.zeros_like(sample[at + 1])
                made.append([*sample[:at], np.array([node.id()], np.uint64).view(np.int64), label, *sample[at + 2 :]])
        self._loaded = made

    def release_memory(self):
        """Forgets the samples."""
        self._loaded = None

    def get_memory_data_size(self, fleet=None):
        """How many samples are in memory."""
        return len(self._loaded or ())

    def get_shuffle_data_size(self, fleet=None):
        """How many samples there are after a shuffle: of one process, those in memory."""
        return len(self._loaded or ())
