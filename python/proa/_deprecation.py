"""`deprecated`: what functions that have another name now say."""

import functools
import warnings

from proa import _C


def deprecated(update_to="", since="", reason="", level=1):
    """Marks a function: calling it warns, and its docstring says what to use instead.

    Args:
        update_to (str): the new name.
        since (str): the version of the change.
        reason (str): why.
        level (int): 0 says it in the docstring only, 1 warns, 2 raises RuntimeError.

    Examples:
        >>> @proa.utils.deprecated(update_to="proa.new", since="2.0")
        ... def old():
        ...     return 1
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     old()
        1
    """

    def mark(function):
        message = f"{function.__module__}.{function.__name__} is deprecated"
        message += f" since {since}" if since else ""
        message += f"; use {update_to}" if update_to else ""
        message += f". {reason}" if reason else ""

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            if level == 2:
                raise _C.located(RuntimeError(message))
            if level == 1:
                warnings.warn(message, DeprecationWarning, stacklevel=2)
            return function(*args, **kwargs)

        # Its lines begin further right than the first: the two parts together are to look like one docstring.
        wrapper.__doc__ = f"{message}.\n\n    {function.__doc__ or ''}"
        return wrapper

    return mark
