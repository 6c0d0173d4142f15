"""How the old namespace's arguments are read: activations by name."""

__all__ = ["act_on"]


def act_on(x, act):
    """The activation of this name, of x; x without one."""
    if act is None:
        return x
    from proa.static.nn.parametric import activated

    return activated(x, act)
