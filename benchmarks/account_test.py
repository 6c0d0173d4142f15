"""Events of a step are summed up and held against limits."""

import account
import pytest

_LINES = {"matmul float32 1 4 8 2 n n": 1, "matmul float32 1 4 2 8 n t": 1}
_SECONDS = {"matmul float32 1 4 8 2 n n": 2e-3, "matmul float32 1 4 2 8 n t": 3e-3}


def _op(name, shapes, ms, moved=0.0):
    return {
        "category": "op",
        "name": name,
        "shapes": shapes,
        "start_ns": 0,
        "end_ns": ms * 1e6,
        "bytes": moved,
        "flops": 0,
    }


def _step():
    return [
        _op("linear", "[4, 2] float32, [2, 8] float32, [8] float32", 5),
        _op("relu", "[4, 8] float32", 1, moved=4e6),
        _op("matmul", "[4, 8] float32, [2, 8] float32", 4),
        {"category": "kernel", "name": "relu", "shapes": None, "start_ns": 0, "end_ns": 1, "bytes": 0.0, "flops": 0},
    ]


def test_calls_are_whole_and_times_are_means():
    products = account.ProductLimits(_LINES, _SECONDS)
    tables = account.summed(3 * _step(), products.of, rate=2.0, steps=3)
    assert tables["ops"]["relu"]["calls"] == 1
    assert tables["ops"]["linear"] == {"calls": 1, "ms": 5, "limit": pytest.approx(2)}
    assert tables["ops"]["relu"] == {"calls": 1, "ms": 1, "limit": pytest.approx(2)}
    assert tables["ops"]["matmul"]["limit"] == pytest.approx(3)
    assert list(tables["ops"]) == ["linear", "matmul", "relu"]
    assert "matmul float32 1 4 8 2 n n" in tables["problems"]
    assert products.unmet(3) == []


def test_products_without_their_events_are_named():
    products = account.ProductLimits(_LINES, _SECONDS)
    account.summed(_step()[:1], products.of, rate=1.0, steps=1)
    assert products.unmet(1) == ["matmul float32 1 4 2 8 n t"]


def test_products_that_look_the_same_share_a_mean():
    lines = {"matmul float32 4 8 8 2 n t": 1, "matmul float32 4 8 2 8 n n": 1}
    products = account.ProductLimits(lines, dict(zip(lines, (1e-3, 3e-3))))
    _, limit = products.of(_op("attention", ", ".join(["[2, 8, 2, 2] float32"] * 3), 9))
    assert limit == pytest.approx(4)
    assert products.unmet(1) == []


def test_a_copy_moves_something():
    assert account.copy_rate(2, size=1 << 16, runs=3) > 0


def test_rows_that_the_file_holds_are_not_measured_again(tmp_path, monkeypatch):
    row = {"steps": 3, "ms": 2.0, "GB/s": 40.0, "unmet": [], "ops": {}, "problems": {}, "load": 1.0, "others": 0.0}
    measured = []
    monkeypatch.setattr(account, "_measure_row", lambda work, args: measured.append(work) or row)
    arguments = ["--json", str(tmp_path / "accounts"), "--resume"]
    account.main(["--work", "lenet", *arguments])
    account.main(["--work", "lenet;ten", *arguments])
    assert measured == ["LeNet, batch 64, training", "Ten Linear(4, 4) + ReLU, batch 1, training"]
