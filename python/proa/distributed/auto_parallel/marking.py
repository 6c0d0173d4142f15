"""What says of tensors how processes divide them. It changes no value: `fleet.distributed_optimizer` follows it (`semi_auto`)."""

import functools

from proa import _C
from proa.distributed.auto_parallel.process_mesh import ProcessMesh

__all__ = ["Division", "division_of", "shard_op", "shard_tensor"]

_KEYS = ("process_mesh", "dims_mapping")


class Division:
    """How processes divide a tensor.

    Attributes:
        process_mesh (ProcessMesh, optional): the processes.
        dims_mapping (list[int]): for each dim of the tensor the dim of the mesh along which it is divided; -1: it is not.
    """

    __slots__ = ("dims_mapping", "process_mesh")

    def __init__(self, process_mesh, dims_mapping):
        self.process_mesh, self.dims_mapping = process_mesh, list(dims_mapping)

    def __eq__(self, other):
        return isinstance(other, Division) and all(getattr(self, n) == getattr(other, n) for n in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self):
        return f"Division({self.process_mesh}, {self.dims_mapping})"


def _checked(what, x, attr):
    """The Division that `dist_attr` says of a tensor."""
    if not isinstance(attr, dict):
        raise _C.located(TypeError(f"{what}: dist_attr must be a dict, not {type(attr).__name__}"))
    wrong = [key for key in attr if key not in _KEYS]
    if wrong:
        raise _C.located(
            ValueError(f"{what}: dist_attr has the key {wrong[0]!r}; of a tensor it has {' and '.join(_KEYS)}")
        )
    mesh = attr.get("process_mesh")
    mesh = None if mesh is None else ProcessMesh(mesh)
    mapping = attr.get("dims_mapping")
    mapping = [-1] * x.ndim if mapping is None else mapping
    if not isinstance(mapping, (list, tuple)) or not all(isinstance(m, int) and m >= -1 for m in mapping):
        raise _C.located(
            ValueError(f"{what}: dims_mapping must have -1 or a dim of the mesh for each dim, not {mapping!r}")
        )
    if len(mapping) != x.ndim:
        raise _C.located(
            ValueError(f"{what}: dims_mapping {list(mapping)} has {len(mapping)} numbers; the tensor has {x.ndim} dims")
        )
    used = [m for m in mapping if m != -1]
    if len(set(used)) != len(used):
        raise _C.located(ValueError(f"{what}: dims_mapping {list(mapping)} divides two dims along one of the mesh"))
    for d, m in enumerate(mapping):
        if m == -1 or mesh is None:
            continue
        if m >= mesh.ndim:
            raise _C.located(ValueError(f"{what}: dims_mapping names dim {m} of the mesh, which has {mesh.ndim}"))
        size = x.shape[d]
        if isinstance(size, int) and size > 0 and size % mesh.topology[m]:
            raise _C.located(
                ValueError(f"{what}: {mesh.topology[m]} processes do not divide dim {d} of {list(x.shape)}")
            )
    return Division(mesh, mapping)


def shard_tensor(x, dist_attr=None):
    """Says how processes divide a tensor.

    With `strategy.semi_auto` each process holds its part alone of a parameter, and of the states that an optimizer has for it;
    `paddle.distributed.io` writes and reads whole ones.

    Args:
        x (Tensor): of a program, or a parameter.
        dist_attr (dict, optional): "process_mesh", a ProcessMesh or a nested list, and "dims_mapping", a list that has for each
            dim of `x` the dim of the mesh along which it is divided, or -1. Without a mapping no dim is divided.

    Returns:
        Tensor: `x`.

    Raises:
        ValueError: a mapping that does not fit the tensor or the mesh.

    Examples:
        >>> x = proa.ones([4, 6])
        >>> y = proa.distributed.shard_tensor(x, dist_attr={"process_mesh": [[0, 1], [2, 3]], "dims_mapping": [0, -1]})
        >>> y is x, x.dist_attr.dims_mapping
        (True, [0, -1])
    """
    if not isinstance(x, _C.Tensor):
        raise _C.located(TypeError(f"shard_tensor: x must be a Tensor, not {type(x).__name__}"))
    _mark(x, _checked("shard_tensor", x, {} if dist_attr is None else dist_attr))
    return x


def _mark(x, division):
    x.dist_attr = division
    if _C.is_symbolic(x):
        from proa.static.scope import programs

        # The handle may go before the program.
        owner = next(p for p in list(programs) if p.owns(x))
        owner.__dict__.setdefault("_divisions", []).append((x, division))


def division_of(x):
    """The Division of a tensor; None where nothing was said."""
    return getattr(x, "dist_attr", None)


def shard_op(op_fn, dist_attr=None):
    """A function that does what `op_fn` does, and says how processes divide its tensors.

    Args:
        op_fn (Callable): takes tensors, gives one or a list of them.
        dist_attr (dict, optional): "process_mesh" is that of all tensors that have none; a tensor as key has a dict as
            `shard_tensor` takes it; an int as key is a result, by its place, with such a dict.

    Returns:
        Callable: gives a list of the results.

    Examples:
        >>> x, y = proa.ones([4, 6]), proa.zeros([4, 6])
        >>> mesh = [[0, 1], [2, 3]]
        >>> add = proa.distributed.shard_op(proa.add, dist_attr={"process_mesh": mesh, x: {"dims_mapping": [-1, 0]}})
        >>> out = add(x, y)
        >>> len(out), x.dist_attr.dims_mapping, y.dist_attr.process_mesh.topology
        (1, [-1, 0], [2, 2])
    """
    attr = {} if dist_attr is None else dist_attr
    if not callable(op_fn) or not isinstance(attr, dict):
        raise _C.located(TypeError("shard_op: op_fn must be callable, and dist_attr a dict"))
    mesh = attr.get("process_mesh")
    of_tensors = [(key, value) for key, value in attr.items() if isinstance(key, _C.Tensor)]
    of_results = {key: value for key, value in attr.items() if isinstance(key, int)}
    wrong = [k for k in attr if k != "process_mesh" and not isinstance(k, (_C.Tensor, int))]
    if wrong:
        raise _C.located(
            ValueError(
                f"shard_op: dist_attr has the key {wrong[0]!r}; its keys are process_mesh, tensors and places of results"
            )
        )

    def mark(x, said):
        if said is not None or division_of(x) is None or division_of(x).process_mesh is None:
            kept = division_of(x)
            said = {"dims_mapping": kept.dims_mapping} if said is None and kept is not None else said or {}
            _mark(x, _checked("shard_op", x, {"process_mesh": mesh, **said}))

    @functools.wraps(op_fn, assigned=("__name__", "__doc__"), updated=())
    def call(*args, **kwargs):
        for x in (*args, *kwargs.values()):
            if isinstance(x, _C.Tensor):
                mark(x, next((said for key, said in of_tensors if key is x), None))
        results = op_fn(*args, **kwargs)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        for at, x in enumerate(results):
            if isinstance(x, _C.Tensor) and (at in of_results or mesh is not None):
                mark(x, of_results.get(at))
        return results

    return call
