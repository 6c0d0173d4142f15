"""Runs calls in a package, in processes that may die or hang: each is started again behind the call it ended with."""

from __future__ import annotations

import os
import pickle
import subprocess
import time
from collections.abc import Callable, Iterator

from fuzz.beside.calls import Call

# A call that is not over by then sleeps where no signal of the process itself wakes it.
_GRACE_SECONDS = 10
# An import that comes to nothing so often in a row is not the calls' fault.
_FALLS = 3


class _Reader:
    """The records of a file that another process writes."""

    def __init__(self, path: str):
        self._path, self._read = path, 0

    def new(self) -> Iterator[tuple[int, dict | None]]:
        with open(self._path, "rb") as file:
            file.seek(self._read)
            while True:
                try:
                    record = pickle.load(file)
                except (EOFError, pickle.UnpicklingError, AttributeError, IndexError, ValueError):
                    return  # half of one: the rest comes
                self._read = file.tell()
                yield record


def run(
    calls: list[Call],
    python: list[str],
    package: str,
    folder: str,
    modes: tuple[str, ...] = ("eager",),
    seconds: int = 15,
    memory: int = 9 << 30,
    environment: dict[str, str] | None = None,
    report: Callable[[str], None] = lambda _: None,
    until: float = float("inf"),
) -> list[dict | None]:
    """{mode: result} of each call, as runner.py says; ("died", how, "") where the process did; None: not reached.

    `python`: the command that starts an interpreter which has `package`; `until`: of time.monotonic().
    """
    path, out, errors = (os.path.join(folder, f"{package}.{name}") for name in ("calls", "out", "errors"))
    with open(path, "wb") as file:
        pickle.dump(calls, file)
    open(out, "wb").close()
    results: list[dict | None] = [None] * len(calls)
    reader, at, falls = _Reader(out), 0, 0
    while at < len(calls) and time.monotonic() < until:
        command = [*python, "-m", "fuzz.beside.runner", path, out, package, ",".join(modes)]
        command += [str(at), str(seconds), str(memory)]
        with open(errors, "wb") as file:
            process = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
        begun, since, limit = at - 1, time.monotonic(), (seconds + _GRACE_SECONDS) * len(modes)
        cause = ""
        while True:
            ended = process.poll() is not None
            for number, result in reader.new():
                begun, since = number, time.monotonic()
                if result is not None:
                    results[number] = result
            if ended:
                break
            if time.monotonic() > until or begun >= at and time.monotonic() - since > limit:
                cause = "hangs"
                process.kill()
            time.sleep(0.05)
        if time.monotonic() > until:
            break
        if begun < at:
            falls += 1
            if falls == _FALLS:
                with open(errors, "rb") as file:
                    said = file.read()[-2000:].decode(errors="replace")
                raise RuntimeError(f"{package} does not begin: exit status {process.returncode}\n{said}")
            continue
        falls = 0
        if process.returncode == 0:
            break
        if results[begun] is None:
            results[begun] = {mode: ("died", cause or f"status {process.returncode}", "") for mode in modes}
            report(f"{package} {cause or 'died'} at {calls[begun]}")
        at = begun + 1
    return results
