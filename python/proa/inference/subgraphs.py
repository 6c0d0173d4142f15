"""Parts of a program that another engine computes; the others run here.

An engine is an object with

    name                             for messages
    claims(program, outputs)         whether it computes each operation of the program: a list of bools
    compile(module, settings)        what runs a part: a `runner.Runner`, or any object with its `run(values)`; a ValueError or
                                     NotImplementedError declines, and the part runs here

and `split` finds as few, and as large, parts as the dependencies allow. A part of fewer operations than an engine's
`least_operations` is not worth carrying tensors there and back.
"""

import dataclasses
import functools
import warnings
from collections.abc import Callable

from proa import _C
from proa.inference.runner import Runner

__all__ = ["REFUSAL_OF_HOOKS", "Settings", "SplitModule", "split"]

REFUSAL_OF_HOOKS = (
    "ONNX Runtime does not show what its operators read and make; leave Config.enable_onnxruntime out to see it"
)


@dataclasses.dataclass
class Settings:
    """How parts run.

    Args:
        threads (int): for one operator; 0 for the engine's choice.
        optimized (bool): whether the engine changes its parts first.
        folder (str, optional): where it keeps what it made of them, for the next process.
        own: gives what runs a part here, from its module.
    """

    threads: int = 0
    optimized: bool = True
    folder: str | None = None
    own: Callable = lambda module: module


class _Operations:
    """The operations of a program, of which modules are made."""

    def __init__(self, program):
        self.values = _C.program_values(program)
        self.block = _C.program_block(program)["operations"]
        self.makers = {n: i for i, o in enumerate(self.block) for ids in o["results"] for n in ids}
        self.uses = [sorted(set(self._outside(o))) for o in self.block]
        self._texts = self._split_text(str(program))

    def _outside(self, operation):
        """The values from outside that an operation reads, its regions too."""
        for ids in operation["values"].values():
            yield from (n for n in (ids if isinstance(ids, list) else [ids]) if self._is_outside(n))
        for region in operation["regions"]:
            yield from (n for n in region["returns"] if self._is_outside(n))
            for inner in region["operations"]:
                yield from self._outside(inner)

    def _is_outside(self, number):
        return number is not None and (number in self.makers or self.values[number]["kind"] in ("input", "captured"))

    def _split_text(self, text):
        """The lines of each operation."""
        found = []
        for line in text.splitlines()[1:]:
            begins = line.startswith("  ") and not line.startswith(("   ", "  }"))
            if begins:
                found.append([line])
            elif line.startswith("  "):
                found[-1].append(line)
        operations = ["\n".join(lines) for lines in found if not _is_given(lines[0])]
        assert len(operations) == len(self.block)
        return operations

    @functools.cached_property
    def are_ordered(self):
        """Whether some draw, or change what others may read."""
        kinds = {d["name"]: set(d["traits"]) for d in _C.op_registry()}
        return any(not o["results"] or {"random", "inplace"} & kinds.get(o["op"], set()) for o in self.block)

    def module(self, part, inputs, outputs):
        """Some operations as a program of their own."""
        captured = sorted({n for i in part for n in self.uses[i] if self.values[n]["kind"] == "captured"})
        lines = [self._given(n, f'input "v{n}"') for n in inputs]
        lines += [self._given(n, f'captured "w{n}"') for n in captured]
        text = "\n".join(["program {", *lines, *(self._texts[i] for i in part), "}"])
        return _C.parse_program(text, [self.values[n]["captured"] for n in captured], inputs, outputs)

    def _given(self, number, kind):
        info = self.values[number]
        sizes = ", ".join("?" if d < 0 else str(d) for d in info["shape"])
        return f"  %{number} = {kind} : [{sizes}] {info['dtype'].name}"


def _is_given(line):
    made = line.partition(" = ")[2]
    return made.startswith(("input ", "captured "))


def _parts(operations, claimed):
    """Lists of operations in the order in which they run, each of one kind, and as few as can be."""
    needs = [{operations.makers[n] for n in uses if n in operations.makers} for uses in operations.uses]
    found = []
    for first in (True, False):
        done, rest, kind, parts = set(), list(range(len(claimed))), first, []
        while rest:
            part = []
            for i in rest:
                fits = claimed[i] == kind and needs[i] <= done
                if fits:
                    part.append(i)
                    done.add(i)
                elif operations.are_ordered:
                    break
            rest = [i for i in rest if i not in done]
            if part:
                parts.append((kind, part))
            kind = not kind
        found.append(parts)
    return min(found, key=len)


def split(program, input_names, outputs, output_names, engine, settings):
    """A program as parts for an engine and parts that run here.

    Args:
        program: a _C.Program, which is left as it is.
        input_names (list), outputs (list), output_names (list): what it takes and gives.
        engine: see above.
        settings (Settings): how.

    Returns:
        SplitModule.
    """
    copy = program.clone(False)
    wanted = [copy.value(program.value_number(t)) if _C.is_symbolic(t) else t for t in outputs]
    symbolic = [t for t in wanted if _C.is_symbolic(t)]
    copy.run_passes(_C.export_passes(), symbolic)
    operations = _Operations(copy)
    claimed = list(engine.claims(copy, symbolic))
    while True:
        parts = _parts(operations, claimed)
        small = [part for kind, part in parts if kind and len(part) < engine.least_operations]
        if not small:
            break
        for part in small:
            for i in part:
                claimed[i] = False
    results = [copy.value_number(t) if _C.is_symbolic(t) else t for t in wanted]
    by_name = {v["name"]: n for n, v in enumerate(operations.values) if v["kind"] == "input"}
    return SplitModule(
        operations, parts, [by_name[n] for n in input_names], results, (input_names, output_names), engine, settings
    )


class SplitModule(Runner):
    """Parts of a program.

    Attributes:
        plan (str): the parts, by who computes them.
    """

    def __init__(self, operations, parts, inputs, results, names, engine, settings):
        self.input_names, self.output_names = map(list, names)
        self._inputs, self._results = inputs, results
        self._held = {
            n: operations.values[n]["captured"]
            for n in results
            if isinstance(n, int) and operations.values[n]["kind"] == "captured"
        }
        self._steps, told = [], []
        for at, (is_claimed, part) in enumerate(parts):
            made = [n for i in part for ids in operations.block[i]["results"] for n in ids]
            later = {n for _, others in parts[at + 1 :] for i in others for n in operations.uses[i]}
            later.update(n for n in results if isinstance(n, int))
            takes = sorted(
                {n for i in part for n in operations.uses[i] if operations.values[n]["kind"] != "captured"} - set(made)
            )
            gives = [n for n in made if n in later]
            module = operations.module(part, takes, gives)
            runner, who = None, "proa"
            if is_claimed and gives:
                try:
                    runner, who = engine.compile(module, settings), engine.name
                except (NotImplementedError, ValueError) as error:
                    warnings.warn(
                        f"create_predictor: {engine.name} declines a part of {len(part)} operations, which runs here: {error}",
                        UserWarning,
                        stacklevel=4,
                    )
            self._steps.append((runner or settings.own(module), takes, gives))
            told.append(f"{who}: {', '.join(operations.block[i]['op'] for i in part)}")
        self.plan = "\n".join(told)

    def refusal_of_hooks(self):
        return REFUSAL_OF_HOOKS

    def run(self, values, input_hooks=(), output_hooks=()):
        """Results of inputs in order; there are no hooks."""
        at = {**self._held, **dict(zip(self._inputs, values, strict=True))}
        for runner, takes, gives in self._steps:
            at.update(zip(gives, runner.run([at[n] for n in takes]), strict=True))
        return [at[n] if isinstance(n, int) else n for n in self._results]
