"""Programs as they run in a test: dropout passes everything on, batch normalization uses its running statistics."""

import re

from proa import _C

__all__ = ["has_training", "test_module"]

_DROPOUT = re.compile(r"^(.* = dropout\(.*)training=true(.*)$", re.MULTILINE)
_NORM = re.compile(
    r"^( *%\d+), %\d+, %\d+, %\d+, %\d+ = (batch_norm|batch_norm_relu|batch_norm_add_relu)"
    r"\((.*?), momentum=[^,]+, (.*)\) : (\[[^\]]*\] \w+),.*$",
    re.MULTILINE,
)


def has_training(program):
    """Whether operations of a program (of the extension module) do something else in a test."""
    text = str(program)
    return _DROPOUT.search(text) is not None or _NORM.search(text) is not None


def test_module(program, inputs, fetches):
    """A module that gives `fetches` of a program as in a test, and the names of those `inputs` that it takes.

    It holds the captured tensors themselves: parameters that change later have changed there too.
    """
    before = _C.is_grad_enabled()
    _C.set_grad_enabled(False)
    try:
        # The last operations of what is left by pruning are then those whose results are wanted.
        marked = [_C.ops.assign(item) for item in fetches]
    finally:
        _C.set_grad_enabled(before)
    pruned = program.reparse(list(inputs), marked).program
    text = _DROPOUT.sub(r"\1training=false\2", str(pruned))
    text = _NORM.sub(r"\1 = \2_inference(\3, \4) : \5", text)
    numbers = {name: int(n) for n, name in re.findall(r'^ *%(\d+) = input "([^"]*)"', text, re.MULTILINE)}
    outputs = [int(n) for n in re.findall(r"^ *%(\d+) = assign\(", text, re.MULTILINE)][-len(marked) :]
    captured = [tensor for _, tensor in pruned.captured]
    taken = [name for name in inputs if name in numbers]
    return _C.parse_program(text, captured, [numbers[name] for name in taken], outputs), taken
