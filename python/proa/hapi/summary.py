"""`summary` and `flops`: a network's layers, parameters and multiplications."""

import inspect
import math

from proa import _C
from proa.framework.grad_mode import no_grad


def _shapes(value):
    if isinstance(value, _C.Tensor):
        return list(value.shape)
    if isinstance(value, (list, tuple)):
        return [_shapes(v) for v in value]
    return []


def _inputs(input_size, dtypes):
    """Tensors of ones of these sizes: a tuple of numbers, or a list of such tuples."""
    if input_size is None:
        raise _C.located(ValueError("summary: give input_size or input"))
    if hasattr(input_size, "shape"):  # an InputSpec
        input_size = [input_size]
    one = isinstance(input_size, (tuple, list)) and all(isinstance(d, (int, type(None))) for d in input_size)
    sizes = [input_size] if one else list(input_size)
    dtypes = dtypes if isinstance(dtypes, (list, tuple)) else [dtypes] * len(sizes)
    made = []
    for size, dtype in zip(sizes, dtypes):
        shape = [1 if d in (None, -1) else d for d in getattr(size, "shape", size)]
        made.append(_C.ops.full(shape, 1, dtype or getattr(size, "dtype", None) or _C.float32))
    return made


def _run(net, inputs, on_leaf):
    """Runs the network in evaluation; calls on_leaf(layer, inputs, outputs) for layers without sublayers."""
    handles = []
    for layer in net.sublayers(include_self=True):
        if not any(True for _ in layer.children()):
            handles.append(layer.register_forward_post_hook(on_leaf))
    modes = [(layer, layer.training) for layer in net.sublayers(include_self=True)]
    net.eval()
    try:
        with no_grad():
            if isinstance(inputs, dict):
                net(**inputs)
            else:
                net(*inputs)
    finally:
        for handle in handles:
            handle.remove()
        for layer, training in modes:
            layer.__dict__["training"] = training


def _takes_one(net):
    """Whether forward can be called with one argument."""
    try:
        inspect.signature(net.forward).bind(None)
    except TypeError:
        return False
    return True


def summary(net, input_size=None, dtypes=None, input=None):
    """Prints a network's layers, the shapes of their inputs and results, and the number of parameters.

    Args:
        net (Layer): the network; it is run once.
        input_size (tuple|list[tuple], optional): shapes of its inputs; None or -1 stands for 1.
        dtypes (str|list[str], optional): of the inputs.
        input (Tensor|list|dict, optional): the input itself; a list is one argument if forward takes one, else its
            arguments.

    Returns:
        dict: {"total_params": ..., "trainable_params": ...}.
    """
    if input is None:
        input = _inputs(input_size, dtypes)
    elif isinstance(input, _C.Tensor) or (isinstance(input, (list, tuple)) and _takes_one(net)):
        input = [input]
    rows = []

    def on_leaf(layer, inputs, outputs):
        name = f"{type(layer).__name__}-{len(rows) + 1}"
        count = sum(p.size for p in layer.parameters())
        rows.append((name, str(_shapes(inputs)), str(_shapes(outputs)), f"{count:,}"))

    _run(net, input, on_leaf)
    head = ("Layer (type)", "Input Shape", "Output Shape", "Param #")
    widths = [max(len(row[i]) for row in (head, *rows)) + 2 for i in range(4)]
    line = "-" * sum(widths)
    print(line)
    for i, row in enumerate((head, *rows)):
        print("".join(cell.center(width) for cell, width in zip(row, widths)))
        if i == 0:
            print("=" * sum(widths))
    total = sum(p.size for p in net.parameters())
    trainable = sum(p.size for p in net.parameters() if p.trainable)
    print("=" * sum(widths))
    print(f"Total params: {total:,}")
    print(f"Trainable params: {trainable:,}")
    print(f"Non-trainable params: {total - trainable:,}")
    print(line)
    return {"total_params": total, "trainable_params": trainable}


def flops(net, input_size, custom_ops=None, print_detail=False):
    """Multiply-adds of one run of a network: those of linear and convolution layers, and elements of others.

    Args:
        net (Layer): the network; it is run once.
        input_size (list[int]): shape of its input.
        custom_ops (dict, optional): layer type -> function(layer, inputs, outputs) that gives a count.
        print_detail (bool): print a line for each layer.

    Returns:
        int: the count.
    """
    custom_ops = custom_ops or {}
    counts = []

    def on_leaf(layer, inputs, outputs):
        counter = custom_ops.get(type(layer), _count)
        counts.append((type(layer).__name__, int(counter(layer, inputs, outputs) or 0)))

    _run(net, _inputs(tuple(input_size), None), on_leaf)
    total = sum(count for _, count in counts)
    if print_detail:
        for name, count in counts:
            print(f"{name:<24}{count:>16,}")
    print(f"Total Flops: {total}     Total Params: {sum(p.size for p in net.parameters())}")
    return total


def _count(layer, inputs, outputs):
    out = outputs[0] if isinstance(outputs, (list, tuple)) else outputs
    weight = getattr(layer, "weight", None)
    if weight is None or not isinstance(out, _C.Tensor):
        return 0
    name = type(layer).__name__
    bias = 0 if layer.__dict__.get("bias") is None else 1
    if name == "Linear":
        return out.size * (weight.shape[0] + bias)
    if name.startswith("Conv") and not name.endswith("Transpose"):
        return out.size * (math.prod(weight.shape[1:]) + bias)
    if "Norm" in name:
        return 2 * inputs[0].size
    return out.size if name == "PReLU" else 0
