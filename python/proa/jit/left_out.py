"""What programs do that files of other tools cannot hold: they print, assert, raise."""

import warnings

__all__ = ["warn_of_left_out"]


def warn_of_left_out(what, left_out, stacklevel=3):
    """Says what a program does that a file does not: prints, assertions, errors."""
    if left_out:
        shown = "; ".join(left_out[:10]) + ("; ..." if len(left_out) > 10 else "")
        warnings.warn(
            f"{what}: what the function prints and asserts is not part of the file: {shown}", stacklevel=stacklevel
        )
