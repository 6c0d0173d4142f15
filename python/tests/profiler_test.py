"""proa.profiler: what it records, its exports by independent readers, bad input."""

import gzip
import html.parser
import json
import multiprocessing
import os
import struct
import threading
import time
import xml.etree.ElementTree as ElementTree

import pytest

import proa
from proa import profiler
from proa.profiler import ProfilerState, RecordEvent, SortedKeys, SummaryView
from proa.profiler.timer import StepTimer


def quiet(prof):
    """A handler that does nothing."""


def recorded(body, **options):
    with profiler.Profiler(on_trace_ready=quiet, **options) as prof:
        body()
    return prof.profiler_result


def named(result, category):
    return [e["name"] for e in result.events() if e["category"] == category]


class Net(proa.nn.Layer):
    def __init__(self):
        super().__init__()
        self.hidden = proa.nn.Linear(8, 16)
        self.out = proa.nn.Linear(16, 2)

    def forward(self, x):
        return self.out(proa.nn.functional.relu(self.hidden(x)))


def train(steps=2, prof=None):
    net = Net()
    sgd = proa.optimizer.SGD(0.1, parameters=net.parameters())
    data = proa.io.TensorDataset([proa.ones([4 * steps, 8])])
    for (x,) in proa.io.DataLoader(data, batch_size=4):
        net(x).mean().backward()
        sgd.step()
        sgd.clear_grad()
        if prof is not None:
            prof.step(4)


@pytest.fixture(scope="module")
def training():
    options = dict(record_shapes=True, profile_memory=True, with_flops=True, with_stack=True)
    with profiler.Profiler(on_trace_ready=quiet, **options) as prof:
        train(2, prof)
    return prof.profiler_result


# What is recorded -----------------------------------------------------------


def test_ops_layers_backward_optimizer_reader(training):
    ops = {row["name"]: row for row in training.table("op")}
    assert ops["linear"]["calls"] == 4
    assert ops["relu"]["calls"] == 2
    backward = {row["name"]: row["calls"] for row in training.table("backward")}
    assert backward["linear_grad"] == 4 and backward["relu_grad"] == 2
    layers = {row["name"]: row for row in training.table("layer")}
    assert set(layers) == {"Net", "Net.hidden", "Net.out"}
    for row in layers.values():
        assert row["calls"] == 2
        assert 0 < row["backward_ns"] < row["total_ns"]
    inner = layers["Net.hidden"]["total_ns"] + layers["Net.out"]["total_ns"]
    assert layers["Net"]["total_ns"] >= inner
    assert named(training, "optimizer").count("SGD.step") == 2
    assert named(training, "dataloader").count("DataLoader") == 3  # the last finds the end
    assert named(training, "step") == ["ProfileStep#0", "ProfileStep#1", "ProfileStep#2"]
    assert named(training, "pass") == ["backward", "backward"]


def test_layers_are_as_before_when_nothing_records(training):
    assert proa.nn.Layer.__call__.__qualname__ == "Layer.__call__"
    assert not hasattr(proa.nn.Layer.__call__, "__wrapped__")
    assert not hasattr(proa.optimizer.Optimizer.step, "__wrapped__")
    assert not proa._C.profiler.enabled()


def test_shapes_flops_bytes(training):
    first = next(e for e in training.events() if e["name"] == "linear" and e["category"] == "op")
    assert first["shapes"] == "[4, 8] float32, [8, 16] float32, [16] float32"
    assert first["flops"] == 2 * 4 * 8 * 16 + 4 * 16
    assert first["bytes"] == 4 * (4 * 8 + 8 * 16 + 16 + 4 * 16)
    assert first["path"] == "Net.hidden"
    relu = next(e for e in training.events() if e["name"] == "relu")
    assert relu["flops"] == 4 * 16
    rows = {(r["name"], r["shapes"]): r["calls"] for r in training.table("op_shapes")}
    assert rows["linear", "[4, 16] float32, [16, 2] float32, [2] float32"] == 2


def test_lines_of_the_program(training):
    lines = {row["name"] for row in training.table("source")}
    assert lines and all(name.startswith("profiler_test.py:") for name in lines), lines


def test_line_of_the_call():
    def body():
        proa.ones([2]).exp()

    result = recorded(body, with_stack=True)
    event = next(e for e in result.events() if e["name"] == "exp")
    assert event["source"] == f"profiler_test.py:{body.__code__.co_firstlineno + 1}"


def test_flops_of_products():
    def body():
        proa.matmul(proa.ones([5, 2, 3]), proa.ones([5, 3, 4]))
        proa.matmul(proa.ones([3, 2]), proa.ones([3, 4]), transpose_x=True)
        proa.nn.functional.conv2d(proa.ones([2, 4, 8, 8]), proa.ones([6, 2, 3, 3]), groups=2, padding=1)

    events = [e for e in recorded(body, with_flops=True).events() if e["category"] == "op"]
    flops = [e["flops"] for e in events if e["name"] == "matmul"]
    assert flops == [2 * 5 * 2 * 3 * 4, 2 * 2 * 3 * 4]
    conv = [e["flops"] for e in events if e["name"] == "conv2d"]
    assert conv == [2 * (2 * 6 * 8 * 8) * (2 * 3 * 3)]


def test_memory():
    def body():
        x = proa.ones([1024, 256])
        y = x + 1
        del x
        del y

    before = proa._C.memory_figures()["allocated"]
    result = recorded(body, profile_memory=True)
    rows = {row["op"]: row for row in result.memory()}
    assert rows["add"]["largest_bytes"] == 1024 * 256 * 4
    assert sum(row["freed_bytes"] for row in rows.values()) >= 2 * 1024 * 256 * 4
    (peak,) = result.memory_peaks()
    assert peak["place"] == "cpu"
    assert peak["peak_bytes"] >= before + 2 * 1024 * 256 * 4
    assert recorded(body).memory() == []


def test_other_threads_record_their_ops():
    ready, go = threading.Event(), threading.Event()

    def work():
        proa.ones([2]) + 1
        ready.set()
        go.wait()
        for _ in range(3):
            proa.ones([2]) + 1

    def body():
        go.set()
        thread.join()

    thread = threading.Thread(target=work, name="the worker")
    thread.start()
    ready.wait()
    with profiler.Profiler(on_trace_ready=quiet) as prof:
        body_thread = threading.Thread(target=lambda: proa.ones([3]) * 2, name="started while it records")
        body_thread.start()
        body_thread.join()
        body()
    result = prof.profiler_result
    names = [t["name"] for t in result.threads()]
    rows = {(names[r["thread"]], r["name"]) for r in result.table("op", by_thread=True)}
    assert sum(name == "add" for _, name in rows) == 1
    assert sum(name == "multiply" for _, name in rows) == 1
    assert len(result.threads()) == 3
    assert "thread 1" in result.summary(thread_sep=True)


def test_a_thread_forgets_the_profiler():
    recorded(lambda: proa.ones([2]) + 1)
    done = []
    thread = threading.Thread(target=lambda: done.append((proa.ones([2]) + 1).tolist()))
    thread.start()
    thread.join()
    assert done == [[2.0, 2.0]]
    assert len(recorded(lambda: None)) == 1  # the step


def test_errors_inside_of_ops_leave_whole_ranges():
    def body():
        with pytest.raises(ValueError):
            proa.ones([2]) + proa.ones([3])
        proa.ones([2]).exp()

    result = recorded(body)
    assert {"add", "exp"} <= set(named(result, "op"))


# RecordEvent ----------------------------------------------------------------


def test_record_event():
    @RecordEvent("decorated")
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    def body():
        with RecordEvent("outer", profiler.TracerEventType.Forward):
            proa.ones([2])
        fibonacci(3)

    result = recorded(body)
    assert named(result, "forward") == ["outer"]
    rows = {row["name"]: row for row in result.table("user")}
    assert rows["decorated"]["calls"] == 5
    assert rows["decorated"]["total_ns"] <= 1e9 * result.duration


def test_unbalanced_ranges():
    def body():
        event = RecordEvent("twice")
        event.end()
        event.begin()
        event.end()
        event.end()
        RecordEvent("never ends").begin()

    assert named(recorded(body), "user") == ["twice"]
    late = RecordEvent("late")
    with profiler.Profiler(on_trace_ready=quiet) as prof:
        late.begin()
    late.end()
    assert named(prof.profiler_result, "user") == []


def test_a_range_across_threads_is_shown_apart():
    event = RecordEvent("across")

    def body():
        event.begin()
        thread = threading.Thread(target=event.end)
        thread.start()
        thread.join()

    (found,) = [e for e in recorded(body).events() if e["name"] == "across"]
    assert found["kind"] == 1


@pytest.mark.parametrize(
    "name", ["", 'quo"te', "back\\slash", "ctrl\x01\n\t", "é€😀", "\ud800 alone", "</script>&", "a" * 5000]
)
def test_names_of_any_text(name, tmp_path):
    result = recorded(lambda: RecordEvent(name).__enter__().end())
    expected = name.encode("utf-8", "replace").decode()
    assert named(result, "user") == [expected]
    for format in ("json", "pb", "perfetto", "folded", "html"):
        result.save(tmp_path / format, format)
    trace = json.loads((tmp_path / "json").read_text())
    assert expected in [e["name"] for e in trace["traceEvents"]]
    assert named(profiler.load_profiler_result(tmp_path / "pb"), "user") == [expected]
    parse_xml(tmp_path / "html")


def test_wrong_arguments():
    with pytest.raises(TypeError, match="name must be a str, not int"):
        RecordEvent(3)
    with pytest.raises(TypeError, match="event_type must be a TracerEventType"):
        RecordEvent("x", 3)
    with pytest.raises(TypeError, match="targets must be ProfilerTarget"):
        profiler.Profiler(targets=["cpu"])
    with pytest.raises(TypeError, match="scheduler must be"):
        profiler.Profiler(scheduler=3)
    with pytest.raises(ValueError, match="end of scheduler must be an int >= 3"):
        profiler.Profiler(scheduler=(2, 2))
    with pytest.raises(TypeError, match="on_trace_ready must be a function"):
        profiler.Profiler(on_trace_ready="x")
    with pytest.warns(UserWarning, match="nothing records GPU"):
        profiler.Profiler(targets=[profiler.ProfilerTarget.GPU])
    with pytest.raises(RuntimeError, match="nothing was recorded yet"):
        profiler.Profiler().summary()
    with pytest.raises(RuntimeError, match="nothing was recorded yet"):
        profiler.Profiler().export("x")


# Schedules ------------------------------------------------------------------


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


def test_bounded_memory_drops_the_oldest():
    result = recorded(lambda: [RecordEvent(f"e{i}").__enter__().end() for i in range(100)], events_per_thread=10)
    assert len(result) == 10
    assert result.dropped == 91
    assert "e98" in named(result, "user") and "e1" not in named(result, "user")


# Timers ---------------------------------------------------------------------


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


# Exports --------------------------------------------------------------------

PHASES = {"X", "i", "C", "s", "f", "b", "e", "M"}


def check_chrome(trace):
    """The parts of the format that viewers rely on."""
    assert set(trace) == {"traceEvents", "displayTimeUnit", "baseTimeNanoseconds", "otherData"}
    for e in trace["traceEvents"]:
        assert e["ph"] in PHASES and isinstance(e["name"], str)
        assert isinstance(e["pid"], int) and isinstance(e["tid"], int)
        if e["ph"] == "M":
            assert e["name"] in ("process_name", "thread_name") and isinstance(e["args"]["name"], str)
            continue
        assert isinstance(e["ts"], (int, float)) and isinstance(e["cat"], str)
        if e["ph"] == "X":
            assert e["dur"] >= 0
        if e["ph"] in "sfbe":
            assert "id" in e
        if e["ph"] == "C":
            assert all(isinstance(v, (int, float)) for v in e["args"].values())


def test_chrome_trace(training, tmp_path):
    path = tmp_path / "trace.json"
    training.save(path)
    trace = json.loads(path.read_text())
    check_chrome(trace)
    ops = [e for e in trace["traceEvents"] if e["ph"] == "X" and e["cat"] == "op"]
    assert len(ops) == len(named(training, "op"))
    linear = next(e for e in ops if e["name"] == "linear")
    assert linear["args"]["shapes"].startswith("[4, 8] float32")
    training.save(tmp_path / "trace.json.gz")
    with gzip.open(tmp_path / "trace.json.gz", "rt") as stream:
        assert json.load(stream) == trace
    training.save(tmp_path / "small.json", max_bytes=12000)
    small = json.loads((tmp_path / "small.json").read_text())
    check_chrome(small)
    assert os.path.getsize(tmp_path / "small.json") <= 12000
    assert int(small["otherData"]["left_out_events"]) > 0


def decode(message):
    """Fields of a protobuf message as (number, value): only the wire format, no schema."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    fields = []
    while at < len(message):
        key = varint()
        kind = key & 7
        if kind == 0:
            value = varint()
        elif kind == 1:
            value, at = message[at : at + 8], at + 8
        elif kind == 2:
            size = varint()
            value, at = message[at : at + size], at + size
            assert len(value) == size
        elif kind == 5:
            value, at = message[at : at + 4], at + 4
        else:
            raise AssertionError(f"wire type {kind}")
        fields.append((key >> 3, value))
    return fields


def test_perfetto_trace(training, tmp_path):
    """Read by the public field numbers alone."""
    path = tmp_path / "trace.perfetto"
    training.save(path, "perfetto")
    open_slices, slices, tracks, counters, last = {}, [], {}, {}, {}
    for number, packet in decode(path.read_bytes()):
        assert number == 1
        packet = dict(decode(packet))
        if 60 in packet:
            descriptor = dict(decode(packet[60]))
            tracks[descriptor[1]] = descriptor
            continue
        event, now = dict(decode(packet[11])), packet[8]
        kind, track = event[9], event[11]
        assert track in tracks
        assert now >= last.get(track, 0)
        last[track] = now
        if kind == 1:
            open_slices.setdefault(track, []).append((event[23].decode(), event[22].decode(), now))
        elif kind == 2:
            name, category, start = open_slices[track].pop()
            slices.append((name, category, now - start))
        elif kind == 4:
            counters.setdefault(tracks[track][2].decode(), []).append(struct.unpack("<d", event[44])[0])
    assert not any(open_slices.values())
    expected = sorted(
        (e["name"], e["category"], e["end_ns"] - e["start_ns"]) for e in training.events() if e["kind"] == 0
    )
    assert sorted(slices) == expected
    assert max(counters["memory of cpu"]) == training.memory_peaks()[0]["peak_bytes"]
    threads = [dict(decode(d[4])) for d in tracks.values() if 4 in d]
    assert threads[0][1] == os.getpid() and threads[0][2] == threading.get_native_id()


def test_folded_stacks(training, tmp_path):
    training.save(tmp_path / "stacks", "folded")
    total = 0
    for line in (tmp_path / "stacks").read_text().splitlines():
        stack, _, us = line.rpartition(" ")
        assert stack.count(";") >= 1
        total += int(us)
    steps = sum(e["end_ns"] - e["start_ns"] for e in training.events() if e["category"] == "step")
    assert total == pytest.approx(steps / 1000, rel=0.05, abs=200)


def parse_xml(path):
    text = path.read_text()
    assert text.startswith("<!DOCTYPE html>")
    return ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>"))


def test_html_report(training, tmp_path):
    path = tmp_path / "report.html"
    training.save(path, "html")
    page = parse_xml(path)
    ns = "{http://www.w3.org/1999/xhtml}"
    for element in page.iter():
        assert not {"src", "href", "action"} & set(element.attrib), element.tag
        assert element.tag.removeprefix(ns) not in ("link", "img", "iframe", "object")
    data = json.loads(next(e.text for e in page.iter(f"{ns}script") if e.get("id") == "data"))
    names = data["names"]
    ranges = [e for e in training.events() if e["kind"] == 0]
    assert sorted((names[r[4]], r[3]) for r in data["ranges"]) == sorted(
        (e["name"], e["end_ns"] - e["start_ns"]) for e in ranges
    )
    assert sum(f[3] for f in data["flame"]) == sum(f[2] for i, f in enumerate(data["flame"]) if f[0] == i)
    assert max(p[1] for p in data["memory"][0]["points"]) == training.memory_peaks()[0]["peak_bytes"]
    tables = {t.get("id"): t for t in page.iter(f"{ns}table")}
    cells = [[c.text or "" for c in row.iter(f"{ns}td")] for row in tables["layers"].iter(f"{ns}tr")]
    assert {row[0] for row in cells if row} == {"Net", "Net.hidden", "Net.out"}
    # As browsers read it, too: nothing of the names becomes a tag.
    tags = []
    parser = html.parser.HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append(tag)
    parser.feed(path.read_text())
    assert tags.count("script") == 2 and tags.count("canvas") == 3


def test_profile_files(training, tmp_path):
    path = tmp_path / "profile.pb"
    training.save(path, "pb")
    loaded = profiler.load_profiler_result(path)
    assert loaded.events() == training.events()
    assert loaded.threads() == training.threads()
    assert loaded.summary() == training.summary()
    with pytest.raises(FileNotFoundError):
        profiler.load_profiler_result(tmp_path / "none.pb")
    data = path.read_bytes()
    for broken in (b"", data[:-1], data[:100] + b"x" + data[101:], b"hello"):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=r"profile\.pb"):
            profiler.load_profiler_result(path)


def test_handlers(tmp_path):
    for handler, ending in (
        (profiler.export_chrome_tracing(tmp_path / "a", "worker/1"), ".json"),
        (profiler.export_protobuf(tmp_path / "b"), ".pb"),
    ):
        prof = profiler.Profiler(on_trace_ready=handler, scheduler=profiler.make_scheduler(closed=0, ready=0, record=1))
        with prof:
            prof.step()
            prof.step()
        folder = tmp_path / ("a" if ending == ".json" else "b")
        files = os.listdir(folder)
        assert len(files) == 3 and all(f.endswith(".paddle_trace" + ending) for f in files)
        if ending == ".json":
            assert all(f.startswith("worker_1_time_") for f in files)
    assert len(profiler.load_profiler_result(folder / files[0])) == 1


def test_a_full_disk(training):
    for format in ("json", "pb", "perfetto", "folded", "html"):
        with pytest.raises(OSError, match="No space left on device"):
            training.save("/dev/full", format)
    with pytest.raises(FileNotFoundError):
        training.save("/no/such/folder/x")
    with pytest.raises(ValueError, match="format must be"):
        training.save("x", "xml")

    def failing(prof):
        prof.export("/dev/full")

    with pytest.raises(OSError), profiler.Profiler(on_trace_ready=failing):
        pass
    assert len(recorded(lambda: None)) == 1  # works as before


# Summaries ------------------------------------------------------------------


def test_summary(training, capsys):
    text = training.summary()
    for part in ("Overview", "Steps", "Layers", "Operators", "Backward", "Lines of the program", "Memory by place"):
        assert part in text
    assert "Net.hidden" in text and "linear_grad" in text
    ops = training.summary(views=SummaryView.OperatorView, op_detail=False, time_unit="us")
    assert "Layers" not in ops and "shapes" not in ops and "Times in us" in ops
    for key in SortedKeys:
        assert "linear" in training.summary(sorted_by=key)
    with pytest.raises(TypeError, match="SortedKeys"):
        training.summary(sorted_by="total")
    with pytest.raises(ValueError, match="time_unit"):
        training.summary(time_unit="h")
    with profiler.Profiler(on_trace_ready=quiet) as prof:
        proa.ones([2]).exp()
    prof.summary()
    assert "exp" in capsys.readouterr().out


def test_roof(training):
    training.roof = (1e-3, 0)
    assert any(row["of_roof"] > 0 for row in training.table("op"))
    assert "roof %" in training.summary()
    training.roof = (0, 0)
    assert training.roof == (0, 0)
    with pytest.raises(ValueError, match="by must be one of"):
        training.table("nothing")


# Processes ------------------------------------------------------------------


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


def test_old_interface(tmp_path, capsys):
    old = proa.utils.profiler
    with old.profiler("CPU", sorted_key="total", profile_path=str(tmp_path / "p")):
        proa.ones([2]).exp()
    assert "exp" in capsys.readouterr().out
    assert "exp" in named(profiler.load_profiler_result(tmp_path / "p"), "op")
    old.start_profiler("All")
    proa.ones([2]).exp()
    old.reset_profiler()
    proa.ones([2]).tanh()
    old.stop_profiler(profile_path=str(tmp_path / "q"))
    names = named(profiler.load_profiler_result(tmp_path / "q"), "op")
    assert "tanh" in names and "exp" not in names
    with pytest.raises(ValueError, match="state must be"):
        old.start_profiler("TPU")
    options = old.ProfilerOptions({"profile_path": str(tmp_path / "r"), "batch_range": [1, 2]})
    assert options["batch_range"] == [1, 2]
    with pytest.raises(ValueError, match="no option"):
        old.ProfilerOptions({"nothing": 1})
    with old.Profiler(enabled=True, options=options) as p:
        for _ in range(3):
            p.record_step()
    assert os.path.exists(tmp_path / "r")
    assert old.get_profiler() is old.get_profiler()


def test_steps_take_no_less_than_they_sleep():
    with profiler.Profiler(on_trace_ready=quiet) as prof:
        time.sleep(0.02)
        prof.step()
    step = next(e for e in prof.profiler_result.events() if e["name"] == "ProfileStep#0")
    assert step["end_ns"] - step["start_ns"] > 19e6
