"""proa.profiler in children of fork."""

import multiprocessing
import os

import proa
from proa import profiler
from python.tests.profiled import quiet, recorded


def _child(path):
    assert not proa._C.profiler.enabled()
    result = recorded(lambda: proa.ones([2]).exp())
    result.save(path, "pb")


def test_children_of_fork(tmp_path):
    path = str(tmp_path / "child.pb")
    with profiler.Profiler(on_trace_ready=quiet) as prof:
        proa.ones([2]).exp()
        child = multiprocessing.get_context("fork").Process(target=_child, args=(path,))
        child.start()
        child.join(60)
        assert child.exitcode == 0
    mine, theirs = prof.profiler_result, profiler.load_profiler_result(path)
    merged = profiler.merge([mine, theirs])
    assert [p["system_id"] for p in merged.processes()] == [os.getpid(), child.pid]
    assert len(merged) == len(mine) + len(theirs)
    times = [e["start_ns"] for e in merged.events()]
    assert times == sorted(times)
    child_times = [e["start_ns"] for e in theirs.events()]
    step = next(e for e in mine.events() if e["category"] == "step")
    assert step["start_ns"] < min(child_times) < step["end_ns"]


def test_fork_in_the_middle_of_a_recording():
    handed = []
    prof = profiler.Profiler(on_trace_ready=handed.append)
    prof.start()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            proa.ones([2]).exp()
            prof.step()
            prof.stop()  # the recording is the parent's
            code = 0 if not handed else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    prof.stop()
    assert len(handed) == 1
