"""The pages about the package: every public module and name, and what a docstring becomes."""

import inspect
import pkgutil
import re

import pytest

import proa
from bazel.dev import api_pages


@pytest.mark.parametrize("module", api_pages.MODULES)
def test_a_page_has_every_name(module):
    page = api_pages.page(module)
    full = f"proa.{module}" if module else "proa"
    names = api_pages.public_names(module)
    assert names
    for name, value in names.items():
        assert page.count(f"{{ #{full}.{name} }}") == 1, name
        doc = inspect.getdoc(value) or ""
        if callable(value) and ">>> " in doc.partition("Examples:")[2]:
            first = re.search(r">>> .*", doc.partition("Examples:")[2])[0]
            assert first in page, name
    assert page.count("```") % 2 == 0
    # Anchors of the table lead to sections.
    assert set(re.findall(r"\]\(#([^)]+)\)", page)) <= set(re.findall(r"\{ #(\S+) \}", page))


def test_every_public_package_has_a_page():
    """But for those that keep names of older releases, and those whose names are found elsewhere."""
    others = {
        "as_paddle",
        "common_ops_import",
        "compat",
        "dataset",
        "errors",
        "fluid",
        "framework",
        "hapi",
        "incubate",
        "tensor",
    }
    found = {info.name for info in pkgutil.iter_modules(proa.__path__) if not info.name.startswith("_")}
    assert found - others == {name.split(".")[0] for name in api_pages.MODULES if name} - {"incubate"}


def test_every_public_name_has_an_example():
    assert sorted(api_pages.names_without_example()) == []


def test_what_a_docstring_becomes():
    doc = """One * line with `a * b` and [N, C].

    Args:
        x (Tensor): [N, C], a
            long one.
        *args (int|list[int], optional): more.

    Returns:
        Tensor: [N].

    Raises:
        ValueError: for < 0.

    Examples:
        >>> f(1)
        2
    """
    assert api_pages.rendered(inspect.cleandoc(doc)) == [
        "One \\* line with `a * b` and \\[N, C\\].",
        "",
        "",
        "**Args**",
        "",
        "- **x** (*Tensor*): \\[N, C\\], a",
        "    long one.",
        "- **\\*args** (*int\\|list\\[int\\], optional*): more.",
        "",
        "**Returns**",
        "",
        "Tensor: \\[N\\].",
        "",
        "**Raises**",
        "",
        "- **ValueError**: for \\< 0.",
        "",
        "**Examples**",
        "",
        "```python",
        ">>> f(1)",
        "2",
        "```",
    ]
