"""Cells and loops of 1.8's programs, and decoding step by step; see proa.nn.decode."""

import sys
import types

import proa
from proa import _C
from proa.framework.names import missing as _missing
from proa.nn.decode import BeamSearchDecoder, Decoder, dynamic_decode
from proa.nn.functional.search import gather_tree
from proa.nn.layer.rnn import RNNCellBase, _loop
from proa.static.only import static_only
from proa.static.parameters import program_parameter
from proa.utils import unique_name

__all__ = [
    "BeamSearchDecoder", "Decoder", "GRUCell", "LSTMCell", "RNNCell", "dynamic_decode", "gather_tree", "lstm", "lstm_unit", "rnn",
]  # fmt: skip

__getattr__ = _missing(__name__)


class RNNCell:
    """Base of cells: `call(inputs, states)` gives (outputs, new states).

    Examples:
        >>> from proa import fluid
        >>> class Sum(fluid.layers.RNNCell):
        ...     state_shape = [2]
        ...
        ...     def call(self, inputs, states):
        ...         return inputs + states, inputs + states
        >>> outputs, last = fluid.layers.rnn(Sum(), proa.ones([1, 3, 2]))
        >>> last.tolist()
        [[3.0, 3.0]]
    """

    def call(self, inputs, states, **kwargs):
        """A step; a subclass defines it."""
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define call"))

    def __call__(self, inputs, states, **kwargs):
        return self.call(inputs, states, **kwargs)

    def get_initial_states(self, batch_ref, shape=None, dtype="float32", init_value=0, batch_dim_idx=0):
        """States to start from, of the batch size of `batch_ref`; see proa.nn.RNNCellBase."""
        return RNNCellBase.get_initial_states(self, batch_ref, shape, dtype, float(init_value), batch_dim_idx)

    @property
    def state_shape(self):
        """Sizes of the states without the batch; a subclass defines it."""
        raise _C.located(NotImplementedError(f"{type(self).__name__} does not define state_shape"))

    @property
    def state_dtype(self):
        """The dtype of the states."""
        return "float32"


class _Weights:
    """Weight [rows, columns] and bias [columns] of a cell, made in the first step, with the width of its input."""

    def __init__(self, owner, param_attr, bias_attr, dtype):
        self._prefix = unique_name.generate(owner)
        self._attrs, self._dtype, self._made = (param_attr, bias_attr), dtype, {}

    def _attr(self, attr, part):
        attr = proa.ParamAttr.of(attr)
        if attr is False or attr is None or not attr.name or not part:
            return attr
        return proa.ParamAttr(**{**attr.__dict__, "name": f"{attr.name}_{part}"})

    def __call__(self, x, columns, part=""):
        """x [rows, width] times the weight, plus the bias."""
        width = int(x.shape[-1])
        if part not in self._made:
            prefix = f"{self._prefix}.{part}" if part else self._prefix
            self._made[part] = [
                program_parameter(shape, self._attr(attr, part), self._dtype, is_bias, prefix=prefix)
                for shape, attr, is_bias in (
                    ([width, columns], self._attrs[0], False),
                    ([columns], self._attrs[1], True),
                )
            ]
        weight, bias = self._made[part]
        product = _C.ops.matmul(x, weight)
        return product if bias is None else product + bias


def _need_static(owner, inputs, instead):
    if not _C.in_static_mode() and not _C.is_symbolic(inputs):
        raise _C.located(RuntimeError(f"{owner}: is for programs; call paddle.enable_static() first, or use {instead}"))


class GRUCell(RNNCell):
    """A GRU that resets the state before it is multiplied.

    With [r, u] = gate_activation([x, h] W_gate + b_gate) and c = activation([x, r * h] W + b), the state
    becomes u * h + (1 - u) * c.

    Args:
        hidden_size (int): of the state.
        param_attr, bias_attr (ParamAttr, optional): of weights and biases; a name gets `_gate` and `_candidate` appended.
        gate_activation, activation (Callable, optional): sigmoid and tanh unless given.
        dtype (str): of the parameters.

    Examples:
        >>> from proa import fluid
        >>> with fluid.program_guard(fluid.Program(), fluid.Program()):
        ...     x = fluid.data("x", [None, 3, 4])
        ...     outputs, last = fluid.layers.rnn(fluid.layers.GRUCell(8), x)
        >>> outputs.shape[1:], last.shape[1:]
        ([3, 8], [8])
    """

    def __init__(self, hidden_size, param_attr=None, bias_attr=None, gate_activation=None, activation=None, dtype="float32",
                 name="GRUCell"):  # fmt: skip
        self.hidden_size = int(hidden_size)
        self._gate = gate_activation or proa.nn.functional.sigmoid
        self._act = activation or proa.tanh
        self._weights = _Weights(name, param_attr, bias_attr, dtype)

    def call(self, inputs, states):
        """(state, state) after a step; inputs [batch, width], states [batch, hidden_size]."""
        _need_static("GRUCell", inputs, "paddle.nn.GRUCell")
        size = self.hidden_size
        gates = self._gate(self._weights(_C.ops.concat([inputs, states], 1), 2 * size, "gate"))
        reset, update = gates[:, :size], gates[:, size:]
        candidate = self._act(self._weights(_C.ops.concat([inputs, reset * states], 1), size, "candidate"))
        state = update * states + (1.0 - update) * candidate
        return state, state

    @property
    def state_shape(self):
        """[hidden_size]."""
        return [self.hidden_size]


class LSTMCell(RNNCell):
    """An LSTM: the gates i, j, f, o of [x, h] W + b; the cell becomes c * f(f + forget_bias) + f(i) * a(j).

    Args:
        hidden_size (int): of the state.
        param_attr, bias_attr (ParamAttr, optional): of the weight [input + hidden, 4 * hidden] and the bias.
        gate_activation, activation (Callable, optional): f and a; sigmoid and tanh unless given.
        forget_bias (float): added to the forget gate.
        dtype (str): of the parameters.

    Examples:
        >>> from proa import fluid
        >>> with fluid.program_guard(fluid.Program(), fluid.Program()):
        ...     x = fluid.data("x", [None, 3, 4])
        ...     outputs, (h, c) = fluid.layers.rnn(fluid.layers.LSTMCell(8), x)
        >>> outputs.shape[1:], c.shape[1:]
        ([3, 8], [8])
    """

    def __init__(self, hidden_size, param_attr=None, bias_attr=None, gate_activation=None, activation=None, forget_bias=1.0,
                 dtype="float32", name="LSTMCell"):  # fmt: skip
        self.hidden_size, self.forget_bias = int(hidden_size), float(forget_bias)
        self._gate = gate_activation or proa.nn.functional.sigmoid
        self._act = activation or proa.tanh
        self._weights = _Weights(name, param_attr, bias_attr, dtype)

    def call(self, inputs, states):
        """(h, [h, c]) after a step; inputs [batch, width], states a pair of [batch, hidden_size]."""
        _need_static("LSTMCell", inputs, "paddle.nn.LSTMCell")
        before, cell = states
        size = self.hidden_size
        gates = self._weights(_C.ops.concat([inputs, before], 1), 4 * size)
        enter, new, keep, leave = (gates[:, i * size : (i + 1) * size] for i in range(4))
        cell = cell * self._gate(keep + self.forget_bias) + self._gate(enter) * self._act(new)
        state = self._act(cell) * self._gate(leave)
        return state, [state, cell]

    @property
    def state_shape(self):
        """[[hidden_size], [hidden_size]]."""
        return [[self.hidden_size], [self.hidden_size]]


def rnn(cell, inputs, initial_states=None, sequence_length=None, time_major=False, is_reverse=False, **kwargs):
    """(outputs, last states) of a cell over all steps.

    Args:
        cell (RNNCell): one step.
        inputs (Tensor): [batch, steps, ...], or [steps, batch, ...] with time_major; the number of steps is known.
        initial_states (optional): as the cell's; zeros unless given.
        sequence_length (Tensor, optional): [batch]; later steps keep the states.
        is_reverse (bool): from the last step to the first.

    Examples:
        >>> outputs, last = proa.fluid.layers.rnn(proa.nn.SimpleRNNCell(4, 8), proa.ones([2, 5, 4]))
        >>> outputs.shape, last.shape
        ([2, 5, 8], [2, 8])
    """
    return _loop(cell, is_reverse, time_major, inputs, initial_states, sequence_length, kwargs)


@static_only("use paddle.nn.LSTMCell")
def lstm_unit(x_t, hidden_t_prev, cell_t_prev, forget_bias=0.0, param_attr=None, bias_attr=None, name=None):
    """One step of an LSTM: the gates i, f, o and the candidate g are [x, h] W + b.

    Args:
        x_t (Tensor): [batch, width]. hidden_t_prev, cell_t_prev (Tensor): [batch, size].
        forget_bias (float): added to the forget gate.

    Returns:
        (Tensor, Tensor): state and cell, [batch, size].

    Raises:
        RuntimeError: in eager mode.
        ValueError: a tensor is not of two dims, or the states differ in size.
    """
    for what, value in (("x_t", x_t), ("hidden_t_prev", hidden_t_prev), ("cell_t_prev", cell_t_prev)):
        if len(value.shape) != 2:
            raise _C.located(ValueError(f"lstm_unit: {what} must be [batch, size]; it is {list(value.shape)}"))
    size = int(cell_t_prev.shape[1])
    if int(hidden_t_prev.shape[1]) != size:
        raise _C.located(
            ValueError(f"lstm_unit: hidden_t_prev has {int(hidden_t_prev.shape[1])} columns and cell_t_prev {size}")
        )
    weights = _Weights(name or "lstm_unit", param_attr, bias_attr, x_t.dtype)
    gates = weights(_C.ops.concat([x_t, hidden_t_prev], 1), 4 * size)
    enter, keep, leave, new = (gates[:, i * size : (i + 1) * size] for i in range(4))
    sigmoid = _C.ops.sigmoid
    cell = sigmoid(keep + forget_bias) * cell_t_prev + sigmoid(enter) * _C.ops.tanh(new)
    return sigmoid(leave) * _C.ops.tanh(cell), cell


class _Module(types.ModuleType):
    """`layers.rnn` is this module, and in 1.8's programs a function: it can be called."""

    def __call__(self, *args, **kwargs):
        return rnn(*args, **kwargs)


sys.modules[__name__].__class__ = _Module


def lstm(input, init_h, init_c, max_len, hidden_size, num_layers, dropout_prob=0.0, is_bidirec=False, is_test=False,
         name=None, default_initializer=None, seed=-1):  # fmt: skip
    """Several layers of LSTM over whole sequences, with parameters of its own.

    Args:
        input (Tensor): [steps, batch, size].
        init_h, init_c (Tensor): [num_layers * directions, batch, hidden_size].
        max_len (int): accepted; sequences are as long as `input`.
        hidden_size (int): of a state.
        num_layers (int): how many layers.
        dropout_prob (float): of what one layer gives the next.
        is_bidirec (bool): both directions; the results stand beside one another.
        is_test (bool): without dropout.
        name (str, optional): accepted.
        default_initializer (Initializer, optional): of the weights.
        seed (int): accepted; random numbers are drawn from the generator of the place.

    Returns:
        tuple: (outputs [steps, batch, hidden_size * directions], last h, last c of the shapes of init_h and init_c).

    Raises:
        ValueError: input has no known size, or shapes that do not fit.

    Examples:
        >>> from proa import fluid
        >>> with fluid.dygraph.guard():
        ...     zeros = proa.zeros([2, 3, 4])
        ...     out, h, c = fluid.layers.lstm(proa.ones([5, 3, 6]), zeros, zeros, 5, 4, 2)
        >>> out.shape, h.shape, c.shape
        ([5, 3, 4], [2, 3, 4], [2, 3, 4])
    """
    from proa import ParamAttr, nn

    size = input.shape[-1]
    if type(size) is not int or size < 1:
        raise _C.located(ValueError(f"lstm: the last dim of input must be known; input is {list(input.shape)}"))
    attr = None if default_initializer is None else ParamAttr(initializer=default_initializer)
    direction = "bidirectional" if is_bidirec else "forward"
    net = nn.LSTM(
        size, hidden_size, num_layers, direction, True, dropout_prob, weight_ih_attr=attr, weight_hh_attr=attr
    )
    if is_test:
        net.eval()
    outputs, (h, c) = net(input, (init_h, init_c))
    return outputs, h, c
