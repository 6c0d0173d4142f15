"""Networks drawn at random (random_networks.py) learn the same in every way that they can be trained, in float64.

`python -m python.tests.random_training 200 --first 0` trains as many of them, and says which differ.
"""

import argparse
import os
import sys
import tempfile
import warnings

import numpy as np

import proa
from proa import nn, static
from proa.distributed.fleet.utils import recompute
from proa.static import InputSpec
from proa.utils import unique_name
from python.tests import random_networks

_STEPS = 4
_lr = proa.optimizer.lr


class Plan:
    """What is trained, on which batches, by which optimizer."""

    def __init__(self, seed):
        draw = np.random.RandomState(seed)
        self.seed = seed
        self.images = seed % 3 != 0
        shape = (4, 3, 8, 8) if self.images else (4, 5, 8)
        self.batches = [draw.standard_normal(shape) for _ in range(_STEPS)]
        names = ["SGD", "Momentum", "Adam", "AdamW", "RMSProp", "Adagrad", "Adamax", "Adadelta", "Lamb"]
        self.optimizer = str(draw.choice(names))
        self.clip = int(draw.randint(4))
        self.decay = int(draw.randint(3))
        self.schedule = int(draw.randint(5))
        self.grouped = bool(draw.rand() < 0.3)

    def __repr__(self):
        return f"{self.optimizer}, clip {self.clip}, decay {self.decay}, schedule {self.schedule}, {self.grouped}"

    def layers(self):
        with unique_name.guard():  # optimizers know parameters by their names
            return (random_networks.Images if self.images else random_networks.Sequences)(self.seed)

    def network(self):
        """The network, always with the same parameters, that of a new one."""
        net = self.layers()
        draw = np.random.RandomState(self.seed + 1)
        for value in net.state_dict().values():
            value.set_value(np.abs(draw.standard_normal(value.shape)) * 0.3 + 0.2 * draw.standard_normal(value.shape))
        for name, value in net.state_dict().items():
            if name.endswith("_variance"):
                value.set_value(np.ones(value.shape))
        net.train()
        return net

    def stepper(self, parameters):
        """(optimizer, schedule or None)"""
        rate = [
            lambda: 0.01,
            lambda: _lr.StepDecay(0.01, 2),
            lambda: _lr.LinearWarmup(_lr.CosineAnnealingDecay(0.02, 5), 2, 0.0, 0.02),
            lambda: _lr.NoamDecay(64, 3),
            lambda: _lr.ExponentialDecay(0.01, 0.7),
        ][self.schedule]()
        clip = [
            lambda: None,
            lambda: nn.ClipGradByGlobalNorm(0.5),
            lambda: nn.ClipGradByNorm(0.2),
            lambda: nn.ClipGradByValue(0.1),
        ][self.clip]()
        settings = {"grad_clip": clip}
        if self.decay and self.optimizer == "Lamb":
            settings["lamb_weight_decay"] = 0.02
        elif self.decay:
            regularizer = proa.regularizer.L1Decay if self.decay == 2 else proa.regularizer.L2Decay
            settings["weight_decay"] = 0.02 if self.optimizer == "AdamW" else regularizer(0.02)
        if self.grouped and len(parameters) > 1:
            parameters = [
                {"params": parameters[::2]},
                {"params": parameters[1::2], "learning_rate": 0.5, "weight_decay": 0.1},
            ]
        optimizer = getattr(proa.optimizer, self.optimizer)(rate, parameters=parameters, **settings)
        return optimizer, rate if isinstance(rate, _lr.LRScheduler) else None


def _loss(outputs):
    return sum(((o.astype("float64") - 0.1) ** 2).mean() for o in outputs)


def _state(net):
    return [v.numpy() for _, v in sorted(net.state_dict().items())]


def _tuple(outputs):
    return outputs if isinstance(outputs, (list, tuple)) else (outputs,)


class _Trainer:
    """Trains one network, a step at a time."""

    def __init__(self, plan):
        self.plan, self.net = plan, plan.network()
        self.optimizer, self.schedule = plan.stepper(self.net.parameters())
        self.losses = []

    def loss(self, x):
        return _loss(self.net(x))

    def gradients(self, x):
        loss = self.loss(x)
        loss.backward()
        return loss

    def step(self, number):
        loss = self.gradients(proa.to_tensor(self.plan.batches[number]))
        self.optimizer.step()
        self.optimizer.clear_grad()
        if self.schedule:
            self.schedule.step()
        self.losses.append(loss.item())

    def state(self):
        return _state(self.net)

    def run(self):
        for number in range(_STEPS):
            self.step(number)
        return self.losses, self.state()


class AtOnce(_Trainer):
    pass


class Converted(_Trainer):
    def __init__(self, plan):
        super().__init__(plan)
        self._call = proa.jit.to_static(lambda x: self.net(x))

    def loss(self, x):
        return _loss(self._call(x))


class ConvertedLoss(_Trainer):
    def __init__(self, plan):
        super().__init__(plan)
        self.loss = proa.jit.to_static(
            lambda x: _loss(self.net(x)), input_spec=[InputSpec([None, *plan.batches[0].shape[1:]], "float64")]
        )


class Recomputed(_Trainer):
    def loss(self, x):
        return _loss(recompute(lambda x: self.net(x), x))


class ConvertedRecomputed(_Trainer):
    def __init__(self, plan):
        super().__init__(plan)
        self.loss = proa.jit.to_static(lambda x: _loss(recompute(self.net, x)))


class RecomputedConverted(_Trainer):
    def __init__(self, plan):
        super().__init__(plan)
        self._converted = proa.jit.to_static(self.net)

    def loss(self, x):
        return _loss(recompute(self._converted, x))


class Accumulated(_Trainer):
    def gradients(self, x):
        for _ in range(2):
            loss = self.loss(x)
            (loss * 0.5).backward()
        return loss


class ByGrad(_Trainer):
    def gradients(self, x):
        loss = self.loss(x)
        parameters = self.net.parameters()
        for p, g in zip(parameters, proa.grad(loss, parameters, create_graph=True, allow_unused=True), strict=True):
            if g is not None:
                p.grad = g.detach()
        return loss


class Resumed(_Trainer):
    """Everything is written after two steps, and read by another network and optimizer."""

    def step(self, number):
        if number == 2:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "x.")
                proa.save(self.net.state_dict(), path + "pdparams")
                proa.save(self.optimizer.state_dict(), path + "pdopt")
                losses = self.losses
                self.__init__(self.plan)
                for p in self.net.parameters():
                    p.set_value(p * 0)
                self.net.set_state_dict(proa.load(path + "pdparams"))
                self.optimizer.set_state_dict(proa.load(path + "pdopt"))
                self.losses = losses
        super().step(number)


class Program(_Trainer):
    """A static program, whose optimizer is part of it."""

    def __init__(self, plan):
        self.plan, self.losses = plan, []
        proa.enable_static()
        try:
            self.main, startup = static.Program(), static.Program()
            self.scope = static.Scope()
            with static.scope_guard(self.scope), static.program_guard(self.main, startup):
                x = static.data("x", [None, *plan.batches[0].shape[1:]], "float64")
                net = plan.layers()
                loss = _loss(net(x))
                optimizer, self.schedule = plan.stepper(net.parameters())
                optimizer.minimize(loss)
                self.net, self.fetched, self.executor = net, loss, static.Executor()
                self.executor.run(startup)
                self._fill()
        finally:
            proa.disable_static()

    def _fill(self):
        proa.disable_static()
        values = [v.numpy() for v in self.plan.network().state_dict().values()]
        proa.enable_static()
        for target, value in zip(self.net.state_dict().values(), values, strict=True):
            self.scope.find_var(target.name).get_tensor().set(value, proa.CPUPlace())

    def step(self, number):
        proa.enable_static()
        try:
            with static.scope_guard(self.scope):
                (loss,) = self.executor.run(self.main, feed={"x": self.plan.batches[number]}, fetch_list=[self.fetched])
        finally:
            proa.disable_static()
        self.losses.append(loss.item())
        if self.schedule:
            self.schedule.step()

    def state(self):
        return [np.array(self.scope.find_var(v.name).get_tensor()) for _, v in sorted(self.net.state_dict().items())]


class Loaded(_Trainer):
    """What `jit.save` wrote of the network is read and trained."""

    def __init__(self, plan):
        super().__init__(plan)
        with tempfile.TemporaryDirectory() as folder:
            spec = [InputSpec([None, *plan.batches[0].shape[1:]], "float64", "x")]
            proa.jit.save(self.net, os.path.join(folder, "net"), spec)
            loaded = proa.jit.load(os.path.join(folder, "net"))
        loaded.train()
        held = {p.name: p for p in loaded.parameters()}
        of = {id(p): held[name] for name, p in self.net.named_parameters()}
        # (Recurrent layers have a parameter under two names.)
        self._state = [of[id(p)] for _, p in sorted(self.net.state_dict().items())]
        self.optimizer, self.schedule = plan.stepper([of[id(p)] for p in self.net.parameters()])
        self.net = lambda x: _tuple(loaded(x))

    def state(self):
        return [v.numpy() for v in self._state]


class Scaled(_Trainer):
    """With a scaler of losses, of a power of two."""

    def __init__(self, plan):
        super().__init__(plan)
        self._scaler = proa.amp.GradScaler(init_loss_scaling=2.0**7, incr_every_n_steps=2)

    def step(self, number):
        loss = self.loss(proa.to_tensor(self.plan.batches[number]))
        self._scaler.scale(loss).backward()
        self._scaler.step(self.optimizer)
        self._scaler.update()
        self.optimizer.clear_grad(set_to_zero=False)
        if self.schedule:
            self.schedule.step()
        self.losses.append(loss.item())


class HighLevel(_Trainer):
    """`Model.train_batch`."""

    def __init__(self, plan):
        super().__init__(plan)
        self._model = proa.Model(self.net)
        self._model.prepare(self.optimizer, lambda *outputs: _loss(outputs))

    def step(self, number):
        (loss,) = self._model.train_batch([self.plan.batches[number]])
        if self.schedule:
            self.schedule.step()
        self.losses.append(float(np.asarray(loss).reshape(-1)[0]))


WAYS = [
    Converted,
    ConvertedLoss,
    Recomputed,
    ConvertedRecomputed,
    RecomputedConverted,
    Accumulated,
    ByGrad,
    Resumed,
    Program,
    Loaded,
    Scaled,
    HighLevel,
]
# Statistics of batches are taken twice.
_TWICE = (Accumulated,)


def differences(seed, ways=None):
    """What differs between training at once and in other ways, one text each."""
    before = proa.get_default_dtype()
    proa.set_default_dtype("float64")
    try:
        plan = Plan(seed)
        if not plan.network().parameters():
            return []
        losses, state = AtOnce(plan).run()
        if not all(np.isfinite(losses)):
            return []
        names = sorted(plan.network().state_dict())
        found = []
        for way in ways or WAYS:
            try:
                got, values = way(plan).run()
            except Exception as e:  # pylint: disable=broad-except
                found.append(f"{seed} {way.__name__}: {type(e).__name__}: {str(e)[:300]}")
                continue
            if not np.allclose(got, losses, rtol=1e-9, atol=1e-12):
                found.append(f"{seed} {way.__name__}: losses {got}, at once {losses}")
                continue
            for name, a, b in zip(names, values, state, strict=True):
                if way in _TWICE and name.endswith(("_mean", "_variance")):
                    continue
                if not np.allclose(a, b, rtol=1e-7, atol=1e-9):
                    found.append(f"{seed} {way.__name__}: {name} differs by {np.abs(a - b).max()}")
                    break
        return found
    finally:
        proa.set_default_dtype(before)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    count = 0
    for seed in range(arguments.first, arguments.first + arguments.count):
        found = differences(seed)
        count += bool(found)
        for text in found:
            print(text, "\n   ", Plan(seed), flush=True)
    print(f"{count} of {arguments.count} differ")
    return int(bool(count))


if __name__ == "__main__":
    sys.exit(main())
