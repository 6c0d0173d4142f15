"""Where files of data sets lie, and how they are fetched."""

import os

from proa import _C
from proa.framework.names import missing as _missing

__all__ = ["DATA_HOME", "cluster_files_reader", "download", "md5file", "split"]

__getattr__ = _missing(__name__)

DATA_HOME = os.path.join(
    os.environ.get("PADDLE_HOME") or os.path.join(os.path.expanduser("~"), ".cache", "paddle"), "dataset"
)


def md5file(fname):
    """The md5 sum of a file, in hexadecimal digits."""
    import hashlib

    total = hashlib.md5(usedforsecurity=False)
    with open(fname, "rb") as file:
        while piece := file.read(1 << 20):
            total.update(piece)
    return total.hexdigest()


def download(url, module_name, md5sum, save_name=None):
    """The path of a file of a data set, fetched if it is not there.

    Args:
        url (str): where it comes from.
        module_name (str): the folder in DATA_HOME.
        md5sum (str): of the file.
        save_name (str, optional): its name; the end of the URL unless given.

    Raises:
        RuntimeError: it could not be fetched.
    """
    from proa.utils.download import _download

    folder = os.path.join(DATA_HOME, module_name)
    path = os.path.join(folder, save_name or url.split("/")[-1])
    if os.path.exists(path) and (not md5sum or md5file(path) == md5sum):
        return path
    fetched = _download(url, folder, md5sum)
    if fetched != path:
        os.replace(fetched, path)
    return path


def split(reader, line_count, suffix="%05d.pickle", dumper=None):
    """Writes the samples of a reader into files of `line_count` each, by `dumper(samples, file)`."""
    if not callable(dumper):
        raise _C.located(TypeError("split: give dumper, a function of a list and a file"))
    held, index = [], 0
    for sample in reader():
        held.append(sample)
        if len(held) == line_count:
            with open(suffix % index, "wb") as file:
                dumper(held, file)
            held, index = [], index + 1
    if held:
        with open(suffix % index, "wb") as file:
            dumper(held, file)


def cluster_files_reader(files_pattern, trainer_count, trainer_id, loader=None):
    """A reader of the samples in the files of one of several trainers, by `loader(file)`."""
    import glob

    if not callable(loader):
        raise _C.located(TypeError("cluster_files_reader: give loader, a function of a file"))

    def samples():
        for index, path in enumerate(sorted(glob.glob(files_pattern))):
            if index % trainer_count == trainer_id:
                with open(path, "rb") as file:
                    yield from loader(file)

    return samples
