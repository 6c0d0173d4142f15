"""Parameters of a program of which each process holds a part, as `shard_tensor` says."""

import itertools

from proa import _C
from proa.autograd import no_grad
from proa.distributed import collective, groups
from proa.distributed.auto_parallel.marking import division_of
from proa.distributed.calls import untraced
from proa.distributed.state_names import divided_owner
from proa.framework.parameter import Parameter

__all__ = ["Parts"]


class Parts:
    """Puts parts in the places of whole parameters, and knows how to put them together.

    The whole that is divided is that of process 0; what several processes hold, they have alike.

    Args:
        mesh (ProcessMesh): the processes.
        lines (list[list[int]]): for each dim of the mesh the processes along it, this one among them.
        startup (static.Program): starts the parameters.
    """

    def __init__(self, mesh, lines, startup):
        self._mesh, self._lines, self._startup = mesh, lines, startup
        self._program = None  # that is divided
        self._places = [line.index(groups.rank()) for line in lines]
        self._mappings, self._shapes, self._made, self._copies = {}, {}, {}, {}
        self._groups = [self._among({axis}) for axis in range(mesh.ndim)]
        self.data_group = collective.get_group(0)

    def _among(self, axes):
        """The group of the processes that differ from this one along these dims of the mesh alone; all make all of them."""
        at = {p: [self._mesh.line(axis, p).index(p) for axis in range(self._mesh.ndim)] for p in self._mesh.processes}
        fixed = lambda p: tuple(place for axis, place in enumerate(at[p]) if axis not in axes)
        own = None
        for key in sorted({fixed(p) for p in self._mesh.processes}):
            group = collective.new_group(sorted(p for p in self._mesh.processes if fixed(p) == key))
            own = group if key == fixed(groups.rank()) else own
        return own

    # Parameters ------------------------------------------------------------------

    def of(self, tensor):
        """The part that stands for a captured tensor; the tensor itself where it is no parameter, or nothing divides it."""
        key = id(tensor)
        if key not in self._made:
            self._made[key] = tensor, self._divided(tensor)
        return self._made[key][1]

    def _divided(self, tensor):
        division, start = division_of(tensor), self._startup._starts.get(tensor.name)
        if division is None or start is None or _C.is_symbolic(tensor) or tensor.stop_gradient:
            return tensor
        mapping = [axis if axis != -1 and len(self._lines[axis]) > 1 else -1 for axis in division.dims_mapping]
        if all(axis == -1 for axis in mapping):
            return tensor
        name = tensor.name
        self._mappings[name], self._shapes[name] = mapping, list(tensor.shape)
        used = tuple(axis for axis in range(self._mesh.ndim) if axis not in mapping)
        if used not in self._copies:
            self._copies[used] = self._among(set(used))
        with _C.eager_mode(), no_grad():
            made = Parameter(self._first(tensor.detach(), name), name, tensor.trainable)
        tensor.copy_settings_to(made)
        made.dist_attr = division
        made.is_distributed = True
        self._start(made, start)
        return made

    def _first(self, value, name):
        """This process's part of the value that process 0 has."""
        sent = value.detach().clone()
        collective.broadcast(sent, 0)
        return self.part(sent, name)

    def _start(self, made, start):
        from proa.static.parameters import hold, remember
        from proa.static.program import program_guard
        from proa.static.scope import global_scope

        if made.name in global_scope()._tensors:
            hold(made.name, made)
        with program_guard(self._program, self._startup):
            remember(made, lambda: self._first(start.again(), made.name))

    def begin(self, program):
        """Parameters are those of this program from now on."""
        self._program = program

    def copies(self, name):
        """The processes that hold the same part of a parameter; None where all hold the whole."""
        mapping = self._mappings.get(name)
        return (
            None
            if mapping is None
            else self._copies[tuple(axis for axis in range(self._mesh.ndim) if axis not in mapping)]
        )

    def counts(self, parameter):
        """Whether this process counts a gradient for the norm of all."""
        group = self.copies(parameter.name)
        return (groups.rank() if group is None else group.rank) == 0

    def begin_equal(self, name, value):
        """Gives all processes that hold the same the value of the first of them."""
        group = self.copies(name) or self.data_group
        if group.nranks > 1:
            collective.broadcast(value, group.ranks[0], group)

    @staticmethod
    def summed(pairs):
        """(parameter, gradient) pairs: no parameter sees a part of what others see."""
        return pairs

    # Files -------------------------------------------------------------------------

    @staticmethod
    def is_part(name):
        """Whether each run makes this tensor anew."""
        return False

    def _owner(self, name, size):
        """The parameter of which this is the part, or a state of the part; None."""
        owner = divided_owner(name, self._mappings)
        if owner is None:
            return None
        count = 1
        for n, axis in zip(self._shapes[owner], self._mappings[owner]):
            count *= n if axis == -1 else n // len(self._lines[axis])
        return owner if size == count else None

    def shape_of(self, name, size):
        """The shape of the whole of which this process has `size` elements; None if it has all of it."""
        owner = self._owner(name, size)
        return None if owner is None else self._shapes[owner]

    def whole(self, value, name):
        """A parameter or state, of the parts of all processes, which call this together."""
        owner = self._owner(name, value.size)

        def gathered():
            found = value
            for dim, axis in enumerate(self._mappings[owner]):
                if axis != -1:
                    parts, group = [], self._groups[axis]
                    collective.all_gather(parts, found, group)
                    found = _C.ops.concat([parts[group.ranks.index(p)] for p in self._lines[axis]], dim)
            return found

        return untraced(gathered)

    def part(self, value, name):
        """This process's part of a whole parameter or state."""
        owner = divided_owner(name, self._mappings)

        def cut():
            found = value
            for dim, axis in enumerate(self._mappings[owner]):
                if axis != -1:
                    count = len(self._lines[axis])
                    sections = list(itertools.repeat(found.shape[dim] // count, count))
                    found = _C.ops.split(found, sections, dim)[self._places[axis]]
            return found.clone()

        return untraced(cut)
