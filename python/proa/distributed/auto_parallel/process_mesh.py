"""Processes in an array, along whose dims tensors are divided."""

import numpy as np

from proa import _C

__all__ = ["ProcessMesh"]


class ProcessMesh:
    """The processes of a job, in an array of one or more dims.

    Args:
        mesh (list | numpy.ndarray): numbers of processes, nested as the array is.

    Attributes:
        topology (list[int]): the array's shape.
        processes (list[int]): the numbers, row by row.
        ndim (int): its number of dims.

    Raises:
        TypeError: not a list of numbers.
        ValueError: rows of different lengths, a negative number, or one that comes twice.

    Examples:
        >>> mesh = proa.distributed.ProcessMesh([[2, 4, 5], [0, 1, 3]])
        >>> mesh.topology, mesh.processes, mesh.ndim
        ([2, 3], [2, 4, 5, 0, 1, 3], 2)
    """

    def __init__(self, mesh):
        if isinstance(mesh, ProcessMesh):
            mesh = mesh.mesh
        if not isinstance(mesh, (list, tuple, np.ndarray)):
            raise _C.located(TypeError(f"ProcessMesh: mesh must be a list of processes, not {type(mesh).__name__}"))
        try:
            numbers = np.asarray(mesh)
        except ValueError:
            numbers = np.asarray(mesh, dtype=object)
        if numbers.dtype.kind not in "iu" or numbers.ndim == 0 or numbers.size == 0:
            kind = ValueError if numbers.dtype == object else TypeError
            raise _C.located(kind(f"ProcessMesh: mesh must be an array of numbers of processes, not {mesh!r}"))
        flat = numbers.ravel().tolist()
        if min(flat) < 0 or len(set(flat)) != len(flat):
            raise _C.located(
                ValueError(f"ProcessMesh: processes must not be negative, nor come twice; mesh is {mesh!r}")
            )
        self.mesh = numbers

    @property
    def topology(self):
        return list(self.mesh.shape)

    shape = topology

    @property
    def processes(self):
        return self.mesh.ravel().tolist()

    process_ids = process_group = processes

    @property
    def ndim(self):
        return self.mesh.ndim

    def line(self, axis, process):
        """The processes that differ from `process` along `axis` alone, itself among them, in the array's order."""
        at = [int(i) for i in np.argwhere(self.mesh == process)[0]]
        return self.mesh[tuple(slice(None) if i == axis else place for i, place in enumerate(at))].tolist()

    def __eq__(self, other):
        return isinstance(other, ProcessMesh) and np.array_equal(self.mesh, other.mesh)

    def __hash__(self):
        return hash((self.mesh.shape, *self.processes))

    def __repr__(self):
        return f"ProcessMesh({self.mesh.tolist()})"
