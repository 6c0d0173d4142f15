"""What is said of a state that does not fit a layer."""


def what_does_not_fit(layer, misfits, absent, left, any_fits):
    """The sentence about a state that leaves parameters as they are.

    Args:
        layer (str): its class.
        misfits (list[str]): what is said of values of other shapes.
        absent, left (list[str]): names that have no value, and values that have no name.
        any_fits (bool): some value has a name.
    """
    if left and not misfits and not any_fits:
        return f"no name of the given state is one of {layer}'s; it has {_some(absent)}, the state {_some(left)}"
    import difflib  # slow to import, needed for errors only

    parts = list(misfits)
    if absent:
        near = [found[0] for name in absent[:4] for found in [difflib.get_close_matches(name, left, 1, 0.75)] if found]
        hint = f" (but {_some(near)})" if near else ""
        parts.append(f"{_some(absent)}, for which the given state has nothing{hint}")
    if left:
        parts.append(f"left over: {_some(left)}")
    return f"{layer} leaves as they are: {'; '.join(parts)}"


def _some(names):
    """The first few names, quoted."""
    names = [repr(name) for name in names]
    return ", ".join(names[:4]) + (" ..." if len(names) > 4 else "")
