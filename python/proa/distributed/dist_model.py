"""Distributed inference: a program that `static.device_guard` divides into stages, each on a process of its own.

    save_dist_model("model", [x], [y], program)                      # once, on one process
    model = DistModel(DistModelConfig("model"))                      # on each process of a job
    model.init()
    found = model.run({"x": batch})                                  # arrays on the last stage, None on the others

A stage is an actor: it works on a micro-batch as soon as the stage before has sent what it needs, and sends on without
waiting, a few micro-batches ahead at most. So all stages work at once.
"""

import json
import os

import numpy as np

from proa import _C
from proa.distributed.fleet.meta_parallel.pp_utils.p2p_communication import Line
from proa.distributed.fleet.meta_parallel.pp_utils.schedule import Step
from proa.framework import container
from proa.framework.grad_mode import no_grad

__all__ = ["DistModel", "DistModelConfig", "save_dist_model"]

_FILE = "stages.json"


def save_dist_model(folder, feed_vars, fetch_vars, program=None, scope=None):
    """Writes the stages of a program as a test has it, each as an inference model of its own.

    Args:
        folder (str): made if it is not there.
        feed_vars (list[Tensor]): inputs of the program.
        fetch_vars (list[Tensor]): what the last stage gives; of whichever stage.
        program (static.Program, optional): recorded under `static.device_guard`; the default main program.
        scope (Scope, optional): has the parameters; `static.global_scope()`.

    Raises:
        ValueError: the program cannot be divided.

    Examples:
        >>> import os, tempfile
        >>> from proa.distributed.dist_model import save_dist_model
        >>> static, main, folder = proa.static, proa.static.Program(), tempfile.TemporaryDirectory()
        >>> with static.program_guard(main):
        ...     with static.device_guard("cpu:0"):
        ...         x = static.data("x", [None, 2])
        ...         h = static.nn.fc(x, 3)
        ...     with static.device_guard("cpu:1"):
        ...         y = static.nn.fc(h, 1)
        >>> save_dist_model(folder.name, [x], [y], main)
        >>> sorted(os.listdir(folder.name))[:3]
        ['stage_0.pdiparams', 'stage_0.pdmodel', 'stage_1.pdiparams']
        >>> folder.cleanup()
    """
    from proa.distributed.fleet.meta_optimizers.program_stages import ProgramStage, ProgramStages
    from proa.static import default_main_program, global_scope, normalize_program
    from proa.static.binding import value_in

    program = default_main_program() if program is None else program
    scope = global_scope() if scope is None else scope
    feeds, fetches = (list(v) if isinstance(v, (list, tuple)) else [v] for v in (feed_vars, fetch_vars))
    part = normalize_program(program, feeds, fetches)
    stages = ProgramStages(program, [part.current(t) for t in fetches], part)
    recorded, used = stages.recorded, []
    os.makedirs(folder, exist_ok=True)
    for number in range(stages.count):
        stage = ProgramStage(stages, number, lambda tensor: value_in(scope, tensor))
        gets = stages.gets(number)
        names = [*(f"value_{value}" for value in gets), *stage.feeds]
        like = [*map(recorded.value, gets), *map(recorded.find, stage.feeds)]
        with no_grad():
            stage.recorded(names, like).save(os.path.join(folder, f"stage_{number}"))
        used.append(stage.feeds)
    told = {"stages": stages.count, "feeds": used, "fetches": [t.name for t in fetches]}
    container.write_bytes(os.path.join(folder, _FILE), json.dumps(told).encode())


class DistModelConfig:
    """What a DistModel is made from.

    Args:
        model_dir (str): a folder that `save_dist_model` wrote.
        micro_batches (int): how many parts a batch is run in, at most.
        ahead (int): how many of them a stage may be ahead of the next.
    """

    def __init__(self, model_dir="", micro_batches=4, ahead=2):
        self.model_dir, self.micro_batches, self.ahead = model_dir, micro_batches, ahead


class DistModel:
    """A stage of a divided program. With more processes than stages, every so many processes are a copy of the model.

    Args:
        config (DistModelConfig): see there.

    Raises:
        ValueError: micro_batches or ahead is no positive int.

    Examples:
        >>> from proa.distributed.dist_model import DistModel, DistModelConfig
        >>> DistModel(DistModelConfig("/no/folder")).init()
        Traceback (most recent call last):
            ...
        FileNotFoundError: ...
    """

    def __init__(self, config):
        for name in ("micro_batches", "ahead"):
            value = getattr(config, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise _C.located(ValueError(f"DistModelConfig: {name} must be a positive int, not {value!r}"))
        self._config, self._module = config, None

    def init(self):
        """Reads this process's stage and meets the others. All processes of the job call it.

        Returns:
            bool: True.

        Raises:
            FileNotFoundError: there is no such model.
            ValueError: a file is damaged, or the processes are no multiple of the stages.
        """
        from proa.distributed import collective, parallel
        from proa.distributed.groups import rank, world_size

        parallel.init_parallel_env()
        folder = self._config.model_dir
        self._count, feeds, self.fetches = _told(os.path.join(folder, _FILE))
        if world_size() % self._count:
            raise _C.located(
                ValueError(f"DistModel: {folder} has {self._count} stages, and the job {world_size()} processes")
            )
        for first in range(0, world_size(), self._count):
            group = collective.new_group(list(range(first, first + self._count)))
            if group.is_member():
                self._line = Line(group)
        self.stage = rank() % self._count
        self._module = _C.load_program(os.fsencode(os.path.join(folder, f"stage_{self.stage}")))
        self._feeds = feeds[self.stage]
        return True

    @no_grad()
    def run(self, inputs):
        """Runs one batch. All processes of a copy of the model call it, with inputs of one first dim.

        Args:
            inputs (dict): arrays or tensors by name; those that this stage does not use may be missing.

        Returns:
            list[ndarray]: in the order of `fetch_vars`, on the last stage; None on the others. What has the rows of the
            batch is put together from the micro-batches.

        Raises:
            RuntimeError: before `init`.
            TypeError: inputs are no dict.
            ValueError: an input is missing, or inputs have other first dims.
        """
        if self._module is None:
            raise _C.located(RuntimeError("DistModel.run: call init() first"))
        if not isinstance(inputs, dict):
            raise _C.located(
                TypeError(f"DistModel.run: inputs must be a dict of arrays by name, not {type(inputs).__name__}")
            )
        missing = [name for name in self._feeds if name not in inputs]
        if missing:
            raise _C.located(ValueError(f"DistModel.run: stage {self.stage} needs input {missing[0]!r}"))
        with _C.eager_mode():
            tensors = {name: _C.to_tensor(value) for name, value in inputs.items()}
            bounds = self._bounds(tensors)
            found = [self._work(tensors, micro, *at) for micro, at in enumerate(zip(bounds, bounds[1:]))]
            self._line.finish()
        if self.stage < self._count - 1:
            return None
        return [np.concatenate(parts, 0) for parts in zip(*found)]

    def _bounds(self, tensors):
        """Where micro-batches begin and end."""
        sizes = {name: t.shape[0] if t.ndim else None for name, t in tensors.items()}
        rows = next(iter(sizes.values()), None)
        if rows is None or any(size != rows for size in sizes.values()):
            raise _C.located(ValueError(f"DistModel.run: inputs must have one first dim, the batch; they have {sizes}"))
        count = max(1, min(rows, self._config.micro_batches))
        return [rows * part // count for part in range(count + 1)]

    def _work(self, tensors, micro, begin, end):
        """One micro-batch of this stage; what it gives, on the last."""
        step = Step("forward", micro, 0)
        gets = self._line.receive(-1, step) if self.stage else ()
        found = self._module.run([*gets, *(tensors[name][begin:end] for name in self._feeds)])
        if self.stage < self._count - 1:
            self._line.send(tuple(found), 1, step)
            self._line.wait_until(self._config.ahead)
            return None
        return [np.atleast_1d(t.numpy()) for t in found]


def _told(path):
    """(count of stages, feeds of each, names of what the last gives) of a saved model."""
    with container.open_regular(path) as stream:
        told = container.parse_json(path, "the list of stages", stream.read())
    count = told.get("stages") if isinstance(told, dict) else None
    good = isinstance(count, int) and isinstance(told.get("feeds"), list) and isinstance(told.get("fetches"), list)
    if not good or len(told["feeds"]) != count or not all(isinstance(names, list) for names in told["feeds"]):
        raise _C.located(container.FileError(f"{path}: it does not say the stages of a model"))
    return count, told["feeds"], told["fetches"]
