"""The section of docs/performance.md about the ops of all families, from what op_families.py wrote."""

from __future__ import annotations

import statistics

import op_families
import page_text

_TEXT = """## Ops beside PyTorch

Microseconds of CPU for a call on one thread, the worst ratio first (`benchmarks/op_families.py`). Each op of the registry is called with
the samples of its schema, whose dims are made longer, up to 2^17 elements of the largest tensor; its peer is the function of PyTorch of the same name, or the call that
stands for it in that file, that gives the same numbers. Gradients, ops in place and random ones are not in it.
"""


def section(result: dict, conditions: str) -> str:
    """The text; `conditions` says where and beside what it was measured."""
    ratios, family = op_families.ratios(result), result["families"]
    by_family: dict[str, list[float]] = {}
    for line, ratio in ratios:
        by_family.setdefault(family[line], []).append(ratio)
    rows = []
    for name, values in sorted(by_family.items(), key=lambda pair: -statistics.median(pair[1])):
        without = sum(len(ops) for ops in result["missing"].get(name, {}).values())
        above = sum(v > 1.1 for v in values)
        rows.append(
            [name, str(len(values)), _ratio(statistics.median(values)), _ratio(max(values)), str(above), str(without)]
        )
    every = [ratio for _, ratio in ratios]
    text = f"{_TEXT}\n{conditions}\n"
    text += (
        f"{len(every)} ops, median {_ratio(statistics.median(every))}, above 1.1: {sum(v > 1.1 for v in every)}.\n\n"
    )
    if wrong := op_families.with_other_numbers(result):
        text += f"Other numbers than PyTorch has: {', '.join(f'`{name}`' for name in wrong)}.\n\n"
    text += page_text.table(["family", "ops", "median", "worst", "above 1.1", "without a peer"], rows) + "\n"
    version = result["versions"]
    lines = [
        [line, family[line], *(_time(result, line, n) for n in ("proa", "torch")), _ratio(r)] for line, r in ratios
    ]
    return text + page_text.table(
        ["", "family", f"Proa {version['proa']}", f"PyTorch {version['torch']}", "ratio"], lines
    )


def _time(result: dict, line: str, name: str) -> str:
    return page_text.number(result["figures"][line][name]["median"])


def _ratio(value: float) -> str:
    return f"{value:.2f}"
