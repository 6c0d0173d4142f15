"""The suite of the array API standard (array_api_suite.py), a few calls of each function; ./dev array-api makes more."""

import os
import pathlib
import subprocess
import sys

import pytest

_SUITE = pathlib.Path(__file__).with_name("array_api_suite.py")
_NUMPY = sorted(pathlib.Path(sys.prefix).glob("numpy-2*"))


# In two parts, so that two processors share them.
@pytest.mark.parametrize("part", ["^[a-l]", "^[^a-l]"])
def test_calls_that_the_standard_allows(part):
    path = os.pathsep.join([str(_NUMPY[-1]), *(p for p in sys.path if p)])
    run = subprocess.run(
        [sys.executable, str(_SUITE), "--examples", "20", "--only", part],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0 and ", 0 failed; exempt: " in run.stdout, run.stdout[-3000:] + run.stderr[-2000:]


def test_what_is_exempt_is_documented():
    """docs/array_api.md has a row for each exemption, with its reason."""
    sys.path.insert(0, str(_SUITE.parent))
    import array_api_suite

    page = (_SUITE.parents[2] / "docs" / "array_api.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("|")][2:]
    assert len(rows) == len(array_api_suite.EXEMPT)
    for name, reason in array_api_suite.EXEMPT.items():
        assert any(name in row.replace("`", "") and reason in row.replace("`", "") for row in rows), name
