"""What the pages show runs, block after block."""

import pathlib
import re
import runpy

import pytest

_DOCS = pathlib.Path(__file__).parents[2] / "docs"
_PAGES = [
    "array_api.md",
    "data.md",
    "coming_from_pytorch.md",
    *sorted(f"tutorials/{path.name}" for path in _DOCS.glob("tutorials/*.md")),
]


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
