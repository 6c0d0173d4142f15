"""References of box codes, pair by pair."""

import numpy as np

from ops.conformance.samples import Sample
from ops.vision.suppression_samples import _boxes

TOLERANCE = {"box_coder": {"float32": (1e-4, 1e-4)}, "box_coder_grad": {"float64": (1e-6, 1e-7)}}


def _measure(prior, more):
    sides = prior[2:] - prior[:2] + more
    return sides, prior[:2] + sides / 2


def _spread(prior_box_var, variance, i):
    return prior_box_var[i] if prior_box_var is not None else np.array(variance or [1.0] * 4)


def reference_box_coder(
    prior_box, prior_box_var, target_box, code_type="encode_center_size", box_normalized=True, axis=0, variance=()
):
    more = 0.0 if box_normalized else 1.0
    encodes = code_type == "encode_center_size"
    out = np.zeros((len(target_box), len(prior_box), 4) if encodes else target_box.shape)
    for n, m in np.ndindex(out.shape[:2]):
        i = m if encodes or axis == 0 else n
        sides, middle = _measure(prior_box[i], more)
        spread = _spread(prior_box_var, variance, i)
        if encodes:
            low, high = target_box[n, :2], target_box[n, 2:]
            code = [((low + high) / 2 - middle) / sides, np.log(np.abs((high - low + more) / sides))]
            out[n, m] = np.concatenate(code) / spread
        else:
            code = target_box[n, m] * spread
            half = np.exp(code[2:]) * sides / 2
            center = code[:2] * sides + middle
            out[n, m] = np.concatenate([center - half, center + half - more])
    return out


def reference_box_coder_grad(
    dy, prior_box, prior_box_var, target_box, code_type="encode_center_size", box_normalized=True, axis=0, variance=()
):
    """By differences."""
    rest = (code_type, box_normalized, axis, variance)
    out = np.zeros(target_box.shape)
    for at in np.ndindex(target_box.shape):
        step = np.zeros(target_box.shape)
        step[at] = 1e-6
        ahead, behind = (reference_box_coder(prior_box, prior_box_var, target_box + s, *rest) for s in (step, -step))
        out[at] = (dy * (ahead - behind)).sum() / 2e-6
    return out


def samples_box_coder():
    rng = np.random.default_rng(7)
    for dtype in ("float32", "float64"):
        for normalized in (True, False):
            for axis, measures in ((0, 3), (1, 2)):
                spread = 0.1 + rng.random((measures, 4)).astype(dtype)
                code = rng.standard_normal((2, 3, 4)).astype(dtype) / 2
                priors = _boxes(rng, measures, dtype=dtype)
                yield Sample((priors, spread, code, "decode_center_size", normalized, axis))
                yield Sample((priors, None, code, "decode_center_size", normalized, axis, [0.1, 0.1, 0.2, 0.2]))
            yield Sample(
                (_boxes(rng, 3, dtype=dtype), None, _boxes(rng, 2, dtype=dtype)), {"box_normalized": normalized}
            )
            spread = 0.1 + rng.random((3, 4)).astype(dtype)
            yield Sample(
                (_boxes(rng, 3, dtype=dtype), spread, _boxes(rng, 2, dtype=dtype)), {"box_normalized": normalized}
            )


def samples_box_coder_grad():
    rng = np.random.default_rng(8)
    for s in samples_box_coder():
        if s.args[2].dtype == np.float64:
            shape = s.args[2].shape if len(s.args) > 3 else (len(s.args[2]), len(s.args[0]), 4)
            yield Sample((rng.standard_normal(shape), *s.args), s.kwargs)
