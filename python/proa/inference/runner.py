"""What runs the model of a predictor, or a part of one: this library or another engine."""

from proa import _C

__all__ = ["ProgramRunner", "Runner"]


class Runner:
    """From tensors to tensors; from many threads at once.

    Attributes:
        input_names (list), output_names (list): what it takes and gives, in order.
    """

    input_names: list[str]
    output_names: list[str]

    def run(self, values, input_hooks=(), output_hooks=()):
        """Results, a list, of a tensor for each input."""
        raise NotImplementedError

    def refusal_of_hooks(self):
        """Why hooks cannot be called; None where they are."""
        return None


class ProgramRunner(Runner):
    """A program, run here.

    Args:
        module (_C.LoadedModule): as compiled for predictors.
        threads (int): 0 for those of the process.

    Attributes:
        input_specs (list), output_specs (list): shapes and dtypes, as the program declares them.
    """

    def __init__(self, module, threads=0):
        self._module, self._threads = module, threads
        self.input_names, self.output_names = module.input_names, module.output_names
        self.input_specs, self.output_specs = module.input_specs, module.output_specs

    @property
    def plan(self):
        """The program after the passes, as text."""
        return self._module.plan

    def run(self, values, input_hooks=(), output_hooks=()):
        with _C.ThreadScope(self._threads):
            return self._module.run(values, list(input_hooks), list(output_hooks))
