"""What notebooks show of tensors and layers: HTML without scripts, readable on light and dark pages.

Numbers of small matrices stand in a table, of larger tensors only the corners; layers fold out.
"""

import html
import math

from proa import _C

__all__ = ["layer", "tensor"]

# A side of a table, and how many of its rows or columns stand before and after the dots.
_SIDE, _EDGE = 10, 4
_STYLE = "border-collapse:collapse;font-family:monospace;font-size:90%"
_CELL = "padding:1px 6px;text-align:right;border:1px solid rgba(128,128,128,.3)"


def _escape(text):
    return html.escape(str(text), quote=True)


def _picked(size):
    """Numbers of rows that are shown; None where some are left out."""
    return list(range(size)) if size <= _SIDE else [*range(_EDGE), None, *range(size - _EDGE, size)]


def _number(value):
    if isinstance(value, bool) or isinstance(value, int):
        return str(value)
    if isinstance(value, complex):
        return f"{value:.4g}"
    return (
        str(value)
        if not math.isfinite(value)
        else f"{value:.4f}"
        if 1e-3 <= abs(value) < 1e5 or not value
        else f"{value:.3e}"
    )


def _table(x):
    """The rows of a tensor of one or two dims, a line of it for one."""
    if x.ndim == 1:
        x = x.reshape([1, -1])
    rows, columns = _picked(x.shape[0]), _picked(x.shape[1])
    lines = []
    for i in rows:
        if i is None:
            lines.append(f'<tr><td style="{_CELL}" colspan="{len(columns)}">&#8942;</td></tr>')
            continue
        cells = ["&#8230;" if j is None else _number(x[i, j].item()) for j in columns]
        lines.append("<tr>" + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in cells) + "</tr>")
    return f'<table style="{_STYLE}">{"".join(lines)}</table>'


def tensor(x):
    """HTML of a tensor: its kind, and its numbers or those of its corners; at most 2 matrices of more dims.

    Args:
        x (Tensor): of any shape and dtype; a value of a program is shown without numbers.

    Examples:
        >>> "float32" in proa.framework.html.tensor(proa.ones([2, 2]))
        True
    """
    shape = list(x.shape)
    head = f"Tensor {_escape(shape)} {_escape(x.dtype.name)}"
    if _C.is_symbolic(x):
        return f"<div><code>{head}, a value of a program</code></div>"
    head += f" on {_escape(x.place)}" + ("" if x.stop_gradient else ", with gradient")
    if x.name and not x.stop_gradient and x.is_leaf:
        head += f", {_escape(x.name)}"
    parts = [f"<code>{head}</code>"]
    if x.is_selected_rows():
        rows = x.rows().tolist()
        parts.append(f"<div>rows {_escape(rows[:_SIDE])}{' &#8230;' if len(rows) > _SIDE else ''}</div>")
        x = x.values()
        shape = list(x.shape)
    x = x.detach()
    if x.dtype.name in ("bfloat16", "float16"):
        x = x.astype("float32")
    if not x.ndim:
        parts.append(f"<div><code>{_number(x.item())}</code></div>")
    elif 0 in shape:
        parts.append("<div>no elements</div>")
    elif x.ndim <= 2:
        parts.append(_table(x))
    else:
        outer, count = shape[:-2], math.prod(shape[:-2])
        for k in range(min(count, 2)):
            index = []
            for size in reversed(outer):
                k, i = divmod(k, size)
                index.insert(0, i)
            parts.append(f"<div><code>[{', '.join(map(str, index))}, :, :]</code></div>{_table(x[tuple(index)])}")
        if count > 2:
            parts.append(f"<div>&#8230; and {count - 2} more</div>")
    return f"<div>{''.join(parts)}</div>"


def _total(of):
    return sum(math.prod(p.shape) for p in of.parameters())


def _branch(name, of, deep):
    title = f"<b>{_escape(type(of).__name__)}</b>"
    if name:
        title = f"{_escape(name)}: {title}"
    extra = of.extra_repr()
    if extra:
        title += f"({_escape(extra)})"
    rows = []
    for own, value in of.named_parameters(include_sublayers=False):
        rows.append(f"{_escape(own)} {_escape(list(value.shape))} {_escape(value.dtype.name)}")
    children = list(of.named_children())
    title += f" <small>{_total(of):,} parameters</small>"
    if not rows and not children:
        return f'<div style="margin-left:1.2em">{title}</div>'
    inner = "".join(f'<div style="margin-left:1.2em"><code>{row}</code></div>' for row in rows)
    inner += "".join(_branch(child, layer, deep + 1) for child, layer in children)
    return f'<details{" open" if deep < 1 else ""} style="margin-left:{1.2 if deep else 0}em"><summary>{title}</summary>{inner}</details>'


def layer(of):
    """HTML of a layer: what it is made of, as a list that folds out, with shapes and numbers of parameters.

    Args:
        of (nn.Layer): any layer.

    Examples:
        >>> "15 parameters" in proa.framework.html.layer(proa.nn.Linear(4, 3))
        True
    """
    return _branch("", of, 0)
