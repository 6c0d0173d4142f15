"""Models as ONNX files: what is written, and how."""

import os
import warnings

from proa import _C
from proa.jit.left_out import warn_of_left_out
from proa.onnx.convert import Converter
from proa.onnx.graph import Graph, tensor_of
from proa.onnx.opset import NeedsOpset, element_number, package

LEAST_OPSET = 9
# Beyond this the tensors lie in a file of their own: a protobuf message ends at 2 GB.
_MOST_INSIDE = 2**31 - 2**24


def model_of(
    program, input_names, outputs, output_names, opset_version, raise_opset, rules=None, for_test=False, name="proa"
):
    """(ModelProto without its large tensors' elements, those tensors by name as (dtype, array)).

    Args:
        program: a _C.Program.
        input_names (list), outputs (list), output_names (list): what the model takes and gives.
        opset_version (int): to be written.
        raise_opset (bool): take a later version where the program needs it.
        rules (dict): by op, that go before those of Proa.
        for_test (bool): the program as it runs in a test.

    Raises:
        NotImplementedError: operations that ONNX cannot say; the message has all of them, with the lines that made them.
    """
    onnx = package()
    newest = onnx.defs.onnx_opset_version()
    if not LEAST_OPSET <= opset_version <= newest:
        raise _C.located(
            ValueError(
                f"onnx.export: opset_version must be {LEAST_OPSET} to {newest} (of the installed onnx), not {opset_version}"
            )
        )
    version = opset_version
    while True:
        graph = Graph(version)
        converter = Converter(program, outputs, graph, rules, for_test)
        try:
            inputs, made = converter.run(output_names)
        except NeedsOpset as needed:
            if raise_opset and needed.version <= newest:
                version = needed.version
                continue
            raise _C.located(
                NotImplementedError(f"onnx.export: {needed}; give opset_version={needed.version}")
            ) from None
        break
    if converter.problems:
        lines = "\n".join(f"  {problem}" for problem in converter.problems)
        count = len(converter.problems)
        raise _C.located(
            NotImplementedError(
                f"onnx.export: {count} operation{'s have' if count > 1 else ' has'} no form in ONNX:\n{lines}"
            )
        )
    warn_of_left_out("onnx.export", converter.left_out, stacklevel=5)
    if version > opset_version and opset_version != LEAST_OPSET:
        warnings.warn(
            f"onnx.export: the model needs opset {version}, later than {opset_version}", UserWarning, stacklevel=4
        )
    inputs = [next(v for v in inputs if v.name == n) for n in input_names]
    return _model(onnx, graph, inputs, made, version, name), _used(graph)


def _used(graph):
    """The constants that nodes use."""
    used = set()

    def note(nodes):
        for node in nodes:
            used.update(node.input)
            for attribute in node.attribute:
                note(attribute.g.node)
                used.update(o.name for o in attribute.g.output)

    note(graph.nodes)
    return {name: tensor for name, tensor in graph.tensors.items() if name in used}


def _needed(nodes, outputs):
    """The nodes that the outputs depend on."""
    wanted, kept = set(outputs), []
    for node in reversed(nodes):
        if wanted.isdisjoint(node.output):
            continue
        kept.append(node)
        wanted.update(_reads(node))
    return kept[::-1]


def _reads(node):
    names = set(node.input)
    for attribute in node.attribute:
        for inner in attribute.g.node:
            names |= _reads(inner)
        names.update(o.name for o in attribute.g.output)
    return names


def _model(onnx, graph, inputs, outputs, version, name):
    graph.nodes = _needed(graph.nodes, [v.name for v in outputs])
    dims = {}  # what open sizes are called
    for value in inputs:
        for axis, d in enumerate(value.shape):
            if d < 0:
                dims.setdefault(d, f"{value.name}_dim_{axis}")
    described = [[_info(onnx, v, dims) for v in part] for part in (inputs, outputs)]
    body = onnx.helper.make_graph(graph.nodes, name, *described)
    sets = [onnx.helper.make_opsetid("", version)]
    sets += [onnx.helper.make_opsetid(domain, v) for domain, v in graph.domains.items()]
    model = onnx.helper.make_model(body, opset_imports=sets, producer_name="proa", producer_version=_version())
    model.ir_version = onnx.helper.find_min_ir_version_for(sets[:1])
    return model


def _version():
    from proa.version import full_version

    return full_version


def _info(onnx, value, dims):
    sizes = [d if d >= 0 else dims.setdefault(d, f"dim_{len(dims)}") for d in value.shape]
    return onnx.helper.make_tensor_value_info(value.name, element_number(value.dtype), sizes)


def write(model, tensors, path, most_inside=_MOST_INSIDE, check=True):
    """Writes the model, checked by onnx, and tensors that are too large for it to `<path>.data`; each file as a whole.

    Raises:
        OSError: they cannot be written.
    """
    onnx = package()
    path = os.fspath(path)
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    outside = sum(array.nbytes for _, array in tensors.values()) > most_inside
    if not outside:
        model.graph.initializer.extend(tensor_of(name, *tensor) for name, tensor in tensors.items())
        if check:
            onnx.checker.check_model(model, full_check=True)
    else:
        _write_outside(onnx, model, tensors, f"{path}.data")
    with _C.AtomicFile(os.fsencode(path)) as file:
        file.write(model.SerializeToString())
        file.commit()
    if outside and check:
        onnx.checker.check_model(path, full_check=True)


def _write_outside(onnx, model, tensors, path):
    with _C.AtomicFile(os.fsencode(path)) as file:
        at = 0
        for name, (dtype, array) in tensors.items():
            if array.nbytes < 1024:
                model.graph.initializer.append(tensor_of(name, dtype, array))
                continue
            pad = -at % 4096  # as memory is mapped
            file.write(b"\0" * pad)
            file.write(array.tobytes())
            tensor = onnx.TensorProto(name=name, data_type=element_number(dtype), dims=array.shape)
            tensor.data_location = onnx.TensorProto.EXTERNAL
            said = {"location": os.path.basename(path), "offset": at + pad, "length": array.nbytes}
            for key, value in said.items():
                tensor.external_data.add(key=key, value=str(value))
            model.graph.initializer.append(tensor)
            at += pad + array.nbytes
        file.commit()
