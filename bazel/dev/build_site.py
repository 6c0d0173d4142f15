"""Builds the site of the documentation: the pages of docs/, those that are made (made_pages.py), and one about each
public module, made from docstrings.

    build_site.py --out FOLDER     # with mkdocs and the package proa installed

MkDocs must have no warning, and every link and anchor of the pages that come out must lead somewhere.
"""

import argparse
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from bazel.dev import api_pages, made_pages

_ROOT = pathlib.Path(__file__).resolve().parents[2]

# The theme's switch between light and dark wants the styles of a highlighter that this site does not load.
_MAIN = """{% extends "base.html" %}
{% block extrahead %}<style id="hljs-light"></style><style id="hljs-dark"></style>{% endblock %}
"""

# Chapters of the pages in docs/; others go to the last.
_CHAPTERS = {
    "Guides": [
        "data",
        "coming_from_paddle",
        "names_of_1x",
        "coming_from_pytorch",
        "recordings",
        "to_static",
        "mixed_precision",
        "inference",
        "debugging",
        "profiling",
        "performance",
    ],
    "Tutorials": ["tutorials/*"],
    "How it is built": ["*"],
}


def write_sources(folder):
    """Puts the Markdown of the site into a folder; returns the contents of mkdocs.yml."""
    docs = _ROOT / "docs"
    sources = {path.relative_to(docs): path for path in sorted(docs.rglob("*.md"))}
    for relative, path in sources.items():
        text = _without_outer_links(path, docs)
        for mark, made in made_pages.MARKS.items():
            text = text.replace(mark, made()) if mark in text else text
        _write(folder / relative, text)
    for name, text in zip(made_pages.MADE, (made_pages.ops_page(), made_pages.names_page()), strict=True):
        sources[pathlib.Path(name)] = None
        _write(folder / name, text)
    for path in docs.rglob("*"):
        if path.suffix in (".svg", ".png"):
            target = folder / path.relative_to(docs)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    _write(folder / "index.md", _without_outer_links(_ROOT / "README.md", docs))
    for name, text in api_pages.pages().items():
        _write(folder / "api" / name, text)
    nav, left = [{"Start": "index.md"}], list(sources)
    for chapter, patterns in _CHAPTERS.items():
        chosen = [path for pattern in patterns for path in left if path.with_suffix("").match(pattern)]
        chosen = list(dict.fromkeys(chosen))
        left = [path for path in left if path not in chosen]
        if chosen:
            nav.append({chapter: [str(path) for path in chosen]})
    names = {name: f"proa.{name}" if name else "proa" for name in api_pages.MODULES}
    nav.append({"Reference": [{full: f"api/{name.replace('.', '_') or 'root'}.md"} for name, full in names.items()]})
    return {
        "site_name": "Proa",
        "nav": nav,
        "theme": {"name": "mkdocs", "custom_dir": "theme", "color_mode": "auto", "user_color_mode_toggle": True, "highlightjs": False,
                  "nav_style": "dark"},
        "markdown_extensions": ["attr_list", "tables", "fenced_code", {"toc": {"permalink": True, "toc_depth": 2}}],
        "plugins": ["search"],
        "validation": {"links": {"anchors": "warn"}},
        "use_directory_urls": False,
    }  # fmt: skip


def _write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _without_outer_links(path, docs):
    """A page whose links to files outside of the site are their names."""
    inside = {p.resolve() for p in docs.rglob("*") if p.suffix in (".md", ".svg", ".png")}
    from_root = path.parent == _ROOT

    def link(found):
        bang, text, target = found.groups()
        name, _, anchor = target.partition("#")
        if "://" in target or not name:
            return found.group(0)
        goal = (path.parent / name).resolve()
        if goal in inside:
            inner = os.path.relpath(goal, docs if from_root else path.parent)
            return f"{bang}[{text}]({inner}{'#' + anchor if anchor else ''})"
        return (
            text if bang else f"{text} (`{os.path.relpath(goal, _ROOT)}`)" if text.strip("`") not in str(goal) else text
        )

    return re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", link, _without_diagrams(path.read_text(encoding="utf-8")))


def _without_diagrams(text):
    """Graphs of Mermaid as tables, of what leads where: the site has no scripts from elsewhere that would draw them."""

    def table(found):
        names, goals = {}, {}
        for edge in re.findall(r"^\s*(\S.*?)\s*-->\s*(\S.*?)\s*$", found[1], re.MULTILINE):
            ends = []
            for end in edge:
                name, _, label = end.partition("[")
                names[name] = label.rstrip("]") or names.get(name, name)
                ends.append(name)
            goals.setdefault(ends[0], []).append(ends[1])
        rows = [f"| {names[a]} | {', '.join(names[b] for b in bs)} |" for a, bs in goals.items()]
        return "\n".join(["| from | to |", "|---|---|", *rows])

    return re.sub(r"```mermaid\n(?:graph|flowchart) \w+\n(.*?)```", table, text, flags=re.DOTALL)


class _Page(html.parser.HTMLParser):
    """What a page links to, and which anchors it has."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def broken_links(site):
    """What the pages of a site link to that is not there: sentences."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    for path, page in sorted(pages.items()):
        for link in page.links:
            name, _, anchor = link.partition("#")
            if re.match(r"^[a-z]+:|//", link) or path.name == "404.html":
                continue
            goal = (path.parent / name).resolve() if name else path
            if not goal.exists():
                yield f"{path.relative_to(site)} links to {link}, which is not there"
            elif anchor and goal in pages and anchor not in pages[goal].anchors:
                yield f"{path.relative_to(site)} links to {link}, and there is no such anchor"


def build(out):
    """Builds the site into a folder; returns how many pages it has.

    Raises:
        RuntimeError: MkDocs has a warning, or a link leads nowhere.
    """
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        settings = write_sources(folder / "docs")
        _write(folder / "theme" / "main.html", _MAIN)
        (folder / "mkdocs.yml").write_text(yaml.safe_dump(settings, sort_keys=False))
        call = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out.resolve())]
        done = subprocess.run(call, cwd=folder, capture_output=True, text=True)
        if done.returncode or "WARNING" in done.stderr:
            raise RuntimeError(done.stdout + done.stderr)
    broken = list(broken_links(out))
    if broken:
        raise RuntimeError("\n".join(broken))
    return sum(1 for _ in out.rglob("*.html"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    out = parser.parse_args().out
    print(f"{out / 'index.html'}: {build(out)} pages")


if __name__ == "__main__":
    main()
