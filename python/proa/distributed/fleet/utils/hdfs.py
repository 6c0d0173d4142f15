"""HDFSClient: files in Hadoop, by its own command; nothing of Hadoop is linked into the package.

Each method is one or a few runs of `hadoop fs -...`. Paths are handed over as they are, never through a shell: blanks and
quotes in names are ordinary characters.
"""

import os
import subprocess
import time

from proa import _C
from proa.distributed.fleet.utils.fs import (
    FS,
    ExecuteError,
    FSFileExistsError,
    FSFileNotExistsError,
    FSShellCmdAborted,
    FSTimeOut,
)

__all__ = ["HDFSClient"]

_TRIES = 5
_ABORTED = 134


class HDFSClient(FS):
    """Hadoop's file system, by the command `<hadoop_home>/bin/hadoop fs`.

    Args:
        hadoop_home (str): the folder of Hadoop's programs.
        configs (dict|None): settings, such as {"fs.default.name": "hdfs://host:54310", "hadoop.job.ugi": "name,password"}.
        time_out (int): milliseconds that a method may take, with what it tries again.
        sleep_inter (int): milliseconds before the next try.

    Raises (by the methods):
        FileNotFoundError: there is no such command.
        FSFileNotExistsError, FSFileExistsError: as the methods say.
        ExecuteError: Hadoop refuses, also when it is asked again; with its last words.
        FSTimeOut: it takes longer than `time_out`.

    Examples:
        >>> client = proa.distributed.fleet.utils.HDFSClient("/no/hadoop", {"fs.default.name": "hdfs://host:54310"})
        >>> client.need_upload_download()
        True
    """

    def __init__(self, hadoop_home, configs, time_out=5 * 60 * 1000, sleep_inter=1000):
        if configs is not None and not isinstance(configs, dict):
            raise _C.located(TypeError(f"HDFSClient: configs must be a dict, not {type(configs).__name__}"))
        for name, value in (("time_out", time_out), ("sleep_inter", sleep_inter)):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
                raise _C.located(ValueError(f"HDFSClient: {name} must be milliseconds, not {value!r}"))
        self._command = [os.path.join(os.fspath(hadoop_home), "bin", "hadoop"), "fs"]
        self._command += [f"-D{key}={value}" for key, value in (configs or {}).items()]
        self._seconds, self._pause = time_out / 1000.0, sleep_inter / 1000.0

    # Runs of the command -----------------------------------------------------

    def _run(self, *arguments):
        """(exit code, output, complaints) of one run."""
        try:
            done = subprocess.run(
                [*self._command, *arguments],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=self._seconds,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except FileNotFoundError:
            program = self._command[0]
            raise _C.located(
                FileNotFoundError(f"HDFSClient: there is no program {program}; hadoop_home is Hadoop's folder")
            ) from None
        except subprocess.TimeoutExpired:
            raise _C.located(
                FSTimeOut(f"hadoop fs {' '.join(arguments)}: not done after {self._seconds:g} seconds")
            ) from None
        if done.returncode == _ABORTED:
            raise _C.located(
                FSShellCmdAborted(f"hadoop fs {' '.join(arguments)}: aborted; {done.stderr.strip()[-500:]}")
            )
        return done.returncode, done.stdout, done.stderr

    def _insist(self, *arguments, fine=(0,)):
        """(exit code, output) of a run whose code is one of `fine`; others are tried again."""
        end = time.monotonic() + self._seconds
        for left in range(_TRIES - 1, -1, -1):
            code, out, complaints = self._run(*arguments)
            if code in fine:
                return code, out
            if not left or time.monotonic() + self._pause > end:
                break
            time.sleep(self._pause)
        raise _C.located(
            ExecuteError(
                f"hadoop fs {' '.join(arguments)}: exit code {code}; {complaints.strip()[-500:] or 'no words'}"
            )
        )

    def _listed(self, fs_path):
        """[(is a folder, bytes, full path)] of what is in a folder."""
        rows = []
        for line in self._insist("-ls", fs_path)[1].splitlines():
            # rights, copies, owner, group, bytes, day, hour, path; the first line says how many there are.
            fields = line.split(None, 7)
            if len(fields) == 8:
                rows.append((fields[0].startswith("d"), int(fields[4]), fields[7]))
        return rows

    # What is there -----------------------------------------------------------

    def is_exist(self, fs_path):
        """Whether there is a file or folder of this name."""
        return self._insist("-test", "-e", fs_path, fine=(0, 1))[0] == 0

    def is_dir(self, fs_path):
        """Whether it is a folder; False if it is not there."""
        return self._insist("-test", "-d", fs_path, fine=(0, 1))[0] == 0

    def is_file(self, fs_path):
        """Whether it is there and no folder."""
        return self.is_exist(fs_path) and not self.is_dir(fs_path)

    def ls_dir(self, fs_path):
        """(folders, files) in a folder, names without the folder's; two empty lists if it is not there."""
        if not self.is_exist(fs_path):
            return [], []
        rows = self._listed(fs_path)
        folders = [os.path.basename(path) for is_folder, _, path in rows if is_folder]
        return folders, [os.path.basename(path) for is_folder, _, path in rows if not is_folder]

    def list_dirs(self, fs_path):
        """Names of the folders in a folder."""
        return self.ls_dir(fs_path)[0]

    def list_files_info(self, path_list):
        """[{"path": full path, "size": bytes}] of all files of some folders, by path."""
        found = []
        for folder in path_list:
            found += [{"path": path, "size": size} for is_folder, size, path in self._listed(folder) if not is_folder]
        return sorted(found, key=lambda info: info["path"])

    def cat(self, fs_path=None):
        """The text of a file; "" if there is none."""
        return self._insist("-cat", fs_path)[1].rstrip("\n") if self.is_file(fs_path) else ""

    def need_upload_download(self):
        """Whether files must be brought here before they are read: True."""
        return True

    # What changes it ---------------------------------------------------------

    def mkdirs(self, fs_path):
        """Makes a folder, and those that it is in."""
        self._insist("-mkdir", "-p", fs_path)

    def delete(self, fs_path):
        """Removes a file, or a folder with all that is in it; nothing if it is not there."""
        if self.is_exist(fs_path):
            self._insist("-rm", "-r", fs_path)

    def touch(self, fs_path, exist_ok=True):
        """Makes an empty file if there is none.

        Raises:
            FSFileExistsError: there is one, and `exist_ok` is false.
        """
        if self.is_exist(fs_path):
            if exist_ok:
                return
            raise _C.located(FSFileExistsError(f"touch: {fs_path} is there already"))
        self._insist("-touchz", fs_path)

    def mv(self, fs_src_path, fs_dst_path, overwrite=False, test_exists=True):
        """Gives a file or folder another name.

        Args:
            overwrite (bool): removes what has the new name.
            test_exists (bool): look first whether the one is there and the other is not.

        Raises:
            FSFileNotExistsError: there is nothing to move.
            FSFileExistsError: the new name is taken, and `overwrite` is false.
        """
        if overwrite:
            self.delete(fs_dst_path)
        elif test_exists and self.is_exist(fs_dst_path):
            raise _C.located(FSFileExistsError(f"mv: {fs_dst_path} is there already; overwrite=True replaces it"))
        if test_exists and not self.is_exist(fs_src_path):
            raise _C.located(FSFileNotExistsError(f"mv: there is no {fs_src_path}"))
        self._insist("-mv", fs_src_path, fs_dst_path)

    def upload(self, local_path, fs_path, multi_processes=5, overwrite=False):
        """Copies a file, or what is in a folder, from here to there.

        Args:
            local_path (str): a file or folder of this machine.
            fs_path (str): where it goes.
            multi_processes (int): accepted; the command is given all files at once.
            overwrite (bool): removes what is there before.

        Raises:
            FSFileNotExistsError: there is no `local_path`.
        """
        if not os.path.exists(local_path):
            raise _C.located(FSFileNotExistsError(f"upload: there is no {local_path}"))
        files = [local_path]
        if os.path.isdir(local_path):
            files = [os.path.join(local_path, name) for name in sorted(os.listdir(local_path))]
        if overwrite:
            self.delete(fs_path)
        if os.path.isdir(local_path):
            self.mkdirs(fs_path)
        if files:
            self._insist("-put", *files, fs_path)

    def upload_dir(self, local_dir, dest_dir, overwrite=False):
        """Copies a folder with its name into a folder there."""
        local_dir, dest_dir = local_dir.rstrip("/"), dest_dir.rstrip("/")
        if not os.path.isdir(local_dir):
            raise _C.located(FSFileNotExistsError(f"upload_dir: there is no folder {local_dir}"))
        if overwrite:
            self.delete(f"{dest_dir}/{os.path.basename(local_dir)}")
        self.mkdirs(dest_dir)
        self._insist("-put", local_dir, dest_dir)

    def download(self, fs_path, local_path, multi_processes=5, overwrite=False):
        """Copies a file, or what is in a folder, from there to here.

        Args:
            fs_path (str): a file or folder there.
            local_path (str): where it goes; a folder for a folder.
            multi_processes (int): accepted; the command is given all files at once.
            overwrite (bool): removes what is at `local_path` before.

        Raises:
            FSFileNotExistsError: there is no `fs_path`.
        """
        from proa.distributed.fleet.utils.fs import LocalFS

        if not self.is_exist(fs_path):
            raise _C.located(FSFileNotExistsError(f"download: there is no {fs_path}"))
        if overwrite:
            LocalFS().delete(local_path)
        if not self.is_dir(fs_path):
            self._insist("-get", fs_path, local_path)
            return
        os.makedirs(local_path, exist_ok=True)
        names = [path for _, _, path in self._listed(fs_path)]
        if names:
            self._insist("-get", *names, local_path)
