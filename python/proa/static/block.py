"""What programs ask of a program's (only) block: its variables by name, its operations, its state."""

import re
import weakref

from proa import _C
from proa.framework.parameter import Parameter
from proa.static import scope as scopes
from proa.static.binding import value_in
from proa.utils import unique_name

__all__ = ["Block"]


def is_parameter(tensor):
    """Whether a captured tensor is a parameter, trained or not; so is all that gradients are asked of.

    The part of a parameter that an optimizer keeps for this worker (`whole_shape`) is state.
    """
    return not tensor.stop_gradient or (isinstance(tensor, Parameter) and not hasattr(tensor, "whole_shape"))


class Block:
    """The variables and operations of a program. A program here has one block: itself."""

    idx = 0
    parent_idx = -1
    forward_block_idx = -1

    def _begin_block(self):
        self._starts = {}  # of a startup program: the parameters that it starts
        self._inputs = {}
        self._levels = {}  # lengths of sequences by the name of their number of rows (proa.static.sequences)
        self._leveled = {}  # inputs that bring lengths: how many levels
        self._bound = weakref.WeakKeyDictionary()  # what runs in other scopes (proa.static.binding)
        self._ready = {}  # runs that need nothing but their feeds (proa.static.ready)
        self._after_run = []  # called after each run: schedules of learning rates that step by themselves
        self._prints = []  # what is shown after a run (proa.static.host)
        self._guarded = []  # first and end numbers of the operations inside of amp.fp16_guard
        self._unmixed = []  # those of operations that compute in the types that they are given (proa.static.amp.guard.kept)
        self._backwards = []  # first and end numbers of the operations of gradients, the loss, and (parameter, gradient) pairs
        self._devices = []  # first and end numbers of the operations inside of device_guard, and the stage that it names
        self._pipeline = (
            None  # what a run does in place of the operations (fleet's meta_optimizers/pipeline_program.py)
        )
        self._mixed = None  # of a program in mixed precision (proa.static.amp): which
        self._replaced = []  # what it was before: a program, what stands for each of its values in the next, and what makes more of them
        self._made = {}  # keeps parameters, and with them their names, as long as the program
        scopes.programs.add(self)

    # Blocks ----------------------------------------------------------------

    def global_block(self):
        """The block of the program: the program itself."""
        return self

    def current_block(self):
        """The block that ops are recorded into: the program itself."""
        return self

    def current(self, tensor):
        """What stands for a tensor of the program now: itself, or what mixed precision made of it."""
        for before, values, make in self._replaced if _C.is_symbolic(tensor) else ():
            try:
                number = before.value_number(tensor)
            except ValueError:  # it names no value of that program, nor of what that is a copy of
                continue
            if number not in values:
                make()
            tensor = values[number]
        return tensor

    def owns(self, tensor):
        """Whether a symbolic tensor was recorded into the program."""
        own = _C.program_of(tensor)
        return self._program is own or any(before is own for before, *_ in self._replaced)

    def block(self, index):
        """The block of this number; there is one, 0."""
        if index != 0:
            raise _C.located(IndexError(f"Program.block: there is one block, number 0, not {index!r}"))
        return self

    @property
    def blocks(self):
        return [self]

    @property
    def num_blocks(self):
        return 1

    @property
    def program(self):
        return self

    # Variables ---------------------------------------------------------------

    @property
    def vars(self):
        """Inputs and captured tensors by name."""
        found = {tensor.name: tensor for tensor in self.list_vars()}
        found.update(self._inputs)
        return found

    def has_var(self, name):
        """Whether an input or a captured tensor has this name."""
        return name in self.vars

    def var(self, name):
        """The input, captured tensor or result of this name. A result found so can be fetched and used further; no gradients
        flow through it: these start at the tensor that the recorded call gave.

        Raises:
            ValueError: there is none.
        """
        if not isinstance(name, str):
            raise _C.located(TypeError(f"var: name must be a str, not {type(name).__name__}"))
        found = self.vars.get(name)
        if found is None:
            found = self._program.find(name)
        if found is None:
            raise _C.located(ValueError(f"var: no value of the program is named {name!r}"))
        return found

    _find_var_recursive = var

    def create_var(self, name=None, shape=None, dtype=None, persistable=False, **kwargs):
        """A tensor of these sizes that keeps its value between runs; of unknown sizes, one that an op is still to make. `type`, a
        kind of variable of `fluid.core.VarDesc.VarType`, is what it says of itself then."""
        from proa.framework.core import VarDesc

        kind = kwargs.get("type")
        if kind is not None and not isinstance(kind, type(VarDesc.VarType.LOD_TENSOR)):
            if kind not in vars(VarDesc.VarType).values():
                raise _C.located(
                    ValueError(f"create_var: type must be one of fluid.core.VarDesc.VarType; it is {kind!r}")
                )
            kind = next(v for v in vars(VarDesc.VarType).values() if v == kind)
        tensor = self._created(name, shape, dtype, persistable)
        if kind is not None:
            tensor._kind = kind
        return tensor

    def _created(self, name, shape, dtype, persistable):
        from proa.static.parameters import create_global_var

        sizes = [size if isinstance(size, int) and size >= 0 else -1 for size in shape or []]
        if -1 in sizes:
            name = name or unique_name.generate("variable")
            dtype = _C.DType(dtype or "float32")
            tensor = self._program.add_input(name, sizes, dtype)
            tensor.name = name
            return tensor
        return create_global_var(shape or [], 0.0, dtype or "float32", persistable, name=name)

    def create_parameter(self, shape, dtype, name=None, attr=None, **kwargs):
        """A parameter; see `proa.static.create_parameter`."""
        from proa.static.parameters import create_parameter

        return create_parameter(shape, dtype, name, attr, kwargs.get("is_bias", False), kwargs.get("initializer"))

    @property
    def ops(self):
        """The operations in their order: texts of a line each, with `type` and the names of their values."""
        return [Operator(line.strip()) for line in str(self).splitlines() if _CALL.match(line)]

    def graph(self):
        """Operations and values as a graph in the DOT language, for Graphviz."""
        lines = ["digraph program {", "  node [fontname=monospace];"]
        for number, op in enumerate(self.ops):
            lines.append(f'  op{number} [shape=box, label="{op.type}"];')
            lines += [f'  "{value}" -> op{number};' for value in dict.fromkeys(op.input_arg_names)]
            lines += [f'  op{number} -> "{value}";' for value in op.output_arg_names]
        return "\n".join([*lines, "}", ""])

    # State -------------------------------------------------------------------

    def state_dict(self, mode="all", scope=None):
        """The parameters ("param"), the other persistable tensors ("opt"), or both ("all"), by name."""
        scope = scopes.global_scope() if scope is None else scope
        if mode not in ("all", "opt", "param"):
            raise _C.located(ValueError(f"Program.state_dict: mode must be 'all', 'opt' or 'param', not {mode!r}"))
        found = {}
        for tensor in self.list_vars():
            parameter = is_parameter(tensor)
            if parameter and mode != "opt" or (tensor.persistable and not parameter and mode != "param"):
                found[tensor.name] = value_in(scope, tensor)
        return found

    def set_state_dict(self, state_dict, scope=None):
        """Gives the tensors of these names the values; other names are left out.

        Raises:
            ValueError: a value has other dims.
        """
        from proa.static.scope import tensor_in_scope

        scope = scopes.global_scope() if scope is None else scope
        own = {tensor.name: value_in(scope, tensor) for tensor in self.list_vars()}
        for name, value in state_dict.items():
            if name in own:
                tensor_in_scope(own[name]).set(value)

    def run_starts(self, scope):
        """Gives the parameters of a startup program their first values in a scope."""
        for start in list(self._starts.values()):
            start.run(scope)


_CALL = re.compile(r"\s*(?:(.*?) = )?([A-Za-z]\w*)\(")


class Operator(str):
    """One operation of a program: its line of the program's text.

    Examples:
        >>> op = proa.static.block.Operator("%2, %3 = topk(%0, 2, -1, true, true) : [2] float32, [2] int64")
        >>> op.type, op.input_arg_names, op.output_arg_names
        ('topk', ['%0'], ['%2', '%3'])
    """

    @property
    def type(self):
        """The name of the op that it calls."""
        return _CALL.match(self)[2]

    @property
    def input_arg_names(self):
        """The values that it takes, as the text names them."""
        call = _CALL.match(self)
        return re.findall(r"%\d+", self[call.end() :].partition(" : ")[0])

    @property
    def output_arg_names(self):
        """The values that it makes."""
        return re.findall(r"%\d+", _CALL.match(self)[1] or "")
