"""The block for bug reports: what it says is true, and it is what run_check prints."""

import json
import os
import platform
import subprocess
import sys

import numpy as np

import proa
from proa.utils import environment


def test_facts():
    facts = environment.facts()
    assert facts["proa"].startswith(proa.__version__)
    assert platform.python_version() in facts["python"] and np.__version__ in facts["python"]
    assert facts["threads"] == str(proa._C.get_num_threads())
    assert facts["oneDNN"][0].isdigit() and "OpenMP" in facts["oneDNN"]
    assert "libgomp" in facts["OpenMP"] or "libomp" in facts["OpenMP"]
    assert facts["instruction set"] in ("sse2", "avx2", "avx512")
    assert facts["device"] == "cpu" and "GiB" in facts["memory"]
    assert all(isinstance(text, str) and text and "\n" not in text for text in facts.values())


def test_flags_and_variables(monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    monkeypatch.setenv("SECRET_TOKEN", "hidden")
    proa.set_flags({"FLAGS_call_stack_level": 2})
    try:
        report = proa.utils.environment_report()
    finally:
        proa.set_flags({"FLAGS_call_stack_level": 1})
    assert "FLAGS_call_stack_level=2" in report and "OMP_WAIT_POLICY=passive" in report
    assert "hidden" not in report
    assert "all at their defaults" in proa.utils.environment_report()


def test_run_check_prints_it(capsys):
    proa.utils.run_check()
    text = capsys.readouterr().out
    assert "Proa works well on 1 CPU." in text
    names = [line.split()[0] for line in text.partition("For bug reports:\n")[2].splitlines()]
    assert names == [name.split()[0] for name in environment.facts()]


def test_as_a_program():
    command = [sys.executable, "-c", "import runpy; runpy.run_module('proa.utils.environment', run_name='__main__')"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True
    )
    assert done.stdout.startswith("proa ") and "oneDNN" in done.stdout


def test_the_doctor(capsys, monkeypatch):
    from proa import doctor
    from proa.utils import install_check

    assert doctor.main([]) == 0
    assert "installed successfully" in capsys.readouterr().out
    monkeypatch.setattr(install_check, "_train", lambda: float("nan"))
    assert doctor.main([]) == 1
    out, error = capsys.readouterr()
    assert "instruction set" in out and "nan away from its known weights" in error
    assert doctor.main(["--json"]) == 1
    facts = json.loads(capsys.readouterr().out)
    assert (
        facts["ok"] is False and "nan away" in facts["error"] and facts["python"].startswith(platform.python_version())
    )


def test_the_doctor_as_a_program():
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-m", "proa.doctor", "--json"], capture_output=True, text=True, env=env)
    assert done.returncode == 0 and json.loads(done.stdout)["ok"] is True and done.stderr == ""
