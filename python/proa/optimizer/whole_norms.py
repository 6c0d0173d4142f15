"""Norms of whole parameters, for rules that look at them where each process has a part."""

from proa import _C

__all__ = ["is_part", "whole_norms"]


def _groups(parameter):
    """The groups over which a parameter is divided: in runs of elements (sharding), and along an axis (tensor parallel)."""
    groups = (getattr(parameter, name, None) for name in ("part_group", "split_group"))
    return [group for group in groups if group is not None and group.nranks > 1]


def is_part(parameter):
    """Whether other processes have the rest of a parameter."""
    return bool(_groups(parameter))


def whole_norms(parameter, norms):
    """Norms over all processes that have parts of `parameter`; they call it together.

    Args:
        parameter (Tensor): of the network.
        norms (list[Tensor]): 0-d, of what is here of tensors that are divided as the parameter is.

    Returns:
        list[Tensor]: as `norms`.
    """
    groups = _groups(parameter)
    if not groups:
        return norms
    from proa.distributed import collective

    with _C.eager_mode():
        wide = _C.ops.stack([norm.detach().astype(_C.float64).reshape([]) for norm in norms])
        squares = wide * wide
        for group in groups:
            collective.all_reduce(squares, group=group)
        found = squares.sqrt()
        return [found[at].astype(norm.dtype).reshape(norm.shape) for at, norm in enumerate(norms)]
