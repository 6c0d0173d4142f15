# Loss layers, each on the same numbers, with its gradient.
import numpy as np
import paddle
import paddle.nn as nn

rng = np.random.RandomState(149)
logits = rng.randn(6, 4).astype("float32")
target = rng.randn(6, 4).astype("float32")
binary = (rng.rand(6, 4) > 0.5).astype("float32")
labels = rng.randint(0, 4, 6).astype("int64")
weights = rng.rand(4).astype("float32")
cases = {
    "ce": lambda x: nn.CrossEntropyLoss()(x, paddle.to_tensor(labels)),
    "ce weight": lambda x: nn.CrossEntropyLoss(weight=paddle.to_tensor(weights))(x, paddle.to_tensor(labels)),
    "ce sum": lambda x: nn.CrossEntropyLoss(reduction="sum", ignore_index=2)(x, paddle.to_tensor(labels)),
    "ce soft": lambda x: nn.CrossEntropyLoss(soft_label=True)(x, nn.functional.softmax(paddle.to_tensor(target))),
    "nll": lambda x: nn.NLLLoss(weight=paddle.to_tensor(weights))(
        nn.functional.log_softmax(x), paddle.to_tensor(labels)
    ),
    "mse": lambda x: nn.MSELoss()(x, paddle.to_tensor(target)),
    "l1": lambda x: nn.L1Loss(reduction="sum")(x, paddle.to_tensor(target)),
    "smooth l1": lambda x: nn.SmoothL1Loss(delta=0.5)(x, paddle.to_tensor(target)),
    "bce": lambda x: nn.BCELoss()(nn.functional.sigmoid(x), paddle.to_tensor(binary)),
    "bce logits": lambda x: nn.BCEWithLogitsLoss(pos_weight=paddle.to_tensor(weights * 2))(x, paddle.to_tensor(binary)),
    "kl": lambda x: nn.KLDivLoss(reduction="batchmean")(
        nn.functional.log_softmax(x), nn.functional.softmax(paddle.to_tensor(target))
    ),
    "margin": lambda x: nn.MarginRankingLoss(0.3)(x[:, 0], x[:, 1], paddle.sign(paddle.to_tensor(target[:, 0]))),
    "focal": lambda x: nn.functional.sigmoid_focal_loss(x, paddle.to_tensor(binary), alpha=0.3, gamma=1.5),
    "square": lambda x: nn.functional.square_error_cost(x, paddle.to_tensor(target)).mean(),
    "npair": lambda x: nn.functional.npair_loss(
        x, paddle.to_tensor(target), paddle.to_tensor(labels.astype("float32"))
    ),
    "dice": lambda x: nn.functional.dice_loss(nn.functional.softmax(x), paddle.to_tensor(labels[:, None])),
}
for name, loss_of in cases.items():
    x = paddle.to_tensor(logits, stop_gradient=False)
    loss = loss_of(x)
    loss.backward()
    print(name, "%.6f" % float(loss), "%.6f" % x.grad.abs().sum().item(), loss.shape)
