"""Recurrent layers: cells, a loop over a cell, and stacks of loops."""

import contextlib
import math
import numbers

from proa import _C
from proa.framework.names import borrow as _borrow
from proa.nn import functional as F
from proa.nn.functional.shapes import require_dims, size_argument
from proa.nn.initializer import Uniform
from proa.nn.layer.container import LayerList, checked_layers
from proa.nn.layer.layers import Layer
from proa.utils import unique_name


def _map(function, *structures):
    """Applies a function to the tensors of equal nested tuples or lists."""
    first = structures[0]
    if isinstance(first, (list, tuple)):
        return tuple(_map(function, *parts) for parts in zip(*structures))
    return function(*structures)


class RNNCellBase(Layer):
    """Base of cells: one step from (inputs, states) to (outputs, new states).

    Examples:
        >>> issubclass(proa.nn.LSTMCell, proa.nn.RNNCellBase)
        True
    """

    def get_initial_states(self, batch_ref, shape=None, dtype=None, init_value=0.0, batch_dim_idx=0):
        """States to start from, of the batch size of `batch_ref`.

        Args:
            batch_ref (Tensor): whose dim `batch_dim_idx` is the batch.
            shape (list|tuple, optional): of the states without the batch, nested as they are;
                `state_shape` unless given.
            dtype (str, optional): that of batch_ref unless given.
            init_value (float): of all elements.
        """
        while isinstance(batch_ref, (list, tuple)):
            batch_ref = batch_ref[0]
        shape = self.state_shape if shape is None else shape
        batch = batch_ref.shape[batch_dim_idx]
        dtype = batch_ref.dtype if dtype is None else dtype

        def make(sizes):
            if isinstance(sizes, (list, tuple)) and sizes and isinstance(sizes[0], (list, tuple)):
                return tuple(make(s) for s in sizes)
            sizes = [sizes] if isinstance(sizes, int) else [s for s in sizes if s != -1]
            return _C.ops.full([batch, *sizes], init_value, dtype)

        return make(shape)

    @property
    def state_shape(self):
        """Sizes of the states without the batch."""
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define state_shape"))


class _Cell(RNNCellBase):
    """Weights of a cell with `_gates` gates: ih [gates * hidden, input], hh [gates * hidden, hidden].

    A step, and a loop over all of them, is a call of the op `rnn` (docs/walk_of_lstm.md).
    """

    _gates = 1
    _mode = ""  # what the op calls the cell

    def __init__(self, input_size, hidden_size, weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr):
        super().__init__()
        input_size = size_argument(type(self).__name__, "input_size", input_size, 0)
        hidden_size = size_argument(type(self).__name__, "hidden_size", hidden_size)
        self.input_size, self.hidden_size = input_size, hidden_size
        limit = 1.0 / math.sqrt(hidden_size)
        start = Uniform(-limit, limit)
        rows = self._gates * hidden_size
        self.weight_ih = self.create_parameter([rows, input_size], weight_ih_attr, default_initializer=start)
        self.weight_hh = self.create_parameter([rows, hidden_size], weight_hh_attr, default_initializer=start)
        self.bias_ih = self.create_parameter([rows], bias_ih_attr, is_bias=True, default_initializer=start)
        self.bias_hh = self.create_parameter([rows], bias_hh_attr, is_bias=True, default_initializer=start)

    def forward(self, inputs, states=None):
        inputs = _C.tensor_argument(inputs, type(self).__name__, "inputs")
        require_dims(type(self).__name__, "inputs", inputs, 2)
        _, states = self._run(_C.ops.unsqueeze(inputs, [1]), states)
        return states[0] if isinstance(states, tuple) else states, states

    def _run(self, inputs, states=None, lengths=None, is_reverse=False, time_major=False):
        """(outputs, last states) of all steps of inputs [N, T, input]; see RNN."""
        weights = self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, None
        outputs, last, _, _ = _C.ops.rnn(inputs, *weights, states, None, lengths, self._mode, is_reverse, time_major)
        return outputs, last

    def _is_plain(self):
        """Whether a step is that of the class: no hooks, no forward of another class or of its own."""
        own = type(self).forward is not _Cell.forward or "forward" in self.__dict__
        return not own and not self._forward_pre_hooks and not self._forward_post_hooks

    @property
    def state_shape(self):
        return (self.hidden_size,)

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}"


class SimpleRNNCell(_Cell):
    """h' = act(W_ih x + b_ih + W_hh h + b_hh).

    Args:
        input_size (int): size of x.
        hidden_size (int): size of h.
        activation (str): "tanh" or "relu".
        weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr (ParamAttr|bool, optional): of the parameters.

    Shape:
        inputs [N, input], states [N, hidden]; gives (h', h').

    Examples:
        >>> output, state = proa.nn.SimpleRNNCell(3, 4)(proa.ones([2, 3]))
        >>> output.shape
        [2, 4]
    """

    def __init__(
        self,
        input_size,
        hidden_size,
        activation="tanh",
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        name=None,
    ):
        super().__init__(input_size, hidden_size, weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        if activation not in ("tanh", "relu"):
            raise _C.located(ValueError(f'SimpleRNNCell: activation must be "tanh" or "relu", not {activation!r}'))
        self.activation = activation
        self._activation_fn = _C.ops.tanh if activation == "tanh" else _C.ops.relu  # for programs that look at it

    def extra_repr(self):
        text = super().extra_repr()
        return text if self.activation == "tanh" else f"{text}, activation={self.activation}"

    @property
    def _mode(self):
        return f"RNN_{self.activation.upper()}"


class LSTMCell(_Cell):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997); gates i, f, g, o in this order.

    c' = sigmoid(f) * c + sigmoid(i) * tanh(g); h' = sigmoid(o) * tanh(c').

    Args:
        input_size (int): size of x.
        hidden_size (int): size of h and c.
        weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr (ParamAttr|bool, optional): of the parameters.

    Shape:
        inputs [N, input], states (h [N, hidden], c [N, hidden]); gives (h', (h', c')).

    Examples:
        >>> output, (h, c) = proa.nn.LSTMCell(3, 4)(proa.ones([2, 3]))
        >>> output.shape, c.shape
        ([2, 4], [2, 4])
    """

    _gates, _mode = 4, "LSTM"

    def __init__(
        self,
        input_size,
        hidden_size,
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        name=None,
    ):
        super().__init__(input_size, hidden_size, weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)

    def _run(self, inputs, states=None, lengths=None, is_reverse=False, time_major=False):
        hidden, cell = (None, None) if states is None else states
        weights = self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, None
        outputs, hidden, cell, _ = _C.ops.rnn(
            inputs, *weights, hidden, cell, lengths, self._mode, is_reverse, time_major
        )
        return outputs, (hidden, cell)

    @property
    def state_shape(self):
        return ((self.hidden_size,), (self.hidden_size,))


class GRUCell(_Cell):
    """Gated recurrent unit (Cho et al., 2014); gates r, z, c in this order.

    c = tanh(W_ic x + b_ic + r * (W_hc h + b_hc)); h' = z * h + (1 - z) * c.

    Args:
        input_size (int): size of x.
        hidden_size (int): size of h.
        weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr (ParamAttr|bool, optional): of the parameters.

    Shape:
        inputs [N, input], states [N, hidden]; gives (h', h').

    Examples:
        >>> output, state = proa.nn.GRUCell(3, 4)(proa.ones([2, 3]))
        >>> output.shape
        [2, 4]
    """

    _gates, _mode = 3, "GRU"

    def __init__(
        self,
        input_size,
        hidden_size,
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        name=None,
    ):
        super().__init__(input_size, hidden_size, weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)


class RNN(Layer):
    """A loop over a cell.

    Args:
        cell (RNNCellBase): one step.
        is_reverse (bool): from the last step to the first.
        time_major (bool): inputs are [T, N, ...] instead of [N, T, ...].

    Calling it:
        inputs: [N, T, input]. initial_states: as the cell's, zeros unless given.
        sequence_length: [N]; steps from there on keep the states and give zeros.
        Gives (outputs [N, T, hidden], last states).

    Examples:
        >>> rnn = proa.nn.RNN(proa.nn.SimpleRNNCell(4, 8))
        >>> outputs, state = rnn(proa.ones([2, 5, 4]))
        >>> outputs.shape, state.shape
        ([2, 5, 8], [2, 8])
    """

    def __init__(self, cell, is_reverse=False, time_major=False):
        super().__init__()
        self.cell = cell
        self.is_reverse, self.time_major = is_reverse, time_major

    def forward(self, inputs, initial_states=None, sequence_length=None, **kwargs):
        return _loop(self.cell, self.is_reverse, self.time_major, inputs, initial_states, sequence_length, kwargs)


def _loop(cell, is_reverse, time_major, inputs, initial_states, sequence_length, kwargs):
    """(outputs, last states) of a cell over all steps; see RNN."""
    if isinstance(cell, _Cell):
        inputs = _C.tensor_argument(inputs, type(cell).__name__, "inputs")
        if cell._is_plain() and not kwargs:
            return cell._run(inputs, initial_states, sequence_length, is_reverse, time_major)
    return _loop_of_steps(cell, is_reverse, time_major, inputs, initial_states, sequence_length, kwargs)


def _loop_of_steps(cell, is_reverse, time_major, inputs, initial_states, sequence_length, kwargs):
    """The same of any cell, step by step."""
    ops = _C.ops
    time = 0 if time_major else 1
    if inputs is None:  # cells may take several tensors
        inputs = _C.tensor_argument(inputs, type(cell).__name__, "inputs")
    if initial_states is None:
        initial_states = cell.get_initial_states(inputs, batch_dim_idx=1 - time)
    # In a program a cell may make its parameters when it is called: the first time.
    piece = unique_name.Repeated() if _C.in_static_mode() else contextlib.nullcontext()

    def step(x, states, t):
        with piece:
            output, new = cell(x, states, **kwargs)
        if sequence_length is not None:
            running = ops.unsqueeze(sequence_length > t, -1)
            new = _map(lambda a, b: ops.where(running, a, b), new, states)
            output = _map(lambda a: ops.where(running, a, ops.full_like(a, 0.0)), output)
        return output, new

    if type(inputs.shape[time]) is not int:
        return _loop_of_program(step, is_reverse, time, inputs, initial_states)
    steps = list(ops.unbind(inputs, time))
    order = range(len(steps))
    states, outputs = initial_states, [None] * len(steps)
    for t in reversed(order) if is_reverse else order:
        outputs[t], states = step(steps[t], states, t)
    return _map(lambda *parts: ops.stack(list(parts), time), *outputs), states


def _loop_of_program(step, is_reverse, time, inputs, states):
    """The same for as many steps as only the run of the program knows: one at least."""
    from proa.jit import structure

    ops = _C.ops
    count = ops.shape(inputs)[time].astype("int64")
    place = (lambda k: count - 1 - k) if is_reverse else (lambda k: k)
    row = lambda t: ops.squeeze(ops.gather(inputs, ops.reshape(t, [1]), time), [time])
    first = ops.full([1], 0, _C.int64)
    output, states = step(row(place(first)), states, place(first))
    now = []
    trees = structure.flatten(states, now), structure.flatten(output, kept := [])

    def turn(k, *values):
        states = structure.unflatten(trees[0], iter(values[: len(now)]))
        output, new = step(row(place(k)), states, place(k))
        structure.flatten(new, new_states := [])
        structure.flatten(output, outputs := [])
        rows = [ops.concat([old, ops.unsqueeze(o, [0])], 0) for old, o in zip(values[len(now) :], outputs, strict=True)]
        return [k + 1, *new_states, *rows]

    begin = [first + 1, *now, *(ops.unsqueeze(o, [0]) for o in kept)]
    found = _C.while_loop(lambda k, *values: [(k < count).all()], turn, begin)[1:]
    states = structure.unflatten(trees[0], iter(found[: len(now)]))
    outputs = structure.unflatten(trees[1], iter(found[len(now) :]))

    def placed(rows):
        rows = ops.flip(rows, [0]) if is_reverse else rows
        return rows if time == 0 else ops.transpose(rows, [1, 0, *range(2, len(rows.shape))])

    return _map(placed, outputs), states


class BiRNN(Layer):
    """Two loops over the same inputs, one of them backwards; outputs are put side by side.

    Args:
        cell_fw (RNNCellBase): cell of the forward loop.
        cell_bw (RNNCellBase): cell of the backward loop.
        time_major (bool): inputs are [T, N, ...] instead of [N, T, ...].

    Examples:
        >>> net = proa.nn.BiRNN(proa.nn.GRUCell(3, 4), proa.nn.GRUCell(3, 4))
        >>> outputs, states = net(proa.ones([2, 5, 3]))
        >>> outputs.shape
        [2, 5, 8]
    """

    def __init__(self, cell_fw, cell_bw, time_major=False):
        super().__init__()
        self.cell_fw, self.cell_bw = cell_fw, cell_bw
        self.time_major = time_major

    def forward(self, inputs, initial_states=None, sequence_length=None, **kwargs):
        first, second = (None, None) if initial_states is None else initial_states
        major = self.time_major
        forward, state_fw = _loop(self.cell_fw, False, major, inputs, first, sequence_length, kwargs)
        backward, state_bw = _loop(self.cell_bw, True, major, inputs, second, sequence_length, kwargs)
        outputs = _map(lambda a, b: _C.ops.concat([a, b], -1), forward, backward)
        return outputs, (state_fw, state_bw)


class _Stack(LayerList):
    """Several layers of loops over cells, in one or both directions, with dropout between."""

    _cell: type[Layer]
    _components = 1  # tensors in a cell's state

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers,
        direction,
        dropout,
        time_major,
        attrs,
        **cell_settings,
    ):
        super().__init__()
        kind = type(self).__name__
        if direction not in ("forward", "bidirect", "bidirectional"):
            raise _C.located(ValueError(f'{kind}: direction must be "forward" or "bidirect", not {direction!r}'))
        input_size = size_argument(kind, "input_size", input_size, 0)
        hidden_size = size_argument(kind, "hidden_size", hidden_size)
        if not isinstance(dropout, numbers.Real):
            raise _C.located(TypeError(f"{kind}: dropout must be a number, not {dropout!r}"))
        if not 0 <= dropout < 1 and dropout != 1:
            raise _C.located(ValueError(f"{kind}: dropout must be in [0, 1]; it is {dropout}"))
        both = direction != "forward"
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.num_directions, self.dropout, self.time_major = 2 if both else 1, dropout, time_major
        self.state_components, self.proj_size = self._components, 0
        self.mode = kind.upper() if kind != "SimpleRNN" else f"RNN_{str(cell_settings['activation']).upper()}"
        weights = dict(zip(("weight_ih_attr", "weight_hh_attr", "bias_ih_attr", "bias_hh_attr"), attrs))
        width = input_size
        for _ in range(checked_layers(kind, num_layers)):
            cells = [self._cell(width, hidden_size, **cell_settings, **weights) for _ in range(self.num_directions)]
            self.append(BiRNN(*cells, time_major) if both else RNN(cells[0], False, time_major))
            width = hidden_size * self.num_directions
        # Each parameter has a name here besides that of its cell, and this one comes first.
        for i, layer in enumerate(self):
            cells = (layer.cell_fw, layer.cell_bw) if both else (layer.cell,)
            for cell, suffix in zip(cells, ("", "_reverse")):
                for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                    parameter = getattr(cell, name)
                    if parameter is not None:
                        self.add_parameter(f"{name}_l{i}{suffix}", parameter)

    def flatten_parameters(self):
        """For programs that call it; the parameters need no rearranging here."""

    def _split(self, states):
        """[layers * directions, N, hidden], or a pair of them, as what each layer takes."""
        parts = states if self._components > 1 else (states,)
        unbound = [_C.ops.unbind(part, 0) for part in parts]
        cells = [u[0] if len(u) == 1 else tuple(u) for u in zip(*unbound)]
        if len(cells) != self.num_layers * self.num_directions:
            raise _C.located(
                ValueError(
                    f"{type(self).__name__}: initial_states have {len(cells)} layers; "
                    f"{self.num_layers * self.num_directions} are needed"
                )
            )
        return cells if self.num_directions == 1 else list(zip(cells[::2], cells[1::2]))

    def _join(self, states):
        cells = states if self.num_directions == 1 else [s for pair in states for s in pair]
        if self._components == 1:
            return _C.ops.stack(cells, 0)
        return tuple(_C.ops.stack([cell[i] for cell in cells], 0) for i in range(self._components))

    def forward(self, inputs, initial_states=None, sequence_length=None):
        starts = [None] * self.num_layers if initial_states is None else self._split(initial_states)
        ends = []
        for i, layer in enumerate(self):
            if i > 0 and self.dropout:
                inputs = F.dropout(inputs, self.dropout, training=self.training)
            inputs, end = layer(inputs, starts[i], sequence_length)
            ends.append(end)
        return inputs, self._join(ends)

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (("num_layers", 1), ("time_major", False), ("dropout", 0)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text


class SimpleRNN(_Stack):
    """Layers of SimpleRNNCell; arguments as in LSTM, and the activation of the cells.

    Calling it gives (outputs [N, T, directions * hidden], h [layers * directions, N, hidden]).

    Examples:
        >>> outputs, state = proa.nn.SimpleRNN(3, 4)(proa.ones([2, 5, 3]))
        >>> outputs.shape, state.shape
        ([2, 5, 4], [1, 2, 4])
    """

    _cell = SimpleRNNCell

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        direction="forward",
        time_major=False,
        dropout=0.0,
        activation="tanh",
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        name=None,
    ):
        attrs = weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr
        super().__init__(
            input_size, hidden_size, num_layers, direction, dropout, time_major, attrs, activation=activation
        )
        self.activation = activation


class LSTM(_Stack):
    """Layers of LSTMCell.

    Args:
        input_size (int): size of the inputs' last dim.
        hidden_size (int): size of the states.
        num_layers (int): layers; each takes the outputs of the one before.
        direction (str): "forward", or "bidirect" for both.
        time_major (bool): inputs and outputs are [T, N, ...] instead of [N, T, ...].
        dropout (float): between layers, in training.
        weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr (ParamAttr|bool, optional): of the parameters.

    Calling it:
        inputs [N, T, input]; initial_states (h, c), each [layers * directions, N, hidden], zeros
        unless given; sequence_length [N]. Gives (outputs [N, T, directions * hidden], (h, c)).

    Examples:
        >>> outputs, (h, c) = proa.nn.LSTM(4, 8, num_layers=2)(proa.ones([3, 5, 4]))
        >>> outputs.shape, h.shape
        ([3, 5, 8], [2, 3, 8])
    """

    _cell = LSTMCell
    _components = 2

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        direction="forward",
        time_major=False,
        dropout=0.0,
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        name=None,
    ):
        attrs = weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr
        super().__init__(input_size, hidden_size, num_layers, direction, dropout, time_major, attrs)


class GRU(_Stack):
    """Layers of GRUCell; arguments as in LSTM.

    Calling it gives (outputs [N, T, directions * hidden], h [layers * directions, N, hidden]).

    Examples:
        >>> outputs, state = proa.nn.GRU(3, 4, num_layers=2)(proa.ones([2, 5, 3]))
        >>> outputs.shape, state.shape
        ([2, 5, 4], [2, 2, 4])
    """

    _cell = GRUCell

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        direction="forward",
        time_major=False,
        dropout=0.0,
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        name=None,
    ):
        attrs = weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr
        super().__init__(input_size, hidden_size, num_layers, direction, dropout, time_major, attrs)


__getattr__ = _borrow(__name__, "proa.nn")
