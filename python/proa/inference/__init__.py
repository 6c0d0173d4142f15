"""Running saved models: `Config` says which and how, `create_predictor` loads it, handles carry arrays in and out.

Examples:
    >>> proa.jit.save(proa.nn.Linear(3, 2), "/tmp/inference_example/net", [proa.static.InputSpec([None, 3], "float32", "x")])
    >>> config = proa.inference.Config("/tmp/inference_example/net.pdmodel", "/tmp/inference_example/net.pdiparams")
    >>> predictor = proa.inference.create_predictor(config)
    >>> predictor.get_input_handle(predictor.get_input_names()[0]).copy_from_cpu(np.ones([4, 3], "float32"))
    >>> predictor.run()
    True
    >>> predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu().shape
    (4, 2)
"""

from proa.framework.names import missing as _missing
from proa.inference.config import Config, PassBuilder
from proa.inference.kinds import DataType, PlaceType, PrecisionType, get_num_bytes_of_data_type
from proa.inference.precision import convert_to_mixed_precision
from proa.inference.predictor import Predictor, PredictorPool, Tensor, create_predictor


def get_version():
    """The version of the package, as text.

    Examples:
        >>> proa.inference.get_version().startswith("version: ")
        True
    """
    from proa import version

    return f"version: {version.full_version}\ncommit: {version.commit}\n"


def get_trt_compile_version():
    """The version of TensorRT that was built in: none.

    Examples:
        >>> proa.inference.get_trt_compile_version()
        (0, 0, 0)
    """
    return (0, 0, 0)


get_trt_runtime_version = get_trt_compile_version

__all__ = [
    "Config", "DataType", "PassBuilder", "PlaceType", "PrecisionType", "Predictor", "PredictorPool", "Tensor",
    "convert_to_mixed_precision", "create_predictor", "get_num_bytes_of_data_type", "get_trt_compile_version", "get_trt_runtime_version", "get_version",
]  # fmt: skip

__getattr__ = _missing(__name__)
