"""What happens to calls that beginners, and users of other frameworks, write: messages say what to write instead."""

import re

import numpy as np
import pytest

import proa as paddle
from proa import nn
from proa.nn import functional as F

X = paddle.ones([2, 3])
LABELS = paddle.to_tensor([0, 1])
ONE_HOT = paddle.to_tensor(np.eye(3, dtype="float32")[:2])


def _prepared(**given):
    paddle.Model(nn.Linear(3, 2)).prepare(**given)


CASES = {
    "sizes one by one, in a method": (
        lambda: X.reshape(3, 2),
        TypeError,
        "reshape() takes 2 positional arguments but 3 were given; a list is one argument: [3, 2]",
    ),
    "sizes one by one, in a function": (
        lambda: paddle.zeros(2, 3),
        TypeError,
        "dtype: 3 is not an element type of tensors; if it is a size, put all sizes into one list: [2, 3]",
    ),
    "two sizes of -1": (lambda: X.reshape([-1, -1]), ValueError, "reshape: more than one size is -1 in [-1, -1]; x is"),
    "a negative size": (lambda: paddle.zeros([-1, 2]), ValueError, "full: shape [-1, 2] has a negative size"),
    "labels of floating point": (
        lambda: F.cross_entropy(X, paddle.to_tensor([0.0, 1.0])),
        TypeError,
        "labels must be integers; label is [2, 1] float32; astype('int64') casts it",
    ),
    "one-hot labels": (
        lambda: F.cross_entropy(X, ONE_HOT),
        ValueError,
        "pass soft_label=True for probabilities of classes",
    ),
    "a file's name for a state": (
        lambda: nn.Linear(2, 2).set_state_dict("model.pdparams"),
        TypeError,
        "set_state_dict: state_dict must be a dict of tensors by name, as paddle.load gives it, not str",
    ),
    "a state of lists": (
        lambda: nn.Linear(2, 1).set_state_dict({"bias": [1.0]}),
        TypeError,
        "set_state_dict: 'bias' must be a Tensor or an array, not list",
    ),
    "a file's name for the state of an optimizer": (
        lambda: paddle.optimizer.SGD(parameters=nn.Linear(2, 2).parameters()).set_state_dict("model.pdopt"),
        TypeError,
        "set_state_dict: state_dict must be a dict, as paddle.load gives it, not str",
    ),
    "the class of a loss": (
        lambda: _prepared(loss=nn.CrossEntropyLoss),
        TypeError,
        "Model.prepare: loss is the class CrossEntropyLoss; give an object of it: CrossEntropyLoss(...)",
    ),
    "the class of an optimizer": (
        lambda: _prepared(optimizer=paddle.optimizer.Adam),
        TypeError,
        "Model.prepare: optimizer is the class Adam; give an object of it: Adam(...)",
    ),
    "the class of a metric": (
        lambda: _prepared(metrics=[paddle.metric.Accuracy]),
        TypeError,
        "Model.prepare: metrics is the class Accuracy",
    ),
    "predictions for a metric": (
        lambda: paddle.metric.Accuracy().update(X * 0.3, LABELS),
        ValueError,
        "Accuracy.update: correct has other values than 0 and 1; give what compute(pred, label) gives",
    ),
    "an image without channels": (
        lambda: paddle.vision.transforms.Resize((4, 4))(X),
        TypeError,
        "resize: img must be a Pillow image, an ndarray [H, W, C] or [H, W], or a Tensor [C, H, W], not a Tensor of rank 2",
    ),
    "pixels before channels": (
        lambda: paddle.vision.transforms.Normalize([0.5] * 3, [0.5] * 3)(np.zeros((4, 5, 3), "uint8")),
        ValueError,
        "not [0.5, 0.5, 0.5]; img is [4, 5, 3]; of data_format CHW it has 4 channels",
    ),
    "the class of a part": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer, 2),
        TypeError,
        "TransformerEncoder: encoder_layer must be a layer, which is the first, not type",
    ),
    "a part that says nothing of its settings": (
        lambda: nn.TransformerDecoder(nn.Linear(2, 2), 2),
        TypeError,
        "TransformerDecoder: decoder_layer must be a layer with a dict `_config`",
    ),
    "a layer whose gradients are clipped": (
        lambda: nn.utils.clip_grad_norm_(nn.Linear(2, 2), 1.0),
        TypeError,
        "clip_grad_norm_: parameters must be tensors, as of model.parameters(), not Linear",
    ),
    "names of parameters": (
        lambda: nn.utils.clip_grad_value_(nn.Linear(2, 2).named_parameters(), 1.0),
        TypeError,
        "clip_grad_value_: parameters must be tensors, as of model.parameters(), not tuple",
    ),
    "a seed": (lambda: paddle.seed("a"), TypeError, "seed: seed must be an int, not str"),
    "no device": (lambda: paddle.set_device("gpu"), ValueError, "has loaded none for 'gpu'; compute on 'cpu'"),
}


@pytest.mark.parametrize("name", CASES)
def test_errors(name):
    call, kind, says = CASES[name]
    with pytest.raises(kind, match=re.escape(says)):
        call()


def test_a_list_is_not_spoken_of_where_there_is_none():
    with pytest.raises(TypeError, match=r"takes 2 positional arguments but 4 were given$"):
        X.reshape([1], [2], [3])


class _InAList(nn.Layer):
    def __init__(self):
        super().__init__()
        self.parts = [nn.Linear(3, 3)]


def test_an_optimizer_without_parameters():
    for parameters in ([], _InAList().parameters(), iter(())):
        with pytest.warns(UserWarning, match="SGD: parameters is empty, so that nothing is trained; .* LayerList"):
            paddle.optimizer.SGD(0.1, parameters=parameters)


def test_backward_without_a_graph():
    net = nn.Linear(3, 2)
    with paddle.no_grad():
        unrecorded = net(X).sum()
    for loss in (unrecorded, net(X).sum().detach(), (X * 2.0).sum()):
        with pytest.warns(
            UserWarning, match="backward: no parameter gets a gradient: stop_gradient of the tensor is True"
        ):
            loss.backward()
    assert net.weight.grad is None


@pytest.mark.filterwarnings("error")
def test_what_is_right_is_not_warned_of():
    net = nn.Linear(3, 2)
    sgd = paddle.optimizer.SGD(0.1, parameters=net.parameters())
    F.cross_entropy(net(X), LABELS).backward()
    sgd.step()
    x = paddle.ones([2])
    x.stop_gradient = False
    x.backward()
    assert x.grad is not None


def test_a_page_in_the_place_of_a_file(tmp_path):
    (tmp_path / "net.pdparams").write_text("<!DOCTYPE html><html><head><title>404</title></head></html>")
    with pytest.raises(ValueError, match="or no file of tensors; it begins with the text '<!DOCTYP'"):
        paddle.load(str(tmp_path / "net.pdparams"))
    (tmp_path / "net.pdparams").write_bytes(b"\x93\xff" * 40)
    with pytest.raises(ValueError, match="or no file of tensors\n"):
        paddle.load(str(tmp_path / "net.pdparams"))
