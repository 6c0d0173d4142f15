"""VisualDL: values of training and evaluations in files that VisualDL or TensorBoard show."""

import importlib
import numbers

import numpy as np

from proa.hapi.callback import Callback

__all__ = ["VisualDL"]


class VisualDL(Callback):
    """Writes the loss and the metrics, as train/... after each batch and as eval/... after each evaluation of an epoch.

    The files are those of the package visualdl where it is installed, else event files for TensorBoard
    (`proa.utils.LogWriter`). Only the first process of a machine writes.

    Args:
        log_dir (str): the folder of the files.

    Examples:
        >>> proa.callbacks.VisualDL("logs").log_dir
        'logs'
    """

    def __init__(self, log_dir):
        super().__init__()
        self.log_dir = log_dir
        self.epoch = self.train_step = 0
        self._writer = None

    def _is_write(self):
        from proa.distributed.parallel import ParallelEnv

        return ParallelEnv().local_rank == 0

    def on_train_begin(self, logs=None):
        self.train_step = 0
        if self._is_write():
            try:
                self._writer = importlib.import_module("visualdl").LogWriter(self.log_dir)
            except ImportError:
                from proa.utils.log_writer import LogWriter

                self._writer = LogWriter(self.log_dir)

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, step, logs=None):
        self.train_step += 1
        self._write("train", self.train_step, logs)

    def on_eval_end(self, logs=None):
        self._write("eval", self.epoch, logs)

    def _write(self, mode, step, logs):
        if self._writer is None:
            return
        for name in self.params.get("metrics", ()):
            value = (logs or {}).get(name)
            while isinstance(value, (list, tuple)) and value:
                value = value[0]
            if isinstance(value, (numbers.Number, np.generic)):
                self._writer.add_scalar(tag=f"{mode}/{name}", step=step, value=float(value))

    def on_train_end(self, logs=None):
        if self._writer is not None:
            self._writer.close()
            self._writer = None
