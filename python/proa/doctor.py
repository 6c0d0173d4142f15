"""Is all well? `python -m proa.doctor` trains a small model, and says what a bug report needs; `--json` for programs.

$ python -m proa.doctor --json
{"ok": true, "proa": "0.1.0, ...", ...}
"""

import argparse
import contextlib
import io
import json
import sys
import traceback

__all__ = ["main"]


def main(arguments=None):
    """The program; returns its exit code: 0 if a small model trains as it must, else 1.

    Examples:
        >>> proa.doctor.main(["--json"])  # doctest: +ELLIPSIS
        {"ok": true, "proa": ...}
        0
    """
    parser = argparse.ArgumentParser(prog="python -m proa.doctor", description="Checks Proa and what it runs on.")
    parser.add_argument("--json", action="store_true", help="one line of JSON instead of text")
    as_json = parser.parse_args(arguments).json
    from proa.utils import environment, install_check

    error = None
    with contextlib.redirect_stdout(io.StringIO() if as_json else sys.stdout):
        try:
            install_check.run()
        except Exception as caught:
            error = caught
            if not as_json:
                traceback.print_exception(caught)
                print(environment.report())
    if as_json:
        facts = {"ok": error is None, **dict(environment.facts())}
        if error is not None:
            facts["error"] = f"{type(error).__name__}: {error}"
        print(json.dumps(facts))
    return 0 if error is None else 1


if __name__ == "__main__":
    sys.exit(main())
