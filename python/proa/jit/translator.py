"""ProgramTranslator: converted functions and what they recorded, under the names of 2.x."""

from proa import _C
from proa.jit import settings
from proa.jit.program_cache import ProgramCache
from proa.jit.static_function import StaticFunction


class ProgramTranslator:
    """The switch of to_static: `enable(False)` makes decorated functions run as they are written.

    Examples:
        >>> translator = proa.jit.ProgramTranslator()
        >>> translator.get_output(lambda x: x * 2, proa.ones([2])).tolist()
        [2.0, 2.0]
        >>> main, startup, inputs, outputs = translator.get_program(lambda x: x * 2, proa.ones([2]))
        >>> main.num_operations, len(inputs), len(outputs)
        (1, 1, 1)
    """

    _instance = None

    def __new__(cls):
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    @classmethod
    def get_instance(cls):
        return cls()

    @property
    def enable_to_static(self):
        return settings.enabled

    def enable(self, enable_static=None, *, enable_to_static=None):
        """Turns recording of decorated functions on or off; releases after 2.3 say enable_to_static."""
        enable_to_static = enable_static if enable_to_static is None else enable_to_static
        if not isinstance(enable_to_static, bool):
            raise _C.located(
                TypeError(f"ProgramTranslator.enable: takes a bool, not {type(enable_to_static).__name__}")
            )
        settings.enabled = enable_to_static

    def get_func(self, dygraph_func):
        """The function converted: a StaticFunction, or the function itself while conversion is off."""
        return _converted("get_func", dygraph_func) if settings.enabled else dygraph_func

    def get_output(self, dygraph_func, *args, **kwargs):
        """What the converted function gives for these arguments."""
        return self.get_func(dygraph_func)(*args, **kwargs)

    def get_program(self, dygraph_func, *args, **kwargs):
        """What a call with these arguments is recorded as: (main program, startup program, inputs, outputs).

        Arguments may be tensors, arrays or InputSpecs. While conversion is off, what the function gives.
        """
        from proa.static.program import Program

        if not settings.enabled:
            return dygraph_func(*args, **kwargs)
        function = _converted("get_program", dygraph_func)
        trace = function.recorded_for(args, kwargs)
        main = Program()
        main._program = trace.program
        for name in trace.input_names:
            main._inputs[name] = tensor = trace.program.find(name)
            tensor.name = name
        return main, Program(), list(main._inputs.values()), trace.outputs[: trace.num_results]

    def get_code(self, dygraph_func):
        """The source of the function after conversion."""
        return _converted("get_code", dygraph_func).code

    def get_program_cache(self):
        """What all converted functions have recorded."""
        return ProgramCache()


def _converted(what, function):
    if isinstance(function, StaticFunction):
        return function
    if not callable(function):
        raise _C.located(
            TypeError(f"ProgramTranslator.{what}: takes a function or layer, not {type(function).__name__}")
        )
    from proa.nn import Layer

    if isinstance(function, Layer):
        forward = function.forward
        return forward if isinstance(forward, StaticFunction) else StaticFunction(forward, None, function)
    return StaticFunction(function, None, getattr(function, "__self__", None))


def enable_to_static(enable_to_static_bool):
    """Turns recording of decorated functions on or off: `ProgramTranslator().enable`.

    Args:
        enable_to_static_bool (bool): off, they run as they are written.

    Examples:
        >>> proa.jit.enable_to_static(True)
    """
    ProgramTranslator().enable(enable_to_static_bool)
