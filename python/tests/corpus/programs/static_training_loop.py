# A static program as scripts of 2.x had it: feeds and fetches by name, a decayed rate, batch norm, a test clone, saved and loaded.
import os

import numpy as np
import paddle
import paddle.nn.functional as F
import paddle.static as static

paddle.enable_static()
rng = np.random.RandomState(71)
main, startup = static.Program(), static.Program()


def values(i, shape):
    return np.random.RandomState(100 + i).uniform(-0.3, 0.3, shape).astype("float32")


def attr(i, shape, name=None):
    return paddle.ParamAttr(name=name, initializer=paddle.nn.initializer.Assign(values(i, shape)))


with static.program_guard(main, startup):
    with static.device_guard("cpu"):
        image = static.data(name="image", shape=[None, 1, 8, 8], dtype="float32")
        label = static.data(name="label", shape=[-1, 1], dtype="int64")
    h = static.nn.conv2d(
        image, num_filters=4, filter_size=3, padding=1, param_attr=attr(0, [4, 1, 3, 3], "conv.w"), bias_attr=False
    )
    h = static.nn.batch_norm(h, act="relu", momentum=0.8)
    h = F.max_pool2d(h, kernel_size=2, stride=2)
    h = static.nn.fc(h, size=10, num_flatten_dims=1, weight_attr=attr(1, [64, 10]), activation="tanh")
    mask = paddle.cast(h > 0, "float32")
    logits = static.nn.fc(
        h * mask, size=3, weight_attr=attr(2, [10, 3], "fc_out.w"), bias_attr=paddle.ParamAttr(name="fc_out.b")
    )
    prob = F.softmax(logits)
    cost = F.cross_entropy(input=prob, label=label, use_softmax=False, reduction="none")
    loss = paddle.mean(cost)
    acc = static.accuracy(input=prob, label=label, k=1)
    test = main.clone(for_test=True)
    scheduler = paddle.optimizer.lr.ExponentialDecay(learning_rate=0.3, gamma=0.7)
    optimizer = paddle.optimizer.Momentum(scheduler, momentum=0.9, weight_decay=paddle.regularizer.L2Decay(1e-3))
    _, params_grads = optimizer.minimize(loss, startup)

print(sorted(p.name for p, g in params_grads if g is not None and not p.name.startswith("batch"))[-2:])
print([op.type for op in main.global_block().ops][:1], len(main.all_parameters()) >= 6, main.num_blocks)
exe = static.Executor(paddle.CPUPlace())
exe.run(startup)
images = rng.rand(24, 1, 8, 8).astype("float32")
labels = (images.mean((1, 2, 3)) * 30 % 3).astype("int64").reshape(-1, 1)
for epoch in range(3):
    for i in range(0, 24, 8):
        feed = {"image": images[i : i + 8], "label": labels[i : i + 8]}
        out, accuracy = exe.run(main, feed=feed, fetch_list=[loss.name, acc])
    scheduler.step()
    test_loss, probs = exe.run(test, feed={"image": images, "label": labels}, fetch_list=[loss, prob])
    print(
        "epoch %d train %.4f test %.4f lr %.4f"
        % (epoch, np.asarray(out).reshape(-1)[0], np.asarray(test_loss).reshape(-1)[0], scheduler.get_lr())
    )
print("probs", np.round(probs[:2].astype("float64"), 3).shape, "%.4f" % probs[:, 0].sum())
b = np.array(static.global_scope().find_var("fc_out.b").get_tensor())
print("bias", ["%.4f" % v for v in b])
static.save(main, os.path.join(".", "net", "m"))
before = exe.run(test, feed={"image": images, "label": labels}, fetch_list=[loss])[0]
static.global_scope().find_var("fc_out.b").get_tensor().set(np.zeros(3, "float32"), paddle.CPUPlace())
static.load(main, os.path.join(".", "net", "m"), exe)
after = exe.run(test, feed={"image": images, "label": labels}, fetch_list=[loss])[0]
print("restored", bool(np.allclose(before, after)))
static.save_inference_model("infer/m", [image], [prob], exe, program=main)
program, feeds, fetches = static.load_inference_model("infer/m", exe)
got = exe.run(program, feed={feeds[0]: images[:4]}, fetch_list=fetches)[0]
print(
    "inference",
    feeds,
    got.shape,
    bool(
        np.allclose(
            got, exe.run(test, feed={"image": images[:4], "label": labels[:4]}, fetch_list=[prob])[0], atol=1e-5
        )
    ),
)
