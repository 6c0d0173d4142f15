"""Decoding step by step; see proa.nn.decode."""

from proa.framework.names import missing as _missing
from proa.nn.decode import BeamSearchDecoder, Decoder, dynamic_decode

__all__ = ["BeamSearchDecoder", "Decoder", "dynamic_decode"]

__getattr__ = _missing(__name__)
