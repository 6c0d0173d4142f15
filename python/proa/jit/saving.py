"""jit.save, jit.load and what load gives: models that run without their Python code."""

import contextlib
import inspect
import json
import os
import warnings

from proa import _C
from proa.autograd.py_layer import noting_layers
from proa.framework.once import changing
from proa.framework.parameter import Parameter
from proa.jit import aliases, context, save_hooks
from proa.jit.dy2static import tracebacks
from proa.jit.input_spec import InputSpec
from proa.jit.left_out import warn_of_left_out
from proa.jit.static_function import StaticFunction
from proa.jit.tracing import Trace, in_mode
from proa.nn import Layer


def save(layer, path, input_spec=None, format="proa", **configs):
    """Records `layer` with its hooks in evaluation mode and writes it for `jit.load` and the inference library.

    A layer that does something else in training (dropout, statistics of the batch, results of its own) is recorded in training,
    too, and what is loaded does that after `train()`. Where it cannot be called so with these inputs (it wants labels then), what is
    loaded is in training as in evaluation, and its first call in training warns with the reason.

    What the model remembers from call to call (a buffer that forward changes and reads) it remembers
    when it is loaded, too. Random numbers are drawn anew in each call.

    Writes `<path>.pdmodel` (the program) and `<path>.pdiparams` (parameters and buffers), with
    checksums and as one: who loads them, and whatever happens to this process, finds the old model
    or the new one. `<path>.pdiparams.info` names the parameters, those that are not trained, such as statistics, and the methods.

    Other methods of a layer that `to_static` converted, and whose specs are known (the decorator had them, or the method
    was called), are saved too, each as `<path>.<method>.pdmodel` with parameters of its own; what is loaded has them as
    methods, over one set of parameters.

    What the function asserts and prints of tensors is part of the file; what it raises by a tensor is an AssertionError of
    what is loaded. A `print` to a file stays behind, with a warning. A function whose results are of another kind by a tensor (None,
    more tensors, another dtype, a text or number) gives those of the run when it is loaded; predictors give the tensors of all kinds,
    named `output_0@2` for the first of kind 2, and the number of the one that holds, `output@WHICH`.

    Args:
        layer (Layer|function): what to save; a function may be decorated by to_static.
        path (str): prefix of the files; its folder is made if need be.
        input_spec (list, optional): an InputSpec or an example tensor for each input, nested as the inputs are;
            numbers, texts and None stand for themselves. May be left out if to_static was given one, or if the
            converted function was called: then the sizes of its last recording are saved. It is that of `forward`.
        output_spec (list, optional): the results that are saved, items of the `outputs` of the converted function, which was
            called; all of them.
        format (str, optional): "proa", or "paddle" for files that PaddlePaddle reads: the forward alone, of ops that
            it has, without the memory of buffers that forward changes.

    Raises:
        ValueError: no input_spec is known, an unknown format, or a path without a name.
        NotImplementedError: operations that PaddlePaddle's format cannot say: all of them, with the lines that made
            them; then nothing is written.
        RuntimeError: the function changes a parameter that it uses by a `detach()` or view that is no part of the program, too.
        OSError: the files cannot be written, with errno and the path.

    Examples:
        >>> net = proa.nn.Linear(3, 2)
        >>> proa.jit.save(net, "/tmp/linear", [proa.static.InputSpec([None, 3], "float32", "x")])
        >>> proa.jit.save(net, "/tmp/for_paddle", [proa.static.InputSpec([None, 3])], format="paddle")
    """
    from proa.jit import reference

    reference.check_format("jit.save", format)
    save_hooks.run(layer, input_spec, configs)
    owner = _owner(layer)
    path = os.fspath(path)
    if not os.path.basename(path):
        raise _C.located(
            ValueError(f"jit.save: path must be a prefix of file names, folder/name, not the folder {path!r}")
        )
    methods = _methods(layer) if isinstance(layer, Layer) else {}
    traces, trained, as_in_tests, constants = {}, {}, {}, {}
    targets = {"forward": (layer, input_spec, path), **{n: (m, None, f"{path}.{n}") for n, m in methods.items()}}
    for name, (target, spec, prefix) in targets.items():
        trace = traces[prefix] = recorded("jit.save", target, spec, "proa" if format == "proa" else "foreign")
        trained[prefix], why = _in_training(target, spec, trace) if format == "proa" else (None, None)
        if target is layer and configs.get("output_spec") is not None:
            chosen = _chosen(layer, configs["output_spec"])
            if not _leave(chosen, trace):
                raise _C.located(
                    ValueError("jit.save: output_spec has a result that the function does not give in a test")
                )
            if trained[prefix] is not None and not _leave(chosen, trained[prefix]):
                trained[prefix], why = None, "in training it does not give the results that output_spec names"
        if why is not None:
            as_in_tests[name] = f"{type(owner).__name__}: {why}"
        found = [t.constant_results for t in (trace, trained[prefix] or trace)]
        if any(found):
            constants[name] = found
        if trace.checks:
            warnings.warn(
                f"jit.save: what the function prints to a file is not saved; what is loaded from {prefix} does not",
                stacklevel=2,
            )
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    parameters = dict(owner.named_parameters()) if owner is not None else {}
    trainable = [name for name, p in parameters.items() if not p.stop_gradient]
    fixed = [name for name, p in parameters.items() if p.stop_gradient]
    for prefix, trace in traces.items():
        _write(prefix, trace, trained[prefix], format, trainable)
    if format == "proa":
        with _C.AtomicFile(os.fsencode(f"{path}.pdiparams.info")) as file:
            notes = {"trainable": trainable, "fixed": fixed, "methods": list(methods)}
            notes |= {"as_in_tests": as_in_tests, "constants": constants}
            file.write(json.dumps(notes).encode())
            file.commit()


def _in_training(layer, input_spec, trace):
    """(Trace of what it does in training, None); (None, None) where that is what it does in a test (`trace`), or (None, why) where
    it cannot be recorded."""
    if not trace.uses.modes:
        return None, None
    try:
        trained = recorded("jit.save", layer, input_spec, "proa", training=True)
    except Exception as error:  # it may want labels then
        line = tracebacks.innermost(error)
        text = (str(error).strip() or "no message").splitlines()[0][:500]
        return None, f"{type(error).__name__}{f' at {line}' if line else ''}: {text}"
    same = str(trained.program) == str(trace.program) and trained.constant_results == trace.constant_results
    return (None if same else trained), None


def _chosen(layer, output_spec):
    """Which of the results of the recording that was used last `output_spec` names."""
    function = layer.forward if isinstance(layer, Layer) else layer
    if not isinstance(function, StaticFunction):
        raise _C.located(
            ValueError("jit.save: output_spec names results of a converted function; give those of its `outputs`")
        )
    recorded, chosen = function.last_trace(), []
    for tensor in output_spec if isinstance(output_spec, (list, tuple)) else [output_spec]:
        place = recorded.place_of(tensor)
        if place is None:
            raise _C.located(
                ValueError(
                    f"jit.save: output_spec has a {type(tensor).__name__} that is no result of the function; give items of its "
                    f"`outputs`, of which there are {recorded.num_results}"
                )
            )
        chosen.append(place)
    return chosen


def _leave(chosen, trace):
    """Leaves some results of a recording; says whether it has all of them."""
    if max(chosen, default=0) >= trace.num_results:
        return False
    trace.outputs = [trace.outputs[i] for i in chosen] + trace.outputs[trace.num_results :]
    trace.num_results = len(chosen)
    return True


def _methods(layer):
    """The converted methods of a layer besides forward that can be recorded, by name."""
    found = {}
    for name in dir(layer):
        if name != "forward" and isinstance(inspect.getattr_static(layer, name, None), StaticFunction):
            method = getattr(layer, name)
            if method.known_specs() is not None:
                found[name] = method
    return found


def _write(path, trace, trained, format, trainable):
    outputs = trace.outputs[: trace.num_results]
    if format == "paddle":
        from proa.jit import reference

        reference.save("jit.save", path, trace.program, trace.input_names, outputs, trainable)
        return
    _C.save_program(
        os.fsencode(path),
        trace.program,
        trace.input_names,
        outputs,
        _names(trace),
        trainable=trainable,
        keep_state=True,
        context=context.settings(training=False),
        training=_module_of(trained),
    )


def _module_of(trace):
    if trace is None:
        return None
    return trace.program.module(trace.input_names, trace.outputs[: trace.num_results], _names(trace))


def _names(trace):
    """What the results are called; by their places where output_spec chose some."""
    names = trace.result_names
    return names if len(names) == trace.num_results else [f"output_{i}" for i in range(trace.num_results)]


def _owner(layer):
    return layer if isinstance(layer, Layer) else getattr(layer, "_layer", None)


def recorded(what, layer, input_spec, file="foreign", training=False):
    """The Trace of a layer or function in evaluation mode (or in `training`), as `jit.save` and others (`what`) write it; `file`: see Trace.
    A warning says what a file of other tools cannot hold."""
    owner = _owner(layer)
    function = layer.forward if isinstance(layer, Layer) else layer
    if isinstance(function, StaticFunction):
        input_spec = input_spec if input_spec is not None else function.known_specs()
        function = function.dygraph_function
    if input_spec is None:
        raise _C.located(
            ValueError(
                f"{what}: input_spec is missing; give an InputSpec or an example tensor for each input, or call the "
                "converted function first"
            )
        )
    if isinstance(layer, Layer):
        function = layer  # not forward alone: its hooks are part of the model
    specs = [_as_spec(what, spec) for spec in input_spec]
    with _C.eager_mode(), in_mode(owner, training) if owner is not None else contextlib.nullcontext():
        trace = _trace(what, function, specs, owner, file)
    if file == "proa":
        aliases.refuse(what, trace)
    warn_of_left_out(what, trace.left_out, stacklevel=4)
    return trace


def _trace(what, function, specs, owner, file):
    """The forward, which leads gradients where the function does if that can be recorded."""
    trace, layers = None, []
    if _C.is_grad_enabled():
        with noting_layers() as layers, contextlib.suppress(Exception):  # what has no gradient may have a forward
            trace = Trace(function, specs, owner, follow=True, file=file)
    if trace is None:
        if layers:
            raise _C.located(
                RuntimeError(
                    f"{what}: {layers[0].__name__}, a PyLayer, does what a program cannot hold; "
                    "save under no_grad for a program without its backward"
                )
            )
        with _NoGrad():
            trace = Trace(function, specs, owner, file=file)
    if not trace.num_results:
        raise _C.located(TypeError(f"{what}: the recorded function gives no tensors"))
    return trace


def _as_spec(what, spec):
    if isinstance(spec, InputSpec):
        return spec
    if isinstance(spec, _C.Tensor):
        return InputSpec(spec.shape, spec.dtype)
    if isinstance(spec, (list, tuple)):
        items = [_as_spec(what, s) for s in spec]
        return type(spec)(*items) if hasattr(spec, "_fields") else type(spec)(items)
    if isinstance(spec, dict):
        return {key: _as_spec(what, s) for key, s in spec.items()}
    if spec is None or isinstance(spec, (bool, int, float, str)):
        return spec
    raise _C.located(
        TypeError(f"{what}: input_spec holds InputSpec, Tensor, numbers or texts, not {type(spec).__name__}")
    )


class _NoGrad:
    """No gradients: the program of a saved model is the forward only."""

    def __enter__(self):
        self._before = _C.set_grad_enabled(False)

    def __exit__(self, *unused):
        _C.set_grad_enabled(self._before)


def _trainable(path, module):
    """Names of the parameters; models of 0.1 have them in a file of their own."""
    if module.trainable is not None:
        return set(module.trainable)
    try:
        return {str(name) for name in _info(path)["trainable"]}
    except FileNotFoundError:
        return set()
    except (ValueError, KeyError, TypeError) as e:
        raise _C.located(ValueError(f"{path}.pdiparams.info: {e}")) from None


def _info(path):
    """What `<path>.pdiparams.info` says of a model."""
    from proa.framework import container

    with container.open_regular(f"{path}.pdiparams.info") as f:
        return json.loads(f.read().decode())


def _listed(path, what):
    """A list of names in `<path>.pdiparams.info`; None where it is another's: PaddlePaddle writes a pickle, or nothing."""
    try:
        return [name for name in _info(path).get(what, []) if isinstance(name, str)]
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return None


def _notes(path):
    """What jit.save noted of methods, by their names: {"as_in_tests": why a method does in training what it does in a test,
    "constants": (values without tensors by the numbers of their kinds, those in training)}."""
    try:
        info = _info(path)
        why = {name: text for name, text in info.get("as_in_tests", {}).items() if isinstance(text, str)}
        numbered = lambda found: {int(kind): value for kind, value in found.items()}
        constants = {name: (numbered(a), numbered(b)) for name, (a, b) in info.get("constants", {}).items()}
        return {"as_in_tests": why, "constants": constants}
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return {}


def _fixed(path):
    """Names of the parameters that are not trained, statistics among them; PaddlePaddle's pickle says it in its own way."""
    named = _listed(path, "fixed")
    if named is not None:
        return set(named)
    from proa.framework import serialization

    try:
        notes = serialization.load(f"{path}.pdiparams.info")
    except (OSError, ValueError, RuntimeError):
        return set()
    if not isinstance(notes, dict):
        return set()
    return {name for name, note in notes.items() if isinstance(note, dict) and note.get("trainable") is False}


def _methods_of(path):
    """Names of the methods that stand beside `forward`: as the file says; PaddlePaddle's files say it by their names."""
    named = _listed(path, "methods")
    if named is None:
        folder, start = os.path.dirname(path) or ".", os.path.basename(path) + "."
        files = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        named = [f[len(start) : -len(".pdmodel")] for f in files if f.startswith(start) and f.endswith(".pdmodel")]
        named = [name for name in named if os.path.exists(f"{path}.{name}.pdiparams")]
    return [name for name in named if name.isidentifier() and name != "forward"]


def _items(value):
    """What nested lists, tuples and dicts hold, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [item for part in value for item in _items(part)]
    return [value]


class TranslatedLayer(Layer):
    """A layer that runs a loaded program; its parameters can be trained further. `jit.load` makes it.

    It begins in evaluation mode. After `train()` it does what the layer that was saved did in training; a file that does not
    say what that is (of an older release, of a function) runs as in a test. Where the layer could not be recorded in training, as one
    that wants labels then, the first call in training warns: it names the layer and says why.

    Args:
        programs (dict): what each method runs; there is "forward".
        persistable_vars (dict): the tensors that the program captures, by name: parameters, and buffers.
        notes (dict, optional): what the file notes of methods besides.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "net")
        >>> proa.jit.save(proa.nn.Linear(2, 3), path, [proa.static.InputSpec([None, 2], "float32", "x")])
        >>> net = proa.jit.load(path)
        >>> isinstance(net, proa.jit.TranslatedLayer), net(proa.ones([4, 2])).shape, len(net.parameters())
        (True, [4, 3], 2)
        >>> folder.cleanup()
    """

    def __init__(self, programs, persistable_vars, notes=None):
        super().__init__()
        self._as_in_tests = dict((notes or {}).get("as_in_tests", {}))
        self._constants = (notes or {}).get("constants", {})
        self._module = programs["forward"]
        self._methods = {name: module for name, module in programs.items() if name != "forward"}
        self._trained = {name: module.training for name, module in programs.items()}
        self.training = False
        for name, tensor in persistable_vars.items():
            key = self._free_name(name.replace(".", "_"))
            if isinstance(tensor, Parameter):
                self.add_parameter(key, tensor)
            else:
                self.register_buffer(key, tensor)

    def _free_name(self, name):
        """`name`, or with a number behind it if it is taken: `a.b` and `a_b` are two parameters."""
        key, count = name, 0
        while key in self.__dict__ or hasattr(type(self), key):
            count += 1
            key = f"{name}_{count}"
        return key

    def forward(self, *inputs):
        """What was saved, called with its inputs: tensors, or what becomes one; the items of lists, tuples and dicts in order."""
        return self._called("forward", inputs)

    def _called(self, method, inputs):
        module = self._trained[method] if self.training else None
        if self.training and method in self._as_in_tests:
            warnings.warn(
                f"jit.load: {method} runs in training as in a test, for it could not be recorded in training when it was saved. "
                f"{self._as_in_tests.pop(method)}",
                stacklevel=4 if method == "forward" else 3,
            )
        if module is None:
            module = self._module if method == "forward" else self._methods[method]
        tensors = [_C.tensor_argument(x, method, "inputs") for x in _items(inputs)]
        results = changing(lambda: module.changed, lambda: module.call(tensors))
        names = module.output_names
        if any("@LENGTHS" in name for name in names):  # those of sequences, which an Executor gives with them
            results = [t for t, name in zip(results, names, strict=True) if "@LENGTHS" not in name]
        if names[0] == "output@WHICH":
            kind = int(results[0])
            results = [t for t, name in zip(results, names, strict=True) if name.endswith(f"@{kind}")]
            if not results:
                return self._constants.get(method, ({}, {}))[self.training].get(kind)
        return results[0] if len(results) == 1 else results

    def __getattr__(self, name):
        if name in self.__dict__.get("_methods", {}):
            return lambda *inputs: self._called(name, inputs)
        return super().__getattr__(name)

    def __dir__(self):
        return [*super().__dir__(), *self._methods]

    def program(self, method_name="forward"):
        """The program that a method runs, a `static.Program`: an Executor runs it, and its text is str(program).

        Raises:
            ValueError: there is no method of that name.
        """
        modules = {"forward": self._module, **self._methods}
        if method_name not in modules:
            there = ", ".join(map(repr, modules))
            raise _C.located(ValueError(f"TranslatedLayer.program: there is {there}, but no {method_name!r}"))
        from proa.static.executor import LoadedProgram

        return LoadedProgram(modules[method_name])


def _persistable(module, trainable, fixed, found):
    """Adds the captured tensors by name to `found`; those of the `trainable` and `fixed` names as parameters, in the program too.
    Methods share the tensors of one name: those that were found first."""
    for name, tensor in module.captured:
        if not name:
            continue
        if name in found:
            module.set_captured(name, found[name])
            continue
        if name in trainable or name in fixed:
            tensor = Parameter(tensor, name, name in trainable)
            module.set_captured(name, tensor)  # gradients are those of the layer's parameter
        found[name] = tensor


def load(path, **configs):
    """Loads what `jit.save` wrote, here or in PaddlePaddle 2.x (`docs/programs.md` lists the ops that its programs may have).

    Args:
        path (str): the prefix given to save; or a folder with `__model__`, as PaddlePaddle 1.x wrote it.

    Raises:
        NotImplementedError: a program of PaddlePaddle has ops that are not known; the message lists all of them.
        FileNotFoundError: there is no such model.
        ValueError, RuntimeError: the files are truncated, altered or of a newer version, or no regular files;
            the message says which file and what.

    Examples:
        >>> import os, tempfile
        >>> prefix = os.path.join(tempfile.mkdtemp(), "linear")
        >>> proa.jit.save(proa.nn.Linear(3, 2), prefix, [proa.static.InputSpec([None, 3], "float32")])
        >>> net = proa.jit.load(prefix)
        >>> net(proa.ones([4, 3])).shape
        [4, 2]
    """
    path = os.fspath(path)
    programs, tensors, fixed = {}, {}, _fixed(path)
    for name in ["forward", *_methods_of(path)]:
        prefix = path if name == "forward" else f"{path}.{name}"
        module = programs[name] = _C.load_program(os.fsencode(prefix), with_training=True)
        trainable = _trainable(prefix, module)
        _persistable(module, trainable, fixed, tensors)
        if module.training is not None:
            _persistable(module.training, trainable, fixed, tensors)
    return TranslatedLayer(programs, tensors, _notes(path))
