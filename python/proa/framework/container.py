"""The file of `proa.save`: tensors and a tree of plain Python values, in the safetensors layout.

    8 bytes      length of the header, little-endian
    header       JSON: {name: {dtype, shape, data_offsets}, ..., "__metadata__": {...}}
    the rest     the tensors' bytes, without gaps

Any reader of safetensors gets the tensors. `__metadata__` (strings only) holds
besides: `proa.format`; `proa.tree`, the tree as JSON; `proa.checksums`, the CRC-32
of each tensor; `proa.header`, the CRC-32 of the header with that value as zeros.

`proa.with`, if there, names by their keys the files that were written together with
this one.

A file is untrusted: nothing in it is executed, and every size is checked against
the file before memory is taken. A reader sees the old file or the new one
(profiler/atomic_file.h).
"""

import dataclasses
import errno
import io
import json
import os
import re
import stat
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


@dataclasses.dataclass
class Contents:
    """What a file holds: name -> (dtype name, NumPy array); a tree of what JSON can hold, or None in files of
    other programs; the file's key; the keys of those that belong to it."""

    arrays: dict
    tree: object
    key: str = ""
    companions: list = dataclasses.field(default_factory=list)


def _header(contents, sums):
    """The header's bytes, padded so that the tensors start at a multiple of 64."""
    entries, offset = {}, 0
    for name, (dtype, array) in contents.arrays.items():
        entries[name] = {
            "dtype": dtype,
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    metadata = {
        "proa.format": FORMAT,
        "proa.tree": json.dumps(contents.tree, ensure_ascii=True, allow_nan=False),
        "proa.checksums": json.dumps(sums, ensure_ascii=True),
        "proa.header": _NO_CHECKSUM,
    }
    if contents.companions:
        metadata["proa.with"] = json.dumps(contents.companions)
    entries["__metadata__"] = metadata
    text = json.dumps(entries, ensure_ascii=True).encode()
    text += b" " * (-(8 + len(text)) % 64)
    field = b'"proa.header": "%s"'
    return text.replace(field % _NO_CHECKSUM.encode(), field % checksum(text).encode())


_PIECE = 1 << 20


def _put(file, contents):
    """Writes the bytes to an _C.AtomicFile and sets the contents' key.

    In pieces that are copied first, so that a checksum is that of what was written even if
    a thread trains meanwhile; the header is written again when the checksums are known.
    """
    sums = dict.fromkeys(contents.arrays, _NO_CHECKSUM)
    header = _header(contents, sums)
    length = len(header).to_bytes(8, "little")
    waiting = bytearray(length + header)
    for name, (_, array) in contents.arrays.items():
        data = memoryview(np.ascontiguousarray(array)).cast("B") if array.size else b""
        crc = 0
        for begin in range(0, len(data), _PIECE):
            piece = bytes(data[begin : begin + _PIECE])
            crc = zlib.crc32(piece, crc)
            waiting += piece
            if len(waiting) >= _PIECE:
                file.write(waiting)
                waiting = bytearray()
        sums[name] = f"{crc:08x}"
    file.write(waiting)
    header = _header(contents, sums)
    file.write_at(0, length + header)
    contents.key = _key(header)


def _key(header):
    return f"{zlib.crc32(header):08x}-{len(header)}"


class _Memory:
    """As _C.AtomicFile, in memory."""

    def __init__(self):
        self.stream = io.BytesIO()

    def write(self, data):
        self.stream.write(data)

    def write_at(self, offset, data):
        self.stream.getbuffer()[offset : offset + len(data)] = data


def write(path, arrays, tree):
    """Writes a file, or leaves what was there.

    Args:
        path: where; a folder that is missing is made. Or an open binary file.
        arrays: name -> (dtype name of this format, NumPy array of its bytes).
        tree: what JSON can hold.

    Raises:
        OSError: with errno and the path; nothing changed.
    """
    contents = Contents(arrays, tree)
    if hasattr(path, "write"):
        memory = _Memory()
        _put(memory, contents)
        path.write(memory.stream.getbuffer())
        return
    with _create(path) as file:
        _put(file, contents)
        file.commit()


def write_bytes(path, data):
    """Writes a file of these bytes, or leaves what was there."""
    with _create(path) as file:
        file.write(data)
        file.commit()


def _create(path):
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    return _C.AtomicFile(os.fsencode(path))


def write_together(files):
    """Writes [(path, arrays, tree)] so that `read_together` finds all of the old or all of the new ones."""
    opened = []
    try:
        contents = [Contents(arrays, tree) for _, arrays, tree in files]
        for path, _, _ in files:
            opened.append(_create(path))
        for file, c in list(zip(opened, contents))[1:]:
            _put(file, c)
        contents[0].companions = [c.key for c in contents[1:]]
        _put(opened[0], contents[0])
        _C.commit_together(opened[0], [(file, c.key) for file, c in zip(opened[1:], contents[1:])])
    finally:
        for file in opened:
            file.close()


def open_regular(path):
    """Opens a file for reading; what is none is refused, and a pipe is not waited for.

    Raises:
        OSError: it is not there, may not be read, or is a folder.
        FileError: it is a pipe, a socket or a device.
    """
    path = os.fspath(path)
    _check_kind(path, os.stat(path).st_mode)  # before it is opened: opening a device may do something
    stream = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY), "rb")  # noqa: SIM115
    try:
        _check_kind(path, os.fstat(stream.fileno()).st_mode)
    except BaseException:
        stream.close()
        raise
    return stream


def _check_kind(path, mode):
    if stat.S_ISDIR(mode):
        raise _C.located(IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path))
    if not stat.S_ISREG(mode):
        kind = "pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"
        raise _C.located(FileError(f"{path}: is a {kind}, not a file"))


def read(path):
    """(arrays, tree) of a file: name -> (dtype name, NumPy array); tree is None in other programs' files.

    Raises:
        FileNotFoundError: there is no such file.
        FileError: it is not such a file, is cut off, or was altered.
    """
    with open_regular(path) as stream:
        contents = read_stream(stream, os.fspath(path))
    return contents.arrays, contents.tree


def read_together(paths):
    """The contents of files that `write_together` wrote, as many as it wrote; None for those that are not there.

    A file that somebody wrote alone since then is taken as it is.
    """
    for attempt in range(1000):
        with open_regular(paths[0]) as stream:
            first = read_stream(stream, paths[0])
            rest = [_member(path, key) for path, key in zip(paths[1:], first.companions)]
            if all(fits for _, fits in rest):
                break
            # Replaced between two readings: once more, and again for files that got their names meanwhile.
            if attempt > 0 and os.path.samestat(os.fstat(stream.fileno()), os.stat(paths[0])):
                break
    return [first, *(contents for contents, _ in rest)]


def _member(path, key):
    """(the contents of a file, whether they are those with the key); those that still wait for the name, too."""
    contents = None
    try:
        with open_regular(path) as stream:
            contents = read_stream(stream, path)
    except FileNotFoundError:
        pass
    if contents is not None and contents.key == key:
        return contents, True
    try:
        with open_regular(_C.staged_path(os.fsencode(path), key)) as stream:
            staged = read_stream(stream, path)
    except FileNotFoundError:
        return contents, False
    return staged, staged.key == key


class Opened:
    """An open file whose header has been read and checked; tensors are read one by one.

    Attributes:
        names (list[str]): of its tensors, in their order.
        tree, key, companions: as in Contents.

    Raises:
        FileError: when it is made, or when `read` finds an altered tensor.
    """

    def __init__(self, stream, path, alone=True):
        self._stream, self._path = stream, path
        base = stream.tell()
        size = stream.seek(0, os.SEEK_END) - base
        stream.seek(base)
        text = _read_header(path, stream, size)
        entries, metadata = _parse_header(path, text)
        start = 8 + len(text)
        self._base, self._start = base, start
        # What follows the tensors is another file's in a stream of several.
        self._layout = {name: rest for name, *rest in _check_layout(path, entries, size - start, alone)}
        self.end = base + start + sum(end - begin for _, _, begin, end in self._layout.values())
        self._ours = _is_ours(metadata)
        self._sums = _metadata_json(path, metadata, "proa.checksums") if self._ours else {}
        self.names, self.key = list(self._layout), _key(text)
        self.tree = _metadata_json(path, metadata, "proa.tree") if self._ours else None
        self.companions = _metadata_json(path, metadata, "proa.with") if "proa.with" in metadata else []
        keys = self.companions
        if not isinstance(keys, list) or not all(re.fullmatch("[0-9a-f]+-[0-9]+", str(key)) for key in keys):
            raise _C.located(FileError(f"{path}: proa.with is no list of keys"))

    def read(self, name):
        """(dtype name, NumPy array) of a tensor."""
        path = self._path
        dtype, shape, begin, end = self._layout[name]
        self._stream.seek(self._base + self._start + begin)
        data = bytearray(end - begin)
        if self._stream.readinto(data) != len(data):
            raise _C.located(FileError(f"{path}: tensor {name!r} is cut off"))
        if self._ours and self._sums.get(name) != checksum(data):
            at = self._start + begin
            raise _C.located(FileError(f"{path}: tensor {name!r}, at byte {at}, was altered: its checksum differs"))
        if dtype == "BOOL" and max(data, default=0) > 1:
            raise _C.located(FileError(f"{path}: tensor {name!r} holds bytes that are neither 0 nor 1"))
        return dtype, np.frombuffer(data, DTYPES[dtype][0]).reshape(shape)


def read_stream(stream, path, alone=True):
    """The Contents of an open file from its position on; to its end, or, if others follow (not `alone`), to theirs."""
    opened = Opened(stream, path, alone)
    arrays = {name: opened.read(name) for name in opened.names}
    stream.seek(opened.end)
    return Contents(arrays, opened.tree, opened.key, opened.companions)


def _beginning(start):
    """Of a page or a pointer that was downloaded in place of the file, what it begins with."""
    return f"; it begins with the text {start.decode()!r}" if start.isascii() and start.decode().isprintable() else ""


def _read_header(path, stream, size):
    start = stream.read(8)
    if len(start) < 8:
        raise _C.located(FileError(f"{path}: {size} bytes are no file of tensors; the header's length takes 8"))
    length = int.from_bytes(start, "little")
    if length > _MAX_HEADER or length > size - 8:
        raise _C.located(
            FileError(
                f"{path}: the header should take {length} bytes, but the file has {size - 8} after its length; "
                f"it is cut off, or no file of tensors{_beginning(start)}"
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


def _check_layout(path, entries, space, alone):
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
    if alone and position != space:
        raise _C.located(FileError(f"{path}: the tensors end at {position}, but {space} bytes follow the header"))
    return layout
