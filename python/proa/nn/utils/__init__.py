"""Tools for parameters and layers."""

from proa.framework.names import missing as _missing
from proa.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_
from proa.nn.utils.reparametrize import remove_weight_norm, spectral_norm, weight_norm
from proa.nn.utils.vector import parameters_to_vector, vector_to_parameters

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "parameters_to_vector",
    "remove_weight_norm",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]

__getattr__ = _missing(__name__)
