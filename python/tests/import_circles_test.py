"""No module of the package needs itself to be imported: imports at the top of modules make no circle.

Imports inside of functions are arrows too, of a second graph: they may close a circle only where `LATER` says why.
"""

import ast
import os
import pathlib

import pytest

import proa

# Imports inside of functions that would close a circle: (where, what is imported) and why. Everything else is taken apart.
LATER = {
    (
        "proa.distributed.collective",
        "proa.distributed.fleet.layers.mpu.mp_layers",
    ): "split makes the layers that are divided",
    ("proa.distributed.collective", "proa.distributed.fleet.layers.mpu.mp_ops"): "passes old names on",
    (
        "proa.distributed.fleet.layers.mpu.mp_ops",
        "proa.distributed.fleet.base.fleet_base",
    ): "the division of the job where none is given",
    (
        "proa.distributed.fleet.layers.mpu.random",
        "proa.distributed.fleet.base.fleet_base",
    ): "the division of the job where none is given",
    (
        "proa.distributed.fleet.utils.hybrid_parallel_util",
        "proa.distributed.fleet.base.fleet_base",
    ): "the division of the job where none is given",
    (
        "proa.distribution.distribution",
        "proa.distribution.kl",
    ): "the method of what a function says of all distributions",
    (
        "proa.distribution.transform",
        "proa.distribution.structural_transform",
    ): "a chain is what calling one on one makes",
    ("proa.distribution.transform", "proa.distribution.transformed_distribution"): "what calling one on one makes",
    ("proa.framework.core", "proa.fluid.core"): "passes old names on",
    (
        "proa.framework.parameter",
        "proa.static.parameters",
    ): "in static mode a parameter that is made of another belongs to the program",
    ("proa.framework.reference_ops", "proa.fluid.layers.nn"): "dropout of old programs, as fluid has it",
    ("proa.nn.functional.many_classes", "proa.distributed.collective"): "classes that ranks share",
    (
        "proa.nn.functional.many_classes",
        "proa.distributed.fleet.layers.mpu.mp_ops",
    ): "classes that ranks share",
    (
        "proa.jit.dy2static.arrays",
        "proa.jit.dy2static.ordering",
    ): "the method sort of what sorted() does to all that can be gone over",
    (
        "proa.jit.dy2static.functions",
        "proa.jit.dy2static.kinds",
    ): "a function whose calls return several kinds is taken apart before it is converted",
    ("proa.jit.dy2static.calls", "proa.jit.dy2static.kinds"): "a hook that gives None by a tensor",
    ("proa.jit.dy2static.items", "proa.jit.dy2static.runtime"): "an index that is a tensor chooses as a ternary does",
    ("proa.jit.dy2static.kinds", "proa.jit.dy2static.runtime"): "parts of a tuple are chosen as a ternary does",
    (
        "proa.nn.layer.layers",
        "proa.fluid.dygraph.layer_object_helper",
    ): "what layers of old programs find in their base",
    (
        "proa.static.block",
        "proa.static.parameters",
    ): "methods whose functions note in the current program what they made",
    ("proa.static.program", "proa.static.sequences"): "`data` of sequences, whose lengths the current program declares",
    ("proa.static.program", "proa.static.states"): "the method that makes a Program of what a function wrote",
}


def _sources(folder):
    """{name of a module: its file} of a package."""
    found = {}
    for where, _, files in os.walk(folder, followlinks=True):
        parts = ("proa", *pathlib.Path(where).relative_to(folder).parts)
        for file in files:
            stem, kind = os.path.splitext(file)
            if kind == ".py":
                found[".".join(parts if stem == "__init__" else (*parts, stem))] = pathlib.Path(where, file)
    return found


def _imports(tree, inside_functions):
    """The import statements that run when the module is imported; or all of them."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and not inside_functions:
            continue
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from (found for other in node.orelse for found in _imports(other, inside_functions))
        else:
            yield from _imports(node, inside_functions)


def _absolute(name, is_package, node):
    """[(module, what is imported of it or None)] of a statement."""
    if isinstance(node, ast.Import):
        return [(alias.name, None) for alias in node.names]
    base = node.module or ""
    if node.level:
        around = name.split(".")[: None if is_package else -1]
        around = around[: len(around) - (node.level - 1)]
        base = ".".join([*around, base] if base else around)
    return [(base, alias.name) for alias in node.names]


def _graph(sources, inside_functions):
    """{module: modules that it imports}. Importing a module imports the packages around it first, except those around both,
    which have begun by then; imports inside of functions run when all of them are there."""
    graph = {}
    for name, path in sources.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = set()
        for node in _imports(tree, inside_functions):
            for base, part in _absolute(name, path.name == "__init__.py", node):
                target = f"{base}.{part}" if f"{base}.{part}" in sources else base
                if f"{base}.{part}" == "proa._C" or target not in sources:  # The compiled module imports nothing.
                    continue
                used.add(target)
                while not inside_functions and "." in target:
                    target = target.rpartition(".")[0]
                    if not f"{name}.".startswith(f"{target}."):
                        used.add(target)
        graph[name] = used - {name}
    return graph


def _circles(graph):
    """The strongly connected parts of more than one module, each sorted (Tarjan, 1972)."""
    number, lowest, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = lowest[node] = len(number)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in number:
                visit(other)
            if other in stack:
                lowest[node] = min(lowest[node], lowest[other])
        if lowest[node] == number[node]:
            part = stack[stack.index(node) :]
            del stack[-len(part) :]
            if len(part) > 1:
                found.append(sorted(part))

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


@pytest.fixture(scope="module")
def sources():
    found = _sources(pathlib.Path(proa.__file__).parent)
    assert len(found) > 300 and "proa._generated.root" in found
    return found


def test_a_circle_is_seen(tmp_path):
    texts = {
        "__init__": "from proa import a",
        "a": "from proa.inner import b\ntry:\n    import proa.c\nexcept ImportError:\n    pass",
        "c": "def f():\n    from .inner.b import g",
        "inner/__init__": "from . import d",
        "inner/b": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import proa.a",
        "inner/d": "class K:\n    from ..e import x",
        "e": "import proa.a as a",
    }
    for name, text in texts.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    sources = _sources(tmp_path)
    graph = _graph(sources, inside_functions=False)
    assert graph["proa.a"] == {"proa.inner.b", "proa.inner", "proa.c"} and graph["proa.c"] == set()
    # proa.a imports a module of the package inner, which by d and e imports proa.a.
    assert _circles(graph) == [["proa.a", "proa.e", "proa.inner", "proa.inner.d"]]
    assert _graph(sources, inside_functions=True)["proa.c"] == {"proa.inner.b"}


def test_no_circle_when_modules_are_imported(sources):
    assert _circles(_graph(sources, inside_functions=False)) == []


def test_no_circle_by_functions_but_those_with_a_reason(sources):
    graph = _graph(sources, inside_functions=True)
    for user, used in LATER:
        assert used in graph[user], f"{user} does not import {used}: take it off the list"
        graph[user].remove(used)
    assert _circles(graph) == []
    # None is excused for nothing.
    for user, used in LATER:
        assert _circles({**graph, user: graph[user] | {used}}), f"{user} may import {used}: take it off the list"
