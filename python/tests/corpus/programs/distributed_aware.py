# A script that is written for many processes, run by one: launch checks, sharded sampler, wrapped model, reduced metrics.
import argparse
import os
import random
import time

import numpy as np
import paddle
import paddle.distributed as dist
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.io import BatchSampler, DataLoader, Dataset, DistributedBatchSampler


def parse_args():
    parser = argparse.ArgumentParser(description="train")
    parser.add_argument("--batch_size", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=2022)
    parser.add_argument("--use_amp", action="store_true")
    parser.add_argument("--save_dir", default="output")
    return parser.parse_args([])


class Points(Dataset):
    def __init__(self, n, mode="train"):
        super().__init__()
        rng = np.random.RandomState(0 if mode == "train" else 1)
        self.x = rng.randn(n, 6).astype("float32")
        self.y = (self.x[:, 0] + self.x[:, 1] > 0).astype("int64")

    def __getitem__(self, idx):
        return {"x": self.x[idx], "y": self.y[idx], "id": idx}

    def __len__(self):
        return len(self.x)


class AverageMeter(object):
    def __init__(self):
        self.reset()

    def reset(self):
        self.sum = self.cnt = 0.0

    def update(self, val, n=1):
        self.sum += val * n
        self.cnt += n

    @property
    def avg(self):
        return self.sum / max(self.cnt, 1)


def reduce_mean(value):
    if dist.get_world_size() > 1:
        dist.all_reduce(value)
        value = value / dist.get_world_size()
    return value


def evaluate(model, loader):
    model.eval()
    correct = total = 0
    with paddle.no_grad():
        for batch in loader:
            pred = model(batch["x"]).argmax(axis=1)
            correct += int((pred == batch["y"]).sum())
            total += len(batch["y"])
    counts = paddle.to_tensor([correct, total])
    if dist.get_world_size() > 1:
        dist.all_reduce(counts)
    model.train()
    return counts[0].item() / counts[1].item()


def main(args):
    paddle.set_device("gpu" if paddle.is_compiled_with_cuda() else "cpu")
    nranks, local_rank = dist.ParallelEnv().nranks, dist.ParallelEnv().local_rank
    if nranks > 1:
        dist.init_parallel_env()
    paddle.seed(args.seed), np.random.seed(args.seed), random.seed(args.seed)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    lr = paddle.optimizer.lr.PolynomialDecay(0.2 * nranks, decay_steps=10, end_lr=0.01, power=0.9)
    optimizer = paddle.optimizer.Momentum(learning_rate=lr, parameters=model.parameters(), weight_decay=1e-4)
    model = paddle.DataParallel(model) if nranks > 1 else model
    sampler = DistributedBatchSampler(Points(18), batch_size=args.batch_size, shuffle=False, drop_last=True)
    loader = DataLoader(Points(18), batch_sampler=sampler, num_workers=0, return_list=True)
    valid = DataLoader(Points(9, "val"), batch_sampler=BatchSampler(Points(9, "val"), batch_size=4), return_list=True)
    meter, best = AverageMeter(), -1.0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        start = time.time()
        for step, batch in enumerate(loader):
            with paddle.amp.auto_cast(enable=args.use_amp):
                loss = F.cross_entropy(model(batch["x"]), batch["y"])
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            lr.step()
            meter.update(reduce_mean(loss.detach()).item(), len(batch["y"]))
        assert time.time() >= start
        score = evaluate(model, valid)
        if dist.get_rank() == 0:
            print(
                "epoch %d loss %.5f acc %.4f lr %.5f batches %d" % (epoch, meter.avg, score, lr.get_lr(), len(loader))
            )
            if score > best:
                best = score
                os.makedirs(args.save_dir, exist_ok=True)
                inner = model._layers if isinstance(model, paddle.DataParallel) else model
                paddle.save(inner.state_dict(), os.path.join(args.save_dir, "best.pdparams"))
                paddle.save(
                    {"opt": optimizer.state_dict(), "epoch": epoch, "best": best},
                    os.path.join(args.save_dir, "best.pdopt"),
                )
        meter.reset()
    print("rank %d of %d, local %d" % (dist.get_rank(), dist.get_world_size(), local_rank))
    again = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    again.set_state_dict(paddle.load(os.path.join(args.save_dir, "best.pdparams")))
    state = paddle.load(os.path.join(args.save_dir, "best.pdopt"))
    optimizer.set_state_dict(state["opt"])
    print("loaded %.4f %d acc %.4f" % (state["best"], state["epoch"], evaluate(again, valid)))


if __name__ == "__main__":
    main(parse_args())
