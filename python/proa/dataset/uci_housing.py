"""Prices of houses: readers of (13 floats, price)."""

import numpy as np

from proa import _C
from proa.dataset import common
from proa.framework.names import missing as _missing

__all__ = ["test", "train"]

__getattr__ = _missing(__name__)

URL = "http://paddlemodels.bj.bcebos.com/uci_housing/housing.data"
MD5 = "d4accdce7a25600298819f8e28e8d593"
feature_names = ["CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX", "PTRATIO", "B", "LSTAT"]


def load_data(filename, feature_num=14, ratio=0.8):
    """(rows of training, rows of the test): each feature less its mean, over its range; the price as it is."""
    values = np.loadtxt(filename).reshape(-1)
    if values.size == 0 or values.size % feature_num:
        raise _C.located(
            ValueError(f"uci_housing: {filename} holds {values.size} numbers, no multiple of {feature_num}")
        )
    rows = values.reshape(-1, feature_num)
    features = rows[:, :-1]
    span = features.max(0) - features.min(0)
    rows[:, :-1] = (features - features.mean(0)) / np.where(span == 0, 1.0, span)
    first = int(len(rows) * ratio)
    return rows[:first], rows[first:]


def _reader(part):
    def samples():
        rows = load_data(common.download(URL, "uci_housing", MD5))[part]
        for row in rows:
            yield row[:-1], row[-1:]

    return samples


def train():
    """The first four fifths."""
    return _reader(0)


def test():
    """The last fifth."""
    return _reader(1)
