"""A case: one call, said by one Python expression, such as

    differentiate(proa.nn.functional.relu, tensor('float32', [2, 3], grad=True))

The first name is a function of `fuzz.replay`: how the call is made. Whatever has this form is a case, be it generated,
a seed in `seeds.txt` or a line of `regressions.txt`.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from typing import Any

from fuzz import values


@dataclasses.dataclass(frozen=True)
class Case:
    mode: str
    target: str
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        parts = [self.target, *map(values.text, self.args)]
        parts += [f"{k}={values.text(v)}" for k, v in self.kwargs]
        return f"{self.mode}({', '.join(parts)})"

    def with_(self, **changes) -> "Case":
        return dataclasses.replace(self, **changes)

    def leaves(self) -> list[Any]:
        return [x for v in (*self.args, *(v for _, v in self.kwargs)) for x in values.walk(v)]

    def rebuilt(self, change) -> "Case":
        return self.with_(
            args=tuple(values.rebuild(a, change) for a in self.args),
            kwargs=tuple((k, values.rebuild(v, change)) for k, v in self.kwargs),
        )


# A seed is read as often as it is chosen; nobody changes what was read, but makes another of it.
@functools.lru_cache(maxsize=1 << 15)
def parse(text: str) -> Case:
    node = ast.parse(text.strip(), mode="eval").body
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
        raise ValueError(f"not a case: {text}")
    return Case(
        node.func.id,
        ast.unparse(node.args[0]),
        tuple(values.parse(a) for a in node.args[1:]),
        tuple((k.arg, values.parse(k.value)) for k in node.keywords),
    )


def read_lines(path: str) -> list[str]:
    """The cases of a text file, one a line; `#` begins a comment."""
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    return [line for line in lines if line and not line.startswith("#")]
