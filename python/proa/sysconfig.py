"""Where the package keeps headers and libraries for programs that are compiled against it."""

import os

_HERE = os.path.dirname(os.path.abspath(__file__))


def get_include():
    """The folder of the C++ headers.

    Examples:
        >>> type(proa.sysconfig.get_include()).__name__
        'str'
    """
    return os.path.join(_HERE, "include")


def get_lib():
    """The folder of the shared libraries.

    Examples:
        >>> type(proa.sysconfig.get_lib()).__name__
        'str'
    """
    return os.path.join(_HERE, "libs")
