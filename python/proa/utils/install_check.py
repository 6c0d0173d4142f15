"""`run_check`: a linear model, trained for a few steps."""

import proa
from proa import _C
from proa.utils import environment


def run():
    """Trains, compares with the known answer and prints the verdict."""
    print("Running verify Proa program ...")
    state = proa.get_rng_state()
    try:
        proa.seed(2026)
        error = _train()
    finally:
        proa.set_rng_state(state)
    if not error < 1e-3:
        raise _C.located(RuntimeError(f"run_check: a linear model ended {error:.3g} away from its known weights"))
    print(f"Proa works well on 1 {proa.get_device().upper()}.")
    print("Proa is installed successfully! Let's start deep learning with Proa now.")
    print("\nFor bug reports:")
    print(environment.report())


def _train():
    """Distance of a trained weight from the one that made the data."""
    weight = proa.to_tensor([[2.0], [-3.0]])
    x = proa.randn([64, 2])
    y = proa.matmul(x, weight) + 0.5
    net = proa.nn.Linear(2, 1)
    sgd = proa.optimizer.SGD(0.3, parameters=net.parameters())
    for _ in range(60):
        loss = proa.nn.functional.mse_loss(net(x), y)
        loss.backward()
        sgd.step()
        sgd.clear_grad()
    return float((net.weight - weight).abs().max()) + abs(float(net.bias) - 0.5)
