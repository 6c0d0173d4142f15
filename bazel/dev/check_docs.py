"""Checks that the pages are true: links and named files exist, and what is made is not committed.

    check_docs.py

Prints a line for each finding, in the form of check_includes.py, and exits with 1 if there is one.
"""

import glob
import os
import re
import sys

sys.path.insert(0, os.getcwd())

from bazel.dev import made_pages

# Files in code marks. Generated ones are named with their folder in bazel-bin.
_FILE = re.compile(r"`((?:tensor|ops|autograd|jit|inference|profiler|python|bazel|examples|benchmarks)/[\w/.-]+\.\w+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def _pages():
    for page in sorted(glob.glob("*.md") + glob.glob("[!b.]*/**/*.md", recursive=True)):
        with open(page, encoding="utf-8") as file:
            yield page, re.sub(r"```.*?```", "", file.read(), flags=re.DOTALL)


def findings():
    for name in made_pages.MADE:
        if os.path.exists(f"docs/{name}"):
            yield f"docs/{name} is made by ./dev docs and not committed; remove it"
    made_pages.ops_page()
    made_pages.differences_table()
    for page, text in _pages():
        for target in _LINK.findall(text):
            path = target.partition("#")[0]
            if path and "://" not in path and not os.path.exists(os.path.join(os.path.dirname(page), path)):
                yield f"{page} links to {target}, which is not there"
        for name in sorted(set(_FILE.findall(text))) if page.startswith("docs/") else ():
            if not os.path.exists(name):
                yield f"{page} names {name}, which is not there"


def main():
    found = list(findings())
    for line in found:
        print("failed:", line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
