"""What random numbers of the gamma distribution must be."""

import numpy as np
import scipy.stats


def check_standard_gamma(ops):
    """Kolmogorov and Smirnov's distance from the distribution, below and above shape 1."""
    for shape in (0.05, 0.5, 1.0, 1.5, 30.0, 1e5):
        x = ops.standard_gamma(ops.full([20000], shape, "float64"), 5).numpy()
        assert scipy.stats.kstest(x, scipy.stats.gamma(shape).cdf).pvalue > 1e-3, shape
    # Neighbours have nothing in common.
    x = ops.standard_gamma(ops.full([20000], 2.0, "float64"), 5).numpy()
    assert abs(np.corrcoef(x[1:], x[:-1])[0, 1]) < 0.03
    tiny = ops.standard_gamma(ops.full([1000], 1e-4, "float32"), 5).numpy()
    assert (tiny >= np.finfo(np.float32).tiny).all()
