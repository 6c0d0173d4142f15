"""Where the package keeps headers and libraries for programs that are compiled against it."""

import os

_HERE = os.path.dirname(os.path.abspath(__file__))


def get_include():
    """The folder of the C++ headers."""
    return os.path.join(_HERE, "include")


def get_lib():
    """The folder of the shared libraries."""
    return os.path.join(_HERE, "libs")
