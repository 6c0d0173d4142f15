# Datasets, samplers, collate functions, splits: what comes out in which order.
import numpy as np
import paddle
from paddle.io import (
    BatchSampler,
    ChainDataset,
    ComposeDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    SequenceSampler,
    Subset,
    TensorDataset,
)


class Squares(Dataset):
    def __init__(self, n):
        self.n = n

    def __getitem__(self, i):
        return {"x": np.float32(i), "square": np.array([i * i], "int64")}, "item%d" % i

    def __len__(self):
        return self.n


class Stream(IterableDataset):
    def __init__(self, start, stop):
        self.start, self.stop = start, stop

    def __iter__(self):
        for i in range(self.start, self.stop):
            yield np.array([i, i + 1], "float32")


for batch, names in DataLoader(Squares(5), batch_size=2, drop_last=False, shuffle=False):
    print(sorted(batch), batch["x"].numpy().tolist(), batch["square"].shape, names)
for batch in DataLoader(ChainDataset([Stream(0, 3), Stream(10, 12)]), batch_size=2):
    print(batch.numpy().tolist())


class Windows(paddle.io.Sampler):
    def __iter__(self):
        return iter([[0, 1, 2], [2, 3], [4]])

    def __len__(self):
        return 3


def collate(samples):
    return paddle.to_tensor([s[0]["x"] for s in samples]).sum()


loader = DataLoader(Squares(5), batch_sampler=Windows(), collate_fn=collate)
print(len(loader), [float(v) for v in loader])
tensors = TensorDataset([paddle.arange(6).reshape([3, 2]), paddle.to_tensor([[1.0], [2.0], [3.0]])])
print([(a.tolist(), b.tolist()) for a, b in tensors])
print(len(ComposeDataset([tensors, tensors])[1]), len(ConcatDataset([Squares(3), Squares(4)])))
print(Subset(Squares(9), [8, 1])[0][1], list(SequenceSampler(Squares(4))))
sampler = BatchSampler(sampler=SequenceSampler(Squares(7)), batch_size=3, drop_last=True)
print(list(sampler), len(sampler))
parts = paddle.io.random_split(Squares(10), [7, 3])
print([len(p) for p in parts], sorted(int(p[i][0]["x"]) for p in parts for i in range(len(p))))
weighted = paddle.io.WeightedRandomSampler([0.0, 0.0, 1.0], 4, replacement=True)
print([i for i in iter(weighted)])
