"""What Model makes of the batches that it is given, and what it tells callbacks and metrics, beside PaddlePaddle 3.3."""

import re

import numpy as np
import pytest

import proa
from proa import nn
from proa.hapi.callbacks import config_callbacks
from proa.static import InputSpec

X, Y = np.ones([2, 4], "float32"), np.zeros([2, 1], "int64")


class Rows(proa.io.Dataset):
    """Samples of `inputs` fields of four numbers and `labels` class numbers."""

    def __init__(self, n=6, inputs=1, labels=1):
        self.n, self.inputs, self.labels = n, inputs, labels

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return (np.full([4], i, "float32"),) * self.inputs + (np.array([i % 2]),) * self.labels


class Two(nn.Layer):
    """Two inputs and two outputs."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(4, 2)

    def forward(self, x, y):
        return self.a(x), self.b(y)


class Masked(nn.Layer):
    """A second input that may be left out."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 3)

    def forward(self, x, mask=None):
        return self.a(x if mask is None else x * mask)


def two_losses(a, b, la, lb):
    return nn.functional.cross_entropy(a, la), nn.functional.cross_entropy(b, lb)


def make(network=None, loss=None, metrics=None, **specs):
    model = proa.Model(network or nn.Linear(4, 3), **specs)
    model.prepare(proa.optimizer.SGD(0.1, parameters=model.parameters()), loss or nn.CrossEntropyLoss(), metrics)
    return model


class Heard(proa.callbacks.Callback):
    """All that a callback is told."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __getattribute__(self, name):
        if not name.startswith("on_"):
            return super().__getattribute__(name)
        return lambda *args: self.calls.append((name, *args))

    def last(self, name):
        return [call[-1] for call in self.calls if call[0] == name][-1]

    def count(self, name):
        return sum(call[0] == name for call in self.calls)


def fit(model, data, **options):
    heard = Heard()
    model.fit(data, verbose=0, callbacks=heard, **options)
    return heard


@pytest.mark.parametrize("network, loss, losses", [(None, None, 1), (Two, two_losses, 2)])
def test_losses_of_a_batch_are_a_list(network, loss, losses):
    """Programs write `logs["loss"][0]`."""
    heard = fit(
        make(network and network(), loss), Rows(5, losses, losses), eval_data=Rows(3, losses, losses), batch_size=2
    )
    for name in ("on_train_batch_end", "on_epoch_end", "on_train_end", "on_eval_batch_end", "on_eval_end"):
        found = heard.last(name)["loss"]
        assert isinstance(found, list) and [type(v) for v in found] == [float] * losses, name


@pytest.mark.parametrize("of_instance", [False, True])
def test_methods_of_a_subclass_are_called_for_batches(of_instance):
    """Of the class, or set on the model: `fit`, `evaluate` and `predict` take what they give."""
    seen = []

    def own(name, made):
        def method(model, *args, **kwargs):
            seen.append((name, [type(a).__name__ for a in args[:2]]))
            return made(getattr(proa.Model, name)(model, *args, **kwargs))

        return method

    changes = {
        "train_batch": lambda result: [np.float32(3)],
        "eval_batch": lambda result: [5.0],
        "predict_batch": lambda result: [7 * result[0]],
    }
    kind = type("Own", (proa.Model,), {} if of_instance else {n: own(n, made) for n, made in changes.items()})
    model = kind(nn.Linear(4, 3))
    model.prepare(proa.optimizer.SGD(0.0, parameters=model.parameters()), nn.CrossEntropyLoss())
    plain = model.network(proa.to_tensor(np.stack([Rows()[i][0] for i in range(4)]))).numpy()
    if of_instance:
        for name, made in changes.items():
            setattr(model, name, own(name, made).__get__(model))
    heard = fit(model, Rows(4), eval_data=Rows(2), batch_size=2)
    assert heard.last("on_train_batch_end")["loss"] == [3.0] and heard.last("on_eval_end")["loss"] == [5.0]
    assert model.evaluate(Rows(2), batch_size=2, verbose=0) == {"loss": [5.0]}
    found = model.predict(Rows(4), batch_size=2, verbose=0, stack_outputs=True)[0]
    np.testing.assert_allclose(found, 7 * plain, rtol=1e-5)
    two = ["list", "list"]
    assert seen == [("train_batch", two)] * 2 + [("eval_batch", two)] * 2 + [("predict_batch", ["list"])] * 2


def test_the_forward_method_decides_how_many_fields_are_inputs():
    heard = fit(make(Two(), two_losses), Rows(4, 2, 2), batch_size=2)
    assert len(heard.last("on_train_batch_end")["loss"]) == 2
    model = make(Two(), lambda a, b: a.mean() + b.mean())
    assert fit(model, Rows(4, 2, 0), batch_size=2).count("on_train_batch_end") == 2
    assert [len(out) for out in model.predict(Rows(4, 2, 2), batch_size=2, verbose=0)] == [2, 2]
    assert [len(out) for out in make(Two()).predict(Rows(4, 2, 0), batch_size=2, verbose=0)] == [2, 2]


def test_inputs_that_may_be_left_out():
    network = Masked()
    masked = np.concatenate([o for o in make(network).predict(Rows(4, 2, 0), batch_size=2, verbose=0)[0]])
    np.testing.assert_allclose(masked, network(*[proa.to_tensor(np.stack([Rows()[i][0] for i in range(4)]))] * 2), 1e-6)
    model = make(network)
    fit(model, Rows(4), batch_size=2)  # one input and a label
    plain = np.concatenate(model.predict(Rows(4), batch_size=2, verbose=0)[0])  # the label is no mask
    np.testing.assert_allclose(plain, network(proa.to_tensor(np.stack([Rows()[i][0] for i in range(4)]))), 1e-6)
    fit(model, Rows(4, 2), batch_size=2)


@pytest.mark.parametrize(
    "batch",
    [
        (X, Y),
        [X, Y],
        ([X], [Y]),
        ((X,), Y),
        {"a": X, "b": Y},
        ({"a": X}, [Y]),
        (proa.to_tensor(X), [proa.to_tensor(Y)]),
        ([proa.to_tensor(X)], Y.tolist()),
    ],
)
def test_batches_of_programs_own_loaders(batch):
    model, expected = make(), make()
    expected.network.set_state_dict(model.network.state_dict())
    heard = fit(model, [batch] * 3, epochs=2)
    assert heard.count("on_train_batch_end") == 6 and heard.calls[0][0] == "on_train_begin"
    want = fit(expected, [(X, Y)] * 3, epochs=2)
    np.testing.assert_allclose(heard.last("on_train_end")["loss"], want.last("on_train_end")["loss"], 1e-5)


def test_batches_of_dictionaries_of_a_data_set():
    class Named(Rows):
        def __getitem__(self, i):
            x, y = super().__getitem__(i)
            return {"x": x, "y": y}

    assert fit(make(), Named(4), batch_size=2).count("on_train_batch_end") == 2


def test_specs_by_the_names_of_what_forward_takes():
    x, y = InputSpec([None, 4], "float32", "x"), InputSpec([None, 4], "float32", "y")
    model = make(Two(), two_losses, inputs={"y": y, "x": x})
    assert [s.name for s in model._inputs] == ["x", "y"]
    assert len(model.train_batch([X, X], [Y, Y])) == 2


@pytest.mark.parametrize("num_iters, steps, epochs", [(2, 2, 1), (3, 3, 1), (7, 3, 3)])
def test_a_number_of_batches_takes_as_many_epochs_as_it_needs(num_iters, steps, epochs):
    heard = fit(make(), Rows(6), batch_size=2, epochs=1, num_iters=num_iters)
    assert heard.count("on_train_batch_end") == num_iters and heard.count("on_epoch_begin") == epochs
    assert heard.params["steps"] == steps and heard.params["epochs"] == epochs


def test_steps_of_a_shortened_evaluation():
    heard = Heard()
    make().evaluate(Rows(6), batch_size=2, verbose=0, num_iters=2, callbacks=heard)
    assert heard.last("on_eval_begin") == {"steps": 2, "metrics": ["loss"]}
    assert heard.last("on_eval_end")["samples"] == 4


def test_a_batch_size_for_each_data_set():
    heard = fit(make(), Rows(6), eval_data=Rows(6), batch_size=[2, 3])
    assert (heard.count("on_train_batch_end"), heard.count("on_eval_batch_end")) == (3, 2)


def test_prediction_tells_no_metrics_and_the_last_batch():
    heard = Heard()
    make(metrics=proa.metric.Accuracy()).predict(Rows(5), batch_size=2, verbose=0, callbacks=heard)
    assert heard.params["metrics"] == []
    assert heard.last("on_predict_end") == {"step": 2, "batch_size": 1, "samples": 5}


def test_metrics_get_arrays():
    class Kinds(proa.metric.Metric):
        kinds = ()

        def compute(self, out, label):
            return out.argmax(-1), label, 3

        def update(self, *args):
            self.kinds = [type(a) for a in args]

        def accumulate(self):
            return 0.0

        def reset(self):
            pass

        def name(self):
            return "kinds"

    kinds = Kinds()
    model = make(metrics=kinds)
    for run in (model.train_batch, model.eval_batch):
        kinds.kinds = ()
        run([X], [Y])
        assert kinds.kinds == [np.ndarray, np.ndarray, int]


def test_an_inference_program_for_what_was_run(tmp_path):
    model = make()
    with pytest.raises(RuntimeError, match="run a batch first"):
        model.save(str(tmp_path / "net"), training=False)
    expected = model.predict_batch([X])[0]
    model.save(str(tmp_path / "net"), training=False)
    loaded = proa.jit.load(str(tmp_path / "net"))
    loaded.eval()
    np.testing.assert_allclose(loaded(proa.to_tensor(X)), expected, 1e-6)
    assert loaded(proa.ones([7, 4])).shape == [7, 3]


def test_early_stopping_without_an_evaluation():
    with pytest.warns(UserWarning, match="EarlyStopping needs validation data"):
        make().fit(Rows(2), verbose=0, callbacks=proa.callbacks.EarlyStopping())


def test_callbacks_of_a_loop_by_hand():
    heard = Heard()
    run = config_callbacks(heard, make(), epochs=2, steps=3, verbose=0, metrics=["loss"])
    assert [type(c).__name__ for c in run] == ["Heard"]  # the rate is a number
    assert heard.params == {"batch_size": None, "epochs": 2, "steps": 3, "verbose": 0, "metrics": ["loss"]}
    run.on_begin("train")
    run.on_epoch_begin(0)
    run.on_batch_begin("train", 0, {})
    second = Heard()
    run.append(second)
    run.on_batch_end("train", 0, {"loss": [1.0]})
    run.on_end("eval", {})
    assert [call[0] for call in heard.calls] == [
        "on_train_begin", "on_epoch_begin", "on_train_batch_begin", "on_train_batch_end", "on_eval_end",
    ]  # fmt: skip
    assert second.calls == heard.calls[3:] == [("on_train_batch_end", 0, {"loss": [1.0]}), ("on_eval_end", {})]
    with pytest.raises(ValueError, match="mode must be train, eval or predict"):
        run.on_begin("test")


def test_lines_with_what_batches_take(capsys):
    """`verbose=3`, as PaddlePaddle 3.3 prints it; predictions tell every second batch."""
    model = make(metrics=proa.metric.Accuracy())
    model.fit(Rows(7), batch_size=2, verbose=3, log_freq=2, shuffle=False)
    model.evaluate(Rows(3), batch_size=2, verbose=3)
    model.predict(Rows(7), batch_size=2, verbose=2)
    found = capsys.readouterr().out
    seconds = re.findall(r"avg_reader_cost: (\S+) sec - avg_batch_cost: (\S+) sec - ips: (\S+) samples/sec", found)
    assert len(seconds) == 3 and all(0 <= float(r) <= float(b) and float(i) > 0 for r, b, i in seconds)
    cost = "avg_reader_cost: # sec - avg_batch_cost: # sec - ips: # samples/sec"
    assert re.sub(r"\d+\.\d+(e-\d\d)?|\d+m?u?s(?=/)", "#", found).splitlines()[1:] == [
        "Epoch 1/1",
        f"step 2/4 - loss: # - acc: # - {cost} - #/step",
        f"step 4/4 - loss: # - acc: # - {cost} - #/step",
        "Eval begin...",
        f"step 2/2 - loss: # - acc: # - {cost} - #/step",
        "Eval samples: 3",
        "Predict begin...",
        "step 2/4 - #/step",
        "step 4/4 - #/step",
        "Predict samples: 7",
    ]


def test_what_nobody_watches_is_not_called():
    heard = Heard()
    model = make()
    assert config_callbacks([], model, verbose=0).watched("on_train_batch_end") is None
    assert config_callbacks(heard, model, verbose=0).watched("on_train_batch_end") is not None
    rate = proa.optimizer.lr.StepDecay(0.1, 1)
    model.prepare(proa.optimizer.SGD(rate, parameters=model.parameters()), nn.CrossEntropyLoss())
    run = config_callbacks(None, model, verbose=0)
    assert [type(c).__name__ for c in run] == ["LRScheduler"] and run.watched("on_train_batch_end") is not None
    assert run.watched("on_train_batch_begin") is None


def test_an_epoch_that_nobody_watches_ends_with_the_values_of_its_last_batch():
    found = {}

    class Last(proa.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            found[epoch] = logs

    class Each(Last):
        def on_train_batch_end(self, step, logs=None):
            pass

    results = []
    for callback in (Last(), Each()):
        proa.seed(0)
        make(metrics=proa.metric.Accuracy()).fit(
            Rows(5), batch_size=2, epochs=2, shuffle=False, verbose=0, callbacks=callback
        )
        results.append(dict(found))
    assert results[0] == results[1] and results[0][1]["step"] == 2 and results[0][1]["batch_size"] == 1


class _Nested(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x):
        h = self.linear(x)
        return {"scores": h, "more": [h * 2.0, (h.mean(),)]}


@pytest.mark.parametrize("amp_configs", [None, {"level": "O2", "dtype": "bfloat16"}])
def test_outputs_that_are_nested(amp_configs):
    """Of recurrent networks, and dicts: a loss takes them as they are, in float32; predictions are nested alike."""

    def of_states(y, states, label):
        assert {t.dtype for t in (y, *states)} == {proa.float32}
        return (y.mean(1) - label).square().mean() + states[0].mean()

    def of_dict(given, label):
        assert given["more"][1][0].dtype == proa.float32
        return (given["scores"] - label).square().mean() + given["more"][0].mean()

    for make, loss, shape in ((lambda: nn.LSTM(3, 2), of_states, [8, 4, 3]), (_Nested, of_dict, [8, 3])):
        proa.seed(2)
        net, x, label = make(), proa.rand(shape), proa.zeros([8, 2])
        data = proa.io.TensorDataset([x, label])
        model = proa.Model(net)
        sgd = proa.optimizer.SGD(0.1, parameters=net.parameters())
        model.prepare(sgd, loss, amp_configs=amp_configs)
        before = model.evaluate(data, batch_size=8, verbose=0)["loss"][0]
        model.fit(data, epochs=2, batch_size=8, verbose=0)
        assert model.evaluate(data, batch_size=8, verbose=0)["loss"][0] < before
        found = model.predict(proa.io.TensorDataset([x]), batch_size=4, verbose=0)
        if make is _Nested:
            assert found[0][0]["more"][1][0].shape == () and found[0][1]["scores"].shape == (4, 2)
        else:
            assert found[0][1].shape == (4, 4, 2) and [a.shape for a in found[1][1]] == [(1, 4, 2)] * 2
        with pytest.raises(TypeError, match="Model.predict: stack_outputs puts arrays together, but output [01] is a"):
            model.predict(proa.io.TensorDataset([x]), batch_size=4, verbose=0, stack_outputs=True)
