"""Click rates from files of slots: sparse embeddings of sequences, AUC, processes that read ahead."""

import numpy as np
from paddle import fluid

drawn = np.random.RandomState(0)
for part in range(3):
    with open(f"part-{part}", "w") as file:
        for _ in range(40):
            dense, slots = drawn.rand(4), [drawn.randint(0, 50, drawn.randint(1, 4)) for _ in range(2)]
            file.write("4 " + " ".join(f"{v:.4f}" for v in dense))
            file.writelines(f" {len(slot)} " + " ".join(map(str, slot)) for slot in slots)
            file.write(f" 1 {int(dense[0] > 0.5)}\n")

dense = fluid.layers.data("dense", [4])
slots = [fluid.layers.data(f"slot{i}", [1], dtype="int64", lod_level=1) for i in range(2)]
label = fluid.layers.data("label", [1], dtype="int64")
pooled = [
    fluid.layers.sequence_pool(fluid.layers.embedding(slot, [50, 6], is_sparse=True, param_attr="table"), "average")
    for slot in slots
]
hidden = fluid.layers.fc(fluid.layers.concat([*pooled, dense], axis=1), 16, act="relu")
click = fluid.layers.fc(hidden, 2, act="softmax")
cost = fluid.layers.reduce_mean(fluid.layers.cross_entropy(click, label))
auc, _, states = fluid.layers.auc(click, label, num_thresholds=1000)
fluid.optimizer.Adam(0.02, lazy_mode=True).minimize(cost)
exe = fluid.Executor(fluid.CPUPlace())
exe.run(fluid.default_startup_program())

files = [f"part-{part}" for part in range(3)]
for kind in ("InMemoryDataset", "QueueDataset"):
    data = fluid.DatasetFactory().create_dataset(kind)
    data.set_use_var([dense, *slots, label])
    data.set_batch_size(10)
    data.set_thread(2)
    data.set_filelist(files)
    if kind == "InMemoryDataset":
        data.load_into_memory()
        data.local_shuffle()
        assert data.get_memory_data_size() == 120
    for state in states:
        held = fluid.global_scope().find_var(state.name).get_tensor()
        held.set(np.zeros(held.shape(), "int64"), fluid.CPUPlace())
    for _ in range(5):
        exe.train_from_dataset(
            fluid.default_main_program(), data, fetch_list=[cost, auc], fetch_info=["cost", "auc"], print_period=6
        )
counts = [np.array(fluid.global_scope().find_var(state.name).get_tensor()) for state in states[:2]]
order = [np.repeat(np.arange(c.size), c.ravel().astype("int64")) for c in counts]
assert sum(map(len, order)) == 600
