"""A process that runs cases and says in a file which one, so that whoever watches knows when it dies.

python -m fuzz.worker CORPUS NOTE FOUND SEED BEGIN END STEP KINDS SKIP AIM    runs generated cases
python -m fuzz.worker --trials                           runs lines of stdin, each in a fork; answers a line each
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import mmap
import os
import signal
import struct
import sys
import tempfile
import time
import warnings

_NOTE = struct.Struct("<qddi")
NOTE_BYTES = 1 << 16


class Note:
    """What a worker does now: the number of the case, when and at which processor time it began, its text."""

    def __init__(self, path: str):
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), NOTE_BYTES)

    def write(self, number: int, text: str) -> None:
        data = text.encode()[: NOTE_BYTES - _NOTE.size]
        self._map[_NOTE.size : _NOTE.size + len(data)] = data
        self._map[: _NOTE.size] = _NOTE.pack(number, time.monotonic(), time.process_time(), len(data))

    def read(self) -> tuple[int, float, float, str]:
        number, began, used, size = _NOTE.unpack(self._map[: _NOTE.size])
        return number, began, used, self._map[_NOTE.size : _NOTE.size + size].decode(errors="replace")


def _begin() -> None:
    """Before the first case: where files go, what warnings and signals do, how much memory there is."""
    import proa
    from fuzz import replay

    faulthandler.register(signal.SIGUSR1)
    warnings.simplefilter("ignore")
    # Functions that take the name of a file write here.
    os.chdir(tempfile.mkdtemp(prefix="fuzz-"))
    replay.prepare()
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):
        # Says on stderr which op ran; a sanitizer has handlers of its own.
        proa.utils.enable_crash_handler(python_stack=False)
    preloaded = ctypes.CDLL(None)
    if hasattr(preloaded, "guard_begin"):
        preloaded.guard_begin()


def _run_cases(corpus, note, found, seed, begin, end, step, kinds, skip, aim):
    from fuzz import case as cases
    from fuzz import generate, judge, ranks

    skip = set(filter(None, skip.split("\n")))
    aim, corpus = json.loads(aim), generate.load(corpus)
    if kinds == ranks.KIND:
        generator = ranks.Generator(corpus)
    else:
        generator = generate.Generator(corpus, int(seed), kinds.split(","), **aim)
    note = Note(note)
    _begin()
    with open(found, "a", encoding="utf-8") as out:

        def say(**what):
            out.write(json.dumps(what) + "\n")
            out.flush()

        for number in range(int(begin), int(end), int(step)):
            text = generator.case(number)
            if skip and cases.parse(text).target in skip:
                continue
            note.write(number, text)
            outcome = judge.run(text)
            if outcome.found:
                say(number=number, text=text, kind=outcome.kind, says=outcome.says)
            # Each at once: what a process holds back dies with it.
            say(ran=f"{text.partition('(')[0]} {outcome.kind}")
    note.write(int(end), "")


def _answer(lines: list[str]) -> None:
    """Runs cases in a forked child, one after the other; the last one's outcome is the answer."""
    from fuzz import judge

    outcome = judge.Outcome("ok")
    for line in lines:
        outcome = judge.run(line)
    os.write(1, (json.dumps([outcome.kind, outcome.says]) + "\n").encode())
    os._exit(0)


def _run_trials() -> None:
    _begin()
    for line in sys.stdin:
        lines = json.loads(line)
        errors = os.open("errors", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        child = os.fork()
        if child == 0:
            os.dup2(errors, 2)
            signal.alarm(30)
            _answer(lines)
        _, status = os.waitpid(child, 0)
        if status != 0:
            said = os.pread(errors, 1 << 20, 0).decode(errors="replace")
            os.write(1, (json.dumps(["died", f"status {status}\n{said}"]) + "\n").encode())
        os.close(errors)


if __name__ == "__main__":
    sys.argv[1] == "--trials" and _run_trials() or len(sys.argv) > 3 and _run_cases(*sys.argv[1:])
