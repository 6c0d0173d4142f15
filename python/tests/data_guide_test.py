"""What docs/data.md shows runs, block after block."""

import pathlib
import re

_PAGE = pathlib.Path(__file__).parents[2] / "docs" / "data.md"


def test_the_page():
    blocks = re.findall(r"```python\n(.*?)```", _PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 4
    names = {"__name__": "data_guide"}
    for number, block in enumerate(blocks):
        exec(compile(block, f"data.md, block {number}", "exec"), names)
