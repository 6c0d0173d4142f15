"""Model, callbacks, metrics, summary, run on small data; vision models."""

import os
import re

import numpy as np
import pytest

import proa
from proa import metric, nn


class Points(proa.io.Dataset):
    """Points of the plane; the label says which side of a line they are on."""

    def __init__(self, n, seed):
        random = np.random.default_rng(seed)
        self.x = random.normal(size=(n, 2)).astype("float32")
        self.y = (self.x @ [1.0, -2.0] > 0).astype("int64")

    def __getitem__(self, idx):
        return self.x[idx], self.y[idx]

    def __len__(self):
        return len(self.x)


def make(rate=0.1, metrics=None):
    proa.seed(1)
    model = proa.Model(nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2)))
    adam = proa.optimizer.Adam(rate, parameters=model.parameters())
    model.prepare(adam, nn.CrossEntropyLoss(), metric.Accuracy() if metrics is None else metrics)
    return model


def test_fit_evaluate_predict(capsys):
    model = make()
    model.fit(Points(256, 0), Points(100, 1), batch_size=32, epochs=6, verbose=1)
    output = capsys.readouterr().out
    assert "Epoch 6/6" in output and "step 8/8 [====" in output and "acc:" in output
    logs = model.evaluate(Points(100, 1), batch_size=32, verbose=0)
    assert logs["acc"] > 0.93 and logs["loss"][0] < 0.3
    assert capsys.readouterr().out == ""
    (out,) = model.predict(Points(100, 1), batch_size=32, stack_outputs=True, verbose=0)
    assert out.shape == (100, 2) and (out.argmax(1) == Points(100, 1).y).mean() == pytest.approx(logs["acc"])
    (parts,) = model.predict(Points(100, 1), batch_size=32, verbose=0)
    assert [p.shape for p in parts] == [(32, 2)] * 3 + [(4, 2)]


def test_save_and_load(tmp_path):
    model = make()
    model.fit(Points(64, 0), batch_size=32, epochs=2, verbose=0, save_dir=str(tmp_path))
    assert sorted(os.listdir(tmp_path)) == [f"{n}.{s}" for n in ("0", "1", "final") for s in ("pdopt", "pdparams")]
    other = make()
    other.load(str(tmp_path / "final"))
    x = proa.to_tensor(Points(5, 3).x)
    assert np.array_equal(model.network(x).numpy(), other.network(x).numpy())
    small = proa.Model(nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2)))
    with pytest.raises(ValueError, match="does not fit"):
        small.load(str(tmp_path / "final"))
    small.load(str(tmp_path / "final"), skip_mismatch=True)


def test_save_for_inference(tmp_path):
    spec = proa.static.InputSpec([None, 2], "float32", "x")
    model = proa.Model(nn.Linear(2, 3), inputs=[spec])
    model.save(str(tmp_path / "net"), training=False)
    x = proa.to_tensor(Points(5, 3).x)
    assert np.allclose(proa.jit.load(str(tmp_path / "net"))(x).numpy(), model.network(x).numpy())


def test_callbacks():
    seen = []

    class Record(proa.callbacks.Callback):
        def __getattribute__(self, name):
            if name.startswith("on_"):
                seen.append(name)
            return super().__getattribute__(name)

    make().fit(Points(4, 0), Points(2, 0), batch_size=2, epochs=1, verbose=0, callbacks=Record())
    batch, evaluation = ["on_train_batch_begin", "on_train_batch_end"], ["on_eval_batch_begin", "on_eval_batch_end"]
    assert seen == [
        "on_train_begin", "on_epoch_begin", *batch, *batch, "on_epoch_end", "on_eval_begin", *evaluation,
        "on_eval_end", "on_train_end",
    ]  # fmt: skip


def test_layers_are_set_to_train_once_an_epoch_and_after_what_came_between():
    """Not in every batch: for a small network such a walk over its layers is felt."""
    calls = []

    class Net(nn.Sequential):
        def train(self):
            calls.append(len(steps))
            super().train()

    class Between(proa.callbacks.Callback):
        def on_train_batch_end(self, step, logs=None):
            steps.append(self.model.network[1].training)
            if len(steps) == 2:
                self.model.eval_batch([np.ones([1, 2], "float32")], [np.zeros([1, 1], "int64")])
            if len(steps) == 4:
                self.model.network.eval()

    steps = []
    model = proa.Model(Net(nn.Linear(2, 3), nn.Dropout(0.5)))
    model.prepare(proa.optimizer.SGD(0.1, parameters=model.parameters()), nn.CrossEntropyLoss())
    model.fit(Points(12, 0), batch_size=2, epochs=2, verbose=0, callbacks=Between())
    assert steps == [True] * 12 and calls == [0, 2, 4, 6]
    model.train_batch([np.ones([1, 2], "float32")], [np.zeros([1, 1], "int64")])
    assert calls[-1] == 12


def test_early_stopping(capsys, tmp_path):
    model = make(rate=0.0)
    stop = proa.callbacks.EarlyStopping("loss", patience=2)
    model.fit(Points(4, 0), Points(4, 0), 4, epochs=9, verbose=0, callbacks=stop, save_dir=str(tmp_path), save_freq=99)
    assert model.stop_training and stop.stopped_epoch == 3 and stop.wait_epoch == 2
    best = os.path.join(tmp_path, "best_model")
    assert f"Epoch 3: Early stopping.\nBest checkpoint has been saved at {best}\n" in capsys.readouterr().out
    assert "best_model.pdparams" in os.listdir(tmp_path)


def test_schedules():
    model = make()
    schedule = proa.optimizer.lr.StepDecay(0.1, 2, 0.5)
    model.prepare(proa.optimizer.SGD(schedule, parameters=model.parameters()), nn.CrossEntropyLoss())
    model.fit(Points(8, 0), batch_size=2, epochs=1, verbose=0)
    assert schedule.last_epoch == 4
    model.fit(Points(8, 0), batch_size=2, verbose=0, callbacks=proa.callbacks.LRScheduler(by_step=False, by_epoch=True))
    assert schedule.last_epoch == 5
    model = make(rate=0.0001)
    model._optimizer.set_lr(0.0)
    model._optimizer.set_lr(1e-9)
    plateau = proa.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, verbose=0)
    model.fit(Points(4, 0), Points(4, 0), 4, epochs=4, verbose=0, callbacks=plateau)
    assert model._optimizer.get_lr() < 1e-9


def test_accumulated_gradients_are_those_of_a_large_batch():
    a, b = make(0.05), make(0.05)
    for model, size, count in ((a, 8, 1), (b, 4, 2)):
        sgd = proa.optimizer.SGD(0.1, parameters=model.parameters())
        model.prepare(sgd, nn.CrossEntropyLoss(reduction="sum"))
        model.fit(Points(8, 0), batch_size=size, shuffle=False, verbose=0, accumulate_grad_batches=count)
    for p, q in zip(a.parameters(), b.parameters()):
        assert np.allclose(p.numpy(), q.numpy(), atol=1e-5)


class Stream(proa.io.IterableDataset):
    """Points one after another: nobody knows how many."""

    def __init__(self, count):
        self.points = Points(count, 0)

    def __iter__(self):
        return (self.points[i] for i in range(len(self.points)))


@pytest.mark.parametrize("kind", [Points, Stream])
@pytest.mark.parametrize("count, num_iters, steps", [(20, None, 3), (16, None, 2), (20, 3, 2), (20, 4, 2), (4, 7, 4)])
def test_the_last_group_of_batches_makes_a_step(kind, count, num_iters, steps):
    """Of an epoch and before `num_iters`, which counts batches over all epochs; no gradient is left behind."""
    model = make(0.05)
    sgd = proa.optimizer.SGD(0.1, parameters=model.parameters())
    made, step = [], sgd.step
    sgd.step = lambda: (made.append(all(p.grad is not None for p in model.parameters())), step())
    model.prepare(sgd, nn.CrossEntropyLoss())
    batches, epochs = [], 1 if count > 4 else 9

    class Count(proa.callbacks.Callback):
        def on_train_batch_end(self, step, logs=None):
            batches.append(step)

    data = Points(count, 0) if kind is Points else Stream(count)
    rows = {"batch_size": 4 if count > 4 else 2, "shuffle": False, "verbose": 0, "callbacks": Count()}
    model.fit(data, epochs=epochs, accumulate_grad_batches=2, num_iters=num_iters, **rows)
    assert made == [True] * steps
    assert len(batches) == (num_iters or -(-count // rows["batch_size"]))
    assert all(p.grad is None or not p.grad.numpy().any() for p in model.parameters())


def test_evaluation_reads_no_more_batches_than_asked_for():
    read = []

    class Watched(Stream):
        def __iter__(self):
            return (read.append(i) or row for i, row in enumerate(super().__iter__()))

    model = make(0.05)
    model.prepare(loss=nn.CrossEntropyLoss())
    model.evaluate(Watched(40), batch_size=4, verbose=0, num_iters=3)
    assert len(read) == 12


@pytest.fixture(params=["eager", "static"])
def mode(request):
    """Model means the same where a program is being recorded."""
    if request.param == "static":
        proa.enable_static()
    yield request.param
    proa.disable_static()


@pytest.mark.parametrize(
    "precision",
    [None, "O0", "O1", "O2", {"level": "O2", "dtype": "bfloat16", "init_loss_scaling": 64.0},
     {"custom_black_list": ["tanh"], "use_dynamic_loss_scaling": False}],
)  # fmt: skip
def test_modes_and_precisions(mode, precision, tmp_path):
    seen = set()

    class Watched(nn.Tanh):
        def forward(self, x):
            seen.add(x.dtype.name)
            return super().forward(x)

    proa.seed(1)
    net = nn.Sequential(nn.Linear(2, 8), Watched(), nn.Linear(8, 2))
    spec = proa.static.InputSpec
    model = proa.Model(net, [spec([None, 2], "float32", "x")], [spec([None], "int64", "y")])
    adam = proa.optimizer.Adam(0.1, parameters=model.parameters(), multi_precision=True)
    model.prepare(adam, nn.CrossEntropyLoss(), metric.Accuracy(), precision)
    model.fit(Points(256, 0), Points(100, 1), batch_size=32, epochs=4, verbose=0)
    logs = model.evaluate(Points(100, 1), batch_size=32, verbose=0)
    assert logs["acc"] > 0.93 and logs["loss"][0] < 0.3
    (out,) = model.predict(Points(100, 1), batch_size=32, stack_outputs=True, verbose=0)
    assert (out.argmax(1) == Points(100, 1).y).mean() == pytest.approx(logs["acc"])
    computed = {None: "float32", "O0": "float32"}.get(precision if isinstance(precision, str | None) else 0, "float16")
    stored = "float16" if precision == "O2" else "float32"
    if isinstance(precision, dict) and "level" in precision:
        computed = stored = "bfloat16"
    assert seen == {computed} and net[0].weight.dtype.name == stored
    assert model.train_batch([np.ones([2, 2], "float32")], [np.zeros([2], "int64")])[0][0].dtype == np.float32
    model.save(str(tmp_path / "net"))
    files = ["net.pdopt", "net.pdparams"] + ([] if computed == "float32" else ["net.pdscaler"])
    assert sorted(os.listdir(tmp_path)) == files
    before = net[0].weight.numpy()
    model.fit(Points(64, 0), batch_size=32, verbose=0)
    model.load(str(tmp_path / "net"))
    assert np.array_equal(net[0].weight.numpy(), before)
    model.save(str(tmp_path / "program"), training=False)
    assert model.summary()["total_params"] == 42 and proa.flops(net, [1, 2]) == 32


def test_loss_scaling():
    """The factor falls after bad batches, whose steps are left out; and comes back from a file."""
    net = nn.Linear(2, 1)
    model = proa.Model(net)
    sgd = proa.optimizer.SGD(0.1, parameters=model.parameters())
    model.prepare(sgd, nn.MSELoss(), None, {"init_loss_scaling": 1024.0, "decr_every_n_nan_or_inf": 1})
    before = net.weight.numpy()
    x, y = np.ones((2, 2), "float32"), np.full((2, 1), np.inf, "float32")
    model.train_batch([x], [y])
    assert np.array_equal(net.weight.numpy(), before)
    assert model._precision.scaler.state_dict()["scale"] == 512.0
    model.train_batch([x], [0 * x[:, :1]], update=False)
    assert np.array_equal(net.weight.numpy(), before)
    model.train_batch([x], [0 * x[:, :1]])
    error = before.sum() + 0.0  # the bias is zero
    assert np.allclose(net.weight.numpy(), before - 0.1 * 2 * 2 * error, atol=2e-3)  # two batches of gradients


def test_what_a_batch_gives_without_a_loss():
    model = proa.Model(nn.Linear(2, 2))
    model.prepare(None, None, metric.Accuracy())
    assert model.eval_batch([np.ones((3, 2), "float32")], [np.zeros(3, "int64")])[0] in (0.0, 1.0)
    assert list(model.evaluate(Points(4, 0), verbose=0)) == ["acc"]


def test_model_errors():
    model = proa.Model(nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="prepare"):
        model.train_batch([np.zeros((1, 2), "float32")], [np.zeros(1, "int64")])
    with pytest.raises(TypeError, match="Metrics"):
        model.prepare(metrics=[3])
    with pytest.raises(ValueError, match="train_data"):
        model.fit()
    batches = [(np.zeros((1, 2), "float32"), np.zeros((1, 1), "int64"))]
    for often in (0, -1, 1.5):
        with pytest.raises(ValueError, match="accumulate_grad_batches must be an int >= 1"):
            model.fit(batches, accumulate_grad_batches=often)
    with pytest.raises(TypeError, match="must be a proa.callbacks.Callback, not a object"):
        model.fit(batches, callbacks=[object()])
    for wrong, kind, says in (
        ("O3", ValueError, "'O0', 'O1' or 'O2', not 'O3'"),
        ({"level": 2}, ValueError, "'O0', 'O1' or 'O2', not 2"),
        (3, TypeError, "must be a str or a dict"),
        ({"use_pure_fp16": True}, ValueError, "amp_configs has no use_pure_fp16; it has .*level"),
        ({"incr_ratio": 0.5}, ValueError, "incr_ratio"),
        ({"custom_white_list": ["no_op"]}, ValueError, "no_op"),
    ):
        with pytest.raises(kind, match=says):
            model.prepare(amp_configs=wrong)


def test_vision_models():
    from proa.vision import models

    assert models.LeNet()(proa.ones([2, 1, 28, 28])).shape == [2, 10]
    net = models.resnet18(num_classes=7)
    net.eval()
    with proa.no_grad():
        assert net(proa.ones([1, 3, 32, 32])).shape == [1, 7]
    # The published figures, and the statistics of batch norm, which are not trained.
    for name, trained, statistics in (("resnet18", 11_689_512, 9_600), ("resnet50", 25_557_032, 53_120)):
        parameters = getattr(models, name)().parameters()
        assert sum(p.size for p in parameters if p.trainable) == trained
        assert sum(p.size for p in parameters) == trained + statistics
    with pytest.raises(NotImplementedError, match="pretrained"):
        models.resnet18(pretrained=True)


def test_nn_utils():
    layer = nn.Linear(3, 2)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    nn.utils.vector_to_parameters(vector * 2.0, layer.parameters())
    assert np.allclose(nn.utils.parameters_to_vector(layer.parameters()).numpy(), 2 * vector.numpy())
    with pytest.raises(ValueError, match="elements"):
        nn.utils.vector_to_parameters(proa.ones([3]), layer.parameters())
    (layer(proa.ones([1, 3])).sum() * 10.0).backward()
    before = nn.utils.clip_grad_norm_(layer.parameters(), 1.0).item()
    assert before == pytest.approx(10 * 8**0.5)
    assert nn.utils.clip_grad_norm_(layer.parameters(), 1.0).item() == pytest.approx(1.0, abs=1e-4)
    nn.utils.clip_grad_value_(layer.parameters(), 0.01)
    assert max(p.grad.abs().max().item() for p in layer.parameters()) == pytest.approx(0.01)


def test_weight_and_spectral_norm():
    layer = nn.Conv2D(3, 4, 3)
    x = proa.randn([1, 3, 5, 5])
    expected = layer(x).numpy()
    nn.utils.weight_norm(layer)
    assert [n for n, _ in layer.named_parameters()] == ["bias", "weight_v", "weight_g"]
    assert np.allclose(layer(x).numpy(), expected, atol=1e-5)
    layer(x).sum().backward()
    assert layer.weight_g.grad is not None
    with pytest.raises(RuntimeError, match="already"):
        nn.utils.weight_norm(layer)
    nn.utils.remove_weight_norm(layer)
    assert np.allclose(layer(x).numpy(), expected, atol=1e-5)
    linear = nn.utils.spectral_norm(nn.Linear(4, 3), n_power_iterations=30)
    linear(proa.ones([1, 4]))
    assert np.linalg.svd(linear.weight.numpy(), compute_uv=False)[0] == pytest.approx(1.0, abs=1e-3)


def test_visual_dl(monkeypatch, tmp_path):
    """What the package visualdl would be told."""
    import sys
    import types

    written, closed = [], []

    class LogWriter:
        def __init__(self, folder):
            assert folder == str(tmp_path)

        def add_scalar(self, tag, step, value):
            assert type(value) is float
            written.append((tag, step))

        def close(self):
            closed.append(True)

    data = proa.io.TensorDataset([proa.ones([4, 2]), proa.zeros([4, 1], "int64")])
    net = proa.nn.Linear(2, 2)
    model = proa.Model(net)
    sgd = proa.optimizer.SGD(0.1, parameters=net.parameters())
    model.prepare(sgd, proa.nn.CrossEntropyLoss(), proa.metric.Accuracy())
    callback = proa.callbacks.VisualDL(str(tmp_path))
    monkeypatch.setitem(sys.modules, "visualdl", types.SimpleNamespace(LogWriter=LogWriter))
    model.fit(data, data, batch_size=2, epochs=2, verbose=0, callbacks=[callback])
    steps = [(f"train/{name}", i) for i in (1, 2) for name in ("loss", "acc")]
    later = [(tag, i + 2) for tag, i in steps]
    evaluated = [[(f"eval/{name}", epoch) for name in ("loss", "acc")] for epoch in (0, 1)]
    assert written == steps + evaluated[0] + later + evaluated[1] and closed == [True]


def test_callbacks_are_told_of_the_batch_before_and_of_step_and_size():
    class Told(proa.callbacks.Callback):
        def on_train_batch_begin(self, step, logs=None):
            heard.append(("begin", step, logs.get("step")))

        def on_train_batch_end(self, step, logs=None):
            heard.append(("end", logs["step"], logs["batch_size"]))

        def on_train_end(self, logs=None):
            heard.append(("done", sorted(logs)))

        def on_predict_batch_end(self, step, logs=None):
            heard.append(("predict", logs["step"], logs["batch_size"]))

    heard = []
    model = make()
    model.fit(Points(5, 0), batch_size=3, epochs=1, verbose=0, callbacks=Told())
    model.predict(Points(4, 0), batch_size=3, verbose=0, callbacks=Told())
    assert heard == [
        ("begin", 0, None), ("end", 0, 3), ("begin", 1, 0), ("end", 1, 2), ("done", ["acc", "batch_size", "loss", "step"]),
        ("predict", 0, 3), ("predict", 1, 1),
    ]  # fmt: skip
    assert sorted(model.evaluate(Points(4, 0), batch_size=3, verbose=0)) == ["acc", "loss"]


def test_evaluation_every_second_epoch_begins_with_the_first():
    class Evaluated(proa.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.epoch = epoch

        def on_eval_begin(self, logs=None):
            heard.append(self.epoch)

    heard = []
    make().fit(Points(4, 0), Points(4, 0), batch_size=4, epochs=5, eval_freq=2, verbose=0, callbacks=Evaluated())
    assert heard == [0, 2, 4]


def test_callbacks_without_defaults():
    """Found beside PaddlePaddle 3.3, which gives every method its logs: those of programs may have no default for them."""

    class Strict(proa.callbacks.Callback):
        pass

    def method(name, stepped):
        def heard(self, *args):
            assert len(args) == (2 if stepped else 1), name
            names.add(name)

        return heard

    names = set()
    for name in dir(proa.callbacks.Callback):
        if name.startswith("on_"):
            setattr(Strict, name, method(name, "batch" in name or "epoch" in name))
    model, data = make(), Points(4, 0)
    model.fit(data, data, batch_size=2, verbose=0, callbacks=Strict())
    model.predict(data, batch_size=2, verbose=0, callbacks=Strict())
    assert names == {name for name in dir(proa.callbacks.Callback) if name.startswith("on_")}


def test_lines_of_a_run(capsys, tmp_path):
    """As PaddlePaddle 3.3 prints them: programs read losses out of logs."""
    make().fit(Points(4, 0), Points(2, 0), 2, epochs=1, verbose=2, log_freq=1, save_dir=str(tmp_path))
    lines = re.sub(r"\d+\.\d{4}(e-\d\d)?|\d+m?u?s", "#", capsys.readouterr().out).splitlines()
    assert lines == [
        "The loss value printed in the log is the current step, and the metric is the average value of previous steps.",
        "Epoch 1/1",
        "step 1/2 - loss: # - acc: # - #/step",
        "step 2/2 - loss: # - acc: # - #/step",
        f"save checkpoint at {tmp_path}/0",
        "Eval begin...",
        "step 1/1 - loss: # - acc: # - #/step",
        "Eval samples: 2",
        f"save checkpoint at {tmp_path}/final",
    ]


def test_a_lowered_rate(capsys):
    plateau = proa.callbacks.ReduceLROnPlateau("loss", 0.5, 1, min_delta=9.0, min_lr=0.03)
    make(rate=0.1).fit(Points(4, 0), Points(2, 0), 2, epochs=5, verbose=0, callbacks=plateau)
    text = "".join(
        f"\nEpoch {n}: ReduceLROnPlateau reducing learning rate to {rate}.\n" for n, rate in ((2, 0.05), (3, 0.03))
    )
    assert capsys.readouterr().out == text
    assert (plateau.epoch, plateau.wait, plateau.cooldown_counter, plateau.min_delta, plateau.mode) == (
        5,
        2,
        0,
        9.0,
        "auto",
    )


def test_what_a_file_has_in_another_shape(tmp_path):
    proa.Model(nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 4))).save(str(tmp_path / "a"))
    net = proa.Model(nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 5), nn.Linear(5, 1)))
    with pytest.warns(UserWarning) as said:
        net.load(str(tmp_path / "a"), skip_mismatch=True)
    assert [str(w.message) for w in said] == [
        "Skip loading for 1.weight. 1.weight receives a shape [3, 4], but the expected shape is [3, 5].",
        "Skip loading for 1.bias. 1.bias receives a shape [4], but the expected shape is [5].",
        "Skip loading for 2.weight. 2.weight receives nothing, but the expected shape is [5, 1].",
        "Skip loading for 2.bias. 2.bias receives nothing, but the expected shape is [1].",
    ]


def test_a_plateau_beside_a_schedule():
    """As in PaddlePaddle 3.3: a warning; it was an error after the first epoch that had not become better."""
    model = make()
    schedule = proa.optimizer.lr.StepDecay(0.5, 100)
    optimizer = proa.optimizer.SGD(schedule, parameters=model.parameters())
    model.prepare(optimizer, nn.CrossEntropyLoss())
    plateau = proa.callbacks.ReduceLROnPlateau(patience=1, min_delta=99.0)
    with pytest.warns(UserWarning, match="the learning rate follows a StepDecay"):
        model.fit(Points(4, 0), Points(4, 0), batch_size=4, epochs=3, verbose=0, callbacks=plateau)
    assert optimizer.get_lr() == 0.5


def test_a_logger_by_itself(capsys):
    logger = proa.callbacks.ProgBarLogger()
    logger.on_train_batch_end(0, {}), logger.on_eval_batch_end(0, {}), logger.on_predict_batch_end(0, {})
    assert capsys.readouterr().out == ""
