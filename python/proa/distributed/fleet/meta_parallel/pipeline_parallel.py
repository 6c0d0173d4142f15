"""Training of a PipelineLayer in micro-batches, in the order of a schedule (pp_utils/schedule.py)."""

from proa import _C
from proa.distributed import collective
from proa.distributed.fleet.meta_parallel.meta_parallel_base import MetaParallelBase
from proa.distributed.fleet.meta_parallel.parallel_layers import PipelineLayer
from proa.distributed.fleet.meta_parallel.pp_utils.p2p_communication import Line
from proa.distributed.fleet.meta_parallel.pp_utils.schedule import schedule
from proa.distributed.fleet.utils.hybrid_parallel_util import Quiet
from proa.framework.grad_mode import no_grad

__all__ = ["PipelineParallel", "PipelineParallelWithInterleave"]


def _tensors(value):
    return value if isinstance(value, (tuple, list)) else (value,)


class PipelineParallel(MetaParallelBase):
    """A PipelineLayer and the schedule by which its stages work.

    `strategy.pipeline_configs` says how a batch is divided: `accumulate_steps` micro-batches of `micro_batch_size`.
    All stages are given the whole batch; the first uses the inputs, the last the labels. A model with
    `num_virtual_pipeline_stages` above 1 has several parts a stage, and is worked on in the interleaved order.

    Attributes:
        order (list[Step]): what this stage did in the last batch, as it did it.

    Args:
        layers (PipelineLayer): the model.
        hcg (HybridCommunicateGroup): the groups of this process.
        strategy (DistributedStrategy): how it is trained.
    """

    def __init__(self, layers, hcg, strategy):
        if isinstance(layers, PipelineLayer):
            layers.check_shared_weights()
        super().__init__(layers, hcg, strategy)
        self.__dict__["_model"] = layers  # `_layers` may be a wrapper of it
        configs = strategy.pipeline_configs
        self.micro_batch_size, self.accumulate_steps = configs["micro_batch_size"], configs["accumulate_steps"]
        self._mode = configs["schedule_mode"]
        self.num_stages, self.stage_id = hcg.get_pipe_parallel_world_size(), hcg.get_stage_id()
        self.is_first_stage = self.is_pipeline_first_stage = hcg.is_first_stage()
        self.is_last_stage = self.is_pipeline_last_stage = hcg.is_last_stage()
        self._group = hcg.get_pipe_parallel_group()
        self._line = Line(self._group)
        self._chunks = layers.get_num_virtual_stages()
        self.total_loss, self._scaler, self.order = None, None, []
        self.sums_gradients = False  # over micro-batches, in place of means: who sets it divides them
        self._steps()  # wrong settings are said now

    def _steps(self, mode=None):
        return schedule(mode or self._mode, self.num_stages, self.stage_id, self.accumulate_steps, self._chunks)

    def _begins(self, chunk):
        """Whether a chunk of this stage is the first part of the model."""
        return self.is_first_stage and chunk == 0

    def _ends(self, chunk):
        """Whether a chunk of this stage is the last part of the model."""
        return self.is_last_stage and chunk == self._chunks - 1

    # Parts of a batch ------------------------------------------------------------

    def _micro(self, part, index, what):
        """Micro-batch `index` of a tensor or nested tensors."""
        if isinstance(part, (tuple, list)):
            return tuple(self._micro(one, index, what) for one in part)
        if not isinstance(part, _C.Tensor):
            return part
        want = self.micro_batch_size * self.accumulate_steps
        if part.ndim == 0 or part.shape[0] != want:
            raise _C.located(
                ValueError(
                    f"train_batch: {what} of shape {list(part.shape)} in {self.accumulate_steps} micro-batches of "
                    f"{self.micro_batch_size} (pipeline_configs): the first dim must be {want}"
                )
            )
        begin = index * self.micro_batch_size
        return part[begin : begin + self.micro_batch_size]

    def _through(self, data, step):
        """(inputs, outputs) of one micro-batch through one chunk; the outputs have gone to the next, if there is one."""
        if self._begins(step.chunk):
            x = self._micro(data[0], step.micro, "the input")
        else:
            x = self._line.receive(-1, step)
        y = self._layers(x, step.chunk)
        if not self._ends(step.chunk):
            self._line.send(y, 1, step._replace(chunk=step.chunk + self.is_last_stage))
        return x, y

    def _forward_step(self, data, step):
        """(inputs, outputs) as `_through`; of the last part the loss in place of outputs."""
        x, y = self._through(data, step)
        if not self._ends(step.chunk):
            return x, y
        if self._model._loss_fn is None:
            raise _C.located(RuntimeError("train_batch: the PipelineLayer has no loss_fn"))
        loss = self._model._loss_fn(y, self._micro(data[1], step.micro, "the label"))
        if loss.size != 1:
            raise _C.located(ValueError(f"train_batch: loss_fn must give one number, not shape {list(loss.shape)}"))
        mean = loss / self.accumulate_steps if self.accumulate_steps > 1 else loss
        with Quiet():
            shown = mean.detach().astype(_C.float32)
            self.total_loss = shown if self.total_loss is None else self.total_loss + shown
        return x, loss if self.sums_gradients else mean

    def _backward_step(self, step, inputs, outputs):
        if self._ends(step.chunk):
            loss = outputs if self._scaler is None else self._scaler.scale(outputs)
            loss.backward()
        else:
            pairs = zip(_tensors(outputs), _tensors(self._line.receive(1, step)))
            pairs = [(y, dy) for y, dy in pairs if dy is not None and not y.stop_gradient]
            if pairs:
                _run_backward([y for y, _ in pairs], [dy for _, dy in pairs])
        if not self._begins(step.chunk):
            grads = [None if x is None or x.stop_gradient else _grad(x) for x in _tensors(inputs)]
            grads = tuple(grads) if isinstance(inputs, tuple) else (grads[0],)
            self._line.send(grads, -1, step._replace(chunk=step.chunk - self.is_first_stage))

    def forward_backward_pipeline(self, data, scaler=None):
        """Gradients and the loss of one batch, without a step.

        Args:
            data (tuple): (inputs, labels) of all micro-batches.
            scaler (GradScaler, optional): scales the loss.

        Returns:
            Tensor: the mean loss, on all stages.
        """
        self._run_schedule(data, scaler)
        return self._broadcast_loss()

    def _run_schedule(self, data, scaler):
        """Gradients of one batch; the loss stays on the last stage."""
        if not isinstance(data, (tuple, list)) or len(data) != 2:
            raise _C.located(TypeError("train_batch: data must be (inputs, labels)"))
        self._scaler, self.total_loss, self.order = scaler, None, []
        waiting = {}
        for step in self._steps():
            place = (step.micro, step.chunk)
            if step.kind == "forward":
                waiting[place] = self._forward_step(data, step)
            else:
                self._backward_step(step, *waiting.pop(place))
            self.order.append(step)
        self._line.finish()
        self._model.allreduce_shared_weight_gradients()

    def _broadcast_loss(self):
        """The last stage's loss on all stages."""
        with Quiet(), _C.eager_mode():
            if self.is_last_stage:
                loss = self.total_loss.reshape([1]).clone()
            else:
                loss = _C.ops.full([1], 0.0, _C.float32)
            collective.broadcast(loss, self._group.ranks[-1], self._group)
            return loss.reshape([])

    def train_batch(self, data, optimizer, lr_scheduler=None, scaler=None):
        """One step of training.

        Args:
            data (tuple): (inputs, labels); each a tensor or a tuple of tensors whose first dim is
                `accumulate_steps * micro_batch_size`.
            optimizer (Optimizer): from `fleet.distributed_optimizer`; its gradients are cleared afterwards.
            lr_scheduler (LRScheduler, optional): is stepped.
            scaler (GradScaler, optional): from `fleet.distributed_scaler`.

        Returns:
            Tensor: the mean loss of the micro-batches, the same on all stages.
        """
        self._layers.train()
        self._run_schedule(data, scaler)
        with Quiet():  # called inside of auto_cast, which is for forward
            if scaler is None:
                optimizer.step()
            else:
                scaler.step(optimizer)
                scaler.update()
            optimizer.clear_grad()
        if lr_scheduler is not None:
            lr_scheduler.step()
        # Last, as it makes all stages wait for one another: those that are done early have stepped meanwhile.
        return self._broadcast_loss()

    @no_grad()
    def eval_batch(self, data, compute_loss=False):
        """Forward alone.

        Args:
            data (tuple): as in `train_batch`.
            compute_loss (bool): give the mean loss on all stages.

        Returns:
            Tensor: the loss; or, on the last stage, the outputs of all micro-batches, None on the others.
        """
        self._layers.eval()
        self.total_loss, found = None, []
        for step in self._steps("F-then-B"):
            if step.kind == "backward":
                break
            if compute_loss:
                self._forward_step(data, step)
                continue
            _, y = self._through(data, step)
            if self._ends(step.chunk):
                found.append(y)
        self._line.finish()
        if compute_loss:
            return self._broadcast_loss()
        if not found:
            return None
        if isinstance(found[0], tuple):
            return tuple(_C.ops.concat(list(parts), 0) for parts in zip(*found))
        return _C.ops.concat(found, 0)


def _run_backward(outputs, grads):
    from proa import autograd

    autograd.backward(outputs, grads)


def _grad(x):
    if x.grad is not None:
        return x.grad
    with _C.eager_mode():
        return _C.ops.full_like(x.detach(), 0.0)


class PipelineParallelWithInterleave(PipelineParallel):
    """PipelineParallel of a model with several parts a stage (`PipelineLayer(num_virtual_pipeline_stages=2)`)."""
