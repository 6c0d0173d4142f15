"""`python -m proa.upgrade`: rewrites files, or shows what would change."""

import argparse
import difflib
import io
import pathlib
import sys
import tokenize

from proa.framework import container
from proa.upgrade.names import HINTS, NAMES
from proa.upgrade.rewrite import upgrade


def _files(paths):
    for path in map(pathlib.Path, paths):
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def table():
    """The names of 1.8 and their successors, as a page."""
    lines = [
        "# Names of 1.8 in 2.x",
        "",
        "`python -m proa.upgrade old.py` rewrites them, with the parameters that are called otherwise; `--write` changes the file.",
        "What it leaves it lists, with the line and why.",
        "",
        "| 1.8 | 2.x |",
        "|---|---|",
    ]
    both = {**{name: f"`paddle.{new}`" for name, new in NAMES.items()}, **HINTS}
    for name in sorted(both):
        lines.append(f"| `fluid.{name}` | {both[name]} |")
    return "\n".join(lines) + "\n"


def main(arguments=None):
    """The program; returns its exit code: 0, or 1 if a file could not be read."""
    parser = argparse.ArgumentParser(
        prog="python -m proa.upgrade",
        description="Rewrites programs of PaddlePaddle 1.8 for 2.x; prints what would change.",
    )
    parser.add_argument("paths", nargs="*", help="Python files, or folders of them")
    parser.add_argument("--table", action="store_true", help="print the table of names instead")
    parser.add_argument("--write", action="store_true", help="change the files")
    given = parser.parse_args(arguments)
    if given.table:
        print(table(), end="")
        return 0
    if not given.paths:
        parser.error("give files or folders, or --table")
    code = 0
    for path in _files(given.paths):
        try:
            data = path.read_bytes()
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            text = data.decode(encoding)
            found = upgrade(text)
        except (OSError, SyntaxError, ValueError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            code = 1
            continue
        for line, name, why in found.left:
            print(f"{path}:{line}: {name}: {why}")
        if found.text == text:
            continue
        if given.write:
            container.write_bytes(str(path), found.text.encode(encoding))
            print(f"{path}: {found.changes} changes")
        else:
            old, new = (t.splitlines(keepends=True) for t in (text, found.text))
            for line in difflib.unified_diff(old, new, str(path), str(path)):
                print(line, end="" if line.endswith("\n") else "\n\\ No newline at end of file\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
