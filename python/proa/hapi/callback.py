"""Callback, what a Model tells of its loops, and a list of such."""

from proa import _C


class Callback:
    """Base of callbacks: what happens at the begin and end of training, epochs and batches.

    `self.model` is the Model; `self.params` holds epochs, steps, verbose, metrics, batch_size.

    Examples:
        >>> class Counter(proa.callbacks.Callback):
        ...     def on_train_batch_end(self, step, logs=None):
        ...         print(step, end=" ")
        >>> net = proa.nn.Linear(2, 1)
        >>> model = proa.Model(net)
        >>> model.prepare(proa.optimizer.SGD(0.1, parameters=net.parameters()), proa.nn.MSELoss())
        >>> data = proa.io.TensorDataset([proa.ones([6, 2]), proa.ones([6, 1])])
        >>> model.fit(data, batch_size=2, verbose=0, callbacks=Counter())
        0 1 2
    """

    def __init__(self):
        self.model = None
        self.params = {}

    def set_params(self, params):
        """Called with the facts of the run."""
        self.params = params

    def set_model(self, model):
        """Called with the Model."""
        self.model = model

    def on_train_begin(self, logs=None):
        """Before training."""

    def on_train_end(self, logs=None):
        """After training."""

    def on_eval_begin(self, logs=None):
        """Before an evaluation."""

    def on_eval_end(self, logs=None):
        """After an evaluation."""

    def on_predict_begin(self, logs=None):
        """Before prediction."""

    def on_predict_end(self, logs=None):
        """After prediction."""

    def on_epoch_begin(self, epoch, logs=None):
        """Before an epoch."""

    def on_epoch_end(self, epoch, logs=None):
        """After an epoch; logs holds the last values."""

    def on_train_batch_begin(self, step, logs=None):
        """Before a batch of training."""

    def on_train_batch_end(self, step, logs=None):
        """After a batch of training; logs holds its values."""

    def on_eval_batch_begin(self, step, logs=None):
        """Before a batch of evaluation."""

    def on_eval_batch_end(self, step, logs=None):
        """After a batch of evaluation."""

    def on_predict_batch_begin(self, step, logs=None):
        """Before a batch of prediction."""

    def on_predict_batch_end(self, step, logs=None):
        """After a batch of prediction."""


class CallbackList:
    """Calls the method of the same name of each callback: `on_train_begin(logs)`, or `on_begin("train", logs)`, and so on.

    Args:
        callbacks (list[Callback], optional): those that are called, in this order.
    """

    def __init__(self, callbacks=None):
        self.callbacks = list(callbacks or ())

    def __iter__(self):
        return iter(self.callbacks)

    def append(self, callback):
        """One more, after the others."""
        self.__dict__ = {"callbacks": [*self.callbacks, callback]}  # without what was looked up

    def set_params(self, params):
        """Tells each the facts of the run."""
        for callback in self.callbacks:
            callback.set_params(params)

    def set_model(self, model):
        """Tells each the Model."""
        for callback in self.callbacks:
            callback.set_model(model)

    def on_begin(self, mode, logs=None):
        """Before training, an evaluation or a prediction: `mode` is "train", "eval" or "predict"."""
        getattr(self, f"on_{_mode(mode)}_begin")(logs)

    def on_end(self, mode, logs=None):
        """After training, an evaluation or a prediction."""
        getattr(self, f"on_{_mode(mode)}_end")(logs)

    def on_batch_begin(self, mode, step=None, logs=None):
        """Before a batch of training, of an evaluation or of a prediction."""
        getattr(self, f"on_{_mode(mode)}_batch_begin")(step, logs)

    def on_batch_end(self, mode, step=None, logs=None):
        """After a batch of training, of an evaluation or of a prediction."""
        getattr(self, f"on_{_mode(mode)}_batch_end")(step, logs)

    def __getattr__(self, name):
        if not name.startswith("on_"):
            raise AttributeError(name)

        # Those that have something to do there; looked up once, not at every batch.
        nothing = (getattr(Callback, name, None), object.__getattribute__)
        busy = [
            c
            for c in self.callbacks
            if name in vars(c) or (getattr(type(c), name, None), type(c).__getattribute__) != nothing
        ]

        def call(position, logs=None):
            for callback in busy:
                getattr(callback, name)(position, logs)

        def call_whole(logs=None):
            for callback in busy:
                getattr(callback, name)(logs)

        call = call if "epoch" in name or "batch" in name else call_whole
        call.is_idle = not busy
        setattr(self, name, call)
        return call

    def watched(self, name):
        """The method of this name, None if no callback has anything to do there: for loops in which a call would be felt."""
        call = getattr(self, name)
        return None if call.is_idle else call


def _mode(mode):
    if mode not in ("train", "eval", "predict"):
        raise _C.located(ValueError(f"CallbackList: mode must be train, eval or predict, not {mode!r}"))
    return mode
