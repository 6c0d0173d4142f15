"""Eager mode under its old name: layers with the old arguments, schedules, files, `guard`."""

from proa.framework.names import invert as _invert
from proa.framework.names import lazy as _lazy

_HOMES = _invert({
    "proa.nn": "Flatten Layer LayerList ParameterList Sequential",
    "proa.fluid.dygraph.nn": "BatchNorm BilinearTensorProduct Conv2D Conv2DTranspose Conv3D Conv3DTranspose Dropout "
    "Embedding FC GRUUnit GroupNorm InstanceNorm LayerNorm Linear PRelu Pool2D SpectralNorm",
    "proa.fluid.dygraph.base": "disable_dygraph enable_dygraph enabled grad guard no_grad to_variable",
    "proa.fluid.dygraph.checkpoint": "load_dygraph save_dygraph",
    "proa.fluid.dygraph.learning_rate_scheduler": "CosineDecay ExponentialDecay InverseTimeDecay LambdaDecay "
    "LearningRateDecay LinearLrWarmup MultiStepDecay NaturalExpDecay NoamDecay PiecewiseDecay PolynomialDecay "
    "ReduceLROnPlateau StepDecay",
    "proa.fluid.dygraph.parallel": "DataParallel ParallelEnv prepare_context",
    "proa.jit": "ProgramTranslator TracedLayer TranslatedLayer declarative=to_static",
    "proa.fluid.layers": "shape",
    "proa.amp": "AmpScaler=GradScaler amp_guard=auto_cast",
})  # fmt: skip

__all__ = sorted(_HOMES)

__getattr__, __dir__ = _lazy(
    __name__,
    _HOMES,
    ("amp", "base", "checkpoint", "container", "jit", "layer_object_helper", "layers", "learning_rate_scheduler", "nn",
     "parallel", "parallel_helper"),
)  # fmt: skip
