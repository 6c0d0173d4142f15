"""The high-level interface: Model, which trains, evaluates and predicts."""

from proa.framework.names import missing as _missing
from proa.hapi.model import Model
from proa.hapi.summary import flops, summary

__all__ = ["Model", "flops", "summary"]

__getattr__ = _missing(__name__)
