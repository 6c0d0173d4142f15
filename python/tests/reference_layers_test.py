"""Every layer has the names that the reference's has: state, parameters, sublayers, attributes, default dtype."""

import inspect
import json
import os
import re

import pytest

import proa
from proa import nn
from python.tests import reference_layers

with open(os.path.join(os.path.dirname(__file__), "reference_layers.json")) as _stream:
    REFERENCE = json.load(_stream)

# Attributes of the reference that stand for what is not here: its kernels' memory, devices, later releases' arguments.
ABSENT = {
    "_all_weights", "_device", "_dropout_state", "_flat_weight", "_is_distributed", "_max_norm", "_norm_type",
    "_remote_prefetch", "_reversed_padding_repeated_twice", "_scale_grad_by_freq", "could_use_cudnn", "inplace", "_inplace",
    "is_huber", "label_smoothing", "log_target", "recompute_scale_factor", "zero_infinity", "_activation",
    "_gate_activation",
}  # fmt: skip
# (layer, attribute)
ABSENT_HERE = {("LSTMCell", "proj_size"), ("ThresholdedReLU", "_value")}


def test_every_layer_is_asked():
    """The classes that make parameters of their own, all of them."""
    asked = {call.partition("(")[0] for call in REFERENCE}
    assert set(reference_layers.CALLS) == set(REFERENCE)
    classes = [c for n, c in vars(nn).items() if inspect.isclass(c) and issubclass(c, nn.Layer)]
    with_parameters = {c.__name__ for c in classes if "self.create_parameter(" in inspect.getsource(c)}
    assert len(with_parameters) >= 7 and with_parameters - asked - {"Layer"} == set()


@pytest.mark.parametrize("call", sorted(REFERENCE))
def test_names(call):
    expected = dict(REFERENCE[call])
    attributes = expected.pop("attributes")
    del expected["repr"]
    assert reference_layers.facts(proa, call) == expected
    # Also in their order, in which optimizers and files have them.
    found = reference_layers.facts(proa, call)
    assert list(found["parameters"]) == list(expected["parameters"])
    kind, layer = call.partition("(")[0], eval(f"nn.{call}")
    lacks = [a for a in attributes if not hasattr(layer, a) and a not in ABSENT and (kind, a) not in ABSENT_HERE]
    assert lacks == []


def _words(text):
    """{name=value} of what a layer prints; without what only later releases say."""
    words = set(re.findall(r"(\w+=(?:\[[^]]*\]|\([^)]*\)|[^][(),\s]+))", text))
    return {word for word in words if word.partition("=")[0] not in LATER and word != "data_format=None"}


# Settings that came after 2.3, and one that is always 0.
LATER = {"inplace", "scale_grad_by_freq", "value"}


@pytest.mark.parametrize("call", sorted(REFERENCE))
def test_what_is_printed(call):
    """Whatever the reference says of its settings, we say; there may be more."""
    layer = repr(eval(f"nn.{call}"))
    assert layer.count("\n") == REFERENCE[call]["repr"].count("\n")
    assert layer.partition("(")[0] == call.partition("(")[0]
    assert _words(REFERENCE[call]["repr"]) - _words(layer) == set()


@pytest.mark.parametrize("call", sorted(REFERENCE))
def test_what_is_no_tensor(call):
    """The sentence that names the argument, whatever the layer."""
    layer = eval(f"nn.{call}")
    if isinstance(layer, (nn.Identity, nn.LayerList, nn.LayerDict)) and not hasattr(layer, "num_layers"):
        return  # takes anything, and cannot be called
    parameters = inspect.signature(layer.forward).parameters.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind == p.POSITIONAL_OR_KEYWORD]
    with pytest.raises(ValueError, match=r"^\(InvalidArgument\) \w+: [\w ]+ must be a") as e:
        layer(*[None] * max(len(needed), 1))
    assert isinstance(e.value, TypeError)


@pytest.mark.parametrize("kind", ["BatchNorm", "BatchNorm1D", "BatchNorm2D", "BatchNorm3D", "SyncBatchNorm"])
def test_statistics_are_buffers_too(kind):
    norm = getattr(nn, kind)(3)
    assert [n for n, _ in norm.named_buffers()] == ["_mean", "_variance"]
    for statistic in norm.buffers():
        assert isinstance(statistic, proa.framework.Parameter) and statistic.stop_gradient and statistic.persistable
    norm._mean = proa.ones([3])
    assert list(norm.state_dict()) == ["weight", "bias", "_mean", "_variance"]
    assert norm.to(dtype="float64")._mean.dtype == proa.float64


def test_statistics_in_summaries(capsys):
    net = nn.Sequential(nn.Conv2D(3, 4, 3, bias_attr=False), nn.BatchNorm2D(4))
    counts = proa.summary(net, (1, 3, 8, 8))
    assert counts == {"total_params": 108 + 16, "trainable_params": 108 + 8}
    assert "Non-trainable params: 8" in capsys.readouterr().out


def test_default_dtype_reaches_what_layers_compute():
    proa.set_default_dtype("float64")
    try:
        x = proa.ones([2, 3, 4, 4])
        for layer in (nn.Conv2D(3, 2, 3), nn.BatchNorm2D(3), nn.GroupNorm(3, 3), nn.InstanceNorm2D(3), nn.PReLU()):
            out = layer(x)
            assert out.dtype == proa.float64, layer
            out.sum().backward()
            assert all(p.grad.dtype == proa.float64 for p in layer.parameters() if p.trainable), layer
        out, (h, c) = nn.LSTM(4, 5, direction="bidirect")(proa.ones([2, 3, 4]))
        assert out.dtype == h.dtype == c.dtype == proa.float64
        assert nn.Embedding(4, 2)(proa.to_tensor([1])).dtype == proa.float64

        class Own(nn.Layer):
            def __init__(self, **settings):
                super().__init__(**settings)
                self.w = self.create_parameter([2])

        assert Own().w.dtype == proa.float64 and Own(dtype="float32").w.dtype == proa.float32
    finally:
        proa.set_default_dtype("float32")
    assert nn.Linear(1, 1).weight.dtype == proa.float32


@pytest.mark.parametrize("kind", ["SimpleRNN", "LSTM", "GRU"])
def test_two_names_of_a_parameter(kind):
    """One of the two is enough in a state, and both stay one parameter."""
    a, b = (getattr(nn, kind)(3, 4, 2, "bidirect") for _ in range(2))
    own = {k: v.numpy() for k, v in a.state_dict().items() if "cell" not in k}
    assert len(own) == 16 and b.set_state_dict(own) == ([], [])
    x = proa.ones([1, 2, 3])
    assert (a(x)[0].numpy() == b(x)[0].numpy()).all()
    assert b.set_state_dict({k: v for k, v in a.state_dict().items() if "cell" in k}) == ([], [])
    b.to(dtype="float64")
    assert b.weight_hh_l1_reverse is b[1].cell_bw.weight_hh and len(b.parameters()) == 16
    b.flatten_parameters()
