"""Readers of model files, given millions of changed files: starts model_files.cc, and again behind what it dies of.

    python -m fuzz.model_files PROGRAM [--readers "whole|tensor"] [--each 1000000] [--seed 1] [--record FILE]
    python -m fuzz.model_files PROGRAM --readers "^whole program" --seed 1 --show 4711    # one of them again

PROGRAM is what Bazel builds as //fuzz:model_files, under a sanitizer or without; ./dev fuzz --model-files does both. The
record says how many files each reader had; the next run with it goes on there.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import numpy as np

from fuzz import wire

_TESTS = pathlib.Path(__file__).parent.parent / "python" / "tests"
_REFERENCE, _OURS = _TESTS / "reference_models", _TESTS / "golden_models"
# Attributes that readers skip, and most of what is in a file.
_UNREAD = {b"op_callstack", b"op_namescope", b"op_device", b"with_quant_attr"}
_ENOUGH = 20  # findings of a reader: the rest would say the same


# Right files ------------------------------------------------------------------


def _is_unread(number, value):
    """Whether a field is an attribute of such a name."""
    return (
        number == 4 and isinstance(value, list) and any(isinstance(f[2], bytes) and f[2] in _UNREAD for f in value[:1])
    )


def _without_unread(fields):
    return [
        [number, kind, _without_unread(value) if isinstance(value, list) else value]
        for number, kind, value in fields
        if not _is_unread(number, value)
    ]


def _types(fields):
    """Of the ops of a program: field 3 of field 4 of a block."""
    blocks = [block for number, _, block in fields if number == 1]
    return {value for block in blocks for number, _, op in block if number == 4 for n, _, value in op if n == 3}


def small(data: bytes) -> bytes:
    """A program of the reference without what no reader looks at: texts for people, versions of ops that it has not."""
    fields = _without_unread(wire.read(data))
    types = _types(fields)
    for number, _, value in fields:
        if number == 5:
            value[:] = [pair for pair in value if pair[2][0][2] in types]
    return wire.write(fields)


def _reference():
    with np.load(_REFERENCE / "functions.npz") as file:
        for key in file.files:
            if key.endswith("/program"):
                yield small(file[key].tobytes()), file[key.replace("/program", "/params")].tobytes()
    for name in ("lenet", "detector", "tagger"):
        program, parameters = ((_REFERENCE / f"{name}.{end}").read_bytes() for end in ("pdmodel", "pdiparams"))
        yield small(program), parameters


def _whole():
    with np.load(_REFERENCE / "small.npz") as file:
        for name in file.files:
            yield small(file[name].tobytes()), b""


def _ours():
    for path in sorted(_OURS.glob("*/*.pdmodel")):
        yield path.read_bytes(), path.with_suffix(".pdiparams").read_bytes()


def _with_parameters(models):
    return [(program, parameters) for program, parameters in models if parameters]


SEEDS = {
    "program": lambda: [*_ours()],
    "parameters": lambda: [*_ours()],
    "reference program": lambda: [*_reference()],
    "reference parameters": lambda: _with_parameters(_reference()),
    "reference tensor": lambda: [
        (program, tensor) for program, stream in _with_parameters(_reference()) for tensor in _tensors(stream)
    ],
    "whole program": lambda: [*_whole()],
}


def _tensors(stream):
    """Each tensor of a stream (jit/reference/parameters.h), by itself."""
    at = 0
    while at < len(stream):
        start = at
        (levels,) = struct.unpack_from("<Q", stream, at + 4)
        at += 12
        for _ in range(levels):
            at += 8 + struct.unpack_from("<Q", stream, at)[0]
        (size,) = struct.unpack_from("<i", stream, at + 4)
        described = wire.read(stream[at + 8 : at + 8 + size])
        width = _WIDTHS[next(value for number, _, value in described if number == 1)]
        at += 8 + size + width * int(np.prod([value for number, _, value in described if number == 2]))
        yield stream[start:at]


# Of elements, by the number that the format has for their type.
_WIDTHS = {0: 1, 1: 2, 2: 4, 3: 8, 4: 2, 5: 4, 6: 8, 20: 1, 21: 1, 22: 2, 23: 8, 24: 16}


def packed(models) -> bytes:
    """As model_files.cc reads them."""
    return b"".join(struct.pack("<Q", len(data)) + data for model in models for data in model)


# Runs ---------------------------------------------------------------------------


@dataclasses.dataclass
class Run:
    """What came of some files: how many, how many of them were read; or of which it died, and its last words."""

    files: int
    read: int = 0
    slowest: float = 0.0
    says: str = ""


class Fuzzer:
    """Runs the program on one reader's files, in a folder of its own."""

    def __init__(self, program: str, reader: str, folder: str, seed: int):
        self._command = [program, f"{folder}/seeds", folder, f"{folder}/note", reader, str(seed)]
        self._note = pathlib.Path(folder, "note")
        pathlib.Path(folder, "seeds").write_bytes(packed(SEEDS[reader]()))

    def run(self, first: int, count: int) -> Run:
        done = subprocess.run([*self._command, str(first), str(count)], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            numbers = re.findall(r"[\d.]+", done.stdout)
            return Run(int(numbers[0]), int(numbers[1]), float(numbers[2]))
        (number,) = struct.unpack("<Q", self._note.read_bytes())
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        cause = [line for line in lines if re.search(r"Sanitizer|error|exception|grew|too long", line)][:3]
        where = [line.strip() for line in lines if re.match(r" *#\d+ .* in proa", line)][:6]
        return Run(number - first + 1, says="; ".join([f"status {done.returncode}", *(cause or lines[-3:]), *where]))

    def show(self, number: int) -> int:
        return subprocess.run([*self._command, str(number), "--show"], check=False).returncode


def _write(path, record):
    pathlib.Path(path + ".new").write_text(json.dumps(record, indent=1))
    os.replace(path + ".new", path)


def _long(options, readers, folder) -> int:
    record = {}
    if options.record and os.path.exists(options.record):
        record = json.loads(pathlib.Path(options.record).read_text())
    for name in readers:
        empty = {"files": 0, "read": 0, "slowest": 0.0, "seed": options.seed, "next": 0, "findings": []}
        had = record.setdefault(name, empty)
        fuzzer = Fuzzer(options.program, name, folder, had["seed"])
        while had["files"] < options.each and len(had["findings"]) < _ENOUGH:
            run = fuzzer.run(had["next"], min(options.chunk, options.each - had["files"]))
            had["files"] += run.files
            had["next"] += run.files
            had["read"] += run.read
            had["slowest"] = max(had["slowest"], run.slowest)
            if run.says:
                had["findings"].append(f"--show {had['next'] - 1}: {run.says}"[:2000])
            print(f"{name}: {run}", flush=True)
            if options.record:
                _write(options.record, record)
    return int(any(had["findings"] for had in record.values()))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz.model_files", description=__doc__)
    parser.add_argument("program", help="the path of model_files, as Bazel built it")
    parser.add_argument("--readers", default=".", help="a regular expression of: " + ", ".join(SEEDS))
    parser.add_argument("--each", type=int, default=1000000, help="changed files of each reader (1000000)")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers: the same files for the same seed")
    parser.add_argument("--chunk", type=int, default=20000, help="files between two lines of the record")
    parser.add_argument("--record", help="a file of how far each reader came, from which the next run goes on")
    parser.add_argument("--show", type=int, help="the number of one file: what comes of it; its bytes are kept")
    options = parser.parse_args()
    readers = [name for name in SEEDS if re.search(options.readers, name)]
    if options.show is not None:
        folder = tempfile.mkdtemp(prefix="fuzz-")
        status = Fuzzer(options.program, readers[0], folder, options.seed).show(options.show)
        print(f"{folder}/shown.pdmodel, {folder}/shown.pdiparams")
        return status
    # Files that live for a moment need no disk.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        return _long(options, readers, folder)


if __name__ == "__main__":
    sys.exit(main())
