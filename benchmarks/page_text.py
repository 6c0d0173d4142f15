"""Tables and numbers as docs/performance.md writes them."""

from __future__ import annotations


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def others(value: float | None) -> str:
    """What other processes took, in per cent of a CPU."""
    return "?" if value is None else f"{100 * value:.0f} %"
