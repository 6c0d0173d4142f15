"""`summary` and `flops`: a network's layers, parameters and multiplications."""

import inspect
import math
from typing import Any

from proa import _C
from proa.framework.grad_mode import no_grad
from proa.nn import Layer, LayerList, Sequential
from proa.nn.layer.conv import _ConvNd


def _shapes(value):
    if isinstance(value, _C.Tensor):
        return list(value.shape)
    if isinstance(value, (list, tuple)):
        return [_shapes(v) for v in value]
    return None if value is None else []


def _inputs(what, input_size, dtypes):
    """Tensors of ones of these sizes: a tuple of numbers, or a list of such tuples."""
    if input_size is None:
        raise _C.located(ValueError(f"{what}: give input_size or input"))
    if hasattr(input_size, "shape"):  # an InputSpec
        input_size = [input_size]
    one = isinstance(input_size, (tuple, list)) and all(isinstance(d, (int, type(None))) for d in input_size)
    sizes = [input_size] if one else list(input_size)
    dtypes = dtypes if isinstance(dtypes, (list, tuple)) else [dtypes] * len(sizes)
    made = []
    for size, dtype in zip(sizes, dtypes):
        shape = [1 if d in (None, -1) else d for d in getattr(size, "shape", size)]
        if any(isinstance(d, int) and d <= 0 for d in shape):
            raise _C.located(
                ValueError(f"{what}: sizes must be positive, or None or -1 for any; they are {list(size)}")
            )
        with _C.eager_mode():
            made.append(_C.ops.full(shape, 1, dtype or getattr(size, "dtype", None) or _C.float32))
    return made


def _check_layer(what, net):
    if not isinstance(net, Layer):
        raise _C.located(TypeError(f"{what}: net must be a Layer, not {type(net).__name__}"))


def _run(net, inputs, chosen, on_run):
    """Runs the network in evaluation; calls on_run(layer, inputs, outputs) for each chosen layer that runs."""
    handles = [layer.register_forward_post_hook(on_run) for layer in net.sublayers(include_self=True) if chosen(layer)]
    modes = [(layer, layer.training) for layer in net.sublayers(include_self=True)]
    net.eval()
    try:
        with no_grad(), _C.eager_mode():
            if isinstance(inputs, dict):
                net(**inputs)
            else:
                net(*inputs)
    finally:
        for handle in handles:
            handle.remove()
        for layer, training in modes:
            layer.__dict__["training"] = training


def _is_leaf(layer):
    return not any(True for _ in layer.children())


def _takes_one(net, given):
    """Whether forward is called with `given` as its one argument."""
    try:
        bound = inspect.signature(net.forward).bind(None)
    except TypeError:
        return False
    return not isinstance(given, dict) or not set(given) <= set(bound.signature.parameters)


def summary(net, input_size=None, dtypes=None, input=None) -> dict[str, int]:
    """Prints a network's layers, the shapes of their inputs and results, and the number of parameters.

    Args:
        net (Layer): the network; it is run once.
        input_size (tuple|list[tuple], optional): shapes of its inputs; None or -1 stands for 1.
        dtypes (str|list[str], optional): of the inputs.
        input (Tensor|list|dict, optional): the input itself; a list is one argument if forward takes one, else its
            arguments, and so is a dict that does not name that one.

    Returns:
        dict: {"total_params": ..., "trainable_params": ...}.

    Examples:
        >>> proa.summary(proa.nn.Linear(4, 3), (1, 4))["total_params"]  # doctest: +ELLIPSIS
        ---...
        15
    """
    _check_layer("summary", net)
    if input is None:
        input = _inputs("summary", input_size, dtypes)
    elif isinstance(input, _C.Tensor) or (isinstance(input, (list, tuple, dict)) and _takes_one(net, input)):
        input = [input]
    counted: set[int] = set()
    rows: dict[Any, Any] = {}

    def only_holds(layer):
        return isinstance(layer, (Sequential, LayerList)) and type(layer).forward in (
            Sequential.forward,
            LayerList.forward,
        )

    # A list of layers that computes, such as an LSTM of several, is one layer.
    inside = {
        id(part)
        for layer in net.sublayers(include_self=True)
        if isinstance(layer, LayerList) and not only_holds(layer)
        for part in layer.sublayers()
    }

    def is_row(layer):
        """Layers that compute: not the whole, and not what only holds others."""
        whole = layer is net and not _is_leaf(net) and not isinstance(net, LayerList)
        return id(layer) not in inside and not only_holds(layer) and not whole

    def on_run(layer, inputs, outputs):
        # What no layer inside has computed with, such as the cells of an LSTM, is the layer's own.
        own = [p for p in layer.parameters() if id(p) not in counted]
        counted.update(map(id, own))
        count = sum(p.size for p in own) + rows.get(id(layer), (None,) * 3 + (0,))[3]
        number = layer.full_name().rpartition("_")[2]  # its number among those of its kind
        number = int(number) + 1 if number.isdigit() else len(rows) + 1
        rows[id(layer)] = f"{type(layer).__name__}-{number}", _shapes(inputs), _shapes(outputs), count

    _run(net, input, is_row, on_run)
    table = [(name, str(ins), str(outs), f"{count:,}") for name, ins, outs, count in rows.values()]
    head = ("Layer (type)", "Input Shape", "Output Shape", "Param #")
    widths = [max(least, *(len(row[i]) for row in (head, *table))) for i, least in enumerate((15, 20, 20, 15))]
    line = "-" * (sum(widths) + 5)
    print(line)
    for i, row in enumerate((head, *table)):
        print(" ".join(f"{cell:^{width}}" for cell, width in zip(row, widths)))
        if i == 0:
            print("=" * len(line))
    total = sum(p.size for p in net.parameters())
    trainable = sum(p.size for p in net.parameters() if p.trainable)
    print("=" * len(line))
    print(f"Total params: {total:,}")
    print(f"Trainable params: {trainable:,}")
    print(f"Non-trainable params: {total - trainable:,}")
    print(line)
    # Of numbers of 4 bytes; results twice, for their gradients.
    given = input.values() if isinstance(input, dict) else input
    sizes = _numbers([_shapes(x) for x in given]), 2 * sum(_numbers(row[2]) for row in rows.values()), total
    for what, size in zip(("Input", "Forward/backward pass", "Params", "Estimated Total"), (*sizes, sum(sizes))):
        print(f"{what} {'Size' if what.startswith('Est') else 'size'} (MB): {size * 4 / 2**20:.2f}")
    print(line + "\n")
    return {"total_params": total, "trainable_params": trainable}


def _numbers(shape):
    """How many numbers a shape has, or several have."""
    if shape is None:
        return 0
    if any(isinstance(part, (list, type(None))) for part in shape):
        return sum(_numbers(part) for part in shape if isinstance(part, list))
    return math.prod(shape)


def flops(net, input_size, custom_ops=None, print_detail=False) -> int:
    """Multiply-adds of one run of a network, as the reference counts them: of convolutions, linear layers, batch norms,
    leaky relu and average pools; other layers count as none.

    Args:
        net (Layer): the network; it is run once.
        input_size (list[int]): shape of its input.
        custom_ops (dict, optional): layer type -> function(layer, inputs, outputs) that returns a count, or adds it to
            `layer.total_ops`.
        print_detail (bool): print a line for each layer.

    Returns:
        int: the count.

    Examples:
        >>> proa.flops(proa.nn.Linear(3, 2), [4, 3])
        Total Flops: 24     Total Params: 8
        24
    """
    _check_layer("flops", net)
    if not isinstance(input_size, (list, tuple)):
        raise _C.located(TypeError(f"flops: input_size must be a list of ints, not {input_size!r}"))
    custom_ops = custom_ops or {}
    rows: dict[Any, Any] = {}

    def on_run(layer, inputs, outputs):
        layer.__dict__["total_ops"] = 0
        try:
            found = custom_ops.get(type(layer), _count)(layer, inputs, outputs)
            count = int(layer.total_ops if found is None else found)
        finally:
            del layer.__dict__["total_ops"]
        before = rows[id(layer)][4] if id(layer) in rows else 0
        first = outputs[0] if isinstance(outputs, (list, tuple)) else outputs
        parameters = sum(p.size for p in layer.parameters())
        rows[id(layer)] = layer.full_name(), _shapes(inputs[0]), _shapes(first), parameters, before + count

    _run(net, _inputs("flops", tuple(input_size), None), _is_leaf, on_run)
    if print_detail:
        head = ("Layer Name", "Input Shape", "Output Shape", "Params", "Flops")
        table = [head, *(tuple(map(str, row)) for row in rows.values())]
        widths = [max(len(row[i]) for row in table) + 2 for i in range(5)]
        line = "+" + "+".join("-" * width for width in widths) + "+"
        for i, row in enumerate(table):
            print(f"{line}\n" * (i < 2) + "|" + "|".join(cell.center(width) for cell, width in zip(row, widths)) + "|")
        print(line)
    total = sum(row[4] for row in rows.values())
    print(f"Total Flops: {total}     Total Params: {sum(row[3] for row in rows.values())}")
    return total


def _count(layer, inputs, outputs):
    out = outputs[0] if isinstance(outputs, (list, tuple)) else outputs
    if not isinstance(out, _C.Tensor):
        return 0
    name = type(layer).__name__
    if name == "Linear":
        return out.size * layer.weight.shape[0]
    if isinstance(layer, _ConvNd):
        bias = 0 if getattr(layer, "bias", None) is None else 1
        return int(out.size * (inputs[0].shape[1] / layer._groups * math.prod(layer.weight.shape[2:]) + bias))
    if name in ("BatchNorm", "BatchNorm2D"):
        return 2 * inputs[0].size
    if name == "LeakyReLU":
        return inputs[0].size
    if name.startswith("AvgPool"):
        return out.size
    if name.startswith("AdaptiveAvgPool"):
        window = math.prod(a // b for a, b in zip(inputs[0].shape[2:], out.shape[2:]))
        return out.size * (window + 1)
    return 0
