"""Models as files of ONNX: written for other engines, and read from them.

    proa.onnx.export(layer, "model", input_spec=[proa.static.InputSpec([None, 3, 224, 224])])
    net = proa.onnx.load("model.onnx")

Export needs the package onnx, load does not. What an op is there stands beside the op (`ops/<family>/onnx.py`), and what
an operator is here (`ops/<family>/onnx_import.py`); docs/onnx.md.
"""

import os

from proa import _C
from proa.framework.names import missing as _missing

__all__ = ["export", "export_program", "load"]


def export(layer, path, input_spec=None, opset_version=9, **configs):
    """Records `layer` in evaluation mode and writes it to `<path>.onnx`.

    Open sizes (None) of input_spec are open in the file, under names. Results are those of `layer`.

    Args:
        layer (Layer|function): what to export; what `jit.load` and `to_static` give, too.
        path (str): where to; ".onnx" is added unless it ends so. Its folder is made if need be.
        input_spec (list, optional): an InputSpec or an example tensor for each input; may be left out where to_static
            was given one.
        opset_version (int): the least version of ONNX's operator set, from 9 on; a later one is written where the model
            needs it, with a warning unless this is 9.
        configs: `output_spec` (list): the numbers of the results that are written; all by default. `auto_upgrade_opset` (bool): False makes a later version an error.
            `enable_onnx_checker` (bool): True by default. `output_names` (list): what outputs are called. `rules` (dict): functions by op for what has no form in ONNX (`proa.onnx.rule`).
            `external_data` (bool): parameters to `<path>.onnx.data`, as those beyond 2 GB always are.

    Raises:
        ImportError: the package onnx is not installed.
        NotImplementedError: operations that ONNX cannot say; all of them, with the lines that made them.
        ValueError: no input_spec is known, or an unknown version.
        TypeError: unknown configs.

    Examples:
        >>> net = proa.nn.Linear(3, 2)
        >>> proa.onnx.export(net, "/tmp/linear", [proa.static.InputSpec([None, 3], "float32", "x")])  # doctest: +SKIP
    """
    from proa.framework.grad_mode import no_grad
    from proa.jit.saving import recorded

    settings = _Settings("onnx.export", configs)
    with no_grad():
        trace = recorded("onnx.export", layer, input_spec)
    outputs = settings.chosen(trace.outputs[: trace.num_results])
    settings.write(trace.program, trace.input_names, outputs, path, opset_version)


def export_program(path, feed_vars, fetch_vars, program=None, opset_version=9, **configs):
    """Writes the part of a static program that `fetch_vars` depend on, as it runs in a test, to `<path>.onnx`.

    Args:
        path (str): as in `export`.
        feed_vars (Tensor|list), fetch_vars (Tensor|list): inputs and results.
        program (Program, optional): the default main program.
        opset_version (int): as in `export`.
        configs: as in `export`, without `output_spec`.

    Raises:
        ImportError, NotImplementedError, ValueError, TypeError: as `export`.

    Examples:
        >>> main = proa.static.Program()
        >>> with proa.static.program_guard(main):
        ...     x = proa.static.data("x", [None, 3])
        ...     y = x * 2
        >>> proa.onnx.export_program("/tmp/twice", [x], [y], main)  # doctest: +SKIP
    """
    from proa.static.program import default_main_program

    settings = _Settings("onnx.export_program", configs)
    listed = [list(v) if isinstance(v, (list, tuple)) else [v] for v in (feed_vars, fetch_vars)]
    own = (program or default_main_program())._program
    settings.write(own, [t.name for t in listed[0]], listed[1], path, opset_version, for_test=True)


def load(path):
    """Reads a model of ONNX as a layer, which runs, differentiates, trains and can be saved and exported again.

    Initializers of floating dtypes become parameters under their names, statistics of normalizations and large integer
    ones buffers; `net.input_spec` describes the inputs. The file is untrusted: nothing of it is executed, and its
    external data must lie in its folder. Versions 1 to 23 of ONNX's operators are known.

    Args:
        path (str|bytes): the file, or what is in it; external data only with a path.

    Returns:
        Layer: takes the inputs in order or by name; gives the output, or a list where there are several.

    Raises:
        ValueError: the file is damaged, or no model that can run: of operators that are not known all are listed, with
            their nodes.
        OSError: it cannot be read.

    Examples:
        >>> relu = b"\\x08\\x08:\\x18\\n\\x0c\\n\\x01x\\x12\\x01y\\"\\x04ReluZ\\x03\\n\\x01xb\\x03\\n\\x01yB\\x02\\x10\\x11"
        >>> net = proa.onnx.load(relu)  # or the path of a file
        >>> net(proa.to_tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """
    from proa.onnx import importing

    return importing.load(path)


class _Settings:
    """The configs of an export."""

    def __init__(self, name, configs):
        from proa.onnx.opset import package

        self._name = name
        self._outputs = configs.pop("output_spec", None)
        self._rules = configs.pop("rules", None)
        self._raise_opset = configs.pop("auto_upgrade_opset", True)
        self._check = configs.pop("enable_onnx_checker", True)
        self._output_names = configs.pop("output_names", None)
        self._outside = configs.pop("external_data", False)
        if configs:
            raise _C.located(TypeError(f"{name}: unknown configs {sorted(configs)}"))
        package()

    def chosen(self, outputs):
        """The outputs of `output_spec`."""
        if self._outputs is None:
            return outputs
        try:
            return [outputs[i] for i in self._outputs]
        except (IndexError, TypeError):
            raise _C.located(
                ValueError(
                    f"{self._name}: output_spec must hold numbers from 0 to {len(outputs) - 1}, not {self._outputs!r}"
                )
            ) from None

    def write(self, program, inputs, outputs, path, opset_version, for_test=False):
        from proa.onnx import exporting

        names = self._output_names or [f"output_{i}" for i in range(len(outputs))]
        if len(names) != len(outputs):
            raise _C.located(ValueError(f"{self._name}: {len(names)} output_names for {len(outputs)} outputs"))
        model, tensors = exporting.model_of(
            program, inputs, outputs, names, opset_version, self._raise_opset, self._rules, for_test
        )
        path = os.fspath(path)
        limit = {"most_inside": 0} if self._outside else {}
        exporting.write(model, tensors, path if path.endswith(".onnx") else path + ".onnx", check=self._check, **limit)


__getattr__ = _missing(__name__)
