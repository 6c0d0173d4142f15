"""The pages of docs/ that are made and not committed; ./dev docs puts them into the site.

`ops.md`, the table of all ops, needs the schemas only and is a target too: `bazel build //docs:ops` writes
bazel-bin/docs/ops.md. `names_of_1x.md` is what `python -m proa.upgrade --table` prints. The table of
differences goes into a page that is written, at a mark, and so do that of the accuracy of functions and that of the classes of mixed
precision, which running this file prints.
"""

import pathlib

import yaml

from ops.schema import emit_docs, parser

_ROOT = pathlib.Path(__file__).resolve().parents[2]

# What ./dev test wants absent from docs/.
MADE = ("ops.md", "names_of_1x.md")


def ops_page():
    """The table of all ops."""
    schemas = sorted(str(path) for path in (_ROOT / "ops").glob("*/*.yaml"))
    return emit_docs.emit(list(parser.parse_files(schemas).values()))


def names_page():
    """The names of 1.8 and their successors; needs the package."""
    from proa.upgrade import __main__ as upgrade

    return upgrade.table()


def differences_table():
    """docs/differences.yaml as a table of Markdown."""
    rows = yaml.safe_load((_ROOT / "docs" / "differences.yaml").read_text(encoding="utf-8"))
    cells = [[row[key].replace("|", "\\|") for key in ("subject", "reference", "proa", "why")] for row in rows]
    lines = ["| subject | PaddlePaddle | Proa | why |", "|---|---|---|---|"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in cells])


def accuracy_table():
    """docs/accuracy.yaml as a table of Markdown."""
    table = yaml.safe_load((_ROOT / "docs" / "accuracy.yaml").read_text(encoding="utf-8"))
    lines = ["| function | arguments | float32 | float64 |", "|---|---|---:|---:|"]
    for row in table["functions"]:
        away = " *" if row.get("near_zero") else ""
        lines.append(
            f"| {row['name']} | {table['arguments'][row['arguments']]} | {row['float32']} | {row['float64']}{away} |"
        )
    return "\n".join(lines)


def reductions_table():
    """The reductions of docs/accuracy.yaml as a table of Markdown."""
    table = yaml.safe_load((_ROOT / "docs" / "accuracy.yaml").read_text(encoding="utf-8"))
    lines = ["| function | numbers | float32 | float64 |", "|---|---|---:|---:|"]
    for row in table["reductions"]:
        lines.append(f"| {row['name']} | {table['numbers'][row['numbers']]} | {row['float32']} | {row['float64']} |")
    return "\n".join(lines)


def classes_table():
    """The ops of each class of mixed precision as a table of Markdown."""
    schemas = sorted(str(path) for path in (_ROOT / "ops").glob("*/*.yaml"))
    ops = list(parser.parse_files(schemas).values())
    lines = ["| class | ops |", "|---|---|"]
    for kind in ("lower", "raise", "promote"):
        named = [_with_aliases(op) for op in sorted(ops, key=lambda op: op.name) if op.amp == kind]
        lines.append(f"| `{kind}` | {', '.join(named)} |")
    return "\n".join(lines)


def _with_aliases(op):
    others = ", ".join(f"`{name}`" for name in dict.fromkeys(a.name for a in op.aliases) if name != op.name)
    return f"`{op.name}`" + (f" ({others})" if others else "")


# Comments that stand in a page, once, and what the site has in their place.
MARKS = {
    "<!-- the table of differences.yaml -->": differences_table,
    "<!-- the classes of amp -->": classes_table,
    "<!-- the table of accuracy.yaml -->": accuracy_table,
    "<!-- the reductions of accuracy.yaml -->": reductions_table,
}

if __name__ == "__main__":
    print(classes_table())
