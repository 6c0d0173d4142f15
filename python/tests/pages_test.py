"""What the pages show runs, block after block."""

import doctest
import pathlib
import re
import runpy

import pytest

import proa

_DOCS = pathlib.Path(__file__).parents[2] / "docs"
_PAGES = [
    "array_api.md",
    "data.md",
    "inference.md",
    "coming_from_pytorch.md",
    "mixed_precision.md",
    *sorted(f"tutorials/{path.name}" for path in _DOCS.glob("tutorials/*.md")),
]
# Pages whose programs are shown with what they print.
_WALKS = ["walk_of_a_pass.md", "walk_of_gelu.md"]


def test_there_are_pages():
    assert len(_PAGES) >= 6


@pytest.mark.parametrize("name", _PAGES)
def test_the_page(name, tmp_path):
    text = (_DOCS / name).read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 2 and re.search(r"runs?\s+as\s+a\s+test", text)
    program = tmp_path / "page.py"  # a file, as programs are: `to_static` reads their text
    program.write_text("\n\n".join(blocks))
    runpy.run_path(str(program))


@pytest.mark.parametrize("name", _WALKS)
def test_the_walk(name):
    text = (_DOCS / name).read_text()
    blocks = re.findall(r"```python\n(>>> .*?)```", text, re.DOTALL)
    assert len(blocks) >= 2 and re.search(r"programs (of this page )?run as a\s+test", text)
    example = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, name, name, 0)
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    try:
        runner.run(example, out=said.append)
    finally:
        proa.disable_static()
    assert runner.failures == 0 and runner.tries > 5, "".join(said)
