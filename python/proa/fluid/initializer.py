"""Initializers, under their old names and arguments."""

from proa.framework.names import missing as _missing
from proa.nn import initializer as _initializer
from proa.nn.initializer import set_global_initializer

__all__ = [
    "Bilinear", "BilinearInitializer", "Constant", "ConstantInitializer", "Initializer", "MSRA", "MSRAInitializer",
    "Normal", "NormalInitializer", "NumpyArrayInitializer", "TruncatedNormal", "TruncatedNormalInitializer", "Uniform",
    "UniformInitializer", "Xavier", "XavierInitializer", "set_global_initializer",
]  # fmt: skip

__getattr__ = _missing(__name__)

Initializer = _initializer.Initializer
Bilinear = BilinearInitializer = _initializer.Bilinear
NumpyArrayInitializer = _initializer.Assign


class ConstantInitializer(_initializer.Constant):
    """One value."""

    def __init__(self, value=0.0, force_cpu=False):
        super().__init__(value)


class UniformInitializer(_initializer.Uniform):
    """Uniform between low and high; the global generator draws, whatever `seed` is."""

    def __init__(self, low=-1.0, high=1.0, seed=0, diag_num=0, diag_step=0, diag_val=1.0):
        super().__init__(low, high)


class NormalInitializer(_initializer.Normal):
    """Normal of mean `loc` and deviation `scale`."""

    def __init__(self, loc=0.0, scale=1.0, seed=0):
        super().__init__(loc, scale)


class TruncatedNormalInitializer(_initializer.TruncatedNormal):
    """Normal of mean `loc` and deviation `scale`, within two deviations."""

    def __init__(self, loc=0.0, scale=1.0, seed=0):
        super().__init__(loc, scale)


def _chosen(uniform, kinds, **given):
    return kinds[0](**given) if uniform else kinds[1](**given)


class _Either(_initializer.Initializer):
    """An initializer that is one of two, by `uniform`."""

    _kinds: tuple = ()

    def __init__(self, uniform=True, **given):
        self._chosen = _chosen(uniform, self._kinds, **given)

    def make(self, shape, dtype):
        return self._chosen.make(shape, dtype)


class XavierInitializer(_Either):
    """Glorot's, uniform or normal."""

    _kinds = (_initializer.XavierUniform, _initializer.XavierNormal)

    def __init__(self, uniform=True, fan_in=None, fan_out=None, seed=0):
        super().__init__(uniform, fan_in=fan_in, fan_out=fan_out)


class MSRAInitializer(_Either):
    """He's, uniform or normal."""

    _kinds = (_initializer.KaimingUniform, _initializer.KaimingNormal)

    def __init__(self, uniform=True, fan_in=None, seed=0):
        super().__init__(uniform, fan_in=fan_in)


Constant, Uniform, Normal, TruncatedNormal = (
    ConstantInitializer,
    UniformInitializer,
    NormalInitializer,
    TruncatedNormalInitializer,
)
Xavier, MSRA = XavierInitializer, MSRAInitializer
