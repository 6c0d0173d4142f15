"""The table in docs/coming_from_paddle.md, made from docs/differences.yaml.

python bazel/dev/differences_page.py        # writes the page anew; ./dev test says when that is due
"""

import re

import yaml

PAGE = "docs/coming_from_paddle.md"
_BEGIN = "<!-- made from differences.yaml by bazel/dev/differences_page.py -->"
_END = "<!-- end -->"


def current():
    """The page's text with the table as the data says."""
    with open("docs/differences.yaml", encoding="utf-8") as file:
        rows = yaml.safe_load(file)
    cells = [[row[key].replace("|", "\\|") for key in ("subject", "reference", "proa", "why")] for row in rows]
    lines = ["| subject | PaddlePaddle | Proa | why |", "|---|---|---|---|"] + [
        f"| {' | '.join(row)} |" for row in cells
    ]
    table = "\n".join([_BEGIN, "", *lines, "", _END])
    with open(PAGE, encoding="utf-8") as file:
        return re.sub(f"{_BEGIN}.*{_END}", lambda _: table, file.read(), flags=re.DOTALL)


if __name__ == "__main__":
    text = current()
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(text)
