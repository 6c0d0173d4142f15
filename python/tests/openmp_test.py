"""How the OpenMP runtime is set up when the package is imported."""

import os
import subprocess
import sys

import pytest

_PROGRAM = """
import os
before = dict(os.environ)
import proa
assert dict(os.environ) == before
proa.ones([64]).sum()
"""


def _settings(**environment: str) -> str:
    clean = {k: v for k, v in os.environ.items() if k not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    clean |= {"OMP_DISPLAY_ENV": "VERBOSE", "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    run = subprocess.run([sys.executable, "-c", _PROGRAM], env=clean, capture_output=True, text=True, check=True)
    return run.stderr


def test_idle_threads_sleep_soon():
    shown = _settings()
    if "GOMP_SPINCOUNT" not in shown:
        pytest.skip("not GCC's OpenMP runtime")
    assert "GOMP_SPINCOUNT = '2000'" in shown


def test_settings_of_the_user_win():
    shown = _settings(GOMP_SPINCOUNT="1234")
    if "GOMP_SPINCOUNT" not in shown:
        pytest.skip("not GCC's OpenMP runtime")
    assert "GOMP_SPINCOUNT = '1234'" in shown
    assert "OMP_WAIT_POLICY = 'PASSIVE'" in _settings(OMP_WAIT_POLICY="passive")
