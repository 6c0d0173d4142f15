# Static graph with layers: training, saving an inference model, loading it and running it.
import numpy as np
import paddle
import paddle.nn.functional as F
import paddle.static as static

paddle.enable_static()
place = paddle.CPUPlace()
main_prog, startup_prog = static.default_main_program(), static.default_startup_program()
image = static.data(name="image", shape=[None, 1, 12, 12], dtype="float32")
label = static.data(name="label", shape=[None, 1], dtype="int64")
conv = paddle.nn.Conv2D(1, 4, 3)
bn = paddle.nn.BatchNorm2D(4)
pool = paddle.nn.MaxPool2D(2, 2)
fc = paddle.nn.Linear(4 * 5 * 5, 3)
feature = pool(F.relu(bn(conv(image))))
logits = fc(paddle.flatten(feature, 1))
cost = F.cross_entropy(logits, label)
avg_cost = paddle.mean(cost)
acc = static.accuracy(input=F.softmax(logits), label=label, k=1)
test_prog = main_prog.clone(for_test=True)
optimizer = paddle.optimizer.SGD(learning_rate=0.1)
optimizer.minimize(avg_cost)
exe = static.Executor(place)
exe.run(startup_prog)

rng = np.random.RandomState(3)
images = rng.rand(30, 1, 12, 12).astype("float32")
labels = rng.randint(0, 3, (30, 1)).astype("int64")
for i in range(30):
    images[i, 0, labels[i, 0] * 4 : labels[i, 0] * 4 + 3] += 1
for step in range(6):
    lo = step % 3 * 10
    out = exe.run(
        program=main_prog,
        feed={"image": images[lo : lo + 10], "label": labels[lo : lo + 10]},
        fetch_list=[avg_cost, acc],
    )
    print("step %d cost %.5f acc %.3f" % (step, float(np.ravel(out[0])[0]), float(np.ravel(out[1])[0])))
before = exe.run(test_prog, feed={"image": images[:4], "label": labels[:4]}, fetch_list=[logits])[0]
static.save_inference_model("model/infer", [image], [logits], exe)
inference_program, feed_names, fetch_targets = static.load_inference_model("model/infer", exe)
after = exe.run(inference_program, feed={feed_names[0]: images[:4]}, fetch_list=fetch_targets)[0]
print(feed_names, after.shape, "same" if np.allclose(before, after, atol=1e-5) else "different")
print("%.5f" % np.abs(after).sum())
