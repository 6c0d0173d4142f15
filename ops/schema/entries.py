"""Reads schema files: YAML whose entries know their lines, in which calls need no quotes."""

from __future__ import annotations

import re

import yaml

from ops.schema import model


class Line(dict):
    """A mapping that knows the lines of itself and of its keys."""

    line = 0
    key_lines: dict[str, int]


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """Safe loading with lines; repeated keys are mistakes."""


def _mapping(loader: _Loader, node: yaml.MappingNode) -> Line:
    out = Line()
    out.line = node.start_mark.line + 1
    out.key_lines = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        line = key_node.start_mark.line + 1
        if key in out:
            raise model.SchemaError(model.Location(loader.name, line), f"key {key!r} is repeated")
        out[key] = loader.construct_object(value_node, deep=True)
        out.key_lines[key] = line
    return out


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def read(path: str, text: str | None = None) -> list:
    """The entries of a file; `text` is what it holds if that is known."""
    if text is None:
        with open(path, encoding="utf-8") as f:
            text = f.read()
    loader = _Loader(_quote_calls(text))
    loader.name = path
    try:
        data = loader.get_single_data()
    except yaml.MarkedYAMLError as e:
        line = e.problem_mark.line + 1 if e.problem_mark else 0
        raise model.SchemaError(model.Location(path, line), str(e.problem)) from e
    finally:
        loader.dispose()
    if not isinstance(data, list):
        raise model.SchemaError(model.Location(path, 1), "a schema file is a list of ops")
    return data


def _quote_calls(text: str) -> str:
    """Quotes values such as `broadcast(x, y)` inside `{...}`, where YAML would split at the comma.

    Works on lines, so that locations stay true; `{` opens a flow mapping only where a value
    can begin.
    """
    return "\n".join(_quote_line(line) for line in text.split("\n"))


def _quote_line(line: str) -> str:
    if "{" not in line or "(" not in line:
        return line
    out, i, depth, quote = [], 0, 0, ""
    while i < len(line):
        c = line[i]
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c == "{" and (depth or re.search(r"(?:[:\-,\[{] *|^ *)$", "".join(out))):
            depth += 1
        elif c == "}" and depth:
            depth -= 1
        elif depth and c == " " and out and out[-1] == ":":
            value = _flow_value(line[i + 1 :])
            if value is not None:
                out.append(" '" + value.replace("'", "''") + "'")
                i += 1 + len(value)
                continue
        out.append(c)
        i += 1
    return "".join(out)


def _flow_value(text: str) -> str | None:
    """The plain value at the start of `text` if it holds a call; ends at a comma or brace outside of brackets."""
    if not text or text[0] in "\"'{[ ":
        return None
    depth = 0
    for i, c in enumerate(text):
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c in ",}" and depth == 0:
            return text[:i] if "(" in text[:i] else None
    return None
