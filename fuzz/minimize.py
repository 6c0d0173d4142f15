"""A finding made small: a case without what it does not need, tried in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import time

from fuzz import case as cases
from fuzz import crash
from fuzz.values import ArrayValue, Code, TensorValue


class Trials:
    """Runs cases, each in a fork of one process that has imported everything."""

    def __init__(self, environment: dict[str, str] | None = None):
        self._process, self._environment = None, environment

    def __call__(self, *texts: str) -> str:
        """The cause of the death, or the kind of the outcome, of the last of some cases that run in turn."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fuzz.worker", "--trials"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=self._environment,
            )
        self._process.stdin.write(json.dumps(texts) + "\n")
        self._process.stdin.flush()
        while True:
            line = self._process.stdout.readline()
            if not line:
                self.close()
                return "no answer"
            if line.startswith("["):
                break
        kind, says = json.loads(line)
        if kind != "died":
            return kind
        status, _, said = says.partition("\n")
        return "died " + crash.cause(int(status.split()[1]), said)

    def close(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def minimized(text: str, trials: Trials, seconds: float = 40) -> str:
    """A smaller case with the same outcome, found by trying one change after the other."""
    until = time.monotonic() + seconds
    want = trials(text)
    if want in ("ok", "refused", "no answer"):
        return text
    try:
        best = cases.parse(text)
    except (SyntaxError, ValueError):
        return text
    better = True
    while better and time.monotonic() < until:
        better = False
        for smaller in _smaller(best):
            if time.monotonic() > until:
                break
            if str(smaller) != str(best) and trials(str(smaller)) == want:
                best, better = smaller, True
                break
    return str(best)


def sequence(texts: list[str], trials: Trials, seconds: float = 60) -> list[str]:
    """The cases of a list that its last one needs before it to fail; all of them if it does not fail again."""
    until = time.monotonic() + seconds
    want = trials(*texts)
    if want in ("ok", "refused", "no answer"):
        return texts[-1:]
    before, chunk = texts[:-1], max(1, len(texts) // 2)
    while chunk and time.monotonic() < until:
        at = 0
        while at < len(before) and time.monotonic() < until:
            rest = before[:at] + before[at + chunk :]
            if trials(*rest, texts[-1]) == want:
                before = rest
            else:
                at += chunk
        chunk //= 2
    return [*before, texts[-1]]


def _smaller(c: cases.Case):
    """Cases a step simpler, the largest steps first."""
    if c.mode not in ("call", "file"):
        yield c.with_(mode="call")
    for i in range(len(c.kwargs)):
        yield c.with_(kwargs=c.kwargs[:i] + c.kwargs[i + 1 :])
    if c.args:
        yield c.with_(args=c.args[:-1])
    leaves = c.leaves()
    for i, leaf in enumerate(leaves):
        for simple in _simpler(leaf):
            yield _replaced(c, i, simple)


def _replaced(c: cases.Case, index: int, new) -> cases.Case:
    at = [-1]

    def visit(v):
        at[0] += 1
        if at[0] == index:
            skip = len([1 for _ in _walk(v)]) - 1
            at[0] += skip
            return new
        if isinstance(v, (list, tuple)):
            return type(v)(visit(e) for e in v)
        return v

    return c.with_(args=tuple(visit(a) for a in c.args), kwargs=tuple((k, visit(v)) for k, v in c.kwargs))


def _walk(v):
    yield v
    if isinstance(v, (list, tuple)):
        for e in v:
            yield from _walk(e)


def _simpler(v):
    if isinstance(v, TensorValue):
        if v.layout != "plain":
            yield v.with_(layout="plain")
        if v.grad:
            yield v.with_(grad=False)
        if v.values is not None:
            yield v.with_(values=None)
        for i, d in enumerate(v.dims):
            if d > 3:
                yield v.with_(dims=v.dims[:i] + (d // 2,) + v.dims[i + 1 :])
            if d > 1:
                yield v.with_(dims=v.dims[:i] + (1,) + v.dims[i + 1 :])
                yield v.with_(dims=v.dims[:i] + (d - 1,) + v.dims[i + 1 :])
    elif isinstance(v, (list, tuple)) and len(v) > 1:
        yield type(v)(v[:1])
        yield type(v)(v[:-1])
    elif isinstance(v, (Code, ArrayValue, dict)) or v is None:
        return
    elif isinstance(v, str) and len(v) > 3:
        yield "x"
    elif type(v) is int and abs(v) > 2:
        yield 1 if v > 0 else -1
