"""Models in other types: `convert_to_mixed_precision`."""

import os

from proa import _C
from proa.inference.config import Config
from proa.inference.kinds import PrecisionType
from proa.inference.loading import load_module

__all__ = ["convert_to_mixed_precision", "low_precision"]

_DTYPES = {PrecisionType.Half: "float16", PrecisionType.Bfloat16: "bfloat16"}


def low_precision(dtype, keep_io_types=True, black_list=None, white_list=None, only=None):
    """The settings of a compilation in a 16-bit dtype.

    Args:
        only (set[str], optional): of the ops that compute in the dtype, these alone, by any of their names.
    """
    white, black = (sorted(set(names or ())) for names in (white_list, black_list))
    if only:
        black = sorted({*black, *_C.ops_beside([*only, *white])})
    return _C.LowPrecision(_C.DType(dtype), bool(keep_io_types), white, black)


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
    low = low_precision(dtype, keep_io_types, black_list, white_list)
    with _C.eager_mode():
        _C.in_precision(module, low).save(prefix)
