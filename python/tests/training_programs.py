"""Programs that train, for both frameworks: `build(paddle)` records one into the default program and gives (feeds, loss).

`whole_program_test.py` saves and reads them; `reference_models/train.py` does the same in PaddlePaddle.
"""

import numpy as np

__all__ = ["PROGRAMS"]


def _arrays(seed=0):
    return np.random.default_rng(seed)


def _attr(paddle, seed, shape, scale=0.3):
    """A parameter that starts the same in both frameworks."""
    values = (_arrays(seed).standard_normal(shape) * scale).astype("float32")
    return paddle.ParamAttr(initializer=paddle.nn.initializer.Assign(values))


def _fc(paddle, x, width, seed, activation=None, dims=1):
    size = int(np.prod([int(d) for d in x.shape[dims:]]))
    weight, bias = _attr(paddle, seed, [size, width]), _attr(paddle, seed + 100, [width])
    return paddle.static.nn.fc(x, width, dims, weight_attr=weight, bias_attr=bias, activation=activation)


def _conv(paddle, x, width, seed, size=3, **more):
    weight = _attr(paddle, seed, [width, int(x.shape[1]), size, size])
    return paddle.static.nn.conv2d(x, width, size, padding=size // 2, param_attr=weight, bias_attr=False, **more)


def regression(paddle, optimizer):
    x, y = paddle.static.data("x", [None, 6], "float32"), paddle.static.data("y", [None, 1], "float32")
    found = _fc(paddle, _fc(paddle, x, 8, 1, "relu"), 1, 2)
    loss = paddle.mean(paddle.nn.functional.square_error_cost(found, y))
    optimizer.minimize(loss)
    rng = _arrays(9)
    return {"x": rng.standard_normal((5, 6)).astype("f4"), "y": rng.standard_normal((5, 1)).astype("f4")}, loss


def _regression(make):
    return lambda paddle: regression(paddle, make(paddle))


def classifier(paddle):
    """Convolutions, batch normalization, pools, a residual; momentum."""
    x, y = paddle.static.data("x", [None, 3, 8, 8], "float32"), paddle.static.data("y", [None, 1], "int64")
    h = paddle.nn.functional.relu(paddle.static.nn.batch_norm(_conv(paddle, x, 4, 1)))
    h = h + paddle.static.nn.batch_norm(_conv(paddle, h, 4, 2), data_layout="NCHW")
    h = paddle.nn.functional.max_pool2d(h, 2, 2)
    h = paddle.nn.functional.avg_pool2d(paddle.nn.functional.leaky_relu(h, 0.1), 2, 2)
    loss = paddle.mean(paddle.nn.functional.softmax_with_cross_entropy(_fc(paddle, h, 5, 3), y))
    paddle.optimizer.Momentum(0.1, 0.9, use_nesterov=True, weight_decay=1e-3).minimize(loss)
    return {"x": _arrays(9).standard_normal((4, 3, 8, 8)).astype("f4"), "y": np.array([[0], [1], [4], [2]])}, loss


def encoder(paddle):
    """Embeddings, attention, layer normalization, gelu; AdamW."""
    words, y = paddle.static.data("words", [None, 7], "int64"), paddle.static.data("y", [None, 1], "int64")
    width, heads = 8, 2
    x = paddle.static.nn.embedding(words, [11, width], param_attr=_attr(paddle, 1, [11, width]))
    shape = [0, 7, heads, width // heads]
    split = lambda seed: paddle.transpose(paddle.reshape(_fc(paddle, x, width, seed, dims=2), shape), [0, 2, 1, 3])
    q, k, v = split(2), split(3), split(4)
    weights = paddle.nn.functional.softmax(paddle.matmul(q, k, transpose_y=True) * (width // heads) ** -0.5)
    mixed = paddle.reshape(paddle.transpose(paddle.matmul(weights, v), [0, 2, 1, 3]), [0, 7, width])
    x = paddle.static.nn.layer_norm(x + _fc(paddle, mixed, width, 5, dims=2), begin_norm_axis=2)
    h = paddle.nn.functional.gelu(_fc(paddle, x, 16, 6, dims=2))
    x = paddle.static.nn.layer_norm(x + _fc(paddle, h, width, 7, dims=2), begin_norm_axis=2)
    first = paddle.squeeze(paddle.slice(x, [1], [0], [1]), [1])
    loss = paddle.mean(paddle.nn.functional.softmax_with_cross_entropy(_fc(paddle, first, 3, 8), y))
    paddle.optimizer.AdamW(0.01, weight_decay=0.02).minimize(loss)
    return {"words": _arrays(9).integers(0, 11, (3, 7)), "y": np.array([[0], [1], [2]])}, loss


def recommender(paddle):
    """Sums of embeddings, products of fields, a logistic loss; Adagrad."""
    ids, y = paddle.static.data("ids", [None, 4], "int64"), paddle.static.data("y", [None, 1], "float32")
    table = _attr(paddle, 1, [20, 5])
    fields = paddle.static.nn.embedding(ids, [20, 5], param_attr=table)
    total = paddle.sum(fields, axis=1)
    crossed = 0.5 * paddle.sum(paddle.square(total) - paddle.sum(paddle.square(fields), axis=1), axis=1, keepdim=True)
    deep = _fc(paddle, paddle.reshape(fields, [-1, 20]), 6, 2, "tanh")
    chance = paddle.nn.functional.sigmoid(crossed + _fc(paddle, deep, 1, 3))
    loss = paddle.mean(paddle.nn.functional.log_loss(paddle.clip(chance, 1e-4, 0.9999), y))
    paddle.optimizer.Adagrad(0.1).minimize(loss)
    return {"ids": _arrays(9).integers(0, 20, (6, 4)), "y": np.array([[0], [1], [1], [0], [1], [0]], "f4")}, loss


def pieces(paddle):
    """Values that are cut, put together and used several times; RMSProp."""
    x = paddle.static.data("x", [None, 6], "float32")
    h = _fc(paddle, x, 6, 1)
    a, b, c = paddle.split(h, 3, axis=1)
    stacked = paddle.stack([paddle.exp(a * 0.1), paddle.abs(b) + 1.0, paddle.tanh(c)], axis=1)
    first, _, last = paddle.unbind(stacked, axis=1)
    joined = paddle.concat([first, last, paddle.maximum(a, b), paddle.minimum(b, c)], axis=1)
    placed = paddle.gather(joined, paddle.assign(np.array([0, 2, 4, 7])), axis=1)
    chosen = paddle.where(placed > 0.5, placed * 2.0, paddle.nn.functional.pad(a, [0, 0, 1, 1]) - placed)
    spread = (
        paddle.expand(paddle.unsqueeze(chosen, [2]), [4, 4, 3])
        + paddle.tile(paddle.unsqueeze(h, [1]), [1, 4, 1])[:, :, :3]
    )
    loss = paddle.mean(paddle.log(1.0 + paddle.pow(spread, 2.0))) + 0.1 * paddle.max(
        paddle.sqrt(paddle.square(h) + 1.0)
    )
    paddle.optimizer.RMSProp(0.02, centered=True, momentum=0.3).minimize(loss)
    return {"x": _arrays(9).standard_normal((4, 6)).astype("f4")}, loss


def segmenter(paddle):
    """Down and up again: transposed convolution, resizing, group normalization; SGD with a decaying rate."""
    x, y = paddle.static.data("x", [None, 2, 8, 8], "float32"), paddle.static.data("y", [None, 1, 8, 8], "float32")
    h = paddle.nn.functional.relu(_conv(paddle, x, 4, 1))
    low = paddle.nn.functional.silu(_conv(paddle, paddle.nn.functional.max_pool2d(h, 2, 2), 4, 2))
    weight = _attr(paddle, 3, [4, 4, 2, 2])
    up = paddle.static.nn.conv2d_transpose(low, 4, filter_size=2, stride=2, param_attr=weight, bias_attr=False)
    wide = paddle.nn.functional.interpolate(low, size=[8, 8], mode="bilinear")
    found = paddle.nn.functional.sigmoid(_conv(paddle, paddle.concat([h, up, wide], axis=1), 1, 4))
    loss = paddle.mean(paddle.nn.functional.binary_cross_entropy(found, y))
    paddle.optimizer.SGD(0.5).minimize(loss)
    rng = _arrays(9)
    return {
        "x": rng.standard_normal((2, 2, 8, 8)).astype("f4"),
        "y": (rng.random((2, 1, 8, 8)) > 0.5).astype("f4"),
    }, loss


def recurrent(paddle):
    """An LSTM over sequences of different lengths; Adam."""
    x, lengths = paddle.static.data("x", [None, 5, 6], "float32"), paddle.static.data("lengths", [None], "int64")
    shapes = {"weight_ih_attr": [16, 6], "weight_hh_attr": [16, 4], "bias_ih_attr": [16], "bias_hh_attr": [16]}
    attrs = {name: _attr(paddle, seed, shape) for seed, (name, shape) in enumerate(shapes.items())}
    out, (last, _) = paddle.nn.LSTM(6, 4, **attrs)(x, sequence_length=lengths)
    loss = paddle.mean(paddle.square(out)) + paddle.mean(paddle.square(_fc(paddle, last[0], 2, 7) - 1.0))
    paddle.optimizer.Adam(0.02).minimize(loss)
    return {"x": _arrays(9).standard_normal((3, 5, 6)).astype("f4"), "lengths": np.array([5, 2, 4])}, loss


def generator(paddle):
    """Two losses of one program, each with an optimizer of its own parameters."""
    x, y = paddle.static.data("x", [None, 4], "float32"), paddle.static.data("y", [None, 3], "float32")
    made = _fc(paddle, x, 3, 1, "tanh")
    judged = lambda seen: paddle.matmul(seen, judge)
    judge = paddle.static.create_parameter([3, 1], "float32", attr=_attr(paddle, 2, [3, 1]))
    loss = paddle.mean(paddle.square(judged(y) - 1.0)) + paddle.mean(paddle.square(judged(made)))
    paddle.optimizer.Adam(0.05, beta1=0.5).minimize(loss, parameters=[judge])
    fooled = paddle.mean(paddle.square(judged(made) - 1.0))
    own = [p for p in paddle.static.default_main_program().all_parameters() if p.name != judge.name]
    paddle.optimizer.SGD(0.1).minimize(fooled, parameters=own)
    rng = _arrays(9)
    return {"x": rng.standard_normal((4, 4)).astype("f4"), "y": rng.standard_normal((4, 3)).astype("f4")}, loss


def conditions(paddle):
    """Ways that are chosen by the data, one within another, with parameters of their own; momentum."""
    x, y = paddle.static.data("x", [None, 3], "float32"), paddle.static.data("y", [None, 1], "float32")
    h, cond = _fc(paddle, x, 4, 1), paddle.static.nn.cond
    inner = lambda: cond(paddle.mean(x) < -9.0, lambda: h, lambda: _fc(paddle, h * h, 4, 2))
    h = cond(paddle.mean(x) > 0.0, lambda: paddle.nn.functional.relu(h) * 2.0, inner) + h
    first, second = cond(paddle.mean(x) < 0.0, lambda: [h * 3.0, paddle.tanh(h)], lambda: [h, h])
    loss = paddle.mean(paddle.nn.functional.square_error_cost(_fc(paddle, first * second, 1, 3), y))
    paddle.optimizer.Momentum(0.02, 0.9).minimize(loss)
    rng = _arrays(9)
    return {"x": rng.standard_normal((5, 3)).astype("f4") - 0.5, "y": rng.standard_normal((5, 1)).astype("f4")}, loss


def loops(paddle):
    """A loop as long as a tensor says, over two variables, of which one is not read after it; Adam."""
    x, y = paddle.static.data("x", [None, 3], "float32"), paddle.static.data("y", [None, 1], "float32")
    count, total = paddle.full([1], 0, "int64"), _fc(paddle, x, 4, 4)

    def turn(count, h, total, spare):
        h = paddle.tanh(_fc(paddle, h, 3, 2)) * 0.5 + x
        return [count + 1, h, total + _fc(paddle, h * h, 4, 3) * total, h * 2.0]

    found = paddle.static.nn.while_loop(
        lambda count, *_: count < 3, turn, [count, _fc(paddle, x, 3, 1), total, x * 1.0]
    )
    loss = paddle.mean(paddle.nn.functional.square_error_cost(_fc(paddle, found[2], 1, 5), y))
    paddle.optimizer.Adam(0.02).minimize(loss)
    rng = _arrays(9)
    return {"x": rng.standard_normal((5, 3)).astype("f4"), "y": rng.standard_normal((5, 1)).astype("f4")}, loss


def loop_in_a_condition(paddle):
    """A loop in one way of a condition, and a condition in a loop."""
    x, y = paddle.static.data("x", [None, 3], "float32"), paddle.static.data("y", [None, 1], "float32")
    cond, loop = paddle.static.nn.cond, paddle.static.nn.while_loop

    def repeated(h):
        def turn(count, h):
            return [count + 1, cond(paddle.mean(h) > 0.1, lambda: h * 0.5 + x, lambda: _fc(paddle, h, 3, 2))]

        return loop(lambda count, h: count < 4, turn, [paddle.full([1], 0, "int64"), h])[1]

    h = _fc(paddle, x, 3, 1)
    h = cond(paddle.mean(x) > -9.0, lambda: repeated(h), lambda: h)
    loss = paddle.mean(paddle.nn.functional.square_error_cost(_fc(paddle, h, 1, 5), y))
    paddle.optimizer.SGD(0.05).minimize(loss)
    rng = _arrays(9)
    return {"x": rng.standard_normal((5, 3)).astype("f4"), "y": rng.standard_normal((5, 1)).astype("f4")}, loss


PROGRAMS = {
    "sgd": _regression(lambda paddle: paddle.optimizer.SGD(0.05, weight_decay=0.01)),
    "momentum": _regression(lambda paddle: paddle.optimizer.Momentum(0.05, 0.9)),
    "adam": _regression(lambda paddle: paddle.optimizer.Adam(0.02)),
    "adamw": _regression(lambda paddle: paddle.optimizer.AdamW(0.02, weight_decay=0.1)),
    "adamax": _regression(lambda paddle: paddle.optimizer.Adamax(0.02)),
    "adagrad": _regression(lambda paddle: paddle.optimizer.Adagrad(0.05)),
    "adadelta": _regression(lambda paddle: paddle.optimizer.Adadelta(0.5)),
    "rmsprop": _regression(lambda paddle: paddle.optimizer.RMSProp(0.01)),
    "lamb": _regression(lambda paddle: paddle.optimizer.Lamb(0.02)),
    "clipped": _regression(lambda paddle: paddle.optimizer.SGD(0.05, grad_clip=paddle.nn.ClipGradByNorm(0.1))),
    "clipped_together": _regression(
        lambda paddle: paddle.optimizer.SGD(0.05, grad_clip=paddle.nn.ClipGradByGlobalNorm(0.1))
    ),
    "merged_momentum": _regression(
        lambda paddle: paddle.optimizer.Momentum(0.05, 0.9, weight_decay=0.01, use_multi_tensor=True)
    ),
    "merged_adam": _regression(lambda paddle: paddle.optimizer.Adam(0.02, use_multi_tensor=True)),
    "limited": _regression(lambda paddle: paddle.optimizer.SGD(0.05, grad_clip=paddle.nn.ClipGradByValue(0.05))),
    "classifier": classifier,
    "encoder": encoder,
    "recommender": recommender,
    "pieces": pieces,
    "segmenter": segmenter,
    "recurrent": recurrent,
    "generator": generator,
    "conditions": conditions,
    "loops": loops,
    "loop_in_a_condition": loop_in_a_condition,
}
