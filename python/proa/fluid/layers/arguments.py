"""How the old namespace's arguments are read: sizes that are tensors, axes of elementwise functions, activations."""

from proa import _C

__all__ = ["act_on", "aligned", "axes"]


def act_on(x, act):
    """The activation of this name, of x; x without one."""
    if act is None:
        return x
    from proa.static.nn.parametric import activated

    return activated(x, act)


def aligned(x, y, axis):
    """y with dims of one added, so that its dims meet those of x from `axis` on."""
    if axis == -1 or not isinstance(y, _C.Tensor) or len(y.shape) >= len(x.shape):
        return y
    after = len(x.shape) - axis - len(y.shape)
    while after < 0 and y.shape[-1] == 1:  # trailing ones do not count
        y, after = _C.ops.squeeze(y, [-1]), after + 1
    if after < 0:
        raise _C.located(
            ValueError(f"axis is {axis}: y {list(y.shape)} does not fit into x {list(x.shape)} from there on")
        )
    return _C.ops.unsqueeze(y, list(range(len(y.shape), len(y.shape) + after))) if after else y


def axes(dim):
    """A list of axes; empty for all."""
    if dim is None:
        return []
    return list(dim) if isinstance(dim, (list, tuple)) else [dim]
