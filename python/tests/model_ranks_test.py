"""Model on several processes: the weights, metrics and outputs of one process with batches as large as all of theirs."""

import contextlib
import io
import os

import numpy as np
import pytest

import proa
import proa.distributed as dist
from proa import nn
from proa.distributed.groups import run_threads
from python.tests import ranks

_X = np.random.default_rng(1).normal(size=(22, 4)).astype("float32")


class _Data(proa.io.Dataset):
    def __init__(self, n=16):
        self.n = n

    def __getitem__(self, i):
        return _X[i], np.array([int(_X[i].sum() > 0)])

    def __len__(self):
        return self.n


def _model():
    net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))
    rng = np.random.default_rng(dist.get_rank())  # of the others rank 0 makes its own
    for p in net.parameters():
        p.set_value(rng.normal(size=p.shape).astype("float32"))
    model = proa.Model(net)
    adam = proa.optimizer.Momentum(0.1, parameters=net.parameters())
    model.prepare(adam, nn.CrossEntropyLoss(), proa.metric.Accuracy(topk=(1, 2)))
    return model


def _trained(batch_size, **fit):
    model = _model()
    model.fit(_Data(), batch_size=batch_size, epochs=2, shuffle=False, verbose=0, **fit)
    evaluated = model.evaluate(_Data(21), batch_size=batch_size, verbose=0)
    predicted = model.predict(_Data(21), batch_size=batch_size, verbose=0, stack_outputs=True)[0]
    return {n: t.numpy() for n, t in model.network.state_dict().items()}, evaluated, predicted


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("fit", [{}, {"accumulate_grad_batches": 2}, {"num_iters": 3, "accumulate_grad_batches": 2}])
def test_as_one_process_with_large_batches(count, fit):
    weights, evaluated, predicted = _trained(8, **fit)
    for found, numbers, outputs in run_threads(lambda: _trained(8 // count, **fit), count):
        for name, value in weights.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6)
        assert outputs.shape == (21, 2)  # each sample once, though the processes have 22 or 24
        np.testing.assert_allclose(outputs, predicted, rtol=1e-5, atol=1e-5)
        assert numbers["acc_top1"] == evaluated["acc_top1"] and numbers["acc_top2"] == 1
        np.testing.assert_allclose(numbers["loss"], evaluated["loss"], rtol=1e-5)


def test_a_method_of_a_subclass_has_the_outputs_of_all():
    class Own(proa.Model):
        def predict_batch(self, inputs):
            return [out + 1 for out in super().predict_batch(inputs)]

    def body():
        proa.seed(3)
        net = nn.Linear(4, 2)
        models = [kind(net) for kind in (proa.Model, Own)]
        for model in models:
            model.prepare(proa.optimizer.SGD(0.1, parameters=net.parameters()))
        plain, own = (model.predict(_Data(5), batch_size=1, verbose=0, stack_outputs=True)[0] for model in models)
        assert models[1].predict_batch([_X[:3]])[0].shape == (3, 2)  # by itself, that of this process
        return plain, own

    for plain, own in run_threads(body, 2):
        assert plain.shape == (5, 2)
        np.testing.assert_allclose(own, plain + 1, rtol=1e-6)


def test_loaders_decide_themselves():
    """Without a DistributedBatchSampler a process has what its loader has, and others have nothing to do with it."""

    def body():
        model = _model()
        mine = proa.io.DataLoader(_Data(3 + dist.get_rank()), batch_size=2)
        shared = proa.io.DistributedBatchSampler(_Data(5), 2, dist.get_world_size(), dist.get_rank())
        shared = proa.io.DataLoader(_Data(5), batch_sampler=shared)
        return [len(model.predict(loader, verbose=0, stack_outputs=True)[0]) for loader in (mine, shared)]

    assert run_threads(body, 2) == [[3, 5], [4, 5]]


def test_one_ends_what_it_prints_and_writes(tmp_path):
    """Processes that nobody connected before `prepare`; the shuffled data is shared, each sample once an epoch."""
    source = f"""
from python.tests import model_ranks_test as here
seen = []
class Data(here._Data):
    def __getitem__(self, i):
        seen.append(i)
        return super().__getitem__(i)
model = here._model()
stop = proa.callbacks.EarlyStopping("acc_top2", mode="max", patience=0, save_best_model=True)
model.fit(Data(), here._Data(6), batch_size=2, epochs=3, verbose=2, save_dir={str(tmp_path)!r}, callbacks=stop)
first = seen[:8]
dist.barrier()
model.load({str(tmp_path / "final")!r})
model.save(os.path.join({str(tmp_path)!r}, f"of {{dist.get_rank()}}"))
print(" ".join(map(str, sorted(first))) + "|" + model.network[0].weight.numpy().tobytes().hex(), flush=True)
"""
    outputs = ranks.run(source, 2)
    lines = [out.splitlines() for out in outputs]
    assert any(line.startswith("Epoch 1/3") for line in lines[0]) and any(
        "Early stopping." in line for line in lines[0]
    )
    assert len(lines[1]) == 1
    parts = [out.splitlines()[-1].rsplit("|", 1) for out in outputs]
    assert sorted(int(i) for part, _ in parts for i in part.split()) == list(range(16))
    assert parts[0][1] == parts[1][1]
    assert sorted(os.listdir(tmp_path)) == sorted(
        f"{name}.{kind}" for name in ("0", "1", "best_model", "final", "of 0") for kind in ("pdopt", "pdparams")
    )


def _printed(function):
    with contextlib.redirect_stdout(io.StringIO()) as found:
        function()
    return [line for line in found.getvalue().splitlines() if not line.startswith("The loss value printed")]


def test_the_last_line_of_a_loop_that_stops_early_or_has_no_length():
    """It was not printed where there is no terminal: `num_iters`, and data without a length, gave no numbers at all."""

    class Stream(proa.io.IterableDataset):
        def __iter__(self):
            return (_Data()[i] for i in range(10))

    model = _model()
    lines = _printed(lambda: model.fit(_Data(), batch_size=4, verbose=1, num_iters=2))
    assert [line.split(" [")[0] for line in lines] == ["Epoch 1/1", "step 2/2"]
    lines = _printed(lambda: model.fit(Stream(), batch_size=4, verbose=1))  # shuffle, which it has not, is no error
    assert [line.split(" - ")[0] for line in lines] == ["Epoch 1/1", "step 3"]
    lines = _printed(lambda: model.fit(Stream(), batch_size=4, verbose=2, log_freq=2))
    assert [line.split(" - ")[0] for line in lines] == ["Epoch 1/1", "step 2", "step 3"]
    lines = _printed(lambda: model.evaluate(Stream(), batch_size=5, verbose=2, log_freq=1))
    assert [line.split(" - ")[0] for line in lines] == ["Eval begin...", "step 1", "step 2", "Eval samples: 10"]
