"""DistributedFusedLamb: Lamb whose state is divided among workers; with one worker, all of it is here."""

from proa import _C
from proa.optimizer import Lamb

__all__ = ["DistributedFusedLamb"]


class DistributedFusedLamb(Lamb):
    """Lamb, which it is for one worker; what is about exchange between workers has no effect.

    Args:
        learning_rate, lamb_weight_decay, beta1, beta2, epsilon, parameters, grad_clip, exclude_from_weight_decay_fn, name:
            as in `optimizer.Lamb`.
        clip_after_allreduce (bool): accepted.
        is_grad_scaled_by_nranks (bool): accepted.
        alignment (int): accepted.
        use_master_param_norm (bool): accepted.
        gradient_accumulation_steps (int): 1.
        use_master_acc_grad (bool): accepted.
        nproc_per_node (int, optional): accepted.
        use_hierarchical_allreduce (bool): accepted.

    Raises:
        NotImplementedError: for another number of `gradient_accumulation_steps`.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> lamb = proa.incubate.optimizer.DistributedFusedLamb(0.01, parameters=net.parameters())
        >>> net(proa.ones([1, 2])).sum().backward()
        >>> lamb.step()
        >>> lamb.get_lr()
        0.01
    """

    def __init__(
        self,
        learning_rate=0.001,
        lamb_weight_decay=0.01,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-06,
        parameters=None,
        grad_clip=None,
        exclude_from_weight_decay_fn=None,
        clip_after_allreduce=True,
        is_grad_scaled_by_nranks=True,
        alignment=128,
        use_master_param_norm=True,
        gradient_accumulation_steps=1,
        use_master_acc_grad=True,
        nproc_per_node=None,
        use_hierarchical_allreduce=False,
        name=None,
    ):
        if gradient_accumulation_steps != 1:
            raise _C.located(
                NotImplementedError(
                    "DistributedFusedLamb: gradient_accumulation_steps must be 1, not "
                    f"{gradient_accumulation_steps!r}; call step and clear_grad after every so many batches"
                )
            )
        super().__init__(
            learning_rate,
            lamb_weight_decay,
            beta1,
            beta2,
            epsilon,
            parameters,
            grad_clip,
            exclude_from_weight_decay_fn,
            name,
        )
