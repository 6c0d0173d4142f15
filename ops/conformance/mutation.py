"""Mutation test of the gradient formulas: does the suite notice a mistake in any of them?

    ./dev mutants [FAMILY...] [--op OP] [--survivors] [--jobs N]

Every formula of the schemas is tried with each of the small mistakes that ops/schema/mutate.py
makes, by the gradient checks of this suite for the op it belongs to, then for the ops
whose formulas call that op. A mistake that none of them notices survives; the suite wants
a better sample. Mutants that are no mistakes (say, min(x, y) for min(y, x)) are named
with the reason in mutants/equivalent.yaml and count neither way.

Needs the build with --define=mutants=1, in which the environment variable PROA_MUTANT chooses
the mutant. Mutants run in worker processes, which are started again when one crashes or hangs.
Results are kept in a JSON file; a run of a part replaces that part. The report is docs/mutation.md.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import glob
import json
import multiprocessing
import multiprocessing.connection
import os
import re
import sys
import time

import numpy as np
import yaml

from ops.conformance import gradients, references, suite
from ops.schema import model

_EQUIVALENT = os.path.join(os.path.dirname(__file__), "mutants", "equivalent.yaml")
_SLOWER = 30.0  # times the time of the formula as it is, and
_LEAST = 20.0  # at least so many seconds, before a mutant counts as hanging


# Equivalent mutants ------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Equivalent:
    """An entry of mutants/equivalent.yaml; what is missing means all.

    Attributes:
      reason: why the mutants are no mistakes.
      ops: whose formulas.
      input: the gradient of which input.
      kind: which mistake.
      mutants: the texts of the mutants.
      pattern: a regular expression that their texts match and that of the formula does not.
    """

    reason: str
    ops: tuple[str, ...] = ()
    input: str = ""
    kind: str = ""
    mutants: tuple[str, ...] = ()
    pattern: str = ""

    def covers(self, m: dict) -> bool:
        return (
            (not self.ops or m["op"] in self.ops)
            and self.input in ("", m["input"])
            and self.kind in ("", m["kind"])
            and (not self.mutants or m["mutant"] in self.mutants)
            and (
                not self.pattern
                or bool(re.search(self.pattern, m["mutant"])) > bool(re.search(self.pattern, m["original"]))
            )
        )


def equivalents() -> list[Equivalent]:
    with open(_EQUIVALENT, encoding="utf-8") as f:
        return [
            Equivalent(**{k: tuple(v) if isinstance(v, list) else v for k, v in e.items()}) for e in yaml.safe_load(f)
        ]


def commutes(op: model.Op) -> bool:
    """Whether the op of two tensors, as its reference says, does not care for their order."""
    rng = np.random.default_rng(3)
    reference = references.of(op, "reference")
    if reference is None or len(op.tensor_params) != 2:
        return False
    numbers = [np.concatenate([rng.uniform(-2, 2, 20), [0.0, 1.0]]) for _ in range(2)]
    tried = 0
    for x, y in (numbers, [n + 1j * np.flip(n) for n in numbers], [n > 0 for n in numbers]):
        try:
            with np.errstate(all="ignore"):
                a, b = reference(x, y), reference(y, x)
        except Exception:  # pylint: disable=broad-except
            continue  # e.g. no difference of bools
        tried += np.unique(a).size > 1
        if not np.array_equal(a, b, equal_nan=True):
            return False
    return tried > 0


def reason_of_equivalence(m: dict, entries: list[Equivalent], index: dict[str, model.Op]) -> str:
    """Why a mutant is no mistake; '' if it is one."""
    if m["swapped"] and commutes(index[m["swapped"]]):
        return f"{m['swapped']} is commutative, as its reference says"
    return next((e.reason for e in entries if e.covers(m)), "")


# Workers -----------------------------------------------------------------------------


def _users(index: dict[str, model.Op]) -> dict[str, list[str]]:
    """For each op the ops whose formulas call it."""
    out = collections.defaultdict(list)
    for op in index.values():
        for name in gradients.called_ops(op):
            out[name].append(op.name)
    return out


def _activate(number: int) -> None:
    os.environ["PROA_MUTANT"] = str(number)


def _work(pipe: multiprocessing.connection.Connection) -> None:
    """Answers each (op, mutant ids) with ('begin', seconds without a mutant), then (id, check that failed or '')."""
    import proa

    proa._C.set_num_threads(1)
    index = suite.all_ops()
    users = _users(index)
    while True:
        name, numbers = pipe.recv()
        op = index[name]
        wider = [index[u] for u in users[name] if u != name]
        start = time.monotonic()
        _activate(0)
        failures = gradients.failures(proa, op)
        assert not failures, f"{name} fails without a mutant: {failures[:3]}"
        pipe.send(("begin", time.monotonic() - start))
        for number in numbers:
            _activate(number)
            failure = next(iter(gradients.failures(proa, op, most=1)), "")
            for user in wider if not failure else ():
                failure = failure or next(iter(gradients.failures(proa, user, most=1)), "")
            pipe.send((number, failure))
        _activate(0)
        pipe.send(("end", 0))


class _Worker:
    """A process that tries mutants, one op after the other."""

    def __init__(self):
        self.pipe, self._process = None, None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None

    def run(self, op: str, numbers: list[int]):
        """Yields (mutant, how it was found out, '' if it was not)."""
        left = list(numbers)
        while left:
            if self._process is None:
                self._start()
            self.pipe.send((op, left))
            limit = 600.0
            try:
                while left:
                    if not self.pipe.poll(limit):
                        raise TimeoutError
                    number, what = self.pipe.recv()
                    if number == "begin":
                        limit = max(_LEAST, _SLOWER * what)
                        continue
                    left.remove(number)
                    yield number, what
                self.pipe.recv()  # the end
            except (TimeoutError, EOFError, ConnectionResetError) as e:
                self.stop()
                if limit == 600.0:
                    raise RuntimeError(f"{op}: the checks fail without a mutant") from e
                yield left.pop(0), "timeout" if isinstance(e, TimeoutError) else "crash"


def _run_jobs(jobs: list[tuple[str, list[int]]], workers: int) -> dict[int, str]:
    """Outcomes by mutant, of (op, mutants) pairs."""
    import threading

    outcomes: dict[int, str] = {}
    failed: list[BaseException] = []
    queue = collections.deque(sorted(jobs, key=lambda j: -len(j[1])))

    def serve():
        worker = _Worker()
        try:
            while not failed:
                try:
                    op, numbers = queue.popleft()
                except IndexError:
                    return
                for number, what in worker.run(op, numbers):
                    outcomes[number] = what
                lived = sum(not outcomes[n] for n in numbers)
                print(f"{op}: {len(numbers) - lived} of {len(numbers)} noticed", flush=True)
        except BaseException as e:  # pylint: disable=broad-except
            failed.append(e)
        finally:
            worker.stop()

    threads = [threading.Thread(target=serve) for _ in range(workers)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failed:
        raise failed[0]
    return outcomes


# Report ------------------------------------------------------------------------------


def how(failure: str) -> str:
    """The outcome in a word."""
    if failure in ("timeout", "crash", ""):
        return failure or "survived"
    return "wrong gradient" if failure.startswith(("AssertionError", "Mismatch")) else "error"


def report(
    mutants: list[dict], outcomes: dict[int, str], reasons: dict[int, str], formulas: int, seconds: float
) -> str:
    """docs/mutation.md."""
    counted = [m for m in mutants if not reasons[m["id"]]]
    survivors = [m for m in counted if not outcomes[m["id"]]]
    wrong = [m for m in counted if how(outcomes[m["id"]]) in ("wrong gradient", "survived")]
    silent = len([m for m in wrong if outcomes[m["id"]]]) / max(1, len(wrong))
    rate = 1 - len(survivors) / max(1, len(counted))
    lines = [
        "# Mutation test of the gradient formulas",
        "",
        "Written by `./dev mutants` (ops/conformance/mutation.py): every gradient formula of the schemas with every small",
        "mistake that ops/schema/mutate.py makes in it, tried by the gradient checks of the conformance suite.",
        "",
        f"- {formulas} formulas, {len(mutants)} mutants, {len(mutants) - len(counted)} of them equivalent to their formula "
        f"(ops/conformance/mutants/equivalent.yaml, and swapped operands of commutative ops)",
        f"- {len(counted) - len(survivors)} of {len(counted)} noticed: **{100 * rate:.2f} %**; "
        f"of those that give a number and no error {100 * silent:.2f} %",
        f"- {seconds:.0f} s of work",
        "",
        "## By family",
        "",
        "| family | formulas | mutants | equivalent | wrong gradient | error | crash or timeout | survived |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for family in sorted({m["family"] for m in mutants}):
        mine = [m for m in mutants if m["family"] == family]
        c = collections.Counter(how(outcomes[m["id"]]) for m in mine if not reasons[m["id"]])
        lines.append(
            f"| {family} | {len({(m['op'], m['input']) for m in mine})} | {len(mine)} | {sum(bool(reasons[m['id']]) for m in mine)} | "
            f"{c['wrong gradient']} | {c['error']} | {c['crash'] + c['timeout']} | {c['survived']} |"
        )
    lines += ["", "## By mistake", "", "| mistake | mutants | survived |", "|---|---|---|"]
    for kind in sorted({m["kind"] for m in counted}):
        mine = [m for m in counted if m["kind"] == kind]
        lines.append(f"| {kind} | {len(mine)} | {sum(not outcomes[m['id']] for m in mine)} |")
    lines += ["", "## Survivors", ""]
    lines += [f"- {m['op']}, {m['input']} ({m['kind']}): `{m['mutant']}` for `{m['original']}`" for m in survivors] or [
        "None."
    ]
    return "\n".join(lines) + "\n"


# The command -------------------------------------------------------------------------


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev mutants", description=__doc__.split("\n")[0])
    parser.add_argument("families", nargs="*", help="all unless given")
    parser.add_argument("--op", action="append", help="only the formulas of this op")
    parser.add_argument("--survivors", action="store_true", help="only those that survived in the last run")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--manifests", required=True, help="folder of <family>_mutants.json")
    parser.add_argument("--results", default="dist/mutation.json", help="outcomes of this and earlier runs")
    parser.add_argument("--report", default="docs/mutation.md")
    args = parser.parse_args(argv)

    mutants = []
    for path in sorted(glob.glob(f"{args.manifests}/*_mutants.json")):
        with open(path, encoding="utf-8") as f:
            mutants += json.load(f)
    index, entries = suite.all_ops(), equivalents()
    reasons = {m["id"]: reason_of_equivalence(m, entries, index) for m in mutants}
    for e in entries:
        if not any(e.covers(m) for m in mutants):
            parser.error(f"mutants/equivalent.yaml: no mutant is meant by {e}")

    key = lambda m: f"{m['op']}|{m['input']}|{m['original']}|{m['mutant']}"
    earlier: dict[str, str] = {}
    seconds = 0.0
    if os.path.exists(args.results):
        with open(args.results, encoding="utf-8") as f:
            kept = json.load(f)
            earlier, seconds = kept["outcomes"], kept["seconds"]

    def chosen(m):
        return (
            not reasons[m["id"]]
            and (not args.families or m["family"] in args.families)
            and (not args.op or m["op"] in args.op)
            and (not args.survivors or not earlier.get(key(m), ""))
        )

    jobs = collections.defaultdict(list)
    for m in mutants:
        if chosen(m):
            jobs[m["op"]].append(m["id"])
    start = time.monotonic()
    outcomes = _run_jobs(list(jobs.items()), args.jobs)
    whole = not (args.families or args.op or args.survivors)
    if whole:
        seconds = time.monotonic() - start
    outcomes |= {m["id"]: earlier.get(key(m), "") for m in mutants if m["id"] not in outcomes}
    os.makedirs(os.path.dirname(args.results) or ".", exist_ok=True)
    with open(args.results, "w", encoding="utf-8") as f:
        json.dump({"outcomes": {key(m): outcomes[m["id"]] for m in mutants}, "seconds": seconds}, f, indent=1)
    formulas = len({(m["op"], m["input"]) for m in mutants})
    text = report(mutants, outcomes, reasons, formulas, seconds)
    with open(args.report, "w", encoding="utf-8") as f:
        f.write(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
