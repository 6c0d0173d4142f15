"""What the readers of Python's library, of NumPy and of Pillow raise of damaged files, as one error that names the file."""

import contextlib
import errno
import gzip
import lzma
import struct
import tarfile
import tokenize
import zipfile
import zlib

from proa import _C
from proa.framework.container import FileError

__all__ = ["damage_named", "most_pixels", "most_unpacked"]

# Archives may be compressed, zeros to a thousandth: what is unpacked may be this many times what the file holds.
_MOST_UNPACKED = 256
_ALWAYS_UNPACKED = 1 << 26


def most_unpacked(size):
    """How many bytes a file of a size may unpack to."""
    return max(_MOST_UNPACKED * size, _ALWAYS_UNPACKED)


# RuntimeError: of zip archives with a password, or packed in ways that zipfile does not know. The tokenizer and the
# compiler: of NumPy's headers. The others: of text that has other fields than it should.
_RAISED = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, gzip.BadGzipFile, EOFError, struct.error, RuntimeError,
    tokenize.TokenError, SyntaxError, RecursionError, MemoryError, ArithmeticError, LookupError, TypeError, ValueError,
)  # fmt: skip


def most_pixels(size):
    """How many pixels the image in a file of a size may have: deflate makes a thousandth of zeros, eight pixels a byte."""
    return max(8256 * size, 1 << 24)


@contextlib.contextmanager
def damage_named(what, path, also=()):
    """Inside, what readers raise of damaged contents becomes a FileError, which is a ValueError, unless it names the file.
    Errors of the system stay what they are.

    Args:
        what (str): what the file is not, such as "not a whole archive of arrays".
        path (str): the file.
        also (tuple[type]): other types, of a reader that was installed besides.
    """
    try:
        yield
    except (*_RAISED, *also) as error:
        if isinstance(error, ValueError) and str(path) in str(error):
            raise
        reason = str(error) or type(error).__name__
    except OSError as error:
        # Pillow's have no number; the number is that of a seek to what an archive says is a place.
        if error.errno not in (None, errno.EINVAL):
            raise
        reason = str(error)
    else:
        return
    raise _C.located(FileError(f"{path}: {what}: {reason}"))
