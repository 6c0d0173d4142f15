"""One file by its URL: it appears whole, or not at all. What came before an interruption is not fetched again."""

import fcntl
import hashlib
import http.client
import os
import sys
import urllib.error
import urllib.request

from proa import _C

__all__ = ["fetch", "md5_is"]


def md5_is(path, md5sum=None):
    """Whether a file has this md5 sum; true if there is none to compare with."""
    if md5sum is None:
        return True
    total = hashlib.md5(usedforsecurity=False)
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            total.update(piece)
    return total.hexdigest() == md5sum


def fetch(url, target, md5sum=None, tries=3):
    """Fetches a file, of which several processes may ask at once: one fetches, the others wait.

    It grows as `target`.part. With a sum that decides whether the pieces fit together, it goes on from there after an
    interruption, of this process too; without one only where the server says that the file is the same. On a terminal a line on
    standard error shows how far it is.

    Args:
        url (str): http, https, or file.
        target (str): the path.
        md5sum (str, optional): of the file.
        tries (int): how often it is asked for.

    Returns:
        str: target.

    Raises:
        RuntimeError: it could not be fetched, or has another sum.
    """
    partial = f"{target}.part"
    file, waited = _locked(partial)
    with file:
        if waited and os.path.exists(target) and md5_is(target, md5sum):
            os.remove(partial)
            return target
        transfer = _Transfer(url, file, md5sum is not None)
        for _ in range(tries):
            try:
                transfer.go_on()
            except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
                problem = str(error)
                continue
            if md5_is(partial, md5sum):
                os.replace(partial, target)
                return target
            problem = "its md5 sum is another"
            transfer.start_anew()
        kept = md5sum is not None and transfer.size()
        if not kept:
            os.remove(partial)
    kept = f"; the first {kept} bytes are kept in {partial}" if kept else ""
    raise _C.located(
        RuntimeError(f"download: {url} could not be fetched ({problem}); put the file at {target} by hand{kept}")
    )


def _locked(path):
    """(the file, opened to append and locked, whether another process had it before)."""
    waited = False
    while True:
        file = open(path, "ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waited = True
            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                return file, waited
        except FileNotFoundError:
            pass
        waited = True  # and it is done: the file has its name
        file.close()


class _Transfer:
    """What a file that grows knows of its source.

    Args:
        url (str): where it comes from.
        file (io.BufferedWriter): opened to append.
        checked (bool): a sum will decide whether what is there already belongs to the file.
    """

    def __init__(self, url, file, checked):
        self._url, self._file, self._checked = url, file, checked
        self._validator = None
        if not checked:
            self.start_anew()

    def size(self):
        """Bytes that are there."""
        self._file.flush()
        return os.fstat(self._file.fileno()).st_size

    def start_anew(self):
        """Drops what is there."""
        self._file.flush()
        self._file.truncate(0)
        self._validator = None

    def go_on(self):
        """Asks for what is missing.

        Raises:
            OSError: the server cannot be reached, refuses, or ends too early.
        """
        if self._validator is None and not self._checked:
            self.start_anew()
        request = urllib.request.Request(self._url)
        if have := self.size():
            request.add_header("Range", f"bytes={have}-")
            if self._validator is not None:
                request.add_header("If-Range", self._validator)
        try:
            source = urllib.request.urlopen(request, timeout=60)  # noqa: S310
        except urllib.error.HTTPError as error:
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                self.start_anew()  # more is there than the file has
            raise
        with source:
            if have and not self._continues(source, have):
                self.start_anew()
                have = 0
            self._validator = _validator(source.headers)
            self._take(source, have)

    def _continues(self, source, have):
        return getattr(source, "status", None) == http.HTTPStatus.PARTIAL_CONTENT and (
            source.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        )

    def _take(self, source, have):
        length = source.headers.get("Content-Length")
        total = have + int(length) if length is not None else None
        shown = _Shown(os.path.basename(self._file.name).removesuffix(".part"), total)
        try:
            while piece := source.read(1 << 16):
                self._file.write(piece)
                have += len(piece)
                shown.update(have)
        finally:
            shown.end()
            self._file.flush()
        if total is not None and have < total:
            raise _C.located(OSError(f"the connection ended after {have} of {total} bytes"))


def _validator(headers):
    """What the server calls this version of the file, if that is exact."""
    tag = headers.get("ETag")
    return tag if tag and not tag.startswith("W/") else headers.get("Last-Modified")


class _Shown:
    """How far a file is, on the terminal of standard error; nowhere else."""

    def __init__(self, name, total):
        self._name, self._total, self._last = name, total, -1
        self._on = bool(getattr(sys.stderr, "isatty", lambda: False)())

    def update(self, have):
        step = 100 * have // self._total if self._total else have >> 20
        if self._on and step != self._last:
            self._last = step
            far = f"{step:3d} % of {self._total / 1e6:.1f} MB" if self._total else f"{have / 1e6:.1f} MB"
            sys.stderr.write(f"\r{self._name}: {far}")
            sys.stderr.flush()

    def end(self):
        if self._on and self._last >= 0:
            sys.stderr.write("\n")
