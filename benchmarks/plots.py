"""Horizontal bars as SVG: small, the same bytes for the same data, readable on light and on dark pages.

The picture is a card with its own background; browsers choose between the light and the dark one.
"""

from __future__ import annotations

import math
from xml.sax import saxutils

_WIDTH, _LABELS, _RIGHT, _BAR = 860, 290, 60, 11
_STYLE = """
.card { fill: #ffffff } .halo { stroke: #ffffff } .ink { fill: #1f2328 } .faint { fill: #59636e } .grid { stroke: #d1d9e0 } .mark { stroke: #1f2328 }
.s0 { fill: #0969da } .s1 { fill: #e8762d } .s2 { fill: #f4bf75 } .s3 { fill: #8c96a0 }
@media (prefers-color-scheme: dark) {
.card { fill: #0d1117 } .halo { stroke: #0d1117 } .ink { fill: #f0f6fc } .faint { fill: #9198a1 } .grid { stroke: #3d444d } .mark { stroke: #f0f6fc }
.s0 { fill: #4493f8 } .s1 { fill: #f0883e } .s2 { fill: #b8813c } .s3 { fill: #6e7681 } }
text { font: 11px system-ui, 'DejaVu Sans', sans-serif } .title { font-size: 14px; font-weight: 600 }
.halo { stroke-width: 3px; paint-order: stroke }
"""


def _text(x: float, y: float, text: str, kind: str = "ink", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{saxutils.escape(text)}</text>'


def _ticks(low: float, high: float, log: bool) -> list[float]:
    """Round numbers from low to high."""
    if log:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        found = [m * 10.0**d for d in decades for m in (1, 2, 5)]
    else:
        raw = high / 6
        size = 10.0 ** math.floor(math.log10(raw))
        step = next(m * size for m in (1, 2, 5, 10) if m * size >= raw)
        found = [step * i for i in range(8)]
    return [t for t in found if low * (1 - 1e-9) <= t <= high * (1 + 1e-9)]


def bars(
    title: str,
    series: list[str],
    groups: dict[str, list[float | None]],
    *,
    log: bool,
    mark: float | None = None,
    form: str = "{:.2f}",
) -> str:
    """A picture of groups of bars, one bar for each series.

    Args:
        title: above the bars.
        series: up to four names, for the legend; one is not named.
        groups: by label, the values of the series; None leaves a bar out.
        log: a logarithmic axis, which begins at 1 or below the least value; else a linear one, from 0.
        mark: a value where a line is drawn through all bars.
        form: of the values at the ends of the bars.
    """
    values = [v for group in groups.values() for v in group if v is not None]
    low = min([1.0, *values]) if log else 0.0
    high = 1.02 * max([mark or 0.0, *values])
    room = _WIDTH - _LABELS - _RIGHT

    def at(v):
        share = math.log(v / low) / math.log(high / low) if log else v / high
        return _LABELS + room * share

    legend = series if len(series) > 1 else []
    top, pitch = 44 + 20 * bool(legend), len(series) * _BAR + 7
    bottom = top + len(groups) * pitch
    out = [_text(16, 26, title, "ink title")]
    for i, name in enumerate(legend):
        out.append(f'<rect x="{16 + 150 * i}" y="38" width="11" height="11" class="s{i}"/>')
        out.append(_text(32 + 150 * i, 48, name))
    for t in _ticks(low, high, log):
        out.append(f'<path d="M{at(t):.1f} {top}V{bottom}" class="grid"/>')
        out.append(_text(at(t), bottom + 14, f"{t:,.10g}", "faint", "middle"))
    ends = []
    for g, (label, group) in enumerate(groups.items()):
        y = top + g * pitch + 3
        out.append(_text(_LABELS - 8, y + len(series) * _BAR / 2 + 4, label, anchor="end"))
        for i, v in enumerate(group):
            if v is not None:
                where = f'x="{_LABELS}" y="{y + i * _BAR}" width="{at(v) - _LABELS:.1f}" height="{_BAR - 1}"'
                out.append(f'<rect {where} class="s{i}"/>')
                ends.append(_text(at(v) + 4, y + i * _BAR + 9, form.format(v), "faint halo"))
    if mark is not None:
        out.append(f'<path d="M{at(mark):.1f} {top}V{bottom}" class="mark"/>')
    out += ends  # over the lines, or they would be struck through
    size = f'width="{_WIDTH}" height="{bottom + 26}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {_WIDTH} {bottom + 26}">'
    return "\n".join([head, f"<style>{_STYLE}</style>", f'<rect {size} rx="6" class="card"/>', *out, "</svg>\n"])
