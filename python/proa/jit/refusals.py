"""What is said of a function that cannot be recorded because it asks for a value that only the run of the program knows."""

import ast
import dis
import linecache
import os

from proa.jit.dy2static import calls

__all__ = ["explain"]

_ASKED = ("has no elements until the program runs", "is known only when the program runs")
_ARRAY = "setting an array element with a sequence"  # what NumPy says where a tensor of a program is given
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# By the first of these that the line is or holds.
_INSTEAD = (
    (ast.While, "a `while` depends on a tensor", "paddle.static.nn.while_loop(condition, body, variables)"),
    (ast.If, "an `if` depends on a tensor", "paddle.where(condition, a, b) or paddle.static.nn.cond(condition, f, g)"),
    (ast.Assert, "an `assert` depends on a tensor", "check the result outside of the function"),
    (ast.For, "a `for` depends on a tensor", "paddle.static.nn.while_loop(condition, body, variables)"),
    (ast.IfExp, "`a if condition else b` depends on a tensor", "paddle.where(condition, a, b)"),
    (ast.BoolOp, "`and` or `or` depends on a tensor", "paddle.logical_and(a, b), paddle.logical_or(a, b)"),
    (ast.Compare, "a comparison is used as a truth value", "paddle.where(condition, a, b)"),
)


def explain(error):
    """Adds to an error of a recording where the user asked for the value, what for, and what to write in its place."""
    if not any(text in str(error) for text in (*_ASKED, _ARRAY)):
        return
    found = None
    step = error.__traceback__
    while step is not None:
        if not step.tb_frame.f_code.co_filename.startswith(_OWN):
            found = step
        step = step.tb_next
    if found is None:
        return
    name, line = found.tb_frame.f_code.co_filename, found.tb_lineno
    text = linecache.getline(name, line, found.tb_frame.f_globals).strip()
    if not any(f"{os.path.basename(name)}:{line}" in note for note in getattr(error, "__notes__", ())):
        error.add_note(f"  at {os.path.basename(name)}:{line}, in {found.tb_frame.f_code.co_name}: {text}")
    if _ARRAY in str(error):
        error.add_note(
            "  an array of NumPy takes numbers, and a tensor of a program has none until it runs; use a tensor: y = "
            "paddle.zeros(shape), y[index] = value"
        )
        return
    why = calls.why_unconverted(found.tb_frame.f_code)
    if why is None:
        # What it asks for has no counterpart: .item(), .numpy(), an index of a list, the `if` of a comprehension.
        if text.startswith("case "):
            error.add_note(
                "  a pattern of a `match` compares a tensor; give it a name and compare that: case [a, *_] if a == 0"
            )
        elif any(isinstance(node, ast.comprehension) and node.ifs for node in ast.walk(_parsed(text))):
            error.add_note("  the `if` of a comprehension depends on a tensor; write a `for` with `append`")
        elif "bool: a tensor" in str(error):
            _explain_truth(error, _instruction(found))
        elif _is_index(found, text):
            error.add_note(
                "  an index of a list or dict depends on a tensor; use paddle.stack(list)[index], or, where the items are no "
                "tensors of one shape, paddle.static.nn.switch_case(index, functions)"
            )
        return
    is_generator = why == "it is a generator or coroutine"
    for kind, what, instead in _INSTEAD:
        if is_generator:
            instead = "a function that appends the items to a list and returns it"
        if any(isinstance(node, kind) for node in ast.walk(_parsed(text))):
            error.add_note(
                f"  {found.tb_frame.f_code.co_name} is not converted, because {why}, so that it is recorded as it is, and "
                f"{what}; use {instead}{'' if is_generator else ', or a function that is converted'}"
            )
            return


def _explain_truth(error, instruction):
    """What to write where Python itself asks whether a tensor holds."""
    if instruction is None:
        return
    if instruction.opname == "COMPARE_OP":
        error.add_note(
            "  a comparison of lists or tuples compares the tensors in them; compare the tensors, and join what that gives by "
            "`and`"
        )
    elif instruction.opname.startswith("CALL"):
        error.add_note(
            "  what is called here is not converted, and asks whether a tensor holds, or which comes first; use a function that is "
            "converted, or argsort, topk, argmax or where of the tensor that paddle.stack makes of them"
        )


def _instruction(step):
    """What a step of a traceback does."""
    return next((i for i in dis.get_instructions(step.tb_frame.f_code) if i.offset == step.tb_lasti), None)


def _is_index(step, text):
    """Whether what a step of a traceback does is to look for an item by its number; `text` is the line."""
    instruction = _instruction(step)
    if instruction is not None and "SUBSCR" in instruction.opname:
        return True
    nodes = list(ast.walk(_parsed(text)))  # of a statement of several lines none
    methods = {n.func.attr for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)}
    return any(isinstance(n, ast.Subscript) for n in nodes) or bool(methods & {"pop", "insert"})


def _parsed(text):
    """The statement that begins in a line; its body may be missing."""
    for ending in ("", " pass", "\n    pass"):
        try:
            return ast.parse(text + ending)
        except SyntaxError:
            continue
    return ast.Module([], [])
