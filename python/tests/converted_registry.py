"""The corpus of functions that `to_static` converts: who belongs to it, and the page that is made of it."""

import importlib
import inspect
import pathlib
from collections.abc import Callable

# The files of the corpus, in the order of the page.
MODULES = [
    "converted_functions",
    "converted_branches",
    "converted_changes",
    "converted_loops",
    "converted_turns",
    "converted_searches",
    "converted_expressions",
    "converted_items",
    "converted_nones",
    "converted_contents",
    "converted_texts",
    "converted_code",
    "converted_classes",
    "converted_errors",
    "converted_models",
    "converted_programs",
    "converted_training",
    "converted_packages",
    "converted_refusals",
]
SUPPORTED: list[Callable] = []
REFUSED: list[Callable] = []
UNBOUND: list[Callable] = []


def supported(function):
    """A construct that gives what eager execution gives: values and gradients."""
    SUPPORTED.append(function)
    return function


def refused(says):
    """A construct that is an error naming the line."""

    def note(function):
        REFUSED.append((function, says))
        return function

    return note


def unbound(function):
    """A function that reads a name which has no value for some of what it is given: vectors of 3 numbers."""
    UNBOUND.append(function)
    return function


def whole():
    """(SUPPORTED, REFUSED) of all files."""
    for name in MODULES:
        importlib.import_module(f"python.tests.{name}")
    return SUPPORTED, REFUSED


def name_of(function):
    """The name of a function of the corpus."""
    return inspect.unwrap(function).__name__


def _title(function):
    return inspect.getdoc(inspect.unwrap(function)).splitlines()[0]


def page():
    """docs/to_static.md."""
    whole()
    lines = [
        "# What `to_static` supports",
        "",
        "Written by `python python/tests/converted_registry.py` from the functions that `converted_functions_test.py` converts: each runs",
        "as it runs without `to_static`, with the same values and gradients, at two sizes, twice, and after `jit.save` and `jit.load`.",
        "",
        "`to_static` records what a function does when it is called ([recordings](recordings.md)). Before that the function, and what it",
        "calls of the user's code, is rewritten, so that `if`, `while`, `for`, `and`, `or`, `not`, ternaries and `assert` look at what they",
        "are given: a value of Python is Python's, once and for all; of a tensor that only the run of the program knows, both ways are",
        "recorded, as `cond` and `while` of the program ([programs](programs.md)). What cannot be recorded is an error, which names the",
        "line and what to write instead; nothing falls back silently. Code of libraries is left as it is (the standard library,",
        "site-packages, proa itself), and so are functions without source, and what `not_to_static` and `ignore_module` name.",
        "",
        "`assert` and `print` of tensors are operations of the program, in their order, after `jit.save` too, and in C++. Other errors that",
        "depend on tensors (`raise`, a name that a loop without turns should have given) are raised after the run, by whoever calls the",
        "converted function; in a program that `jit.save` wrote they are assertions at its end. Generators are Python's, unless",
        "their items depend on tensors: these give all their items at once. The sum of no items has the shape of an item.",
        "",
        "What the converted function itself returns may be of another kind by a tensor - None, more values, another dtype or number of",
        "dims: the caller gets that of the run, after `jit.save` too. What a function returns that it calls may be, too, unless a lambda",
        "or a comprehension calls it: the statement of the call and what follows it in its block are recorded for each kind, so that",
        "`if y is None` is Python's. So it is where the ways of an `if` or a ternary give values of several kinds that something reads:",
        "what follows in the block is recorded in each way, up to the last statement that has the name. A name that is None until a tensor gives it a value, and of which all but",
        "`is None` reads a value for sure, is a value and whether there is one: what follows is recorded once, however many such `if`s",
        "there are, and `while found is None` is a loop of the program. What a block of `with` or a turn of a loop leaves to what comes after it,",
        "and what a file of another format holds, is of one kind. What lists, dicts and objects hold may be of several kinds, too: what follows",
        "is recorded in each way to the end of the function, which made them and alone has them. A `try` handles no refusal.",
        "",
        "| works | as in |",
        "|---|---|",
        *(f"| {_title(f)} | `{name_of(f)}` |" for f in SUPPORTED),
        "",
        "| is an error | as in |",
        "|---|---|",
        *(f"| {_title(f)} | `{name_of(f)}` |" for f, _ in REFUSED),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    # This file is a module of its own when it is run; the corpus registers itself with the imported one.
    from python.tests.converted_registry import page as page_of_corpus

    (pathlib.Path(__file__).resolve().parents[2] / "docs" / "to_static.md").write_text(page_of_corpus())
