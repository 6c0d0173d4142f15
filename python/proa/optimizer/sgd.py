"""SGD and Momentum."""

from proa import _C
from proa.optimizer.bucket import fuses_masters
from proa.optimizer.optimizer import Optimizer


class SGD(Optimizer):
    """Stochastic gradient descent: `p -= lr * grad`.

    Args:
        learning_rate (float|LRScheduler): the rate, or its schedule.
        parameters (list): what to update; see Optimizer.
        weight_decay (float|L1Decay|L2Decay, optional): added to the gradients.
        grad_clip (optional): ClipGradByGlobalNorm, ClipGradByNorm or ClipGradByValue.
        multi_precision (bool): update float32 copies of 16-bit parameters; see Adam.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> sgd = proa.optimizer.SGD(learning_rate=0.1, parameters=net.parameters())
        >>> net(proa.ones([3, 2])).mean().backward()
        >>> sgd.step()
    """

    def __init__(
        self,
        learning_rate=0.001,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
        multi_precision=False,
    ):
        super().__init__(learning_rate, 1e-08, parameters, weight_decay, grad_clip, name)
        self._multi_precision = bool(multi_precision)

    @fuses_masters
    def _update_bucket(self, bucket, grads):
        _C.ops.sgd_(
            bucket.params, grads, self._lr(), bucket.lr_scale, bucket.l2, bucket.grad_scale, list(bucket.rounded)
        )


class Momentum(Optimizer):
    """SGD with momentum: `v = momentum * v + grad; p -= lr * v`.

    With `use_nesterov` the step is `lr * (grad + momentum * v)`.

    Args:
        learning_rate (float|LRScheduler): the rate, or its schedule.
        momentum (float): what remains of the last step.
        parameters (list): what to update; see Optimizer.
        use_nesterov (bool): Nesterov's form.
        weight_decay (float|L1Decay|L2Decay, optional): added to the gradients.
        grad_clip (optional): ClipGradByGlobalNorm, ClipGradByNorm or ClipGradByValue.
        multi_precision (bool): update float32 copies of 16-bit parameters; see Adam.
        rescale_grad (float): a factor on the gradients, before anything else.
        use_multi_tensor (bool): accepted; parameters are always updated together.

    Examples:
        >>> net = proa.nn.Linear(2, 1)
        >>> momentum = proa.optimizer.Momentum(0.1, 0.9, parameters=net.parameters())
        >>> net(proa.ones([1, 2])).backward()
        >>> momentum.step()
        >>> momentum.clear_grad()
    """

    _accumulator_names = ("velocity",)

    def __init__(
        self,
        learning_rate=0.001,
        momentum=0.9,
        parameters=None,
        use_nesterov=False,
        weight_decay=None,
        grad_clip=None,
        name=None,
        multi_precision=False,
        rescale_grad=1.0,
        use_multi_tensor=False,
    ):
        super().__init__(learning_rate, 1e-08, parameters, weight_decay, grad_clip, name)
        self._multi_precision, self._rescale_grad = bool(multi_precision), self._real("rescale_grad", rescale_grad)
        self._default_options = {"momentum": self._real("momentum", momentum), "use_nesterov": bool(use_nesterov)}

    @fuses_masters
    def _update_bucket(self, bucket, grads):
        options = bucket.options
        _C.ops.momentum_(
            bucket.params,
            grads,
            bucket.states["velocity"],
            self._lr(),
            options["momentum"],
            options["use_nesterov"],
            bucket.lr_scale,
            bucket.l2,
            bucket.grad_scale * self._rescale_grad,
            list(bucket.rounded),
        )
