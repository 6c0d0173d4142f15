"""A wheel of the `wheel` macro is complete: its extension loads its own copies of the system's libraries."""

import pathlib
import subprocess
import sys
import venv
import zipfile

import pytest

_PROGRAM = """
import sys
from testing import _scale
print(_scale.describe())
with open("/proc/self/maps") as maps:
    print(*sorted({line.split()[-1] for line in maps if "absl" in line}))
"""


@pytest.fixture(scope="module")
def wheel():
    (path,) = pathlib.Path("bazel/testing").glob("proa_scale-*.whl")
    return path


def test_name_and_metadata(wheel):
    assert wheel.name.startswith("proa_scale-1.2.3-cp3") and wheel.name.endswith("-manylinux_2_36_x86_64.whl")
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read("proa_scale-1.2.3.dist-info/METADATA").decode()
    assert "Name: proa_scale" in text and text.endswith("for wheel_test.\n")


def test_installs_and_loads_its_own_libraries(wheel, tmp_path):
    venv.create(tmp_path / "env", symlinks=True)
    version = "python%d.%d" % sys.version_info[:2]
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "env/lib" / version / "site-packages")
    command = [tmp_path / "env/bin/python", "-I", "-c", _PROGRAM]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert printed[0] == "sse2, avx2"
    libraries = printed[1].split()
    assert libraries and all(path.startswith(str(tmp_path)) for path in libraries)
