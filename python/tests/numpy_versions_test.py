"""Arrays go in and out with NumPy 1.24 and with NumPy 2: the tests of interchange, run under each."""

import os
import pathlib
import subprocess
import sys

import pytest

_HERE = pathlib.Path(__file__).parent
_INSTALLED = sorted(pathlib.Path(sys.prefix).glob("numpy-*"))
_TESTS = ["tensor_array_test.py", "to_tensor_test.py", "tensor_operators_test.py", "tensor_indexing_test.py"]


def test_an_older_and_a_newer_major_version_are_there():
    majors = {folder.name.removeprefix("numpy-").split(".")[0] for folder in _INSTALLED}
    assert majors >= {"1", "2"}


@pytest.mark.parametrize("folder", _INSTALLED, ids=lambda folder: folder.name)
def test_interchange(folder):
    path = os.pathsep.join([str(folder), *(p for p in sys.path if p)])
    environment = {**os.environ, "PYTHONPATH": path}
    environment.pop("TEST_TOTAL_SHARDS", None)
    seen = subprocess.run(
        [sys.executable, "-c", "import numpy; print(numpy.__version__)"],
        env=environment, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    assert seen == folder.name.removeprefix("numpy-")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--import-mode=importlib", "-p", "no:cacheprovider"]
        + [str(_HERE / name) for name in _TESTS],
        env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
