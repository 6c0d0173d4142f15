"""Programs that train, in PaddlePaddle 3 (a virtual environment of its own; no part of the tests).

    python python/tests/reference_models/train.py write             # training.npz: what static.save writes there, and losses
    python python/tests/whole_program_test.py FOLDER                # with proa: what its static.save writes, and losses
    python python/tests/reference_models/train.py run FOLDER        # trains these in PaddlePaddle, beside the losses of Proa

`training.npz` has `<name>/model`, `/params`, `/opt` (bytes), `/in/<input>`, `/loss` (its name) and `/losses` of five steps.
"""

import os

os.environ["FLAGS_enable_pir_api"] = "0"

import pathlib
import sys
import tempfile

import numpy as np
import paddle

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from training_programs import PROGRAMS  # noqa: E402

STEPS = 5


def _losses(executor, program, feed, name):
    return np.array([executor.run(program, feed=feed, fetch_list=[name])[0].item() for _ in range(STEPS)])


def write():
    from old_names import give_old_names

    give_old_names()
    found = {}
    for name, build in PROGRAMS.items():
        main, startup = paddle.static.Program(), paddle.static.Program()
        scope = paddle.static.Scope()
        with (
            paddle.static.scope_guard(scope),
            paddle.static.program_guard(main, startup),
            paddle.utils.unique_name.guard(),
        ):
            try:
                feed, loss = build(paddle)
            except Exception as error:  # functions that this release cannot record into old programs
                print("not written:", name, str(error).strip().splitlines()[-1][:200])
                continue
            executor = paddle.static.Executor(paddle.CPUPlace())
            executor.run(startup)
            with tempfile.TemporaryDirectory() as folder:
                paddle.static.save(main, folder + "/m")
                for part, ending in (("model", ".pdmodel"), ("params", ".pdparams"), ("opt", ".pdopt")):
                    data = pathlib.Path(folder + "/m" + ending).read_bytes()
                    found[f"{name}/{part}"] = np.frombuffer(data, "uint8")
            found |= {f"{name}/in/{key}": value for key, value in feed.items()}
            found[f"{name}/loss"] = np.array(loss.name)
            found[f"{name}/losses"] = _losses(executor, main, feed, loss.name)
            print(name, found[f"{name}/losses"])
    np.savez_compressed(HERE / "training.npz", **found)


def run(folder):
    wrong, paths = 0, sorted(pathlib.Path(folder).glob("*.pdmodel"))
    for path in paths:
        data = np.load(path.with_suffix(".npz"))
        feed = {key[3:]: data[key] for key in data.files if key.startswith("in/")}
        try:
            with paddle.static.scope_guard(paddle.static.Scope()):
                program = paddle.static.deserialize_program(path.read_bytes())
                executor = paddle.static.Executor(paddle.CPUPlace())
                paddle.static.load(program, str(path.with_suffix("")), executor)
                got = _losses(executor, program, feed, str(data["loss"]))
            worst = float(np.abs(got - data["losses"]).max() / np.abs(data["losses"]).max())
            text = "" if worst < 1e-4 else f"differs by {worst:.2g}: {got} {data['losses']}"
        except Exception as error:  # what PaddlePaddle says of the file
            text = " ".join(str(error).split())[-400:]
        wrong += bool(text)
        if text:
            print(f"{path.stem}: {text}")
    print(f"{len(paths) - wrong} of {len(paths)} train as in Proa in PaddlePaddle {paddle.__version__}")
    return 1 if wrong else 0


if __name__ == "__main__":
    paddle.enable_static()
    sys.exit(write() if sys.argv[1] == "write" else run(sys.argv[2]))
