"""Public functions, classes and methods take what the reference's take: names, order and defaults of parameters.

reference_signatures.tsv has what the documentation of 2.3 says and what a later release has. A call written for either
release means the same here: each parameter that 2.3 has stands at its place, under the name of one of the two, with the
default of one of the two. What differs stands with its reason in docs/differences.yaml (`signatures`), and so does what is
not there (`absent`).
"""

import ast
import enum
import fnmatch
import functools
import inspect
import pathlib

import pytest
import yaml

import proa
from python.tests import reference_signatures

_HERE = pathlib.Path(__file__).parent
_DIFFERENCES = yaml.safe_load((_HERE.parents[1] / "docs" / "differences.yaml").read_text())
ROWS = list(reference_signatures.read(_HERE / "reference_signatures.tsv"))
DIFFERENT = {name for row in _DIFFERENCES for name in row.get("signatures", ())}
ABSENT = [pattern for row in _DIFFERENCES for pattern in row.get("absent", ())]


def _value(text):
    """A default to compare by: numbers by value, lists as tuples; names of things as text."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text.rpartition(".")[2]
    return tuple(value) if isinstance(value, list) else value


class Signature:
    """Parameters in order: (name, default or "" for none), without `name`, which is always given by name."""

    def __init__(self, text):
        arguments = ast.parse(f"def f({text}): pass").body[0].args
        defaults = [""] * (len(arguments.args) - len(arguments.defaults)) + [ast.unparse(d) for d in arguments.defaults]
        self.parameters = [(a.arg, d) for a, d in zip(arguments.args, defaults, strict=True) if a.arg != "name"]
        self.takes_more = arguments.vararg is not None


def _ours(found):
    kinds = inspect.Parameter
    positional = [p for p in found if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    return [p for p in positional if p.name != "name"], {p.kind for p in found}


def _same_default(ours, texts, generated):
    if ours is inspect.Parameter.empty:
        return "" in texts
    # Ours may have one where the reference's asks for it; None stands for the default of each function of a schema.
    if "" in texts or generated and "None" in texts:
        return True
    mine = ours.name if isinstance(ours, enum.Enum) else _value(repr(ours))
    return any(mine == _value(text) for text in texts)


def difference(found, old, new, generated=False):
    """Why calls for the reference would mean something else here; "" if they would not."""
    mine, kinds = _ours(found)
    second_names = {p.name for p in found if p.kind is inspect.Parameter.KEYWORD_ONLY}
    if not mine and inspect.Parameter.VAR_POSITIONAL in kinds:
        return ""  # It hands everything on.
    releases = [Signature(text) for text in (old, new) if text is not None]
    count = len(releases[0].parameters)
    defaults = {}
    for release in releases:
        for name, default in release.parameters:
            defaults.setdefault(name, set()).add(default)
    said = []
    for release in releases:
        wrong = []
        for i, (name, _) in enumerate(release.parameters[:count]):
            if i >= len(mine):
                wrong += [f"no {name}"] if inspect.Parameter.VAR_KEYWORD not in kinds else []
            elif mine[i].name != name and name not in second_names:
                wrong.append(f"{mine[i].name} for {name}")
            elif not _same_default(mine[i].default, defaults[name], generated):
                wrong.append(f"{name}={mine[i].default!r}, not {sorted(defaults[name])}")
        if release.takes_more and inspect.Parameter.VAR_POSITIONAL not in kinds:
            wrong.append("no *")
        said.append("; ".join(wrong))
    return "" if "" in said else said[0]


def _of_method(name):
    """The rows of a method are those of its function too: which is one and the same."""
    if not name.startswith("Tensor."):
        return None
    return next((old.partition(", ")[2] for n, old, _ in ROWS if n == name.removeprefix("Tensor.")), None)


@functools.cache
def survey():
    """({name: what differs}, names that are not there, how many were compared)."""
    wrong, absent, compared = {}, [], 0
    for name, old, new in ROWS:
        try:
            value = reference_signatures.find(proa, name)
        except (ImportError, AttributeError):
            absent.append(name)
            continue
        found = reference_signatures.parameters(value, name)
        if found is None:
            continue
        compared += 1
        generated = name.startswith("Tensor.") or getattr(value, "__module__", "").startswith("proa._generated")
        said = difference(found, old, new, generated)
        if said and _of_method(name) is not None:
            said = difference(found, _of_method(name), new, generated)
        if said:
            wrong[name] = said
    return wrong, absent, compared


def test_calls_for_the_reference_mean_the_same():
    wrong, _, compared = survey()
    assert compared > 1500
    assert "\n".join(f"{name}: {said}" for name, said in wrong.items() if name not in DIFFERENT) == ""
    assert sorted(DIFFERENT - set(wrong)) == [], "these do not differ any more"


def test_what_is_not_there_is_said():
    _, absent, _ = survey()
    assert [name for name in absent if not any(fnmatch.fnmatchcase(name, pattern) for pattern in ABSENT)] == []
    for pattern in ABSENT:
        assert any(fnmatch.fnmatchcase(name, pattern) for name, _, _ in ROWS), f"{pattern} is no name of 2.3"


@pytest.mark.parametrize(
    ("function", "old", "new", "says"),
    [
        (lambda x, y, name=None: 0, "x, y, name=None", None, ""),
        (lambda x, y: 0, "y, x", None, "x for y; y for x"),
        (lambda x, y: 0, "y, x", "x, y, z=1", ""),
        (lambda x, y=2.0: 0, "x, y=2", None, ""),
        (lambda x, y=2: 0, "x, y=3", None, "y=2, not ['3']"),
        (lambda x, y=2: 0, "x, y=3", "x, y=2", ""),
        (lambda x: 0, "x, y=3", None, "no y"),
        (lambda x, y: 0, "x, y=3", None, "y=<class 'inspect._empty'>, not ['3']"),
    ],
)
def test_comparison(function, old, new, says):
    assert difference(list(inspect.signature(function).parameters.values()), old, new) == says
