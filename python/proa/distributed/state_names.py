"""Whose a state of an optimizer is, by its name: that of the parameter, "_", what it is, "_0"."""

__all__ = ["divided_owner", "owner_of"]


def owner_of(name, parameters):
    """The longest of the parameters' names that a state's name begins with, before a "_"; None.

    Args:
        name (str): of a state.
        parameters (Container[str]): names.
    """
    at = name.rfind("_")
    while at > 0:
        if name[:at] in parameters:
            return name[:at]
        at = name.rfind("_", 0, at)
    return None


def divided_owner(name, parameters):
    """The parameter of this name, or the owner of this state, with which it is divided; None for powers of betas, which are one
    number for all elements."""
    if name in parameters:
        return name
    return None if name.endswith("pow_acc_0") else owner_of(name, parameters)
