"""The section of docs/performance.md on predictors beside other engines, from what predictions.py wrote."""

from __future__ import annotations

import page_text
import side_by_side

ENGINES = {
    "proa": "Proa",
    "openvino": "OpenVINO",
    "onnxruntime": "ONNX Runtime",
    "torch": "torch.compile",
    "paddle": "PaddlePaddle",
}

_TEXT = """## Predictors

Milliseconds for a prediction from an array to an array, float32 unless said, beside the engines that people deploy with
(`benchmarks/predictions.py`): OpenVINO and ONNX Runtime read the ONNX file that Proa exports, `torch.compile` freezes the
weights of the same definition, PaddlePaddle reads what it saved itself. The last column is Proa's time by that of the
fastest other.
"""


def _rows(results: dict, names: list[str], what: str):
    for work, result in results.items():
        ms = {n: figure["median"] for n, figure in result["figures"].get(work + what, {}).items()}
        others = [ms[n] for n in names if n in ms and n != "proa"]
        cells = [page_text.number(ms[n]) if n in ms else "-" for n in names]
        yield [work, *cells, f"{ms['proa'] / min(others):.2f}" if others and "proa" in ms else "-"]


def section(results: dict) -> str:
    first = next(iter(results.values()))
    names = [n for n in ENGINES if n in first["versions"]]
    header = [f"{ENGINES[n]} {first['versions'][n].partition('-')[0]}" for n in names]
    loads = [load for result in results.values() for load in result["load"]]
    others = side_by_side.most(
        f.get("others") for r in results.values() for by in r["figures"].values() for f in by.values()
    )
    conditions = (
        f"{first['machine']}; {first['threads']} threads; rounds: {first['rounds']}; load average {min(loads):.1f} to "
        f"{max(loads):.1f}; others took at most {page_text.others(others)} of a CPU.\n"
    )
    tables = [
        page_text.table([title, *header, "by the best"], list(_rows(results, names, what)))
        for title, what in (("ms", ""), ("peak MiB of the process", ", peak MiB"), ("ms to load", ", loading ms"))
    ]
    return "\n".join([_TEXT, conditions, *tables])
