"""Losses as layers."""

from collections.abc import Callable
from typing import Any

from proa import _C
from proa._C import Tensor
from proa.framework.names import borrow as _borrow
from proa.nn import functional as F
from proa.nn.functional.shapes import size_argument
from proa.nn.layer.layers import Layer


class _Loss(Layer):
    """A loss with these settings; `_function(input, label, **settings)` computes it."""

    _function: Callable[..., Tensor]  # of proa.nn.functional
    reduction: Any

    def __init__(self, **settings):
        super().__init__()
        reduction = settings.get("reduction", "mean")
        if reduction not in ("mean", "sum", "none", "batchmean"):
            raise _C.located(
                ValueError(f"{type(self).__name__}: reduction must be mean, sum or none, not {reduction!r}")
            )
        self.name = settings.pop("name", None)
        for key, value in settings.items():
            setattr(self, key, value)
        self.__dict__["_settings"] = tuple(settings)

    def forward(self, input, label):
        return type(self)._function(input, label, **{key: getattr(self, key) for key in self._settings})


class MSELoss(_Loss):
    """(input - label)**2, reduced.

    Examples:
        >>> proa.nn.MSELoss()(proa.to_tensor([1.0, 3.0]), proa.to_tensor([1.0, 1.0])).item()
        2.0
    """

    _function = staticmethod(F.mse_loss)

    def __init__(self, reduction="mean"):
        super().__init__(reduction=reduction)


class L1Loss(_Loss):
    """|input - label|, reduced.

    Examples:
        >>> proa.nn.L1Loss()(proa.to_tensor([1.0, 4.0]), proa.zeros([2])).item()
        2.5
    """

    _function = staticmethod(F.l1_loss)

    def __init__(self, reduction="mean", name=None):
        super().__init__(reduction=reduction, name=name)


class SmoothL1Loss(_Loss):
    """Huber's loss; see functional.smooth_l1_loss.

    Examples:
        >>> proa.nn.SmoothL1Loss()(proa.to_tensor([0.5, 3.0]), proa.zeros([2])).item()
        1.3125
    """

    _function = staticmethod(F.smooth_l1_loss)
    delta: Any

    def __init__(self, reduction="mean", delta=1.0, name=None):
        super().__init__(reduction=reduction, delta=delta, name=name)


class CrossEntropyLoss(_Loss):
    """Cross entropy of softmax(input) with a label; arguments as in functional.cross_entropy.

    Examples:
        >>> loss = proa.nn.CrossEntropyLoss()
        >>> round(loss(proa.zeros([2, 4]), proa.to_tensor([0, 3])).item(), 4)
        1.3863
    """

    _function = staticmethod(F.cross_entropy)
    weight: Any
    ignore_index: Any
    soft_label: Any
    axis: Any
    use_softmax: Any
    label_smoothing: Any

    def __init__(
        self,
        weight=None,
        ignore_index=-100,
        reduction="mean",
        soft_label=False,
        axis=-1,
        use_softmax=True,
        label_smoothing=0.0,
        name=None,
    ):
        super().__init__(
            weight=weight,
            ignore_index=ignore_index,
            reduction=reduction,
            soft_label=soft_label,
            axis=axis,
            use_softmax=use_softmax,
            label_smoothing=label_smoothing,
            name=name,
        )


class NLLLoss(_Loss):
    """Negative log-likelihood; arguments as in functional.nll_loss.

    Examples:
        >>> proa.nn.NLLLoss()(proa.to_tensor([[-0.5, -1.5]]), proa.to_tensor([1])).item()
        1.5
    """

    _function = staticmethod(F.nll_loss)
    _weight = property(lambda self: self.weight)
    _ignore_index = property(lambda self: self.ignore_index)
    _reduction = property(lambda self: self.reduction)
    _name = property(lambda self: self.name)
    weight: Any
    ignore_index: Any

    def __init__(self, weight=None, ignore_index=-100, reduction="mean", name=None):
        super().__init__(weight=weight, ignore_index=ignore_index, reduction=reduction, name=name)


class BCELoss(_Loss):
    """Binary cross entropy of probabilities; arguments as in functional.binary_cross_entropy.

    Examples:
        >>> round(proa.nn.BCELoss()(proa.to_tensor([0.5]), proa.to_tensor([1.0])).item(), 4)
        0.6931
    """

    _function = staticmethod(F.binary_cross_entropy)
    weight: Any

    def __init__(self, weight=None, reduction="mean", name=None):
        super().__init__(weight=weight, reduction=reduction, name=name)


class BCEWithLogitsLoss(_Loss):
    """Binary cross entropy of logits; arguments as in functional.binary_cross_entropy_with_logits.

    Examples:
        >>> round(proa.nn.BCEWithLogitsLoss()(proa.to_tensor([0.0]), proa.to_tensor([1.0])).item(), 4)
        0.6931
    """

    _function = staticmethod(F.binary_cross_entropy_with_logits)
    weight: Any
    pos_weight: Any

    def __init__(self, weight=None, reduction="mean", pos_weight=None, name=None):
        super().__init__(weight=weight, reduction=reduction, pos_weight=pos_weight, name=name)


class KLDivLoss(_Loss):
    """Divergence of exp(input) from label; arguments as in functional.kl_div.

    Examples:
        >>> proa.nn.KLDivLoss(reduction="sum")(proa.zeros([1, 2]), proa.to_tensor([[0.0, 1.0]])).item()
        0.0
    """

    _function = staticmethod(F.kl_div)

    def __init__(self, reduction="mean"):
        super().__init__(reduction=reduction)


class HingeEmbeddingLoss(_Loss):
    """input where label is 1, max(margin - input, 0) where it is -1, reduced.

    Examples:
        >>> proa.nn.HingeEmbeddingLoss()(proa.to_tensor([0.5, 0.5]), proa.to_tensor([1.0, -1.0])).item()
        0.5
    """

    _function = staticmethod(F.hinge_embedding_loss)
    margin: Any

    def __init__(self, margin=1.0, reduction="mean", name=None):
        super().__init__(margin=margin, reduction=reduction, name=name)


class MarginRankingLoss(Layer):
    """max(-label * (input - other) + margin, 0), reduced.

    Examples:
        >>> proa.nn.MarginRankingLoss()(proa.to_tensor([1.0]), proa.to_tensor([3.0]), proa.to_tensor([1.0])).item()
        2.0
    """

    def __init__(self, margin=0.0, reduction="mean", name=None):
        super().__init__()
        self.name = name
        if reduction not in ("mean", "sum", "none"):
            raise _C.located(ValueError(f"MarginRankingLoss: reduction must be mean, sum or none, not {reduction!r}"))
        self.margin, self.reduction = margin, reduction

    def forward(self, input, other, label):
        return F.margin_ranking_loss(input, other, label, self.margin, self.reduction)


class CTCLoss(Layer):
    """Connectionist temporal classification; arguments as in functional.ctc_loss.

    Examples:
        >>> loss = proa.nn.CTCLoss()
        >>> loss(proa.zeros([3, 1, 4]), proa.to_tensor([[1, 2]], "int32"), proa.to_tensor([3]), proa.to_tensor([2])).shape
        []
    """

    def __init__(self, blank=0, reduction="mean"):
        super().__init__()
        self.blank, self.reduction = blank, reduction

    def forward(self, log_probs, labels, input_lengths, label_lengths, norm_by_times=False):
        return F.ctc_loss(log_probs, labels, input_lengths, label_lengths, self.blank, self.reduction, norm_by_times)


class RNNTLoss(Layer):
    """The loss of a transducer; arguments as in functional.rnnt_loss.

    Examples:
        >>> loss, x = proa.nn.RNNTLoss(), proa.nn.functional.log_softmax(proa.zeros([1, 3, 3, 4]))
        >>> loss(x, proa.to_tensor([[1, 2]], "int32"), proa.to_tensor([3]), proa.to_tensor([2])).shape
        []
    """

    def __init__(self, blank=0, fastemit_lambda=0.001, reduction="mean", name=None):
        super().__init__()
        self.name = name
        self.blank, self.fastemit_lambda, self.reduction = blank, fastemit_lambda, reduction

    def forward(self, input, label, input_lengths, label_lengths):
        return F.rnnt_loss(input, label, input_lengths, label_lengths, self.blank, self.fastemit_lambda, self.reduction)


class HSigmoidLoss(Layer):
    """The loss of finding a class by a walk down a binary tree: `functional.hsigmoid_loss` with a weight and a bias.

    Args:
        feature_size (int): D.
        num_classes (int): of the complete tree; with is_custom the number of inner nodes and one.
        weight_attr, bias_attr (ParamAttr, optional): of the parameters; bias_attr=False leaves the bias out.
        is_custom (bool): calls give path_table and path_code.
        is_sparse (bool): accepted; gradients are dense.

    Shape:
        input [N, D], label [N] or [N, 1], path_table and path_code [N, L] -> [N, 1]. weight is [num_classes - 1, D], bias
        [num_classes - 1, 1]; with is_custom they have num_classes rows.

    Raises:
        ValueError: fewer than two classes, or paths that are missing with is_custom.

    Examples:
        >>> loss = proa.nn.HSigmoidLoss(3, 4)
        >>> loss(proa.ones([2, 3]), proa.to_tensor([0, 3])).shape
        [2, 1]
    """

    def __init__(self, feature_size, num_classes, weight_attr=None, bias_attr=None, is_custom=False, is_sparse=False,
                 name=None):  # fmt: skip
        super().__init__()
        num_classes = size_argument("HSigmoidLoss", "num_classes", num_classes, 1 if is_custom else 2)
        feature_size = size_argument("HSigmoidLoss", "feature_size", feature_size)
        self._num_classes, self._is_custom, self._is_sparse = num_classes, is_custom, is_sparse
        self._feature_size, self._weight_attr, self._bias_attr = feature_size, weight_attr, bias_attr
        self._name = name
        rows = num_classes if is_custom else num_classes - 1
        self.weight = self.create_parameter([rows, feature_size], weight_attr)
        self.bias = self.create_parameter([rows, 1], bias_attr, is_bias=True)

    def forward(self, input, label, path_table=None, path_code=None):
        if self._is_custom and (path_table is None or path_code is None):
            raise _C.located(ValueError("HSigmoidLoss: with is_custom, path_table and path_code must be given"))
        return F.hsigmoid_loss(
            input, label, self._num_classes, self.weight, self.bias, path_table, path_code, self._is_sparse
        )


__getattr__ = _borrow(__name__, "proa.nn")
