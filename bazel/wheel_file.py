"""Writing the zip file that a wheel is (PEP 427); equal contents give equal bytes."""

import base64
import hashlib
import os
import zipfile

_DATE = (2020, 1, 1, 0, 0, 0)


class Writer:
    """A zip file that remembers the RECORD line of each entry."""

    def __init__(self, path):
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self._record = []

    def add(self, name, data):
        """Adds bytes under a name."""
        info = zipfile.ZipInfo(name, _DATE)
        mode = 0o755 if ".so" in os.path.basename(name) else 0o644
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self._record.append(f"{name},sha256={digest},{len(data)}")

    def close(self, record):
        """Writes the RECORD, whose name is given, and closes the file."""
        self._zip.writestr(zipfile.ZipInfo(record, _DATE), "\n".join(self._record + [record + ",,"]) + "\n")
        self._zip.close()
