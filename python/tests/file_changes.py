"""Changes of files: of their bytes, and below the checksums that they bear."""

import functools
import json
import pickle
import re
import struct
import zlib

from fuzz import wire
from proa.framework import container

_PIECES = [
    b"\0",
    b"\xff" * 8,
    b"\xff\xff\xff\x7f",
    b"-1",
    b"99999999999999999999",
    b"../",
    b"::",
    b"{",
    b"\x80\x04",
    b"\n",
]


def changed(rng, data, others):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, kind = rng.randrange(len(data) + 1), rng.randrange(6)
        if kind == 0 and data:
            data[at % len(data)] = rng.randrange(256)
        elif kind == 1:
            data[at:at] = rng.choice(_PIECES)
        elif kind == 2:
            del data[at : at + rng.choice((1, 1, 2, 8, 100000))]
        elif kind == 3:
            other = rng.choice(others)
            data[at:] = other[rng.randrange(len(other) + 1) :]
        elif kind == 4:
            piece = rng.choice(_PIECES)
            data[at : at + len(piece)] = piece
        elif data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
    return bytes(data)


def manifest_that_lies(rng, data):
    """Changed below a right checksum."""
    manifest = json.dumps(json.loads(data)["manifest"], sort_keys=True).encode()
    try:
        lie = json.loads(changed(rng, manifest, [manifest]))
    except (ValueError, RecursionError):
        return changed(rng, data, [data])
    total = container.checksum(json.dumps(lie, sort_keys=True).encode())
    return json.dumps({"checksum": total, "manifest": lie}).encode()


def header_that_lies(rng, data):
    """A file of ours that is changed below the checksums of its header and, mostly, of its tensors."""
    size = int.from_bytes(data[:8], "little")
    text, tensors = data[8 : 8 + size], data[8 + size :]
    if rng.random() < 0.3:
        tensors = changed(rng, tensors, [tensors])
    blank = re.sub(rb'("proa.header": ")[0-9a-f]{8}', rb"\g<1>00000000", text)
    lie = changed(rng, blank, [blank])
    if rng.random() < 0.8:
        lie = _of_tensors_as_they_are(lie, tensors)
    sealed = lie.replace(b'"proa.header": "00000000', b'"proa.header": "%s' % container.checksum(lie).encode())
    return len(sealed).to_bytes(8, "little") + sealed + tensors


def _of_tensors_as_they_are(text, tensors):
    try:
        header = json.loads(text)
        sums = json.loads(header["__metadata__"]["proa.checksums"])
        for name in sums:
            begin, end = header[name]["data_offsets"]
            sums[name] = container.checksum(tensors[begin:end])
        header["__metadata__"]["proa.checksums"] = json.dumps(sums)
        return json.dumps(header).encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return text


def recording_that_lies(rng, data):
    """Changed in a chunk, below its checksum."""
    chunks, at = [], 12
    while at < len(data):
        kind, size, _ = struct.unpack_from("<3I", data, at)
        chunks.append([kind, data[at + 12 : at + 12 + size]])
        at += 12 + size
    for _ in range(rng.choice((1, 1, 2))):
        chunk = rng.choice(chunks)
        chunk[1] = changed(rng, chunk[1], [payload for _, payload in chunks])
    if rng.random() < 0.1:
        chunks.insert(rng.randrange(len(chunks) + 1), rng.choice(chunks))
    return data[:12] + b"".join(struct.pack("<3I", kind, len(p), zlib.crc32(p)) + p for kind, p in chunks)


@functools.lru_cache
def _fields(data):
    return pickle.dumps(wire.read(data), pickle.HIGHEST_PROTOCOL)


def message_that_lies(rng, data):
    """A protocol buffer with other numbers and texts, and with fields taken away, doubled and moved."""
    fields = pickle.loads(_fields(data))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        wire.change(fields, rng)
    return wire.write(fields)
