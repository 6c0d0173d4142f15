"""See proa.ParamAttr."""

from proa.framework.names import missing as _missing
from proa.framework.parameter import ParamAttr
from proa.static.parameters import WeightNormParamAttr

__all__ = ["ParamAttr", "WeightNormParamAttr"]

__getattr__ = _missing(__name__)
