"""Writes golden/<program>.txt: what each program prints under the reference, in the peers' environment.

    .venv-peers/bin/python python/tests/corpus/make_golden.py [names]

`./dev bench --peers` makes that environment. Programs in the style of releases that the
newest reference no longer runs have a twin, <name>.twin.py: the same computation in a
style that it runs, or in NumPy alone.
"""

import os
import pathlib
import re
import subprocess
import sys

_HERE = pathlib.Path(__file__).resolve().parent


def _as_in_2x(text):
    """Shapes were lists in the releases that we stand for."""
    return re.sub(r"paddle\.Size\((\[[^]]*\])\)", r"\1", text)


def main(names):
    failed = 0
    for program in sorted((_HERE / "programs").glob("*.py")):
        name = program.name.removesuffix(".py")
        if name.endswith(".twin") or (names and name not in names):
            continue
        twin = program.with_name(f"{name}.twin.py")
        source = twin if twin.exists() else program
        # Static programs as they were in 2.x; the newest form cannot clone them for testing.
        new_form = "1" if "enable_static" not in source.read_text() else "0"
        run = subprocess.run(
            [sys.executable, "-W", "ignore", str(_HERE / "run_program.py"), str(source)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "FLAGS_enable_pir_api": new_form},
        )
        if run.returncode:
            failed += 1
            print(f"{name}: {run.stderr[-600:]}")
            continue
        (_HERE / "golden" / f"{name}.txt").write_text(_as_in_2x(run.stdout))
        print(f"{name}: {len(run.stdout.splitlines())} lines")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
