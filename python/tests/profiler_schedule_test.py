"""When proa.profiler records: schedules, the hand-over of recordings, timers."""

import time

import pytest

import proa
from proa import profiler
from proa.profiler import ProfilerState
from proa.profiler.timer import StepTimer
from python.tests.profiled import named, quiet, recorded, train


def test_make_scheduler():
    schedule = profiler.make_scheduler(closed=1, ready=1, record=2, repeat=2, skip_first=1)
    names = [schedule(i).name for i in range(11)]
    cycle = ["CLOSED", "READY", "RECORD", "RECORD_AND_RETURN"]
    assert names == ["CLOSED", *cycle, *cycle, "CLOSED", "CLOSED"]
    for_ever = profiler.make_scheduler(closed=0, ready=0, record=1)
    assert {for_ever(i) for i in range(50)} == {ProfilerState.RECORD_AND_RETURN}
    for bad in (
        dict(closed=-1, ready=0, record=1),
        dict(closed=0, ready=0, record=0),
        dict(closed=0, ready=0.5, record=1),
    ):
        with pytest.raises(ValueError, match="make_scheduler"):
            profiler.make_scheduler(**bad)


def test_cycles_are_handed_over():
    handed = []

    def ready(prof):
        handed.append((prof.step_num, named(prof.profiler_result, "step"), named(prof.profiler_result, "op")))

    prof = profiler.Profiler(
        scheduler=profiler.make_scheduler(closed=1, ready=1, record=2, repeat=2), on_trace_ready=ready
    )
    prof.start()
    for _ in range(10):
        proa.ones([2]).exp()
        prof.step()
    prof.stop()
    assert [h[:2] for h in handed] == [
        (4, ["ProfileStep#2", "ProfileStep#3"]),
        (8, ["ProfileStep#6", "ProfileStep#7"]),
    ]
    assert all(h[2].count("exp") == 2 for h in handed)


@pytest.mark.parametrize("window", [(0, 2), (1, 3), (3, 4)])
def test_pairs_as_schedules(window):
    steps = []
    with profiler.Profiler(
        scheduler=window, on_trace_ready=lambda p: steps.append(named(p.profiler_result, "step"))
    ) as prof:
        for _ in range(6):
            prof.step()
    assert steps == [[f"ProfileStep#{i}" for i in range(*window)]]


def test_a_recording_that_is_not_finished_is_handed_over_at_the_end():
    handed = []
    with profiler.Profiler(scheduler=(0, 100), on_trace_ready=lambda p: handed.append(len(p.profiler_result))) as prof:
        prof.step()
    assert len(handed) == 1
    prof.stop()
    assert len(handed) == 1
    # Warming up only: nothing to hand over.
    with profiler.Profiler(scheduler=(1, 5), on_trace_ready=lambda p: handed.append(p)) as prof:
        pass
    assert len(handed) == 1 and not proa._C.profiler.enabled()


def test_one_profiler_records_at_a_time():
    with profiler.Profiler(on_trace_ready=quiet):
        with pytest.raises(RuntimeError, match="another profiler records"):
            profiler.Profiler().start()
    assert len(recorded(lambda: None)) == 1


def test_a_scheduler_that_is_wrong():
    with pytest.raises(TypeError, match="must give a ProfilerState"):
        profiler.Profiler(scheduler=lambda step: 3).start()
    assert not proa._C.profiler.enabled()


def test_decorator():
    handed = []
    prof = profiler.Profiler(on_trace_ready=handed.append)

    @prof
    def work():
        return proa.ones([2]).exp()

    work()
    work()
    assert len(handed) == 2


def test_timer_with_a_clock():
    now = [0.0]
    timer = StepTimer(lambda: now[0])
    timer.start()
    for _ in range(4):
        timer.before_read()
        now[0] += 0.5
        timer.after_read()
        now[0] += 1.5
        timer.step(8)
    assert timer.info("images") == " reader_cost: 0.50000 s batch_cost: 2.00000 s ips: 4.000 images/s"
    assert timer.info() == ""
    now[0] += 1
    timer.step()
    assert "ips: 1.000 steps/s" in timer.info()
    report = timer.report()
    assert "Steps: 5" in report and "Reader Ratio: 22.222%" in report


def test_timer_only(capsys):
    prof = profiler.Profiler(timer_only=True)
    with prof:
        train(3, prof)
        assert "samples/s" in prof.step_info()
    out = capsys.readouterr().out
    assert "Perf Summary" in out and "reader_cost" in out and "samples/s" in out
    prof.summary()
    assert "Steps: 3" in capsys.readouterr().out
    assert prof.profiler_result is None


def test_a_clock_that_goes_back():
    now = [10.0]
    timer = StepTimer(lambda: now[0])
    timer.start()
    now[0] = 5.0
    timer.step()
    assert "batch_cost: 0.00000" in timer.info()


def test_steps_take_no_less_than_they_sleep():
    with profiler.Profiler(on_trace_ready=quiet) as prof:
        time.sleep(0.02)
        prof.step()
    step = next(e for e in prof.profiler_result.events() if e["name"] == "ProfileStep#0")
    assert step["end_ns"] - step["start_ns"] > 19e6
