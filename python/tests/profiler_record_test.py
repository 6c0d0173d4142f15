"""What proa.profiler records: ops, layers, lines, memory, threads, ranges of the program."""

import json
import os
import re
import threading

import pytest

import proa
from proa import profiler
from proa.profiler import RecordEvent
from python.tests.profiled import named, parse_xml, quiet, recorded, train


@pytest.fixture(scope="module")
def training():
    options = dict(record_shapes=True, profile_memory=True, with_flops=True, with_stack=True)
    with profiler.Profiler(on_trace_ready=quiet, **options) as prof:
        train(2, prof)
    return prof.profiler_result


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
    assert lines and all(name.startswith("profiled.py:") for name in lines), lines


def test_line_of_the_call():
    def body():
        proa.ones([2]).exp()

    result = recorded(body, with_stack=True)
    event = next(e for e in result.events() if e["name"] == "exp")
    assert event["source"] == f"profiler_record_test.py:{body.__code__.co_firstlineno + 1}"


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


def test_flops_of_convolutions():
    """Two for each product and sum; the bias once; by the schemas (`flops`)."""
    conv = proa.nn.Conv2D(4, 6, 3, padding=1, groups=2)
    up = proa.nn.Conv2DTranspose(4, 6, 3)
    x = proa.ones([2, 4, 5, 7])
    x.stop_gradient = False

    def body():
        conv(x).sum().backward()
        up(x)

    found = {}
    for event in recorded(body, with_flops=True).events():
        found.setdefault(event["name"], event["flops"])
    products = 2 * (2 * 6 * 5 * 7) * (2 * 3 * 3)  # an output each, over the channels of its group
    assert found["conv2d"] in (products, products + 2 * 6 * 5 * 7)
    assert found["conv_input_grad"] == found["conv_weight_grad"] == products
    assert found["conv2d_transpose"] in [2 * (2 * 4 * 5 * 7) * (6 * 3 * 3) + bias for bias in (0, 2 * 6 * 7 * 9)]


def test_kernels():
    """What ran, and when: on a track of the cpu beside the thread, from the end of inference to that of the op."""
    x, image = proa.ones([64, 64]), proa.ones([1, 4, 16, 16])
    conv = proa.nn.Conv2D(4, 8, 3)
    i = proa.ones([3], dtype="int32")

    def body():
        for _ in range(3):
            x * x
        x.reshape([4096])  # computes nothing
        i + 1.5  # casts, and runs the kernel of float32
        conv(image)
        with pytest.raises(ValueError):
            x + proa.ones([3])  # no kernel

    result = recorded(body, with_flops=True)
    kernels = {row["name"]: row for row in result.table("kernel")}
    isa = proa._C.debug.build_info()["instruction_set"]
    multiply = kernels[f"multiply float32 {isa}"]
    assert multiply["calls"] == 3 and multiply["flops"] == 3 * 64 * 64 and multiply["gbytes_per_s"] > 0
    assert multiply["total_ns"] >= multiply["self_ns"] > 0 and multiply["min_ns"] <= multiply["avg_ns"]
    assert kernels[f"add float32 {isa}"]["calls"] == 1
    (convolution,) = [name for name in kernels if name.startswith("conv2d ")]
    assert re.fullmatch(r"conv2d float32 ([\w.:+]+)", convolution)
    assert not any(name.startswith("reshape") for name in kernels)
    threads, events = result.threads(), result.events()
    ops = [e for e in events if e["category"] == "op"]
    for kernel in (e for e in events if e["category"] == "kernel"):
        assert threads[kernel["thread"]]["device"] == "cpu"
        around = [op for op in ops if op["start_ns"] <= kernel["start_ns"] and op["end_ns"] == kernel["end_ns"]]
        assert [op["name"] for op in around] == [kernel["name"].split()[0]]
    rows = {row["name"]: row for row in result.table("op")}
    assert 0 < rows["multiply"]["kernel_ns"] == multiply["total_ns"] < rows["multiply"]["total_ns"]
    assert rows["reshape"]["kernel_ns"] == 0
    assert re.search(r"wall %\s+kernel", result.summary(views=profiler.SummaryView.OperatorView))
    result.roof = (1e-3, 1e-3)
    text = result.summary(views=profiler.SummaryView.KernelView)
    assert "Kernels" in text and convolution in text and "roof %" in text
    assert {r["name"]: r for r in result.table("kernel")}[f"multiply float32 {isa}"]["of_roof"] > 0


def test_kernels_of_the_backward_and_of_programs():
    w = proa.ones([8, 8])
    w.stop_gradient = False
    f = proa.jit.to_static(lambda x: proa.matmul(x, x).exp())
    x = proa.ones([8, 8])
    f(x)

    def body():
        proa.matmul(w, w).sum().backward()
        f(x)

    names = [row["name"].split()[0] for row in recorded(body).table("kernel")]
    assert {"matmul", "exp", "sum"} <= set(names)


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
    assert len([t for t in result.threads() if not t["device"]]) == 3
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


def test_bounded_memory_drops_the_oldest():
    result = recorded(lambda: [RecordEvent(f"e{i}").__enter__().end() for i in range(100)], events_per_thread=10)
    assert len(result) == 10
    assert result.dropped == 91
    assert "e98" in named(result, "user") and "e1" not in named(result, "user")


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
