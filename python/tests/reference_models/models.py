"""Whole networks."""

import numpy as np
import paddle
from functions import nms
from recording import F, f32, i64, nn, static


def detection(x, size):
    y = static.nn.conv2d(x, 3 * 7, 3, padding=1)
    b, s = paddle.vision.ops.yolo_box(y, size, [10, 13, 16, 30, 33, 23], 2, 0.01, 8)
    out = nms(b, paddle.transpose(s, [0, 2, 1]))
    return b, s, *out


def lenet(image):
    x = static.nn.conv2d(image, 6, 5, padding=2, act="relu")
    x = F.max_pool2d(static.nn.batch_norm(x), 2, 2)
    x = F.max_pool2d(static.nn.conv2d(x, 8, 5, act="relu"), 2, 2)
    return F.softmax(static.nn.fc(static.nn.fc(x, 12, activation="relu"), 10))


def bert(ids, kinds):
    s, width, heads = ids.shape[1], 16, 2
    x = (
        static.nn.embedding(ids, [40, width])
        + static.nn.embedding(kinds, [2, width])
        + static.nn.embedding(paddle.arange(s), [s, width])
    )
    x = static.nn.layer_norm(x, begin_norm_axis=2)
    away = paddle.unsqueeze((paddle.cast(ids == 0, "float32")) * -1e4, [1, 2])
    for _ in range(2):
        q, k, v = (
            paddle.transpose(paddle.reshape(static.nn.fc(x, width, 2), [0, 0, heads, width // heads]), [0, 2, 1, 3])
            for _ in range(3)
        )
        scores = paddle.matmul(q, k, transpose_y=True) * (width // heads) ** -0.5 + away
        seen = paddle.matmul(F.dropout(F.softmax(scores), 0.1), v)
        y = static.nn.fc(paddle.reshape(paddle.transpose(seen, [0, 2, 1, 3]), [0, 0, width]), width, 2)
        x = static.nn.layer_norm(x + y, begin_norm_axis=2)
        x = static.nn.layer_norm(
            x + static.nn.fc(static.nn.fc(x, 32, 2, activation="gelu"), width, 2), begin_norm_axis=2
        )
    return x, paddle.tanh(static.nn.fc(x[:, 0], width))


def tagger(ids):
    x = static.nn.embedding(ids, [30, 8])
    y, _ = nn.LSTM(8, 6, direction="bidirect")(x)
    return static.nn.fc(y, 5, 2)


def segmenter(x):
    a = F.relu6(static.nn.batch_norm(static.nn.conv2d(x, 8, 3, 2, 1, bias_attr=False)))
    b = F.hardswish(static.nn.batch_norm(static.nn.conv2d(a, 8, 3, 1, 1, groups=8, bias_attr=False)))
    gate = F.hardsigmoid(static.nn.conv2d(F.relu(static.nn.conv2d(F.adaptive_avg_pool2d(b, 1), 4, 1)), 8, 1))
    c = a + static.nn.conv2d(b * gate, 8, 1)
    d = F.interpolate(c, paddle.shape(x)[2:], mode="bilinear", align_corners=False)
    return paddle.argmax(static.nn.conv2d(d, 3, 1), 1), d


MODELS = {
    "lenet": (lenet, {"n_image": f32(2, 1, 28, 28)}),
    "bert": (bert, {"ids": i64(2, 6, high=40), "kinds": i64(2, 6, high=2)}),
    "tagger": (tagger, {"n_ids": i64(2, 5, high=30)}),
    "detector": (detection, {"x": f32(1, 3, 8, 8), "size": np.array([[64, 64]], "int32")}),
    "segmenter": (segmenter, {"n_x": f32(2, 3, 16, 12)}),
}
