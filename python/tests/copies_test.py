"""What a program makes can be copied and pickled, for processes and checkpoints: the copy is of the same class and goes on alike."""

import copy
import pickle
import random

import numpy as np
import pytest

import proa
from proa import nn
from proa.framework.nested import flatten
from proa.optimizer import lr

_X = np.random.RandomState(0).randn(5, 4).astype("float32")


class _Data(proa.io.Dataset):
    def __getitem__(self, i):
        return _X[i]

    def __len__(self):
        return len(_X)


def _halved(epoch):
    return 0.5**epoch


def _results(layer):
    return [t.numpy() for t in flatten(layer.eval()(proa.to_tensor(_X).reshape([5, 2, 2])))]


def _rates(schedule):
    metric = isinstance(schedule, lr.ReduceOnPlateau)
    out = []
    for _ in range(6):
        schedule.step(1.0) if metric else schedule.step()
        out.append(schedule())
    return out


def _drawn(draw):
    proa.seed(4)
    np.random.seed(4)
    random.seed(4)
    return draw()


def _numbers(thing):
    """What the numbers, texts and arrays in a thing are."""
    return {key: value for key, value in vars(thing).items() if isinstance(value, (int, float, str, tuple, type(None)))}


_SCHEDULES = {
    "NoamDecay": lambda: lr.NoamDecay(64, 4),
    "PiecewiseDecay": lambda: lr.PiecewiseDecay([2, 5], [0.1, 0.05, 0.01]),
    "NaturalExpDecay": lambda: lr.NaturalExpDecay(0.1, 0.1),
    "InverseTimeDecay": lambda: lr.InverseTimeDecay(0.1, 0.1),
    "PolynomialDecay": lambda: lr.PolynomialDecay(0.1, 4),
    "LinearWarmup": lambda: lr.LinearWarmup(lr.StepDecay(0.1, 2), 3, 0.0, 0.1),
    "ExponentialDecay": lambda: lr.ExponentialDecay(0.1, 0.9),
    "MultiStepDecay": lambda: lr.MultiStepDecay(0.1, [2, 5]),
    "StepDecay": lambda: lr.StepDecay(0.1, 2),
    "LambdaDecay": lambda: lr.LambdaDecay(0.1, _halved),
    "ReduceOnPlateau": lambda: lr.ReduceOnPlateau(0.1, patience=1),
    "CosineAnnealingDecay": lambda: lr.CosineAnnealingDecay(0.1, 4),
    "MultiplicativeDecay": lambda: lr.MultiplicativeDecay(0.1, _halved),
    "OneCycleLR": lambda: lr.OneCycleLR(0.1, 10),
    "CyclicLR": lambda: lr.CyclicLR(0.1, 0.2, 3),
}
_IMAGE = (np.arange(300).reshape(10, 10, 3) % 251).astype("uint8")
_LABELS = np.array([[1], [0], [1], [2], [3]])
# What makes a thing, and what is seen of it.
_THINGS = {
    **{f"lr.{name}": (make, _rates) for name, make in _SCHEDULES.items()},
    "Place": (lambda: proa._C.Place("cpu"), repr),
    "CPUPlace": (proa.CPUPlace, lambda p: (repr(p), p == proa.CPUPlace())),
    "CUDAPlace": (lambda: proa.CUDAPlace(1), lambda p: (repr(p), p.get_device_id())),
    "CUDAPinnedPlace": (proa.CUDAPinnedPlace, repr),
    "dtype": (lambda: proa.float32, repr),
    "ParamAttr": (lambda: proa.ParamAttr("w", learning_rate=0.5, regularizer=proa.regularizer.L2Decay(0.1)), _numbers),
    "L1Decay": (lambda: proa.regularizer.L1Decay(0.1), _numbers),
    "InputSpec": (lambda: proa.static.InputSpec([None, 2], "float32", "x"), repr),
    "ClipGradByNorm": (lambda: nn.ClipGradByNorm(0.5), _numbers),
    "GradScaler": (lambda: proa.amp.GradScaler(init_loss_scaling=64.0), lambda s: s.state_dict()),
    "EarlyStopping": (
        lambda: proa.callbacks.EarlyStopping("acc", min_delta=0.1, verbose=0, save_best_model=False),
        lambda c: (_numbers(c), c._better(1.0, 0.5), c._better(1.0, 0.95)),
    ),
    "ReduceLROnPlateau": (
        lambda: proa.callbacks.ReduceLROnPlateau("loss"),
        lambda c: (_numbers(c), c._better(0.5, 1.0)),
    ),
    "ModelCheckpoint": (lambda: proa.callbacks.ModelCheckpoint(2, "x"), _numbers),
    "LRScheduler of callbacks": (lambda: proa.callbacks.LRScheduler(by_step=False, by_epoch=True), _numbers),
    "ProgBarLogger": (lambda: proa.callbacks.ProgBarLogger(3), _numbers),
    "Accuracy": (
        lambda: proa.metric.Accuracy((1, 2)),
        lambda m: (m.update(m.compute(proa.to_tensor(_X), proa.to_tensor(_LABELS))), m.name()),
    ),
    "Auc": (
        lambda: proa.metric.Auc(num_thresholds=7),
        lambda m: (m.update(np.abs(_X[:, :2]) % 1, _LABELS % 2), m.accumulate()),
    ),
    "Precision": (proa.metric.Precision, lambda m: (m.update(_X[:, 0], _LABELS % 2), m.accumulate())),
    "Recall": (proa.metric.Recall, lambda m: (m.update(_X[:, 0], _LABELS % 2), m.accumulate())),
    "DataLoader": (
        lambda: proa.io.DataLoader(_Data(), batch_size=2, shuffle=True),
        lambda d: _drawn(lambda: [b[0].tolist() for b in d]),
    ),
    "BatchSampler": (
        lambda: proa.io.BatchSampler(_Data(), shuffle=True, batch_size=2),
        lambda d: _drawn(lambda: list(d)),
    ),
    "TensorDataset": (lambda: proa.io.TensorDataset([proa.to_tensor(_X)]), lambda d: d[1][0].tolist()),
    "Subset": (lambda: proa.io.Subset(_Data(), [3, 1]), lambda d: [x.tolist() for x in d]),
    "Normal": (lambda: proa.distribution.Normal(proa.ones([2]), 2.0), lambda d: _drawn(lambda: d.sample([3]).tolist())),
    "Categorical": (
        lambda: proa.distribution.Categorical(proa.ones([3])),
        lambda d: _drawn(lambda: d.sample([3]).tolist()),
    ),
    "Compose": (
        lambda: proa.vision.transforms.Compose(
            [
                proa.vision.transforms.RandomResizedCrop(6),
                proa.vision.transforms.ColorJitter(0.2, 0.2),
                proa.vision.transforms.ToTensor(),
            ]
        ),
        lambda t: _drawn(lambda: t(_IMAGE).tolist()),
    ),
    "Normal of initializers": (
        lambda: nn.initializer.Normal(0.0, 2.0),
        lambda i: _drawn(lambda: nn.Linear(2, 2, weight_attr=i).weight.tolist()),
    ),
    "CrossEntropyLoss": (
        lambda: nn.CrossEntropyLoss(proa.ones([4])),
        lambda c: c(proa.to_tensor(_X), proa.to_tensor(_LABELS)).item(),
    ),
    "DistributedStrategy": (proa.distributed.fleet.DistributedStrategy, repr),
    "to_static": (lambda: proa.jit.to_static(nn.LSTM(2, 3)), _results),
    "Transformer": (lambda: nn.TransformerEncoderLayer(2, 1, 4), _results),
}


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
@pytest.mark.parametrize("name", _THINGS)
def test_a_copy(name, how):
    make, seen = _THINGS[name]
    thing = make()
    other = how(thing)
    assert type(other) is type(thing)
    if how is not copy.copy:  # shares what counts
        want = seen(thing)
        np.testing.assert_equal(seen(other), want)


def test_an_optimizer_goes_on():
    def step(network, optimizer):
        loss = (network(proa.to_tensor(_X)) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        optimizer._learning_rate.step()
        return loss.item()

    network = nn.Linear(4, 3)
    optimizer = proa.optimizer.Adam(
        lr.StepDecay(0.1, 2), parameters=network.parameters(), grad_clip=nn.ClipGradByGlobalNorm(1.0)
    )
    step(network, optimizer)
    pairs = [copy.deepcopy((network, optimizer)), pickle.loads(pickle.dumps((network, optimizer)))]
    want = [step(network, optimizer) for _ in range(4)]
    for pair in pairs:
        assert pair[0].weight is not network.weight
        assert [step(*pair) for _ in range(4)] == want
