"""Files by their URL: found under the home folder, fetched once if they are not there.

Weights lie in ~/.cache/paddle/hapi/weights, or under PADDLE_HOME where that is set.
"""

import logging
import os
import tarfile
import tempfile
import zipfile
import zlib

from proa import _C
from proa.framework.damage import damage_named
from proa.framework.names import missing as _missing

__all__ = ["get_path_from_url", "get_weights_path_from_url", "is_url"]

__getattr__ = _missing(__name__)

logger = logging.getLogger(__name__)

_HOME = os.environ.get("PADDLE_HOME") or os.path.join(os.path.expanduser("~"), ".cache", "paddle")
WEIGHTS_HOME = os.path.join(_HOME, "hapi", "weights")
DOWNLOAD_RETRY_LIMIT = 3


def is_url(path):
    """Whether it starts with http:// or https://.

    Examples:
        >>> proa.utils.download.is_url("https://host/file.tgz"), proa.utils.download.is_url("/data/file.tgz")
        (True, False)
    """
    return path.startswith(("http://", "https://"))


def get_weights_path_from_url(url, md5sum=None):
    """The path of a file of weights.

    Args:
        url (str): where it comes from.
        md5sum (str, optional): of the file; another file is fetched anew.

    Raises:
        RuntimeError: it could not be fetched.

    Examples:
        >>> proa.utils.download.get_weights_path_from_url("weights.pdparams")
        Traceback (most recent call last):
            ...
        ValueError: ...is no URL that starts with http://, https:// or file://...
    """
    return get_path_from_url(url, WEIGHTS_HOME, md5sum)


def get_path_from_url(url, root_dir, md5sum=None, check_exist=True, decompress=True, method="get"):
    """The path of a file under `root_dir`; of an archive, of what was in it.

    Args:
        url (str): where it comes from: http, https, or file.
        root_dir (str): the folder.
        md5sum (str, optional): of the file.
        check_exist (bool): take the file that is there, if it has that sum.
        decompress (bool): unpack tar and zip archives beside them.
        method (str): accepted.

    An interrupted download goes on where it ended, if `md5sum` is given. On a terminal a line shows how far it is.

    Raises:
        ValueError: for another kind of URL.
        RuntimeError: it could not be fetched.

    Examples:
        >>> import os, pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> there = pathlib.Path(folder.name, "weights.txt")
        >>> _ = there.write_text("1 2 3")
        >>> path = proa.utils.download.get_path_from_url(there.as_uri(), os.path.join(folder.name, "cache"))
        >>> pathlib.Path(path).read_text(), os.path.basename(os.path.dirname(path))
        ('1 2 3', 'cache')
        >>> folder.cleanup()
    """
    if not is_url(url) and not url.startswith("file://"):
        raise _C.located(
            ValueError(f"get_path_from_url: {url!r} is no URL that starts with http://, https:// or file://")
        )
    path = _map_path(url, root_dir)
    if not (os.path.exists(path) and check_exist and _md5check(path, md5sum)):
        path = _download(url, root_dir, md5sum)
    if decompress and _is_archive(path):
        path = _decompress(path)
    return path


def _is_archive(path):
    if zipfile.is_zipfile(path):
        return True
    try:
        return tarfile.is_tarfile(path)
    except (EOFError, zlib.error):  # a packed file that is cut off; unpacking says so
        return True


def _map_path(url, root_dir):
    return os.path.join(root_dir, os.path.basename(url.split("?")[0]))


def _get_unique_endpoints(trainer_endpoints):
    """One address of each machine."""
    found = {}
    for endpoint in trainer_endpoints:
        found.setdefault(endpoint.split(":")[0], endpoint)
    return set(found.values())


def _md5check(path, md5sum=None):
    from proa.utils.fetching import md5_is

    return md5_is(path, md5sum)


def _download(url, path, md5sum=None, method="get"):
    """Fetches a file into the folder `path`; it appears there whole, or not at all."""
    from proa.utils.fetching import fetch

    os.makedirs(path, exist_ok=True)
    return fetch(url, _map_path(url, path), md5sum, DOWNLOAD_RETRY_LIMIT)


def _decompress(path):
    """Unpacks an archive beside it, unless that was done; the path of what was in it.

    Members that would leave the folder are refused, and links out of it.
    """
    folder = os.path.dirname(path)
    is_tar = not zipfile.is_zipfile(path)
    with (
        # The others: members that are a file and a folder.
        damage_named("no whole archive", path, (IsADirectoryError, NotADirectoryError, FileExistsError)),
        tarfile.open(path) if is_tar else zipfile.ZipFile(path) as archive,
    ):
        names = archive.getnames() if is_tar else archive.namelist()
        for name in names:
            if not name:
                raise _C.located(ValueError(f"download: {path} has a member without a name"))
            if name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/"):
                raise _C.located(ValueError(f"download: {path} has a member outside of its folder: {name!r}"))
            if max(map(len, map(os.fsencode, name.split("/")))) > 255:
                raise _C.located(ValueError(f"download: {path} has a member with too long a name: {name[:80]!r}..."))
        top = _top(names, path)
        if not os.path.exists(os.path.join(folder, top)):
            # Elsewhere first: what is there is whole, also when this is ended in the middle.
            with tempfile.TemporaryDirectory(prefix=f"{top}.", dir=folder or ".") as place:
                target = place if _is_rooted(names) else os.path.join(place, top)
                archive.extractall(target, **({"filter": "data"} if is_tar else {}))
                if not os.path.lexists(os.path.join(place, top)):
                    raise _C.located(ValueError(f"download: {path} holds nothing that can be unpacked"))
                os.rename(os.path.join(place, top), os.path.join(folder, top))
    return os.path.join(folder, top)


def _first(name):
    return name.removeprefix("./").split("/")[0]


def _is_rooted(names):
    """Whether all members lie in one folder, or there is one member."""
    return len({_first(name) for name in names if _first(name)}) == 1


def _top(names, path):
    if _is_rooted(names):
        return next(_first(name) for name in names if _first(name))
    return os.path.splitext(os.path.basename(path).replace(".tar", ""))[0]
