"""Models in the format of PaddlePaddle 2.x: `<prefix>.pdmodel`, a ProgramDesc, and `<prefix>.pdiparams`, tensors in a row.

`jit.save(layer, path, input_spec, format="paddle")` and `static.save_inference_model(..., format="paddle")` write it;
`docs/programs.md` says what it can hold. The reader is `jit/reference`, in C++.
"""

import os

from proa import _C
from proa.jit.left_out import warn_of_left_out
from proa.jit.reference import wire
from proa.jit.reference.convert import Converter, WholeConverter
from proa.jit.reference.graph import Graph, WholeGraph

__all__ = ["FORMATS", "check_format", "model_of", "save", "whole_model_of"]

FORMATS = ("proa", "paddle")
# What the files say that wrote them.
_VERSION = 2_003_000


def check_format(what, wanted):
    """`wanted`, one of FORMATS.

    Raises:
        ValueError: it is none; `what` is whose argument.
    """
    if wanted not in FORMATS:
        raise _C.located(ValueError(f"{what}: format must be 'proa' or 'paddle', not {wanted!r}"))
    return wanted


def model_of(what, program, input_names, outputs, trainable=(), for_test=False):
    """The bytes of a program, and its persistable tensors by name as (dtype, array).

    Raises:
        NotImplementedError: operations that the format cannot say; the message has all of them, with the lines that
            made them.
    """
    graph = Graph()
    converter = Converter(program, outputs, graph, trainable, for_test)
    converter.run(input_names)
    _refuse(what, converter.problems)
    warn_of_left_out(what, converter.left_out, stacklevel=5)
    return wire.program(graph.blocks, _VERSION), graph.tensors


def whole_model_of(what, program, sections, parameters):
    """The bytes of a program as it was built; see WholeConverter for the arguments.

    Raises:
        NotImplementedError: as `model_of`.
    """
    converter = WholeConverter(program, sections, WholeGraph(), parameters)
    converter.run()
    _refuse(what, converter.problems)
    warn_of_left_out(what, converter.left_out, stacklevel=5)
    # Constants are lists of one type, as releases before 2.5 wrote and later ones still read them.
    versions = {kind: version for kind, version in _C.reference_op_versions().items() if kind != "assign_value"}
    return wire.program(converter.graph.blocks, _VERSION, versions)


def _refuse(what, problems):
    if problems:
        lines = "\n".join(f"  {problem}" for problem in problems)
        count = len(problems)
        raise _C.located(
            NotImplementedError(
                f"{what}: {count} operation{'s have' if count > 1 else ' has'} no form in PaddlePaddle's format:\n{lines}"
            )
        )


def save(what, path, program, input_names, outputs, trainable=(), for_test=False):
    """Writes `<path>.pdmodel` and `<path>.pdiparams`, each as a whole, and nothing if the format cannot hold the program.

    Raises:
        NotImplementedError: as `model_of`.
        OSError: they cannot be written.
    """
    model, tensors = model_of(what, program, input_names, outputs, trainable, for_test)
    with (
        _C.AtomicFile(os.fsencode(f"{path}.pdiparams")) as parameters,
        _C.AtomicFile(os.fsencode(f"{path}.pdmodel")) as file,
    ):
        for name in sorted(tensors, key=str.encode):
            dtype, array = tensors[name]
            parameters.write(wire.tensor_head(dtype, array.shape) + array.tobytes())
        file.write(model)
        parameters.commit()
        file.commit()
