"""Files where a job keeps its checkpoints: on this machine (LocalFS), or in Hadoop (HDFSClient)."""

import os
import shutil

from proa import _C
from proa.framework.names import lazy as _lazy

__all__ = [
    "ExecuteError",
    "FS",
    "FSFileExistsError",
    "FSFileNotExistsError",
    "FSShellCmdAborted",
    "FSTimeOut",
    "LocalFS",
]

__getattr__, __dir__ = _lazy(__name__, {"HDFSClient": "proa.distributed.fleet.utils.hdfs"})


class ExecuteError(Exception):
    """A command that the file system works by failed."""


class FSTimeOut(Exception):
    """It took longer than it may."""


class FSShellCmdAborted(ExecuteError):
    """A command that the file system works by was aborted."""


class FSFileExistsError(Exception):
    """The target is there already."""


class FSFileNotExistsError(Exception):
    """The source is not there."""


class FS:
    """Base of file systems."""


class LocalFS(FS):
    """The file system of this machine.

    Examples:
        >>> fs = proa.distributed.fleet.utils.LocalFS()
        >>> fs.is_exist("/no/such/file")
        False
    """

    def ls_dir(self, fs_path):
        """(folders, files) in a folder, by name; two empty lists if it is not there."""
        if not self.is_exist(fs_path):
            return [], []
        names = os.listdir(fs_path)
        folders = [name for name in names if os.path.isdir(os.path.join(fs_path, name))]
        return folders, [name for name in names if name not in folders]

    def list_dirs(self, fs_path):
        """Names of the folders in a folder."""
        return self.ls_dir(fs_path)[0]

    def mkdirs(self, fs_path):
        """Makes a folder, and those that it is in."""
        if os.path.isfile(fs_path):
            raise _C.located(FSFileExistsError(f"mkdirs: {fs_path} is a file"))
        os.makedirs(fs_path, exist_ok=True)

    def rename(self, fs_src_path, fs_dst_path):
        """Gives a file or folder another name."""
        os.rename(fs_src_path, fs_dst_path)

    def mv(self, src_path, dst_path, overwrite=False, test_exists=False):
        """`rename` that looks first."""
        if not self.is_exist(src_path):
            raise _C.located(FSFileNotExistsError(f"mv: there is no {src_path}"))
        if self.is_exist(dst_path):
            if not overwrite:
                raise _C.located(FSFileExistsError(f"mv: {dst_path} is there already; overwrite=True replaces it"))
            self.delete(dst_path)
        self.rename(src_path, dst_path)

    def delete(self, fs_path):
        """Removes a file, or a folder with all that is in it; nothing if it is not there."""
        if os.path.isfile(fs_path):
            os.remove(fs_path)
        elif os.path.isdir(fs_path):
            shutil.rmtree(fs_path)

    def touch(self, fs_path, exist_ok=True):
        """Makes an empty file if there is none."""
        if self.is_exist(fs_path):
            if exist_ok:
                return
            raise _C.located(FSFileExistsError(f"touch: {fs_path} is there already"))
        with open(fs_path, "a"):
            pass

    def is_file(self, fs_path):
        return os.path.isfile(fs_path)

    def is_dir(self, fs_path):
        return os.path.isdir(fs_path)

    def is_exist(self, fs_path):
        return os.path.exists(fs_path)

    def need_upload_download(self):
        return False
