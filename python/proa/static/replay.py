"""Operations of a recorded program made again, one by one, through the front doors of their ops.

Under other settings of this thread they come out differently: `proa.static.amp` makes a float32 program again under autocast.
The text of a program is what is read; it has each operation on a line with its regions after it, and reads back as it was.
"""

import ast
import functools
import re

from proa import _C
from proa.amp.auto_cast import auto_cast
from proa.utils.op_function import recorded

__all__ = ["Call", "Region", "Replay", "parse"]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|%\d+|[\[\](),=]|[^\s\[\](),=]+')
_WORDS = {"None": None, "true": True, "false": False}


class Value(int):
    """The number of a value of a program."""


class Call:
    """One operation: `op`, `args` (attributes, and a Value where a tensor stands), `results` (a Value, or a list of them,
    for each output), `regions` and the `line` that it was read from.
    """

    __slots__ = ("args", "line", "op", "regions", "results")

    def __init__(self, line):
        head, _, tail = line.partition(" = ") if line[0] in "%(" else ("", "", line)
        self.line = line
        self.op, _, tail = tail.partition("(")
        tokens = _TOKEN.findall(tail)
        self.args = _list(tokens, iter_to=")")
        self.results = _list(_TOKEN.findall(head), iter_to=None)
        self.regions = []

    def values(self):
        """The Values that it takes and gives."""
        return [v for part in (*self.args, *self.results) for v in (part if isinstance(part, list) else [part])
                if isinstance(v, Value)]  # fmt: skip


class Region:
    """A block of a region: the numbers of its arguments, its calls, and what it returns."""

    __slots__ = ("arguments", "calls", "returns")

    def __init__(self):
        self.arguments, self.calls, self.returns = [], [], []


def _list(tokens, iter_to):
    """The values of a list whose tokens these are, up to the closing one, which is taken."""
    found = []
    tokens.reverse()
    _fill(found, tokens, iter_to)
    return found


def _fill(found, tokens, end):
    while tokens:
        token = tokens.pop()
        if token == end:
            return
        if token in (",", "="):
            if token == "=":
                found.pop()  # the name of an attribute
        elif token in "[(":
            inner = []
            _fill(inner, tokens, "]" if token == "[" else ")")
            if found and found[-1] is complex:
                found[-1] = complex(*inner)
            else:
                found.append(inner)
        else:
            found.append(_value(token, tokens))


def _value(token, tokens):
    if token[0] == "%":
        return Value(token[1:])
    if token[0] == '"':
        return ast.literal_eval("b" + token).decode()
    if token in _WORDS:
        return _WORDS[token]
    if token == "complex":
        return complex
    if tokens and tokens[-1] == "=":
        return token
    for number in (int, float):
        try:
            return number(token)
        except ValueError:
            pass
    return _C.DType(token)


def parse(text):
    """The captured values in their order, and the calls, of the text of a program."""
    captured, stack = [], [Region()]
    for raw in text.splitlines()[1:-1]:
        line = raw.strip()
        if not line:
            continue
        if line.startswith("}"):
            stack.pop()
            if line.endswith("{"):
                _open(stack)
        elif line.startswith("return"):
            stack[-1].returns = _list(_TOKEN.findall(line[6:]), None)
        elif " = argument : " in line:
            stack[-1].arguments.append(Value(line[1 : line.index(" ")]))
        elif " = captured " in line:
            captured.append(Value(line[1 : line.index(" ")]))
        elif " = input " not in line:
            stack[-1].calls.append(Call(line))
            if line.endswith("{"):
                _open(stack)
    return captured, stack[0].calls


def _open(stack):
    region = Region()
    stack[-1].calls[-1].regions.append(region)
    stack.append(region)


@functools.cache
def _registry():
    return {op["name"]: op for op in _C.op_registry()}


class Replay:
    """The operations of a program, to be made again.

    Args:
        recorded (_C.Program): the program.
        inputs (dict): the tensors that stand for its inputs, by name.
        captured (Callable): gives for a captured tensor the one that stands for it.

    `env` maps the numbers of the program's values to what stands for them; `run` fills it. `replaced` has by the names of ops
    functions that take their arguments and give their results.
    """

    def __init__(self, recorded, inputs, captured=lambda tensor: tensor):
        self._recorded, self._captured, self._made = recorded, captured, 0
        self.env, self._plain, self.replaced = {}, set(), {}
        self._read()
        self.env.update((recorded.value_number(recorded.find(name)), tensor) for name, tensor in inputs.items())

    def _read(self):
        numbers, self.calls = parse(str(self._recorded))
        for number, (_, tensor) in zip(numbers, self._recorded.captured, strict=True):
            if number not in self.env:
                self.env[number] = self._captured(tensor)
                # Numbers of Python in the arithmetic of the program: in it they took the dtype of their operand.
                if tensor.ndim == 0 and tensor.stop_gradient and not tensor.persistable:
                    self._plain.add(number)

    def run(self, context):
        """Makes the calls that were not made yet; `context(number, call)` gives for each of the outermost a context manager to
        make it in, or None for one that computes in the dtypes that were recorded."""
        self._read()
        for number in range(self._made, len(self.calls)):
            call = self.calls[number]
            manager = context(number, call)
            with auto_cast(enable=False) if manager is None else manager:
                self._make(call, exact=manager is None)
            self._made = number + 1

    def dtype(self, number):
        """The dtype that a value has in the program."""
        return self._recorded.value(number).dtype

    def _make(self, call, exact):
        args = [self._argument(arg, exact) for arg in call.args]
        if call.regions:
            given = self._control(call, args, exact)
        elif call.op == "detach":
            given = args[0].detach()
        else:
            if call.op not in _registry() and recorded(call.op) is None:
                self._refuse(call)
            given = self._call(call, args, exact)
        if len(call.results) == 1:
            given = [given]
        for number, tensor in zip(call.results, given or ()):
            if isinstance(number, list):
                self.env.update(zip(number, tensor, strict=True))
            else:
                self.env[number] = tensor

    def _call(self, call, args, exact):
        """What the op gives; of arguments whose casts do not go together, or that it does not take, in the recorded dtypes."""
        op = self.replaced.get(call.op) or recorded(call.op) or getattr(_C.ops, call.op)
        try:
            return op(*self._numbers(call, args))
        except TypeError:
            if exact:
                raise
        with auto_cast(enable=False):
            return op(*[self._argument(arg, True) for arg in call.args])

    def _argument(self, arg, exact):
        if isinstance(arg, list):
            return [self._argument(item, exact) for item in arg]
        if not isinstance(arg, Value):
            return arg
        return self._recast(arg, self.env[arg]) if exact else self.env[arg]

    def _recast(self, number, tensor):
        kind = self.dtype(number)
        return tensor if tensor.dtype == kind else tensor.astype(kind)

    def _numbers(self, call, args):
        """Arguments, plain numbers among them in the dtype of the 16-bit operand that they belong to."""
        if call.op not in _registry() or _registry()[call.op]["amp"] != "promote":
            return args
        low = [a.dtype for a in args if isinstance(a, _C.Tensor) and a.dtype in (_C.float16, _C.bfloat16)]
        if not low:
            return args
        return [
            value.astype(low[0])
            if isinstance(arg, Value) and arg in self._plain and value.dtype == _C.float32
            else value
            for arg, value in zip(call.args, args)
        ]

    # Regions -----------------------------------------------------------------

    def _control(self, call, args, exact):
        branches = [functools.partial(self._region, region, exact) for region in call.regions]
        if call.op == "cond":
            return _C.cond(args[0], *branches)
        if call.op == "custom_gradient":
            return self._custom_gradient(call.regions[0], *args[:2])
        if call.op != "while":
            self._refuse(call)
        first = [self._recast(n, t) for n, t in zip(call.args[0], args[0])]
        return _C.while_loop(*branches, first)

    def _region(self, region, exact, *values):
        self.env.update(zip(region.arguments, values, strict=True))
        for call in region.calls:
            self._make(call, exact)
        # Branches agree on dtypes, and so do the rounds of a loop: on those that were recorded.
        return [self._recast(number, self.env[number]) for number in region.returns]

    def _custom_gradient(self, region, made, inputs):
        """A PyLayer that gives what its forward made again, and whose backward is the region, which autocast leaves alone."""
        from proa.autograd import PyLayer

        class Again(PyLayer):
            @staticmethod
            def forward(ctx, *inputs):
                return tuple(made)

            @staticmethod
            def backward(ctx, *grads):
                self.env.update(zip(region.arguments, grads, strict=True))
                with auto_cast(enable=False):
                    for call in region.calls:
                        self._make(call, exact=False)
                grads = [self.env[number] for number in region.returns]
                return tuple(g if g.dtype == t.dtype else g.astype(t.dtype) for g, t in zip(grads, inputs, strict=True))

        given = Again.apply(*inputs)
        return [given] if isinstance(given, _C.Tensor) else list(given)

    def _refuse(self, call):
        raise _C.located(
            NotImplementedError(
                f"a program with {call.op} cannot be made again in mixed precision; build the network inside of "
                "paddle.amp.auto_cast, which records its casts"
            )
        )
