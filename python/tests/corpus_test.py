"""Programs written for the reference run unchanged, and print the numbers that it prints (corpus/README.md)."""

import pathlib
import subprocess
import sys

import pytest

from python.tests.corpus.compare_output import first_difference

_CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"
_PROGRAMS = sorted(path.stem for path in (_CORPUS / "golden").glob("*.txt"))


def test_every_program_has_its_golden_output():
    programs = {path.stem for path in (_CORPUS / "programs").glob("*.py") if not path.stem.endswith(".twin")}
    assert programs == set(_PROGRAMS) and len(programs) >= 60


@pytest.mark.parametrize("name", _PROGRAMS)
def test_program(name):
    run = subprocess.run(
        [sys.executable, "-m", "proa.as_paddle", _CORPUS / "run_program.py", _CORPUS / "programs" / f"{name}.py"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert first_difference(run.stdout, (_CORPUS / "golden" / f"{name}.txt").read_text()) == ""


@pytest.mark.parametrize(
    ("output", "golden", "says"),
    [
        ("loss 1.00001", "loss 1.00002", ""),
        ("loss 1.01", "loss 1.05", "1.01 instead of 1.05"),
        ("step 3 ok", "step 4 ok", "expected 'step 4 ok'"),
        ("a nan", "a nan", ""),
        ("a nan", "a 1.0", "nan instead of 1.0"),
        ("a\nb", "a", "2 lines instead of 1"),
    ],
)
def test_comparison(output, golden, says):
    assert says in first_difference(output, golden)
    assert (first_difference(output, golden) == "") == (says == "")
