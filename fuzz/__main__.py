"""./dev fuzz: random calls of everything public, of every op and of changed files; finds what brings the process down.

Prints each finding with a line of Python that makes it again; exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from fuzz import case as cases
from fuzz import crash, generate, minimize, supervisor


def _arguments():
    parser = argparse.ArgumentParser(prog="./dev fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="how long (600)")
    parser.add_argument("--calls", type=int, default=10**12, help="how many calls at most")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers: the same calls for the same seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes that run calls (1)")
    parser.add_argument("--kinds", default=",".join(generate.KINDS), help="of op, public, index, file")
    parser.add_argument("--only", default="", help="call only what this regular expression is found in: conv|pool")
    parser.add_argument("--modes", default="", help="only these ways to call: static,record (replay.py has them)")
    parser.add_argument("--case", help="run one case: its text, or its number under the seed")
    parser.add_argument("--guard", help="the path of guard.so: run under it, instead of under a sanitizer")
    parser.add_argument("--unclear", action="store_true", help="report errors whose text is Python's own, too")
    parser.add_argument("--record", help="a file of calls and findings so far, from which the next run with it goes on")
    parser.add_argument("--keep", action="store_true", help="do not make findings smaller")
    return parser.parse_args()


class Record:
    """What runs with one seed did, in a file that the next one goes on with."""

    def __init__(self, path: str, seed: int):
        self._path, self._was = path, {"seed": seed, "next": 0, "calls": 0, "outcomes": {}, "findings": []}
        if path and os.path.exists(path):
            self._was = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
            if self._was["seed"] != seed:
                sys.exit(f"{path} is the record of seed {self._was['seed']}, not {seed}")
        self.first = self._was["next"]

    def __call__(self, watch) -> None:
        if not self._path:
            return
        outcomes = collections.Counter(self._was["outcomes"]) + watch.counts
        found = [f"--case {f.number}, {f.count} times: {f.kind}: {f.says}\n{f.text}" for f in watch.findings.values()]
        now = {
            "seed": self._was["seed"],
            "next": watch.reached(),
            "calls": sum(outcomes.values()),
            "outcomes": dict(sorted(outcomes.items())),
            "findings": self._was["findings"] + found,
        }
        pathlib.Path(self._path + ".new").write_text(json.dumps(now, indent=1), encoding="utf-8")
        os.replace(self._path + ".new", self._path)


def _corpus(folder: str) -> str:
    path = f"{folder}/corpus.json"
    subprocess.run([sys.executable, "-m", "fuzz.corpus", path], check=True, stdout=subprocess.DEVNULL)
    return path


def _one(text: str) -> int:
    """Runs a case in a process of its own and shows what it says."""
    print(text)
    code = "import sys; from fuzz import judge, replay; replay.prepare(); o = judge.run(sys.argv[1]); print(o); "
    done = subprocess.run([sys.executable, "-c", code + "sys.exit(o.found)", text], check=False)
    if done.returncode not in (0, 1):
        print(f"died: {crash.cause(done.returncode, '')}")
    return int(done.returncode != 0)


def _smaller(finding, generator, step, trials) -> list[str]:
    """Lines that make the finding again, or its case if none do."""
    if trials(finding.text) not in ("ok", "refused"):
        return [minimize.minimized(finding.text, trials)]
    before = range(max(finding.first, finding.number - 300 * step), finding.number, step)
    return minimize.sequence([*(generator.case(n) for n in before), finding.text], trials)


def main() -> int:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        if arguments.case and not arguments.case.isdigit():
            return _one(str(cases.parse(arguments.case)))
        corpus = _corpus(folder)
        kinds = arguments.kinds.split(",")
        aim = {"only": arguments.only, "modes": [m for m in arguments.modes.split(",") if m]}
        generator = generate.Generator(generate.load(corpus), arguments.seed, kinds, **aim)
        if arguments.case:
            return _one(generator.case(int(arguments.case)))
        record = Record(arguments.record, arguments.seed)
        watch = supervisor.Supervisor(
            corpus, folder, arguments.seed, arguments.jobs, kinds, arguments.unclear, guard=arguments.guard, aim=aim,
            first=record.first, record=record,
        )  # fmt: skip
        watch.run(record.first + arguments.calls, arguments.seconds)
        record(watch)
        print(f"\n{sum(watch.counts.values())} calls")
        for name, count in sorted(watch.counts.items()):
            print(f"  {count:8} {name}")
        print(f"{len(watch.findings)} findings")
        trials = minimize.Trials(supervisor.guarded(arguments.guard))
        for finding in watch.findings.values():
            lines = [finding.text]
            if not arguments.keep and finding.kind not in ("hangs", "grows"):
                lines = _smaller(finding, generator, arguments.jobs, trials)
            print(f"\n# {finding.kind}, {finding.count} times, first as --case {finding.number}: {finding.says}")
            print("from fuzz.replay import *\n" + "\n".join(lines))
        trials.close()
    sys.stdout.flush()
    return int(bool(watch.findings))


if __name__ == "__main__":
    os._exit(main())
