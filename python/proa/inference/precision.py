"""Models in other types: `convert_to_mixed_precision`."""

import os

from proa import _C
from proa.amp.auto_cast import auto_cast
from proa.inference.config import Config
from proa.inference.kinds import PrecisionType
from proa.inference.loading import load_module

__all__ = ["convert_to_mixed_precision", "in_precision"]

_DTYPES = {PrecisionType.Half: "float16", PrecisionType.Bfloat16: "bfloat16"}


def in_precision(module, dtype, keep_io_types=True, black_list=None, white_list=None, passes=()):
    """The module, after these passes, with matrix products and convolutions in a 16-bit dtype, the weights converted.

    It is recorded again under autocast: what depends on weights alone is computed now and becomes the new weight.
    """
    program = _C.Program()
    outputs, names = [], module.input_names
    with _C.eager_mode(), auto_cast(True, white_list, black_list, "O1", dtype):
        inputs = []
        for name, (shape, declared) in zip(names, module.input_specs):
            low = not keep_io_types and declared.name == "float32"
            value = program.add_input(name, shape, _C.DType(dtype) if low else declared)
            inputs.append(value.astype("float32") if low else value)
        results = module.with_passes(list(passes)).replay(inputs)
        for value, (_, declared) in zip(results, module.output_specs):
            want = dtype if not keep_io_types and declared.name == "float32" else declared
            outputs.append(value if value.dtype == _C.DType(want) else value.astype(want))
    return program.module(names, outputs, module.output_names)


def convert_to_mixed_precision(
    model_file, params_file, mixed_model_file, mixed_params_file, mixed_precision=PrecisionType.Bfloat16, backend=None,
    keep_io_types=True, black_list=None, white_list=None,
):  # fmt: skip
    """Saves a model again with matrix products and convolutions in a 16-bit type, and weights half as large.

    Args:
        model_file, params_file (str): the model that is there.
        mixed_model_file, mixed_params_file (str): where the new one goes: `<prefix>.pdmodel`, `<prefix>.pdiparams`.
        mixed_precision (PrecisionType): `Half` or `Bfloat16`, which is the fast one on a CPU.
        backend (PlaceType, optional): accepted; the file runs everywhere.
        keep_io_types (bool): float32 inputs and results stay float32; otherwise they become 16-bit ones.
        black_list (set[str], optional): ops that stay in float32.
        white_list (set[str], optional): further ops that compute in the type.

    Raises:
        ValueError: for another precision, an unknown op, or names of the new files that do not belong together.
        FileNotFoundError: the model is not there.

    Examples:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "net")
        >>> proa.jit.save(proa.nn.Linear(2, 3), path, [proa.static.InputSpec([None, 2], "float32", "x")])
        >>> proa.inference.convert_to_mixed_precision(path + ".pdmodel", path + ".pdiparams", path + "_16.pdmodel",
        ...     path + "_16.pdiparams", proa.inference.PrecisionType.Bfloat16, proa.inference.PlaceType.CPU)
        >>> predictor = proa.inference.create_predictor(proa.inference.Config(path + "_16"))
        >>> predictor.run([np.zeros([4, 2], "float32")])[0].dtype.name
        'float32'
        >>> folder.cleanup()
    """
    if mixed_precision not in _DTYPES:
        raise _C.located(
            ValueError(f"convert_to_mixed_precision: mixed_precision must be Half or Bfloat16, not {mixed_precision!r}")
        )
    prefix = os.fspath(mixed_model_file).removesuffix(".pdmodel")
    if os.fspath(mixed_params_file) != prefix + ".pdiparams" or prefix == os.fspath(mixed_model_file):
        raise _C.located(
            ValueError(
                "convert_to_mixed_precision: the new files must be <prefix>.pdmodel and <prefix>.pdiparams, not "
                f"{mixed_model_file!r} and {mixed_params_file!r}"
            )
        )
    module = load_module(Config(model_file, params_file or ""))
    dtype = _DTYPES[mixed_precision]
    in_precision(module, dtype, keep_io_types, black_list, white_list).save(prefix)
