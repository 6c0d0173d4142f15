"""Readers of model files take some thousand changed files and say what is wrong with them; who watches sees which dies."""

import os
import stat

import pytest

from fuzz import model_files, wire

_PROGRAM = "fuzz/model_files" if os.path.exists("fuzz/model_files") else os.environ.get("PROA_MODEL_FILES")
_needs_it = pytest.mark.skipif(not _PROGRAM, reason="needs the program model_files")


@_needs_it
@pytest.mark.parametrize("reader", model_files.SEEDS)
def test_changed_files(reader, tmp_path):
    run = model_files.Fuzzer(_PROGRAM, reader, str(tmp_path), 3).run(0, 3000)
    assert not run.says, run.says
    assert run.files == 3000
    # Neither is every change seen at once, nor none.
    assert 3 < run.read < 2990


@_needs_it
def test_the_same_number_gives_the_same_file(tmp_path):
    fuzzer = model_files.Fuzzer(_PROGRAM, "reference program", str(tmp_path), 3)
    shown = []
    for number in (7, 8, 7):
        assert fuzzer.show(number) == 0
        shown.append((tmp_path / "shown.pdmodel").read_bytes())
    assert shown[0] == shown[2] != shown[1]


@_needs_it
def test_checksums_of_changed_files_are_right(tmp_path):
    fuzzer = model_files.Fuzzer(_PROGRAM, "program", str(tmp_path), 3)
    right = 0
    for number in range(20):
        fuzzer.show(number)
        data = (tmp_path / "shown.pdmodel").read_bytes()
        right += wire.sealed(data[:8], data[24:]) == data
    assert right > 15


_DIES = """#!/bin/sh
printf '\\022\\000\\000\\000\\000\\000\\000\\000' > "$3"
echo 'ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1' >&2
echo '    #0 0x1 in proa::v0::jit::Read() jit/read.cc:1' >&2
exit 1
"""


def test_a_program_that_dies(tmp_path):
    """The number in the note is that of the file; the next run goes on behind it."""
    (tmp_path / "dies").write_text(_DIES)
    (tmp_path / "dies").chmod(stat.S_IRWXU)
    run = model_files.Fuzzer(str(tmp_path / "dies"), "program", str(tmp_path), 3).run(10, 3000)
    assert run.files == 9
    assert "heap-buffer-overflow" in run.says
    assert "Read()" in run.says


def test_small_programs_keep_their_ops():
    """What is taken away of a file is nothing that a reader looks at."""
    attribute = [[1, 2, b"axis"], [2, 0, 0], [3, 0, 1]]
    stack = [[1, 2, b"op_callstack"], [2, 0, 5], [8, 2, b"a line"]]
    op = [[3, 2, b"concat"], [4, 2, attribute], [4, 2, stack]]
    versions = [[1, 2, [[1, 2, name], [2, 2, [[1, 0, 1]]]]] for name in (b"concat", b"split")]
    program = [[1, 2, [[1, 0, 0], [4, 2, op]]], [5, 2, versions]]
    want = [[1, 2, [[1, 0, 0], [4, 2, op[:2]]]], [5, 2, versions[:1]]]
    assert wire.read(model_files.small(wire.write(program))) == want
