"""The section of docs/performance.md on where the time goes, from what account.py wrote."""

from __future__ import annotations

import page_text

# Ops with a smaller part of a step are summed up.
_LEAST = 0.007

_TEXT = f"""## Where the time goes

A step of Proa, op by op, each against its own limit (`benchmarks/account.py`). Convolutions and matrix products are
held against the same product alone in oneDNN at the layout that is fastest for it, with warm memory; every other op
against the bytes that it must read and write, at the rate of a copy of 64 MiB in the same process. "Above the limit" is
what there is to gain; an op whose operands lie in caches may be below it. These steps are recorded, which makes them
somewhat longer than those of the table of models. Ops of less than {100 * _LEAST:.1f} % of a step are "others"; what is not
in an op is the Python of layers and optimizer, the backward pass itself, and the recording.
"""


def _cells(name: str, calls: float | None, ms: float, limit: float | None) -> list[str]:
    known = limit is not None
    above = ms - limit if known else ms
    return [
        name,
        f"{calls:,.4g}" if calls else "",
        page_text.number(ms),
        page_text.number(limit) if known else "",
        f"{above:,.0f}" if abs(above) >= 99.5 else f"{above:.2g}" if abs(above) >= 1e-3 else "0",
    ]


def _rows(account: dict):
    ops, whole = account["ops"], account["ms"]
    large = [name for name, row in ops.items() if row["ms"] >= _LEAST * whole]
    for name in sorted(large, key=lambda name: -ops[name]["ms"]):
        yield _cells(f"`{name}`", *(ops[name][key] for key in ("calls", "ms", "limit")))
    small = [row for name, row in ops.items() if name not in large]
    if small:
        sums = (sum(row[key] for row in small) for key in ("calls", "ms", "limit"))
        yield _cells(f"{len(small)} others", *sums)
    ms, limit = (sum(row[key] for row in ops.values()) for key in ("ms", "limit"))
    yield _cells("not in ops", None, max(0.0, whole - ms), None)
    yield _cells("**step**", None, whole, limit)


def _details(work: str, account: dict) -> str:
    limit = sum(row["limit"] for row in account["ops"].values())
    unmet = len(account["unmet"])
    warning = f" Limits of {unmet} kinds of products are not in it: the events have others." if unmet else ""
    return (
        f"<details><summary>{work}: {page_text.number(account['ms'])} ms, "
        f"{account['ms'] / limit:.2f} times the limit of its ops</summary>\n\n"
        f"{account['steps']} steps; copy {account['GB/s']:.1f} GB/s; load average {account['load']:.1f}; "
        f"others took {page_text.others(account['others'])} of a CPU.{warning}\n\n"
        + page_text.table(["op", "calls", "ms", "limit", "above the limit"], list(_rows(account)))
        + "\n</details>\n"
    )


def section(result: dict) -> str:
    conditions = f"{result['machine']}; {result['threads']} thread{'s' if result['threads'] > 1 else ''}.\n"
    return "\n".join([_TEXT, conditions, *(_details(*item) for item in result["accounts"].items())])
