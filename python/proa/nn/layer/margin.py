"""Layers of the losses of margins and of likelihoods (functional/margin.py)."""

from proa import _C
from proa.nn import functional as F
from proa.nn.layer.layers import Layer


def _reduction(owner, reduction):
    if reduction not in ("mean", "sum", "none"):
        raise _C.located(ValueError(f"{owner}: reduction must be mean, sum or none, not {reduction!r}"))
    return reduction


class CosineEmbeddingLoss(Layer):
    """How far pairs are from what is said of them; arguments as in functional.cosine_embedding_loss.

    Examples:
        >>> proa.nn.CosineEmbeddingLoss()(proa.ones([2, 3]), proa.ones([2, 3]), proa.to_tensor([1, -1])).shape
        []
    """

    def __init__(self, margin=0, reduction="mean", name=None):
        super().__init__()
        self.margin, self.name = margin, name
        self.reduction = _reduction("CosineEmbeddingLoss", reduction)

    def forward(self, input1, input2, label):
        return F.cosine_embedding_loss(input1, input2, label, margin=self.margin, reduction=self.reduction)


class SoftMarginLoss(Layer):
    """log(1 + exp(-label input)); arguments as in functional.soft_margin_loss.

    Examples:
        >>> proa.nn.SoftMarginLoss()(proa.zeros([2]), proa.ones([2])).shape
        []
    """

    def __init__(self, reduction="mean", name=None):
        super().__init__()
        self.name = name
        self.reduction = _reduction("SoftMarginLoss", reduction)

    def forward(self, input, label):
        return F.soft_margin_loss(input, label, reduction=self.reduction)


class MultiLabelSoftMarginLoss(Layer):
    """The mean over classes of binary cross entropies; arguments as in functional.multi_label_soft_margin_loss.

    Examples:
        >>> proa.nn.MultiLabelSoftMarginLoss()(proa.zeros([2, 3]), proa.ones([2, 3])).shape
        []
    """

    def __init__(self, weight=None, reduction="mean", name=None):
        super().__init__()
        self.weight, self.name = weight, name
        self.reduction = _reduction("MultiLabelSoftMarginLoss", reduction)

    def forward(self, input, label):
        return F.multi_label_soft_margin_loss(input, label, weight=self.weight, reduction=self.reduction)


class MultiMarginLoss(Layer):
    """Margins between the right class and each other one; arguments as in functional.multi_margin_loss.

    Examples:
        >>> proa.nn.MultiMarginLoss()(proa.zeros([2, 3]), proa.to_tensor([0, 2])).shape
        []
    """

    def __init__(self, p=1, margin=1.0, weight=None, reduction="mean", name=None):
        super().__init__()
        self.p, self.margin, self.weight, self.name = p, margin, weight, name
        self.reduction = _reduction("MultiMarginLoss", reduction)

    def forward(self, input, label):
        return F.multi_margin_loss(
            input, label, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class TripletMarginLoss(Layer):
    """Margins between distances of rows; arguments as in functional.triplet_margin_loss.

    Examples:
        >>> proa.nn.TripletMarginLoss()(proa.zeros([2, 3]), proa.ones([2, 3]), proa.ones([2, 3])).shape
        []
    """

    def __init__(self, margin=1.0, p=2.0, epsilon=1e-6, swap=False, reduction="mean", name=None):
        super().__init__()
        self.margin, self.p, self.epsilon, self.swap, self.name = margin, p, epsilon, swap, name
        self.reduction = _reduction("TripletMarginLoss", reduction)

    def forward(self, input, positive, negative):
        return F.triplet_margin_loss(
            input,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            epsilon=self.epsilon,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(Layer):
    """Margins between distances by a function; arguments as in functional.triplet_margin_with_distance_loss.

    Examples:
        >>> proa.nn.TripletMarginWithDistanceLoss()(proa.zeros([2, 3]), proa.ones([2, 3]), proa.ones([2, 3])).shape
        []
    """

    def __init__(self, distance_function=None, margin=1.0, swap=False, reduction="mean", name=None):
        super().__init__()
        self.distance_function, self.margin, self.swap, self.name = distance_function, margin, swap, name
        self.reduction = _reduction("TripletMarginWithDistanceLoss", reduction)

    def forward(self, input, positive, negative):
        return F.triplet_margin_with_distance_loss(
            input,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class GaussianNLLLoss(Layer):
    """-log of the probability of labels by normal distributions; arguments as in functional.gaussian_nll_loss.

    Examples:
        >>> proa.nn.GaussianNLLLoss()(proa.zeros([2]), proa.ones([2]), proa.ones([2])).shape
        []
    """

    def __init__(self, full=False, epsilon=1e-6, reduction="mean", name=None):
        super().__init__()
        self.full, self.epsilon, self.name = full, epsilon, name
        self.reduction = _reduction("GaussianNLLLoss", reduction)

    def forward(self, input, label, variance):
        return F.gaussian_nll_loss(
            input, label, variance, full=self.full, epsilon=self.epsilon, reduction=self.reduction
        )


class PoissonNLLLoss(Layer):
    """-log of the probability of counts by Poisson distributions; arguments as in functional.poisson_nll_loss.

    Examples:
        >>> proa.nn.PoissonNLLLoss()(proa.zeros([2]), proa.ones([2])).shape
        []
    """

    def __init__(self, log_input=True, full=False, epsilon=1e-8, reduction="mean", name=None):
        super().__init__()
        self.log_input, self.full, self.epsilon, self.name = log_input, full, epsilon, name
        self.reduction = _reduction("PoissonNLLLoss", reduction)

    def forward(self, input, label):
        return F.poisson_nll_loss(
            input, label, log_input=self.log_input, full=self.full, epsilon=self.epsilon, reduction=self.reduction
        )
