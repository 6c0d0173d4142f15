"""Programs as they were built, in PaddlePaddle's format: the `.pdmodel` of `static.save`. They are run and trained on."""

from proa import _C
from proa.static import scope as scopes
from proa.static.binding import copied
from proa.static.block import is_parameter
from proa.static.parameters import hold
from proa.static.program import Program

__all__ = ["read", "written"]


class WholeProgram(Program):
    """A program from such a file: it knows its values by the names that the file gives them."""

    def __init__(self, recorded, results):
        super().__init__()
        self._program, self._results = recorded, results

    def var(self, name):
        found = self._results.get(name) if isinstance(name, str) else None
        return super().var(name) if found is None or name in self.vars else found

    _find_var_recursive = var


def read(data):
    """The program of these bytes. Its parameters are those of their names in the scope of now; else zeros, until `static.load`.
    None for a model for inference.

    Raises:
        ValueError: they are no program.
        NotImplementedError: it has ops that are not known; the message lists all of them with their attributes.
    """
    held = scopes.global_scope()._tensors
    try:
        found = _C.parse_whole_program(data, dict(held))
    except UnicodeDecodeError as error:
        raise _C.located(ValueError(f"deserialize_program: a name in the program is no text: {error}")) from error
    if found is None:
        return None
    recorded, results, trainable = found
    program = WholeProgram(recorded, {name: tensor for name, tensor in results if _C.is_symbolic(tensor)})
    for name in recorded.input_names:
        tensor = program._results.get(name)
        program._inputs[name] = recorded.find(name) if tensor is None else tensor
        program._inputs[name].name = name
        program._declared[name] = [max(size, -1) for size in program._inputs[name].shape], program._inputs[name].dtype
    for name, tensor in recorded.captured:
        if not name:
            continue
        if held.get(name) is not tensor:
            tensor.name, tensor.persistable, tensor.stop_gradient = name, True, name not in trainable
            hold(name, tensor)
        program._made[name] = tensor
    return program


def written(what, program):
    """The bytes of a program as it was built.

    Raises:
        NotImplementedError: operations that the format cannot say, with the lines that made them.
    """
    from proa.jit import reference

    number = lambda tensor: recorded.value_number(program.current(tensor))
    for _, _, loss, _ in program._backwards:
        loss.name  # noqa: B018 (a value gets its name when it is asked for; by it the file gives it)
    recorded = copied(program._program, scopes.global_scope())
    sections = [
        (start, end, number(loss), [(program._program.value_number(p), number(grad)) for p, grad in pairs])
        for start, end, loss, pairs in program._backwards
    ]
    parameters = {name: not t.stop_gradient for name, t in recorded.captured if name and is_parameter(t)}
    return reference.whole_model_of(what, recorded, sections, parameters)
