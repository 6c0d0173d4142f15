"""Tensors that a recording reads or writes by another handle than that of the parameter or buffer whose memory they show."""

from proa import _C

__all__ = ["refuse"]


def refuse(what, trace):
    """A file holds the elements of each captured tensor: of two that lie in one memory that the program changes, one would stay.

    Args:
        what (str): who writes the file, for the error.
        trace (Trace): what is written.

    Raises:
        RuntimeError: the function uses such a tensor.
    """
    module = trace.program.module(trace.input_names, trace.outputs[: trace.num_results])
    changed = list(module.changed)
    for name, tensor in module.captured if changed else ():
        if name or not any(tensor is other for other in changed):
            continue
        for other_name, other in module.captured:
            if other is not tensor and other_name and tensor._is_shared_buffer_with(other):
                raise _C.located(
                    RuntimeError(
                        f"{what}: the function changes {other_name!r}, and uses a tensor in the same memory, of a detach() or a "
                        "view of it that is no part of the program; a file would hold two, of which one stays as it is. "
                        f"Use {other_name!r} itself under no_grad"
                    )
                )
