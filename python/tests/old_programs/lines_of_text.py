"""A recognizer of lines of text: columns of images as steps, GRUs in both directions, CTC, means of parameters."""

import os

import numpy as np
from paddle import fluid

CLASSES, SIZE = 6, 8

images = fluid.data("images", [None, 1, 8, 24])
texts = fluid.data("texts", [None, 1], "int32", lod_level=1)
x = images
for filters in (4, 8):
    x = fluid.layers.conv2d(x, filters, 3, padding=1, bias_attr=False)
    x = fluid.layers.pool2d(fluid.layers.batch_norm(x, act="relu"), 2, "max", 2, ceil_mode=True)
steps = fluid.layers.im2sequence(x, filter_size=[x.shape[2], 1], stride=[1, 1])
ways = [
    fluid.layers.dynamic_gru(fluid.layers.fc(steps, 3 * SIZE), SIZE, is_reverse=back, candidate_activation="relu")
    for back in (False, True)
]
scores = fluid.layers.fc(ways, CLASSES + 1)
cost = fluid.layers.reduce_mean(fluid.layers.warpctc(scores, texts, blank=CLASSES))
read = fluid.layers.ctc_greedy_decoder(scores, blank=CLASSES)
distance, count = fluid.layers.edit_distance(read, fluid.layers.cast(texts, "int64"))
tested = fluid.default_main_program().clone(for_test=True)
fluid.optimizer.Momentum(0.02, 0.9, regularization=fluid.regularizer.L2Decay(1e-4)).minimize(cost)
average = fluid.optimizer.ModelAverage(0.5, min_average_window=2, max_average_window=4)

exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())
parallel = fluid.ParallelExecutor(use_cuda=False, loss_name=cost.name)
drawn = np.random.RandomState(1)
letters = [[0, 1], [2, 3, 4], [5]]
feed = {
    "images": drawn.randn(3, 1, 8, 24).astype("float32"),
    "texts": fluid.create_lod_tensor(np.int32(sum(letters, [])).reshape(-1, 1), [[2, 3, 1]], fluid.CPUPlace()),
}
errors, costs = fluid.metrics.EditDistance("errors"), []
for _ in range(60):
    value, apart, number = parallel.run(fetch_list=[cost.name, distance.name, count.name], feed=feed)
    costs.append(np.array(value).item())
errors.update(np.array(apart), np.array(number))
assert costs[-1] < costs[0] / 3 and errors.eval()[0] <= 1.0
with average.apply(exe):
    (found,) = exe.run(tested, feed=feed, fetch_list=[read], return_numpy=False)
assert len(found.lod()[0]) == 4

fluid.io.save_persistables(exe, "kept")
fluid.io.load_persistables(exe, "kept")
fluid.io.save_inference_model(
    "reader", ["images"], [scores, read], exe, model_filename="model", params_filename="params"
)
assert sorted(os.listdir("reader")) == ["model", "params"]
program, names, targets = fluid.io.load_inference_model("reader", exe, model_filename="model", params_filename="params")
out = exe.run(program, feed={names[0]: feed["images"]}, fetch_list=targets, return_numpy=False)
assert np.array(out[0]).shape == (18, CLASSES + 1) and out[0].lod() == [[0, 6, 12, 18]]
