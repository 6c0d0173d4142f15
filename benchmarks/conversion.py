"""How long it takes until a network runs as a program: ResNet-50, a training step and a prediction.

    python benchmarks/conversion.py                    # with proa

Each line is a process of its own, of which the second finds what the first has left, if it leaves anything. `record` is the
call that converts and records the forward, `compile` what the first step costs beyond the second one, passes and plans of forward
and backward. Times are of the wall and, behind the slash, of this process on all cores: on a busy machine look at the latter.
The step has run at once before, so that what it shares with eager code (memory, kernels of oneDNN) is there.
"""

import argparse
import subprocess
import sys
import time


def _clock():
    return time.perf_counter(), time.process_time()


def _between(before, after):
    return tuple(b - a for a, b in zip(before, after, strict=True))


def _less(a, b):
    return tuple(max(x - y, 0.0) for x, y in zip(a, b, strict=True))


def measure(size):
    """Prints the times of this process."""
    import proa

    net = proa.vision.models.resnet50()
    image = proa.rand([1, 3, size, size])
    for _ in range(2):
        net(image).mean().backward()
        net.clear_gradients()
    net = proa.jit.to_static(net)
    times = [_clock()]
    for _ in range(3):
        loss = net(image).mean()
        times.append(_clock())
        loss.backward()
        net.clear_gradients()
        times.append(_clock())
    forward, whole = _between(times[0], times[1]), _between(times[0], times[2])
    again = _between(times[4], times[6])
    net.eval()
    before = _clock()
    net(image)
    middle = _clock()
    net(image)
    predicts = _less(_between(before, middle), _between(middle, _clock()))
    parts = {"record": forward, "record and compile a training step": _less(whole, again), "a prediction": predicts}
    print("; ".join(f"{name} {wall:.2f} s / {used:.2f} s" for name, (wall, used) in parts.items()), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=224, help="pixels of a side of the image")
    parser.add_argument("--here", action="store_true", help="measure in this process")
    arguments = parser.parse_args()
    if arguments.here:
        measure(arguments.size)
        return
    for name in ("first process", "second process"):
        print(f"{name}: ", end="", flush=True)
        subprocess.run([sys.executable, __file__, "--here", "--size", str(arguments.size)], check=True)


if __name__ == "__main__":
    main()
