"""What proa.profiler writes, by independent readers; tables; files that load back."""

import gzip
import json
import os
import struct
import threading

import pytest

import proa
from proa import profiler
from proa.profiler import SortedKeys, SummaryView
from python.tests.profiled import named, quiet, recorded, train


@pytest.fixture(scope="module")
def training():
    options = dict(record_shapes=True, profile_memory=True, with_flops=True, with_stack=True)
    with profiler.Profiler(on_trace_ready=quiet, **options) as prof:
        train(2, prof)
    return prof.profiler_result


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


def test_measured_roof(training):
    gflops, gbytes = profiler.measure_roof()
    assert 0.1 < gflops < 1e5 and 0.1 < gbytes < 1e4
    assert profiler.measure_roof() == (gflops, gbytes)
    training.roof = profiler.measure_roof()
    assert training.roof == (gflops, gbytes)


def test_rates_of_layers_are_of_all_that_is_in_them(training):
    """No layer works faster than the fastest op in it."""
    fastest = max(row["gflops_per_s"] for row in training.table("op"))
    layers = training.table("layer")
    assert layers and all(row["gflops_per_s"] <= fastest for row in layers)
