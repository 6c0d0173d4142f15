"""Kinds of callbacks: progress, checkpoints, schedules, early stopping; and those of a run."""

import numbers
import os
import warnings

import numpy as np

from proa import _C
from proa.hapi.callback import Callback, CallbackList
from proa.hapi.progress import Costs, ProgressBar
from proa.hapi.shares import is_first


def config_callbacks(
    callbacks=None,
    model=None,
    batch_size=None,
    epochs=None,
    steps=None,
    log_freq=2,
    verbose=2,
    save_freq=1,
    save_dir=None,
    metrics=None,
    mode="train",
):
    """The callbacks of a run: those given and those that every run has, which are told its facts.

    Args:
        callbacks (Callback|list[Callback], optional): given by the program.
        model (Model, optional): what runs.
        batch_size, epochs, steps, verbose: facts of the run, as in `Callback.params`.
        log_freq (int): batches between two updates of the output.
        save_freq (int): epochs between two checkpoints in the folder `save_dir`.
        metrics (list[str], optional): names of what is computed; there are none in the mode "test".
        mode (str): "train" or "test".

    Returns:
        CallbackList: of them all.

    Raises:
        TypeError: for a callback of another kind.
    """
    callbacks = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks else []
    for callback in callbacks:
        if not hasattr(callback, "set_model"):
            raise _C.located(
                TypeError(f"Model: a callback must be a proa.callbacks.Callback, not a {type(callback).__name__}")
            )
    if not any(isinstance(c, ProgBarLogger) for c in callbacks) and verbose:
        callbacks.insert(0, ProgBarLogger(log_freq, verbose))
    if not any(isinstance(c, ModelCheckpoint) for c in callbacks) and save_dir:
        callbacks.append(ModelCheckpoint(save_freq, save_dir))
    # Most have a plain rate, and nothing to do at each batch.
    rate = getattr(getattr(model, "_optimizer", None), "_learning_rate", None)
    if type(rate) is not float and not any(isinstance(c, LRScheduler) for c in callbacks):
        callbacks.append(LRScheduler())
    for callback in callbacks:
        if isinstance(callback, EarlyStopping):
            callback.save_dir = save_dir
        if isinstance(callback, (ProgBarLogger, EarlyStopping, ReduceLROnPlateau)) and not is_first():
            callback.verbose = 0
    found = CallbackList(callbacks)
    found.set_model(model)
    found.set_params(
        {
            "batch_size": batch_size,
            "epochs": epochs,
            "steps": steps,
            "verbose": verbose,
            "metrics": metrics if metrics and mode != "test" else [],
        }
    )
    return found


class ProgBarLogger(Callback):
    """Shows progress and values on standard output.

    Args:
        log_freq (int): batches between two updates.
        verbose (int): 0 nothing, 1 a bar, 2 a line for each update, 3 with the seconds that a batch and reading it take and
            the samples a second, each since the line before.

    Examples:
        >>> seldom = proa.callbacks.ProgBarLogger(log_freq=100)  # for Model.fit(callbacks=seldom)
    """

    def __init__(self, log_freq=1, verbose=2):
        super().__init__()
        self.log_freq, self.verbose = max(int(log_freq), 1), verbose
        self._bar = self._rest = self._eval_steps = self._costs = None

    def _values(self, logs):
        names = self.params.get("metrics", ())
        values = [(name, logs[name]) for name in names if logs and name in logs]
        return values if self._costs is None else values + self._costs.values()

    def _begin(self, steps):
        self._bar = ProgressBar(steps, every_line=self.verbose >= 2) if self.verbose else None
        self._costs = Costs() if self.verbose >= 3 else None
        self._rest = None

    def _loaded(self):
        if self._costs is not None:
            self._costs.loaded()

    def _update(self, step, steps, logs):
        if self._bar is None:
            return
        if self._costs is not None:
            self._costs.done((logs or {}).get("batch_size", 0))
        shown = (step + 1) % self.log_freq == 0 or step + 1 == steps
        if shown:
            self._bar.update(step + 1, self._values(logs))
        # What a loop of unknown length, or one that stops early, has to show in the end.
        self._rest = None if step + 1 == steps or shown and self.verbose >= 2 else (step + 1, logs)

    def _end(self):
        if self._rest is not None:
            self._bar.update(self._rest[0], self._values(self._rest[1]), last=True)
        self._bar.close()

    def on_train_begin(self, logs=None):
        if self.verbose:
            print(
                "The loss value printed in the log is the current step, "
                "and the metric is the average value of previous steps."
            )

    def on_epoch_begin(self, epoch, logs=None):
        if self.verbose and self.params.get("epochs"):
            print(f"Epoch {epoch + 1}/{self.params['epochs']}")
        self._begin(self.params.get("steps"))

    def on_train_batch_begin(self, step, logs=None):
        self._loaded()

    def on_train_batch_end(self, step, logs=None):
        self._update(step, self.params.get("steps"), logs)

    def on_epoch_end(self, epoch, logs=None):
        if self._bar is not None:
            self._end()

    def on_eval_begin(self, logs=None):
        self._eval_steps = (logs or {}).get("steps")
        if self.verbose:
            print("Eval begin...")
        self._begin(self._eval_steps)

    def on_eval_batch_begin(self, step, logs=None):
        self._loaded()

    def on_eval_batch_end(self, step, logs=None):
        self._update(step, self._eval_steps, logs)

    def on_eval_end(self, logs=None):
        if self._bar is not None:
            self._end()
            print(f"Eval samples: {(logs or {}).get('samples', 0)}")

    def on_predict_begin(self, logs=None):
        self._eval_steps = (logs or {}).get("steps")
        if self.verbose:
            print("Predict begin...")
        self._begin(self._eval_steps)

    def on_predict_batch_begin(self, step, logs=None):
        self._loaded()

    def on_predict_batch_end(self, step, logs=None):
        self._update(step, self._eval_steps, logs)

    def on_predict_end(self, logs=None):
        if self._bar is not None:
            self._end()
            print(f"Predict samples: {(logs or {}).get('samples', 0)}")


class ModelCheckpoint(Callback):
    """Saves the model every `save_freq` epochs as save_dir/<epoch>, and at the end as save_dir/final.

    Examples:
        >>> each_fifth = proa.callbacks.ModelCheckpoint(save_freq=5, save_dir="checkpoints")  # for Model.fit
    """

    def __init__(self, save_freq=1, save_dir=None):
        super().__init__()
        self.save_freq, self.save_dir = save_freq, save_dir

    def on_epoch_end(self, epoch, logs=None):
        if self.save_dir and epoch % self.save_freq == 0:
            self._save(str(epoch))

    def on_train_end(self, logs=None):
        if self.save_dir:
            self._save("final")

    def _save(self, name):
        path = os.path.join(self.save_dir, name)
        if is_first():
            print(f"save checkpoint at {os.path.abspath(path)}")
        self.model.save(path)


class LRScheduler(Callback):
    """Steps the optimizer's schedule.

    Args:
        by_step (bool): after each batch.
        by_epoch (bool): after each epoch.

    Examples:
        >>> by_epoch = proa.callbacks.LRScheduler(by_step=False, by_epoch=True)  # for Model.fit(callbacks=by_epoch)
    """

    def __init__(self, by_step=True, by_epoch=False):
        super().__init__()
        if by_step and by_epoch:
            raise _C.located(ValueError("LRScheduler: by_step and by_epoch must not both be True"))
        self.by_step, self.by_epoch = by_step, by_epoch

    def _step(self):
        schedule = getattr(self.model._optimizer, "_learning_rate", None)
        from proa.optimizer.lr import LRScheduler as Schedule

        if isinstance(schedule, Schedule):
            schedule.step()

    def on_train_batch_end(self, step, logs=None):
        # At each batch: most have a plain rate.
        if self.by_step and type(getattr(self.model._optimizer, "_learning_rate", None)) is not float:
            self._step()

    def on_epoch_end(self, epoch, logs=None):
        if self.by_epoch:
            self._step()


class _Monitor(Callback):
    """Watches a value of evaluations."""

    def __init__(self, monitor, mode, min_delta):
        super().__init__()
        if mode not in ("auto", "min", "max"):
            raise _C.located(ValueError(f"{type(self).__name__}: mode must be auto, min or max, not {mode!r}"))
        self.monitor, self.min_delta = monitor, min_delta
        self._up = mode == "max" or (mode == "auto" and "acc" in monitor)
        self._worst = -np.inf if self._up else np.inf

    def _better(self, a, b):
        return a > b + abs(self.min_delta) if self._up else a < b - abs(self.min_delta)

    def _value(self, logs):
        """The watched value of an evaluation, or None."""
        value = (logs or {}).get(self.monitor)
        while isinstance(value, (list, tuple)) and value:
            value = value[0]
        return float(value) if isinstance(value, (numbers.Number, np.generic)) else None


class EarlyStopping(_Monitor):
    """Stops training when a value of the evaluations no longer becomes better.

    Args:
        monitor (str): name of the value.
        mode (str): "min", "max" or "auto" (max if the name holds "acc").
        patience (int): evaluations without a better value that are borne.
        verbose (int): 1 prints when it stops.
        min_delta (float): how much better counts.
        baseline (float, optional): the first value must be better than this.
        save_best_model (bool): save the best to save_dir/best_model.

    Examples:
        >>> stop = proa.callbacks.EarlyStopping("acc", mode="max", patience=2)  # for Model.fit(callbacks=stop)
    """

    def __init__(
        self, monitor="loss", mode="auto", patience=0, verbose=1, min_delta=0, baseline=None, save_best_model=True
    ):
        super().__init__(monitor, mode, min_delta)
        self.patience, self.verbose, self.baseline = patience, verbose, baseline
        self.save_best_model, self.save_dir = save_best_model, None
        self.wait_epoch, self.best_value, self.stopped_epoch = 0, None, 0

    def on_train_begin(self, logs=None):
        self.wait_epoch = self.stopped_epoch = 0
        self.best_value = self._worst if self.baseline is None else self.baseline

    @property
    def _best(self):
        return os.path.join(self.save_dir, "best_model")

    def on_eval_end(self, logs=None):
        value = self._value(logs)
        if value is None or self.best_value is None:
            return
        self.stopped_epoch += 1
        if self._better(value, self.best_value):
            self.best_value, self.wait_epoch = value, 0
            if self.save_best_model and self.save_dir:
                self.model.save(self._best)
            return
        self.wait_epoch += 1
        if self.wait_epoch >= self.patience:
            self.model.stop_training = True
            if self.verbose:
                print(f"Epoch {self.stopped_epoch}: Early stopping.")
                if self.save_best_model and self.save_dir:
                    print(f"Best checkpoint has been saved at {os.path.abspath(self._best)}")


class ReduceLROnPlateau(_Monitor):
    """Lowers the learning rate when a value of the evaluations no longer becomes better.

    Args:
        monitor (str): name of the value.
        factor (float): on the rate, below 1.
        patience (int): evaluations without a better value that are borne.
        verbose (int): 1 prints each change.
        mode (str): "min", "max" or "auto" (max if the name holds "acc").
        min_delta (float): how much better counts.
        cooldown (int): evaluations after a change in which bad ones do not count.
        min_lr (float): the lowest rate.

    Examples:
        >>> plateau = proa.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=3)  # for Model.fit
    """

    def __init__(
        self,
        monitor="loss",
        factor=0.1,
        patience=10,
        verbose=1,
        mode="auto",
        min_delta=0.0001,
        cooldown=0,
        min_lr=0,
    ):
        super().__init__(monitor, mode, min_delta)
        if factor >= 1.0:
            raise _C.located(ValueError(f"ReduceLROnPlateau: factor must be below 1; it is {factor}"))
        self.factor, self.patience, self.verbose = factor, patience, verbose
        self.mode, self.cooldown, self.min_lr = mode, cooldown, min_lr
        self.on_train_begin()

    def on_train_begin(self, logs=None):
        self.best, self.wait, self.cooldown_counter, self.epoch = self._worst, 0, 0, 0

    def on_eval_end(self, logs=None):
        value = self._value(logs)
        if value is None:
            return
        self.epoch += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.wait = self.cooldown_counter - 1, 0
        if self._better(value, self.best):
            self.best, self.wait = value, 0
        elif self.cooldown_counter == 0:
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce()

    def _reduce(self):
        optimizer = self.model._optimizer
        if not isinstance(optimizer._learning_rate, float):
            kind = type(optimizer._learning_rate).__name__
            warnings.warn(f"ReduceLROnPlateau: the learning rate follows a {kind}; it stays as that says", stacklevel=2)
            self.wait = 0  # not each time
            return
        before = optimizer.get_lr()
        if before <= self.min_lr:
            return
        rate = max(before * self.factor, self.min_lr)
        optimizer.set_lr(rate)
        if self.verbose:
            print(f"\nEpoch {self.epoch}: ReduceLROnPlateau reducing learning rate to {rate}.")
        self.cooldown_counter, self.wait = self.cooldown, 0
