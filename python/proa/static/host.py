"""Functions of static mode that reach out of a program: printing, functions of Python."""

import re

from proa import _C
from proa.framework import reports
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
    """Prints a value of the program in each run, when it is computed: an operation of the program, which is saved with it.

    A run that prunes, and a program for inference, do not print what depends on inputs that they do not need.

    Args:
        input (Tensor): a value of the program.
        first_n (int): so often; always if negative.
        message (str, optional): stands before it.
        summarize (int): how many elements; all if negative.
        print_tensor_name, print_tensor_type, print_tensor_shape (bool): what is said of it.
        print_tensor_lod (bool): accepted.
        print_phase (str): "forward" or "both", which print the value.

    Returns:
        Tensor: `input`, to be used in its place.

    Raises:
        RuntimeError: in eager mode.
        ValueError: for another print_phase.
        NotImplementedError: for the gradient ("backward").

    Examples:
        >>> main = proa.static.Program()
        >>> with proa.static.program_guard(main):
        ...     y = proa.static.Print(proa.static.data("x", [2]) * 2.0, message="twice", print_tensor_name=False)
        >>> _ = proa.static.Executor().run(main, feed={"x": np.ones([2], "float32")}, fetch_list=[y])
          - message: twice
          - shape: [2]
          - dtype: float32
          - data: [2 2]
    """
    if print_phase not in ("forward", "backward", "both"):
        raise _C.located(ValueError(f"Print: print_phase must be 'forward', 'backward' or 'both', not {print_phase!r}"))
    if print_phase == "backward":
        missing("Print of a gradient", "fetch what static.gradients or append_backward gives")
    name = input.name if print_tensor_name else ""
    reports.described(input, first_n, summarize, message, name, print_tensor_type, print_tensor_shape)
    return input


class _Always:
    """A value that is computed in each run, because somebody looks: of a function called for what it does."""

    def __init__(self, tensor):
        self._tensor = tensor
        inputs = re.findall(r'(%\d+) = input "([^"]*)"', text := _C.program_of(tensor).plan([tensor]))
        self._inputs = {name for number, name in inputs if len(re.findall(rf"{number}\b", text)) > 1}

    def wanted(self, program, fed):
        """The value, or None: of inputs that this run is not fed."""
        return self._tensor if self._inputs <= set(fed) else None

    def show(self, value):
        pass


@static_only("call the function, or define an op: proa.utils.custom_op", none=("x", "out"))
def py_func(func, x, out, backward_func=None, skip_vars_in_backward_input=None):
    """Calls a function of Python when the program runs, on tensors with elements.

    A program with it can be run and cloned; one that is saved asks the process that runs it for the function.
    For an op of one's own that is saved and loaded by name, see `proa.utils.custom_op`.

    Args:
        func (Callable): takes a Tensor for each of x; returns a Tensor or an array for each of out.
        x (Tensor, list[Tensor] or None): values of the program.
        out (Tensor, list[Tensor] or None): values whose shapes and dtypes the results have, from
            `Block.create_var`. They become the results. None: the function is called for what it does, in each run.
        backward_func (Callable, optional): takes x, out and the gradients of out; returns the gradients of x, None for
            zeros. Without it no gradients flow.
        skip_vars_in_backward_input (Tensor, list[Tensor], optional): those of x and out that backward_func does not
            take.

    Returns:
        Tensor, list[Tensor] or None: out.

    Raises:
        RuntimeError: in eager mode.
        TypeError: no function, or no values.
        ValueError: what is skipped is none of x and out.

    Examples:
        >>> static = proa.static
        >>> main = static.Program()
        >>> with static.program_guard(main):
        ...     x = static.data("x", [None, 2])
        ...     out = main.current_block().create_var(name="sorted", shape=x.shape, dtype=x.dtype)
        ...     y = static.py_func(lambda v: np.sort(v.numpy()), x, out)
        >>> static.Executor().run(main, feed={"x": np.array([[2, 1]], "float32")}, fetch_list=[y])[0].tolist()
        [[1.0, 2.0]]
    """
    from proa.static import host_functions
    from proa.static.program import default_main_program

    results, effect = host_functions.call(func, x, out, backward_func, skip_vars_in_backward_input)
    if effect is not None:
        default_main_program()._prints.append(_Always(effect))
    return results
