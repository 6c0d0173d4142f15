"""The folders of checkpoints: their names, which of them are complete, and their manifests."""

import json
import os
import re
import shutil

from proa import _C
from proa.framework import container
from proa.framework.container import FileError

__all__ = ["MANIFEST", "complete", "new_folder", "prune", "read_manifest", "write_manifest"]

MANIFEST = "manifest.json"
PLAIN = "plain.safetensors"
_FORMAT = "proa.checkpoint 1"
_NAME = re.compile(r"step_(\d{1,18})(?:_(\d{1,9}))?")  # the second number: of another checkpoint of that step


def _found(folder):
    """[(step, number, path)] of all that are called like checkpoints."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    found = [(match, os.path.join(folder, match[0])) for match in map(_NAME.fullmatch, names) if match]
    return sorted((int(m[1]), int(m[2] or 0), path) for m, path in found if os.path.isdir(path))


def complete(folder):
    """[(step, path)] of the complete checkpoints of a folder, the oldest first.

    Args:
        folder (str): as `save` was given it.

    Examples:
        >>> import tempfile
        >>> proa.distributed.checkpoint.complete(tempfile.gettempdir() + "/nothing_here")
        []
    """
    return [(step, path) for step, _, path in _found(folder) if os.path.exists(os.path.join(path, MANIFEST))]


def new_folder(folder, step):
    """Makes the folder of a new checkpoint; those that somebody began and did not complete go."""
    os.makedirs(folder, exist_ok=True)
    there = _found(folder)
    for _, _, path in there:
        if not os.path.exists(os.path.join(path, MANIFEST)):
            shutil.rmtree(path, ignore_errors=True)
    numbers = [number for at, number, path in there if at == step and os.path.exists(path)]
    path = os.path.join(folder, f"step_{step}_{max(numbers) + 1}" if numbers else f"step_{step}")
    os.mkdir(path)
    return path


def prune(folder, keep):
    """Takes away all but the last `keep` complete checkpoints: first the manifest, then the rest."""
    for _, path in complete(folder)[:-keep]:
        os.unlink(os.path.join(path, MANIFEST))
        shutil.rmtree(path, ignore_errors=True)


def write_manifest(path, manifest):
    """Completes a checkpoint."""
    manifest = {"format": _FORMAT, **manifest}
    text = json.dumps(manifest, sort_keys=True)
    data = json.dumps({"checksum": container.checksum(text.encode()), "manifest": manifest}, sort_keys=True)
    container.write_bytes(os.path.join(path, MANIFEST), data.encode())


def read_manifest(path):
    """The manifest of a complete checkpoint, whose files have been seen to be there in their sizes.

    Raises:
        FileError: it was altered, is of a newer version, or a file is not what it says.
    """
    name = os.path.join(path, MANIFEST)
    with container.open_regular(name) as stream:
        data = container.parse_json(name, "the manifest", stream.read())
    manifest = data.get("manifest") if isinstance(data, dict) else None
    if not isinstance(manifest, dict):
        raise _C.located(FileError(f"{name}: this is no manifest"))
    if container.checksum(json.dumps(manifest, sort_keys=True).encode()) != data.get("checksum"):
        raise _C.located(FileError(f"{name}: it was altered: its checksum differs"))
    if manifest.get("format") != _FORMAT:
        raise _C.located(
            FileError(f"{name}: format {manifest.get('format')!r} is newer than this version, which reads {_FORMAT!r}")
        )
    files, tensors = manifest.get("files"), manifest.get("tensors")
    if not isinstance(files, dict) or not isinstance(tensors, dict) or not _is_size(manifest.get("step")):
        raise _C.located(FileError(f"{name}: files, tensors or step are missing"))
    for file, size in files.items():
        at = os.path.join(path, file)
        if os.path.basename(file) != file or file in ("", os.curdir, os.pardir) or not _is_size(size):
            raise _C.located(FileError(f"{name}: {file!r} of {size!r} bytes is no file of a checkpoint"))
        if not os.path.isfile(at) or os.path.getsize(at) != size:
            raise _C.located(FileError(f"{name}: {file} is missing, or has not the {size} bytes that it should have"))
    for tensor, entry in tensors.items():
        _check_entry(name, tensor, entry, files)
    return manifest


def _is_size(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _check_entry(path, name, entry, files):
    """Raises unless the entry of a tensor says where its pieces are."""
    good = isinstance(entry, dict) and set(entry) == {"dtype", "shape", "pieces"} and entry["dtype"] in container.DTYPES
    good = good and _are_sizes(entry["shape"]) and isinstance(entry["pieces"], list)
    good = good and all(_is_piece(piece, entry["shape"], files) for piece in entry["pieces"])
    if not good:
        raise _C.located(FileError(f"{path}: the entry of tensor {name!r} is not valid: {str(entry)[:120]}"))


def _are_sizes(value):
    return isinstance(value, list) and len(value) <= 32 and all(map(_is_size, value))


def _is_piece(piece, shape, files):
    if not isinstance(piece, list) or len(piece) != 6:
        return False
    file, key, offset, size, begin, end = piece
    if file not in files or not isinstance(key, str) or not _are_sizes(offset) or not _are_sizes(size):
        return False
    if not len(offset) == len(size) == len(shape) or not _is_size(begin) or not _is_size(end):
        return False
    count = 1
    for at, length, whole in zip(offset, size, shape):
        count *= length
        if at + length > whole:
            return False
    return begin <= end <= count
