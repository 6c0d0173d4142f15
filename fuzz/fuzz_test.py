"""A short run of the fuzzer finds nothing; and one that meets faults finds them."""

import json
import os
import signal
import subprocess
import sys

import pytest

from fuzz import corpus, generate, minimize, supervisor
from fuzz.__main__ import Record

# Processor seconds: about 40. ./dev fuzz runs for longer, and under the address sanitizer.
_CALLS = 9000
# Under it a read past the end of a block is a fault; without Bazel the tests go without.
_GUARD = "fuzz/guard.so" if os.path.exists("fuzz/guard.so") else os.environ.get("PROA_GUARD")


def _is_severe(finding):
    """What ends this test; ./dev fuzz reports the rest too: backward that is refused where forward was not, and programs
    of open sizes that give other numbers."""
    return finding.kind != "backward" and not (finding.kind == "differs" and finding.text.startswith("record_open"))


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("fuzz") / "corpus.json")
    corpus.write(path)
    return path


def test_a_short_run_finds_nothing(seeds, tmp_path):
    watch = supervisor.Supervisor(seeds, str(tmp_path), 19, 1, generate.KINDS, False, guard=_GUARD)
    watch.run(_CALLS, 600)
    found = [f for f in watch.findings.values() if _is_severe(f)]
    found = "\n".join(f"# {f.kind}, --case {f.number}: {f.says}\n{f.text}" for f in found)
    assert not found, "seed 19\n" + found
    assert sum(watch.counts.values()) == _CALLS
    # Most calls are near enough to right ones to have results.
    assert sum(n for name, n in watch.counts.items() if name.endswith(" ok")) > _CALLS / 3


def test_the_same_seed_gives_the_same_calls(seeds):
    one, two = (generate.Generator(generate.load(seeds), 3) for _ in range(2))
    assert [one.case(n) for n in range(300)] == [two.case(n) for n in range(300)]
    assert one.case(5) == two.case(5), "whatever ran before"


def test_every_op_and_function_is_called(seeds):
    targets = {t[5:].partition(",")[0].rstrip(")") for ts in generate.load(seeds)["seeds"].values() for t in ts}
    import proa

    missing = {f"proa._C.ops.{d['name']}" for d in proa._C.op_registry()} - targets
    assert not missing
    missing = ({*corpus.functions(), *corpus.methods()} - targets) | {
        name for name in corpus.layers() if not any(f"layer({name}" in t for t in targets)
    }
    assert not {m for m in missing if not m.startswith(("proa.nn.", "proa.sparse.", "proa.vision.ops."))}, missing


class _Generated:
    """Stands for the generator in a worker: three cases, of which the second brings it down."""

    def __init__(self, text):
        self.text = text


@pytest.mark.parametrize(
    "fault, kind, says",
    [
        ("call(os.kill, os.getpid(), 11)", "died", "SIGSEGV"),
        ("call(os.abort)", "died", "SIGABRT"),
        ("call(time.sleep, 1000)", "hangs", ""),
        ("call(bytearray, 1 << 50)", "", ""),
        ("call(replay_differs)", "differs", "other numbers"),
    ],
)
def test_faults_are_found(fault, kind, says, tmp_path, monkeypatch):
    """Through workers whose generator is replaced: each runs one case that is right, the fault, and a right one."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, time\n"
        "from fuzz import generate, replay\n"
        "def differs(): raise replay.Differs('other numbers')\n"
        "vars(replay).update(os=os, time=time, replay_differs=differs)\n"
        "class Generator:\n"
        "    def __init__(self, *_): pass\n"
        f"    def case(self, number): return {fault!r} if number == 1 else 'call(abs, 1)'\n"
        "generate.Generator, generate.load = Generator, lambda path: None\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setattr(supervisor, "_HANG_SECONDS", 0.3)
    watch = supervisor.Supervisor("", str(tmp_path), 0, 1, ["op"], False, report=lambda _: None)
    watch.run(3, 60)
    assert watch.counts["call ok"] == 2, watch.counts
    found = list(watch.findings.values())
    assert [f.kind for f in found] == ([kind] if kind else [])
    assert all(says in f.says and f.text == fault and f.number == 1 for f in found)


def test_half_a_line_waits_for_its_other_half(tmp_path):
    """The worker writes while the supervisor reads."""
    watched = supervisor._Worker(str(tmp_path), 0, 1)
    said = []
    with open(tmp_path / "found-0", "w", encoding="utf-8") as file:
        for part in ('{"ran": "a"}\n{"ra', "", 'n": "ü', '"}\n', '{"ran": "c"}'):
            file.write(part)
            file.flush()
            said.append([line["ran"] for line in watched.lines()])
    assert said == [["a"], [], [], ["ü"], []]


def test_a_finding_is_made_small():
    """With outcomes that a function decides: a death whenever a tensor has a dim of 5 or more."""

    def trials(*texts):
        return f"died {signal.SIGSEGV}" if any(f"{n}" in texts[-1] for n in (5, 9)) else "ok"

    text = "differentiate(f, tensor('float64', [9, 2], layout='strided', grad=True), [1, 2, 3], axis=1)"
    assert minimize.minimized(text, trials) == "call(f, tensor('float64', [9, 1]))"


def test_the_cases_that_a_finding_needs_before_it_are_found():
    trials = lambda *texts: "died" if "b" in texts and texts[-1] == "z" else "ok"
    assert minimize.sequence(list("abcdez"), trials) == ["b", "z"]


@pytest.mark.skipif(not _GUARD, reason="needs guard.so")
@pytest.mark.parametrize(
    "code, dies",
    [
        ("a = proa.ones([3]); read(a.data_ptr() + 8)", False),
        ("a = proa.ones([3]); read(a.data_ptr() + 12)", True),
        ("a = proa.ones([1000, 3]); read(a.data_ptr() + 11996)", False),
        ("a = proa.ones([1000, 3]); read(a.data_ptr() + 12000)", True),
        ("a = proa.ones([1000, 3]); p = a.data_ptr(); del a; read(p)", True),
    ],
)
def test_the_guard_sees(code, dies):
    """Reads in, behind and after a block, as a kernel would make them."""
    code = "import ctypes, proa; ctypes.CDLL(None).guard_begin(); read = lambda p: ctypes.string_at(p, 4); " + code
    done = subprocess.run([sys.executable, "-c", code], env=supervisor.guarded(_GUARD), check=False)
    assert done.returncode == (-signal.SIGSEGV if dies else 0)


def test_a_record_is_gone_on_with(seeds, tmp_path):
    """Two runs of a seed with one record call what one run calls."""
    path, reached = str(tmp_path / "record.json"), []
    for calls in (150, 100):
        record = Record(path, 23)
        (tmp_path / str(calls)).mkdir()
        watch = supervisor.Supervisor(
            seeds,
            str(tmp_path / str(calls)),
            23,
            1,
            generate.KINDS,
            False,
            guard=_GUARD,
            first=record.first,
            record=record,
        )
        watch.run(record.first + calls, 600)
        record(watch)
        reached.append((record.first, json.loads((tmp_path / "record.json").read_text())))
    (first, one), (second, both) = reached
    assert (first, second) == (0, 150)
    assert (one["next"], one["calls"]) == (150, 150)
    assert (both["next"], both["calls"], both["seed"]) == (250, 250, 23)
    with pytest.raises(SystemExit, match="is the record of seed 23, not 24"):
        Record(path, 24)
