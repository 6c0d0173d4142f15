"""What `set_verbosity`, `set_code_level`, `enable_to_static` and `ignore_module` say, for all converted functions."""

import sys

from proa.jit.dy2static import calls

enabled = True
verbosity = None  # (level, whether on stdout too), or None
code_level = None


def set_verbosity(level=0, also_to_stdout=False):
    """From level 1 on, a line on stderr tells of each recording of a converted function, and why it was made.

    Args:
        level (int): 0 for none.
        also_to_stdout (bool): on stdout too.

    Examples:
        >>> proa.jit.set_verbosity(0)
    """
    global verbosity
    verbosity = (int(level), bool(also_to_stdout)) if level else None


def set_code_level(level=100, also_to_stdout=False):
    """From level 1 on, each program that is recorded is shown on stderr, with the source that it was recorded from.

    Args:
        level (int): 0 for none.
        also_to_stdout (bool): on stdout too.

    Examples:
        >>> proa.jit.set_code_level(0)
    """
    global code_level
    code_level = (int(level), bool(also_to_stdout)) if level else None


def ignore_module(modules):
    """Lets the functions of modules, and of modules in them, stay as they are written when what calls them is converted.

    Args:
        modules (list[module]): they.

    Examples:
        >>> import json
        >>> proa.jit.ignore_module([json])
    """
    calls.ignore(modules)


def show(where, text):
    """A text for a level that is set, on stderr."""
    if where:
        print(text, file=sys.stderr)
        if where[1]:
            print(text)
