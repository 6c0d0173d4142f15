"""Layers that 1.8 kept beside its namespace: recurrent nets of several layers, and pieces of recommenders."""

import copy

import proa
from proa import _C
from proa.fluid.layers.detection import multiclass_nms as _multiclass_nms
from proa.fluid.layers.rnn import GRUCell, LSTMCell, _need_static, rnn
from proa.framework.attributes import known_int
from proa.framework.names import missing as _missing
from proa.framework.requirements import require_sizes
from proa.nn import Layer

__all__ = [
    "BasicGRUUnit", "BasicLSTMUnit", "basic_gru", "basic_lstm", "batch_fc", "fused_elemwise_activation", "multiclass_nms2",
    "partial_concat", "partial_sum", "shuffle_batch",
]  # fmt: skip

__getattr__ = _missing(__name__)


class BasicGRUUnit(Layer):
    """A step of a GRU: (input [batch, width], state [batch, hidden_size]) to the next state, in a program.

    Args:
        name_scope (str): of the parameters.
        hidden_size (int): of the state.
        param_attr, bias_attr (ParamAttr, optional): of weights and biases.
        gate_activation, activation (Callable, optional): sigmoid and tanh unless given.
        dtype (str): of the parameters.
    """

    def __init__(self, name_scope, hidden_size, param_attr=None, bias_attr=None, gate_activation=None, activation=None,
                 dtype="float32"):  # fmt: skip
        super().__init__(name_scope, dtype)
        self._cell = GRUCell(hidden_size, param_attr, bias_attr, gate_activation, activation, dtype, name_scope)

    def forward(self, input, pre_hidden):
        """The next state."""
        return self._cell.call(input, pre_hidden)[0]


class BasicLSTMUnit(Layer):
    """A step of an LSTM: (input [batch, width], h, c [batch, hidden_size]) to the next (h, c), in a program.

    Args:
        name_scope (str): of the parameters.
        hidden_size (int): of the states.
        param_attr, bias_attr (ParamAttr, optional): of the weight and the bias.
        gate_activation, activation (Callable, optional): sigmoid and tanh unless given.
        forget_bias (float): added to the forget gate.
        dtype (str): of the parameters.
    """

    def __init__(self, name_scope, hidden_size, param_attr=None, bias_attr=None, gate_activation=None, activation=None,
                 forget_bias=1.0, dtype="float32"):  # fmt: skip
        super().__init__(name_scope, dtype)
        self._cell = LSTMCell(
            hidden_size, param_attr, bias_attr, gate_activation, activation, forget_bias, dtype, name_scope
        )

    def forward(self, input, pre_hidden, pre_cell):
        """The next (h, c)."""
        return tuple(self._cell.call(input, [pre_hidden, pre_cell])[1])


def _own(attr, suffix):
    """An attr of parameters for one layer of several: a name gets a suffix."""
    if not isinstance(attr, proa.ParamAttr) or attr.name is None:
        return attr
    attr = copy.copy(attr)
    attr.name += suffix
    return attr


def _kept(output, state, lengths, batch_first):
    """What stands in later steps than `lengths`: the state that these keep, the first one of a loop that begins there."""
    state = state[0] if isinstance(state, (list, tuple)) else state
    steps = output.shape[1 if batch_first else 0]
    inside = proa.nn.functional.sequence_mask(lengths, steps, "bool")
    inside = _C.ops.unsqueeze(inside if batch_first else _C.ops.transpose(inside, [1, 0]), [2])
    kept = _C.ops.full_like(output, 0.0) if state is None else _C.ops.unsqueeze(state, [1 if batch_first else 0])
    return _C.ops.where(inside, output, kept)


def _stacked(op, make, states, input, num_layers, sequence_length, dropout_prob, bidirectional, batch_first):
    """(outputs, last states of each layer and direction) of cells that `make(suffix)` gives; `states(k)` are the first ones."""
    num_layers = known_int(op, "num_layers", num_layers)
    if num_layers < 1:
        raise _C.located(ValueError(f"{op}: num_layers must be positive; it is {num_layers}"))
    last = []
    for k in range(num_layers):
        outputs = []
        for reverse in (False, True)[: 1 + bool(bidirectional)]:
            cell = make(f"{'_reverse' if reverse else ''}_layers_{k}")
            first = states(len(last))
            output, final = rnn(cell, input, first, sequence_length, not batch_first, reverse)
            if sequence_length is not None:
                output = _kept(output, first if reverse else final, sequence_length, batch_first)
            outputs.append(output)
            last.append(final)
        input = outputs[0] if len(outputs) == 1 else _C.ops.concat(outputs, 2)
        if dropout_prob:
            input = proa.nn.functional.dropout(input, dropout_prob)
    return input, last


def basic_gru(input, init_hidden, hidden_size, num_layers=1, sequence_length=None, dropout_prob=0.0, bidirectional=False,
              batch_first=True, param_attr=None, bias_attr=None, gate_activation=None, activation=None, dtype="float32",
              name="basic_gru"):  # fmt: skip
    """Layers of GRUs over all steps.

    Args:
        input (Tensor): [batch, steps, width], or [steps, batch, width] without batch_first; the number of steps is known.
        init_hidden (Tensor, optional): [num_layers * directions, batch, hidden_size]; zeros unless given.
        hidden_size (int): of a state.
        num_layers (int): how many layers.
        sequence_length (Tensor, optional): [batch]; later steps keep the states.
        dropout_prob (float): of what a layer gives.
        bidirectional (bool): both directions; what they give stands beside one another.
        batch_first (bool): see input.
        param_attr, bias_attr (ParamAttr, optional): of weights and biases; a name gets the layer appended.
        gate_activation, activation (Callable, optional): sigmoid and tanh unless given.
        dtype (str): of the parameters. name (str): of the parameters.

    Returns:
        (Tensor, Tensor): outputs like input with hidden_size * directions, last states like init_hidden.

    Raises:
        RuntimeError: in eager mode.
        ValueError: num_layers is not positive.

    Examples:
        >>> from proa import fluid
        >>> with fluid.program_guard(fluid.Program(), fluid.Program()):
        ...     x = fluid.data("x", [None, 5, 4])
        ...     outputs, last = fluid.contrib.layers.basic_gru(x, None, 8, num_layers=2, bidirectional=True)
        >>> outputs.shape[1:], last.shape[::2]
        ([5, 16], [4, 8])
    """

    _need_static("basic_gru", input, "paddle.nn.GRU")

    def make(suffix):
        attrs = _own(param_attr, suffix), _own(bias_attr, suffix)
        return GRUCell(hidden_size, *attrs, gate_activation, activation, dtype, name + suffix)

    states = (lambda k: None) if init_hidden is None else (lambda k: init_hidden[k])
    outputs, last = _stacked(
        "basic_gru", make, states, input, num_layers, sequence_length, dropout_prob, bidirectional, batch_first
    )
    return outputs, _C.ops.stack(last, 0)


def basic_lstm(input, init_hidden, init_cell, hidden_size, num_layers=1, sequence_length=None, dropout_prob=0.0,
               bidirectional=False, batch_first=True, param_attr=None, bias_attr=None, gate_activation=None, activation=None,
               forget_bias=1.0, dtype="float32", name="basic_lstm"):  # fmt: skip
    """Layers of LSTMs over all steps.

    Args:
        input (Tensor): [batch, steps, width], or [steps, batch, width] without batch_first; the number of steps is known.
        init_hidden, init_cell (Tensor, optional): [num_layers * directions, batch, hidden_size]; zeros unless given.
        hidden_size (int): of a state.
        num_layers (int): how many layers.
        sequence_length (Tensor, optional): [batch]; later steps keep the states.
        dropout_prob (float): of what a layer gives.
        bidirectional (bool): both directions; what they give stands beside one another.
        batch_first (bool): see input.
        param_attr, bias_attr (ParamAttr, optional): of weights and biases; a name gets the layer appended.
        gate_activation, activation (Callable, optional): sigmoid and tanh unless given.
        forget_bias (float): added to the forget gate.
        dtype (str): of the parameters. name (str): of the parameters.

    Returns:
        (Tensor, Tensor, Tensor): outputs like input with hidden_size * directions, last h and c like init_hidden.

    Raises:
        RuntimeError: in eager mode.
        ValueError: num_layers is not positive, or one of init_hidden and init_cell is given alone.

    Examples:
        >>> from proa import fluid
        >>> with fluid.program_guard(fluid.Program(), fluid.Program()):
        ...     x = fluid.data("x", [None, 5, 4])
        ...     outputs, h, c = fluid.contrib.layers.basic_lstm(x, None, None, 8, num_layers=2)
        >>> outputs.shape[1:], c.shape[::2]
        ([5, 8], [2, 8])
    """
    _need_static("basic_lstm", input, "paddle.nn.LSTM")
    if (init_hidden is None) != (init_cell is None):
        raise _C.located(ValueError("basic_lstm: init_hidden and init_cell belong together; give both or none"))

    def make(suffix):
        attrs = _own(param_attr, suffix), _own(bias_attr, suffix)
        return LSTMCell(hidden_size, *attrs, gate_activation, activation, forget_bias, dtype, name + suffix)

    states = (lambda k: None) if init_hidden is None else (lambda k: [init_hidden[k], init_cell[k]])
    outputs, last = _stacked(
        "basic_lstm", make, states, input, num_layers, sequence_length, dropout_prob, bidirectional, batch_first
    )
    return outputs, *(_C.ops.stack([pair[i] for pair in last], 0) for i in range(2))


_BINARY = {"elementwise_add": "add", "elementwise_mul": "multiply"}
_UNARY = ("relu", "scale", "tanh", "sigmoid", "gelu")


def fused_elemwise_activation(x, y, functor_list, axis=-1, scale=0.0, save_intermediate_out=True):
    """Two functions after one another: `outer(x, inner(y))` where the outer one takes two, else `outer(inner(x, y))`.

    Args:
        x, y (Tensor): the sizes of y are those of x from dim `axis` on, or its last ones with -1.
        functor_list (list[str]|str): outer and inner function, in one text with a comma between them too: one of
            elementwise_add and elementwise_mul, the other of relu, scale, tanh, sigmoid and gelu.
        axis (int): see y.
        scale (float): of "scale".
        save_intermediate_out (bool): accepted.

    Returns:
        Tensor: of the shape of x.

    Raises:
        ValueError: other functions.

    Examples:
        >>> x = proa.to_tensor([1.0, -3.0])
        >>> proa.fluid.contrib.layers.fused_elemwise_activation(x, proa.ones([2]), ["relu", "elementwise_add"]).tolist()
        [2.0, 0.0]
    """
    names = functor_list.split(",") if isinstance(functor_list, str) else list(functor_list)
    if (
        len(names) != 2
        or sorted(name in _BINARY for name in names) != [False, True]
        or not {*names} <= {*_BINARY, *_UNARY}
    ):
        raise _C.located(
            ValueError(
                f"fused_elemwise_activation: functor_list must be one of {', '.join(_BINARY)} and one of "
                f"{', '.join(_UNARY)}; it is {names}"
            )
        )
    from proa.fluid import layers

    outer, inner = names
    one = lambda name, v: v * scale if name == "scale" else getattr(proa.nn.functional, name, None)(v)
    both = lambda name, a, b: getattr(layers, name)(a, b, axis=axis)
    return both(outer, x, one(inner, y)) if outer in _BINARY else one(outer, both(inner, x, y))


def _columns(op, inputs, start_index, length):
    if not isinstance(inputs, (list, tuple)):
        inputs = [inputs]
    start, length = known_int(op, "start_index", start_index), known_int(op, "length", length)
    parts = []
    for x in inputs:
        x = _C.tensor_argument(x, op, "input")
        if len(x.shape) != 2:
            raise _C.located(ValueError(f"{op}: input must be [batch, columns]; it is {list(x.shape)}"))
        end = 2**31 - 1 if length < 0 else start + length
        if length >= 0 and start < 0 and end == 0:
            end = 2**31 - 1
        parts.append(_C.ops.slice(x, [1], [start], [end]))
    return parts


def partial_concat(input, start_index=0, length=-1):
    """Some columns of each of several matrices, beside one another.

    Args:
        input (list[Tensor]): [batch, columns] each.
        start_index (int): the first column; negative ones count from the end.
        length (int): how many; -1 for all that follow.

    Examples:
        >>> x = proa.to_tensor([[0, 1, 2]])
        >>> proa.fluid.contrib.layers.partial_concat([x, x + 3], start_index=0, length=2).tolist()
        [[0, 1, 3, 4]]
    """
    return _C.ops.concat(_columns("partial_concat", input, start_index, length), 1)


def partial_sum(input, start_index=0, length=-1):
    """The sum of some columns of each of several matrices; see `partial_concat`.

    Examples:
        >>> x = proa.to_tensor([[0, 1, 2]])
        >>> proa.fluid.contrib.layers.partial_sum([x, x + 3], start_index=0, length=2).tolist()
        [[3, 5]]
    """
    return proa.add_n(_columns("partial_sum", input, start_index, length))


def batch_fc(input, param_size, param_attr, bias_size, bias_attr, act=None):
    """A fully connected layer for each of several slots.

    Args:
        input (Tensor): [slots, batch, in].
        param_size (list[int]): [slots, in, out]. bias_size (list[int]): [slots, out].
        param_attr, bias_attr (ParamAttr): of weight and bias.
        act (str, optional): activation of the result.

    Returns:
        Tensor: [slots, batch, out].

    Examples:
        >>> from proa import fluid
        >>> with fluid.program_guard(fluid.Program(), fluid.Program()):
        ...     x = fluid.data("x", [2, None, 3])
        ...     y = fluid.contrib.layers.batch_fc(x, [2, 3, 4], None, [2, 4], None, act="relu")
        >>> y.shape[::2]
        [2, 4]
    """
    from proa.fluid.layer_helper import LayerHelper

    _need_static("batch_fc", input, "paddle.bmm")
    helper = LayerHelper("batch_fc", act=act)
    weight = helper.create_parameter(param_attr, param_size, input.dtype)
    bias = helper.create_parameter(bias_attr, bias_size, input.dtype, is_bias=True)
    input = require_sizes(input, input.shape[::2], list(param_size)[:2], f"batch_fc: input must be [slots, batch, in] by param_size {list(param_size)}; it is {{}}", input)  # fmt: skip
    return helper.append_activation(_C.ops.matmul(input, weight) + _C.ops.unsqueeze(bias, [1]))


def shuffle_batch(x, seed=None):
    """The rows of x (all dims but the last one are counted as rows) in a random order.

    Args:
        x (Tensor): [..., width].
        seed (int|Tensor, optional): accepted; numbers are drawn from the generator of the place, which `paddle.seed` sets.

    Examples:
        >>> sorted(proa.fluid.contrib.layers.shuffle_batch(proa.to_tensor([[1], [2], [3]])).flatten().tolist())
        [1, 2, 3]
    """
    x = _C.tensor_argument(x, "shuffle_batch", "x")
    rows = _C.ops.reshape(x, [-1, x.shape[-1]])
    order = _C.ops.argsort(_C.ops.uniform(_C.ops.shape(rows)[:1], _C.float32, 0.0, 1.0), 0)
    return _C.ops.reshape(_C.ops.gather(rows, order, 0), x.shape)


def multiclass_nms2(bboxes, scores, score_threshold, nms_top_k, keep_top_k, nms_threshold=0.3, normalized=True, nms_eta=1.0,
                    background_label=0, return_index=False, name=None):  # fmt: skip
    """`fluid.layers.multiclass_nms`, and with return_index the numbers of the boxes that stay, [picked, 1], too.

    Examples:
        >>> boxes, scores = proa.to_tensor([[[0.0, 0.0, 1.0, 1.0]]]), proa.to_tensor([[[0.5]]])
        >>> proa.fluid.contrib.layers.multiclass_nms2(boxes, scores, 0.1, -1, -1, background_label=-1)[:, :2].tolist()
        [[0.0, 0.5]]
    """
    out = _multiclass_nms(
        bboxes, scores, score_threshold, nms_top_k, keep_top_k, nms_threshold, normalized, nms_eta, background_label
    )
    if not return_index:
        return out
    index = _C.ops.multiclass_nms(bboxes, scores, None, score_threshold, nms_top_k, keep_top_k, nms_threshold, normalized,
                                  nms_eta, background_label, True)[1]  # fmt: skip
    return out, index
