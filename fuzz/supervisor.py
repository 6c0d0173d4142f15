"""Starts workers, sees which die, hang or grow, and on which case; starts them again behind it."""

from __future__ import annotations

import collections
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

from fuzz import case as cases
from fuzz import crash, judge, worker

_HANG_SECONDS = 10  # of processor time; of real time six times as many
_GROWN_BYTES = 5 << 30
# A worker is started anew after so many cases: what it keeps is no finding by itself.
_BLOCK = 20000
_RECORD_SECONDS = 20
# A target that brings the process down so often is left out.
_ENOUGH = 3


def guarded(guard: str | None) -> dict[str, str]:
    """The environment of workers: with `guard` the library that guards memory, and no pools before it."""
    environment = dict(os.environ)
    if guard:
        environment |= {"LD_PRELOAD": os.path.abspath(guard), "FLAGS_use_system_allocator": "1"}
    return environment


@dataclasses.dataclass
class Finding:
    kind: str
    says: str
    text: str
    number: int
    first: int  # where its worker began
    count: int = 1


class _Worker:
    def __init__(self, folder: str, index: int, step: int, first: int = 0):
        self.index, self.step, self.next = index, step, first + index
        self._note, self._found, self._errors = (f"{folder}/{name}-{index}" for name in ("note", "found", "errors"))
        with open(self._note, "wb") as file:
            file.truncate(worker.NOTE_BYTES)
        self.note = worker.Note(self._note)
        self.process, self._read = None, 0
        self._case, self._waited = -1, 0.0

    def start(self, corpus: str, seed: int, end: int, kinds, skip, environment, aim) -> None:
        self.began = self.next
        self.note.write(self.next, "")
        until = min(end, self.next + _BLOCK * self.step)
        command = [sys.executable, "-m", "fuzz.worker", corpus, self._note, self._found]
        command += [str(n) for n in (seed, self.next, until, self.step)] + [
            ",".join(kinds),
            "\n".join(skip),
            json.dumps(aim),
        ]
        with open(self._errors, "wb") as errors:
            self.process = subprocess.Popen(command, stdout=errors, stderr=errors, env=environment)

    def errors(self) -> str:
        with open(self._errors, "rb") as file:
            return file.read()[-200_000:].decode(errors="replace")

    def lines(self):
        """What the worker said since the last time."""
        if not os.path.exists(self._found):
            return
        # In bytes, and only what was there at one moment: the worker writes on, and half a line may be the last of it.
        with open(self._found, "rb") as file:
            file.seek(self._read)
            said = file.read()
        said = said[: said.rfind(b"\n") + 1]
        self._read += len(said)
        yield from map(json.loads, said.splitlines())

    def usage(self) -> tuple[float, int, bool]:
        """Processor seconds, resident bytes, and whether it could run now."""
        try:
            with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return 0.0, 0, True
        ticks = int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK"), int(fields[21]) * os.sysconf("SC_PAGE_SIZE"), fields[0] == "R"

    def starved(self, number: int) -> float:
        """Seconds for which the worker waited for a processor since it was first seen at this case."""
        try:
            with open(f"/proc/{self.process.pid}/schedstat", encoding="utf-8") as file:
                waited = int(file.read().split()[1]) / 1e9
        except (OSError, IndexError):
            return 0.0
        if number != self._case:
            self._case, self._waited = number, waited
        return waited - self._waited


class Supervisor:
    """Runs cases begin..end, or for some seconds; `findings` by signature, `counts` by way of calling and outcome."""

    def __init__(
        self, corpus: str, folder: str, seed: int, jobs: int, kinds, unclear: bool, report=print, guard=None, aim=None,
        first=0, record=None,
    ):  # fmt: skip
        """`guard`: the path of guard.so, which is preloaded into the workers. `aim`: `only` and `modes` of the generator.
        `first`: the number of the first case. `record`: called at times, with self."""
        self._corpus, self._seed, self._kinds, self._unclear, self._report = corpus, seed, kinds, unclear, report
        self._workers = [_Worker(folder, i, jobs, first) for i in range(jobs)]
        self._environment, self._aim, self._record = guarded(guard), aim or {}, record or (lambda watch: None)
        self._falls: collections.Counter = collections.Counter()
        self.findings: dict[str, Finding] = {}
        self.counts: collections.Counter = collections.Counter()

    def run(self, calls: int, seconds: float) -> None:
        until = time.monotonic() + seconds
        for w in self._workers:
            w.start(self._corpus, self._seed, calls, self._kinds, self._skipped(), self._environment, self._aim)
        recorded = time.monotonic()
        while any(w.process for w in self._workers):
            time.sleep(0.2)
            late = time.monotonic() > until
            for w in self._workers:
                self._look(w, calls, late)
            if late or time.monotonic() - recorded > _RECORD_SECONDS:
                recorded = time.monotonic()
                self._record(self)

    def reached(self) -> int:
        """A number of a case before which all were run."""
        return min(max(w.next, w.note.read()[0]) for w in self._workers)

    def _skipped(self):
        return sorted(t for t, n in self._falls.items() if n >= _ENOUGH)

    def _look(self, w: _Worker, calls: int, late: bool) -> None:
        if w.process is None:
            return
        for line in w.lines():
            if "ran" in line:
                self.counts[line["ran"]] += 1
            elif line["kind"] != "unclear" or self._unclear:
                self._add(w, line["kind"], line["says"], line["text"], line["number"])
        status = w.process.poll()
        number, began, used, text = w.note.read()
        if status is None:
            status = self._watch(w, began, used, text, number)
            if status is None:
                if not late:
                    return
                w.process.kill()
                w.process.wait()
                w.process = None
                return
        elif status == 0:
            w.next = w.began + len(range(w.began, min(calls, w.began + _BLOCK * w.step), w.step)) * w.step
        else:
            # 1: an error of Python in the worker itself, or a sanitizer's word.
            errors = w.errors()
            died = status != 1 or "Sanitizer" in errors
            cause = crash.cause(status, errors) if died else errors.strip()[-300:]
            self._add(w, "died" if died else "fuzzer", cause, text, number)
            self._falls[_target(text)] += 1
            self.counts[f"{text.partition('(')[0]} died"] += 1
            w.next = number + w.step
        w.process = None
        if w.next < calls and not late:
            w.start(self._corpus, self._seed, calls, self._kinds, self._skipped(), self._environment, self._aim)

    def _watch(self, w, began, used, text, number):
        """Ends a worker whose case takes too long or too much; None if all is well."""
        processor, resident, runnable = w.usage()
        # What waits for a processor does not hang; how long it has, the system knows when it gets one.
        waited = 0 if runnable else time.monotonic() - began - w.starved(number)
        # The import, before the first case, is none.
        slow = text and (processor - used > _HANG_SECONDS or waited > 6 * _HANG_SECONDS)
        if not slow and resident < _GROWN_BYTES:
            return None
        w.process.send_signal(signal.SIGUSR1)
        time.sleep(0.3)
        w.process.kill()
        w.process.wait()
        where = "; ".join(line.strip() for line in w.errors().splitlines()[-30:] if "File" in line)[:400]
        kind = "hangs" if slow else "grows"
        self._add(w, kind, f"{processor - used:.0f} s, {resident >> 20} MiB; {where}", text, number)
        self._falls[_target(text)] += 1
        self.counts[f"{text.partition('(')[0]} {kind}"] += 1
        w.next = number + w.step
        w.process = None
        return -signal.SIGKILL

    def _add(self, w, kind, says, text, number):
        key = judge.signature(kind, "" if kind in ("hangs", "grows") else says, "" if kind == "died" else _target(text))
        if key in self.findings:
            self.findings[key].count += 1
            return
        self.findings[key] = Finding(kind, says, text, number, w.began)
        self._report(f"{kind}: {says}\n  {text}")


def _target(text: str) -> str:
    try:
        return cases.parse(text).target
    except (SyntaxError, ValueError):
        return ""
