"""Archives of data sets. They come from anywhere: what is damaged is one kind of error, and what is packed too well to be
data is refused before it takes memory."""

import contextlib
import io
import os
import tarfile
import zipfile

from proa import _C
from proa.framework.container import FileError
from proa.framework.damage import damage_named, most_unpacked

__all__ = ["contents", "open_tar", "open_zip"]


@contextlib.contextmanager
def open_tar(what, path, mode="r"):
    """The archive, packed or not; errors inside name it and the data set."""
    with damage_named(f"no whole archive of {what}", path), tarfile.open(path, mode) as archive:
        yield archive


@contextlib.contextmanager
def open_zip(what, path):
    """As open_tar."""
    with damage_named(f"no whole archive of {what}", path), zipfile.ZipFile(path) as archive:
        yield archive


def contents(archive, name, path):
    """The bytes of a member as a stream; KeyError if there is none of that name.

    Args:
        archive (TarFile|ZipFile): that is open.
        name (str|TarInfo): of the member.
        path (str): the archive's.
    """
    if isinstance(archive, zipfile.ZipFile):
        size = archive.getinfo(name).file_size
    else:
        name = archive.getmember(name) if isinstance(name, str) else name
        size = name.size if name.isfile() else None
    if size is None:
        raise _C.located(FileError(f"{path}: {name.name!r} is no file"))
    most = most_unpacked(os.path.getsize(path))
    if size > most:
        raise _C.located(
            FileError(
                f"{path}: {getattr(name, 'name', name)!r} says it has {size} bytes; of an archive of this size {most} are read"
            )
        )
    data = archive.read(name) if isinstance(archive, zipfile.ZipFile) else archive.extractfile(name).read()
    return io.BytesIO(data)
