# A training script as it is written for many cards, run with one process and no GPU.
import argparse

import numpy as np
import paddle
import paddle.distributed as dist
import paddle.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--use_amp", action="store_true")
args = parser.parse_args([])


def main():
    paddle.set_device("cpu")
    rank, world = dist.get_rank(), dist.get_world_size()
    if world > 1:
        dist.init_parallel_env()
    model = nn.Sequential(nn.Linear(5, 6), nn.Hardswish(), nn.Linear(6, 2))
    if world > 1:
        model = paddle.DataParallel(model)
    opt = paddle.optimizer.Momentum(0.1, parameters=model.parameters())
    scaler = paddle.amp.GradScaler(enable=args.use_amp, init_loss_scaling=1024)
    rng = np.random.RandomState(163)
    x, y = paddle.to_tensor(rng.randn(9, 5).astype("float32")), paddle.to_tensor(rng.randint(0, 2, 9))
    sampler = paddle.io.DistributedBatchSampler(paddle.io.TensorDataset([x, y]), batch_size=3, shuffle=False)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for images, labels in paddle.io.DataLoader(paddle.io.TensorDataset([x, y]), batch_sampler=sampler):
            with paddle.amp.auto_cast(enable=args.use_amp):
                loss = nn.functional.cross_entropy(model(images), labels)
            scaled = scaler.scale(loss)
            scaled.backward()
            scaler.minimize(opt, scaled)
            opt.clear_grad()
            if rank == 0:
                print("epoch %d loss %.5f" % (epoch, loss.item()))
    print(rank, world, dist.ParallelEnv().local_rank, len(sampler))


if __name__ == "__main__":
    main()
