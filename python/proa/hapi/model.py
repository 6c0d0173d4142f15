"""Model: a network with an optimizer, a loss and metrics, trained by `fit`."""

import contextlib
import itertools
import numbers
import os
import warnings
from typing import Any

import numpy as np

from proa import _C
from proa.framework.grad_mode import no_grad
from proa.framework.nested import flatten, rebuild
from proa.framework.parameter import Parameter
from proa.framework.serialization import load_together, save_together
from proa.hapi.callbacks import EarlyStopping, config_callbacks
from proa.hapi.fields import fields_of, listed, parameters, stacked, tensors
from proa.hapi.precision import Precision
from proa.hapi.shares import Gathered, Shares, is_first, loader_of
from proa.metric import Metric

_SHORT = (_C.float16, _C.bfloat16)


class Model:
    """A network with what is needed to train it.

    Args:
        network (Layer): what is trained.
        inputs (InputSpec|list|dict, optional): of the network; decides how many fields of a sample are inputs. Unless
            given, `forward` decides: what it takes, and of several possible numbers the one that leaves one label.
        labels (InputSpec|list, optional): of the labels.

    Batches are computed at once, whether a program is being recorded (`paddle.enable_static()`) or not. Of several
    processes (`paddle.distributed.launch`), each trains on its share of a data set with the mean of all gradients, knows
    the metrics and outputs over all of it, and the first one prints and writes files. A loader that is given decides itself
    what a process gets; one with a DistributedBatchSampler shares in the same way.

    Examples:
        >>> net = proa.nn.Sequential(proa.nn.Flatten(), proa.nn.Linear(4, 2))
        >>> model = proa.Model(net)
        >>> adam = proa.optimizer.Adam(0.01, parameters=model.parameters())
        >>> model.prepare(adam, proa.nn.CrossEntropyLoss(), proa.metric.Accuracy())
        >>> data = proa.io.TensorDataset([proa.randn([8, 2, 2]), proa.randint(0, 2, [8])])
        >>> model.fit(data, batch_size=4, epochs=1, verbose=0)
    """

    def __init__(self, network, inputs=None, labels=None):
        self.network = network
        self._names_taken, self._least = parameters(network)
        if isinstance(inputs, dict):
            inputs = [inputs[name] for name in self._names_taken or inputs if name in inputs]
        self._inputs, self._labels = listed(inputs), listed(labels)
        self._splits = {}  # (number of fields of a batch, whether it is labelled) -> how many of them are inputs
        self._split = None  # of the last labelled batch
        self._are_pairs = False  # of the last batch: an input and a label
        self._seen = []  # shape and dtype of the inputs of the first batch of what ran last
        self._optimizer, self._loss, self._metrics = None, None, []
        self._precision, self._shares, self._is_plain = Precision(None, network, None), Shares(network), True
        self.mode = "train"
        self.stop_training = False
        self._gathered = _alone  # outputs and labels of this process -> of all, in `evaluate` and `predict`
        self._in_epoch = False  # a batch of the epoch that runs was trained on, so that layers are as they should be

    def parameters(self, *args, **kwargs) -> list[Parameter]:
        """The network's parameters."""
        return self.network.parameters(*args, **kwargs)

    def prepare(self, optimizer=None, loss=None, metrics=None, amp_configs=None):
        """Sets what training and evaluation need.

        Args:
            optimizer (Optimizer, optional): for training.
            loss (Callable, optional): outputs and labels -> loss.
            metrics (Metric|list[Metric], optional): computed in training and evaluation.
            amp_configs (str|dict, optional): mixed precision: "O1", "O2" (the network's parameters become 16-bit), or a
                dict of "level", "dtype" ("float16", "bfloat16"), "custom_white_list", "custom_black_list" as of
                `auto_cast`, "init_loss_scaling", "incr_ratio", "decr_ratio", "incr_every_n_steps",
                "decr_every_n_nan_or_inf", "use_dynamic_loss_scaling" as of `GradScaler`. "O0" or None for none.

        Raises:
            TypeError: for a loss or metrics of another kind.
            ValueError: for another level, or a key that amp_configs does not have.
        """
        for name, value in (("optimizer", optimizer), ("loss", loss), *(("metrics", m) for m in listed(metrics))):
            if isinstance(value, type):
                raise _C.located(
                    TypeError(
                        f"Model.prepare: {name} is the class {value.__name__}; give an object of it: {value.__name__}(...)"
                    )
                )
        if loss is not None and not callable(loss):
            raise _C.located(TypeError(f"Model.prepare: loss must be callable, not {type(loss).__name__}"))
        metrics = listed(metrics)
        for metric in metrics:
            if not isinstance(metric, Metric):
                raise _C.located(TypeError(f"Model.prepare: metrics must be Metrics, not {type(metric).__name__}"))
        with _C.eager_mode():
            self._shares.join()
            self._precision = Precision(amp_configs, self.network, optimizer)
        self._optimizer, self._loss, self._metrics = optimizer, loss, metrics
        self._splits, self._are_pairs = {}, False
        self._is_plain = self._precision.is_plain and not self._shares.are_several

    # Batches -----------------------------------------------------------------

    def _loss_of(self, outputs, labels):
        """(losses, their sum). A loss has the digits of float32, whatever the network computes in."""
        one = isinstance(outputs, _C.Tensor)
        if one and outputs.dtype is _C.float32:  # as most are
            losses = self._loss(outputs, *labels)
        else:
            widened = [t if t.dtype not in _SHORT else t.astype(_C.float32) for t in flatten(outputs)]
            losses = self._loss(*listed(rebuild(outputs, iter(widened))), *labels)
        if isinstance(losses, _C.Tensor):
            return [losses], losses
        losses = listed(losses)
        total = losses[0]
        for loss in losses[1:]:
            total = total + loss
        return losses, total

    def _update_metrics(self, outputs, labels):
        values = []
        for metric in self._metrics:
            computed = metric.compute(*listed(outputs), *labels)
            # Metrics of programs compute with NumPy.
            arrays = [v.numpy() if isinstance(v, _C.Tensor) else v for v in listed(computed)]
            values.append(metric.update(*arrays))
        return values

    def _run(self, inputs):
        if not self._seen:
            self._seen = [(t.shape, t.dtype) for t in inputs]
        if self._is_plain:
            return self.network(*inputs)
        with self._precision.cast():
            return self._shares.run(*inputs)

    def _seen_specs(self):
        from proa.jit.input_spec import InputSpec

        names = self._names_taken or [f"x{i}" for i in range(len(self._seen))]
        return [InputSpec([None, *shape[1:]] if shape else [], d, n) for (shape, d), n in zip(self._seen, names)]

    def _result(self, losses, values):
        if not self._metrics:
            return losses
        return (losses, values) if self._loss else values

    def _of_arrays(self, result):
        """A result whose losses are arrays."""
        if not self._loss:
            return result
        if self._metrics:
            return [loss.numpy() for loss in result[0]], result[1]
        return [loss.numpy() for loss in result]

    def train_batch(self, inputs, labels=None, update=True):
        """One step of training.

        Args:
            inputs, labels: arrays or tensors, or lists of them.
            update (bool): let the optimizer change the parameters.

        Returns:
            list of losses; with metrics, (that list, list of their values).
        """
        return self._of_arrays(self._train_batch(tensors(inputs), tensors(labels), update))

    def _train_batch(self, inputs, labels, update):
        """`train_batch` of lists of tensors, whose losses are tensors too."""
        if self._optimizer is None or self._loss is None:
            raise _C.located(RuntimeError("Model.train_batch: call prepare with an optimizer and a loss first"))
        # A walk over all layers in each batch of `fit` would be felt.
        if not (self._in_epoch and self.mode == "train" and self.network.training):
            self.network.train()
            self.mode = "train"
        if not _C.in_static_mode():
            return self._step(inputs, labels, update)
        with _C.eager_mode():
            return self._step(inputs, labels, update)

    def _step(self, inputs, labels, update):
        if self._is_plain:  # what a loop by hand would do, and no more
            outputs = self._run(inputs)
            losses, total = self._loss_of(outputs, labels)
            total.backward()
            if update:
                self._optimizer.step()
                self._optimizer.clear_grad()
        else:
            with self._shares.batch(update):
                outputs = self._run(inputs)
                losses, total = self._loss_of(outputs, labels)
                self._precision.backward(total)
            if update:
                self._precision.step(self._optimizer)
                self._optimizer.clear_grad()
        if not self._metrics:
            return losses
        with no_grad():
            return self._result(losses, self._update_metrics(outputs, labels))

    def eval_batch(self, inputs, labels=None):
        """Losses and metrics of a batch; returns as train_batch does, without a loss the list of metrics."""
        return self._of_arrays(self._eval_batch(tensors(inputs), tensors(labels)))

    def _eval_batch(self, inputs, labels):
        self.network.eval()
        self.mode = "eval"
        with _C.eager_mode(), no_grad():
            outputs, labels = self._gathered(listed(self._run(inputs)), labels)
            losses = self._loss_of(outputs, labels)[0] if self._loss else []
            return self._result(losses, self._update_metrics(outputs, labels))

    def predict_batch(self, inputs) -> list[np.ndarray]:
        """The network's outputs for a batch: a list of arrays; of what is nested in an output as it is nested."""
        return self._predict_batch(tensors(inputs))

    def _predict_batch(self, inputs):
        self.network.eval()
        self.mode = "test"
        with _C.eager_mode(), no_grad():
            (outputs,) = self._gathered(listed(self._run(inputs)))
            return [rebuild(output, iter([t.numpy() for t in flatten(output)])) for output in outputs]

    # Loops -------------------------------------------------------------------

    def _of_batches(self, name):
        """What the loops call for a batch: this method of a subclass, or what it is without the copies of its results."""
        own = getattr(type(self), name) is not getattr(Model, name) or name in vars(self)
        return getattr(self, name if own else f"_{name}")

    @contextlib.contextmanager
    def _gathering(self, loader):
        """While batches of the loader are evaluated: what is computed of one is that of all processes."""
        self._gathered = Gathered(loader)
        try:
            yield self._gathered
        finally:
            self._gathered = _alone

    def _fields(self, batch, labelled=True):
        """(inputs, labels) of a batch."""
        if self._are_pairs and labelled and type(batch) in (tuple, list) and len(batch) == 2:  # as most are
            x, y = batch
            if type(x) is _C.Tensor and type(y) is _C.Tensor:
                return [x], [y]
        fields = fields_of(batch)
        n = self._splits.get((len(fields), labelled))
        if n is None:
            n = self._splits[len(fields), labelled] = self._inputs_among(len(fields), labelled)
        if labelled and n != self._split:
            self._splits, self._split = {}, n  # a batch without labels is divided as those with them
        self._are_pairs = labelled and n == 1 and len(fields) == 2
        return fields[:n], fields[n:]

    def _inputs_among(self, count, labelled):
        """How many of so many fields are inputs."""
        most = count if self._names_taken is None else len(self._names_taken)
        if self._inputs:
            return len(self._inputs)
        if labelled:
            return max(min(count - max(len(self._labels), 1), most), self._least, 1)
        if self._names_taken is None and (self._loss or self._labels):
            return max(count - 1, 1)
        return self._split or most

    def _names(self):
        names = ["loss"] if self._loss else []
        for metric in self._metrics:
            names.extend(listed(metric.name()))
        return names

    def _logs(self, result, step, samples):
        """What callbacks are told of a batch: of what train_batch or eval_batch gave, its number and its size."""
        logs = {}
        if self._loss:
            losses = result[0] if self._metrics else result
            logs["loss"] = [float(loss if getattr(loss, "size", 1) == 1 else loss.mean()) for loss in losses]
        for metric in self._metrics:
            logs.update(zip(listed(metric.name()), listed(metric.accumulate())))
        logs["step"], logs["batch_size"] = step, samples
        return logs

    def fit(
        self,
        train_data=None,
        eval_data=None,
        batch_size=1,
        epochs=1,
        eval_freq=1,
        log_freq=10,
        save_dir=None,
        save_freq=1,
        verbose=2,
        drop_last=False,
        shuffle=True,
        num_workers=0,
        callbacks=None,
        accumulate_grad_batches=1,
        num_iters=None,
    ) -> None:
        """Trains.

        Args:
            train_data (Dataset|DataLoader): samples (input..., label), or batches of them.
            eval_data (Dataset|DataLoader, optional): evaluated after the first epoch and every `eval_freq` epochs from there.
            batch_size (int|list[int]): of data sets; a list of two: of the one to train with, and of the evaluated one.
            epochs (int): passes over the data; `num_iters` decides where it is given and data has a length.
            log_freq (int): batches between two updates of the output.
            save_dir (str, optional): where to save every `save_freq` epochs and at the end.
            verbose (int): 0 nothing, 1 a progress bar, 2 a line for each update, 3 with what batches take.
            drop_last, shuffle, num_workers: of the loader of a training data set; an IterableDataset keeps its order.
            callbacks (Callback|list[Callback], optional): called besides.
            accumulate_grad_batches (int): batches whose gradients are added up for a step; the last ones of an epoch, or
                before `num_iters`, may be fewer.
            num_iters (int, optional): train with so many batches, in as many epochs as that takes.
        """
        if train_data is None:
            raise _C.located(ValueError("Model.fit: train_data is missing"))
        for name, count in (("accumulate_grad_batches", accumulate_grad_batches), ("num_iters", num_iters)):
            if (count is not None or name != "num_iters") and (not isinstance(count, numbers.Integral) or count < 1):
                raise _C.located(ValueError(f"Model.fit: {name} must be an int >= 1, not {count!r}"))
        batch_size, eval_batch_size = batch_size if isinstance(batch_size, (list, tuple)) else (batch_size, batch_size)
        loader = loader_of(train_data, batch_size, shuffle, num_workers, drop_last)
        eval_loader = None if eval_data is None else loader_of(eval_data, eval_batch_size, False, num_workers)
        steps = told = _length(loader)
        if num_iters is not None and steps:
            epochs, told = -(-num_iters // steps), min(num_iters, steps)
        callbacks = config_callbacks(
            callbacks, self, batch_size, epochs, told, log_freq, verbose, save_freq, save_dir, self._names()
        )
        if eval_loader is None and any(isinstance(c, EarlyStopping) for c in callbacks):
            warnings.warn("EarlyStopping needs validation data.", stacklevel=2)
        self.stop_training = self._in_epoch = False
        self._seen = []
        train = self._of_batches("train_batch")
        done = 0
        logs: dict[str, Any] = {}
        callbacks.on_train_begin(None)  # callbacks of programs may take it without a default
        for epoch in range(epochs):
            callbacks.on_epoch_begin(epoch, None)
            for metric in self._metrics:
                metric.reset()
            # Of data without a length, the next batch tells whether this one is the last: only groups ask for it.
            ask = accumulate_grad_batches > 1 and steps is None
            # After a step of the network nothing of this loop is in a cache: what nobody watches is not done, as it is felt.
            begins, ends = callbacks.watched("on_train_batch_begin"), callbacks.watched("on_train_batch_end")
            step, inputs, result = -1, None, None
            for step, batch in enumerate(_with_last(loader) if ask else loader):
                if begins:
                    begins(step, logs)
                batch, last = batch if ask else (batch, False)
                inputs, labels = self._fields(batch)
                update = accumulate_grad_batches == 1 or (
                    (step + 1) % accumulate_grad_batches == 0 or last or step + 1 == steps or done + 1 == num_iters
                )
                result = train(inputs, labels, update)
                self._in_epoch = True
                if begins or ends:
                    logs = self._logs(result, step, len(inputs[0]) if inputs else 0)
                    if ends:
                        ends(step, logs)
                done += 1
                if num_iters is not None and done >= num_iters:
                    self.stop_training = True
                    break
            self._in_epoch = False
            if step >= 0 and not (begins or ends):
                logs = self._logs(result, step, len(inputs[0]) if inputs else 0)
            callbacks.on_epoch_end(epoch, logs)
            if eval_loader is not None and epoch % eval_freq == 0:
                self._evaluate(eval_loader, callbacks)
            if self.stop_training:
                break
        callbacks.on_train_end(logs)

    def _evaluate(self, loader, callbacks, num_iters=None):
        for metric in self._metrics:
            metric.reset()
        steps = _length(loader)
        if num_iters is not None and steps is not None:
            steps = min(num_iters, steps)
        callbacks.on_eval_begin({"steps": steps, "metrics": self._names()})
        samples, logs, evaluate = 0, {}, self._of_batches("eval_batch")
        with self._gathering(loader) as gathered:
            for step, batch in enumerate(itertools.islice(loader, num_iters)):
                callbacks.on_eval_batch_begin(step, logs)
                inputs, labels = self._fields(batch)
                result = evaluate(inputs, labels)
                samples += gathered.count(inputs)
                logs = self._logs(result, step, gathered.count(inputs))
                callbacks.on_eval_batch_end(step, logs)
        logs["samples"] = samples
        callbacks.on_eval_end(logs)
        return {name: logs[name] for name in self._names() if name in logs}

    def evaluate(
        self, eval_data, batch_size=1, log_freq=10, verbose=2, num_workers=0, callbacks=None, num_iters=None
    ) -> dict[str, Any]:
        """Metrics over a data set, and the loss of its last batch: a dict, such as {"loss": [0.1], "acc": 0.98}."""
        self._seen = []
        loader = loader_of(eval_data, batch_size, False, num_workers)
        callbacks = config_callbacks(
            callbacks, self, batch_size, log_freq=log_freq, verbose=verbose, metrics=self._names()
        )
        return self._evaluate(loader, callbacks, num_iters)

    def predict(
        self, test_data, batch_size=1, num_workers=0, stack_outputs=False, verbose=1, callbacks=None
    ) -> list[Any]:
        """The outputs for a data set.

        Args:
            test_data (Dataset|DataLoader): samples; labels are ignored.
            batch_size, num_workers: of the loader of a data set.
            stack_outputs (bool): one array for each output instead of a list of batches.

        Returns:
            list: for each output of the network a tuple of arrays, one for each batch, or one array.
        """
        self._seen = []
        loader = loader_of(test_data, batch_size, False, num_workers)
        callbacks = config_callbacks(callbacks, self, batch_size, verbose=verbose)
        callbacks.on_predict_begin({"steps": _length(loader)})
        batches, samples, predict = [], 0, self._of_batches("predict_batch")
        logs: dict[str, Any] = {}
        with self._gathering(loader) as gathered:
            for step, batch in enumerate(loader):
                callbacks.on_predict_batch_begin(step, logs)
                inputs, _ = self._fields(batch, labelled=False)
                batches.append(predict(inputs))
                samples += gathered.count(inputs)
                logs = {"step": step, "batch_size": gathered.count(inputs)}
                callbacks.on_predict_batch_end(step, logs)
        callbacks.on_predict_end({**logs, "samples": samples})
        outputs = list(zip(*batches))
        return [stacked(i, parts) for i, parts in enumerate(outputs)] if stack_outputs else outputs

    # Files -------------------------------------------------------------------

    def save(self, path, training=True) -> None:
        """Saves parameters to path.pdparams, the optimizer's state to path.pdopt, a loss scaler's to path.pdscaler.

        Whatever happens to this process, `Model.load` finds all as they were or all new.
        With training=False saves a program for inference instead, as jit.save does: for the Model's inputs, or for such as
        what ran last had, of any number. Of several processes the first one writes.
        """
        if not os.path.basename(path):
            raise _C.located(ValueError(f"Model.save: {path!r} is a folder; give a folder and a name"))
        if not is_first():
            return
        if not training:
            from proa import jit

            specs = self._inputs or self._seen_specs()
            if not specs:
                raise _C.located(
                    RuntimeError(
                        "Model.save: an inference program needs inputs; make the Model with inputs, or run a batch first"
                    )
                )
            self.network.eval()
            jit.save(self.network, path, input_spec=specs)
            return
        values = {path + ".pdparams": self.network.state_dict()}
        if self._optimizer is not None and self._optimizer.state_dict():
            values[path + ".pdopt"] = self._optimizer.state_dict()
        if self._precision.scaler is not None:
            values[path + ".pdscaler"] = self._precision.scaler.state_dict()
        save_together(values)

    def load(self, path, skip_mismatch=False, reset_optimizer=False) -> None:
        """Loads what `save` saved.

        Args:
            path (str): as given to save.
            skip_mismatch (bool): leave out values that are missing or of another shape.
            reset_optimizer (bool): do not load the states of the optimizer and of the loss scaler.
        """
        path = path[: -len(".pdparams")] if path.endswith(".pdparams") else path
        state, optimizer_state, scaler_state = load_together([path + s for s in (".pdparams", ".pdopt", ".pdscaler")])
        own = self.network.state_dict()
        wrong = [n for n, t in own.items() if n not in state or list(state[n].shape) != list(t.shape)]
        if wrong and not skip_mismatch:
            raise _C.located(
                ValueError(
                    f"Model.load: {path}.pdparams does not fit the network at {', '.join(wrong[:5])}; "
                    "skip_mismatch=True leaves these out"
                )
            )
        for name in wrong:
            found = f"a shape {list(state[name].shape)}" if name in state else "nothing"
            warnings.warn(
                f"Skip loading for {name}. {name} receives {found}, but the expected shape is {list(own[name].shape)}.",
                stacklevel=2,
            )
        # Its own values in place of those, or the layer would say once more what it did not get.
        self.network.set_state_dict({n: v for n, v in state.items() if n not in wrong} | {n: own[n] for n in wrong})
        if self._optimizer is not None and not reset_optimizer and optimizer_state is not None:
            self._optimizer.set_state_dict(optimizer_state)
        if self._precision.scaler is not None and not reset_optimizer and scaler_state is not None:
            self._precision.scaler.load_state_dict(scaler_state)

    def summary(self, input_size=None, dtype=None, batch_size=None) -> dict[str, int]:
        """Prints the network's layers, the shapes of their results and the number of parameters."""
        from proa.hapi.summary import summary

        if input_size is None:
            if not self._inputs:
                raise _C.located(ValueError("Model.summary: input_size is missing"))
            input_size = [tuple(batch_size or 1 if d in (None, -1) else d for d in s.shape) for s in self._inputs]
        return summary(self.network, input_size, dtype)


def _length(loader):
    try:
        return len(loader)
    except (TypeError, RuntimeError):
        return None


def _with_last(batches):
    """Each batch, and whether it is the last one."""
    batches = iter(batches)
    for batch in batches:
        for following in batches:
            yield batch, False
            batch = following
        yield batch, True


def _alone(*parts):
    return parts


def _all_gather(x):
    """x of all processes, one after another: of one process, x."""
    return x


def __getattr__(name):
    if name in ("Input", "InputSpec"):
        from proa.jit.input_spec import InputSpec

        return InputSpec
    if name == "ParallelEnv":
        from proa.distributed.parallel import ParallelEnv

        return ParallelEnv
    from proa.framework.names import MissingName

    raise MissingName(__name__, name)
