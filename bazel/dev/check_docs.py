"""Checks that the pages are true: links and named files exist, and what is made is not committed, and walks
quote and name what is there.

    check_docs.py

Prints a line for each finding, in the form of check_includes.py, and exits with 1 if there is one.
"""

import functools
import glob
import os
import pathlib
import re
import sys

sys.path.insert(0, os.getcwd())

from bazel.dev import made_pages
from ops.schema import generate, parser

# Files in code marks. Generated ones are named with their folder in bazel-bin.
_FILE = re.compile(
    r"`((?:tensor|ops|autograd|amp|diagnostics|distributed|jit|inference|profiler|python|bazel|examples|benchmarks)/[\w/.-]+\.\w+)`"
)
# A quotation: lines of a file in their order; `...` stands for those left out.
_QUOTED = re.compile(r"<!-- from (\S+) -->\n```[^\n]*\n(.*?)```", re.DOTALL)
# What a walk names: one identifier, with its scope or the marks of a call.
_NAME = re.compile(r"`([A-Za-z_][\w]*(?:(?:::|\.)\w+)*)(?:\(\))?`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@functools.cache
def _text(path):
    """The text of a file of the tree, or of one that the generator would write; None if there is none."""
    made = re.fullmatch(r"bazel-bin/ops/(\w+)/(\w+\.\w+)", path)
    if made:
        return _generated(made[1]).get(made[2])
    return pathlib.Path(path).read_text(encoding="utf-8") if os.path.isfile(path) else None


@functools.cache
def _generated(family):
    index = parser.parse_files(sorted(glob.glob("ops/*/*.yaml")))
    return generate.generate(family, index, bool(glob.glob(f"ops/{family}/*_infer.cc")))


def _walk_findings(page, text):
    """What a walk (docs/walk_*.md) quotes stands there, and what it names stands in one of the files that it names."""
    for path, block in _QUOTED.findall(text):
        lines = iter(" ".join(line.split()) for line in (_text(path) or "").splitlines())
        for line in block.splitlines():
            wanted = " ".join(line.split())
            if wanted not in ("", "...") and not any(wanted in found for found in lines):
                yield f"{page} quotes {path}: {wanted!r} is not there, or not in this order"
    words = set()
    for path in re.findall(r"(?:bazel-bin/)?(?:tensor|ops|autograd|amp|jit|python|profiler)/[\w/.-]+\.\w+", text):
        words |= set(re.findall(r"\w+", _text(path) or ""))
    for name in sorted(set(_NAME.findall(text))):
        last = re.split(r"::|\.", name)[-1]
        if len(last) > 2 and last not in words:
            yield f"{page} names {name}, which none of its files has"


def _pages():
    for page in sorted(glob.glob("*.md") + glob.glob("[!b.]*/**/*.md", recursive=True)):
        with open(page, encoding="utf-8") as file:
            yield page, re.sub(r"```.*?```", "", file.read(), flags=re.DOTALL)


def findings():
    for name in made_pages.MADE:
        if os.path.exists(f"docs/{name}"):
            yield f"docs/{name} is made by ./dev docs and not committed; remove it"
    made_pages.ops_page()
    for mark, made in made_pages.MARKS.items():
        made()
        if sum(text.count(mark) for _, text in _pages()) != 1:
            yield f"{mark} stands in no page of docs/, or in several"
    for page, text in _pages():
        for target in _LINK.findall(text):
            path = target.partition("#")[0]
            if path and "://" not in path and not os.path.exists(os.path.join(os.path.dirname(page), path)):
                yield f"{page} links to {target}, which is not there"
        for name in sorted(set(_FILE.findall(text))) if page.startswith("docs/") else ():
            if not os.path.exists(name):
                yield f"{page} names {name}, which is not there"
    for page in sorted(glob.glob("docs/walk_*.md")):
        yield from _walk_findings(page, pathlib.Path(page).read_text(encoding="utf-8"))


def main():
    found = list(findings())
    for line in found:
        print("failed:", line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
