"""Functions of static mode that reach out of a program: printing, functions of Python.

Programs cannot hold them yet; in eager mode they say what to do there.
"""

from proa.static.only import missing, static_only

__all__ = ["Print", "py_func"]


@static_only("print the tensor: print(x)")
def Print(
    input,
    first_n=-1,
    message=None,
    summarize=20,
    print_tensor_name=True,
    print_tensor_type=True,
    print_tensor_shape=True,
    print_tensor_lod=True,
    print_phase="both",
):
    """Prints `input` when the program runs. Not in this version: fetch it.

    Raises:
        RuntimeError: in eager mode.
        NotImplementedError: in static mode.
    """
    missing("Print", "fetch the value with Executor.run(fetch_list=[...]) and print that")


@static_only("call the function, or write a paddle.autograd.PyLayer")
def py_func(func, x, out, backward_func=None, skip_vars_in_backward_input=None):
    """Calls a function of Python when the program runs. Not in this version.

    Raises:
        RuntimeError: in eager mode.
        NotImplementedError: in static mode.
    """
    missing("py_func", "fetch x, call the function and feed the result to a second program")
