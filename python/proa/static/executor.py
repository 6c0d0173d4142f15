"""Executor: runs programs with what is fed, and gives what is fetched."""

from proa import _C
from proa.framework import recorded_rates
from proa.optimizer.lr import LRScheduler
from proa.static import scope as scopes
from proa.static.binding import bound, value_in
from proa.static.program import Program, default_main_program, default_startup_program
from proa.static.ready import Ready, is_plain, key_of
from proa.static.sequences import lengths_name, levels_of


class CompiledProgram:
    """A program as it is, with the settings that programs which compile first give.

    Args:
        program_or_graph (Program|CompiledProgram): it.
        build_strategy (BuildStrategy, optional): see there.

    Raises:
        TypeError: for what is no program.

    Examples:
        >>> main = proa.static.Program()
        >>> with proa.static.program_guard(main):
        ...     y = proa.static.data("x", [None]) + 1.0
        >>> compiled = proa.static.CompiledProgram(main)
        >>> proa.static.Executor().run(compiled, feed={"x": np.zeros([1], "float32")}, fetch_list=[y])[0].tolist()
        [1.0]
    """

    def __init__(self, program_or_graph, build_strategy=None):
        self._source = getattr(program_or_graph, "_source", program_or_graph)
        if not isinstance(self._source, Program):
            raise _C.located(TypeError(f"CompiledProgram: takes a Program, not {type(self._source).__name__}"))
        self._program = program_or_graph._program
        self._runs = 1
        self._build(build_strategy)

    def _build(self, strategy):
        self._passes = None if strategy is None else strategy._finalize_strategy_and_create_passes()
        self._changed = {}  # copies that the passes made
        if self._passes is not None:
            self._passes.draw(self._source)
        path = getattr(strategy, "debug_graphviz_path", "")
        if path:
            with open(path, "w") as file:
                file.write(self._source.graph())

    def with_data_parallel(
        self, loss_name=None, build_strategy=None, exec_strategy=None, share_vars_from=None, places=None
    ):
        """The program as it is, on the one device that there is.

        Raises:
            ValueError: several places are given.
        """
        if places is not None and not hasattr(places, "is_cpu_place") and len(list(places)) > 1:
            raise _C.located(
                ValueError("CompiledProgram.with_data_parallel: this version runs on one device; give one place")
            )
        self._build(build_strategy)
        self._runs = max(1, getattr(exec_strategy, "num_iteration_per_run", 1))
        return self


class Executor:
    """Runs programs.

    Args:
        place (optional): where; the default place.

    Examples:
        >>> main = proa.static.Program()
        >>> with proa.static.program_guard(main):
        ...     x = proa.static.data("x", [None])
        ...     y = x * 2.0
        >>> exe = proa.static.Executor()
        >>> exe.run(main, feed={"x": proa.ones([3]).numpy()}, fetch_list=[y])[0].tolist()
        [2.0, 2.0, 2.0]
    """

    def __init__(self, place=None):
        self.place = place

    def run(
        self,
        program=None,
        feed=None,
        fetch_list=None,
        feed_var_name="feed",
        fetch_var_name="fetch",
        scope=None,
        return_numpy=True,
        use_program_cache=False,
        return_merged=True,
        use_prune=False,
    ):
        """Runs `program` once.

        Args:
            program (Program, optional): the default main program if None.
            feed (dict): an array or tensor for each input that is needed; others are ignored. A list of one dict, too. Dims of size 1 at the
                end of an input's shape may be missing: [N] for [N, 1].
            fetch_list (list): symbolic tensors of the program, names of tensors, or schedules of learning rates; lists in it are
                flattened.
            scope (Scope, optional): whose parameters it works on; that of `global_scope`. A scope has parameters of its
                own after the startup program was run in it; until then, or if they were made in it, the program's.
            return_numpy (bool): give NumPy arrays, not tensors; as a tensor, what holds sequences is a `fluid.LoDTensor`.
            use_prune (bool): leave out operations that what is fetched does not need, updates of parameters too.

        Returns:
            list: what was fetched.
        """
        program = default_main_program() if program is None else program
        scope = scopes.global_scope() if scope is None else scope
        source = program
        if type(program) is CompiledProgram and program._passes is None and program._runs == 1:
            source = program._source
        if type(source) is Program and type(fetch_list) is list:
            ready = source._ready.get(key_of(fetch_list, return_numpy, use_prune or source._for_test, scope))
            if ready is not None and (not feed or type(feed) is dict):
                found = ready.run(source, feed or {}, scope)
                if found is not None:
                    return [t.numpy() for t in found] if return_numpy else found
        if isinstance(feed, (list, tuple)):
            feed = _single(feed)
        wanted = None if fetch_list is None else _flat(fetch_list)
        if isinstance(program, LoadedProgram):
            return program.run(feed or {}, wanted, return_numpy)
        for _ in range(getattr(program, "_runs", 1) - 1):
            self.run(program._source, feed, fetch_list, scope=scope)
        compiled, program = program, getattr(program, "_source", program)
        use_prune = use_prune or program._for_test
        for reader in program._readers:
            if not set(feed or ()).issuperset(tensor.name for tensor in reader.inputs):
                feed = {**reader.feed(), **(feed or {})}
        if not isinstance(scope, scopes.Scope):
            raise _C.located(TypeError(f"Executor.run: scope must be a Scope, not {type(scope).__name__}"))
        program.run_starts(scope)
        if program is default_startup_program() and not feed and not wanted:
            return []
        recorded_rates.refresh()
        with _C.eager_mode():
            inputs = set(program._program.input_names)
            feeds = {
                name: self._fed(program, name, value) for name, value in _with_lengths(feed, inputs) if name in inputs
            }
            if any(name not in inputs for name in feed or ()):
                _warn_of_strangers([name for name in feed if name not in inputs])
            fetches = found = [self._find(program, item) for item in wanted or ()]
            if program._pipeline is not None:
                results = program._pipeline.run(scope, feeds, fetches)
                return [t.numpy() for t in results] if return_numpy else results
            recorded = bound(program, scope)
            if recorded is not program._program:
                fetches = [t if _C.is_symbolic(t) else value_in(scope, t) for t in fetches]
            shown = [(p, program.current(t)) for p in program._prints if (t := p.wanted(program, feeds)) is not None]
            levels = [() if return_numpy else _levels(program, t) for t in wanted or ()]
            lengths = [t for own in levels for t in own]
            wanted_values = [*fetches, *lengths, *(t for _, t in shown)]
            bound_to_scope = recorded
            if getattr(compiled, "_passes", None) is not None:
                recorded = compiled._passes.compiled(recorded, compiled._changed)
            results = recorded.run(feeds, wanted_values, use_prune)
            for (printed, _), value in zip(shown, results[len(fetches) + len(lengths) :]):
                printed.show(value)
            if type(fetch_list) is list and not lengths and recorded is bound_to_scope and type(program) is Program:
                # A rate is read anew each time; what a name finds that is no value of the program may be one.
                kept = lambda item, tensor: _C.is_symbolic(tensor) or isinstance(item, _C.Tensor) and not recorded_rates.is_rate(item)  # fmt: skip
                if is_plain(program) and all(map(kept, fetch_list, found)):
                    ready = Ready(program, fetch_list, fetches, recorded, scope, use_prune)
                    ready.keep(program, return_numpy, scope)
            lengths = iter(results[len(fetches) : len(fetches) + len(lengths)])
            results = results[: len(fetches)]
        for call in () if use_prune else program._after_run:
            call()
        if return_numpy:
            return [t.numpy() for t in results]
        return [_with_sequences(t, [next(lengths) for _ in own]) for t, own in zip(results, levels, strict=True)]

    def train_from_dataset(self, program=None, dataset=None, scope=None, thread=0, debug=False, fetch_list=None,
                           fetch_info=None, print_period=100, fetch_handler=None):  # fmt: skip
        """Runs `program` once for each batch of a data set.

        Args:
            program (Program, optional): the default main program if None.
            dataset (QueueDataset|InMemoryDataset): of `paddle.distributed`.
            fetch_list (list, optional): printed every `print_period` batches,
            fetch_info (list[str], optional): with these texts before them.
            scope (Scope, optional): as of `run`.
            thread (int): processes that read files ahead; the `thread_num` of the data set if 0.
            debug, fetch_handler: accepted; of no effect.

        Raises:
            ValueError: the data set is missing, or fetch_info has another length than fetch_list.

        Examples:
            >>> exe = proa.static.Executor()
            >>> exe.train_from_dataset(None, proa.distributed.QueueDataset())
            Traceback (most recent call last):
            RuntimeError: ... call init with use_var first...
        """
        if dataset is None:
            raise _C.located(ValueError("Executor.train_from_dataset: dataset is missing"))
        fetches = list(fetch_list or ())
        texts = [getattr(item, "name", item) for item in fetches] if fetch_info is None else list(fetch_info)
        if len(texts) != len(fetches):
            raise _C.located(
                ValueError(
                    f"Executor.train_from_dataset: fetch_info has {len(texts)} texts for {len(fetches)} of fetch_list"
                )
            )
        for number, feed in enumerate(dataset.batches(thread or None), 1):
            found = self.run(program, feed=feed, fetch_list=fetches, scope=scope)
            if fetches and number % print_period == 0:
                print(f"batch {number}: " + ", ".join(f"{text} {value}" for text, value in zip(texts, found)))

    infer_from_dataset = train_from_dataset

    def _fed(self, program, name, value):
        value = _C.to_tensor(value)
        declared = program._program.find(name)
        if declared is None or value.ndim >= declared.ndim:
            return value
        missing = list(declared.shape)[value.ndim :]
        if all(isinstance(size, int) and size == 1 for size in missing):
            return _C.ops.reshape(value, [*value.shape, *missing])
        return value

    def _find(self, program, item):
        if isinstance(item, _C.Tensor):
            found = program.current(item)
            return recorded_rates.as_read(found) if recorded_rates.is_rate(found) else found
        if isinstance(item, LRScheduler):
            return _C.to_tensor([item()], dtype="float32")
        if not isinstance(item, str):
            raise _C.located(
                TypeError(f"Executor.run: fetch_list holds tensors of the program and names, not {type(item).__name__}")
            )
        # A tensor gets its name when it is asked for: what a copy has may be named in the original alone.
        while program is not None:
            for tensor in program.list_vars():
                if tensor.name == item:
                    return recorded_rates.as_read(tensor) if recorded_rates.is_rate(tensor) else tensor
            for recorded in (program._program, *(before for before, *_ in reversed(program._replaced))):
                tensor = recorded.find(item)
                if tensor is not None:
                    return program.current(tensor)
            program = program._copied_from
        raise _C.located(ValueError(f"Executor.run: fetch_list: no tensor of the program is named {item!r}"))

    def close(self):
        """Nothing is held."""


def _single(feeds):
    """The feed of a list with one for each device, of which there is one."""
    if len(feeds) > 1 or not all(isinstance(feed, dict) for feed in feeds):
        raise _C.located(
            TypeError(f"Executor.run: feed must be a dict, or a list of one dict; it is a list of {len(feeds)} items")
        )
    return feeds[0] if feeds else {}


def _levels(program, item):
    """The lengths that the program knows of the sequences in what is fetched."""
    item = program.vars.get(item) if isinstance(item, str) else item
    return [program.current(t) for t in levels_of(item)] if isinstance(item, _C.Tensor) and _C.is_symbolic(item) else ()


def _with_sequences(tensor, lengths):
    """What was fetched, with the lengths of its sequences if it has any."""
    if not lengths:
        return tensor
    from proa.fluid.lod_tensor import LoDTensor

    found = LoDTensor()
    found.set(tensor.numpy())
    found.set_recursive_sequence_lengths([level.tolist() for level in lengths])
    return found


def _warn_of_strangers(names):
    import warnings

    warnings.warn(
        f"Executor.run: the program has no input {', '.join(map(repr, names))}: it is not declared, or was pruned; what is fed "
        "for it is not used",
        stacklevel=3,
    )


def _with_lengths(feed, inputs):
    """What is fed, item by item; of a LoDTensor the lengths of its sequences too, where an input takes them."""
    for name, value in (feed or {}).items():
        yield name, value
        levels = getattr(value, "recursive_sequence_lengths", None)
        if levels is None:
            continue
        import numpy as np

        levels = levels()
        if not value.has_valid_recursive_sequence_lengths():
            raise _C.located(
                ValueError(
                    f"Executor.run: feed {name!r}: the lengths {levels[-1]} are not those of {len(np.asarray(value))} rows"
                )
            )
        for number, lengths in enumerate(levels):
            if lengths_name(name, number) in inputs:
                yield lengths_name(name, number), np.asarray(lengths, "int64")


def _flat(fetch_list):
    """The items of nested lists and tuples; of a single item, a list of it."""
    if isinstance(fetch_list, (list, tuple)):
        return [item for part in fetch_list for item in _flat(part)]
    return [fetch_list]


class _Target(int):
    """A result of a loaded program, by its place; with the name, shape (-1: open) and dtype that the program says."""

    def __new__(cls, place, name, spec):
        self = int.__new__(cls, place)
        dims, self.dtype = spec
        self.name, self.shape = name, [max(dim, -1) for dim in dims]
        return self


class LoadedProgram(Program):
    """A program that was loaded from files; see load_inference_model."""

    def __init__(self, module):
        super().__init__()
        self._module = module
        self._program = module.program
        self._input_names = module.input_names
        names = module.output_names
        self._places = {name: place for place, name in enumerate(names)}
        for place in range(len(names)):
            self._places.setdefault(f"output_{place}", place)  # as files of before call it
        self._targets = []
        lengths = {lengths_name(f"fetch_{k}", level) for k in range(len(names)) for level in range(len(names))}
        for place, (name, spec) in enumerate(zip(names, module.output_specs, strict=True)):
            if name not in lengths:
                self._targets.append(_Target(place, name, spec))

    def run(self, feed, fetch_list, return_numpy):
        names = self._input_names
        if any(type(value) is not _C.Tensor and type(value).__name__ != "ndarray" for value in feed.values()):
            feed = dict(_with_lengths(feed, names))
        missing = [name for name in names if name not in feed]
        if missing:
            raise _C.located(ValueError(f"Executor.run: input {missing[0]!r} is not fed"))
        with _C.eager_mode():
            results = self._module.run([_C.to_tensor(feed[name]) for name in names])
        places = [self._place(item) for item in (self._targets if fetch_list is None else fetch_list)]
        if return_numpy:
            return [results[place].numpy() for place in places]
        return [_with_sequences(results[place], self._lengths(place, results)) for place in places]

    def _place(self, item):
        if isinstance(item, int) and item in self._targets:
            return int(item)
        if item not in self._places:
            raise _C.located(
                ValueError(
                    f"Executor.run: fetch_list: the loaded program has no result {item!r}; it has "
                    f"{', '.join(target.name for target in self._targets)}"
                )
            )
        return self._places[item]

    def _lengths(self, place, results):
        """The lengths of the sequences in a result, outermost level first."""
        found = []
        while (name := lengths_name(f"fetch_{place}", len(found))) in self._places:
            found.append(results[self._places[name]])
        return found

    def fetch_targets(self):
        return list(self._targets)
