"""Runs models that Proa saved in PaddlePaddle's format in PaddlePaddle 3 (a virtual environment of its own; no part of the
tests), beside the results of Proa.

    python python/tests/pdmodel_test.py FOLDER                    # with proa: writes models, inputs and results
    python python/tests/reference_models/run.py FOLDER            # with paddlepaddle and numpy
"""

import os

os.environ["FLAGS_enable_pir_api"] = "0"

import pathlib
import sys

import numpy as np
import paddle


def run(path):
    """The largest difference beside the largest element; None if shapes or dtypes differ."""
    data = np.load(f"{path}.npz")
    with paddle.static.scope_guard(paddle.static.Scope()):
        executor = paddle.static.Executor(paddle.CPUPlace())
        program, names, targets = paddle.static.load_inference_model(str(path), executor)
        feed = {name: data[f"in/{i}"] for i, name in enumerate(names)}
        found = [np.asarray(v) for v in executor.run(program, feed=feed, fetch_list=targets)]
    worst = 0.0
    for i, a in enumerate(found):
        b = data[f"out/{i}"]
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise ValueError(f"result {i} is {a.dtype}{a.shape}, not {b.dtype}{b.shape}")
        if b.size:
            worst = max(worst, float(np.abs(a.astype("f8") - b.astype("f8")).max() / max(np.abs(b).max(), 1e-6)))
    return worst


def main():
    paddle.enable_static()
    wrong, paths = 0, sorted(pathlib.Path(sys.argv[1]).glob("*.pdmodel"))
    for path in paths:
        try:
            worst = run(path.with_suffix(""))
            text = "" if worst < 1e-4 else f"differs by {worst:.2g}"
        except Exception as error:  # what PaddlePaddle says of the file
            text = " ".join(str(error).split())[-400:]
        wrong += bool(text)
        if text:
            print(f"{path.stem}: {text}")
    print(f"{len(paths) - wrong} of {len(paths)} agree with PaddlePaddle {paddle.__version__}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
