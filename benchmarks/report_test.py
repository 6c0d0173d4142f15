"""The page has what was measured, and says where it is not known."""

import json

import report

_WORK = "LeNet, batch 64, training"
_MODELS = {
    "machine": "a machine",
    "threads": 2,
    "rounds": 3,
    "load": [0.5, 1.5],
    "versions": {"proa": "1", "torch": "2"},
    "figures": {
        _WORK: {
            "proa": {"least": 1.0, "median": 2.0, "load": 1.5, "others": 0.02},
            "torch": {"least": 3.0, "median": 4.0, "load": 0.5, "others": 0.3},
        },
        _WORK + ", peak MiB": {"proa": {"least": 70.0, "median": 71.0}, "torch": {"least": 600.0, "median": 601.0}},
    },
    "limits": {_WORK: 1.6},
    "flops": {_WORK: 8e6},
    "loads": {_WORK: [0.5, 1.5]},
}
_ACCOUNTS = {
    "machine": "a machine",
    "threads": 2,
    "accounts": {
        _WORK: {
            "steps": 5,
            "ms": 200.0,
            "GB/s": 44.0,
            "load": 1.0,
            "others": None,
            "unmet": ["matmul float32 1 4 8 2 n n"],
            "ops": {
                "conv2d": {"calls": 2, "ms": 150.0, "limit": 100.0},
                "add": {"calls": 3, "ms": 1.0, "limit": 0.5},
                "sum": {"calls": 4, "ms": 0.2, "limit": 0.5},
            },
        }
    },
}


def _page(tmp_path, *results):
    files = []
    for i, result in enumerate(results):
        files.append(tmp_path / str(i))
        files[-1].write_text(result if isinstance(result, str) else json.dumps(result))
    report.main([*map(str, files), "--write", str(tmp_path / "page.md")])
    return (tmp_path / "page.md").read_text()


def test_models(tmp_path):
    page = _page(tmp_path, _MODELS)
    assert f"| {_WORK} | 1.6 | 2 | 4 | 4 | 1.25 (80 %) | 2.50 | 0.5 to 1.5 (30 %) |" in page
    assert f"| {_WORK} | 71 | 601 |" in page
    assert "3 rounds" in page
    for name in ("models.svg", "memory.svg"):
        assert f"](plots/{name})" in page and (tmp_path / "plots" / name).exists()


def test_models_without_limits_or_disturbances(tmp_path):
    bare = json.loads(json.dumps(_MODELS))
    for part in ("limits", "flops", "loads"):
        del bare[part]
    for figure in bare["figures"][_WORK].values():
        del figure["others"]
    page = _page(tmp_path, bare)
    assert f"| {_WORK} | - | 2 | 4 | - | - | - | 0.5 to 1.5 |" in page
    assert "models.svg" not in page


def test_bandwidth(tmp_path):
    line = f"{'add (in place)':34}{68.1:10.1f}{44.6:10.1f}{153:15d}{151:15d}"
    page = _page(tmp_path, f"2 threads, wall time, 64 MiB\nload average 0.54\n{line}\nothers took 0.04 of a CPU\n")
    assert "load average 0.5 to 0.5; others took 4 % of a CPU." in page
    assert "| add (in place) | 68.1 | 153 |" in page
    assert (tmp_path / "plots" / "bandwidth.svg").exists()


def test_accounts(tmp_path):
    page = _page(tmp_path, _ACCOUNTS)
    assert "| `conv2d` | 2 | 150 | 100 | 50 |" in page
    # Those below 0.7 % of the step, and what remains of it.
    assert "| 2 others | 7 | 1.2 | 1 | 0.2 |" in page
    assert "| not in ops |  | 48.8 |  | 49 |" in page
    assert "Limits of 1 kinds of products are not in it" in page
    assert "| **step** |  | 200 | 101 | 99 |" in page


def test_families(tmp_path):
    figures = {
        "relu [9]": {"proa": {"least": 1.0, "median": 3.0}, "torch": {"least": 1.0, "median": 2.0}},
        "exp [9]": {"proa": {"least": 1.0, "median": 1.0}, "torch": {"least": 1.0, "median": 4.0}},
    }
    result = {"machine": "a machine", "threads": 1, "rounds": 3, "load": [0.5, 1.5], "figures": figures,
              "versions": {"proa": "1", "torch": "2"}, "families": dict.fromkeys(figures, "elementwise"),
              "missing": {"elementwise": {"no peer": ["stanh"]}}}  # fmt: skip
    page = _page(tmp_path, result)
    assert "2 ops, median 0.88, above 1.1: 1." in page
    assert "| elementwise | 2 | 0.88 | 1.50 | 1 | 1 |" in page
    assert page.index("| relu [9] | elementwise | 3 | 2 | 1.50 |") < page.index(
        "| exp [9] | elementwise | 1 | 4 | 0.25 |"
    )


def test_predictions(tmp_path):
    def figure(median, others=0.05):
        return {"least": median, "median": median, "load": 1.0, "others": others}

    result = {
        "machine": "a machine",
        "threads": 2,
        "rounds": 3,
        "load": [0.5, 1.5],
        "versions": {"proa": "1", "openvino": "2026.4-123-build", "torch": "2"},
        "figures": {
            "net": {"proa": figure(9.0), "openvino": figure(10.0), "torch": figure(20.0, 0.3)},
            "net, peak MiB": {"proa": figure(80.0), "torch": figure(800.0)},
            "net, loading ms": {"proa": figure(50.0), "openvino": figure(40.0)},
        },
    }
    page = _page(tmp_path, {"predictions": {"net": result}})
    assert "| ms | Proa 1 | OpenVINO 2026.4 | torch.compile 2 | by the best |" in page
    assert "| net | 9 | 10 | 20 | 0.90 |" in page
    assert "| net | 80 | - | 800 | 0.10 |" in page
    assert "| net | 50 | 40 | - | 1.25 |" in page
    assert "others took at most 30 % of a CPU" in page
