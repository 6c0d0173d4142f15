"""Linear regression by gradient descent, against the closed form.

    python train.py [--quick] [--steps N]

The data are made from known weights plus noise, so that three answers can be compared:
the weights that made the data, the least squares solution, and what training found.
Ends with status 1 unless the last two agree.
"""

import argparse
import sys

import numpy as np

import proa as paddle


def make_data(samples, features, noise):
    """Features, targets, and the weights and bias that made them."""
    random = np.random.default_rng(7)
    x = random.normal(size=(samples, features)).astype("float32")
    weight = np.linspace(-2.0, 3.0, features).astype("float32")
    bias = np.float32(0.7)
    y = x @ weight + bias + noise * random.normal(size=samples).astype("float32")
    return x, y.astype("float32")[:, None], weight, bias


def closed_form(x, y):
    """Weights and bias with the least sum of squared errors."""
    ones = np.ones((len(x), 1), "float64")
    solution, *_ = np.linalg.lstsq(np.hstack([x.astype("float64"), ones]), y.astype("float64"), rcond=None)
    return solution[:-1, 0], solution[-1, 0]


def train(x, y, steps):
    """A linear layer after `steps` steps of gradient descent with momentum on all samples."""
    paddle.seed(1)
    net = paddle.nn.Linear(x.shape[1], 1)
    optimizer = paddle.optimizer.Momentum(0.05, momentum=0.9, parameters=net.parameters())
    x, y = paddle.to_tensor(x), paddle.to_tensor(y)
    for step in range(1, steps + 1):
        loss = paddle.nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        if step == 1 or step % max(steps // 5, 1) == 0:
            print(f"step {step:4d}  loss {loss.item():.6f}")
    return net


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer samples and steps, for tests")
    parser.add_argument("--steps", type=int, help="steps of gradient descent")
    options = parser.parse_args(arguments)
    samples, steps = (200, 300) if options.quick else (2000, 400)
    x, y, true_weight, true_bias = make_data(samples, 8, noise=0.1)
    weight, bias = closed_form(x, y)
    net = train(x, y, options.steps or steps)
    found = net.weight.numpy()[:, 0]
    print("\n  made with   closed form   trained")
    for row in zip([*true_weight, true_bias], [*weight, bias], [*found, net.bias.item()]):
        print("  {:9.5f}   {:11.5f}   {:7.5f}".format(*row))
    error = max(np.abs(found - weight).max(), abs(net.bias.item() - bias))
    print(f"\nlargest distance from the closed form: {error:.2e}")
    return 0 if error < 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
