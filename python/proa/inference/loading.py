"""The model that a config names, from its files."""

import glob
import os

from proa import _C
from proa.inference import onnxruntime_engine

__all__ = ["load_module"]


def _files(config):
    """(program or prefix or folder, parameters or None) of a config."""
    prog, params = config._prog, config._params
    if not prog and config._dir:
        if os.path.exists(config._dir + ".pdmodel") or os.path.exists(os.path.join(config._dir, "__model__")):
            return config._dir, None
        found = sorted(glob.glob(os.path.join(glob.escape(config._dir), "*.pdmodel")))
        if len(found) != 1:
            raise _C.located(
                ValueError(
                    f"create_predictor: the folder {config._dir!r} must hold one .pdmodel; it holds {len(found)}"
                )
            )
        prog = found[0]
        params = prog[: -len(".pdmodel")] + ".pdiparams"
    if not prog:
        raise _C.located(ValueError("create_predictor: the config names no model; give Config the files"))
    for path in (prog, params):
        if path and not os.path.exists(path):
            raise _C.located(FileNotFoundError(f"create_predictor: there is no file {path}"))
    return (prog, params) if params else (prog, None)


def load_module(config):
    """What a config names, loaded; without its passes."""
    if config._buffers is not None:
        return _C.parse_program_files(*config._buffers)
    if onnxruntime_engine.is_onnx_file(config._prog or config._dir):
        return onnxruntime_engine.imported_module(config._prog or config._dir)
    prog, params = _files(config)
    return _C.load_program(os.fsencode(prog), None if params is None else os.fsencode(params), config._state["memory"])
