"""The file of `proa.save`: tensors and a tree of plain Python values, in the safetensors layout.

    8 bytes      length of the header, little-endian
    header       JSON: {name: {dtype, shape, data_offsets}, ..., "__metadata__": {...}}
    the rest     the tensors' bytes, without gaps

Any reader of safetensors gets the tensors. `__metadata__` (strings only) holds
besides: `proa.format`; `proa.tree`, the tree as JSON; `proa.checksums`, the CRC-32
of each tensor; `proa.header`, the CRC-32 of the header with that value as zeros.

A file is untrusted: nothing in it is executed, and every size is checked against
the file before memory is taken. Files are written beside their place, flushed to
the disk and renamed, so that a reader sees the old file or the new one.
"""

import json
import os
import re
import tempfile
import zlib

import numpy as np

from proa import _C

FORMAT = "1"
# name -> (NumPy dtype of the bytes, bytes of an element)
DTYPES = {
    "BOOL": ("bool", 1),
    "U8": ("uint8", 1),
    "I8": ("int8", 1),
    "I16": ("int16", 2),
    "I32": ("int32", 4),
    "I64": ("int64", 8),
    "F16": ("float16", 2),
    "BF16": ("uint16", 2),
    "F32": ("float32", 4),
    "F64": ("float64", 8),
    "C64": ("complex64", 8),
    "C128": ("complex128", 16),
    "U16": ("uint16", 2),
    "U32": ("uint32", 4),
    "U64": ("uint64", 8),
}
_MAX_HEADER = 100 << 20
_NO_CHECKSUM = "00000000"


class FileError(ValueError):
    """A file that is cut off, altered, or of another kind; says which file and where."""


def checksum(buffer):
    """CRC-32 as eight hexadecimal digits."""
    return f"{zlib.crc32(buffer) & 0xFFFFFFFF:08x}"


def _header(arrays, tree):
    """The header's bytes, padded so that the tensors start at a multiple of 64."""
    entries, sums, offset = {}, {}, 0
    for name, (dtype, array) in arrays.items():
        data = memoryview(np.ascontiguousarray(array)).cast("B") if array.size else b""
        entries[name] = {
            "dtype": dtype,
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        sums[name] = checksum(data)
        offset += array.nbytes
    entries["__metadata__"] = {
        "proa.format": FORMAT,
        "proa.tree": json.dumps(tree, ensure_ascii=True, allow_nan=False),
        "proa.checksums": json.dumps(sums, ensure_ascii=True),
        "proa.header": _NO_CHECKSUM,
    }
    text = json.dumps(entries, ensure_ascii=True).encode()
    text += b" " * (-(8 + len(text)) % 64)
    field = b'"proa.header": "%s"'
    return text.replace(field % _NO_CHECKSUM.encode(), field % checksum(text).encode())


def write(path, arrays, tree):
    """Writes a file, or leaves what was there.

    Args:
        path: where.
        arrays: name -> (dtype name of this format, NumPy array of its bytes).
        tree: what JSON can hold.
    """
    header = _header(arrays, tree)

    def put(stream):
        stream.write(len(header).to_bytes(8, "little"))
        stream.write(header)
        for _, array in arrays.values():
            if array.size:
                stream.write(memoryview(np.ascontiguousarray(array)).cast("B"))

    write_atomically(path, put)


def write_atomically(path, put):
    """Calls `put(stream)` on a new file beside `path` and renames it when it is safely on the disk."""
    path = os.fspath(path)
    folder = os.path.dirname(path) or "."
    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as stream:
            put(stream)
            stream.flush()
            os.fsync(stream.fileno())
        _like_a_new_file(temporary)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _like_a_new_file(path):
    """mkstemp makes files for the owner only; gives `path` the mode that open() would have."""
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(path, 0o666 & ~mask)


def read(path):
    """(arrays, tree) of a file: name -> (dtype name, NumPy array); tree is None in other programs' files.

    Raises:
        FileNotFoundError: there is no such file.
        FileError: it is not such a file, is cut off, or was altered.
    """
    path = os.fspath(path)
    with open(path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        text = _read_header(path, stream, size)
        entries, metadata = _parse_header(path, text)
        start = 8 + len(text)
        layout = _check_layout(path, entries, size - start)
        ours = _is_ours(metadata)
        sums = _metadata_json(path, metadata, "proa.checksums") if ours else {}
        tree = _metadata_json(path, metadata, "proa.tree") if ours else None
        arrays = {}
        for name, dtype, shape, begin, end in layout:
            stream.seek(start + begin)
            data = bytearray(end - begin)
            if stream.readinto(data) != len(data):
                raise _C.located(FileError(f"{path}: tensor {name!r} is cut off"))
            if ours and sums.get(name) != checksum(data):
                raise _C.located(
                    FileError(f"{path}: tensor {name!r}, at byte {start + begin}, was altered: its checksum differs")
                )
            if dtype == "BOOL" and max(data, default=0) > 1:
                raise _C.located(FileError(f"{path}: tensor {name!r} holds bytes that are neither 0 nor 1"))
            arrays[name] = dtype, np.frombuffer(data, DTYPES[dtype][0]).reshape(shape)
    return arrays, tree


def _read_header(path, stream, size):
    start = stream.read(8)
    if start[:1] == b"\x80":
        raise _C.located(
            FileError(
                f"{path}: this is a pickle; pickles can run code and are not loaded. Save the values again with proa.save"
            )
        )
    if len(start) < 8:
        raise _C.located(FileError(f"{path}: {size} bytes are no file of tensors; the header's length takes 8"))
    length = int.from_bytes(start, "little")
    if length > _MAX_HEADER or length > size - 8:
        raise _C.located(
            FileError(
                f"{path}: the header should take {length} bytes, but the file has {size - 8} after its length; "
                "it is cut off, or no file of tensors"
            )
        )
    text = stream.read(length)
    if text[:1] != b"{":
        raise _C.located(FileError(f"{path}: byte 8 should start the header with '{{'; this is no file of tensors"))
    return text


def _unique(pairs):
    keys = dict(pairs)
    if len(keys) != len(pairs):
        raise _C.located(ValueError("a name is there twice"))
    return keys


def _no_constant(text):
    raise _C.located(ValueError(f"{text} is no JSON number"))


def parse_json(path, what, text):
    """JSON without repeated names, NaN or depth enough to overflow a stack."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise _C.located(FileError(f"{path}: {what} is not valid: {error}")) from None


def _is_ours(metadata):
    # By any of the keys, so that a file with an altered one is not taken for a stranger's.
    return any(key.startswith("proa.") for key in metadata)


def _parse_header(path, text):
    entries = parse_json(path, "the header", text)
    metadata = entries.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise _C.located(FileError(f"{path}: __metadata__ must map names to strings"))
    if _is_ours(metadata):
        if metadata.get("proa.format") != FORMAT:
            raise _C.located(
                FileError(
                    f"{path}: format {metadata.get('proa.format')!r} is newer than this version, which reads {FORMAT!r}"
                )
            )
        field = b'"proa.header": "%s"'
        given = metadata.get("proa.header", "")
        if not re.fullmatch("[0-9a-f]{8}", given):
            raise _C.located(FileError(f"{path}: __metadata__ has no checksum of the header"))
        blank = text.replace(field % given.encode(), field % _NO_CHECKSUM.encode())
        if checksum(blank) != given:
            raise _C.located(FileError(f"{path}: the header was altered: its checksum differs"))
    return entries, metadata


def _metadata_json(path, metadata, name):
    if name not in metadata:
        raise _C.located(FileError(f"{path}: __metadata__ has no {name}"))
    return parse_json(path, name, metadata[name])


def _is_size(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _check_layout(path, entries, space):
    """[(name, dtype, shape, begin, end)] in the order of the file, after checking every size."""
    layout = []
    for name, entry in entries.items():
        where = f"{path}: tensor {name!r}"
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise _C.located(FileError(f"{where}: its entry needs exactly dtype, shape and data_offsets"))
        dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(dtype, str) or dtype not in DTYPES:
            raise _C.located(FileError(f"{where}: there is no element type {dtype!r}"))
        if not isinstance(shape, list) or len(shape) > 32 or not all(map(_is_size, shape)):
            raise _C.located(FileError(f"{where}: its shape is not a list of sizes: {str(shape)[:80]}"))
        if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_size, offsets)):
            raise _C.located(FileError(f"{where}: its data_offsets are not two numbers: {str(offsets)[:80]}"))
        needed = DTYPES[dtype][1]
        for d in shape:
            needed *= d
        begin, end = offsets
        if end - begin != needed or end > space:
            raise _C.located(
                FileError(
                    f"{where}: {shape} {dtype} takes {needed} bytes, but it lies at {begin} to {end} of {space}; "
                    "the file is cut off or was altered"
                )
            )
        layout.append((name, dtype, shape, begin, end))
    layout.sort(key=lambda item: item[3:])
    position = 0
    for name, _, _, begin, end in layout:
        if begin != position:
            raise _C.located(
                FileError(f"{path}: tensor {name!r} starts at {begin}, but the one before ends at {position}")
            )
        position = end
    if position != space:
        raise _C.located(FileError(f"{path}: the tensors end at {position}, but {space} bytes follow the header"))
    return layout
