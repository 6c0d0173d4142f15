"""Recording of functions and layers into programs."""

import contextlib

from proa import _C
from proa.framework.nested import flatten
from proa.jit.input_spec import InputSpec


class Trace:
    """A function recorded once: its program, inputs and outputs.

    Every op that the function calls is recorded: what it computes from parameters and buffers
    follows them, random numbers are drawn anew in each run, tensors that it makes and changes are
    those of the run. Values that depend on constants alone can be read while it is recorded.

    Args:
        function: takes the inputs as positional arguments.
        specs (list): an InputSpec (or anything that is passed on as it is) for each argument.
        layer (Layer, optional): whose parameters and buffers name what the program captures.
    """

    def __init__(self, function, specs, layer=None):
        self.program = _C.Program()
        self.input_names = []
        arguments = [self._argument(spec, i) for i, spec in enumerate(specs)]
        if layer is not None:
            self._name_state(layer)
        with self.program.recording():
            self.result = function(*arguments)
        self.outputs = flatten(self.result)
        if not self.outputs:
            raise _C.located(TypeError("the recorded function gives no tensors"))

    def _argument(self, spec, i):
        if isinstance(spec, (list, tuple)):
            return type(spec)(self._argument(item, f"{i}_{k}") for k, item in enumerate(spec))
        if not isinstance(spec, InputSpec):
            return spec
        name = spec.name or f"x{i}"
        self.input_names.append(name)
        return self.program.add_input(name, list(spec.shape), spec.dtype)

    def _name_state(self, layer):
        for name, tensor in (*layer.named_parameters(), *layer.named_buffers()):
            self.program.capture(tensor, name)


@contextlib.contextmanager
def evaluation(layer):
    """The layer in evaluation mode; afterwards each sublayer as it was."""
    modes = [(sub, sub.training) for sub in layer.sublayers(include_self=True)]
    layer.eval()
    try:
        yield
    finally:
        for sub, training in modes:
            sub.training = training
