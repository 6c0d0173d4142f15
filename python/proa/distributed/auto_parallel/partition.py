"""A program made again as each process computes it: of divided tensors its part, with exchanges where parts do not fit.

Each call is made with the parts of its arguments where a rule says how (`rules`); otherwise with whole ones. What comes out has a
division too. So any program can be divided, and is right; how much is exchanged depends on rules and on what the tensors say.
"""

from proa import _C
from proa.distributed import collective, groups
from proa.distributed.auto_parallel.marking import division_of
from proa.distributed.auto_parallel.parts import Parts
from proa.static.remaking import begin, replace, settings_of
from proa.static.replay import Replay, Value

__all__ = ["Partition", "divide", "mesh_of"]


def mesh_of(program):
    """The mesh of the tensors of a program that say how they are divided; None where none does.

    Raises:
        ValueError: there are several, or one that is not of all processes of the job.
    """
    said = [division for _, division in program.__dict__.get("_divisions", ())]
    said += [d for d in (division_of(tensor) for _, tensor in program._program.captured) if d is not None]
    meshes = {division.process_mesh for division in said if division.process_mesh is not None}
    if not meshes:
        if any(m != -1 for d in said for m in d.dims_mapping):
            raise _C.located(ValueError("auto_parallel: tensors have a dims_mapping, and none has a process_mesh"))
        return None
    if len(meshes) > 1:
        raise _C.located(
            ValueError(
                f"auto_parallel: the tensors of a program have one mesh in this version; these have {', '.join(sorted(map(repr, meshes)))}"
            )
        )
    (mesh,) = meshes
    if sorted(mesh.processes) != list(range(groups.world_size())):
        raise _C.located(
            ValueError(
                f"auto_parallel: {mesh} is not of the {groups.world_size()} processes of the job, 0 to {groups.world_size() - 1}"
            )
        )
    return mesh


def divide(program, startup=None):
    """Makes the operations of a program again as this process computes them. All processes call it on the same program.

    All feed whole batches. A value that is divided is fetched as this process's part.

    Args:
        program (static.Program): without gradients and updates, with tensors that `shard_tensor` has seen.
        startup (static.Program, optional): with it each process holds its part alone of parameters that say so (`program._divided`
            knows how they are put together); without, all hold whole ones.

    Returns:
        int: among how many processes it is divided; 1 where no tensor says anything.

    Raises:
        ValueError: several meshes, or one that is not of all processes.

    Examples:
        >>> from proa.distributed import auto_parallel
        >>> proa.enable_static()
        >>> main = proa.static.Program()
        >>> with proa.static.program_guard(main):
        ...     x = proa.static.data("x", [4, 2])
        ...     _ = auto_parallel.shard_tensor(x, {"process_mesh": [0], "dims_mapping": [0, -1]})
        ...     y = x * 2.0
        >>> auto_parallel.divide(main)
        1
        >>> proa.disable_static()
    """
    mesh = mesh_of(program)
    if mesh is None or len(mesh.processes) == 1:
        return 1
    made, recorded, inputs = begin(program, False)
    numbers = {}
    for tensor, division in program._divisions if "_divisions" in program.__dict__ else ():
        numbers[program._program.value_number(tensor)] = division.dims_mapping
    parts = None
    if startup is not None:
        parts = Parts(mesh, [mesh.line(axis, groups.rank()) for axis in range(mesh.ndim)], startup)
        parts.begin(program)
        program._divided = parts
    replay = Partition(program._program, inputs, mesh, numbers, parts)
    del made

    def make():
        with recorded.recording():
            replay.run(lambda at, call: settings_of(0))

    replace(program, replay, recorded, inputs, make)
    return len(mesh.processes)


class Partition(Replay):
    """The operations of a program, made again on this process's parts.

    Args:
        recorded (_C.Program): the program.
        inputs (dict): the tensors that stand for its inputs, by name; whole ones.
        mesh (ProcessMesh): the processes.
        marks (dict): by the numbers of values, the dims_mapping that was asked for.
        parts (Parts, optional): puts parts in the places of parameters.
    """

    def __init__(self, recorded, inputs, mesh, marks, parts=None):
        self._mappings, self._marks, self._changed = {}, marks, {}

        def captured(tensor):
            made = parts.of(tensor)
            return tensor if made is tensor else self.mapped(made, division_of(made).dims_mapping)

        super().__init__(recorded, inputs, **({} if parts is None else {"captured": captured}))
        self.mesh, rank = mesh, groups.rank()
        self.groups, self.lines = [], []
        for axis in range(mesh.ndim):
            lines = sorted({tuple(mesh.line(axis, process)) for process in mesh.processes})
            made = {line: collective.new_group(list(line)) for line in lines}  # all make all, in one order
            own = tuple(mesh.line(axis, rank))
            self.groups.append(made[own])
            self.lines.append(own)
        self.places = [line.index(rank) for line in self.lines]

    # Divisions ---------------------------------------------------------------------

    def mapping(self, tensor):
        """The dims_mapping of a tensor of the new program."""
        kept = self._mappings.get(id(tensor))
        return list(kept[1]) if kept is not None else [-1] * tensor.ndim

    def mapped(self, tensor, mapping):
        """Notes how a new tensor is divided; the tensor."""
        self._mappings[id(tensor)] = tensor, list(mapping)  # it stays, so that no other has its id
        return tensor

    def change(self, tensor, mapping):
        """The tensor divided in another way."""
        now, key = self.mapping(tensor), (id(tensor), tuple(mapping))
        if now == list(mapping):
            return tensor
        if key not in self._changed:
            made = tensor
            for dim, axis in enumerate(now):
                if axis not in (-1, mapping[dim]):
                    made = self._gather(made, dim, axis)
            for dim, axis in enumerate(mapping):
                if axis not in (-1, now[dim]):
                    made = self._part(made, dim, axis)
            self._changed[key] = tensor, self.mapped(made, mapping)
        return self._changed[key][1]

    def whole(self, value):
        """A tensor, or those in a list, not divided; what is no tensor as it is."""
        if isinstance(value, (list, tuple)):
            return [self.whole(item) for item in value]
        return self.change(value, [-1] * value.ndim) if isinstance(value, _C.Tensor) else value

    def total(self, tensor, axis, how="sum"):
        """The sum (or mean) along a dim of the mesh."""
        group = self.groups[axis]
        return tensor if group.nranks == 1 else _C.ops.all_reduce(tensor, group.id, how)

    def _gather(self, tensor, dim, axis):
        count = self.groups[axis].nranks
        if count == 1:
            return tensor
        order = [dim, *[d for d in range(tensor.ndim) if d != dim]]
        front = _C.ops.transpose(tensor, order) if dim else tensor
        rows = _C.ops.all_gather(front, count, self.groups[axis].id)
        line = self.lines[axis]
        if list(line) != sorted(line):  # groups are in the order of numbers
            parts = _C.ops.split(rows, _equal(rows, 0, count), 0)
            rows = _C.ops.concat([parts[sorted(line).index(process)] for process in line], 0)
        return _C.ops.transpose(rows, [order.index(d) for d in range(tensor.ndim)]) if dim else rows

    def _part(self, tensor, dim, axis):
        count = self.groups[axis].nranks
        if count == 1:
            return tensor
        size = tensor.shape[dim]
        if isinstance(size, int) and size >= 0 and size % count:
            raise _C.located(
                ValueError(f"auto_parallel: {count} processes do not divide dim {dim} of {list(tensor.shape)}")
            )
        return _C.ops.split(tensor, _equal(tensor, dim, count), dim)[self.places[axis]]

    # Calls ---------------------------------------------------------------------------

    def _argument(self, arg, exact):
        found = super()._argument(arg, exact)
        if not isinstance(arg, Value) or not isinstance(found, _C.Tensor):
            return found
        asked = self._marks.get(arg)
        if asked is None and not _C.is_symbolic(found) and division_of(found) is not None:
            asked = division_of(found).dims_mapping  # a parameter
        return found if asked is None else self.change(found, asked)

    def _make(self, call, exact):
        if call.op != "detach":
            super()._make(call, exact)
            return
        given = self._argument(call.args[0], exact)
        self.env[call.results[0]] = self.mapped(given.detach(), self.mapping(given))

    def _call(self, call, args, exact):
        from proa.distributed.auto_parallel.rules import rule_of

        tensors = [a for arg in args for a in (arg if isinstance(arg, list) else [arg]) if isinstance(a, _C.Tensor)]
        if all(m == -1 for t in tensors for m in self.mapping(t)):
            return super()._call(call, args, exact)
        rule = rule_of(call.op)
        found = None if rule is None else rule(self, call.op, args)
        return super()._call(call, self.whole(args), exact) if found is None else found

    def _control(self, call, args, exact):
        return super()._control(call, self.whole(args), exact)

    def _region(self, region, exact, *values):
        return [self.whole(value) for value in super()._region(region, exact, *values)]


def _equal(tensor, dim, count):
    """Sizes of equal parts along a dim."""
    size = tensor.shape[dim]
    return [size // count] * count
