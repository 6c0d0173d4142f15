"""Predictors of networks that a test makes, and numbers for both."""

import numpy as np

import proa
from proa import inference


def random(shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype("float32")


def randomize(net):
    """Other numbers for all parameters and statistics, so that each matters."""
    rng = np.random.RandomState(0)
    for name, value in net.state_dict().items():
        low = 0.5 if name.endswith("variance") else -0.5
        value.set_value((low + rng.rand(*value.shape)).astype("float32"))


def predictor_of(net, specs, folder, change=lambda config: None):
    """A predictor of `net` as saved in `folder`; `change` has the Config before."""
    net.eval()
    proa.jit.save(net, str(folder / "net"), specs)
    config = inference.Config(str(folder / "net"))
    change(config)
    return inference.create_predictor(config)
