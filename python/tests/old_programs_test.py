"""Whole scripts in the style of 1.8, under the name paddle: they run to their end, and their own assertions hold."""

import pathlib
import subprocess
import sys

import pytest

_FOLDER = pathlib.Path(__file__).resolve().parent / "old_programs"


@pytest.mark.parametrize("name", sorted(path.stem for path in _FOLDER.glob("*.py")))
def test_program(name, tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "proa.as_paddle", _FOLDER / f"{name}.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert run.returncode == 0, run.stderr[-3000:]


def test_they_are_there():
    assert len(list(_FOLDER.glob("*.py"))) == 4
