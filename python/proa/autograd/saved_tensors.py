"""What backward keeps of the forward: hooks that pack it, and reports on it."""

import contextlib
import dataclasses
import os
import tempfile
import weakref

import numpy as np

from proa import _C

__all__ = [
    "SavedTensorsSummary",
    "save_on_cpu",
    "save_on_disk",
    "saved_tensors_hooks",
    "saved_tensors_summary",
]


class saved_tensors_hooks(contextlib.ContextDecorator):  # noqa: N801, as its API name
    """Packs the tensors that are saved for backward in a with block, or in a decorated function.

    `pack_hook(tensor)` is called where an op saves a tensor; what it returns, anything at all, is kept instead.
    `unpack_hook(packed)` is called in backward, each time that a formula needs the tensor, also after the block has ended;
    it must return a Tensor of the same shape, dtype and place. Both run without recording gradients. What they raise,
    the forward call or backward raises. Of nested blocks, the innermost alone applies; blocks are of one thread.

    Leaves that require grad are not packed: the model holds its parameters anyway. A tensor that is changed in place
    after it was packed gives the gradient of what was packed, or, if `pack_hook` kept the elements themselves, an error.

    Args:
        pack_hook (Callable[[Tensor], Any]): what to keep of a tensor.
        unpack_hook (Callable[[Any], Tensor]): the tensor again.

    Examples:
        Activations in 8 bits instead of 32:

        >>> def pack(x):
        ...     scale = x.abs().max() / 127
        ...     return scale, (x / scale).round().astype("int8")
        >>> def unpack(packed):
        ...     scale, small = packed
        ...     return small.astype("float32") * scale
        >>> w = proa.to_tensor([1.0, -127.0], stop_gradient=False)
        >>> x = w * 2
        >>> with proa.autograd.saved_tensors_hooks(pack, unpack):
        ...     y = x * x
        >>> y.sum().backward()
        >>> w.grad.tolist()
        [8.0, -1016.0]
    """

    def __init__(self, pack_hook, unpack_hook):
        for what, function in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
            if not callable(function):
                raise _C.located(
                    TypeError(f"saved_tensors_hooks: {what} must be callable, not {type(function).__name__}")
                )
        self._functions = pack_hook, unpack_hook

    def __enter__(self):
        _C.push_saved_tensors_hooks(*self._functions)
        return self

    def __exit__(self, *exception):
        _C.pop_saved_tensors_hooks()


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """Keeps what is saved for backward in the memory of the host; tensors that are there stay as they are.

    Examples:
        >>> w = proa.to_tensor([3.0], stop_gradient=False)
        >>> with proa.autograd.save_on_cpu():
        ...     y = (w * 2) ** 2
        >>> y.backward()
        >>> w.grad.tolist()
        [24.0]
    """

    def __init__(self):
        super().__init__(self._pack, self._unpack)

    @staticmethod
    def _pack(tensor):
        return tensor.place, tensor.cpu()

    @staticmethod
    def _unpack(packed):
        place, tensor = packed
        return tensor if tensor.place == place else _C.to_tensor(tensor, place=place)


class _File:
    """A tensor in a file, which goes when this object goes."""

    def __init__(self, folder, tensor):
        self.dtype, self.place = tensor.dtype, tensor.place
        handle, self.path = tempfile.mkstemp(".npy", "saved_tensor_", folder)
        self._remove = weakref.finalize(self, _remove, self.path)
        with os.fdopen(handle, "wb") as file:
            np.save(file, tensor.numpy().reshape(tensor.shape), allow_pickle=False)

    def load(self):
        return _C.to_tensor(np.load(self.path, allow_pickle=False), dtype=self.dtype, place=self.place)


def _remove(path):
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


class save_on_disk(saved_tensors_hooks):  # noqa: N801
    """Keeps what is saved for backward in files of a folder, one a tensor; each is removed when backward is done with it.

    Args:
        folder (str|os.PathLike, optional): made if it is not there; the system's folder for temporary files if None.

    Examples:
        >>> w = proa.to_tensor([3.0], stop_gradient=False)
        >>> with proa.autograd.save_on_disk():
        ...     y = (w * 2) ** 2
        >>> y.backward()
        >>> w.grad.tolist()
        [24.0]
    """

    def __init__(self, folder=None):
        if folder is not None:
            folder = os.fspath(folder)
            os.makedirs(folder, exist_ok=True)
        super().__init__(lambda tensor: _File(folder, tensor), _File.load)


@dataclasses.dataclass(frozen=True)
class SavedTensorsRow:
    """The tensors that ops of one name saved under one name of their formulas."""

    group: str  # "activation", "leaf", "constant", "packed"
    op: str
    name: str
    tensors: int
    bytes: int  # of storages that no other row has


@dataclasses.dataclass(frozen=True)
class SavedTensorsSummary:
    """What `saved_tensors_summary` returns; str() is a table."""

    rows: tuple
    nodes: int

    def bytes_of(self, group):
        """The sum over the rows of a group."""
        return sum(row.bytes for row in self.rows if row.group == group)

    @property
    def activation_bytes(self):
        """What the graph alone holds, as a rule: tensors that were computed with gradients."""
        return self.bytes_of("activation")

    @property
    def leaf_bytes(self):
        """Leaves that require grad (parameters) and views of them."""
        return self.bytes_of("leaf")

    @property
    def constant_bytes(self):
        """Tensors that require no grad: inputs, masks."""
        return self.bytes_of("constant")

    @property
    def packed_bytes(self):
        """What saved_tensors_hooks was given to pack."""
        return self.bytes_of("packed")

    def __str__(self):
        lines = [f"{'group':<11}{'op':<28}{'saved':<20}{'tensors':>8}{'bytes':>16}"]
        for row in self.rows:
            lines.append(f"{row.group:<11}{row.op:<28}{row.name:<20}{row.tensors:>8}{row.bytes:>16,}")
        for group in ("activation", "leaf", "constant", "packed"):
            if any(row.group == group for row in self.rows):
                lines.append(f"{group:<11}{'in all':<56}{self.bytes_of(group):>16,}")
        return "\n".join(lines)


def saved_tensors_summary(tensors):
    """What the backward graph of `tensors` holds in memory until backward, each storage once.

    Args:
        tensors (Tensor|list[Tensor]): where backward would start.

    Returns:
        SavedTensorsSummary: rows by op and by the name that the op's gradient formula has for the tensor.

    Examples:
        >>> w = proa.ones([1000]); w.stop_gradient = False
        >>> y = (w * 2).exp()
        >>> summary = proa.autograd.saved_tensors_summary(y)
        >>> summary.activation_bytes
        4000
        >>> [(row.op, row.name, row.bytes) for row in summary.rows]
        [('exp', 'out', 4000), ('multiply', 'y', 4)]
    """
    rows, nodes = _C.saved_summary(_outputs("saved_tensors_summary", tensors))
    return SavedTensorsSummary(tuple(SavedTensorsRow(*row) for row in rows), nodes)


def _outputs(op, tensors):
    tensors = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    for tensor in tensors:
        if not isinstance(tensor, _C.Tensor):
            raise _C.located(TypeError(f"{op}: expected a Tensor or a list of Tensor, not {type(tensor).__name__}"))
    return tensors
