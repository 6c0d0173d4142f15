"""Training of a PipelineLayer in micro-batches: each stage alternates one forward and one backward (1F1B)."""

from proa import _C
from proa.distributed import collective
from proa.distributed.fleet.meta_parallel.meta_parallel_base import MetaParallelBase
from proa.distributed.fleet.meta_parallel.pp_utils.p2p_communication import Line
from proa.framework.grad_mode import no_grad

__all__ = ["PipelineParallel", "PipelineParallelWithInterleave"]


def _tensors(value):
    return value if isinstance(value, (tuple, list)) else (value,)


class PipelineParallel(MetaParallelBase):
    """A PipelineLayer and the schedule by which its stages work.

    `strategy.pipeline_configs` says how a batch is divided: `accumulate_steps` micro-batches of `micro_batch_size`.
    All stages are given the whole batch; the first uses the inputs, the last the labels.

    Args:
        layers (PipelineLayer): the model.
        hcg (HybridCommunicateGroup): the groups of this process.
        strategy (DistributedStrategy): how it is trained.
    """

    def __init__(self, layers, hcg, strategy):
        super().__init__(layers, hcg, strategy)
        configs = strategy.pipeline_configs
        self.micro_batch_size, self.accumulate_steps = configs["micro_batch_size"], configs["accumulate_steps"]
        if configs["schedule_mode"] not in ("1F1B", "F-then-B"):
            raise _C.located(
                ValueError(
                    f"pipeline_configs['schedule_mode'] must be '1F1B' or 'F-then-B', not {configs['schedule_mode']!r}"
                )
            )
        self._all_first = configs["schedule_mode"] == "F-then-B"
        self.num_stages, self.stage_id = hcg.get_pipe_parallel_world_size(), hcg.get_stage_id()
        self.is_first_stage = self.is_pipeline_first_stage = hcg.is_first_stage()
        self.is_last_stage = self.is_pipeline_last_stage = hcg.is_last_stage()
        self._group = hcg.get_pipe_parallel_group()
        self._line = Line(self._group)
        self.total_loss, self._scaler = None, None

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

    def _forward_step(self, data, index):
        """(inputs, outputs) of this stage for one micro-batch; of the last stage the loss."""
        if self.is_first_stage:
            x = self._micro(data[0], index, "the input")
        else:
            x = self._line.receive(-1)
        y = self._layers(x)
        if not self.is_last_stage:
            self._line.send(y, 1)
            return x, y
        if self._layers._loss_fn is None:
            raise _C.located(RuntimeError("train_batch: the PipelineLayer has no loss_fn"))
        loss = self._layers._loss_fn(y, self._micro(data[1], index, "the label"))
        if loss.size != 1:
            raise _C.located(ValueError(f"train_batch: loss_fn must give one number, not shape {list(loss.shape)}"))
        if self.accumulate_steps > 1:
            loss = loss / self.accumulate_steps
        self.total_loss = loss.detach() if self.total_loss is None else self.total_loss + loss.detach()
        return x, loss

    def _backward_step(self, inputs, outputs):
        if self.is_last_stage:
            loss = outputs if self._scaler is None else self._scaler.scale(outputs)
            loss.backward()
        else:
            pairs = zip(_tensors(outputs), _tensors(self._line.receive(1)))
            pairs = [(y, dy) for y, dy in pairs if dy is not None and not y.stop_gradient]
            if pairs:
                _run_backward([y for y, _ in pairs], [dy for _, dy in pairs])
        if not self.is_first_stage:
            grads = [None if x is None or x.stop_gradient else _grad(x) for x in _tensors(inputs)]
            self._line.send(tuple(grads) if isinstance(inputs, tuple) else (grads[0],), -1)

    def forward_backward_pipeline(self, data, scaler=None):
        """Gradients and the loss of one batch, without a step.

        Args:
            data (tuple): (inputs, labels) of all micro-batches.
            scaler (GradScaler, optional): scales the loss.

        Returns:
            Tensor: the mean loss, on all stages.
        """
        if not isinstance(data, (tuple, list)) or len(data) != 2:
            raise _C.located(TypeError("train_batch: data must be (inputs, labels)"))
        self._scaler, self.total_loss = scaler, None
        count = self.accumulate_steps
        early = count if self._all_first else min(self.num_stages - self.stage_id - 1, count)
        waiting = [self._forward_step(data, index) for index in range(early)]
        for index in range(early, count):
            waiting.append(self._forward_step(data, index))
            self._backward_step(*waiting.pop(0))
        while waiting:
            self._backward_step(*waiting.pop(0))
        self._line.finish()
        self._layers.allreduce_shared_weight_gradients()
        return self._broadcast_loss()

    @no_grad()
    def _broadcast_loss(self):
        """The last stage's loss on all stages."""
        with _C.eager_mode():
            if self.is_last_stage:
                loss = self.total_loss.astype(_C.float32).reshape([1]).clone()
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
        loss = self.forward_backward_pipeline(data, scaler)
        if scaler is None:
            optimizer.step()
        else:
            scaler.step(optimizer)
            scaler.update()
        optimizer.clear_grad()
        if lr_scheduler is not None:
            lr_scheduler.step()
        return loss

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
        for index in range(self.accumulate_steps):
            if compute_loss:
                self._forward_step(data, index)
                continue
            x = self._micro(data[0], index, "the input") if self.is_first_stage else self._line.receive(-1)
            y = self._layers(x)
            if self.is_last_stage:
                found.append(y)
            else:
                self._line.send(y, 1)
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
    """PipelineParallel with several parts a stage. Not in this version: `PipelineLayer` refuses to make them."""
